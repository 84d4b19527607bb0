"""Marginalised importance weighting (MIPS): the same log, over groups of alike actions in the place of ids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._labels import check_actions
from offsettree._texts import as_texts, take_texts
from offsettree._validation import counted, lengths_differ
from offsettree.evaluation._targets import PairProbabilities
from offsettree.exceptions import LogError, ParameterError, PropensityError
from offsettree.logs import ActionSets, LoggedData

__all__ = ["marginal_decisions", "marginalise"]

TOLERANCE = 1e-6


def marginalise(log: LoggedData, group: ArrayLike, *, logging: ArrayLike | str = "uniform") -> LoggedData:
    """Return the log of the groups that were taken, each with the probability with which its group was.

    Where ids are very many, few rows have an action that a policy takes, and inverse propensities are large. If the
    reward depends on an action only through its group, such as a genre or a cluster of features, it is enough that the
    row has an action of the same group (Saito and Joachims, 2022). That is the assumption: no direct effect of the id
    beyond its group. Where it does not hold, the estimate is biased by the effects that differ within groups; coarser
    groups have less variance and more of that bias.

    Parameters
    ----------
    log : LoggedData
        A log with action sets.
    group : array of shape (n_pairs,)
        The group of each pair of row and action, integers or strings, in the order of ``log.action_sets.ids``.
    logging : array of shape (n_pairs,) or "uniform", default="uniform"
        The probability with which the logging policy takes each eligible action, not only the one that was taken.

    Returns
    -------
    LoggedData
        Its actions are groups; ``evaluate(marginal_decisions(...), **marginal.arrays())`` values a policy on it.

    Examples
    --------
    >>> from offsettree import evaluate, simulate_catalogue
    >>> from offsettree.evaluation import marginal_decisions, marginalise
    >>> log = simulate_catalogue(2000, 200, 10, random_state=0).log
    >>> group = log.action_sets.items[log.action_sets.item, 0] > 0  # two groups
    >>> marginal = marginalise(log, group)
    >>> chosen = log.action_sets.ids[log.action_sets.starts[:-1]]  # the policy that takes the first of each row
    >>> few = evaluate(chosen, **log.arrays()).n_matched
    >>> many = evaluate(marginal_decisions(chosen, log, group), **marginal.arrays()).n_matched
    >>> few < 300 < 900 < many
    True
    """
    sets, labels = _parts(log, group)
    row = np.repeat(np.arange(len(sets)), sets.sizes)
    if isinstance(logging, str):
        if logging != "uniform":
            raise LogError(f"logging must be 'uniform' or the probability of every pair; got {logging!r}.")
        chance = 1 / sets.sizes[row]
    else:
        chance = np.asarray(logging, dtype=np.float64)
        if chance.shape != row.shape:
            raise LogError(lengths_differ("logging", len(np.ravel(chance)), len(row)))
    pair = sets.find(log.action)
    _check_chances(chance, row, pair, log)
    starts, groups, code = _distinct(labels, row, len(sets))
    total = np.bincount(code, chance, minlength=len(groups))
    taken = code[pair]
    group_of, propensity = take_texts(groups, taken), np.minimum(total[taken], 1.0)
    return LoggedData(log.X, group_of, log.reward, propensity, action_sets=ActionSets(groups, starts))


def marginal_decisions(policy: Any, log: LoggedData, group: ArrayLike) -> Any:
    """Return the group of the action that a policy takes in each row; of one that draws, the chances of all groups.

    The weight of a row is then what the paper defines: the probability with which the policy takes an action of the
    logged one's group, divided by the probability with which the logging policy does.

    Parameters
    ----------
    policy : policy or explorer over action sets, array of shape (n_rows,), or of shape (n_pairs,)
        The policy; or the ids that it takes; or, as floats, the probability with which it takes each eligible action.
    log : LoggedData
        A log with action sets.
    group : array of shape (n_pairs,)
        The group of each pair, as for `marginalise`.

    Returns
    -------
    ndarray of shape (n_rows,), or what `evaluate` takes as the probabilities of groups
    """
    sets, labels = _parts(log, group)
    if getattr(policy, "takes_action_sets", False) and hasattr(policy, "choose"):  # an explorer
        policy = policy.predict_proba(log.X, action_sets=sets)
    if isinstance(policy, np.ndarray) and policy.dtype.kind == "f":
        row = np.repeat(np.arange(len(sets)), sets.sizes)
        _check_policy(policy, row)
        starts, groups, code = _distinct(labels, row, len(sets))
        chance = np.bincount(code, policy, minlength=len(groups)).astype(np.float64)
        return PairProbabilities(groups, starts, chance)
    chosen = policy.predict(log.X, sets) if hasattr(policy, "predict") else policy
    return take_texts(labels, sets.find(chosen))


def _parts(log: LoggedData, group: ArrayLike) -> tuple[ActionSets, NDArray[Any]]:
    if log.action_sets is None:
        raise LogError("log must have action sets, the eligible actions of each row: LoggedData(..., action_sets=...).")
    labels = check_actions(group, len(log.action_sets.ids), what="group")
    return log.action_sets, as_texts(labels)


def _distinct(
    labels: NDArray[Any], row: NDArray[np.intp], n_rows: int
) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[np.intp]]:
    """Return where each row's distinct groups begin, all of them, and which of them each pair belongs to."""
    known, place = np.unique(labels, return_inverse=True)
    found, code = np.unique(row * len(known) + place, return_inverse=True)
    starts = np.searchsorted(found // len(known), np.arange(n_rows + 1))
    return starts.astype(np.intp), take_texts(known, found % len(known)), code


def _check_policy(chance: NDArray[np.float64], row: NDArray[np.intp]) -> None:
    if chance.shape != row.shape:
        raise LogError(lengths_differ("policy", len(np.ravel(chance)), len(row)))
    total = np.bincount(row, chance)
    wrong = ~(np.abs(total - 1) <= TOLERANCE)
    wrong[row[~(chance >= 0)]] = True
    if wrong.any():
        place = int(wrong.argmax())
        raise ParameterError(
            "the probabilities with which the policy takes the actions of a row must be at least 0 and sum to 1; those "
            f"of row {place} sum to {total[place]:g} ({counted(wrong.sum(), 'row')} in all)."
        )


def _check_chances(chance: NDArray[np.float64], row: NDArray[np.intp], pair: NDArray[np.intp], log: LoggedData) -> None:
    total = np.bincount(row, chance)
    wrong = ~(np.abs(total - 1) <= TOLERANCE) | (np.abs(chance[pair] - log.propensity) > TOLERANCE)
    if wrong.any():
        place = int(wrong.argmax())
        raise PropensityError(
            "the logging probabilities of a row must sum to 1 and agree with the log's propensity; those of row "
            f"{place} sum to {total[place]:g}, with {chance[pair][place]:g} for the action taken, where the log has "
            f"{log.propensity[place]:g} ({counted(wrong.sum(), 'row')} in all). Pass the probability of every pair."
        )
