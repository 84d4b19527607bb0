"""Target policies, of any form, as probabilities of the actions in each row of a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._available import Available
from offsettree._features import Features, count_rows, is_frame, take_rows
from offsettree._labels import check_actions
from offsettree._traits import tags_of
from offsettree.base import BasePolicy
from offsettree.evaluation._labels import column_positions, known_labels, known_positions
from offsettree.exceptions import ActionError, LogError, ParameterError

BLOCK_NUMBERS = 1 << 22  # probabilities per block: 32 MB
TOLERANCE = 1e-4  # probabilities may be float32, or rounded by printing


@dataclass(frozen=True)
class Target:
    """The decisions of a policy in each row of a log.

    `chosen` holds the positions of the actions of a deterministic policy, and is None for others. `probability` returns
    the probabilities of all actions in the given rows, in the order of the space. `on_logged` is the probability of
    each row's logged action, `share` the mean probability of each action.
    """

    chosen: NDArray[np.intp] | None
    probability: Callable[[NDArray[np.intp]], NDArray[np.float64]]
    on_logged: NDArray[np.float64]
    share: NDArray[np.float64]


@dataclass(frozen=True)
class PairProbabilities:
    """The probability of each pair of row and eligible action; row i has those from ``starts[i]`` on."""

    ids: NDArray[Any]
    starts: NDArray[np.intp]
    probability: NDArray[np.float64]

    def target(self, logged: NDArray[np.intp], space: NDArray[Any]) -> Target:
        """Return the target of the policy that draws from these."""
        code = known_positions(self.ids, space, "policy")

        def probability(rows: NDArray[np.intp]) -> NDArray[np.float64]:
            table = np.zeros((len(rows), len(space)))
            for place, row in enumerate(rows):
                span = slice(self.starts[row], self.starts[row + 1])
                table[place, code[span]] = self.probability[span]
            return table

        return _stochastic(probability, logged, space)


def find_target(
    policy: Any,
    X: Features,
    logged: NDArray[np.intp],
    space: NDArray[Any],
    what: str,
    available: Available | None = None,
    columns: NDArray[Any] | None = None,
) -> Target:
    """Return the decisions of a policy of any form in the rows of a log; `what` names the policy in errors.

    `columns` are the labels of a table's columns; by default those of the space.
    """
    target = _find_target(policy, X, logged, space, what, available, space if columns is None else columns)
    if available is not None:
        _refuse_unavailable(target, available, space, what)
    return target


def _find_target(
    policy: Any,
    X: Features,
    logged: NDArray[np.intp],
    space: NDArray[Any],
    what: str,
    available: Available | None,
    columns: NDArray[Any],
) -> Target:
    n_rows, n_actions = len(logged), len(space)
    if isinstance(policy, type):
        raise ParameterError(f"{what} must be a fitted policy, not a class; got {policy.__name__}.")
    if isinstance(policy, BasePolicy) or hasattr(policy, "_positions"):  # a loaded policy has it, too
        position = policy._positions(X) if available is None else _positions_among(policy, X, available, space)
        return certain(_translate(position, policy.actions_, space), logged, n_actions)
    if isinstance(policy, PairProbabilities):
        return policy.target(logged, space)
    tags = tags_of(policy)
    is_classifier = tags is not None and tags.estimator_type == "classifier"
    if hasattr(policy, "predict_proba") and not (is_classifier and hasattr(policy, "predict")):
        return _stochastic(lambda rows: _asked(policy, X, rows, columns, space, what), logged, space)
    if hasattr(policy, "predict"):
        return certain(_encoded(policy.predict(X), n_rows, space, what), logged, n_actions)
    if isinstance(policy, str | int | np.integer):
        position = _encoded(np.array([policy], dtype=object), 1, space, what)
        return certain(np.repeat(position, n_rows), logged, n_actions)
    values = policy if is_frame(policy) else _as_array(policy, what)
    if is_frame(values) or values.ndim == 2:
        positions, table = column_positions(values, columns, space, what), np.asarray(values)
        if len(table) != n_rows:
            raise LogError(f"{what} must have one row per row of X; got {len(table)} for {n_rows} rows.")
        return _stochastic(
            lambda rows: _placed(_checked(table[rows], rows, len(positions), what), positions, len(space)),
            logged,
            space,
        )
    return certain(_encoded(policy, n_rows, space, what), logged, n_actions)


def _as_array(policy: Any, what: str) -> NDArray[Any]:
    try:
        values = np.asarray(policy)
    except ValueError as error:
        raise ParameterError(f"{what} must be a table with rows of equal length: {error}") from None
    if values.ndim not in (1, 2) or isinstance(policy, dict | set):
        raise ParameterError(
            f"{what} must be an object with predict or predict_proba, one action label per row, or probabilities of "
            f"shape (n_rows, n_actions); got {policy!r:.80}."
        )
    return values


def certain(chosen: NDArray[np.intp], logged: NDArray[np.intp], n_actions: int) -> Target:
    """Return the target of a deterministic policy."""

    def probability(rows: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.asarray(chosen[rows, np.newaxis] == np.arange(n_actions), dtype=np.float64)

    share = np.bincount(chosen, minlength=n_actions) / len(chosen)
    return Target(chosen, probability, (chosen == logged).astype(np.float64), share)


def _positions_among(policy: BasePolicy, X: Features, available: Available, space: NDArray[Any]) -> NDArray[np.intp]:
    """Return the choices of a policy among the available actions; its own actions are a subset of the space."""
    if np.array_equal(policy.actions_, space):
        return policy._positions_among(X, available.mask)
    return policy._positions_among(X, available.in_order(known_positions(policy.actions_, space, "policy")).mask)


def _refuse_unavailable(target: Target, available: Available, space: NDArray[Any], what: str) -> None:
    """Refuse a policy that takes unavailable actions: its value cannot be estimated."""
    n_rows = len(target.on_logged)
    wrong = np.zeros(n_rows, dtype=bool)
    if target.chosen is not None:
        wrong = ~available.has(target.chosen)
    else:
        for rows in row_blocks(np.arange(n_rows), len(space)):
            wrong[rows] = ((target.probability(rows) > TOLERANCE) & ~available.take(rows).dense()).any(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        taken = (target.probability(np.array([row])) > TOLERANCE) & ~available.take(np.array([row])).dense()
        raise ActionError(
            f"the {what} must choose among the available actions; in row {row} it takes "
            f"{space[int(taken.argmax())].item()!r}, which the mask excludes "
            f"({int(wrong.sum()):,} such rows in all). Decide with the same mask: policy.predict(X, available=mask)."
        )


def _stochastic(
    probability: Callable[[NDArray[np.intp]], NDArray[np.float64]], logged: NDArray[np.intp], space: NDArray[Any]
) -> Target:
    on_logged, share = np.empty(len(logged)), np.zeros(len(space))
    for rows in row_blocks(np.arange(len(logged)), len(space)):
        block = probability(rows)
        on_logged[rows] = block[np.arange(len(rows)), logged[rows]]
        share += block.sum(axis=0)
    return Target(None, probability, on_logged, share / len(logged))


def row_blocks(rows: NDArray[np.intp], n_columns: int) -> Iterator[NDArray[np.intp]]:
    """Yield the rows in blocks, so that a table of `n_columns` has a bounded number of entries."""
    size = max(1, BLOCK_NUMBERS // max(1, n_columns))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _translate(position: NDArray[np.intp], own: NDArray[Any], space: NDArray[Any]) -> NDArray[np.intp]:
    """Convert positions in a policy's own labels to positions in the space."""
    if np.array_equal(own, space[: len(own)]):
        return position
    return known_positions(own, space, "policy")[position]


def _encoded(answers: ArrayLike, n_rows: int, space: NDArray[Any], what: str) -> NDArray[np.intp]:
    labels = check_actions(answers, n_rows, what=f"the {what}'s answer")
    return known_positions(labels, space, what)


def _asked(
    policy: Any, X: Features, rows: NDArray[np.intp], columns: NDArray[Any], space: NDArray[Any], what: str
) -> NDArray[np.float64]:
    block = policy.predict_proba(X if len(rows) == count_rows(X) else take_rows(X, rows))
    own = known_labels(policy)
    positions = column_positions(block, columns if own is None else own, space, what)
    return _placed(_checked(block, rows, len(positions), what), positions, len(space))


def _placed(block: NDArray[np.float64], positions: NDArray[np.intp], n_actions: int) -> NDArray[np.float64]:
    """Return a table of all actions with the block's columns at their positions, and 0 elsewhere."""
    if np.array_equal(positions, np.arange(n_actions)):
        return block
    table = np.zeros((len(block), n_actions))
    table[:, positions] = block
    return table


def _checked(block: ArrayLike, rows: NDArray[np.intp], n_actions: int, what: str) -> NDArray[np.float64]:
    try:
        table = np.asarray(block, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"probabilities of the {what} must be numbers; got {block!r:.80}.") from None
    if table.shape != (len(rows), n_actions):
        raise ParameterError(
            f"probabilities of the {what} must have one row per row of X and one column per action, "
            f"{(len(rows), n_actions)}; got an array of shape {table.shape}. If there are actions that the log never "
            "took, name all in the order of the columns: actions=[...]."
        )
    total = table.sum(axis=1)
    wrong = ~(np.abs(total - 1) <= TOLERANCE) | (table < -TOLERANCE).any(axis=1)
    if wrong.any():
        place = int(wrong.argmax())
        raise ParameterError(
            f"probabilities of the {what} must be at least 0 and sum to 1; row {int(rows[place])} has "
            f"{table[place]} (sum {total[place]:g}, {int(wrong.sum()):,} such rows)."
        )
    return np.asarray(np.clip(table / total[:, np.newaxis], 0, 1))
