"""Figures for Prometheus: counted while requests are served, or read from the loops when asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.core import GaugeMetricFamily

from offsettree.service.engine import Engine
from offsettree.service.facts import loop_facts

__all__ = ["Metrics"]

NAMES = {
    "decisions": "Decisions kept",
    "rewards": "Rewards kept",
    "matured": "Decisions whose waiting time is over",
    "late_rewards": "Rewards that came too late",
    "unknown_rewards": "Rewards for unknown events",
    "rows_learned": "Rows that the online learner has learned from",
    "faults": "Decisions that fell back to the baseline, since the start",
    "policy_version": "The version that decides",
    "policy_age_seconds": "The age of the version that decides",
    "share_of_defaults": "The share of matured decisions without a reward",
}


class Metrics:
    """What `/metrics` shows."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "offsettree_requests", "Requests, by operation and status", ["operation", "status"], registry=self.registry
        )
        self._children: dict[tuple[str, int], Any] = {}
        self.registry.register(self)

    def observe(self, operation: str, status: int) -> None:
        """Count a request."""
        child = self._children.get((operation, status))
        if child is None:
            child = self._children[operation, status] = self._requests.labels(operation, str(status))
        child.inc()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the figures of all loops."""
        facts = [loop_facts(self.engine, loop) for loop in self.engine.loops.values()]
        for name, text in NAMES.items():
            family = GaugeMetricFamily(f"offsettree_{name}", text, labels=["loop"])
            for each in facts:
                if each[name] is not None:
                    family.add_metric([each["loop"]], each[name])
            yield family
        value = GaugeMetricFamily("offsettree_value", "Estimated value, as a share of the range", labels=["loop", "of"])
        for each in facts:
            for of in ("served", "policy", "baseline", "best_constant_value"):
                if each["values"].get(of) is not None:
                    value.add_metric([each["loop"], of], each["values"][of])
        yield value

    def text(self) -> bytes:
        """Return all figures as Prometheus reads them."""
        return bytes(generate_latest(self.registry))
