"""The figures of `boosting.py` as tables: mean true values, our lead over each rival, and how long fits take."""

from __future__ import annotations

from typing import Any

import numpy as np

OURS = "RewardBoosting"
BEST_CONSTANT = "best constant"
Values = dict[str, dict[int, dict[str, Any]]]  # learner, seed


def by_source(found: list[dict[str, Any]]) -> dict[str, Values]:
    """Return the records of every source, by learner and seed."""
    sources: dict[str, Values] = {}
    for each in found:
        sources.setdefault(each["source"], {}).setdefault(each["learner"], {})[each["seed"]] = each
    return sources


def paired(values: Values, learner: str) -> tuple[float, float, int]:
    """Return our mean lead over a learner on the seeds that both have, its standard error, and how many there are."""
    ours, others = values.get(OURS, {}), values.get(learner, {})
    lead = np.array([ours[seed]["value"] - others[seed]["value"] for seed in ours if seed in others])
    if len(lead) < 2:
        return (float(lead.mean()) if len(lead) else np.nan), np.nan, len(lead)
    return float(lead.mean()), float(lead.std(ddof=1) / np.sqrt(len(lead))), len(lead)


def fit_ratio(values: Values, learner: str) -> float:
    """Return how many times as long a learner fits as we do: the median over seeds."""
    ours, others = values.get(OURS, {}), values.get(learner, {})
    ratios = [others[s]["fit_seconds"] / max(ours[s]["fit_seconds"], 1e-9) for s in ours if s in others]
    return float(np.median(ratios)) if ratios else np.nan


def table(found: list[dict[str, Any]]) -> str:
    """Return, per source, the mean value of each learner, our lead over it, and its fit time over ours."""
    lines = []
    sources = by_source(found)
    for source, values in sources.items():
        first = next(iter(next(iter(values.values())).values()))
        best = float(np.mean([each["best_value"] for each in next(iter(values.values())).values()]))
        lines.append(f"\n{source} ({first['n_rows']:,} rows, k = {first['n_actions']}, best possible {best:.4f})")
        lines += [_line(learner, values) for learner in sorted(values, key=lambda name: name != OURS)]
    lines += ["", _over_datasets(sources)]
    return "\n".join(lines)


def _line(learner: str, values: Values) -> str:
    own = [each["value"] for each in values[learner].values()]
    seconds = float(np.median([each["fit_seconds"] for each in values[learner].values()]))
    text = f"  {learner:<46}{np.mean(own):>8.4f}{seconds:>9.2f} s"
    if learner == OURS:
        return f"{text}   {len(own)} seeds"
    lead, error, n_seeds = paired(values, learner)
    behind = "  behind" if lead < -2 * error else ""
    return f"{text}   lead {lead:+.4f} +- {error:.4f} ({n_seeds} seeds), fit x{fit_ratio(values, learner):.1f}{behind}"


def _over_datasets(sources: dict[str, Values]) -> str:
    """Return the mean over the paper's datasets, on the seeds that all of them and both learners have."""
    data = {source: values for source, values in sources.items() if "rows" not in source}
    if not data:
        return ""
    lines = [f"mean over {len(data)} datasets: error, and our lead"]
    for learner in dict.fromkeys(name for values in data.values() for name in values):
        both = [set(values.get(OURS, {})) & set(values.get(learner, {})) for values in data.values()]
        seeds = sorted(set.intersection(*both))
        if not seeds:
            continue
        own = np.array([[values[learner][s]["value"] for s in seeds] for values in data.values()])
        ours = np.array([[values[OURS][s]["value"] for s in seeds] for values in data.values()])
        lead = (ours - own).mean(axis=0)
        error = lead.std(ddof=1) / np.sqrt(len(seeds)) if len(seeds) > 1 else np.nan
        lines.append(f"  {learner:<46}{1 - own.mean():>8.4f}   {lead.mean():+.4f} +- {error:.4f} ({len(seeds)} seeds)")
    return "\n".join(lines)
