"""Plots of evaluations (extra ``plots``): values side by side, weights, calibration, and value by prefix of the log."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._available import check_available
from offsettree._features import Features, take_rows
from offsettree._labels import check_actions
from offsettree._plotting import INK, OTHER, SHADE, new_axes
from offsettree._validation import check_propensity, is_whole
from offsettree.evaluation._diagnostics import WeightSums
from offsettree.evaluation._inputs import Log, is_table, rows_of
from offsettree.evaluation._labels import find_space, table_columns
from offsettree.evaluation._plot_parts import draw_baselines, draw_prefixes, draw_unknown_ends
from offsettree.evaluation._reward_models import check_predictions
from offsettree.evaluation._targets import Target, find_target
from offsettree.evaluation._terms import MODEL_METHODS
from offsettree.evaluation.estimate import Estimate
from offsettree.evaluation.evaluate import evaluate
from offsettree.evaluation.propensity import PropensityEstimate
from offsettree.exceptions import LogError, OffsetTreeWarning, ParameterError

__all__ = ["plot_calibration", "plot_prefix", "plot_values", "plot_weights"]


def plot_values(estimates: Mapping[str, Estimate], *, axes: Any = None) -> Any:
    """Draw the values of several policies side by side, with their intervals and baselines.

    An infinite interval is drawn grey and dotted up to the edges, with arrows. If levels or baselines differ, each
    policy shows its own.

    Parameters
    ----------
    estimates : mapping of names to Estimate
        From `evaluate`, on the same log.
    axes : matplotlib axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib axes
        Save it by ``axes.figure.savefig(...)``.
    """
    named = isinstance(estimates, Mapping) and len(estimates) > 0
    if not named or not all(isinstance(each, Estimate) for each in estimates.values()):
        raise ParameterError(
            "plot_values takes a mapping of names to what evaluate returned, at least one, such as {'tree': "
            f"evaluate(tree, ...)}}; got {estimates!r:.80}."
        )
    axes = new_axes(axes, height=1.2 + 0.45 * len(estimates))
    found = list(estimates.values())
    place = np.arange(len(found))
    value = np.array([each.value for each in found])
    ends = np.array([[each.low, each.high] for each in found])
    within = np.where(np.isfinite(ends), ends, value[:, np.newaxis])
    known = np.isfinite(ends).all(axis=1)
    for rows, colour in ((known, INK), (~known, OTHER)):
        margins = np.abs(within - value[:, np.newaxis])[rows].T
        axes.errorbar(value[rows], place[rows], xerr=margins, fmt="o", color=colour, capsize=4 * (colour == INK))
    draw_baselines(axes, found)
    draw_unknown_ends(axes, value, ends)
    levels = [f"{100 * each.level:g} %" for each in found]
    alike = len(set(levels)) == 1
    names = [name if alike else f"{name} ({level})" for name, level in zip(estimates, levels, strict=True)]
    axes.set_yticks(place, names)
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlabel(f"value, with {levels[0]} intervals" if alike else "value, with intervals of the levels named")
    return axes


def plot_weights(
    policy: Any,
    X: Features,
    action: ArrayLike,
    *,
    propensity: ArrayLike | None = None,
    reward: ArrayLike | None = None,
    actions: ArrayLike | None = None,
    available: Any = None,
    axes: Any = None,
) -> Any:
    """Draw the share of the total weight that the heaviest rows carry.

    If all matched rows have equal weight it is a straight line. The steeper it starts, the fewer rows the estimate
    depends on.

    Parameters
    ----------
    policy, X, action, propensity, actions, available
        As in `evaluate`.
    reward : ignored
        Accepted so that ``**log.arrays()`` can be passed.
    axes : matplotlib axes, optional
        Where to draw; a new figure if not given.
    """
    X, n_rows = rows_of(X)
    labels = check_actions(action, n_rows)
    space, logged = find_space(labels, actions, [policy])
    sets = None if available is None else check_available(available, n_rows, space)
    columns = table_columns(labels, actions)
    target = find_target(policy, X, logged, space, "policy", sets, columns)
    weight = target.on_logged / check_propensity(propensity, n_rows)
    sums = WeightSums.of(weight)
    if sums.n_matched == 0:
        raise LogError(f"there are no weights to draw: in none of the {n_rows:,} rows does the policy match the log.")
    axes = new_axes(axes)
    heaviest = np.sort(weight[weight > 0])[::-1]
    points = np.unique(np.linspace(0, len(heaviest), 500).astype(int))
    carried = np.append(0, np.cumsum(heaviest))[points] / heaviest.sum()
    share = 100 * points / len(heaviest)
    axes.plot([0, 100], [0, 100], color=OTHER, linestyle="--", label="all weights alike")
    axes.plot(share, 100 * carried, color=INK, label="this log")
    axes.fill_between(share, 100 * carried, share, color=SHADE, alpha=0.5, linewidth=0)
    axes.set(xlim=(0, 100), ylim=(0, 100))
    axes.set_xlabel(f"heaviest of the {sums.n_matched:,} matched rows (%)")
    axes.set_ylabel("share of the weight (%)")
    axes.set_title(f"worth {sums.effective_rows:,.0f} rows of equal weight; largest weight {sums.largest:.3g}")
    axes.legend(loc="lower right", frameon=False)
    return axes


def plot_calibration(estimate: PropensityEstimate, *, axes: Any = None) -> Any:
    """Draw how often actions were taken against their predicted probabilities.

    Parameters
    ----------
    estimate : PropensityEstimate
        From `estimate_propensity`.
    axes : matplotlib axes, optional
        Where to draw; a new figure if not given.
    """
    if not isinstance(estimate, PropensityEstimate):
        raise ParameterError(
            f"plot_calibration takes what estimate_propensity returned; got {type(estimate).__name__}."
        )
    axes = new_axes(axes)
    predicted, taken, count = estimate.calibration.T
    margin = 1.96 * np.sqrt(taken * (1 - taken) / count)
    limit = 1.08 * max(predicted.max(), (taken + margin).max())
    axes.plot([0, limit], [0, limit], color=OTHER, linestyle="--", label="right")
    axes.errorbar(predicted, taken, yerr=margin, fmt="o", color=INK, capsize=3, label="tenths of all predictions")
    axes.axvline(estimate.clip, color=SHADE, label=f"clipped below {estimate.clip:.3g}")
    axes.set(xlim=(0, limit), ylim=(0, limit))
    axes.set_xlabel("predicted probability of an action")
    axes.set_ylabel("share of rows in which it was taken")
    axes.legend(loc="upper left", frameon=False)
    return axes


def plot_prefix(
    policy: Any,
    X: Features,
    action: ArrayLike,
    *,
    reward: ArrayLike | None = None,
    propensity: ArrayLike | None = None,
    n_points: int = 20,
    axes: Any = None,
    **settings: Any,
) -> Any:
    """Draw the value estimated on growing prefixes of the log.

    On a stationary log the interval narrows around a level line. A drift or a jump shows that the world, or the logging
    policy, changed over time. No interval is drawn while the variance is unknown.

    Parameters
    ----------
    policy, X, action, reward, propensity
        As in `evaluate`.
    n_points : int, default=20
        Number of prefixes, from a twentieth of the log on.
    axes : matplotlib axes, optional
        Where to draw; a new figure if not given.
    **settings
        Further arguments of `evaluate`, such as `method` or `interval`. A `baseline` is drawn as a second line; by
        default there is none.
    """
    if not is_whole(n_points) or n_points < 1:
        raise ParameterError(f"n_points must be a whole number of prefixes, at least 1; got {n_points!r}.")
    baseline = settings.pop("baseline", None)
    actions, available = settings.pop("actions", None), settings.pop("available", None)
    log = Log.of(X, action, reward, propensity, actions, available, [policy, baseline])
    n_rows, model = len(log.logged), settings.pop("reward_model", None)
    if is_table(model):
        model = check_predictions(model, n_rows, log.columns, log.space)
    # Policies are passed on as arrays of decisions, which have no reward_range.
    settings.setdefault("reward_range", getattr(policy, "reward_range", None))
    compared = baseline is not None and not (isinstance(baseline, str) and baseline == "logging")
    decided, first = [], max(n_rows // 20, 2)
    for each, what in ((policy, "policy"), (baseline, "baseline"))[: 1 + compared]:
        target = find_target(each, log.X, log.logged, log.space, what, log.available, log.columns)
        decided.append(_as_decided(target, log.space))
        matched = np.flatnonzero(target.on_logged > 0)
        if settings.get("method", "snips") not in MODEL_METHODS:
            if len(matched) == 0:
                raise LogError(
                    f"there is no value to draw: in none of the {n_rows:,} rows does the {what} match the log."
                )
            first = max(first, int(matched[0]) + 1)
    ends = np.unique(np.linspace(n_rows, min(first, n_rows), n_points).astype(int))
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffsetTreeWarning)  # would repeat for every prefix
        for end in ends:
            part: dict[str, Any] = {"reward": log.reward[:end], "propensity": log.propensity[:end]}
            part["available"] = None if log.available is None else log.available.mask[:end]
            part["baseline"] = decided[1][:end] if compared else baseline
            part["reward_model"] = model[:end] if isinstance(model, np.ndarray) else model
            rows, taken = take_rows(log.X, np.arange(end)), log.space[log.logged[:end]]
            found.append(evaluate(decided[0][:end], rows, taken, actions=log.space, **part, **settings))
    return draw_prefixes(new_axes(axes), ends, found)


def _as_decided(target: Target, space: NDArray[Any]) -> NDArray[Any]:
    """Return the decisions or probabilities as an array, so that the policy is asked once for all prefixes."""
    if target.chosen is None:
        return target.probability(np.arange(len(target.on_logged)))
    return np.asarray(space[target.chosen])
