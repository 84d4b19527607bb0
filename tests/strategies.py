"""Random trees, logs and finite problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from numpy.typing import NDArray

from offsettree import ActionTree, LoggedData
from offsettree.theory import FiniteProblem

seeds = st.integers(0, 2**31 - 1)


@st.composite
def nested_pairs(draw: st.DrawFn, max_actions: int = 40) -> Any:
    """Any binary tree over 0, ..., k - 1, in any order: balanced, a chain, and all between."""
    random = np.random.RandomState(draw(seeds))
    # From the seed, not from hypothesis, which would draw small sizes nearly always.
    n_actions = random.randint(2, max_actions + 1)
    shape = draw(st.sampled_from(["balanced", "chain", "any"]))

    def build(leaves: list[int]) -> Any:
        if len(leaves) == 1:
            return leaves[0]
        cut = {"balanced": (len(leaves) + 1) // 2, "chain": 1, "any": random.randint(1, len(leaves))}[shape]
        return build(leaves[:cut]), build(leaves[cut:])

    return build(random.permutation(n_actions).tolist())


@dataclass(frozen=True)
class LoggedProblem:
    """A log with continuous rewards and propensities that depend on the context, and the tree to learn over."""

    log: LoggedData
    pairs: Any  # nested pairs of labels
    actions: list[Any]
    X_new: Any


@st.composite
def logged_problems(draw: st.DrawFn) -> LoggedProblem:
    pairs = draw(nested_pairs())
    random = np.random.RandomState(draw(seeds))
    n_actions = ActionTree.from_pairs(pairs).n_actions
    n_rows = draw(st.sampled_from([1, 10, 100, 300]))
    labels: list[Any] = list(range(n_actions))
    if draw(st.booleans()):
        labels = [f"action {position:02d}" for position in range(n_actions)]
    elif draw(st.booleans()):
        labels = sorted(random.choice(10_000, n_actions, replace=False).tolist())
    X = random.normal(size=(n_rows, 4)).round(1) * (random.random_sample((n_rows, 4)) < 0.7)
    X_new = random.normal(size=(50, 4)).round(1)
    chances = random.dirichlet(np.ones(n_actions), size=n_rows)
    position = np.array([random.choice(n_actions, p=row) for row in chances])
    reward = random.random_sample(n_rows)
    if draw(st.booleans()):
        reward = (reward * 4).round() / 4  # ties with the offset among them
    log = LoggedData(
        sp.csr_matrix(X) if draw(st.booleans()) else X,
        np.array(labels)[position],
        reward,
        chances[np.arange(n_rows), position],
    )
    return LoggedProblem(log, relabel(pairs, labels), labels, X_new if not sp.issparse(log.X) else sp.csr_matrix(X_new))


def relabel(pairs: Any, labels: list[Any]) -> Any:
    if isinstance(pairs, tuple):
        return tuple(relabel(part, labels) for part in pairs)
    return labels[pairs]


@st.composite
def finite_problems(draw: st.DrawFn, min_actions: int = 2, max_actions: int = 7) -> FiniteProblem:
    random = np.random.RandomState(draw(seeds))
    n_contexts = draw(st.integers(1, 4))
    n_outcomes = n_contexts * draw(st.integers(1, 3))
    n_actions = draw(st.integers(min_actions, max_actions))
    rewards = random.random_sample((n_outcomes, n_actions))
    grid = draw(st.sampled_from([None, 1, 2, 4]))
    if grid is not None:
        rewards = (rewards * grid).round() / grid  # zeros, ones, halves and ties
    context = np.arange(n_outcomes) % n_contexts
    return FiniteProblem(random.dirichlet(np.ones(n_outcomes)) * 0.9 + 0.1 / n_outcomes, context, rewards)


@dataclass(frozen=True)
class SolvedTree:
    """A finite problem with a tree over its actions, any classifier whatever, and two logging policies."""

    problem: FiniteProblem
    tree: ActionTree
    classifier: NDArray[np.bool_]
    logging: NDArray[np.float64]
    other_logging: NDArray[np.float64]


@st.composite
def solved_trees(draw: st.DrawFn, max_actions: int = 7) -> SolvedTree:
    tree = ActionTree.from_pairs(draw(nested_pairs(max_actions)))
    problem = draw(finite_problems(tree.n_actions, tree.n_actions))
    random = np.random.RandomState(draw(seeds))
    classifier = random.random_sample((tree.n_nodes, problem.n_contexts)) < 0.5
    first, second = random.dirichlet(np.ones(tree.n_actions), size=(2, problem.n_contexts)) * 0.9 + 0.1 / tree.n_actions
    return SolvedTree(problem, tree, classifier, first, second)
