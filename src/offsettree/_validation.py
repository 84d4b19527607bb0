"""Inputs are judged here, once, before any work: what must hold, what came, where, and what to do."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree.exceptions import (
    ActionError,
    LogError,
    OffsetTreeWarning,
    ParameterError,
    PropensityError,
    RewardError,
)

__all__ = [
    "LEAST_PROPENSITY",
    "as_float",
    "as_random_state",
    "bad_propensities",
    "bad_rewards",
    "bad_whole_numbers",
    "check_actions",
    "check_labels",
    "check_n_jobs",
    "check_positions",
    "check_propensity",
    "check_range",
    "check_reward",
    "check_reward_within",
    "check_weight",
    "encode_actions",
    "find_actions",
    "is_number",
    "propensity_remedy",
    "refuse_scoring_without_log",
    "some_labels",
    "unique_labels",
    "warn_caller",
]

LEAST_PROPENSITY = 1e-300  # below, the weight 1 / propensity is infinite
MOST_PROPENSITY = 1 + 1e-6  # probabilities are often float32, or were printed and read again
LARGEST_WHOLE = 2.0**53  # beyond, floats no longer tell neighbouring whole numbers apart
DEEPEST_CALL = 12  # of a fit within scikit-learn's tools, such as that of a pipeline's last step
DENSE = 1 << 16  # integers within a range of this many are looked up in a table rather than sorted


def warn_caller(text: str | Warning, category: type[Warning] = OffsetTreeWarning) -> None:
    """Warn at the line outside of this package that led here."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").startswith("offsettree."):
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
            "reward is missing: pass reward=..., what the logged action of each row earned. Inside scikit-learn's "
            "tools, turn on sklearn.set_config(enable_metadata_routing=True) so that it is passed along."
        )
    values = _as_column(reward, n_rows, "reward", RewardError, copy=copy)
    bad = bad_rewards(values)
    if bad.any():
        row = int(bad.argmax())
        raise RewardError(
            f"reward must be a finite number; row {row} has {values[row]} ({_count(bad.sum(), 'row')} in all). "
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
            f"reward must be within reward_range=({low:g}, {high:g}); row {first_row + row} has {reward[row]} "
            f"({_count(outside.sum(), 'row')} of {len(reward)} outside, all rewards between {reward.min():g} and "
            f"{reward.max():g}). If rewards have another scale, pass reward_range=(low, high)."
        )


def check_propensity(propensity: ArrayLike | None, n_rows: int, *, copy: bool = True) -> NDArray[np.float64]:
    """Return the propensities, one per row, all in (0, 1]; a single number stands for every row.

    Without `copy` it may be the very array given, or one number seen n_rows times, which cannot be written to.
    """
    if propensity is None:
        raise PropensityError(
            "propensity is missing: pass propensity=..., the probability with which the logging policy chose each "
            "row's action. Without it, actions that were logged more often look better than they are, and neither "
            "learning nor evaluation can be trusted. If actions were drawn uniformly, it is 1 / n_actions."
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
            f"propensity must be in (0, 1]; row {row} has {values[row]} ({_count(bad.sum(), 'row')} in all). "
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
            f"({_count(bad.sum(), 'row')} in all)."
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
        raise LogError(_lengths_differ("y", len(labels), n_rows))
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return labels


def check_actions(action: ArrayLike | None, n_rows: int | None = None, *, what: str = "action") -> NDArray[Any]:
    """Return action labels as an array of integers or of strings (dtype object), never of both."""
    if action is None:
        raise ActionError(f"{what} is missing: pass the action that was taken in each row (integers or strings).")
    # A list is read as objects: numpy would make strings of everything where there is one string.
    values = np.asarray(action, dtype=object if isinstance(action, list | tuple) else None)
    if values.ndim != 1:
        came = f"an array of shape {values.shape}" if values.ndim else f"a {type(action).__name__}"
        raise ActionError(f"{what} must be a list of labels, integers or strings; got {came}.")
    if n_rows is not None and len(values) != n_rows:
        raise LogError(_lengths_differ(what, len(values), n_rows))
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind == "b":
        return values.astype(np.int64)
    if values.dtype.kind == "f":
        return _whole_numbers(values, what)
    if values.dtype.kind in "UT":
        _refuse_blank(values.tolist(), what)
        return values.astype(object)
    labels = values.tolist()
    missing = [row for row, label in enumerate(labels) if label is None or label != label]
    if missing:
        raise ActionError(
            f"{what} is missing in row {missing[0]} ({_count(len(missing), 'row')} in all). Drop such rows."
        )
    kinds = set(map(type, labels))
    if kinds == {str}:
        _refuse_blank(labels, what)
        return values
    if all(issubclass(kind, str) for kind in kinds):  # numpy's strings, enumerations of strings
        _refuse_blank(labels, what)
        return np.array([str.__str__(label) for label in labels], dtype=object)
    if all(issubclass(kind, int | np.integer) for kind in kinds):
        return _integers(labels, what)
    if all(issubclass(kind, int | float | np.integer | np.floating) for kind in kinds):
        return _whole_numbers(np.array([as_float(label) for label in labels]), what)
    row, label = _first_odd_label(labels)
    raise ActionError(
        f"{what} must be all integers or all strings; row {row} has {_show(label)} ({type(label).__name__}), row 0 has "
        f"{_show(labels[0])} ({type(labels[0]).__name__}). Make the labels of one kind."
    )


def _integers(labels: list[Any], what: str) -> NDArray[np.int64]:
    try:
        return np.array(labels, dtype=np.int64)
    except OverflowError:
        row = next(row for row, label in enumerate(labels) if not -(2**63) <= int(label) < 2**63)
        raise ActionError(
            f"{what} must be whole numbers that 64 bits hold; row {row} has {str(labels[row])[:40]}. Pass strings."
        ) from None


def _refuse_blank(labels: list[str], what: str) -> None:
    if not all(map(str.strip, labels)):
        rows = [row for row, label in enumerate(labels) if not label.strip()]
        raise ActionError(
            f"{what} is missing in row {rows[0]}, which has {labels[rows[0]]!r} ({_count(len(rows), 'row')} in all). "
            "Drop such rows, or name what happened there."
        )


def _first_odd_label(labels: list[Any]) -> tuple[int, Any]:
    for row, label in enumerate(labels):
        if not isinstance(label, str | int) or isinstance(label, str) != isinstance(labels[0], str):
            return row, label
    return 0, labels[0]


def _whole_numbers(values: NDArray[Any], what: str) -> NDArray[np.int64]:
    missing = np.isnan(values)
    if missing.any():
        row = int(missing.argmax())
        raise ActionError(f"{what} is missing in row {row} ({_count(missing.sum(), 'row')} in all). Drop such rows.")
    odd, large = bad_whole_numbers(values)
    if odd.any():
        row = int(odd.argmax())
        raise ActionError(
            f"{what} must be integers or strings, not continuous numbers (Unknown label type); row {row} has "
            f"{values[row]} ({_count(odd.sum(), 'row')} in all). Name the actions, or number them."
        )
    if large.any():
        row = int(large.argmax())
        raise ActionError(
            f"{what} must be whole numbers up to 2**53 where they are floats, which beyond no longer tell neighbours "
            f"apart; row {row} has {values[row]} ({_count(large.sum(), 'row')} in all). Pass integers or strings."
        )
    return values.astype(np.int64)


def bad_whole_numbers(values: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which floats are not whole, and which are too large to tell from their neighbours."""
    return ~(np.isfinite(values) & (values == np.round(values))), np.abs(values) > LARGEST_WHOLE


def find_actions(action: NDArray[Any], actions: ArrayLike | None, least: int = 2) -> NDArray[Any]:
    """Return the labels of all actions: those given, in the given order, or those logged, sorted; `least` of them."""
    if actions is None:
        labels = unique_labels(action)
        if len(labels) < least:
            raise ActionError(
                f"a policy needs at least two actions to choose from; the log has one class only, {_show(labels[0])}. "
                "If there are others that were never logged, name them all: actions=[...]."
            )
        return labels
    labels = check_actions(actions, what="actions")
    if labels.dtype.kind == "O":
        labels = labels.astype(str)
    names, counts = np.unique(labels, return_counts=True)
    if len(names) < len(labels):
        raise ParameterError(f"actions must differ from each other; {_show(names[counts.argmax()])} is named twice.")
    if len(labels) < least:
        wanted = "two actions" if least == 2 else "one action"
        raise ParameterError(f"actions must name at least {wanted}; got {labels.tolist()!r}.")
    return labels


def unique_labels(action: NDArray[Any]) -> NDArray[Any]:
    """Return the labels that occur, sorted."""
    # Hashing beats sorting for Python strings.
    return _unique_integers(action) if action.dtype.kind != "O" else np.array(sorted(set(action.tolist())), str)


def _unique_integers(values: NDArray[Any]) -> NDArray[Any]:
    low, high = int(values.min()), int(values.max())
    if high - low > len(values) + DENSE or high > np.iinfo(np.int64).max:
        return np.unique(values)
    # To count is several times as fast as to sort.
    return np.asarray(low + np.flatnonzero(np.bincount(values.astype(np.int64, copy=False) - low)), dtype=values.dtype)


def encode_actions(
    action: NDArray[Any], actions: NDArray[Any], what: str = "action", *, first_row: int = 0
) -> NDArray[np.intp]:
    """Return each label's position in `actions`; an unknown label is an error, counted from row `first_row` on."""
    if (action.dtype.kind == "O") != (actions.dtype.kind in "OU"):
        kinds = ("strings", "integers") if action.dtype.kind == "O" else ("integers", "strings")
        raise ActionError(f"the log's actions are {kinds[0]}, but the policy's are {kinds[1]}: {some_labels(actions)}.")
    if action.dtype.kind == "O":
        where = {label: position for position, label in enumerate(actions.tolist())}
        position = np.fromiter((where.get(label, -1) for label in action.tolist()), dtype=np.intp, count=len(action))
        unknown = position < 0
    elif _is_dense(actions) and np.can_cast(action.dtype, np.int64):
        # A table is several times as fast as a search.
        low, high = int(actions.min()), int(actions.max())
        is_known = len(action) == 0 or (action.min() >= low and action.max() <= high)
        if is_known and low == 0 and np.array_equal(actions, np.arange(len(actions))):
            return action.astype(np.intp)
        table = np.full(high - low + 1, -1, dtype=np.intp)
        table[actions.astype(np.int64) - low] = np.arange(len(actions))
        unknown = (action < low) | (action > high)
        place = action if low == 0 and is_known else np.where(unknown, 0, action.astype(np.int64) - low)
        position = table[place]
        unknown |= position < 0
    else:
        order = np.argsort(actions)
        found = np.minimum(np.searchsorted(actions, action, sorter=order), len(actions) - 1)
        position = order[found]
        unknown = actions[position] != action
    if unknown.any():
        row = int(unknown.argmax())
        raise ActionError(
            f"{what} must be one of the policy's {len(actions)} actions, {some_labels(actions)}; row "
            f"{first_row + row} has {_show(action[row])} ({_count(unknown.sum(), 'row')} in all). Drop those rows, or "
            "name every action when the policy is made: actions=[...]."
        )
    return position


def check_n_jobs(n_jobs: Any) -> None:
    """Refuse a number of workers that nobody can have meant."""
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and n_jobs != 0 and abs(n_jobs) < 2**31):
        raise ParameterError(
            "n_jobs must be None, a number of workers of at least 1, or -1 for one worker per core (-2 for one less, "
            f"and so on); got {n_jobs!r}. Leave it out to train in one."
        )


def check_positions(action: ArrayLike | None, n_rows: int, n_actions: int | None) -> tuple[NDArray[np.intp], int]:
    """Return actions given by position, and how many there are: by default the largest position, plus 1."""
    position = check_actions(action, n_rows)
    if len(position) == 0:
        raise ActionError("action is empty: pass the action that was taken in each row, and at least one row.")
    if position.dtype.kind == "O":
        raise ActionError(
            f"action must be positions, whole numbers from 0 on; row 0 has {_show(position[0])}. For labels take their "
            "positions: np.unique(action, return_inverse=True)[1]."
        )
    if n_actions is None:
        n_actions = int(position.max(initial=0)) + 1
    outside = (position < 0) | (position >= n_actions)
    if outside.any():
        row = int(outside.argmax())
        raise ActionError(
            f"action must be positions from 0 to n_actions - 1 = {n_actions - 1}; row {row} has {position[row]} "
            f"({_count(outside.sum(), 'row')} in all). For labels take their positions: "
            "np.unique(action, return_inverse=True)[1]."
        )
    return position.astype(np.intp), n_actions


def _is_dense(actions: NDArray[Any]) -> bool:
    low, high = int(actions.min()), int(actions.max())
    return high <= np.iinfo(np.int64).max and high - low < 16 * len(actions) + DENSE


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
        raise error(_lengths_differ(what, len(column), n_rows))
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
                f"{what} must be numbers; row {row} has {_show(value)} ({_kind(value)}). Convert the column "
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


def _lengths_differ(what: str, n_values: int, n_rows: int) -> str:
    return f"{what} must have one value per row of X; got {n_values} values for {_count(n_rows, 'row')}."


def _count(number: Any, noun: str) -> str:
    return f"{int(number):,} {noun}" + ("" if number == 1 else "s")


def _show(label: Any) -> str:
    return repr(getattr(label, "item", lambda: label)())  # 7, not np.int64(7)


def _kind(value: Any) -> str:
    return type(getattr(value, "item", lambda: value)()).__name__


def some_labels(labels: NDArray[Any]) -> str:
    """Show the first few labels."""
    shown = ", ".join(repr(label) for label in labels[:5].tolist())
    return shown + (", ..." if len(labels) > 5 else "")
