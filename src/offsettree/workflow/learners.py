"""Policies by name, for the command line and configuration files."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from offsettree.base import BasePolicy
from offsettree.exceptions import ParameterError
from offsettree.learners import make_learner
from offsettree.registry import POLICIES

__all__ = ["LEARNERS", "make_policy"]

LEARNERS = POLICIES


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
        One of `LEARNERS`, except the online ones: "auto", which is a `PolicySearch`, or what `register_policy` named.
    base : str, optional
        Base learner, by the names of `offsettree.learners.make_learner`.
    offset : float, "mean", "median" or "median_given_x", optional
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
    entry = POLICIES.get(name)
    if entry is None or entry.online:
        raise ParameterError(f"the learner must be one of {', '.join(POLICIES)}; got {name!r}.")
    if base is not None and entry.base is None:
        takers = ", ".join(each for each, entry in POLICIES.known.items() if entry.base)
        raise ParameterError(f"{name!r} takes no base learner; got {base!r}. These take one: {takers}.")
    if time_budget is not None and not entry.takes("time_budget"):
        raise ParameterError(f"only the learner 'auto' takes a time budget; got one for {name!r}. Leave it out.")
    if offset is not None and not entry.takes("offset"):
        *others, last = (each for each, it in POLICIES.known.items() if it.takes("offset") and not it.online)
        raise ParameterError(f"only {', '.join(others)} and {last} take an offset; got one for {name!r}.")
    given = {"offset": offset, "time_budget": time_budget}
    return entry.make(  # type: ignore[no-any-return]
        None if base is None or entry.base is None else make_learner(base, entry.base),
        reward_range=reward_range,
        actions=actions,
        n_jobs=n_jobs,
        random_state=random_state,
        **{setting: value for setting, value in given.items() if value is not None},
    )
