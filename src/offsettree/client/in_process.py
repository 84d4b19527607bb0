"""Decisions in the caller's own process, by a policy file: no network, the same answers."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from offsettree.client.decision import Decision, new_event_id
from offsettree.exceptions import ParameterError
from offsettree.policy_file import load

__all__ = ["InProcessClient"]


class InProcessClient:
    """Decides by a policy file, with exploration and its exact probabilities; logging them is the caller's part.

    Parameters
    ----------
    path : str or Path
        The policy file.
    epsilon : float, default=0.0
        The share of uniform exploration.
    random_state : int, optional
        Draws the exploration; by default the system's randomness.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import offsettree
    >>> from offsettree.client import InProcessClient
    >>> X = [[0.0], [1.0]] * 40
    >>> policy = offsettree.OffsetTree().fit(X, ["mail", "call"] * 40, reward=[0, 0, 1, 1] * 20, propensity=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     offsettree.save(policy, pathlib.Path(folder) / "policy.ot")
    ...     shop = InProcessClient(pathlib.Path(folder) / "policy.ot", epsilon=0.2, random_state=0)
    >>> shop.decide([1.0]).probability in (0.9, 0.1)
    True
    """

    def __init__(self, path: str | Path, *, epsilon: float = 0.0, random_state: int | None = None) -> None:
        if not 0 <= epsilon <= 1:
            raise ParameterError(f"epsilon must be from 0 to 1; got {epsilon!r}.")
        self.policy = load(path)
        self.epsilon = epsilon
        self._random = random.SystemRandom() if random_state is None else random.Random(random_state)  # noqa: S311
        self._labels = self.policy.actions_.tolist()

    def decide(
        self,
        context: Mapping[str, Any] | Sequence[float],
        actions: Sequence[Any] | None = None,
        *,
        excluded: Sequence[Any] = (),
        event_id: str | None = None,
    ) -> Decision:
        """Decide among the policy's actions, or those given of them.

        Parameters
        ----------
        context : mapping or sequence of numbers
            As the policy takes it.
        actions : sequence, optional
            The eligible ones. By default all.
        excluded : sequence, default=()
            Actions not to be taken now.
        event_id : str, optional
            By default a new one.
        """
        eligible = [each for each in (self._labels if actions is None else actions) if each not in excluded]
        if not eligible or any(each not in self._labels for each in eligible):
            raise ParameterError(f"there must be eligible actions, all of the policy's; got {eligible!r:.200}.")
        given = dict(context) if isinstance(context, Mapping) else context
        greedy = self.policy.decide(given, None if len(eligible) == len(self._labels) else eligible)
        explores = self._random.random() < self.epsilon
        action = self._random.choice(eligible) if explores else greedy
        probability = self.epsilon / len(eligible) + (1 - self.epsilon if action == greedy else 0.0)
        return Decision(event_id or new_event_id(), str(action), probability, 0)
