"""The results of a search: a table of all candidates."""

from __future__ import annotations

import math
from typing import Any

from offsettree._notebook import interval_bar, table

__all__ = ["SearchResults"]

HEAD = ["candidate", "value", "interval", "behind", "seconds", ""]


class SearchResults(list[dict[str, Any]]):
    """One dict per candidate, in their order; prints as a table, and ``pandas.DataFrame(results)`` makes a frame.

    Every dict has the keys

    - ``name``;
    - ``outcome``: "chosen", "compared", "dropped" during the race, "failed", or "left out" for lack of time;
    - ``reason``: why it was chosen or not, or why it left the race;
    - ``value``, ``stderr``, ``low``, ``high``: the estimate on held-out rows; of a dropped candidate, at that time;
    - ``behind``, ``behind_stderr``: its distance to the best, by the clipped terms used for the choice, and the
      standard error of that;
    - ``seconds``: spent on training and deciding, over all parts, folds and, for a nested estimate, pairs of folds;
    - ``error``: the error it failed with;
    - ``warnings``: the warnings issued while it was trained, as a tuple.

    Missing values are None.

    Parameters
    ----------
    rows : iterable of dict
        The candidates.
    """

    def column(self, key: str) -> list[Any]:
        """Return one value of every candidate."""
        return [row[key] for row in self]

    def __str__(self) -> str:
        lines = [HEAD, *([*_cells(row)] for row in self)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        valued = [row for row in self if row["value"] is not None]
        ends = [end for row in valued for end in (row["low"], row["high"]) if math.isfinite(end)]
        span = (min(ends), max(ends)) if ends else (0.0, 0.0)
        bars = [
            "" if row["value"] is None else interval_bar(row["value"], row["low"], row["high"], span) for row in self
        ]
        return table(HEAD, [_cells(row) for row in self], bars=bars)


def _cells(row: dict[str, Any]) -> list[str]:
    outcome = row["outcome"] if row["error"] is None else f"{row['outcome']}: {row['error']}"
    if row["value"] is None:
        return [row["name"], "", "", "", "" if row["seconds"] is None else f"{row['seconds']:.1f}", outcome]
    return [
        row["name"],
        f"{row['value']:.4g}",
        f"{row['low']:.4g} to {row['high']:.4g}",
        f"{row['behind']:.4g} +- {row['behind_stderr']:.2g}",
        f"{row['seconds']:.1f}",
        "" if outcome == "compared" else outcome,
    ]
