"""What is in a log, in one pass and bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from offsettree.encoding import TableEncoder
from offsettree.evaluation._diagnostics import FEW_ROWS
from offsettree.exceptions import FeatureError, PropensityError
from offsettree.logs import LogScan
from offsettree.logs._other_columns import alike_but_for_blanks
from offsettree.workflow.leaks import find_leaks

__all__ = ["doubts_of_propensities", "inspect_log"]


def inspect_log(path: Any, **arguments: Any) -> dict[str, Any]:
    """Count what a log holds, and tell what cannot be right.

    Parameters
    ----------
    path : str or path
        A file or a folder.
    **arguments : Any
        As `LoggedData.scan` takes them.

    Returns
    -------
    dict
        With `rows`, `actions`, `reward`, `propensity`, `features`, `notes` and `warnings`, as JSON can hold them.
    """
    scan, told = _open(path, arguments)
    sums: dict[Any, list[float]] = {}
    extremes = {"reward": [np.inf, -np.inf], "propensity": [np.inf, -np.inf]}
    squares = 0.0
    warnings: list[str] = []

    def tables() -> Iterator[Any]:
        nonlocal squares
        for log in scan:
            if not sums:
                warnings.extend(find_leaks(log.X, log.action, log.reward))
            propensity = log.propensity if told else np.ones(len(log.action))
            labels, position = np.unique(log.action, return_inverse=True)
            n_rows = np.bincount(position)
            reward = np.bincount(position, log.reward)
            inverse = np.bincount(position, 1 / propensity)
            with np.errstate(over="ignore"):  # infinite where a propensity is hardly above zero
                squares += float(((1 / propensity) ** 2).sum())
            for i, label in enumerate(labels.tolist()):
                total = sums.setdefault(label, [0, 0.0, 0.0])
                total[0] += int(n_rows[i])
                total[1] += float(reward[i])
                total[2] += float(inverse[i])
            for name, values in (("reward", log.reward), ("propensity", propensity)):
                low, high = extremes[name]
                extremes[name] = [min(low, float(values.min())), max(high, float(values.max()))]
            yield log.X

    notes = list(scan.notes)
    try:
        encoder = TableEncoder.learn(tables())
        notes += encoder.notes
        features = _feature_facts(encoder)
    except FeatureError as error:
        notes.append(str(error))
        features = []
    notes += alike_but_for_blanks(sums)
    n_rows = int(sum(total[0] for total in sums.values()))
    mean_inverse = sum(total[2] for total in sums.values()) / n_rows
    actions = [
        {
            "label": label,
            "rows": int(count),
            "share": count / n_rows,
            "mean_reward": reward / count,
            # The mean of 1 / propensity over all rows, those of other actions counted as 0.
            "times_expected": inverse / n_rows if told else None,
        }
        for label, (count, reward, inverse) in sorted(sums.items(), key=lambda item: -item[1][0])
    ]
    return {
        "kind": "log",
        "path": str(path),
        "rows": n_rows,
        "actions": actions,
        "reward": {
            "min": extremes["reward"][0],
            "max": extremes["reward"][1],
            "mean": sum(total[1] for total in sums.values()) / n_rows,
        },
        "propensity": {
            "min": extremes["propensity"][0],
            "max": extremes["propensity"][1],
            "mean_inverse": mean_inverse,
        }
        if told
        else None,
        "features": features,
        "notes": notes,
        "warnings": warnings + (doubts_of_propensities(n_rows, len(sums), mean_inverse, squares, sums) if told else []),
    }


def _open(path: Any, arguments: dict[str, Any]) -> tuple[Any, bool]:
    """Return the chunks of a log, and whether it tells propensities: one that does not can be looked into as well."""
    try:
        return LogScan(path, **arguments), True
    except PropensityError:
        if arguments.get("propensity") is not None:
            raise
        scan = LogScan(path, without_propensity=True, **arguments)
        scan.notes = (*scan.notes, "No column tells the propensity: to learn, say which does, or have it estimated.")
        return scan, False


def _feature_facts(encoder: TableEncoder) -> list[dict[str, Any]]:
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "missing": column.share_missing,
            "encoded": f"{len(column.names_out)} column{'s' * (len(column.names_out) != 1)}",
        }
        for column in encoder.columns
    ]


def doubts_of_propensities(
    n_rows: int, n_actions: int, mean_inverse: float, squares: float, sums: dict[Any, Any]
) -> list[str]:
    """Tell of propensities that cannot be right, by the same signs as `evaluate`, from sums alone.

    `sums` has, by action, the number of rows, the sum of rewards, and that of 1 / propensity; `mean_inverse` and
    `squares` are the mean of the last over all rows, and the sum of its squares.
    """
    if n_rows < FEW_ROWS:
        return []
    # Where squares are beyond all numbers, so is the mean: no spread can explain it.
    spread = squares / n_rows - mean_inverse * mean_inverse if np.isfinite(squares) else 0.0
    stderr = max(spread, 0.0) ** 0.5 / n_rows**0.5
    found = []
    if abs(mean_inverse - n_actions) > 0.1 * n_actions + 5 * stderr:
        why = "small" if mean_inverse > n_actions else "large, or some actions cannot be taken in every context"
        found.append(
            f"propensities cannot be right: the mean of 1 / propensity over all rows is {mean_inverse:.3g}, where it "
            f"should be near the number of actions, {n_actions}. They seem too {why}."
        )
        return found
    odd = [(label, total) for label, total in sums.items() if total[0] >= 100 and abs(total[2] / n_rows - 1) > 0.5]
    if odd:
        label, total = max(odd, key=lambda item: abs(item[1][2] / n_rows - 1))
        found.append(
            f"propensities of action {label} may be wrong: it was logged {total[0]:,.0f} times, which is "
            f"{total[2] / n_rows:.2f} times as often as they say."
        )
    return found
