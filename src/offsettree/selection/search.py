"""Policy search: choose among candidates by their estimated values on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from offsettree._features import Features, is_finite
from offsettree._plotting import OTHER, draw_intervals, new_axes
from offsettree._traits import tags_of
from offsettree._validation import check_range
from offsettree.base import BasePolicy
from offsettree.engines import connected, run_all
from offsettree.evaluation import Estimate
from offsettree.exceptions import ParameterError
from offsettree.learners import default_classifier
from offsettree.logs import ActionSets, CheckedLog
from offsettree.selection._search_run import run_search
from offsettree.selection._set_log import SetLog
from offsettree.selection._trials import Log
from offsettree.selection.candidates import most_tolerant_learner, read_candidates
from offsettree.selection.results import SearchResults

__all__ = ["PolicySearch"]


class PolicySearch(BasePolicy):
    """Policy chosen among candidates by a race on held-out rows; the best is trained again on all rows.

    Candidates are trained on a tenth of the log, then on three tenths (where that is at least 1,000 rows), then on most
    of it; a short log is raced fold by fold. Their decisions in the same held-out rows are valued by the same estimator
    and reward models. Those that fall behind leave the race.

    Parameters
    ----------
    candidates : "default" or list of policies or of pairs (name, policy), default="default"
        In order of preference, from the simplest to the most elaborate. "default" are those of
        `offsettree.selection.default_candidates`: the best constant action, a policy tree of two levels, reward
        boosting, ridge regression, a doubly robust policy, an offset forest, importance weighting and offset trees; and
        those that `register_policy` has added. Their `reward_range` and `actions` are those of the search. On a log
        with action sets, "default" are the most popular action and the policies of `offsettree.actions`; policies over
        labels that are named take the sets as masks.
    cv : int, default=5
        Number of folds.
    nested : bool, default=True
        Compute `estimate_` by nested cross-validation: choices do not depend on the rows they are valued on. All
        candidates that might have been chosen are then trained without each fold and without each pair of folds,
        `cv` * (`cv` + 1) / 2 times, which takes far longer than the race. With False `estimate_` is somewhat too high,
        and its warnings say so. The choice and `results_` (except seconds) do not depend on it. See the notes.
    scoring : {"doubly_robust", "snips", "ips", "switch"}, default="doubly_robust"
        The estimator, as in `evaluate`, by which candidates are compared.
    reward_model : regressor, "boosting" or "linear", optional
        For "doubly_robust" and "switch", as in `evaluate`. By default the predictions of the first candidate that is a
        `RewardBoosting`, at no extra cost; without such a candidate, the default of `evaluate`.
    simpler_within : float, default=0.0
        How many standard errors (of the paired difference) behind the best an earlier candidate may be and still be
        preferred. 0 takes the best, or the favourite: see the notes, also on constant actions.
    max_rows : int or None, default=50_000
        Candidates are compared on a random sample of at most so many rows; the chosen one is trained on all. None
        compares on all rows.
    time_budget : float, optional
        Seconds that `fit` may take, without compilation. All candidates are first tried on a small part of the log. A
        further part is begun only if it, and the final training on all rows, should end in time; candidates are left
        out until it should. These are in `results_`, and a warning names them. If there is no time for the nested
        estimate, it is as for ``nested=False``, with a warning. The choice then depends on the machine.
    level : float, default=0.95
        The confidence level of intervals.
    reward_range : (float, float), default=(0.0, 1.0)
        Smallest and largest possible reward. Rewards outside are refused.
    actions : array of shape (n_actions,), optional
        All action labels, in the order wanted for `actions_`. By default the sorted labels of the log; needed when
        some were never logged.
    n_jobs : int, optional
        Workers for each candidate without its own `n_jobs`, and for the pairs of folds. The result does not depend on
        it.
    random_state : int, RandomState instance or None, default=None
        Draws the folds, and seeds candidates and reward models without their own seed.
    engine : optional
        Where candidates and pairs of folds are tried, several at once: "local" or "local://4" (processes),
        "dask://host:8786", "ray://host:10001", a `distributed.Client`, or the module `ray` after `ray.init()`. By
        default this process, with `n_jobs`. The result does not depend on it, unless there is a time budget.

    Attributes
    ----------
    best_name_ : str
        The chosen candidate.
    best_policy_ : policy
        The chosen candidate, trained on all rows; `predict` and `decide` call it.
    estimate_ : Estimate
        The value of the choice, corrected for selection: each fold's rows are valued by the candidate that would have
        been chosen without that fold. It includes the difference to the logging policy. See `nested`.
    results_ : SearchResults
        A table of all candidates: a list of dicts, printed in columns.
    rule_ : str
        The selection rule in words; `results_` has the reason for each candidate.
    chosen_by_fold_ : list of str
        The candidate chosen without each fold. The more they differ, the less certain the choice.
    actions_ : ndarray of shape (n_actions,)
        The labels.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Reward boosting, if it is a candidate and the reward model, is the favourite: it is chosen unless another is ahead
    of it by 2 standard errors. A candidate that uses x must be ahead of the best constant action (`ConstantPolicy`)
    by 0.75 standard errors of the paired difference; by 2 if rewards are rare or have long tails (kurtosis above 20),
    as there x seldom helps and chance matters more. The favourite is exempt if x improves its reward predictions by 2.5
    standard errors, or 5 if rewards are rare. The standard error includes the effect of one unseen row. For the choice,
    outliers among weights and rewards are clipped; the values in `results_` and `estimate_` are not clipped. A
    candidate is dropped if it is 1 standard error behind the one that would be chosen; trained on most rows, with a
    favourite, if it is not ahead by 0.3. Constants are never dropped.
    How this was found, and how good it is: docs/choosing.md.

    The winner's value in `results_` is too high on average (winner's curse). `estimate_` is not. For each fold a
    candidate is chosen by its value in the other folds, of policies and reward models that saw neither the fold they
    are used in nor the fold to choose for. Then the fold's rows are valued by the chosen candidate, trained on all
    other folds. Candidates dropped by less than 3 standard errors take part again. Leaving only the fold's own rows out
    of the comparison, as ``nested=False`` does, is not enough: the policies in the other folds learned from this one,
    so candidates that were lucky in it are preferred. On pure noise that left about half of the winner's optimism.

    `estimate_` is of policies trained on all folds but one; the one trained on all rows is usually a little better. Its
    interval includes the uncertainty of the choice, and assumes independent rows. With ``cv=2`` there is no third fold
    to train on: the estimate is as for ``nested=False``. Without `nested`, only as many folds of a long log are tried
    as it takes to value 1,500 rows (5,000 if rewards are rare), and `estimate_` is of these rows.

    A candidate that fails is skipped; `results_` has its error. If all fail, `fit` fails. A candidate that fails
    only without some pair of folds is not chosen for these two; its warnings in `results_` say so. If that leaves none
    to choose, or a reward model fails, the estimate is as for ``nested=False``, with a warning.

    If `max_rows` limits the comparison, `estimate_` is of policies trained on that sample, and so rather too low. Raise
    `max_rows` if a candidate needs more rows to do well.

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
    best_policy_: Any
    estimate_: Estimate
    results_: SearchResults
    rule_: str
    chosen_by_fold_: list[str]
    _split_by: tuple[ArrayLike | None, ArrayLike | None]
    _n_later = 0  # rows that the best policy is trained on once more after `fit`, within the time budget

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
        engine: Any = None,
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
        self.engine = engine

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
        action_sets: ActionSets | None = None,
    ) -> Self:
        """Compare the candidates on a log, and train the best of them on all rows.

        Parameters
        ----------
        X, action, reward, propensity, available
            As every policy takes them.
        group : array of shape (n_rows,), optional
            Group of each row, such as a customer number. No candidate is tested on a group that it was trained on, and
            the interval of `estimate_` assumes independent groups, not rows. The selection rule still assumes
            independent rows.
        time : array of shape (n_rows,), optional
            When each decision was taken, as numbers or dates. Candidates are trained on earlier rows and tested on the
            latest 1 / `cv` of them. `estimate_` is then as for ``nested=False``.
        action_sets : ActionSets, optional
            The eligible actions of each row, for candidates over actions with features. Then `predict` and `decide`
            take the eligible actions in the place of `available`.
        """
        self._split_by = (group, time)
        try:
            if action_sets is not None:
                return self._fit_over_sets(X, action, reward, propensity, available, action_sets)
            return super().fit(X, action, reward=reward, propensity=propensity, available=available)
        finally:
            del self._split_by

    def _fit_over_sets(
        self, X: Features, action: Any, reward: Any, propensity: Any, available: Any, action_sets: ActionSets
    ) -> Self:
        if available is not None or self.actions is not None:
            raise ParameterError("action_sets says which actions there are: leave out available and actions.")
        with self._all_or_nothing():
            log = SetLog.judged(X, action, reward, propensity, action_sets, check_range(self.reward_range))
            self.actions_ = log.actions
            self._search(log)
        return self

    @property
    def takes_action_sets(self) -> bool:
        """Whether the search was on a log with action sets: `predict` then needs those of its rows."""
        return bool(getattr(self.__dict__.get("best_policy_"), "takes_action_sets", False))

    def predict(self, X: Features, available: Any = None) -> NDArray[Any]:
        """Return the action for each row.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), CSR matrix, pandas or polars frame
            The contexts.
        available : boolean array or CSR matrix of shape (n_rows, n_actions), or ActionSets, optional
            The actions available in each row, by default all; after a search on a log with action sets, those of these
            rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels, or ids.
        """
        if self.takes_action_sets:
            return np.asarray(self.best_policy_.predict(X, available))
        return super().predict(X, available)

    def decide(self, x: Any, available: Any = None) -> Any:
        """Return the action for one context: the same as `predict` on a table of that one row.

        Parameters
        ----------
        x : sequence of n_features numbers, mapping of feature names to values, or X of one row
            The context. A one-dimensional array is fastest.
        available : labels, truth value per action, or eligible actions, optional
            The available actions, as in `predict`; after a search on a log with action sets, the eligible ones with
            their features.

        Returns
        -------
        int or str
            A label of `actions_`, as a plain Python value.
        """
        if self.takes_action_sets:
            return self.best_policy_.decide(x, available)
        if isinstance(x, np.ndarray) and self.__dict__.get("best_policy_") is not None and self._frame_like is None:
            return self.best_policy_.decide(x, available)
        return super().decide(x, available)

    def plot(self, *, axes: Any = None) -> Any:
        """Draw the values of all candidates that were compared, the chosen one first (extra ``plots``).

        Values are those of `results_`: that of the chosen one is the largest of several, and so rather too high. The
        dashed line is the logging policy.

        Parameters
        ----------
        axes : matplotlib axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        matplotlib axes
            Save it by ``axes.figure.savefig(...)``.
        """
        check_is_fitted(self)
        chosen = [row for row in self.results_ if row["outcome"] == "chosen"]
        others = [row for row in self.results_ if row["outcome"] != "chosen" and row["value"] is not None]
        others.sort(key=lambda row: -row["value"])
        rows = [(row["name"], row["value"], row["low"], row["high"]) for row in [*chosen, *others]]
        axes = new_axes(axes, height=1.3 + 0.4 * len(rows))
        draw_intervals(axes, rows, first_is_ours=True)
        if self.estimate_.baseline is not None:
            axes.axvline(self.estimate_.baseline.value, color=OTHER, linestyle="--", label="as logged")
            axes.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0, frameon=False)
        axes.set_xlabel(f"value on held-out rows, with {100 * self.level:g} % intervals")
        return axes

    def _repr_html_(self) -> str:
        """Return scikit-learn's diagram and, once fitted, the table of candidates."""
        diagram = str(super()._repr_html_())
        results = self.__dict__.get("results_")
        return diagram if results is None else diagram + results._repr_html_()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _fit(self, log: CheckedLog) -> None:
        X, position, reward, propensity, available = log.parts()
        low, high = check_range(self.reward_range)
        if (low, high) != (0, 1):
            reward = np.clip(low + (high - low) * reward, low, high)  # rounding may leave the range
        self._search(Log(X, position, reward, propensity, self.actions_, available, (low, high), is_finite(X)))

    def _search(self, whole: Log) -> None:
        by = getattr(self, "_split_by", (None, None))
        if self.engine is None:
            run_search(self, whole, by, None)
            return
        with connected(self.engine, self.n_jobs) as engine:
            run_search(self, whole, by, partial(run_all, engine))

    def _choose(self, X: Features) -> NDArray[np.intp]:
        return np.asarray(self.best_policy_._positions(X))

    def _choose_within(self, X: Features, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        return np.asarray(self.best_policy_._choose_within(self.best_policy_._checked(X), mask))

    def _learner(self) -> Any:
        """Return the candidate learner that accepts most kinds of X: it decides what X may hold."""
        if isinstance(self.candidates, str) and self.candidates == "default":
            return default_classifier()
        return most_tolerant_learner(read_candidates(self.candidates))

    @property
    def _learner_kind(self) -> str:  # type: ignore[override]
        tags = tags_of(self._learner())
        return "classifier" if tags is None or tags.estimator_type is None else str(tags.estimator_type)
