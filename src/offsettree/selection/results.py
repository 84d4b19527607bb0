"""What a search saw: a table of all candidates."""

from __future__ import annotations

from typing import Any

__all__ = ["SearchResults"]


class SearchResults(list[dict[str, Any]]):
    """One dict per candidate, the simplest first; prints as a table, and ``pandas.DataFrame(results)`` makes a frame.

    Every dict has the keys

    - ``name``;
    - ``outcome``: "chosen", "compared", "dropped" on the way, "failed", or "left out" for want of time;
    - ``reason``: what the rule of choice said of it, or why it left the race;
    - ``value``, ``stderr``, ``low``, ``high``: the estimate from decisions on rows not learned from; of one that was
      dropped, as it was then;
    - ``behind``, ``behind_stderr``: by how much it is behind the best, by what is chosen by, and the standard error of
      that;
    - ``seconds``: spent on learning and deciding, over all parts, folds and, for a nested estimate, pairs of folds;
    - ``error``: what it failed with;
    - ``warnings``: what was said while it learned, as a tuple.

    Where there is nothing to say, a value is None.

    Parameters
    ----------
    rows : iterable of dict
        The candidates.
    """

    def column(self, key: str) -> list[Any]:
        """Return one value of every candidate."""
        return [row[key] for row in self]

    def __str__(self) -> str:
        head = ["candidate", "value", "interval", "behind", "seconds", ""]
        lines = [head, *([*_cells(row)] for row in self)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )

    __repr__ = __str__


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
