"""How candidates fared: failed, left out, or there to be compared."""

from __future__ import annotations

import warnings
from typing import Any

from offsettree.exceptions import LogError, OffsetTreeWarning
from offsettree.selection._out_of_fold import Compared
from offsettree.selection.results import SearchResults

__all__ = ["all_failed", "fail", "is_matched", "new_row", "said", "warn_of_left_out"]


def warn_of_left_out(results: SearchResults, time_budget: float | None) -> None:
    """Warn of candidates that were never started."""
    left_out = [row["name"] for row in results if row["outcome"] == "left out"]
    if left_out:
        warnings.warn(
            f"time_budget={time_budget:g} s was used up before {len(left_out)} of {len(results)} candidates were "
            f"started: {', '.join(left_out)}. Give more time, or put those first that matter.",
            OffsetTreeWarning,
            stacklevel=4,
        )


def is_matched(candidate: Compared, results: SearchResults) -> bool:
    """Tell whether a candidate can be valued by the rows alone; one that cannot has failed."""
    if candidate.weight.any():
        return True
    text = "in none of the rows was an action logged that it would take"
    results[candidate.place].update(outcome="failed", error=text)
    return False


def new_row(name: str) -> dict[str, Any]:
    """Return the row of a candidate of which nothing is known."""
    keys = ("value", "stderr", "low", "high", "behind", "behind_stderr", "seconds", "error")
    return {"name": name, "outcome": "compared", **dict.fromkeys(keys), "warnings": ()}


def fail(row: dict[str, Any], error: Exception) -> None:
    """Note that a candidate failed, and how."""
    row.update(outcome="failed", error=said(error))


def said(error: Exception) -> str:
    """Return an error as one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def all_failed(results: SearchResults) -> LogError:
    """Return the error of a search in which no candidate is left."""
    failed = [f"{row['name']} ({row['error']:.200})" for row in results if row["outcome"] == "failed"]
    left_out = [row["name"] for row in results if row["outcome"] == "left out"]
    more = f" Not started for want of time: {', '.join(left_out)}; raise time_budget." if left_out else ""
    return LogError(
        f"none of the {len(failed)} candidates could be learned and compared: {'; '.join(failed)}. Fit one of them by "
        f"itself to see where it fails.{more}"
    )
