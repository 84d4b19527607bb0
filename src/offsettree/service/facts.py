"""What is known of a loop, for the API, the page and the metrics."""

from __future__ import annotations

from typing import Any

import msgspec

from offsettree.service.engine import Engine
from offsettree.service.loop import Loop

__all__ = ["loop_facts", "version_facts"]

FEW_ROWS = 200
MANY_DEFAULTS = 0.999


def loop_facts(engine: Engine, loop: Loop) -> dict[str, Any]:
    """Return all that tells whether a loop is learning."""
    now = engine.clock()
    learning = loop.learning
    summary = engine.store.summary(loop.record.id)
    versions = {each.version: each for each in engine.store.versions(loop.record.id)}
    running = versions.get(learning.running.version)
    facts: dict[str, Any] = {
        "loop": loop.record.name,
        "mode": loop.settings.mode,
        "policy_version": learning.running.version,
        "policy_kind": learning.running.kind,
        "policy_age_seconds": None if running is None else max(0.0, now - running.created),
        "decisions": summary["decisions"],
        "decisions_per_minute": loop.rates.per_minute("decisions", now),
        "rewards": summary["rewards"],
        "rewards_per_minute": loop.rates.per_minute("rewards", now),
        "matured": summary["matured"],
        "share_of_defaults": summary["defaults"] / summary["matured"] if summary["matured"] else None,
        "late_rewards": summary["late"],
        "unknown_rewards": summary["unknown"],
        "rows_learned": learning.learner.n_rows,
        "rows_left_out": learning.left_out,
        "faults": loop.faults,
        "last_fault": loop.last_fault,
        "learn_fault": loop.learn_fault,
    }
    with learning.lock:
        candidate, health = learning.candidate, learning.health
        facts |= {
            "values": learning.values.facts(),
            "candidate": None if candidate is None else candidate.facts(loop.settings.alpha),
            "actions": health.actions(),
            "drift": health.drift(),
            "propensity_mismatches": health.mismatches(),
            "never_taken": health.never_taken(),
        }
        found = health.problems()
    facts["problems"] = _problems(facts, found)
    facts["verdict"] = _verdict(facts)
    return facts


def version_facts(engine: Engine, loop: Loop) -> dict[str, Any]:
    """Return all versions of a loop and which decided when."""
    fields = ("version", "created", "kind", "parent", "note", "trained_to")
    versions = engine.store.versions(loop.record.id)
    return {
        "running": loop.learning.running.version,
        "versions": [{name: getattr(each, name) for name in fields} for each in versions],
        "swaps": [msgspec.structs.asdict(each) for each in engine.store.swaps(loop.record.id)],
    }


def _problems(facts: dict[str, Any], found: list[str]) -> list[str]:
    texts = list(found)
    if facts["faults"]:
        texts.append(
            f"Decisions that fell back to the baseline: {facts['faults']:,}; the last reason: {facts['last_fault']}."
        )
    if facts["learn_fault"] is not None:
        texts.append(f"The last attempt to learn from the log failed: {facts['learn_fault']}")
    if facts["matured"] >= FEW_ROWS and facts["share_of_defaults"] > MANY_DEFAULTS:
        texts.append("Nearly all events got the default reward: do rewards reach the service, and in time?")
    if facts["unknown_rewards"]:
        texts.append(f"Rewards for unknown events: {facts['unknown_rewards']:,}; see stray-rewards.")
    return texts


def _verdict(facts: dict[str, Any]) -> str:
    """Answer "is it learning?" in a sentence."""
    values = facts["values"]
    if facts["decisions"] == 0:
        return "No decision has been asked for yet."
    if facts["matured"] == 0:
        return "Decisions are made; none of them has matured yet."
    if values["rows"] < FEW_ROWS:
        return f"{values['rows']:,} rows of the policy have matured: too few to tell."
    other = "the caller's own choices" if facts["mode"] == "apprentice" else "the held-back share"
    low, high = values["gain_over_baseline"]
    if low > 0:
        over = values["gain_over_constant"]
        if over is not None and over[0] > 0:
            return f"Yes: the policy is better than {other} and than any constant action."
        return (
            f"Yes: the policy is better than {other}; not yet shown to be better than always {values['best_constant']}."
        )
    if high < 0:
        return f"No: the policy is worse than {other}."
    return f"Not shown yet: the policy may be better or worse than {other}."
