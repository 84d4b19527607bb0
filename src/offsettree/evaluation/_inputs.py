"""The arguments of an evaluation, checked once: settings and the log."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._available import Available, check_available_to_log
from offsettree._features import Features, count_rows, is_frame, is_sparse
from offsettree._messages import Parameter
from offsettree._sparse import as_csr
from offsettree._validation import check_level, check_range, check_reward_within, is_number
from offsettree.evaluation._labels import find_space, table_columns
from offsettree.evaluation._terms import METHODS
from offsettree.exceptions import FeatureError, LogError, ParameterError
from offsettree.logs import judge_columns
from offsettree.reductions import check_reward_model

INTERVALS = ("mid_p", "empirical_likelihood", "normal", "bootstrap", "bernstein", "betting", "anytime")
GUARANTEED = ("bernstein", "betting", "anytime")
FAR = 1e100  # squares of numbers above it, or below 1 / FAR, may overflow or underflow


@dataclass(frozen=True)
class Log:
    """A checked log; actions are positions in `space`, the array of all labels.

    `columns` are the labels of the columns of tables. Rewards are to be divided by `unit`: 1, unless they are so large
    or small that squares of them, or of weights times them, would overflow or underflow.
    """

    X: Features
    logged: NDArray[np.intp]
    reward: NDArray[np.float64]
    propensity: NDArray[np.float64]
    space: NDArray[Any]
    columns: NDArray[Any]
    available: Available | None
    unit: float

    @classmethod
    def of(
        cls,
        X: Features,
        action: Any,
        reward: Any,
        propensity: Any,
        actions: Any,
        available: Any,
        policies: list[Any],
    ) -> Log:
        """Check the arrays of a log against each other and against the policies."""
        X, n_rows = rows_of(X)
        labels, rewards, chances = judge_columns(n_rows, action, reward, propensity)
        space, logged = find_space(labels, actions, policies)
        sets = None if available is None else check_available_to_log(available, logged, space)
        columns = table_columns(labels, actions)
        return cls(X, logged, rewards, chances, space, columns, sets, reward_unit(rewards, chances))


def rows_of(X: Features) -> tuple[Features, int]:
    """Return X in a form that can be indexed by row, and the number of rows."""
    if hasattr(X, "arrays") and hasattr(X, "propensity"):
        raise LogError("evaluate takes the parts of a log, not the log itself: evaluate(policy, **log.arrays()).")
    if is_sparse(X):
        X = as_csr(X)
    try:
        n_rows = count_rows(X)
    except TypeError:
        raise FeatureError(
            "X must be what was known when each decision was taken: an array of shape (n_rows, n_features), a sparse "
            f"matrix or a frame; got {X!r:.80}. Policies given as arrays do not use it: np.zeros((n_rows, 1)) will do "
            "for them."
        ) from None
    if n_rows == 0:
        raise LogError("the log is empty: X has no rows.")
    return X, n_rows


def reward_unit(reward: NDArray[np.float64], propensity: NDArray[np.float64]) -> float:
    largest = max(float(reward.max()), -float(reward.min()))
    if largest == 0 or (largest > 1 / FAR and largest / float(propensity.min()) < FAR):
        return 1.0
    return float(np.exp2(np.floor(np.log2(largest))))  # by which division is exact


def find_range(policy: Any, reward_range: Any, reward: NDArray[np.float64]) -> tuple[float, float] | None:
    """Return the range of rewards, or None if it is not known.

    It is the range given; or the policy's, if all rewards are within; or (0, 1), if they are within and not all equal.
    """
    if reward_range is not None:
        low, high = check_range(reward_range)
        check_reward_within(reward, (low, high))
        return low, high
    smallest, largest = float(reward.min()), float(reward.max())
    with suppress(ParameterError):  # a foreign policy may use the name for something else
        low, high = check_range(getattr(policy, "reward_range", None))  # type: ignore[arg-type]
        if low <= smallest and largest <= high:
            return low, high
    return (0.0, 1.0) if 0 <= smallest < largest <= 1 else None


def is_table(reward_model: Any) -> bool:
    """Whether this is a table of predicted rewards, not a regressor."""
    return isinstance(reward_model, np.ndarray | list) or is_frame(reward_model)


def check_settings(
    method: str, interval: str, level: Any, reward_model: Any, reward_range: Any, max_weight: Any
) -> None:
    """Refuse invalid settings, also those that the method does not use."""
    _check_choice("method", method, METHODS)
    _check_choice("interval", interval, INTERVALS)
    check_level(level)
    if reward_model is not None and not is_table(reward_model):
        check_reward_model(reward_model)
    if reward_range is not None:
        check_range(reward_range)
    if max_weight is not None and not (is_number(max_weight) and max_weight > 0):
        raise ParameterError(
            "max_weight must be the largest weight, probability under the policy / propensity, that any row could "
            f"have: a number above 0; got {max_weight!r}. Leave it out for 1 / the smallest propensity of the log."
        )
    if interval in (*GUARANTEED, "empirical_likelihood") and method in ("direct", "switch"):
        raise ParameterError(
            Parameter("interval", interval),
            " holds for unbiased estimates, and ",
            Parameter("method", method),
            " has the bias of its reward model. Use 'mid_p', 'normal' or 'bootstrap', or another method.",
        )
    if interval == "bernstein" and method == "doubly_robust":
        raise ParameterError(
            Parameter("interval", "bernstein"),
            " needs independent rows, which a cross-fitted reward model makes dependent. Use ",
            Parameter("interval", "betting"),
            ", whose reward models learn from earlier rows only.",
        )


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")
