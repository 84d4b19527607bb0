"""A tree that goes on learning: its contests are taught one chunk of a log after the other."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._available import Available
from offsettree._features import Features, take_rows
from offsettree._validation import warn_caller
from offsettree.exceptions import ParameterError
from offsettree.learners import ConstantClassifier, Template
from offsettree.reductions._ladder import Contest, Ladder, climb, share_kept
from offsettree.reductions._nodes import LEFT, checked_answers, may_assume_finite, node_settings
from offsettree.reductions._offset import Votes, is_per_row
from offsettree.topology import ActionTree

FEW_ROWS = 100
REMEDIES = {"partial_fit": "Use fit", "fit_log": "Use fit on a log in memory"}
SIDES = np.array([0, 1])  # the labels, named to every learner, which need not hear both in its first chunk


@dataclass(frozen=True)
class Memory:
    """What a tree must know of the rows that taught its contests, to teach them more.

    By node, and in `weight` and `taught` by label: `weight` is that of all votes so far, `n_rows` their number,
    `largest` the largest of them; `taught` tells which labels the learner has been shown. One that has been shown
    a single label cannot be asked yet, and waits in `waiting`.
    """

    seeds: NDArray[np.int64]
    n_rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    largest: NDArray[np.float64]
    taught: NDArray[np.bool_]
    waiting: dict[int, Any]

    @classmethod
    def of_fit(
        cls,
        seeds: NDArray[np.int64],
        classifiers: Sequence[Any],
        n_rows: NDArray[np.int64] | None = None,
        weight: NDArray[np.float64] | None = None,
    ) -> Self:
        """Remember a fit, of which rows and weights may not be known.

        Its constants are no learners to go on with, but the votes they were given count.
        """
        n_nodes = len(seeds)
        by_side, taught = np.zeros((n_nodes, 2)), np.zeros((n_nodes, 2), dtype=bool)
        for node, classifier in enumerate(classifiers):
            is_constant = isinstance(classifier, ConstantClassifier)
            taught[node] = not is_constant
            if weight is not None:
                by_side[node, classifier.label if is_constant else LEFT] = weight[node]
        counted = np.zeros(n_nodes, dtype=np.int64) if n_rows is None else n_rows
        return cls(seeds, counted, by_side, np.zeros(n_nodes), taught, {})

    def louder(self, node: int) -> int:
        """Return the label with more weight so far; the left side's where both weigh the same."""
        return LEFT if self.weight[node, LEFT] >= self.weight[node, 1 - LEFT] else 1 - LEFT

    def copy(self) -> Memory:
        """Return a memory that can be written to without a trace in this one."""
        return Memory(self.seeds, *(value.copy() for name, value in vars(self).items() if name != "seeds"))


class Teacher:
    """Shows chunks to copies of an estimator.

    One whose `partial_fit` takes no sample weights is shown a row with probability weight / (largest weight so far).
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self._taken = signature(estimator.partial_fit).parameters
        self._template: Template | None = None

    def pupil(self, node: int, classifier: Any, memory: Memory) -> Any:
        """Return the learner of a node, as a copy: should the chunk be refused, the old one is still there."""
        if node in memory.waiting:
            return copy.deepcopy(memory.waiting[node])
        if isinstance(classifier, ConstantClassifier):
            self._template = self._template or Template(self.estimator)
            return self._template.copy(int(memory.seeds[node]))
        if not hasattr(classifier, "partial_fit"):
            raise ParameterError(
                f"partial_fit can go on from classifiers that have partial_fit; the one at node {node} of the fitted "
                f"tree is a {type(classifier).__name__}. Begin with partial_fit on a new policy: clone(policy)."
            )
        return copy.deepcopy(classifier)

    def teach(
        self,
        pupil: Any,
        node: int,
        X: Features,
        label: NDArray[np.int64],
        weight: NDArray[np.float64],
        memory: Memory,
    ) -> None:
        """Show a learner the rows of a contest, and note that."""
        n_before = int(memory.n_rows[node])
        memory.n_rows[node] += len(label)
        memory.weight[node] += np.bincount(label, weights=weight, minlength=2)
        memory.largest[node] = max(memory.largest[node], weight.max())
        keywords: dict[str, Any] = {"classes": SIDES} if "classes" in self._taken else {}
        if "sample_weight" in self._taken:
            # By the mean so far, not that of the chunk: a row's weight is the same in whatever chunk it comes.
            keywords["sample_weight"] = weight * (memory.n_rows[node] / memory.weight[node].sum())
        else:
            draw = np.random.default_rng([int(memory.seeds[node]), n_before])
            kept = np.flatnonzero(draw.random(len(label)) * memory.largest[node] < weight)
            if not len(kept):
                return
            X, label = take_rows(X, kept), label[kept]
        pupil.partial_fit(X, label, **keywords)
        memory.taught[node, label] = True


def teach_chunk(
    tree: ActionTree,
    estimator: Any,
    classifiers: Sequence[Any],
    memory: Memory,
    X: Features,
    action: NDArray[np.intp],
    votes: Votes,
    share: float,
    available: Available | None = None,
) -> tuple[list[Any], Memory]:
    """Teach the contests that a chunk reaches, children first; return all classifiers, and what is to be remembered.

    The rows that a contest lets through are judged by its classifier as taught on this chunk: Algorithm 2, with the
    chunk for a log. Nothing given is changed.
    """
    teacher = Teacher(estimator)
    after, memory = list(classifiers), memory.copy()
    weighted = votes.weight > 0

    def hold(contest: Contest) -> NDArray[np.bool_]:
        node, rows = contest.node, contest.rows
        if not len(rows):
            return contest.from_left
        here = X if len(rows) == len(action) else take_rows(X, rows)
        label = votes.for_left(rows, contest.from_left).astype(np.int64)
        try:
            pupil = teacher.pupil(node, after[node], memory)
            teacher.teach(pupil, node, here, label, votes.standing_weight(rows, contest.standing), memory)
            if memory.taught[node].all():
                after[node] = pupil
                memory.waiting.pop(node, None)
            else:
                after[node] = ConstantClassifier(memory.louder(node))
                memory.waiting[node] = pupil
            return checked_answers(after[node], here)
        except ParameterError:
            raise
        except Exception as error:
            error.add_note(f"The learner failed in the contest at node {node} of the tree, on {len(rows):,} rows.")
            raise

    with node_settings(assume_finite=may_assume_finite(estimator, X)):
        climb(Ladder.at_leaves(tree, action, weighted, share, available), hold, _nodes_above(tree, action[weighted]))
    return after, memory


def _nodes_above(tree: ActionTree, action: NDArray[np.intp]) -> list[int]:
    """List the nodes that rows of these actions may reach, children first."""
    nodes: set[int] = set()
    for leaf in np.unique(action):
        node = int(tree.leaf_parent[leaf])
        while node >= 0 and node not in nodes:
            nodes.add(node)
            node = int(tree.parent[node])
    return sorted(nodes, reverse=True)


def teaches_chunks(policy: Any) -> bool:
    """Tell whether the estimator of a policy can be taught chunk by chunk; the reason why not is the error."""
    learner = policy._learner()
    if not hasattr(learner, "partial_fit"):
        raise AttributeError(
            f"partial_fit needs an estimator that has partial_fit, such as SGDClassifier; {type(learner).__name__} "
            "has none."
        )
    return True


def needs_whole_log(name: str, needed: Any, given: Any, why: str, method: str = "fit_log") -> ParameterError:
    """Return the error of a parameter that needs the whole log at once."""
    return ParameterError(
        f"{name} must be {needed!r} for {method}, as {why}; got {given!r}. {REMEDIES[method]}, or {name}={needed!r}."
    )


def check_growing(node_models: Any, path_filter: Any, offset: Any, reward_model: Any = None) -> float:
    """Refuse parameters that need the whole log at once; return what a lost contest leaves of a row's weight."""
    if node_models != "separate":
        why = "a shared classifier is trained level by level on the whole log"
        raise needs_whole_log("node_models", "separate", node_models, why, "partial_fit")
    if reward_model is not None:
        raise needs_whole_log("reward_model", None, reward_model, "it is cross-fitted on the whole log", "partial_fit")
    share = share_kept(path_filter)
    if path_filter == "out_of_fold":
        raise ParameterError(
            "path_filter must be 'in_sample' or a number for partial_fit, as folds need the whole log; got "
            "'out_of_fold'. Use fit, or path_filter='in_sample'."
        )
    if is_per_row(offset):
        raise ParameterError(
            "offset must be a number, 'mean' or 'median' for partial_fit, as others are cross-fitted on the whole log; "
            f"got {offset!r}. Use fit, or subtract predictions from the rewards yourself."
        )
    return share


def warn_of_short_start(tree: Any, offset: Any, n_rows: int) -> None:
    """Tell when a first chunk is too short for what it settles for good."""
    settled = [
        f"{name}={value!r}"
        for name, value in (("tree", tree), ("offset", offset))
        if isinstance(value, str) and value in ("similar", "learned", "mean", "median")
    ]
    if settled and n_rows < FEW_ROWS:
        warn_caller(
            f"{' and '.join(settled)} is settled by the first chunk, for good, and that has {n_rows} rows only. Begin "
            "with a longer chunk, or name a tree and a number."
        )
