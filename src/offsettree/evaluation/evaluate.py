"""What a policy is worth, from a log that another policy wrote."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from offsettree._available import Available, check_available, check_available_to_log
from offsettree._features import Features, count_rows
from offsettree._validation import (
    check_actions,
    check_propensity,
    check_reward,
    is_number,
)
from offsettree.evaluation import _diagnostics as diagnostics
from offsettree.evaluation._finite_sample import Scale, guaranteed, largest_weight
from offsettree.evaluation._intervals import bootstrap_values, bootstrapped, normal_intervals
from offsettree.evaluation._reward_models import Predictions, forward_folds, predict_rewards, random_folds
from offsettree.evaluation._targets import Target, find_space, find_target
from offsettree.evaluation._terms import METHODS, MODEL_METHODS, Terms, estimate_terms
from offsettree.evaluation.estimate import Estimate
from offsettree.exceptions import LogError, OffsetTreeWarning, ParameterError

__all__ = ["evaluate"]

INTERVALS = ("normal", "bootstrap", "bernstein", "betting")


def evaluate(
    policy: Any,
    X: Features,
    action: ArrayLike,
    *,
    reward: ArrayLike | None = None,
    propensity: ArrayLike | None = None,
    method: str = "snips",
    reward_model: Any = None,
    level: float = 0.95,
    interval: str = "normal",
    baseline: Any = "logging",
    actions: ArrayLike | None = None,
    available: Any = None,
    reward_range: Any = None,
    max_weight: float | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Estimate:
    """Estimate the value of a policy, its mean reward per decision, on a log it has not seen.

    Parameters
    ----------
    policy : object with predict or predict_proba, array, or label
        What is evaluated. Policies of this package and scikit-learn's classifiers take the action of `predict`; any
        other object with `predict_proba`, explorers among them, draws from those probabilities. Or an array: one
        action label per row, or probabilities of shape (n_rows, n_actions) whose columns follow `actions`, or else
        the sorted labels of the log. A single label is the policy that always takes it.
    X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
        What was known when each decision was taken.
    action : array of shape (n_rows,)
        What was chosen.
    reward : array of shape (n_rows,)
        What it earned. Must be given.
    propensity : array of shape (n_rows,) or float
        The probability with which the logging policy chose it, in (0, 1]. Must be given.
    method : {"snips", "ips", "direct", "doubly_robust", "switch"}, default="snips"
        The estimator; see the notes.
    reward_model : regressor or array of shape (n_rows, n_actions), optional
        Predicts rewards for the last three methods: copies of it are trained per action and cross-fitted, so that no
        row is predicted by a model that learned from it. By default randomised trees; ridge regression for sparse X.
        An array holds predictions of your own, in the order of the actions, by models that did not learn from the rows.
    level : float, default=0.95
        How likely the interval is to hold the true value.
    interval : {"normal", "bootstrap", "bernstein", "betting"}, default="normal"
        The first two hold for long logs, the last two for every length; see the notes.
    baseline : "logging", policy or None, default="logging"
        What the policy is compared with: what was logged, or another policy in any of the forms above.
    actions : array of shape (n_actions,), optional
        All action labels. By default those that the policies say they know, and those of the log.
    available : boolean array or CSR matrix of shape (n_rows, n_actions), optional
        Which actions there were to choose from in each row, in the order of `actions`, or else of the policy's
        `actions_`. Policies of this package choose among them; of others, and of arrays, an answer that the mask
        excludes is refused. By default all.
    reward_range : (float, float), optional
        Smallest and largest possible reward, for "bernstein" and "betting". By default the policy's `reward_range`;
        for other policies (0, 1) if all rewards are within.
    max_weight : float, optional
        The largest weight that any row could have, for "bernstein" and "betting". By default 1 / the smallest
        propensity of the log: true if no row could have had a smaller one. "betting" takes infinity: no assumption.
    random_state : int, RandomState instance or None, default=None
        Draws folds, resamples, and the order in which bets are placed.

    Returns
    -------
    Estimate
        With `value`, `stderr`, `low`, `high`, `baseline`, `difference`, `warnings` and more.

    Raises
    ------
    LogError
        If not a single row was logged with an action that the policy takes: inverse-propensity methods then have no
        answer.

    Notes
    -----
    With w = probability under the policy / propensity, r the reward, q the reward predicted:

    - "ips": the mean of w r. Unbiased; much variance.
    - "snips": the sum of w r over the sum of w. Little bias, less variance, and never outside of the rewards.
    - "direct": the mean prediction for what the policy does. As good as the model; its interval knows nothing of the
      model's bias.
    - "doubly_robust": the direct prediction plus the mean of w (r - q). Right if propensities or the model are.
    - "switch": doubly robust, but rows of the largest weights are left to the model where the data do not show that
      the estimate is moved by it.

    "bernstein" (Maurer and Pontil) and "betting" (Waudby-Smith and Ramdas) hold for every number of rows if rows are
    independent, rewards are in `reward_range` and propensities are true; around "snips" they are intervals of the
    value, made of unbiased terms, not of that estimator's distribution. "betting" is the narrower one. For
    "doubly_robust" it trains every model on earlier rows only, in random order. "bernstein" is not offered there, and
    neither is for the methods that a wrong model makes biased.

    Warnings that make the estimate worthless (rows trained on, impossible propensities, actions never logged) are also
    issued as `OffsetTreeWarning`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from offsettree import OffsetTree, evaluate, simulate_log
    >>> train, test = simulate_log(*load_iris(return_X_y=True), random_state=0).split(0.5, random_state=0)
    >>> policy = OffsetTree(random_state=0).fit(**train.arrays())
    >>> estimate = evaluate(policy, **test.arrays())
    >>> bool(estimate.low > estimate.baseline.high)
    True
    """
    _check_choice("method", method, METHODS)
    _check_choice("interval", interval, INTERVALS)
    if not (is_number(level) and 0 < level < 1):
        raise ParameterError(f"level must be between 0 and 1, such as 0.95; got {level!r}.")
    _check_pair(method, interval)
    log = _Log.of(X, action, reward, propensity, actions, available, [policy, baseline])
    random = check_random_state(random_state)
    target = find_target(policy, X, log.logged, log.space, "policy", log.available)
    weight = target.on_logged / log.propensity
    targets, weights = [target], [weight]
    if baseline is not None and not _is_logging(baseline):
        targets.append(find_target(baseline, X, log.logged, log.space, "baseline", log.available))
        weights.append(targets[1].on_logged / log.propensity)
    if method in ("ips", "snips"):
        _refuse_unmatched(weights)
    order = random.permutation(len(weight)) if interval == "betting" else np.arange(0)
    scale = Scale.of(policy, reward_range, log.reward) if interval in ("bernstein", "betting") else None
    predicted: list[Predictions | None] = [None] * len(targets)
    if method in MODEL_METHODS:
        folds = forward_folds(order) if interval == "betting" else random_folds(len(weight), random)
        prior = scale.low + 0.5 * scale.width if scale is not None else 0.0
        predicted = [
            *predict_rewards(reward_model, X, log.logged, log.reward, len(log.space), targets, folds, random, prior)
        ]
        if scale is not None:
            predicted = [scale.clipped(each) for each in predicted]
    terms = [estimate_terms(method, w, log.reward, q) for w, q in zip(weights, predicted, strict=True)]
    if _is_logging(baseline):
        terms.append(Terms(log.reward))
    sums = [diagnostics.WeightSums.of(w) for w in weights]
    every_row = [float(len(weight))] * 2
    # Models speak of every row, and so does what was logged.
    sizes = (every_row if method == "direct" else [*(each.effective_rows for each in sums), *every_row])[: len(terms)]
    intervals = normal_intervals(terms, level, sizes)
    if interval == "bootstrap":
        intervals = bootstrapped(intervals, bootstrap_values(terms, random), level)
    elif scale is not None:
        bound = largest_weight(max_weight, weights, log.propensity, interval)
        intervals = guaranteed(intervals, interval, level, weights, predicted, log.reward, scale, bound, order)
    return Estimate(
        **vars(intervals[0]),
        level=float(level),
        method=method,
        interval=interval,
        n_rows=len(weight),
        n_matched=sums[0].n_matched,
        effective_rows=sums[0].effective_rows,
        max_weight=sums[0].largest,
        baseline=intervals[1] if len(terms) == 2 else None,
        difference=intervals[2] if len(terms) == 2 else None,
        warnings=_find_warnings(policy, X, log, target, weight, method, sums[0]),
    )


@dataclass(frozen=True)
class _Log:
    """A checked log; actions as positions in the space of all labels."""

    logged: NDArray[np.intp]
    reward: NDArray[np.float64]
    propensity: NDArray[np.float64]
    space: NDArray[Any]
    available: Available | None

    @classmethod
    def of(
        cls,
        X: Features,
        action: Any,
        reward: Any,
        propensity: Any,
        actions: Any,
        available: Any,
        policies: list[Any],
    ) -> _Log:
        if hasattr(X, "arrays") and hasattr(X, "propensity"):
            raise LogError("evaluate takes the parts of a log, not the log itself: evaluate(policy, **log.arrays()).")
        n_rows = count_rows(X)
        if n_rows == 0:
            raise LogError("the log is empty: X has no rows.")
        labels = check_actions(action, n_rows)
        rewards = check_reward(reward, n_rows, copy=False)
        chances = check_propensity(propensity, n_rows, copy=False)
        space, logged = find_space(labels, actions, policies)
        sets = None
        if available is not None:
            sets = check_available(available, n_rows, space)
            check_available_to_log(sets, logged, space)
        return cls(logged, rewards, chances, space, sets)


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")


def _check_pair(method: str, interval: str) -> None:
    if interval in ("bernstein", "betting") and method in ("direct", "switch"):
        raise ParameterError(
            f"interval={interval!r} holds for estimates without bias, and method={method!r} has that of its reward "
            "model. Use 'normal' or 'bootstrap', or another method."
        )
    if interval == "bernstein" and method == "doubly_robust":
        raise ParameterError(
            "interval='bernstein' needs independent rows, which a cross-fitted reward model makes dependent. Use "
            "interval='betting', whose reward models learn from earlier rows only."
        )


def _is_logging(baseline: Any) -> bool:
    return isinstance(baseline, str) and baseline == "logging"


def _refuse_unmatched(weights: list[NDArray[np.float64]]) -> None:
    for weight, what in zip(weights, ("policy", "baseline"), strict=False):
        if not weight.any():
            raise LogError(
                f"the {what}'s value cannot be estimated: in none of the {len(weight):,} rows was an action logged "
                f"that the {what} would take. Use a log with more rows or more exploration, or method='direct', "
                "which trusts a reward model."
            )


def _find_warnings(
    policy: Any,
    X: Features,
    log: _Log,
    target: Target,
    weight: NDArray[np.float64],
    method: str,
    sums: diagnostics.WeightSums,
) -> tuple[str, ...]:
    count = np.bincount(log.logged, minlength=len(log.space))
    support = diagnostics.of_support(target, count, log.space)
    serious = [
        *diagnostics.of_training_rows(policy, X, log.reward),
        *support,
        *diagnostics.of_propensities(
            sums, log.logged, count, log.propensity, log.space, covered=not support, available=log.available
        ),
    ]
    for text in serious:
        warnings.warn(text, OffsetTreeWarning, stacklevel=3)
    found = [] if method == "direct" and sums.n_matched else diagnostics.of_weights(weight, sums)
    return (*serious, *found)
