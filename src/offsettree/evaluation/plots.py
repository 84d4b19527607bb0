"""Pictures of evaluations (extra ``plots``): values side by side, weights, calibration, and growth with the log."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._available import Available, check_available
from offsettree._features import Features, count_rows, take_rows
from offsettree._optional import require
from offsettree._validation import check_actions, check_propensity, check_reward
from offsettree.evaluation._diagnostics import WeightSums
from offsettree.evaluation._targets import find_space, find_target
from offsettree.evaluation.estimate import Estimate
from offsettree.evaluation.evaluate import evaluate
from offsettree.evaluation.propensity import PropensityEstimate
from offsettree.exceptions import LogError, OffsetTreeWarning, ParameterError

__all__ = ["plot_calibration", "plot_prefix", "plot_values", "plot_weights"]

INK, SHADE, OTHER = "#1f4e79", "#9dc3e6", "0.55"


def plot_values(estimates: Mapping[str, Estimate], *, axes: Any = None) -> Any:
    """Draw the values of several policies side by side, with their intervals, and their baseline.

    Parameters
    ----------
    estimates : mapping of names to Estimate
        From `evaluate`, on the same log.
    axes : matplotlib axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib axes
        With ``axes.figure.savefig(...)`` to keep it.
    """
    if not estimates or not all(isinstance(each, Estimate) for each in estimates.values()):
        raise ParameterError("plot_values takes a mapping of names to what evaluate returned, at least one.")
    axes = _axes(axes, height=1.2 + 0.45 * len(estimates))
    found = list(estimates.values())
    place = np.arange(len(found))
    value = np.array([each.value for each in found])
    ends = np.array([[each.low, each.high] for each in found])
    ends = np.where(np.isfinite(ends), ends, value[:, np.newaxis])
    axes.errorbar(value, place, xerr=np.abs(ends - value[:, np.newaxis]).T, fmt="o", color=INK, capsize=4)
    if found[0].baseline is not None:
        axes.axvline(found[0].baseline.value, color=OTHER, linestyle="--", label="baseline")
        axes.legend(loc="best", frameon=False)
    axes.set_yticks(place, list(estimates))
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlabel(f"value, with {100 * found[0].level:g} % intervals")
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
    """Draw which share of the whole weight the heaviest rows carry.

    Where all matched rows weigh the same it is a straight line; the steeper it begins, the fewer rows the estimate
    hangs on.

    Parameters
    ----------
    policy, X, action, propensity, actions, available
        As in `evaluate`.
    reward : ignored
        So that ``**log.arrays()`` can be passed.
    axes : matplotlib axes, optional
        Where to draw; a new figure if not given.
    """
    n_rows = count_rows(X)
    space, logged = find_space(check_actions(action, n_rows), actions, [policy])
    target = find_target(policy, X, logged, space, "policy", _sets(available, n_rows, space))
    weight = target.on_logged / check_propensity(propensity, n_rows)
    sums = WeightSums.of(weight)
    if sums.n_matched == 0:
        raise LogError(f"there are no weights to draw: in none of the {n_rows:,} rows does the policy match the log.")
    axes = _axes(axes)
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
    """Draw how often actions were taken against how likely they were predicted to be.

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
    axes = _axes(axes)
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
    """Draw the value as a function of how much of the log is used, from its beginning.

    An interval that narrows around a level line is what a log without surprises gives; a drift or a jump tells that
    the world, or what was logged, changed on the way.

    Parameters
    ----------
    policy, X, action, reward, propensity
        As in `evaluate`.
    n_points : int, default=20
        Prefixes, from a twentieth of the log on.
    axes : matplotlib axes, optional
        Where to draw; a new figure if not given.
    **settings
        Further arguments of `evaluate`, such as `method` or `interval`.
    """
    n_rows = count_rows(X)
    labels = check_actions(action, n_rows)
    rewards, chances = check_reward(reward, n_rows), check_propensity(propensity, n_rows)
    space, logged = find_space(labels, settings.pop("actions", None), [policy])
    sets = _sets(settings.pop("available", None), n_rows, space)
    target = find_target(policy, X, logged, space, "policy", sets)
    decided: Any = target.probability(np.arange(n_rows)) if target.chosen is None else space[target.chosen]
    matched = np.flatnonzero(target.on_logged > 0)
    if len(matched) == 0:
        raise LogError(f"there is no value to draw: in none of the {n_rows:,} rows does the policy match the log.")
    first = max(n_rows // 20, int(matched[0]) + 1, 2)
    ends = np.unique(np.linspace(first, n_rows, n_points).astype(int))
    settings = {"baseline": None, **settings}
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffsetTreeWarning)  # once per prefix; evaluate tells of them
        for end in ends:
            log: dict[str, Any] = {"reward": rewards[:end], "propensity": chances[:end], "actions": space}
            log["available"] = None if sets is None else sets.mask[:end]
            found.append(evaluate(decided[:end], take_rows(X, np.arange(end)), labels[:end], **log, **settings))
    axes = _axes(axes)
    value, low, high = (np.array([getattr(each, name) for each in found]) for name in ("value", "low", "high"))
    finite = np.isfinite(low) & np.isfinite(high)
    axes.fill_between(ends[finite], low[finite], high[finite], color=SHADE, alpha=0.5, linewidth=0)
    axes.plot(ends, value, color=INK, marker="o", markersize=3)
    axes.axhline(value[-1], color=OTHER, linestyle="--", linewidth=1)
    axes.set_xlabel("rows of the log")
    axes.set_ylabel(f"value ({found[-1].method}), with {100 * found[-1].level:g} % intervals")
    return axes


def _sets(available: Any, n_rows: int, space: NDArray[Any]) -> Available | None:
    return None if available is None else check_available(available, n_rows, space)


def _axes(axes: Any, height: float = 4.0) -> Any:
    if axes is not None:
        return axes
    # Not pyplot, which would open windows and keep every figure.
    figure = require("matplotlib.figure", extra="plots").Figure(figsize=(6.4, height), layout="constrained")
    return figure.subplots()
