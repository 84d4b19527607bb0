"""Estimate the value of a policy from the log of another policy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from offsettree._features import Features
from offsettree._messages import Parameter
from offsettree._validation import as_random_state
from offsettree.evaluation import _diagnostics as diagnostics
from offsettree.evaluation._action_sets import decisions_in, mask_of, predict_set_rewards
from offsettree.evaluation._groups import folds_by_group
from offsettree.evaluation._inputs import Log, check_settings, find_range, is_table, rows_of
from offsettree.evaluation._interval_methods import BY_TERMS, IntervalSettings, find_intervals, of_few_groups
from offsettree.evaluation._reward_models import Predictions, check_predictions, forward_folds, predict_rewards
from offsettree.evaluation._targets import Target, find_target
from offsettree.evaluation._terms import MODEL_METHODS, Terms, estimate_terms
from offsettree.evaluation._warnings import WHAT, find_warnings
from offsettree.evaluation.estimate import DEFAULT_INTERVAL, Estimate, Interval
from offsettree.exceptions import LogError, OffsetTreeWarning
from offsettree.logs import ActionSets

__all__ = ["evaluate"]


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
    interval: str = DEFAULT_INTERVAL,
    baseline: Any = "logging",
    actions: ArrayLike | None = None,
    available: Any = None,
    action_sets: ActionSets | None = None,
    reward_range: Any = None,
    max_weight: float | None = None,
    group: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Estimate:
    """Estimate the value of a policy, its mean reward per decision, on a log it has not seen.

    Parameters
    ----------
    policy : object with predict or predict_proba, array, or label
        Policies of this package and scikit-learn's classifiers take the action of `predict`. Any other object with
        `predict_proba`, such as an explorer, draws from those probabilities. An array holds one action label per row,
        or probabilities of shape (n_rows, n_actions); its columns follow `actions`, by default the sorted labels of the
        log. A frame's columns are matched by name. A single label is the policy that always takes it.
    X : array of shape (n_rows, n_features), sparse matrix, pandas or polars frame
        What was known when each decision was taken.
    action : array of shape (n_rows,)
        The logged actions.
    reward : array of shape (n_rows,)
        Their rewards. Required.
    propensity : array of shape (n_rows,) or float
        The probability with which the logging policy chose the action, in (0, 1]. Required.
    method : {"snips", "ips", "direct", "doubly_robust", "switch", "log_smoothing"}, default="snips"
        The estimator; see the notes.
    reward_model : regressor, "boosting", "linear" or array of shape (n_rows, n_actions), optional
        Predicts rewards for "direct", "doubly_robust" and "switch". Copies of it are trained per action and
        cross-fitted: no row is predicted by a model that learned from it. By default randomised trees; ridge regression
        for sparse X. "boosting" is `RewardBoosting`, one model for all actions; "linear" are linear models that share
        information between actions. An array or frame holds your own predictions, by models that did not learn from
        these rows. Its columns follow `actions`, by default the sorted labels of the log; a frame's are matched by
        name.
    level : float, default=0.95
        The confidence level of the interval.
    interval : str, default="mid_p"
        Or "empirical_likelihood", "normal", "bootstrap", "bernstein", "betting", "anytime". "mid_p" also holds for rare
        rewards and heavy weights; the next three are asymptotic, for long logs. "bernstein" and "betting" are
        guaranteed for every number of rows, "anytime" for all numbers of rows jointly. See the notes.
    baseline : "logging", policy or None, default="logging"
        The policy to compare with: the logging policy, or another policy in any of the forms above.
    actions : array of shape (n_actions,), optional
        All action labels. By default those of the policies and of the log.
    available : boolean array or CSR matrix of shape (n_rows, n_actions), optional
        Mask of the actions available in each row, in the order of `actions`; by default of the policy's `actions_`, or
        else of the sorted labels of the log. Policies of this package choose among them. Other policies and arrays must
        not choose what the mask excludes. By default all are available.
    action_sets : ActionSets, optional
        The eligible actions of each row, with their features, for policies over such sets; in the place of `actions`
        and `available`. A reward model then learns from the features of context and action: a regressor, by default
        that of `ActionRegression`; an array holds your own predictions, one per pair of row and action.
    reward_range : (float, float), optional
        Smallest and largest possible reward: estimates and the ends of most intervals stay within. By default the
        policy's `reward_range`; else (0, 1) if all rewards are within, and not all equal. "bernstein" and "betting"
        need a range; "mid_p" uses the extremes of the log if none is known.
    max_weight : float, optional
        The largest weight that any row could have, for "bernstein", "betting", "anytime" and "empirical_likelihood". By
        default 1 / the smallest propensity of the log, which is right if no row could have had a smaller one. "betting"
        accepts infinity, which assumes nothing; that is the default of "anytime".
    group : array of shape (n_rows,), optional
        Group of each row, such as a customer number, if rows of one group may be correlated. Intervals then assume
        independent groups, not independent rows, and reward models do not learn from the group that they predict. For
        the intervals "mid_p", "normal" and "bootstrap".
    random_state : int, RandomState instance or None, default=None
        Draws folds, resamples, and the order of rows for "betting".

    Returns
    -------
    Estimate
        With `value`, `stderr`, `low`, `high`, `baseline`, `difference`, `warnings` and more.

    Raises
    ------
    LogError
        If no row was logged with an action that the policy takes: inverse-propensity methods then have no estimate.

    Notes
    -----
    With w = probability under the policy / propensity, r the reward, q the reward predicted:

    - "ips": the mean of w r. Unbiased; high variance.
    - "snips": the sum of w r over the sum of w. Small bias, less variance, and never outside the range of rewards.
    - "direct": the mean prediction for the policy's actions. As good as the model. Its interval shows how predictions
      vary from row to row. It ignores the model's bias and how the model would differ had it learned from other rows,
      and covers the true value far less often than `level` says.
    - "doubly_robust": the direct prediction plus the mean of w (r - q). Right if the propensities or the model are.
    - "switch": doubly robust, but rows of the largest weights are left to the model as long as that does not move the
      estimate significantly. For those rows the interval ignores the model's error, as that of "direct" does.
    - "log_smoothing": the mean of sqrt(n) log(1 + w r / sqrt(n)), with r scaled to [0, 1]. Pessimistic about policies
      whose value depends on a few heavy rows, and so good for selection. The interval is that of the value.

    An estimate by "ips" or "doubly_robust" outside the known range of rewards is moved to the nearest end of the range.

    "mid_p" is a mid-P interval for weighted rows. Its coverage is right on average, also where few of the matched
    rewards differ from the rest and "normal" and "bootstrap" are too narrow and shifted. On long logs it is as wide as
    they are. It needs rewards that differ, or their range. With "direct" and "switch" it ignores the model's error,
    as the other intervals do.

    "empirical_likelihood" (Karampatziakis, Langford and Mineiro) keeps the values under which the log is likely enough.
    "anytime" (Waudby-Smith and others, 2022) takes rows in the order given, which must be that of logging. The
    intervals of all prefixes hold jointly, even if the logging policy changes over time. (The difference to the
    logging policy then changes with it and is not covered.)

    "bernstein" (Maurer and Pontil) and "betting" (Waudby-Smith and Ramdas) hold for every number of rows if rows are
    independent, rewards are in `reward_range` and propensities are true. Around "snips" they bound the value by
    unbiased terms; they do not describe that estimator's distribution. "betting" is narrower. For "doubly_robust" it
    trains every model on earlier rows only, in random order; "bernstein" does not support "doubly_robust". Neither
    supports "direct" and "switch", which a wrong model biases.

    `serious` has the warnings that forbid a definite verdict. Those that make the estimate worthless (evaluation on
    training rows, impossible propensities, actions never logged, no interval) are also issued as `OffsetTreeWarning`.

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
    check_settings(method, interval, level, reward_model, reward_range, max_weight)
    if action_sets is not None:
        if actions is not None or available is not None:
            raise LogError("action_sets says which actions there are: leave out actions and available.")
        actions, available = mask_of(action_sets, rows_of(X)[1])
    log = Log.of(X, action, reward, propensity, actions, available, [policy, baseline])
    random = as_random_state(random_state)
    policies = [policy] if baseline is None or _is_logging(baseline) else [policy, baseline]
    decisions = policies if action_sets is None else [decisions_in(action_sets, each, log.X) for each in policies]
    targets = [
        find_target(each, log.X, log.logged, log.space, what, log.available, log.columns)
        for each, what in zip(decisions, WHAT, strict=False)
    ]
    weights = [target.on_logged / log.propensity for target in targets]
    if method not in MODEL_METHODS:
        _refuse_unmatched(weights)
    known = find_range(policy, reward_range, log.reward)
    settings = IntervalSettings.of(log, policy, method, interval, level, reward_range, known, max_weight, group, random)
    predicted = _predicted(settings, log, reward_model, targets, random, action_sets)
    terms = [
        estimate_terms(method, w, settings.rewards, q, settings.limits) for w, q in zip(weights, predicted, strict=True)
    ]
    pessimistic = [float(each.numerator.mean()) for each in terms] if method == "log_smoothing" else []
    if pessimistic:  # the interval is that of the value, and so of terms that are not smoothed
        terms = [estimate_terms("snips", w, settings.rewards, None) for w in weights]
    logged = [Terms(settings.rewards)] if _is_logging(baseline) else []
    intervals = find_intervals(settings, [*terms, *logged], weights, predicted, log, _differing(targets), random)
    if pessimistic:
        intervals = _with_values(intervals, pessimistic)
    sums = [diagnostics.WeightSums.of(w) for w in weights]
    worthless, serious, others = find_warnings(
        policies, log, targets, weights, method, interval, terms, sums, known, of_ids=action_sets is not None
    )
    few = of_few_groups(settings, weights[0])
    serious, others = (serious + few, others) if interval in diagnostics.FOR_LONG_LOGS else (serious, others + few)
    for text in worthless:
        warnings.warn(text, OffsetTreeWarning, stacklevel=2)
    intervals = [each.times(log.unit) for each in intervals]
    return Estimate(
        **vars(intervals[0]),
        level=float(level),
        method=method,
        interval=interval,
        n_rows=len(log.logged),
        n_matched=sums[0].n_matched,
        effective_rows=sums[0].effective_rows,
        max_weight=sums[0].largest,
        baseline=intervals[1] if len(intervals) > 1 else None,
        difference=intervals[2] if len(intervals) > 1 else None,
        warnings=(*worthless, *serious, *others),
        serious=(*worthless, *serious),
        n_groups=None if settings.group is None else int(settings.group.max()) + 1,
    )


def _predicted(
    settings: IntervalSettings,
    log: Log,
    reward_model: Any,
    targets: list[Target],
    random: np.random.RandomState,
    sets: ActionSets | None,
) -> list[Predictions | None]:
    """Return the predicted rewards of each target; None if the method has no reward model."""
    if settings.method not in MODEL_METHODS:
        return [None] * len(targets)
    n_rows, scale = len(log.logged), settings.scale
    folds = folds_by_group(n_rows, random, settings.group)
    if settings.interval in ("betting", "anytime"):
        folds = forward_folds(settings.order, is_anytime=settings.interval == "anytime")
    prior = scale.low + 0.5 * scale.width if scale is not None else 0.0
    if sets is not None:
        pair, rewards = sets.find(log.space[log.logged]), settings.rewards
        model = np.divide(reward_model, log.unit) if log.unit != 1 and is_table(reward_model) else reward_model
        found = predict_set_rewards(model, log.X, sets, pair, rewards, targets, folds, random, prior)
    else:
        model = reward_model
        if is_table(reward_model):
            model = check_predictions(reward_model, n_rows, log.columns, log.space) / log.unit
        n_actions, of_all = len(log.space), settings.interval not in BY_TERMS
        found = predict_rewards(
            model, log.X, log.logged, settings.rewards, n_actions, targets, folds, random, prior, of_all=of_all
        )
    return [*found] if scale is None else [scale.clipped(each) for each in found]


def _with_values(intervals: list[Interval], values: list[float]) -> list[Interval]:
    """Replace the values of intervals, and widen those that do not contain them; the logging policy keeps its value."""
    values = [*values, *(each.value for each in intervals[len(values) : 2])]
    values = [*values, values[0] - values[-1]][: len(intervals)]
    return [
        Interval(value, each.stderr, min(each.low, value), max(each.high, value))
        for each, value in zip(intervals, values, strict=True)
    ]


def _differing(targets: list[Target]) -> NDArray[np.bool_] | None:
    """Return a mask of rows in which two deterministic policies take different actions; None for others."""
    chosen = [target.chosen for target in targets]
    return None if len(chosen) < 2 or chosen[0] is None or chosen[1] is None else chosen[0] != chosen[1]


def _is_logging(baseline: Any) -> bool:
    return isinstance(baseline, str) and baseline == "logging"


def _refuse_unmatched(weights: list[NDArray[np.float64]]) -> None:
    for weight, what in zip(weights, WHAT, strict=False):
        if not weight.any():
            raise LogError(
                f"the {what}'s value cannot be estimated: in none of the {len(weight):,} rows was an action logged "
                f"that the {what} would take. Use a log with more rows or more exploration, or ",
                Parameter("method", "direct"),
                ", which trusts a reward model.",
            )
