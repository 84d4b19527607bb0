"""A made-up shop with simulated visitors: what they see first is the decision, and some of them buy, later or never."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from offsettree.service.settings import LoopSettings, PersonalizerSettings, ServerSettings, Settings

__all__ = ["BANNERS", "Shop", "demo_settings"]

BANNERS = ("free-shipping", "new-arrivals", "discount", "gift-cards", "loyalty")
SEGMENTS = ("new", "returning", "loyal", "bargain")
DEVICES = ("phone", "tablet", "desk")
SOURCES = ("search", "newsletter", "social")


class Shop:
    """Visitors, and the chance that each buys after each banner.

    The share `missing` of purchases is never reported.

    Examples
    --------
    >>> shop = Shop(seed=1)
    >>> visitor = shop.visitor()
    >>> sorted(visitor)
    ['device', 'hour', 'segment', 'source', 'visits']
    >>> bool(shop.chances(visitor).max() <= 1)
    True
    """

    def __init__(self, seed: int = 0, missing: float = 0.1) -> None:
        self.random = np.random.default_rng(seed)
        self.missing = missing

    def visitor(self) -> dict[str, Any]:
        """Draw a visitor's context."""
        random = self.random
        return {
            "segment": SEGMENTS[random.choice(4, p=[0.35, 0.3, 0.2, 0.15])],
            "device": DEVICES[random.choice(3, p=[0.6, 0.1, 0.3])],
            "source": SOURCES[random.integers(3)],
            "hour": int(random.integers(24)),
            "visits": int(random.geometric(0.25)),
        }

    @staticmethod
    def chances(visitor: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the chance of a purchase after each of `BANNERS`."""
        chance = np.array([0.12, 0.10, 0.14, 0.06, 0.08])
        chance[1] += 0.25 * (visitor["segment"] == "returning")
        chance[4] += 0.30 * (visitor["segment"] == "loyal")
        chance[2] += 0.22 * (visitor["segment"] == "bargain")
        chance[0] += 0.18 * (visitor["segment"] == "new") - 0.05 * (visitor["device"] == "desk")
        chance[3] += 0.10 * (visitor["source"] == "newsletter") + 0.08 * (visitor["hour"] >= 18)
        chance += 0.004 * min(visitor["visits"], 10)
        return np.asarray(np.clip(chance, 0.0, 1.0))

    def purchase(self, visitor: dict[str, Any], banner: str) -> tuple[float, float] | None:
        """Draw a reward and its delay as a share of the waiting time; None if nothing is ever reported."""
        bought = self.random.random() < self.chances(visitor)[BANNERS.index(banner)]
        if not bought or self.random.random() < self.missing:
            return None
        return 1.0, float(min(self.random.exponential(0.3), 1.2))  # a few come too late

    def true_value(self, choose: Any, n_visitors: int = 2000) -> float:
        """Return the mean chance of a purchase under a policy, a function from a context to a banner."""
        visitors = [self.visitor() for _ in range(n_visitors)]
        return float(np.mean([self.chances(each)[BANNERS.index(choose(each))] for each in visitors]))


def demo_settings(server: ServerSettings | None = None) -> Settings:
    """Return the settings of the demo: the shop's loop, and one for the paths of Personalizer."""
    shop = LoopSettings(
        actions=BANNERS,
        baseline="free-shipping",
        hold_back=0.05,
        epsilon=0.3,  # more than is usual: enough to show within minutes what every constant action is worth
        waiting_time=3.0,
        snapshot_rows=250,
        snapshot_every=5.0,
        learn_every="5m",
    )
    loops = {"demo": shop, "personalizer": msgspec.structs.replace(LoopSettings(), waiting_time="10m")}
    return Settings(loops, server or ServerSettings(), PersonalizerSettings("personalizer"))
