"""The online offset tree, read row by row in plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from offsettree import ActionTree


class PlainTree:
    """What `OnlineOffsetTree` promises, one row at a time, nothing shared with its kernels."""

    def __init__(
        self,
        tree: ActionTree,
        n_features: int,
        loss: str,
        *,
        adaptive: bool,
        rate: float,
        offset: float | str = 0.5,
        realizable: bool = False,
    ) -> None:
        self.tree, self.loss, self.adaptive, self.rate = tree, loss, adaptive, rate
        self.offset, self.realizable = offset, realizable
        self.weights = np.zeros((tree.n_nodes, n_features + 1))
        self.powers = np.zeros((tree.n_nodes, n_features + 1))
        self.largest = np.zeros(n_features)
        self.heard, self.loudness = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
        self.n_rows, self.squares, self.rewards = 0, 0.0, 0.0

    def scaled(self, x: NDArray[Any]) -> NDArray[np.float64]:
        if not self.adaptive:
            return np.append(x, 1.0)
        safe = np.where(self.largest > 0, self.largest, np.inf)
        return np.append(x / safe, 1.0)

    def decide(self, x: NDArray[Any]) -> int:
        z = self.scaled(x)
        node = 0
        while node >= 0:
            node = int(self.tree.left[node] if self.weights[node] @ z > 0 else self.tree.right[node])
        return ~node

    def learn(self, x: NDArray[Any], action: int, reward: float, propensity: float) -> None:
        self.largest = np.maximum(self.largest, np.abs(x))
        z = self.scaled(x)
        self.n_rows += 1
        self.squares += float(z @ z)
        self.rewards += reward
        offset = self.rewards / self.n_rows if self.offset == "mean" else float(self.offset)
        importance = abs(reward - offset) / (1 if self.realizable else propensity)
        if reward == offset:
            return
        rate = self.rate * (math.sqrt(self.n_rows / self.squares) if self.adaptive else 1)
        child, node = ~action, int(self.tree.leaf_parent[action])
        while node >= 0:
            came_from_left = self.tree.left[node] == child
            label = 1 if came_from_left == (reward > offset) else -1
            self.heard[node] += 1
            self.loudness[node] += importance
            weight = importance / (self.loudness[node] / self.heard[node])
            chosen_before = (self.weights[node] @ z > 0) == came_from_left
            self.update(node, z, label, weight, rate)
            if not chosen_before:
                return
            child, node = node, int(self.tree.parent[node])

    def update(self, node: int, z: NDArray[np.float64], label: int, weight: float, rate: float) -> None:
        margin = float(label * (self.weights[node] @ z))
        slope = {"perceptron": float(margin <= 0), "hinge": float(margin < 1), "logistic": expit(-margin)}
        if slope[self.loss] == 0:
            return
        direction = z
        if self.adaptive:
            self.powers[node] += weight * slope[self.loss] ** 2 * z**2
            direction = np.divide(z, np.sqrt(self.powers[node]), out=np.zeros_like(z), where=z != 0)
        gain = float(rate * (z @ direction))
        step = {"perceptron": self.whole_steps, "hinge": self.to_the_hinge, "logistic": self.along_the_curve}
        self.weights[node] += label * rate * step[self.loss](margin, weight, gain) * direction

    @staticmethod
    def whole_steps(margin: float, weight: float, gain: float) -> float:
        """One perceptron step after the other until the row is right or its weight used up."""
        left, taken = weight, 0.0
        while left > 0 and margin <= 0:
            part = min(1.0, left)
            margin, left, taken = margin + part * gain, left - part, taken + part
        return taken

    @staticmethod
    def to_the_hinge(margin: float, weight: float, gain: float) -> float:
        return min(weight, (1 - margin) / gain)

    @staticmethod
    def along_the_curve(margin: float, weight: float, gain: float) -> float:
        """Many small gradient steps (Runge-Kutta), where the kernels have the solution."""
        n_steps = 2000
        small = weight / n_steps
        start = margin
        for _ in range(n_steps):
            half = margin + gain * small * float(expit(-margin)) / 2
            margin += gain * small * float(expit(-half))
        return (margin - start) / gain
