"""Policies by name, for command lines and configurations."""

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

# Name, and what the learner of its parts is; None where there is none to choose.
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
        One of `LEARNERS` but those online. "auto" is a `PolicySearch`.
    base : str, optional
        What its classifiers or regressors are, by the names of `offsettree.learners.make_learner`.
    offset : float, "mean" or "median", optional
        Of the offset tree and the offset forest: rewards of at least the offset are votes for the action taken, lower
        ones against it. A number is a share of the reward range. By default "mean".
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward.
    actions : array of shape (n_actions,), optional
        All action labels.
    time_budget : float, optional
        Seconds after which "auto" starts no further candidate.
    n_jobs, random_state
        As everywhere.

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
        raise ParameterError(f"a base learner must not be given for {name!r}, which has its own; {takers} take one.")
    if time_budget is not None and name != "auto":
        raise ParameterError(f"a time budget is for the learner 'auto', which tries several; got one for {name!r}.")
    if offset is not None and name not in OFFSET_LEARNERS:
        raise ParameterError(f"an offset is for {' and '.join(OFFSET_LEARNERS)}; got one for {name!r}.")
    common: dict[str, Any] = {"reward_range": reward_range, "actions": actions, "n_jobs": n_jobs}
    seeded = common | {"random_state": random_state}
    estimator = None if base is None or kind is None else make_learner(base, kind)  # type: ignore[arg-type]
    if name == "auto":
        # What it is worth is estimated on rows held out: the search need not do so as well, at twice the time.
        return PolicySearch(nested=False, time_budget=time_budget, **seeded)
    if name == "offset-tree":
        # Rewards of a log are seldom centred on the middle of their range, as the paper's are.
        return OffsetTree(estimator, tree="learned", offset="mean" if offset is None else offset, **seeded)
    if name == "offset-forest":
        return OffsetForest(estimator, offset="mean" if offset is None else offset, **seeded)
    if name == "reward-boosting":
        return RewardBoosting(**seeded)
    if name == "policy-tree":
        return PolicyTree(**seeded)
    if name == "constant":
        return ConstantPolicy(**_known(ConstantPolicy, seeded))
    if name == "reward-regression":
        return RewardRegression(estimator, **_known(RewardRegression, seeded))
    if name == "importance-weighted":
        return ImportanceWeighted(estimator, **_known(ImportanceWeighted, seeded))
    return DoublyRobust(**_known(DoublyRobust, seeded))


def _known(policy: type[BasePolicy], settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name in policy._get_param_names()}
