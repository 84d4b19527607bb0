"""Online offset tree: the contests of Algorithm 2 are linear models, learned one row at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._lazy import ModuleOnDemand
from offsettree._validation import as_random_state, check_truth, is_number
from offsettree.exceptions import ParameterError
from offsettree.online._layout import TreeModel, make_layout, new_scales, new_weights
from offsettree.online._models import OnlineTree, links_of
from offsettree.online._policy import OnlinePolicy, check_bits, check_rate
from offsettree.reading import ColumnSpace
from offsettree.topology import ActionTree, tree_from

__all__ = ["OnlineOffsetTree"]

WEIGHTINGS = ("steps", "costing")
LOSSES = ("perceptron", "hinge", "logistic")  # kernels know them by their index


class OnlineOffsetTree(OnlinePolicy):
    """Offset tree with linear contests that learns from one row at a time, each row once.

    A contest is the classifier at a node, which decides between the node's left and right side. A row goes up from the
    leaf of its action, and each contest on its path learns from it. A reward above the offset is a vote for the
    action's side, one below a vote against it, with weight abs(reward - offset) / propensity. The row goes on to the
    next contest if this one chose its action before learning from it. A decision goes down from the root: about log2 k
    dot products.

    Parameters
    ----------
    loss : {"hinge", "logistic", "perceptron"}, default="hinge"
        The loss of a contest. "perceptron" learns from mistakes only, by adding the row itself.
    learning_rate : "adaptive" or float, default="adaptive"
        "adaptive": every weight has its own rate, which falls with its sum of squared gradients, and features are
        scaled by their largest absolute value so far (at least 1e-15), so that nothing needs tuning or scaling. A
        number: a constant rate, and features are not scaled. A perceptron does not scale features; with "adaptive" its
        rate is 1, and its decisions do not depend on the rate.
    tree : {"balanced", "random"}, ActionTree or nested pairs of labels, default="balanced"
        The shape. To put similar actions side by side, pass an `ActionTree.learned` from a log.
    offset : float or "mean", default=0.5
        Rewards are compared with it; a share of `reward_range`. "mean" is the mean of the rewards so far.
    realizable : bool, default=False
        Do not divide by propensities: the paper's specialisation (section 7.2) to problems that contests can solve
        without error. There any distribution of rows leads to the same policy, and weights only add variance.
    weighting : {"steps", "costing"}, default="steps"
        How weights act. "steps": a row of weight w moves a contest by w steps, see the notes. "costing": the paper's
        Costing, one row at a time. A contest learns from a row with probability weight / largest weight, and then by a
        step of weight 1.
    largest_weight : float, optional
        The largest weight of Costing, abs(reward - offset) / propensity with the reward as a share of `reward_range`:
        1 / the smallest propensity will do. By default it is the largest so far. Until a larger one comes, rows are
        then accepted more often than later ones of their weight: with propensities that fall, as those of
        `EpochGreedy` do, early rows count for too much. A weight above the given one takes its place in the same way.
    n_bits : int, optional
        Hash features into 2 ** n_bits buckets for the whole tree (12 bytes each: a weight, its sum of squared
        gradients, and a scale), which bounds the memory. Use many more buckets than a row has entries: features that
        collide share a weight. By default every contest has a weight for every feature.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward. Rewards outside are refused.
    actions : array of shape (n_actions,), optional
        All action labels, in the order wanted for `actions_`. Required, except for `fit`.
    random_state : int, RandomState, Generator or None, default=None
        Draws a random tree, and with ``weighting="costing"`` the rows.

    Attributes
    ----------
    actions_ : ndarray of shape (n_actions,)
        The labels.
    tree_ : ActionTree
        The tree; its leaves are positions in `actions_`.
    node_rows_ : ndarray of shape (n_actions - 1,)
        The number of rows each contest has learned from.
    n_rows_seen_ : int
        The number of rows learned from, including those whose reward equalled the offset.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Weights are divided by the contest's mean weight so far, so that the pace of learning depends neither on the number
    of actions nor on the scale of rewards. They are capped at 1,000 times the mean. A weight acts as that many small
    steps: a huge one moves the margin to where the loss is flat, not beyond (Karampatziakis and Langford, 2011).

    One thread may learn while others decide: no update is lost, but a decision may use half of an update. If two
    threads learn at once, updates may be lost: see `docs/threads.md`.

    References
    ----------
    Beygelzimer and Langford, "The Offset Tree for Learning with Partial Labels", KDD 2009, section 7.2.
    Duchi, Hazan and Singer, "Adaptive subgradient methods", JMLR 2011.
    Ross, Mineiro and Langford, "Normalized online learning", UAI 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from offsettree import OnlineOffsetTree, simulate_log
    >>> log = simulate_log(*load_digits(return_X_y=True), random_state=0)
    >>> policy = OnlineOffsetTree(actions=range(10))
    >>> for _ in range(5):
    ...     policy = policy.partial_fit(**log.arrays())
    >>> policy.decide(log.X[0])
    0
    """

    _has_table_kernels = True
    _kernels = ModuleOnDemand("offsettree.online._kernels_tree")
    weighting: Literal["steps", "costing"] = "steps"  # of policies pickled before there was a choice
    largest_weight: float | None = None

    def __init__(
        self,
        *,
        loss: Literal["hinge", "logistic", "perceptron"] = "hinge",
        learning_rate: float | Literal["adaptive"] = "adaptive",
        tree: Any = "balanced",
        offset: float | Literal["mean"] = 0.5,
        realizable: bool = False,
        weighting: Literal["steps", "costing"] = "steps",
        largest_weight: float | None = None,
        n_bits: int | None = None,
        reward_range: Sequence[float] = (0.0, 1.0),
        actions: ArrayLike | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.tree = tree
        self.offset = offset
        self.realizable = realizable
        self.weighting = weighting
        self.largest_weight = largest_weight
        self.n_bits = n_bits
        self.reward_range = reward_range
        self.actions = actions
        self.random_state = random_state

    @property
    def node_rows_(self) -> NDArray[np.int64]:
        """The number of rows each contest has learned from."""
        return np.asarray(self._learned().contests[:, 2], dtype=np.int64)

    @property
    def n_rows_seen_(self) -> int:
        """The number of rows learned from."""
        return int(self._learned().totals[0])

    def _settings(self) -> tuple[Any, ...]:
        names = ("loss", "learning_rate", "offset", "realizable", "n_bits")
        # Former versions kept the settings of "steps" without a word for it.
        drawn = () if self.weighting == "steps" else (self.weighting,)
        bound = () if self.largest_weight is None else (self.largest_weight,)
        return *super()._settings(), *(getattr(self, name) for name in names), *drawn, *bound

    def _learned(self) -> TreeModel:
        model: TreeModel | None = self.__dict__.get("_model")
        if model is None:
            raise AttributeError("the tree has not learned from any row yet.")
        return model

    def _is_adaptive(self) -> bool:
        return self.learning_rate == "adaptive" and self.loss != "perceptron"

    def _new_model(self, n_features: int) -> TreeModel:
        loss, rate, offset = self._check_loss(), check_rate(self.learning_rate), self._check_offset()
        check_truth("realizable", self.realizable)
        if not isinstance(self.weighting, str) or self.weighting not in WEIGHTINGS:
            raise ParameterError(f"weighting must be 'steps' or 'costing'; got {self.weighting!r}.")
        n_bits, largest_weight = check_bits(self.n_bits), self._check_largest_weight()
        self.tree_ = self._make_tree()
        n_contests = self.tree_.n_nodes
        adaptive = self._is_adaptive()
        if self.learning_rate == "adaptive" and not adaptive:
            rate = 1.0  # of a perceptron
        layout = make_layout(n_features, n_contests, bias=True, spacing=2 if adaptive else 1, n_bits=n_bits)
        return TreeModel(
            layout,
            weights=new_weights(layout),
            scales=new_scales(layout) if adaptive else None,
            contests=np.tile([0.0, largest_weight, 0.0], (n_contests, 1)),
            totals=np.zeros(3),
            links=links_of(self.tree_),
            settings=np.array([loss, rate, offset, self.realizable, *self._costing()]),
        )

    def _costing(self) -> tuple[int, int]:
        if self.weighting == "steps":
            return 0, 0
        return 1, int(as_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _check_largest_weight(self) -> float:
        """Return the largest weight of Costing, 0 if it is the largest so far."""
        if self.largest_weight is None:
            return 0.0
        if self.weighting != "costing":
            raise ParameterError(
                f"largest_weight must be None unless weighting='costing', which draws rows by it; got "
                f"{self.largest_weight!r}."
            )
        if not is_number(self.largest_weight) or not 0 < self.largest_weight < np.inf:
            raise ParameterError(f"largest_weight must be a number above 0; got {self.largest_weight!r}.")
        return float(self.largest_weight)

    def _make_tree(self) -> ActionTree:
        if isinstance(self.tree, str) and self.tree in ("similar", "learned"):
            raise ParameterError(
                f"tree={self.tree!r} needs a log before the first row is learned from. Build the tree from rows at "
                "hand: tree=ActionTree.learned(X, position, reward, n_actions=...)."
            )
        return tree_from(self.tree, self.actions_, _no_log, _no_log, as_random_state(self.random_state))

    def _as_model(self, space: ColumnSpace) -> OnlineTree:
        model = self._model
        layout, weights = OnlineTree.for_deciding(model.layout, model.weights)
        return OnlineTree(layout, weights, OnlineTree.bits_of(layout), self.tree_, model.scales)

    def _check_loss(self) -> int:
        if not isinstance(self.loss, str) or self.loss not in LOSSES:
            raise ParameterError(f"loss must be one of {', '.join(map(repr, LOSSES))}; got {self.loss!r}.")
        return LOSSES.index(self.loss)

    def _check_offset(self) -> float:
        if isinstance(self.offset, str) and self.offset == "mean":
            return float("nan")
        if not is_number(self.offset) or not 0 <= self.offset <= 1:
            raise ParameterError(
                f"offset must be from 0 to 1, as a share of the reward range, or 'mean'; got {self.offset!r}."
            )
        return float(self.offset)


def _no_log() -> Any:
    raise RuntimeError("a tree that needs a log must have been refused earlier.")
