"""Inputs are judged here, once, before any work: what must hold, what came, where, and what to do."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from types import FrameType
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._messages import Parameter
from offsettree.exceptions import (
    LogError,
    OffsetTreeWarning,
    ParameterError,
    PropensityError,
    RewardError,
)

LEAST_PROPENSITY = 1e-300  # below, the weight 1 / propensity is infinite
MOST_PROPENSITY = 1 + 1e-6  # probabilities are often float32, or were printed and read again
DEEPEST_CALL = 12  # of a fit within scikit-learn's tools, such as that of a pipeline's last step


def warn_caller(text: str | Warning, category: type[Warning] = OffsetTreeWarning) -> None:
    """Warn at the line outside of this package that led here."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").startswith(("offsettree.", "contextlib")):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


def as_random_state(random_state: Any) -> np.random.RandomState:
    """Return what draws: a generator of numpy's goes on with its own stream."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.bit_generator)
    from sklearn.utils import check_random_state

    try:
        random: np.random.RandomState = check_random_state(random_state)
    except ValueError as error:
        raise ParameterError(
            "random_state must be None, a whole number from 0 to 2**32 - 1, a RandomState or a Generator of numpy; got "
            f"{random_state!r}."
        ) from error
    return random


def check_reward(reward: ArrayLike | None, n_rows: int, *, copy: bool = True) -> NDArray[np.float64]:
    """Return the rewards as finite floats, one per row; without `copy`, the very array given where it is such."""
    if reward is None:
        raise RewardError(
            "reward is missing: pass ",
            Parameter("reward"),
            ", what the logged action of each row earned. Inside scikit-learn's tools, turn on "
            "sklearn.set_config(enable_metadata_routing=True) so that it is passed along.",
        )
    values = _as_column(reward, n_rows, "reward", RewardError, copy=copy)
    bad = bad_rewards(values)
    if bad.any():
        row = int(bad.argmax())
        raise RewardError(
            f"reward must be a finite number; row {row} has {values[row]} ({counted(bad.sum(), 'row')} in all). "
            "Drop rows whose outcome was never observed; do not count them as zero unless it was zero."
        )
    return values


def bad_rewards(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which numbers cannot be rewards."""
    return ~np.isfinite(values)


def refuse_scoring_without_log() -> None:
    """Refuse a fit that scikit-learn's tools will score without rewards: every score would be NaN, after all the fits.

    Without metadata routing `GridSearchCV` and its kin pass what `fit` is given to `fit` alone. A score that fails is
    NaN to them, and no error.
    """
    frame: FrameType | None = sys._getframe(2)
    for _ in range(DEEPEST_CALL):
        if frame is None:
            return
        if frame.f_code.co_name == "_fit_and_score":
            known = frame.f_locals
            if not known.get("score_params") and _needs_log(known.get("scorer")):
                raise RewardError(
                    "reward and propensity did not arrive: scikit-learn's tools pass them on to the scores only "
                    "with metadata routing: call sklearn.set_config(enable_metadata_routing=True) first. Else every "
                    "score is NaN."
                )
            return
        frame = frame.f_back


def _needs_log(scorer: Any) -> bool:
    """Tell whether a scorer asks a policy what it is worth, which nothing but a log tells."""
    parts = getattr(scorer, "_scorers", None)
    if isinstance(parts, dict):
        return any(map(_needs_log, parts.values()))
    return type(scorer).__name__ in ("_PassthroughScorer", "PolicyScorer")


def check_level(level: Any) -> None:
    """Refuse a wrong confidence level."""
    if not (is_number(level) and 0 < level < 1):
        raise ParameterError(f"level must be between 0 and 1, such as 0.95; got {level!r}.")


def check_range(reward_range: Sequence[float]) -> tuple[float, float]:
    """Return (low, high) as floats with low < high."""
    try:
        low, high = reward_range
    except (TypeError, ValueError):
        raise ParameterError(f"reward_range must be a pair (low, high); got {reward_range!r}.") from None
    if not (is_number(low) and is_number(high)):
        raise ParameterError(f"reward_range must be a pair of numbers (low, high); got {reward_range!r}.")
    low, high = as_float(low), as_float(high)
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ParameterError(f"reward_range must be (low, high) with low < high, both finite; got {reward_range!r}.")
    return low, high


def check_reward_within(reward: NDArray[np.float64], reward_range: Sequence[float], *, first_row: int = 0) -> None:
    """Refuse rewards outside the range that the policy was told of; the first of them is row `first_row`."""
    low, high = check_range(reward_range)
    if len(reward) > 0 and (reward.min() < low or reward.max() > high):
        outside = (reward < low) | (reward > high)
        row = int(outside.argmax())
        raise RewardError(
            "reward must be within ",
            Parameter("reward_range", (low, high)),
            f"; row {first_row + row} has {reward[row]} "
            f"({counted(outside.sum(), 'row')} of {len(reward)} outside, all rewards between {reward.min():g} and "
            f"{reward.max():g}). If rewards have another scale, pass ",
            Parameter("reward_range", ("low", "high")),
            ".",
        )


def check_propensity(propensity: ArrayLike | None, n_rows: int, *, copy: bool = True) -> NDArray[np.float64]:
    """Return the propensities, one per row, all in (0, 1]; a single number stands for every row.

    Without `copy` it may be the very array given, or one number seen n_rows times, which cannot be written to.
    """
    if propensity is None:
        raise PropensityError(
            "propensity is missing: pass ",
            Parameter("propensity"),
            ", the probability with which the logging policy chose each row's action. Without it, actions that were "
            "logged more often look better than they are, and neither learning nor evaluation can be trusted. If "
            "actions were drawn uniformly, it is 1 / n_actions.",
        )
    if isinstance(propensity, Mapping):
        raise PropensityError(
            "propensity must be one number per row; got a mapping. Look each row's action up in it first: "
            "[propensity[label] for label in action]."
        )
    if np.ndim(propensity) == 0 and n_rows > 1 and not copy:
        # Looked at once.
        return np.broadcast_to(check_propensity(np.broadcast_to(np.asarray(propensity), 1), 1)[0], n_rows)
    if np.ndim(propensity) == 0:
        propensity = np.broadcast_to(np.asarray(propensity), n_rows)
    values = _as_column(propensity, n_rows, "propensity", PropensityError, copy=copy)
    bad = bad_propensities(values)
    if bad is not None:
        row = int(bad.argmax())
        raise PropensityError(
            f"propensity must be in (0, 1]; row {row} has {values[row]} ({counted(bad.sum(), 'row')} in all). "
            f"{propensity_remedy(values[row])}"
        )
    return np.minimum(values, 1.0) if values.max(initial=0.0) > 1 else values


def bad_propensities(values: NDArray[np.float64]) -> NDArray[np.bool_] | None:
    """Return which numbers cannot be propensities; None where all can."""
    if not len(values) or (values.min() > LEAST_PROPENSITY and values.max() <= MOST_PROPENSITY):  # so NaN is bad, too
        return None
    return ~((values > LEAST_PROPENSITY) & (values <= MOST_PROPENSITY))


def propensity_remedy(value: float) -> str:
    """Return what to do about a number that cannot be a propensity."""
    if np.isnan(value):
        return "Drop rows whose propensity was not recorded, or have it estimated."
    if value <= 0:
        return "Drop rows that the logging policy could not have produced."
    if value < 1:
        return "So small a number has no inverse: nobody can have drawn the action with such a probability."
    return "Percentages must be divided by 100."


def check_weight(weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    """Return one weight per row, none negative and not all zero; all one if none are given."""
    if weight is None:
        return np.ones(n_rows)
    values = _as_column(weight, n_rows, "sample_weight", LogError)
    bad = ~((values >= 0) & (values < np.inf))
    if bad.any():
        row = int(bad.argmax())
        raise LogError(
            f"sample_weight must be finite and not negative; row {row} has {values[row]} "
            f"({counted(bad.sum(), 'row')} in all)."
        )
    if not values.any():
        raise LogError("sample_weight must not be zero for every row: there is nothing to learn from.")
    return values


def check_labels(y: ArrayLike, n_rows: int) -> NDArray[Any]:
    """Return the labels of a classification problem, one per row, as scikit-learn understands them."""
    from sklearn.utils import assert_all_finite
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    labels: NDArray[Any] = column_or_1d(y, warn=True)
    if len(labels) != n_rows:
        raise LogError(lengths_differ("y", len(labels), n_rows))
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return labels


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse a number of workers that nobody can have meant."""
    if n_jobs is not None and not (is_whole(n_jobs) and n_jobs != 0 and abs(n_jobs) < 2**31):
        raise ParameterError(
            "n_jobs must be None, a number of workers of at least 1, or -1 for one worker per core (-2 for one less, "
            f"and so on); got {n_jobs!r}. Leave it out to train in one."
        )


def _as_column(
    values: ArrayLike, n_rows: int, what: str, error: type[LogError], *, copy: bool = True
) -> NDArray[np.float64]:
    column = np.asarray(values)
    if column.dtype.kind not in "biuf":
        column = _as_numbers(column, what, error)
    column = column.astype(np.float64, copy=copy)
    if column.ndim != 1:
        raise error(f"{what} must be one number per row; got an array of shape {column.shape}.")
    if len(column) != n_rows:
        raise error(lengths_differ(what, len(column), n_rows))
    return column


def _as_numbers(column: NDArray[Any], what: str, error: type[LogError]) -> NDArray[np.float64]:
    """Read objects as numbers; text is not taken for a number even where it looks like one."""
    numbers = np.empty(column.shape)
    for place, value in np.ndenumerate(column):
        if isinstance(value, Real | Decimal | np.bool_):
            numbers[place] = as_float(value)
        elif value is None or str(value) in ("<NA>", "NaT"):
            numbers[place] = np.nan
        else:
            row = place[0] if place else 0
            raise error(
                f"{what} must be numbers; row {row} has {shown(value)} ({_kind(value)}). Convert the column "
                "first, for instance with .astype(float)."
            )
    return numbers


def as_float(value: Any) -> float:
    """Convert a number; a whole number beyond all floats is infinite."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def is_number(value: object) -> bool:
    """Tell a real number that a float can be from everything else; truth values are not numbers here."""
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
        return False
    return isinstance(value, float) or abs(as_float(value)) < np.inf or not isinstance(value, int)


def is_whole(value: object) -> TypeGuard[int]:
    """Tell a whole number from everything else; truth values are not numbers here."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Refuse a parameter that is no whole number within bounds."""
    if not is_whole(value) or value < least or (most is not None and value > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ParameterError(f"{name} must be a whole number {bounds}; got {value!r}.")


def check_truth(name: str, value: Any) -> None:
    """Refuse a parameter that is no truth value."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} must be True or False; got {value!r}.")


def lengths_differ(what: str, n_values: int, n_rows: int) -> str:
    return f"{what} must have one value per row of X; got {n_values} values for {counted(n_rows, 'row')}."


def counted(number: Any, noun: str) -> str:
    return f"{int(number):,} {noun}" + ("" if number == 1 else "s")


def _kind(value: Any) -> str:
    return type(getattr(value, "item", lambda: value)()).__name__


def shown(label: Any) -> str:
    return repr(getattr(label, "item", lambda: label)())  # 7, not np.int64(7)
