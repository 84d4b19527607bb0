"""Distillation: an offset tree, which decides in O(log k), learns to decide as any other policy does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._available import pieces
from offsettree._features import Features, count_rows, take_rows
from offsettree._labels import check_actions, find_actions
from offsettree._validation import as_random_state
from offsettree.exceptions import ActionError, ParameterError
from offsettree.learners import HistogramTree
from offsettree.reductions.offset_tree import OffsetTree
from offsettree.topology import RewardModels, tree_from

__all__ = ["distill"]

SIMILARITY_ROWS = 4000  # rows by which the similarity of actions is measured
MOST_DIRECTIONS = 32
METHODS = ("predict_rewards", "predict_proba", "predict")


def distill(
    policy: Any,
    X: Features,
    *,
    estimator: Any = None,
    tree: Any = "learned",
    actions: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> OffsetTree:
    """Train an `OffsetTree` to decide as a policy does.

    A decision of a forest, or of a reward model per action, takes time proportional to the number of trees or actions.
    The student asks about log2 k contests (classifiers at the nodes, which decide between left and right side). It
    learns from the teacher's scores of rows without rewards; more rows are better. Every contest learns from every row:
    the label is which of the winners of its two sides the teacher prefers, the weight is the difference of their
    scores. ``evaluate(student, ..., baseline=teacher)`` on a log measures the loss; see the example.

    Parameters
    ----------
    policy : fitted policy, or object with predict_rewards, predict_proba or predict
        The teacher: any policy of this package, a loaded one, or any object. The first of these methods that it has is
        used. Without `predict_rewards`, errors in all rows count the same.
    X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
        Rows like those to be decided on, without rewards; they may include those of the training log.
    estimator : classifier, optional
        Learns the contests, as in `OffsetTree`. By default a `HistogramTree` without pruning, as the teacher's scores
        have no noise.
    tree : "learned", "balanced", "random", "similar", ActionTree or nested pairs, default="learned"
        The tree over the actions, as in `OffsetTree`; "learned" and "similar" use the teacher's scores.
    actions : array of labels, optional
        All action labels, in the order of the teacher's columns. By default the teacher's `actions_` or `classes_`, or
        else the actions that it chooses.
    random_state : int, RandomState instance or None, default=None
        Draws the rows by which actions are compared, and seeds estimators without a seed.

    Returns
    -------
    OffsetTree
        The student. Its `reward_range` is the teacher's.

    Notes
    -----
    It takes k - 1 fits on all rows, and memory for n k numbers. `evaluate` recognises the teacher's training rows, as
    for the teacher itself.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from offsettree import RewardBoosting, distill, evaluate, simulate_log
    >>> log = simulate_log(*load_digits(return_X_y=True), random_state=0)
    >>> train, test = log.split(test_size=0.5, random_state=0)
    >>> teacher = RewardBoosting(n_trees=50, random_state=0).fit(**train.arrays())
    >>> student = distill(teacher, train.X, random_state=0)
    >>> lost = evaluate(student, **test.arrays(), baseline=teacher).difference
    >>> bool(-0.3 < lost.value < 0)  # the student is worse than its teacher, by this much
    True
    """
    if isinstance(policy, type) or not any(hasattr(policy, method) for method in METHODS):
        raise ParameterError(
            f"policy must be a fitted policy, or an object with {', '.join(METHODS[:-1])} or {METHODS[-1]}; got "
            f"{policy!r:.80}."
        )
    score, labels = _teacher_scores(policy, X, actions)
    random = as_random_state(random_state)
    student = OffsetTree(
        HistogramTree() if estimator is None else estimator,
        tree=tree,
        actions=labels,
        reward_range=getattr(policy, "reward_range", (0.0, 1.0)),
        random_state=random_state,
    )
    nothing = np.full(len(score), student.reward_range[0], dtype=np.float64)
    checked = student._judge(X, labels[score.argmax(axis=1)], nothing, 1.0).X
    means, similarity = partial(_means, score), partial(_similarity, score, random)
    student.tree_ = tree_from(tree, labels, means, similarity, random)
    student._fit_to(_TeacherScores(checked, score), random)
    student._trained_on = getattr(policy, "_trained_on", None)  # distillation itself sees no rewards
    return student


@dataclass(frozen=True)
class _TeacherScores:
    """The teacher's score of every row and action."""

    X: Features
    score: NDArray[np.float64]

    def rewards(self, actions: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the scores of some actions."""
        return self.score[:, actions]


def _teacher_scores(policy: Any, X: Features, actions: ArrayLike | None) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return the teacher's score of every row and action, and the labels of the actions."""
    own = getattr(policy, "actions_", getattr(policy, "classes_", None)) if actions is None else actions
    labels = None if own is None else find_actions(check_actions(own, what="actions"), own)
    method = next(method for method in METHODS if hasattr(policy, method))
    if method == "predict":
        chosen = check_actions(policy.predict(X), count_rows(X))
        labels = find_actions(chosen, None) if labels is None else labels
        return (np.asarray(chosen)[:, np.newaxis] == labels).astype(np.float64), labels
    if labels is None:
        raise ActionError(
            f"the labels of the policy's columns must be known; {type(policy).__name__} has neither actions_ nor "
            "classes_. Name them: actions=[...]."
        )
    score = np.empty((count_rows(X), len(labels)))
    for rows in pieces(*score.shape):
        part = X if rows.stop - rows.start == len(score) else take_rows(X, np.arange(rows.start, rows.stop))
        values = np.asarray(getattr(policy, method)(part), dtype=np.float64)
        if values.shape != (count_rows(part), len(labels)) or not np.isfinite(values).all():
            raise ParameterError(
                f"{method} of the policy must return a finite number for every row and action, of shape "
                f"{(count_rows(part), len(labels))}; got an array of shape {values.shape}."
            )
        score[rows] = values
    return score, labels


def _means(score: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(score.mean(axis=0))


def _similarity(score: NDArray[np.float64], random: np.random.RandomState) -> RewardModels:
    """Return coordinates of the actions in which those with similar scores are near each other."""
    rows = np.sort(random.permutation(len(score))[:SIMILARITY_ROWS])
    part = score[rows]
    mean = part.mean(axis=0)
    centred = (part - mean).T / np.sqrt(len(part))
    left, strength, _ = np.linalg.svd(centred, full_matrices=False)
    return RewardModels(np.column_stack([mean, left[:, :MOST_DIRECTIONS] * strength[:MOST_DIRECTIONS]]))
