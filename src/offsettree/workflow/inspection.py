"""A summary of a log, in one pass and bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from offsettree.encoding import TableEncoder
from offsettree.evaluation.parts import FEW_ROWS
from offsettree.exceptions import FeatureError, PropensityError
from offsettree.logs import LoggedData, alike_but_for_blanks
from offsettree.workflow.leaks import find_leaks

__all__ = ["doubts_of_propensities", "inspect_log"]


def inspect_log(path: Any, *, sets: dict[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
    """Summarise a log, and warn about propensities and features that are likely wrong.

    Parameters
    ----------
    path : str or path
        A file or a folder.
    sets : dict, optional
        Where rows have action sets: how to read them, as `ActionLogScan` takes it.
    **arguments : Any
        Arguments of `LoggedData.scan`.

    Returns
    -------
    dict
        With `rows`, `actions`, `reward`, `propensity`, `features`, `left_out` (columns that are no features, and why),
        `notes` and `warnings`; JSON can hold them.
    """
    if sets is not None:
        arguments = {**arguments, **sets, "action_sets": True}
    scan, has_propensity = _open(path, arguments)
    sums, eligible = _LogSums(has_propensity), _SetSums()
    warnings: list[str] = []
    refused: list[FeatureError] = []

    def tables() -> Iterator[Any]:
        for log in _read(scan, refused):
            if not sums.by_action:
                warnings.extend(find_leaks(log.X, log.action, log.reward))
            sums.add(log)
            if sets is not None:
                eligible.add(log)
            yield log.X

    notes = list(scan.notes)
    left_out: dict[str, str] = {}
    try:
        encoder = TableEncoder.learn(tables())
        notes += encoder.notes
        features, left_out = _feature_facts(encoder), encoder.left_out
    except FeatureError as error:
        if refused:
            raise
        notes.append(error.args[0])
        features = []
    notes += alike_but_for_blanks(sums.by_action)
    more, doubts = {}, []
    if sets is not None:
        more = {"sets": eligible.facts(), "action_features": eligible.features()}
        sums.is_expected = False  # how often an action is expected depends on how often it is eligible
        doubts = eligible.doubts() if has_propensity else []
    return {
        "kind": "log",
        "path": str(path),
        **sums.facts(),
        "features": features,
        "left_out": [{"name": name, "reason": reason} for name, reason in left_out.items()],
        **more,
        "notes": notes,
        "warnings": warnings + (sums.doubts() if sets is None else doubts),
    }


def _read(scan: Any, refused: list[FeatureError]) -> Iterator[Any]:
    """Yield the chunks of a log; a file that cannot be read is not one without features to show."""
    try:
        yield from scan
    except FeatureError as error:
        refused.append(error)
        raise


def _open(path: Any, arguments: dict[str, Any]) -> tuple[Any, bool]:
    """Return the chunks of a log, and whether it has propensities; a log without can be inspected as well."""
    try:
        return LoggedData.scan(path, **arguments), True
    except PropensityError:
        if arguments.get("propensity") is not None:
            raise
        scan = LoggedData.scan(path, without_propensity=True, **arguments)
        note = (
            "No column holds the propensity: to learn, name the column, or have it estimated (--propensity-estimated "
            "on the command line, estimate_propensity in Python)."
        )
        scan.notes = (*scan.notes, note)
        return scan, False


class _LogSums:
    """Sums over the chunks of a log."""

    def __init__(self, has_propensity: bool) -> None:
        self.has_propensity, self.is_expected = has_propensity, True
        self.by_action: dict[Any, list[float]] = {}  # number of rows, sum of rewards, sum of 1 / propensity
        self._squares = 0.0  # of 1 / propensity
        self._extremes = {"reward": [np.inf, -np.inf], "propensity": [np.inf, -np.inf]}

    def add(self, log: Any) -> None:
        """Add the rows of a chunk."""
        propensity = log.propensity if self.has_propensity else np.ones(len(log.action))
        labels, position = np.unique(log.action, return_inverse=True)
        n_rows = np.bincount(position)
        reward = np.bincount(position, log.reward)
        inverse = np.bincount(position, 1 / propensity)
        with np.errstate(over="ignore"):  # infinite if a propensity is tiny
            self._squares += float(((1 / propensity) ** 2).sum())
        for i, label in enumerate(labels.tolist()):
            total = self.by_action.setdefault(label, [0, 0.0, 0.0])
            total[0] += int(n_rows[i])
            total[1] += float(reward[i])
            total[2] += float(inverse[i])
        for name, values in (("reward", log.reward), ("propensity", propensity)):
            low, high = self._extremes[name]
            self._extremes[name] = [min(low, float(values.min())), max(high, float(values.max()))]

    def facts(self) -> dict[str, Any]:
        """Return `rows`, `actions`, `reward` and `propensity` of the summary."""
        n_rows, total_reward, _ = self._totals()
        actions = [
            {
                "label": label,
                "rows": int(count),
                "share": count / n_rows,
                "mean_reward": reward / count,
                # Near 1 if propensities are right: the mean over all rows of 1 / propensity, 0 for other actions.
                "times_expected": inverse / n_rows if self.has_propensity and self.is_expected else None,
            }
            for label, (count, reward, inverse) in sorted(self.by_action.items(), key=lambda item: -item[1][0])
        ]
        return {
            "rows": n_rows,
            "actions": actions,
            "reward": {**self._ends("reward"), "mean": total_reward / n_rows},
            "propensity": {**self._ends("propensity"), "mean_inverse": self._mean_inverse()}
            if self.has_propensity
            else None,
        }

    def doubts(self) -> list[str]:
        """Return warnings about the propensities, if the log has some."""
        if not self.has_propensity:
            return []
        n_rows, n_actions = self._totals()[0], len(self.by_action)
        return doubts_of_propensities(n_rows, n_actions, self._mean_inverse(), self._squares, self.by_action)

    def _totals(self) -> tuple[int, float, float]:
        rows, reward, inverse = (sum(total[i] for total in self.by_action.values()) for i in range(3))
        return int(rows), reward, inverse

    def _mean_inverse(self) -> float:
        n_rows, _, inverse = self._totals()
        return inverse / n_rows

    def _ends(self, name: str) -> dict[str, float]:
        return dict(zip(("min", "max"), self._extremes[name], strict=True))


class _SetSums:
    """Sums over the action sets of a log."""

    def __init__(self) -> None:
        self.ids: set[Any] = set()
        self.n_rows, self.n_pairs, self.fewest, self.most = 0, 0, 0, 0
        self.inverse, self.squares = 0.0, 0.0  # of 1 / propensity - number of eligible actions
        self.tables: list[tuple[str, Any]] = []

    def add(self, log: Any) -> None:
        """Add the rows of a chunk."""
        sets = log.action_sets
        sizes = sets.sizes
        self.fewest = int(sizes.min()) if self.n_rows == 0 else min(self.fewest, int(sizes.min()))
        self.most = max(self.most, int(sizes.max()))
        if not self.tables:
            self.tables = [("item", sets.items), ("pair", sets.pairs)]
        self.n_rows, self.n_pairs = self.n_rows + len(sizes), self.n_pairs + len(sets.ids)
        self.ids |= set(np.unique(sets.ids).tolist())
        off = 1 / log.propensity - sizes
        self.inverse, self.squares = self.inverse + float(off.sum()), self.squares + float((off**2).sum())

    def facts(self) -> dict[str, Any]:
        """Return how many actions are eligible at a time, and in all."""
        mean = self.n_pairs / self.n_rows
        return {"fewest": self.fewest, "mean": mean, "most": self.most, "ids": len(self.ids)}

    def features(self) -> list[dict[str, Any]]:
        """Return the features of actions, by the first chunk."""
        found = []
        for of, table in self.tables:
            if table is not None and hasattr(table, "columns"):
                facts = _feature_facts(TableEncoder.learn([table]))
                found += [{**each, "name": f"{each['name']} ({of})"} for each in facts]
        return found

    def doubts(self) -> list[str]:
        """Warn about propensities that cannot be right: 1 / propensity is on average the number of eligible actions."""
        if self.n_rows < FEW_ROWS:
            return []
        mean, eligible = self.inverse / self.n_rows, self.n_pairs / self.n_rows
        stderr = max(self.squares / self.n_rows - mean**2, 0.0) ** 0.5 / self.n_rows**0.5
        if abs(mean) <= 0.1 * eligible + 5 * stderr:
            return []
        text = (
            f"propensities cannot be right: the mean of 1 / propensity over all rows is {mean + eligible:.3g}, where "
            f"it should be near the number of eligible actions, {eligible:.3g} on average. They seem too "
            f"{'small' if mean > 0 else 'large'}."
        )
        return [text]


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
    """Warn about impossible propensities, by the same criteria as `evaluate`, from sums only.

    `sums` holds, by action, the number of rows, the sum of rewards and the sum of 1 / propensity. `mean_inverse` is
    the mean of 1 / propensity over all rows, `squares` the sum of its squares.
    """
    if n_rows < FEW_ROWS:
        return []
    # If the squares overflow, so large a mean is wrong however large the spread.
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
