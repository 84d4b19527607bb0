"""Facts of made-up reports, small and large, tame and wild."""

from __future__ import annotations

import random
from typing import Any

__all__ = ["chain", "make_facts"]

LONG = (
    "Reminder with a 15 % voucher for the autumn collection, free returns, second try after nine days without a visit"
)


def make_facts(n_actions: int = 4, *, long: bool = False, warned: bool = False, seed: int = 0) -> dict[str, Any]:
    """Return facts as `offsettree learn` gives them, with a tree over so many actions."""
    draw = random.Random(seed)  # noqa: S311  (not for secrets)
    labels = [f"{LONG}, no. {i}" if long and i % 3 == 0 else f"offer {i}" for i in range(n_actions)]
    if n_actions == 4 and not long:
        labels = ["no mail", "men's offer", "women's offer", "voucher"]
    shares, policy = (_shares(draw, n_actions, power) for power in (1.0, 6.0))
    level = [draw.uniform(0.1, 0.19) for _ in labels]
    rows = [round(10_000 * share) for share in shares]
    actions = [
        {
            "label": label,
            "rows": n,
            "share": share,
            "mean_reward": mean,
            "low": mean - 0.6 / max(n, 1) ** 0.5,
            "high": mean + 0.6 / max(n, 1) ** 0.5,
            "policy_share": chosen,
        }
        for label, n, share, mean, chosen in zip(labels, rows, shares, level, policy, strict=True)
    ]
    warnings = [
        "the policy takes 2 actions that the log never took (call, visit), in 3.1 % of the decisions.",
        "12 rows carry 31 % of the weight of all 812 matched rows: the estimate hangs on what happened in them.",
    ]
    names = ["recency", "history", "mens", "womens", "zip_code=Rural", "newbie", "channel=Web", "channel=Phone"]
    if long:
        names = [f"customer_profile.preferences.last_seen_category_before_campaign={i}" for i in range(40)]
    return {
        "title": "sent of campaign.csv",
        "created": "2026-11-16",
        "version": "0.1.0",
        "verdict": "The learned policy earns 0.183 per decision [0.176, 0.190]; the logged one earned 0.147 [0.145, "
        "0.149]; gain +0.036 [0.029, 0.043].",
        "log": {
            "path": "campaign.csv",
            "rows": 10_000,
            "train_rows": 7_000,
            "test_rows": 3_000,
            "reward": {"min": 0.0, "max": 1.0, "mean": 0.147},
            "columns": {"action": "sent", "reward": "visit", "propensity": "p"},
            "notes": ["column customer_id looks like an identifier and is not used", "column year is constant"],
            "features": names,
            "actions": actions,
        },
        "estimate": {
            "value": 0.183,
            "low": 0.176,
            "high": 0.190,
            "stderr": 0.0036,
            "level": 0.95,
            "method": "snips",
            "interval": "normal",
            "n_rows": 3_000,
            "n_matched": 812,
            "effective_rows": 540.3,
            "max_weight": 23.4,
            "baseline": {"value": 0.147, "low": 0.145, "high": 0.149},
            "difference": {"value": 0.036, "low": 0.029, "high": 0.043},
            "warnings": warnings[1:] if warned else [],
        },
        "policy": {
            "name": "OffsetForest",
            "learner": "HistogramTree",
            "parameters": {"n_trees": "50", "max_depth": "6", "min_rows": "20"},
            "seconds": 12.3,
        },
        "candidates": [
            _candidate("always voucher", "compared", 0.151, 0.004, 0.1),
            _candidate("offset-tree", "compared", 0.178, 0.008, 1.9),
            _candidate("offset-forest", "chosen", 0.184, 0.007, 12.3),
            _candidate("reward-regression", "compared", 0.169, 0.009, 4.4),
            {
                "name": f"doubly-robust ({LONG})" if long else "doubly-robust",
                "outcome": "failed",
                "seconds": 3.0,
                "error": "RewardError: rewards must be finite; row 17 has nan (1 row in all). Drop such rows.",
            },
            {"name": "all-pairs", "outcome": "left out", "value": None, "seconds": None, "error": None},
        ],
        "weights": {
            "edges": [0, 1, 2, 4, 8, 16, 32],
            "counts": [3, 140, 420, 201, 40, 8],
            "top_percent_share": 0.14,
        },
        "tree": _balanced(labels, draw, 7_000),
        "importance": [{"feature": name, "importance": share} for name, share in _falling(names)],
        "warnings": warnings if warned else [],
        "reproduce": {
            "command": "offsettree learn campaign.csv --action sent --reward visit --propensity p --seed 0 "
            "-o policy.ot --report report.html",
            "seed": 0,
            "versions": {"python": "3.12.4", "numpy": "2.1.0", "scikit-learn": "1.9.0"},
        },
    }


def chain(labels: list[str], rows: int = 1_000) -> dict[str, Any]:
    """Return a tree in which every action meets the winner of all before it."""
    node: dict[str, Any] = {"action": labels[0]}
    for label in labels[1:]:
        node = {"left": node, "right": {"action": label}, "rows": rows, "strength": 0.7}
    return node


def _candidate(name: str, outcome: str, value: float, half: float, seconds: float) -> dict[str, Any]:
    return {
        "name": name,
        "outcome": outcome,
        "value": value,
        "low": value - half,
        "high": value + half,
        "seconds": seconds,
        "error": None,
    }


def _shares(draw: random.Random, n: int, power: float) -> list[float]:
    raw = [draw.random() ** power + 1e-4 for _ in range(n)]
    return [value / sum(raw) for value in raw]


def _falling(names: list[str]) -> list[tuple[str, float]]:
    raw = [0.8**i for i in range(len(names))]
    return [(name, value / sum(raw)) for name, value in zip(names, raw, strict=True)]


def _balanced(labels: list[str], draw: random.Random, rows: int) -> dict[str, Any]:
    if len(labels) == 1:
        return {"action": labels[0]}
    half = (len(labels) + 1) // 2
    left, right = (_balanced(part, draw, round(rows * 0.52)) for part in (labels[:half], labels[half:]))
    return {"left": left, "right": right, "rows": rows, "strength": draw.uniform(0.5, 1.0)}
