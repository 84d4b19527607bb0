"""A policy chosen among candidates by what they are worth on rows they did not learn from."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from offsettree._available import Available
from offsettree._features import Features, is_sparse
from offsettree._progress import Progress
from offsettree._traits import tags_of
from offsettree._validation import check_range, is_number
from offsettree.base import BasePolicy
from offsettree.evaluation import Estimate
from offsettree.evaluation._terms import MODEL_METHODS
from offsettree.exceptions import OffsetTreeWarning, ParameterError
from offsettree.learners import default_classifier
from offsettree.reductions._reward_models import check_reward_model
from offsettree.selection._comparison import honest_estimate
from offsettree.selection._outcomes import all_failed, explain, new_row, warn_of_left_out
from offsettree.selection._parting import Parting
from offsettree.selection._race import Race, plan_race
from offsettree.selection._rule import Rule, Stack
from offsettree.selection._timing import Budget
from offsettree.selection._trials import Log, Scoring, said
from offsettree.selection.candidates import Candidate, most_tolerant_learner, prepare_candidates, read_candidates
from offsettree.selection.results import SearchResults

__all__ = ["PolicySearch"]

SCORINGS = ("doubly_robust", "snips", "ips", "switch")


class PolicySearch(BasePolicy):
    """Policy chosen among candidates: a race on rows held out, and the best is learned from all rows.

    Candidates learn from a tenth, then from three tenths, then from most of the log, and decide in the rows that they
    did not learn from, all in the same. Their decisions are valued by one estimator with the same reward models for
    all. Those that fall behind leave the race; a short log is learned from fold by fold instead. The best of those that
    are left is learned again from all rows.

    Parameters
    ----------
    candidates : "default" or list of policies or of pairs (name, policy), default="default"
        In the order in which they are preferred, from the simplest to the most elaborate. "default" are those of
        `offsettree.selection.default_candidates`: the best constant action, a policy tree of two levels, reward
        boosting, ridge regression, a doubly robust policy, an offset forest, importance weighting and offset trees.
        Their `reward_range` and `actions` are those of the search.
    cv : int, default=5
        How many folds.
    nested : bool, default=True
        Make `estimate_` by choices that know nothing of the rows they are valued in. All that might have been chosen
        are then learned without each fold and without each pair of folds, `cv` * (`cv` + 1) / 2 times: far longer than
        the race takes. With False `estimate_` is somewhat too high, and its warnings say so. Neither the choice nor
        `results_` (but for seconds) depends on it. See the notes.
    scoring : {"doubly_robust", "snips", "ips", "switch"}, default="doubly_robust"
        By which estimator of `evaluate` candidates are compared.
    reward_model : regressor, "boosting" or "linear", optional
        For "doubly_robust" and "switch", as in `evaluate`. By default the predictions of the first candidate that is a
        `RewardBoosting`, which costs nothing; without such a candidate, the default of `evaluate`.
    simpler_within : float, default=0.0
        How many standard errors behind the best an earlier candidate may be and still be preferred; of the difference
        between the two on the same rows. 0 takes the best, or a favourite: see the notes, also of constant actions.
    max_rows : int or None, default=50_000
        Candidates are compared on so many rows of a longer log, drawn at random; the chosen one learns from all. None
        compares on all rows.
    time_budget : float, optional
        Seconds that `fit` may take, compilation aside. All candidates are first tried on a small part of the log. A
        part is begun only if it can be expected to end in time, and so can learning the chosen one from all rows;
        candidates leave until it can. What was left out is in `results_`, and a warning tells. If there is no time for
        the nested estimate, it is as for ``nested=False``, with a warning. The choice then depends on the machine.
    level : float, default=0.95
        How likely each interval is to hold the true value.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward. Rewards outside are refused.
    actions : array of shape (n_actions,), optional
        All action labels, in the order wanted for `actions_`. By default the sorted labels of the log; needed when
        some were never logged.
    n_jobs : int, optional
        Workers of each candidate that has none of its own, and pairs of folds that are learned at once. The result
        does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Draws the folds, and seeds candidates and reward models that have no seed of their own.

    Attributes
    ----------
    best_name_ : str
        The candidate chosen.
    best_policy_ : policy
        Learned from all rows; `predict` and `decide` are its.
    estimate_ : Estimate
        What the choice is worth, corrected for having looked: in the rows of each fold by the decisions of the
        candidate that would have been chosen without that fold. With its difference to what was logged. See `nested`.
    results_ : SearchResults
        A table of all candidates: a list of dicts, printed in columns.
    rule_ : str
        By which rule the one was chosen; `results_` has the reason for each candidate.
    chosen_by_fold_ : list of str
        Who was chosen without each of the folds: the more they differ, the less the choice means.
    actions_ : ndarray of shape (n_actions,)
        The labels.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Reward boosting, if it is among the candidates and values them, is chosen unless another is ahead of it by 1.5
    standard errors. A candidate that looks at x must be ahead of the best constant action (`ConstantPolicy`) by 0.75
    standard errors of their difference on the same rows; by 2 where rewards are rare or have long tails (a kurtosis
    above 20), for there x seldom tells enough, and luck tells much. Reward boosting need not, where it predicts rewards
    better by x, by 2.5 standard errors (5 where rewards are rare). To the standard error belongs what one further row
    could change. For the choice, weights and rewards are cut that are far larger than others of their kind; the values
    in `results_` and `estimate_` are not cut. A candidate leaves the race when it is 2 standard errors behind the one
    that would be chosen, having learned from a small part; having learned from most rows, when it is 1 behind, or not
    ahead by 0.3 where there is a favourite. Constants never leave. How this was found, and how good it is:
    docs/choosing.md.

    The value of the winner in `results_` is too high on average: the best of many noisy numbers is so by luck as well.
    `estimate_` is not: for each fold a candidate is chosen by decisions in the other folds, of policies and by reward
    models that learned from neither the fold they are used in nor the one chosen for; only the decisions valued are of
    policies that learned from all other folds. Candidates that left the race by less than 3 standard errors are in
    again. It is not enough to leave the fold's own rows out of the comparison, as ``nested=False`` does: in the other
    folds decide policies that learned from this one, so that candidates to which its luck was kind are preferred. On
    rewards that were pure noise that left about half of the winner's optimism.

    `estimate_` is of policies learned from all folds but one, so that the one learned from all rows is usually a little
    better. Its interval allows for the choice, too. Rows are taken to be independent. Two folds leave no third to learn
    from: with ``cv=2`` the estimate is as for ``nested=False``. Without `nested`, a long log is not decided in by all
    folds, but by as many as it takes to value 1,500 rows (5,000 where rewards are rare): `estimate_` is of these rows.

    A candidate that fails is named in `results_` with its error and skipped. If all do, `fit` fails. One that fails
    without some pair of folds only is not chosen without either of the two, which its warnings in `results_` tell; if
    that leaves none to choose, or a reward model fails, the estimate is as for ``nested=False``, with a warning.

    Of a part of the log (`max_rows`), `estimate_` is of policies learned from that part, and so rather too low. Where a
    candidate needs more rows than that to come into its own, raise it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from offsettree import OffsetTree, PolicySearch, RewardRegression, simulate_log
    >>> log = simulate_log(*load_iris(return_X_y=True), random_state=0)
    >>> candidates = [("regression", RewardRegression()), ("tree", OffsetTree())]
    >>> search = PolicySearch(candidates, cv=3, random_state=0).fit(**log.arrays())
    >>> search.best_name_ in ("regression", "tree")
    True
    >>> search.decide([5.1, 3.5, 1.4, 0.2])
    0
    >>> bool(search.estimate_.difference.low > 0)
    True
    """

    estimator = None
    _default_learner = staticmethod(default_classifier)

    best_name_: str
    best_policy_: BasePolicy
    estimate_: Estimate
    results_: SearchResults
    rule_: str
    chosen_by_fold_: list[str]
    _parted_by: tuple[ArrayLike | None, ArrayLike | None]

    def __init__(
        self,
        candidates: Any = "default",
        *,
        cv: int = 5,
        nested: bool = True,
        scoring: str = "doubly_robust",
        reward_model: Any = None,
        simpler_within: float = 0.0,
        max_rows: int | None = 50_000,
        time_budget: float | None = None,
        level: float = 0.95,
        reward_range: Sequence[float] = (0.0, 1.0),
        actions: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.candidates = candidates
        self.cv = cv
        self.nested = nested
        self.scoring = scoring
        self.reward_model = reward_model
        self.simpler_within = simpler_within
        self.max_rows = max_rows
        self.time_budget = time_budget
        self.level = level
        self.reward_range = reward_range
        self.actions = actions
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Features,
        action: ArrayLike | None = None,
        *,
        reward: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        available: Any = None,
        group: ArrayLike | None = None,
        time: ArrayLike | None = None,
    ) -> Self:
        """Compare the candidates on a log, and learn the best of them from all rows.

        Parameters
        ----------
        X, action, reward, propensity, available
            As every policy takes them.
        group : array of shape (n_rows,), optional
            Whose decision each row was, such as the customer's number: no candidate decides in rows of a group that it
            learned from, and the interval of `estimate_` takes groups to be independent of each other, not rows. The
            rule of choice does not: it takes rows to be independent.
        time : array of shape (n_rows,), optional
            When each decision was taken, in numbers or dates: candidates learn from earlier rows and decide in the
            latest, the share of one fold of `cv`. `estimate_` is then as for ``nested=False``.
        """
        self._parted_by = (group, time)
        try:
            return super().fit(X, action, reward=reward, propensity=propensity, available=available)
        finally:
            del self._parted_by

    def decide(self, x: Any, available: Any = None) -> Any:
        """Return the action for one context: the same as `predict` on a table of that one row.

        Parameters
        ----------
        x : sequence of n_features numbers, mapping of feature names to values, or X of one row
            The context. An array of one dimension is the fastest.
        available : labels, or truth value per action, optional
            Which actions there are to choose from, as in `predict`.

        Returns
        -------
        int or str
            A label of `actions_`, as a plain Python value.
        """
        if isinstance(x, np.ndarray) and self.__dict__.get("best_policy_") is not None and self._frame_like is None:
            return self.best_policy_.decide(x, available)
        return super().decide(x, available)

    def _fit(
        self,
        X: Features,
        action: NDArray[np.intp],
        reward: NDArray[np.float64],
        propensity: NDArray[np.float64],
        available: Available | None = None,
    ) -> None:
        self._check_parameters(len(action))
        budget = Budget(self.time_budget)
        low, high = check_range(self.reward_range)
        if (low, high) != (0, 1):
            reward = np.clip(low + (high - low) * reward, low, high)  # not outside by the last digit
        random = check_random_state(self.random_state)
        whole = Log(X, action, reward, propensity, self.actions_, available, (low, high))
        log, parting = self._part_to_compare_on(whole, Parting.of(*self._parted_by, len(action)), random)
        candidates = read_candidates(self.candidates, sparse=is_sparse(X))
        candidates = prepare_candidates(candidates, self.actions_, (low, high), self.n_jobs, random)
        fold = parting.folds(log.position, self.cv, random)
        rule = Rule.of(float(self.simpler_within), reward)
        rungs = plan_race(fold, random, in_haste=self.time_budget is not None, is_rare=rule.is_rare)
        rungs = parting.keep_apart(rungs, fold, random)
        scoring = Scoring(self.scoring, self.reward_model, int(random.randint(np.iinfo(np.int32).max)))
        results = SearchResults(new_row(each.name) for each in candidates)
        shares = parting.group is None and parting.rank is None
        race = Race(candidates, log, scoring, rule, results, budget, len(action), self.level, shares=shares)
        with Progress(len(candidates) * sum(rung.n_learned for rung in rungs)) as progress:
            race.run(rungs, progress)
            self.best_policy_, best = self._refit(candidates, race, whole, progress)
            is_shared = race.shared is not None
            explain(results, best)
            warn_of_left_out(results, self.time_budget)
            choosers, notes = self._choosers(race, fold, progress, is_forward=parting.rank is not None)
        self.best_name_ = candidates[best].name
        favourite = None if race.evidence.home is None else candidates[race.evidence.home].name
        self.rule_ = rule.describe(favourite, by_predictions=is_shared)
        valued = race.evidence.valued(list(race.still_in), fold, race.folds)
        parting = parting.take(np.flatnonzero(race.evidence.is_valued))
        self.estimate_, choices = honest_estimate(
            replace(valued, group=parting.group),
            rule,
            self.scoring,
            self.level,
            random,
            choosers,
            notes,
        )
        names = [results[place]["name"] for place in race.still_in]
        self.chosen_by_fold_ = [names[choice] for choice in choices]
        self.results_ = results

    def _part_to_compare_on(self, log: Log, parting: Parting, random: np.random.RandomState) -> tuple[Log, Parting]:
        n_rows = len(log.reward)
        if self.max_rows is None or n_rows <= self.max_rows:
            return log, parting
        # Any rows alike, not so many of each action: propensities stay what they are.
        rows = np.sort(random.choice(n_rows, self.max_rows, replace=False))
        return log.take(rows), parting.take(rows)

    def _refit(self, candidates: list[Candidate], race: Race, log: Log, progress: Progress) -> tuple[BasePolicy, int]:
        """Learn the best from all rows, or, should that fail, the best of the others."""
        race.leave_unmatched()
        while race.still_in or race.bring_back():
            place = race.choose()
            race.describe(list(race.still_in))
            if race.shared is not None and race.shared.place == place and log is race.log:
                race.shared.warn()
                return race.shared.policy, place
            progress.begin(f"{race.results[place]['name']}, all {len(log.reward):,} rows")
            try:
                return log.teach(candidates[place].policy), place
            except Exception as error:
                race.leave(place, "failed", "it failed", said(error))
        raise all_failed(race.results)

    def _choosers(
        self, race: Race, fold: NDArray[np.intp], progress: Progress, *, is_forward: bool = False
    ) -> tuple[list[Stack] | None, tuple[str, ...]]:
        """Return what to choose by without each fold, if it is there, and what to say of the estimate if not."""
        if not self.nested:
            reason = "nested=False"
        elif self.cv == 2:
            reason = "cv=2 leaves no third fold to learn from"
        elif is_forward:
            reason = "only the latest rows are decided in"
        elif not race.complete(fold, progress):
            reason = f"time_budget={self.time_budget:g} s was used up"
        elif len(race.still_in) > 1:
            found = race.choosers(fold, self.n_jobs, progress)
            if not isinstance(found, str):
                return found, ()
            reason = found
        else:
            return None, ()  # nobody else could have been chosen
        if sum(outcome in ("chosen", "compared", "dropped") for outcome in race.results.column("outcome")) == 1:
            return None, ()  # there was no choice
        text = (
            "The value is somewhat too high on average: without each fold a candidate was chosen by policies that had "
            f"learned from it, because {reason}."
        )
        if self.nested and self.cv > 2:
            warnings.warn(f"estimate_: {text}", OffsetTreeWarning, stacklevel=4)
        return None, (text,)

    def _choose(self, X: Features) -> NDArray[np.intp]:
        return self.best_policy_._positions(X)

    def _choose_within(self, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        return self.best_policy_._choose_within(self.best_policy_._checked(X), mask)

    def _check_parameters(self, n_rows: int) -> None:
        if self.max_rows is not None and not (_is_whole(self.max_rows) and self.max_rows >= 100):
            raise ParameterError(
                f"max_rows must be None or a whole number of at least 100 rows to compare on; got {self.max_rows!r}."
            )
        n_rows = n_rows if self.max_rows is None else min(n_rows, self.max_rows)
        if not (_is_whole(self.cv) and 2 <= self.cv <= n_rows):
            raise ParameterError(
                f"cv must be a whole number of folds, from 2 to the number of rows, {n_rows:,}; got {self.cv!r}."
            )
        if not isinstance(self.nested, bool | np.bool_):
            raise ParameterError(f"nested must be True or False; got {self.nested!r}.")
        if self.scoring not in SCORINGS:
            why = " A reward model alone would choose whoever agrees with it." if self.scoring == "direct" else ""
            raise ParameterError(f"scoring must be one of {', '.join(map(repr, SCORINGS))}; got {self.scoring!r}.{why}")
        if self.reward_model is not None and self.scoring in MODEL_METHODS:
            check_reward_model(self.reward_model)
        if not (is_number(self.simpler_within) and 0 <= self.simpler_within < np.inf):
            raise ParameterError(f"simpler_within must be a number of at least 0; got {self.simpler_within!r}.")
        if self.time_budget is not None and not (is_number(self.time_budget) and self.time_budget > 0):
            raise ParameterError(f"time_budget must be None or seconds, more than 0; got {self.time_budget!r}.")
        if not (is_number(self.level) and 0 < self.level < 1):
            raise ParameterError(f"level must be between 0 and 1, such as 0.95; got {self.level!r}.")

    def _learner(self) -> Any:
        """Return the learner that is content with the most: of the forms of X it decides what may come in."""
        if isinstance(self.candidates, str) and self.candidates == "default":
            return default_classifier()
        return most_tolerant_learner(read_candidates(self.candidates))

    @property
    def _learner_kind(self) -> str:  # type: ignore[override]
        tags = tags_of(self._learner())
        return "classifier" if tags is None or tags.estimator_type is None else str(tags.estimator_type)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
