"""What a policy is worth, from a log that another policy wrote."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from offsettree._features import Features
from offsettree.evaluation import _diagnostics as diagnostics
from offsettree.evaluation._findings import WHAT, find_warnings
from offsettree.evaluation._groups import folds_by_group
from offsettree.evaluation._inputs import Log, check_settings, find_range, is_table
from offsettree.evaluation._reward_models import Predictions, check_predictions, forward_folds, predict_rewards
from offsettree.evaluation._targets import Target, find_target
from offsettree.evaluation._terms import MODEL_METHODS, Terms, estimate_terms
from offsettree.evaluation._ways import Way, find_intervals, of_few_groups
from offsettree.evaluation.estimate import DEFAULT_INTERVAL, Estimate, Interval
from offsettree.exceptions import LogError, OffsetTreeWarning

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
    reward_range: Any = None,
    max_weight: float | None = None,
    group: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Estimate:
    """Estimate the value of a policy, its mean reward per decision, on a log it has not seen.

    Parameters
    ----------
    policy : object with predict or predict_proba, array, or label
        What is evaluated. Policies of this package and scikit-learn's classifiers take the action of `predict`; any
        other object with `predict_proba`, explorers among them, draws from those probabilities. Or an array: one
        action label per row, or probabilities of shape (n_rows, n_actions) whose columns follow `actions`, or else
        the sorted labels of the log, whatever it is compared with; a frame's are known by their names. A single label
        is the policy that always takes it.
    X : array of shape (n_rows, n_features), sparse matrix, pandas or polars frame
        What was known when each decision was taken.
    action : array of shape (n_rows,)
        What was chosen.
    reward : array of shape (n_rows,)
        What it earned. Must be given.
    propensity : array of shape (n_rows,) or float
        The probability with which the logging policy chose it, in (0, 1]. Must be given.
    method : {"snips", "ips", "direct", "doubly_robust", "switch", "log_smoothing"}, default="snips"
        The estimator; see the notes.
    reward_model : regressor, "boosting", "linear" or array of shape (n_rows, n_actions), optional
        Predicts rewards for "direct", "doubly_robust" and "switch": copies of it are trained per action and
        cross-fitted, so that no row is predicted by a model that learned from it. By default randomised trees; ridge
        regression for sparse X.
        "boosting" is `RewardBoosting`, one for all actions; "linear" are linear models that learn from each other.
        An array or frame holds predictions of your own, by models that did not learn from the rows; its columns follow
        `actions`, or else the sorted labels of the log, or are known by their names.
    level : float, default=0.95
        How likely the interval is to hold the true value.
    interval : str, default="mid_p"
        Or "empirical_likelihood", "normal", "bootstrap", "bernstein", "betting", "anytime". The first holds for rare
        rewards and heavy weights as well, the next three for long logs; the others are guaranteed for every length, and
        the last one for all lengths together. See the notes.
    baseline : "logging", policy or None, default="logging"
        What the policy is compared with: what was logged, or another policy in any of the forms above.
    actions : array of shape (n_actions,), optional
        All action labels. By default those that the policies say they know, and those of the log.
    available : boolean array or CSR matrix of shape (n_rows, n_actions), optional
        Which actions there were to choose from in each row, in the order of `actions`, or else of the policy's
        `actions_`, or else of the sorted labels of the log. Policies of this package choose among them; of others, and
        of arrays, an answer that the mask excludes is refused. By default all.
    reward_range : (float, float), optional
        Smallest and largest possible reward: estimates and the ends of most intervals stay within. By default the
        policy's `reward_range`; else (0, 1) if all rewards are within, and not all equal. "bernstein" and "betting"
        cannot do without; for "mid_p" the extremes of the log stand in where no range is known.
    max_weight : float, optional
        The largest weight that any row could have, for "bernstein", "betting", "anytime" and "empirical_likelihood". By
        default 1 / the smallest propensity of the log: true if no row could have had a smaller one. "betting" takes
        infinity: no assumption. That is the default of "anytime".
    group : array of shape (n_rows,), optional
        Whose decision each row was, such as the customer's number. Rows of one group may then be alike: intervals take
        groups to be independent of each other, not rows, and reward models do not learn from the group that they
        predict. For the intervals "mid_p", "normal" and "bootstrap".
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
    - "direct": the mean prediction for what the policy does. As good as the model. Its interval tells how predictions
      vary from row to row: it knows neither the model's bias nor how the model would differ had it learned from other
      rows, and holds the true value far less often than `level` says.
    - "doubly_robust": the direct prediction plus the mean of w (r - q). Right if propensities or the model are.
    - "switch": doubly robust, but rows of the largest weights are left to the model where the data do not show that
      the estimate is moved by it. For those rows the interval is as blind as that of "direct".
    - "log_smoothing": the mean of sqrt(n) log(1 + w r / sqrt(n)), with r as a share of its range. Pessimistic of
      policies that hang on a few heavy rows, and so good to choose by; the interval is that of the value.

    An estimate by "ips" or "doubly_robust" that no policy could have, because it is outside of the known range of
    rewards, is moved to the nearest end of the range.

    "mid_p" is a mid-P interval for weighted rows: right on average where "normal" and "bootstrap" are too narrow and
    shifted, because few of the matched rewards differ from the rest, and as wide as they are for long logs. It needs
    rewards that differ, or their range. With "direct" and "switch" it is as blind to the model's errors as any.

    "empirical_likelihood" (Karampatziakis, Langford and Mineiro) asks how likely a law of rows with the value claimed
    can make the log. "anytime" (Waudby-Smith and others, 2022) takes rows in the order given, in which they were
    logged: all intervals made as rows come in hold together, also if the logging policy changes on the way (then not of
    the gain on what was logged, which changes with it).

    "bernstein" (Maurer and Pontil) and "betting" (Waudby-Smith and Ramdas) hold for every number of rows if rows are
    independent, rewards are in `reward_range` and propensities are true; around "snips" they are intervals of the
    value, made of unbiased terms, not of that estimator's distribution. "betting" is the narrower one. For
    "doubly_robust" it trains every model on earlier rows only, in random order. "bernstein" is not offered there, and
    neither is for the methods that a wrong model makes biased.

    `serious` has the warnings that forbid a definite verdict. Those that make the estimate worthless (rows trained on,
    impossible propensities, actions never logged, no interval) are also issued as `OffsetTreeWarning`.

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
    log = Log.of(X, action, reward, propensity, actions, available, [policy, baseline])
    random = check_random_state(random_state)
    policies = [policy] if baseline is None or _is_logging(baseline) else [policy, baseline]
    targets = [
        find_target(each, log.X, log.logged, log.space, what, log.available, log.columns)
        for each, what in zip(policies, WHAT, strict=False)
    ]
    weights = [target.on_logged / log.propensity for target in targets]
    if method not in MODEL_METHODS:
        _refuse_unmatched(weights)
    known = find_range(policy, reward_range, log.reward)
    way = Way.of(log, policy, method, interval, level, reward_range, known, max_weight, group, random)
    predicted = _predicted(way, log, reward_model, targets, random)
    terms = [estimate_terms(method, w, way.rewards, q, way.limits) for w, q in zip(weights, predicted, strict=True)]
    pessimistic = [float(each.numerator.mean()) for each in terms] if method == "log_smoothing" else []
    if pessimistic:  # the interval is of the value, and so made of terms that are not smoothed
        terms = [estimate_terms("snips", w, way.rewards, None) for w in weights]
    logged = [Terms(way.rewards)] if _is_logging(baseline) else []
    intervals = find_intervals(way, [*terms, *logged], weights, predicted, log, _apart(targets), random)
    if pessimistic:
        intervals = _with_values(intervals, pessimistic)
    sums = [diagnostics.WeightSums.of(w) for w in weights]
    worthless, serious, others = find_warnings(policies, log, targets, weights, method, interval, terms, sums, known)
    few = of_few_groups(way, weights[0])
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
        n_groups=None if way.group is None else int(way.group.max()) + 1,
    )


def _predicted(
    way: Way, log: Log, reward_model: Any, targets: list[Target], random: np.random.RandomState
) -> list[Predictions | None]:
    """Return the rewards predicted for each target, where the method needs them."""
    if way.method not in MODEL_METHODS:
        return [None] * len(targets)
    n_rows, scale = len(log.logged), way.scale
    folds = folds_by_group(n_rows, random, way.group)
    if way.interval in ("betting", "anytime"):
        folds = forward_folds(way.order, is_anytime=way.interval == "anytime")
    prior = scale.low + 0.5 * scale.width if scale is not None else 0.0
    model = reward_model
    if is_table(reward_model):
        model = check_predictions(reward_model, n_rows, log.columns, log.space) / log.unit
    found = predict_rewards(model, log.X, log.logged, way.rewards, len(log.space), targets, folds, random, prior)
    return [*found] if scale is None else [scale.clipped(each) for each in found]


def _with_values(intervals: list[Interval], values: list[float]) -> list[Interval]:
    """Put other estimates into intervals, which hold them; what was logged keeps its own."""
    values = [*values, *(each.value for each in intervals[len(values) : 2])]
    values = [*values, values[0] - values[-1]][: len(intervals)]
    return [
        Interval(value, each.stderr, min(each.low, value), max(each.high, value))
        for each, value in zip(intervals, values, strict=True)
    ]


def _apart(targets: list[Target]) -> NDArray[np.bool_] | None:
    """Return the rows in which two policies take different actions, where that is known."""
    chosen = [target.chosen for target in targets]
    return None if len(chosen) < 2 or chosen[0] is None or chosen[1] is None else chosen[0] != chosen[1]


def _is_logging(baseline: Any) -> bool:
    return isinstance(baseline, str) and baseline == "logging"


def _refuse_unmatched(weights: list[NDArray[np.float64]]) -> None:
    for weight, what in zip(weights, WHAT, strict=False):
        if not weight.any():
            raise LogError(
                f"the {what}'s value cannot be estimated: in none of the {len(weight):,} rows was an action logged "
                f"that the {what} would take. Use a log with more rows or more exploration, or method='direct', "
                "which trusts a reward model."
            )
