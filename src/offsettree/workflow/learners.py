"""Policies by name, for the command line and configuration files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from offsettree.base import BasePolicy
from offsettree.exceptions import ParameterError
from offsettree.learners import make_learner
from offsettree.reductions import (
    ConstantPolicy,
    DoublyRobust,
    ImportanceWeighted,
    OffsetForest,
    OffsetTree,
    PolicyTree,
    RewardBoosting,
    RewardRegression,
)
from offsettree.selection import PolicySearch

__all__ = ["LEARNERS", "make_policy"]

# Name, and the kind of base learner it takes; None if it takes none.
LEARNERS: dict[str, str | None] = {
    "auto": None,
    "offset-tree": "classifier",
    "offset-forest": "classifier",
    "reward-regression": "regressor",
    "importance-weighted": "classifier",
    "doubly-robust": None,
    "reward-boosting": None,
    "policy-tree": None,
    "constant": None,
    "online": None,
    "online-regression": None,
}
OFFSET_LEARNERS = ("offset-tree", "offset-forest")


def make_policy(
    name: str,
    base: str | None = None,
    *,
    offset: float | str | None = None,
    reward_range: Sequence[float] = (0.0, 1.0),
    actions: ArrayLike | None = None,
    time_budget: float | None = None,
    n_jobs: int | None = None,
    random_state: int | None = None,
) -> BasePolicy:
    """Return an unfitted policy.

    Parameters
    ----------
    name : str
        One of `LEARNERS`, except the online ones. "auto" is a `PolicySearch`.
    base : str, optional
        Base learner, by the names of `offsettree.learners.make_learner`.
    offset : float, "mean" or "median", optional
        Of the offset tree and the offset forest: a reward of at least the offset votes for the action taken, a lower
        one against it. A number is a share of the reward range. By default "mean".
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward.
    actions : array of shape (n_actions,), optional
        All action labels.
    time_budget : float, optional
        Seconds after which "auto" starts no further candidate.
    n_jobs : int, optional
        Workers.
    random_state : int or None, default=None
        Seed.

    Examples
    --------
    >>> make_policy("offset-tree", "logistic").estimator.steps[-1][1]
    LogisticRegression(max_iter=1000)
    """
    if name not in LEARNERS or name.startswith("online"):
        raise ParameterError(f"the learner must be one of {', '.join(LEARNERS)}; got {name!r}.")
    kind = LEARNERS[name]
    if base is not None and kind is None:
        takers = ", ".join(each for each, kind in LEARNERS.items() if kind)
        raise ParameterError(f"{name!r} takes no base learner; got {base!r}. These take one: {takers}.")
    if time_budget is not None and name != "auto":
        raise ParameterError(f"only the learner 'auto' takes a time budget; got one for {name!r}. Leave it out.")
    if offset is not None and name not in OFFSET_LEARNERS:
        raise ParameterError(f"only {' and '.join(OFFSET_LEARNERS)} take an offset; got one for {name!r}.")
    common: dict[str, Any] = {"reward_range": reward_range, "actions": actions, "n_jobs": n_jobs}
    seeded = common | {"random_state": random_state}
    estimator = None if base is None or kind is None else make_learner(base, kind)  # type: ignore[arg-type]
    if name == "auto":
        # The value is estimated on held-out rows, so the search need not spend twice the time to estimate it too.
        return PolicySearch(nested=False, time_budget=time_budget, **seeded)
    if name == "offset-tree":
        # The paper's offset, the middle of the reward range, suits few logs: most rewards are not centred there.
        return OffsetTree(estimator, tree="learned", offset="mean" if offset is None else offset, **seeded)
    if name == "offset-forest":
        return OffsetForest(estimator, offset="mean" if offset is None else offset, **seeded)
    if name == "reward-boosting":
        return RewardBoosting(**seeded)
    if name == "policy-tree":
        return PolicyTree(**seeded)
    if name == "constant":
        return ConstantPolicy(**_accepted(ConstantPolicy, seeded))
    if name == "reward-regression":
        return RewardRegression(estimator, **_accepted(RewardRegression, seeded))
    if name == "importance-weighted":
        return ImportanceWeighted(estimator, **_accepted(ImportanceWeighted, seeded))
    return DoublyRobust(**_accepted(DoublyRobust, seeded))


def _accepted(policy: type[BasePolicy], settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name in policy._get_param_names()}
