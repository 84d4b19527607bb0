"""The figures of `accuracy.py` as a table: mean true values over the logs, and how far from the search's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

SEARCH = "PolicySearch"
GROUPS = ("datasets, uniform", "datasets, skewed", "generated, uniform", "generated, skewed")


def group_of(record: dict[str, Any]) -> str:
    """Return the column of a record: generated problems have their number of actions in the name."""
    return f"{'generated' if ',' in record['source'] else 'datasets'}, {record['logging']}"


def log_of(record: dict[str, Any]) -> tuple[Any, ...]:
    """Return what tells one log from another."""
    return record["source"], record["logging"], record["seed"]


def summaries(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a summary of every policy: mean values, and the search's lead over it on the logs where both answer."""
    by_policy: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {}
    for record in found["figures"]:
        by_policy.setdefault(record["policy"], {})[log_of(record)] = record
    search = by_policy.get(SEARCH, {})
    rows = []
    for policy in _in_order(by_policy, search):
        records = by_policy[policy]
        answered = {log: each for log, each in records.items() if each["value"] is not None}
        common = [log for log in answered if log in search]
        lead = np.array([search[log]["value"] - answered[log]["value"] for log in common])
        means = {group: _mean(e["value"] for e in answered.values() if group_of(e) == group) for group in GROUPS}
        rows.append(
            {
                "policy": policy,
                "mean": _mean(each["value"] for each in answered.values()),
                **means,
                "lead": float(lead.mean()) if len(lead) else None,
                "lead_stderr": float(lead.std(ddof=1) / np.sqrt(len(lead))) if len(lead) > 1 else None,
                "n_logs": len(answered),
                "n_failed": len(records) - len(answered),
                "seconds": _mean(each["seconds"] for each in records.values()),
            }
        )
    return rows


def behind_the_best(found: dict[str, Any]) -> dict[str, Any]:
    """Return by how much the search is behind the best of its candidates, log by log, and on average."""
    search = {log_of(each): each for each in found["figures"] if each["policy"] == SEARCH}
    values: dict[tuple[Any, ...], dict[str, float]] = {}
    for each in found["figures"]:
        log = log_of(each)
        if log in search and each["value"] is not None and each["policy"] in candidates_of(search[log]):
            values.setdefault(log, {})[each["policy"]] = each["value"]
    names = sorted({name for each in values.values() for name in each})
    single = {name: _mean(each[name] - search[log]["value"] for log, each in values.items()) for name in names}
    gaps = [max(each.values()) - search[log]["value"] for log, each in values.items()]
    held = [each["estimate"][1] <= each["value"] <= each["estimate"][2] for each in search.values()]
    best = max(single, key=lambda name: single[name] or -np.inf) if single else None
    return {
        "best_single": best,
        "behind_best_single": single[best] if best else None,
        "behind_best_of_each_log": _mean(gaps),
        "largest": max(gaps, default=None),
        "estimate_held": _mean(map(float, held)),
        "n_logs": len(gaps),
    }


def candidates_of(search: dict[str, Any]) -> set[str]:
    """Return the names of those among which a search chose."""
    return {row["name"] for row in search["compared"]}


def table(found: dict[str, Any]) -> str:
    """Return the table as text."""
    lines = [f"{'policy':<48}{'mean':>7} " + "".join(f"{g:>20}" for g in GROUPS) + f"{'lead':>17}{'logs':>6}{'s':>7}"]
    for row in summaries(found):
        lead = "" if row["lead_stderr"] is None else f"{row['lead']:+.3f} +- {row['lead_stderr']:.3f}"
        failed = f"  failed on {row['n_failed']}" if row["n_failed"] else ""
        lines.append(
            f"{row['policy']:<48}{number(row['mean']):>7} "
            + "".join(f"{number(row[group]):>20}" for group in GROUPS)
            + f"{lead:>17}{row['n_logs']:>6}{row['seconds']:>7.1f}{failed}"
        )
    lines += [f"{name:<48}not run: {why}" for name, why in found["missing"].items()]
    best = behind_the_best(found)
    if best["n_logs"]:
        lines.append(
            f"\nThe search is behind the best single candidate on average ({best['best_single']}) by "
            f"{best['behind_best_single']:+.4f}, behind the best of each log by {best['behind_best_of_each_log']:.4f} "
            f"on average and {best['largest']:.3f} at most; its interval held the true value in "
            f"{100 * best['estimate_held']:.0f} % of {best['n_logs']} logs."
        )
    return "\n".join(lines)


def number(value: float | None) -> str:
    """Write a value, or that there is none."""
    return "-" if value is None else f"{value:.3f}"


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return float(np.mean(found)) if found else None


def _in_order(policies: Iterable[str], search: dict[Any, dict[str, Any]]) -> list[str]:
    """Return the search first, then its candidates, then the peers, each in their own order."""
    names = [row["name"] for each in search.values() for row in each["compared"]]
    order = list(dict.fromkeys([SEARCH, *names, *policies]))
    known = set(policies)
    return [name for name in order if name in known]
