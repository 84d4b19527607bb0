"""Rows of the results table, and messages about candidates that were not compared."""

from __future__ import annotations

from typing import Any

from offsettree._messages import Message, Parameter
from offsettree._validation import warn_caller
from offsettree.exceptions import LogError
from offsettree.selection.results import SearchResults

ROUNDING = 1e-9


def new_row(name: str) -> dict[str, Any]:
    """Return a candidate's row of the results, without figures."""
    keys = ("value", "stderr", "low", "high", "behind", "behind_stderr", "seconds", "error")
    return {"name": name, "outcome": "compared", **dict.fromkeys(keys), "reason": "", "warnings": ()}


def write_reasons(results: SearchResults, chosen: int) -> None:
    """Mark the chosen candidate, and write why each candidate was, or was not, chosen."""
    results[chosen]["outcome"] = "chosen"
    for place, row in enumerate(results):
        if row["outcome"] not in ("chosen", "compared"):
            continue
        gap = gap_of(row, "the highest value")
        if place != chosen and is_highest(row):
            row["reason"] = f"{gap}, but not by enough to be preferred"
        elif place == chosen and not is_highest(row):
            row["reason"] = f"{gap}, which is too little to prefer another"
        else:
            row["reason"] = gap


def gap_of(row: dict[str, Any], highest: str) -> str:
    """Tell how far a candidate is behind the best, or say that it is the best in the words of `highest`."""
    return highest if is_highest(row) else f"behind the best by {row['behind']:.3g} +- {row['behind_stderr']:.2g}"


def is_highest(row: dict[str, Any]) -> bool:
    """Whether no value is higher, but for the rounding of sums."""
    return bool(row["behind"] <= ROUNDING * abs(row["value"]))


def warn_of_left_out(results: SearchResults, time_budget: float | None) -> None:
    """Warn of candidates that were left out for lack of time."""
    left_out = [f"{row['name']} ({row['reason']})" for row in results if row["outcome"] == "left out"]
    if left_out:
        text = Message(
            Parameter("time_budget", time_budget),
            f" s was too short for {len(left_out)} of {len(results)} candidates: {'; '.join(left_out)}. Give more "
            "time, or fewer candidates.",
        )
        warn_caller(text)


def all_failed_error(results: SearchResults) -> LogError:
    """Return the error to raise if no candidate is left."""
    failed = [f"{row['name']} ({row['error']:.200})" for row in results if row["outcome"] == "failed"]
    left_out = [row["name"] for row in results if row["outcome"] == "left out"]
    more = f" Left out for lack of time: {', '.join(left_out)}; raise time_budget." if left_out else ""
    return LogError(
        f"none of the {len(failed)} candidates could be trained and compared: {'; '.join(failed)}. Fit one of them by "
        f"itself to see where it fails.{more}"
    )
