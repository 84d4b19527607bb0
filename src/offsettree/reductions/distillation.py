"""Distillation: the decisions of any policy, learned by an offset tree that takes them in O(log k)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from offsettree._available import pieces
from offsettree._features import Features, count_rows, take_rows
from offsettree._validation import check_actions, find_actions
from offsettree.exceptions import ActionError, ParameterError
from offsettree.learners import HistogramTree
from offsettree.reductions.offset_tree import OffsetTree
from offsettree.topology import RewardModels, tree_from

__all__ = ["distill"]

ROWS_OF_SHAPE = 4000  # by which actions are told to be similar
MOST_DIRECTIONS = 32
WAYS = ("predict_rewards", "predict_proba", "predict")


def distill(
    policy: Any,
    X: Features,
    *,
    estimator: Any = None,
    tree: Any = "learned",
    actions: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> OffsetTree:
    """Teach an `OffsetTree` to decide as a policy does.

    A forest, or a model of every action's reward, takes time in proportion to the number of actions or of trees. The
    student asks about log2 k contests. It learns from what the teacher thinks of rows that need no reward, the more of
    them the better: every contest learns from every row, labelled by which of the winners of its two sides the
    teacher prefers, and weighted by how much more it thinks that one earns. What is lost on the way is told by
    ``evaluate(student, ..., baseline=teacher)`` on a log; see the example.

    Parameters
    ----------
    policy : fitted policy, or object with predict_rewards, predict_proba or predict
        The teacher: any policy of this package, one that was loaded, or any object. It is asked for the first of these
        that it has; where it has no `predict_rewards`, an error in one row counts as much as in any other.
    X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
        Rows like those to be decided on. They need not be labelled; those of the training log may be among them.
    estimator : classifier, optional
        Learns the contests, as in `OffsetTree`. By default a `HistogramTree` that is not pruned: the teacher's
        opinions have no noise.
    tree : "learned", "balanced", "random", "similar", ActionTree or nested pairs, default="learned"
        The tree over the actions, as in `OffsetTree`; "learned" and "similar" go by what the teacher thinks of them.
    actions : array of labels, optional
        All action labels, in the order of the teacher's columns. By default the teacher's `actions_` or `classes_`, or
        else those that it chooses.
    random_state : int, RandomState instance or None, default=None
        Decides the rows by which actions are compared, and the seeds of the estimators that have none.

    Returns
    -------
    OffsetTree
        The student. Its `reward_range` is the teacher's.

    Notes
    -----
    The work is k - 1 fits on all rows, and n times k numbers are held. A row that the teacher learned from is known
    again by `evaluate`, as with the teacher.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from offsettree import RewardBoosting, distill, evaluate, simulate_log
    >>> log = simulate_log(*load_digits(return_X_y=True), random_state=0)
    >>> train, test = log.split(test_size=0.5, random_state=0)
    >>> teacher = RewardBoosting(n_trees=50, random_state=0).fit(**train.arrays())
    >>> student = distill(teacher, train.X, random_state=0)
    >>> lost = evaluate(student, **test.arrays(), baseline=teacher).difference
    >>> bool(-0.3 < lost.value < 0)  # ten leaves of pixels are not as good as the teacher, and it says by how much
    True
    """
    if isinstance(policy, type) or not any(hasattr(policy, way) for way in WAYS):
        raise ParameterError(
            f"policy must be a fitted policy, or an object with {', '.join(WAYS[:-1])} or {WAYS[-1]}; got "
            f"{policy!r:.80}."
        )
    score, labels = _opinions(policy, X, actions)
    random = check_random_state(random_state)
    student = OffsetTree(
        HistogramTree() if estimator is None else estimator,
        tree=tree,
        actions=labels,
        reward_range=getattr(policy, "reward_range", (0.0, 1.0)),
        random_state=random_state,
    )
    nothing = np.full(len(score), student.reward_range[0], dtype=np.float64)
    checked = student._check_log(X, labels[score.argmax(axis=1)], nothing, 1.0)[-1]
    means, similarity = partial(_means, score), partial(_similarity, score, random)
    student.tree_ = tree_from(tree, labels, means, similarity, random)
    student._fit_to(_Opinions(checked, score), random)
    student._trained_on = getattr(policy, "_trained_on", None)  # rows without rewards teach nothing of them
    return student


@dataclass(frozen=True)
class _Opinions:
    """What the teacher thinks of every row and action."""

    X: Features
    score: NDArray[np.float64]

    def rewards(self, actions: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the opinions on some actions."""
        return self.score[:, actions]


def _opinions(policy: Any, X: Features, actions: ArrayLike | None) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return a number for every row and action, and the labels of the actions."""
    own = getattr(policy, "actions_", getattr(policy, "classes_", None)) if actions is None else actions
    labels = None if own is None else find_actions(check_actions(own, what="actions"), own)
    way = next(way for way in WAYS if hasattr(policy, way))
    if way == "predict":
        chosen = check_actions(policy.predict(X), count_rows(X))
        labels = find_actions(chosen, None) if labels is None else labels
        return (np.asarray(chosen)[:, np.newaxis] == labels).astype(np.float64), labels
    if labels is None:
        raise ActionError(
            f"the labels of the {type(policy).__name__}'s columns are not known, as it has neither actions_ nor "
            "classes_; name them: actions=[...]."
        )
    score = np.empty((count_rows(X), len(labels)))
    for rows in pieces(*score.shape):
        part = X if rows.stop - rows.start == len(score) else take_rows(X, np.arange(rows.start, rows.stop))
        values = np.asarray(getattr(policy, way)(part), dtype=np.float64)
        if values.shape != (count_rows(part), len(labels)) or not np.isfinite(values).all():
            raise ParameterError(
                f"{way} of the policy must return a finite number for every row and action, of shape "
                f"{(count_rows(part), len(labels))}; got an array of shape {values.shape}."
            )
        score[rows] = values
    return score, labels


def _means(score: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(score.mean(axis=0))


def _similarity(score: NDArray[np.float64], random: np.random.RandomState) -> RewardModels:
    """Return coordinates in which actions are near each other of which the teacher thinks alike."""
    rows = np.sort(random.permutation(len(score))[:ROWS_OF_SHAPE])
    part = score[rows]
    mean = part.mean(axis=0)
    centred = (part - mean).T / np.sqrt(len(part))
    left, strength, _ = np.linalg.svd(centred, full_matrices=False)
    return RewardModels(np.column_stack([mean, left[:, :MOST_DIRECTIONS] * strength[:MOST_DIRECTIONS]]))
