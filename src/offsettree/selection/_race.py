"""The race, as in successive halving: candidates train on growing parts of a log, and losers are dropped."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from offsettree._messages import Message, Parameter
from offsettree._progress import Progress
from offsettree.actions import PopularAction
from offsettree.base import BasePolicy
from offsettree.reductions import ConstantPolicy, RewardBoosting
from offsettree.selection._evidence import Evidence
from offsettree.selection._nested import run_pair_trials
from offsettree.selection._outcomes import gap_of
from offsettree.selection._rule import BEHIND, Rule, Stack
from offsettree.selection._shared import SharedModel
from offsettree.selection._timing import Budget, now
from offsettree.selection._trials import Log, Part, Scoring, Spread, error_line, folds_of, run_trial, warning_texts
from offsettree.selection.candidates import Candidate, cost_ratio, early_copy, light_copy, n_parts
from offsettree.selection.results import SearchResults

SHORT = 3000  # a log of at most so many rows is raced by folds only
SHARES = (0.1, 0.3)  # of a longer log, to train on before the folds
# Rows of such a part, and rows per action: with fewer, fixed costs prevail, and little is learned of who is behind.
SMALLEST, SMALLEST_PER_ACTION = 1000, 20
ENOUGH = 1500  # held-out rows of folds; further folds are not tried
ENOUGH_IF_RARE = 5000  # the same if few rewards differ from the rest
FIRST_ROWS = 1500  # to train on first if there is a time budget, or a third of that if a fifth of the log is less
HOPELESS = 3.0  # standard errors behind at which a candidate could not have been chosen without any one fold either
OVERDRAFT = 0.05  # of the time budget, rather than to choose a constant where a policy is trained as fast
OVERHEAD = -1  # key, in the time budget, of work done for all candidates together


class Rung(NamedTuple):
    """One step of the race: training rows and test rows, and the fold that the test rows are, if any."""

    part: Part
    fold: int | None = None

    @property
    def n_learned(self) -> int:
        """The number of training rows."""
        return len(self.part[0])


def plan_race(
    fold: NDArray[np.intp],
    random: np.random.RandomState,
    *,
    in_haste: bool,
    is_rare: bool = False,
    n_actions: int = 0,
) -> list[Rung]:
    """Return the rungs of a race, the smallest first.

    With rare rewards (`is_rare`) small parts show nothing, and more folds are tried. Of many actions that are each
    learned about by their own rows (`n_actions`) small parts show little.

    The first rungs of a long log train within the first fold's training rows, so no policy has seen that fold before it
    is tested on it.
    """
    folds = folds_of(fold)
    n_rows, n_folds = len(fold), len(folds)
    order = random.permutation(folds[0][0])
    sizes = [round(share * n_rows) for share in SHARES] if n_rows > SHORT and (in_haste or not is_rare) else []
    first = min(FIRST_ROWS, max(FIRST_ROWS // 3, n_rows // 5)) if in_haste and n_rows > 2 * FIRST_ROWS // 3 else 0
    least = 2 * first if in_haste else max(SMALLEST, SMALLEST_PER_ACTION * n_actions)
    sizes = [first] * bool(first) + [size for size in sizes if size >= least]
    rungs = []
    for size in sizes:
        is_learned = np.zeros(n_rows, dtype=bool)
        is_learned[order[:size]] = True
        rungs.append(Rung((np.flatnonzero(is_learned), np.flatnonzero(~is_learned))))
    n_tried = min(n_folds, -(-(ENOUGH_IF_RARE if is_rare else ENOUGH) * n_folds // n_rows))
    return [*rungs, *(Rung(folds[each], each) for each in range(n_tried))]


def expected_work(n_candidates: int, rungs: Sequence[Rung]) -> float:
    """Return how many rows candidates will train on, as progress shows it: after each rung about half are dropped."""
    return sum(rung.n_learned * max(1.0, n_candidates * 0.5**place) for place, rung in enumerate(rungs))


class Race:
    """The candidates still in the race (`active`), by their place in the list, and their estimated values so far.

    What comes of each is written into `results`. The chosen one is finally trained on all rows, and maybe once more on
    others: `refits` are their numbers. If it `shares` the reward model, that is trained once for all folds; not where
    rows are split by group or time, as its own folds are drawn at random. `spread` has candidates trained elsewhere,
    several at once.
    """

    def __init__(
        self,
        candidates: list[Candidate],
        log: Log,
        scoring: Scoring,
        rule: Rule,
        results: SearchResults,
        budget: Budget,
        refits: tuple[int, int],
        level: float,
        *,
        shares: bool = True,
        spread: Spread | None = None,
    ) -> None:
        self.shares = shares
        self.spread = spread
        self.log, self.scoring, self.rule, self.results, self.budget = log, scoring, rule, results, budget
        self.refits, self.level = refits, level
        self.active: dict[int, BasePolicy] = {place: light_copy(each.policy) for place, each in enumerate(candidates)}
        self._cost_ratios = [
            cost_ratio(each.policy, light) for each, light in zip(candidates, self.active.values(), strict=True)
        ]
        is_constant = np.array([isinstance(each.policy, ConstantPolicy | PopularAction) for each in candidates])
        self.evidence = Evidence(is_constant, log, scoring.method)
        self.dropped: dict[int, BasePolicy] = {}
        self._leader: dict[int, int] = {}  # of each one dropped: the candidate that it was too far behind
        self.folds: list[int] = []
        self._n_folds = 0  # to be compared
        self._tried: dict[int, set[int]] = {place: set() for place in self.active}
        self.shared: SharedModel | None = None
        self.n_learned = 0

    def run(self, rungs: Sequence[Rung], progress: Progress) -> None:
        """Run the rungs until the best is known, or the rungs or the time are used up."""
        self._n_folds = sum(rung.fold is not None for rung in rungs)
        for place, rung in enumerate(rungs):
            if place and not self._make_affordable(rung):
                break
            self.try_all(rung, progress)
            if not self.active:
                break
            is_decided = self._drop_hopeless()
            progress.total = progress.done + expected_work(len(self.active), rungs[place + 1 :])
            if is_decided and self.folds and len(self.log.reward) > SHORT:
                break  # on shorter logs, further folds cost little and improve the estimate

    def try_all(self, rung: Rung, progress: Progress) -> None:
        """Train all active candidates on a rung's training rows and value them on its test rows, unless done before.

        The candidate that is the shared reward model is trained once for all folds, or else in each of them again.
        """
        if rung.fold is not None and self._may_share():
            self._share(progress)
        waiting = {place: each for place, each in self.active.items() if rung.fold not in self._tried[place]}
        favourite = self.scoring.shared(self.active)
        if waiting and favourite is not None and self.shared is None:
            waiting[favourite] = self.active[favourite]  # its predictions value all others
        first = next(iter(waiting), None)
        begun: list[int] = []

        def start(place: int) -> bool:
            # Only in the first rung: the time of later ones is estimated beforehand.
            if self.n_learned == 0 and self.budget.left <= 0 and place != first:
                self.remove(place, "left out", "no time to try it")
                return False
            # Those begun earlier are done, unless they are trained elsewhere, several at once.
            progress.advance(rung.n_learned * bool(begun), f"{self.results[place]['name']}, {rung.n_learned:,} rows")
            begun.append(place)
            return True

        if rung.fold is not None and not self.folds:
            # Policies trained on a small part would favour simple candidates.
            self.evidence.forget()
        self.evidence.favourite = favourite
        if rung.fold is None and self.budget.seconds is None:  # a budget must know the time of the candidate itself
            waiting = {place: early_copy(each) for place, each in waiting.items()}
        started = now()
        known = None if rung.fold is None else self.shared
        trials = run_trial(waiting, self.log, rung.part, self.scoring, start, known, self.spread)
        spent = sum(trial.seconds for trial in trials.values())
        self.budget.note(OVERHEAD, now() - started - spent, rung.n_learned)
        for place, trial in trials.items():
            self._account(place, trial.seconds, trial.warnings)
            if known is None or place != known.place:
                self._note(place, trial.seconds, rung.n_learned)
            self.evidence.add(place, rung.part[1], trial)
            if rung.fold is not None:
                self._tried[place].add(rung.fold)
            if trial.error is not None:
                self.remove(place, "failed", "it failed", trial.error)
        progress.advance(rung.n_learned * bool(begun), "comparing")
        self.n_learned = rung.n_learned
        if rung.fold is not None and rung.fold not in self.folds:
            self.folds.append(rung.fold)

    def _may_share(self) -> bool:
        """Whether the shared reward model may be trained on all rows, and there is time for it."""
        if not self.shares or self.budget.seconds is None:
            return self.shares
        place = self.scoring.shared(self.active)
        n_rows = len(self.log.reward)
        return bool(self.n_learned and place is not None and self._cost(place, n_rows) <= self.budget.left)

    def _share(self, progress: Progress) -> None:
        """Train the shared reward model on all rows, once; each row is predicted by trees that did not see it."""
        while self.shared is None and (place := self.scoring.shared(self.active)) is not None:
            progress.begin(f"{self.results[place]['name']}, {len(self.log.reward):,} rows")
            started = now()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    self.shared = self.log.fit_shared(place, cast(RewardBoosting, self.active[place]))
                except Exception as reason:
                    self.remove(place, "failed", "it failed", error_line(reason))
            seconds = now() - started
            if self.shared is not None:
                self.evidence.is_proven = self.shared.policy.gain_ >= self.rule.proven
                self.shared = self.shared._replace(warnings=tuple(caught))
            self._account(place, seconds, warning_texts(caught))
            self._note(place, seconds, len(self.log.reward))

    def remove(self, place: int, outcome: str, reason: str, error: str | None = None) -> None:
        """Take a candidate out of the race, and note why."""
        self.active.pop(place, None)
        if self.results[place]["outcome"] != "chosen":  # the chosen one may still fail in the nested estimate
            self.results[place].update(outcome=outcome, reason=reason, error=error)

    def remove_unmatched(self) -> None:
        """Remove candidates that match no row, if the estimator has no reward model."""
        for place in list(self.active):
            if self.scoring.method in ("snips", "ips") and not self.evidence.weight[place].any():
                text = "in none of the rows was an action logged that it would take"
                self.remove(place, "failed", "it cannot be valued", text)

    def describe(self, places: Sequence[int]) -> None:
        """Write the values of some active candidates into the table."""
        gaps = self.evidence.stack(list(self.active)).gaps(self.evidence.counts)
        gap = dict(zip(self.active, zip(gaps.behind.tolist(), gaps.stderr.tolist(), strict=True), strict=True))
        for place, interval in zip(places, self.evidence.intervals(places, self.level), strict=True):
            self.results[place].update(vars(interval), behind=gap[place][0], behind_stderr=gap[place][1])

    def choose(self) -> int:
        """Return the candidate chosen among those that there is time to train on all rows."""
        self._remove_unaffordable()
        places = list(self.active)
        return places[self.rule.choose(self.evidence.stack(places), self.evidence.counts)]

    def reinstate_best(self) -> bool:
        """Return whether a candidate is left, after all others failed; the best of the dropped ones is reinstated."""
        if self.dropped:
            place = max(self.dropped, key=lambda each: self.results[each]["value"])
            self.active[place] = self.dropped.pop(place)
            self.results[place].update(outcome="compared", reason="")
        return bool(self.active)

    def complete(self, fold: NDArray[np.intp], progress: Progress) -> bool:
        """Train all candidates that might have been chosen without every fold; return whether there was time for it.

        Candidates were dropped by their values in all folds. A choice that must not depend on a fold needs them back.
        """
        if self.shared is not None and len(self.log.reward) <= SHORT:
            # Its early stopping uses the rows that it is tested on: on a short log that looks too good.
            self._tried[self.shared.place].clear()
            self.shares, self.shared = False, None
        row = self.results
        back = [each for each in self.dropped if row[each]["behind"] <= HOPELESS * row[each]["behind_stderr"]]
        rest = [Rung(part, each) for each, part in enumerate(folds_of(fold))]
        n_learned = sum(rung.n_learned for rung in rest)
        places = [place for place in (*self.active, *back, OVERHEAD) if self._cost(place, len(fold)) > 0]
        needed = sum(self._expected(place, rung.n_learned) for place in places for rung in rest)
        if needed > self.budget.left:
            return False
        self.active = dict(sorted((self.active | {place: self.dropped[place] for place in back}).items()))
        progress.total = progress.done + len(self.active) * n_learned
        for rung in rest:
            self.try_all(rung, progress)
        return True

    def choice_terms(self, fold: NDArray[np.intp], n_jobs: int | None, progress: Progress) -> list[Stack] | str:
        """Return the terms to choose by for each fold, of policies that never saw it; or why there are none."""
        n_folds = int(fold.max()) + 1
        n_pairs = n_folds * (n_folds - 1) // 2
        n_learned = len(fold) * (n_folds - 2) // n_folds
        if n_pairs * sum(self._expected(each, n_learned) for each in (*self.active, OVERHEAD)) > self.budget.left:
            return Message(Parameter("time_budget", self.budget.seconds), " s was used up")
        progress.begin(f"{len(self.active)} candidates without {n_pairs} pairs of folds, for the estimate")
        is_constant = self.evidence.is_constant[list(self.active)]
        try:
            found = run_pair_trials(self.active, is_constant, self.log, fold, self.scoring, n_jobs, self.spread)
        except Exception as error:
            return f"a reward model failed without a pair of folds ({error_line(error)})"
        for place in self.active:
            self._account(place, found.seconds[place], found.warnings[place])
        # The favourite's gain was measured on all rows: a choice that must not depend on a fold cannot use it.
        stacks = [replace(self.evidence.mark(each, list(self.active)), is_proven=False) for each in found.stacks]
        return stacks or "no candidate could be learned without some pair of folds"

    def _account(self, place: int, seconds: float, texts: Sequence[str]) -> None:
        row = self.results[place]
        row["seconds"] = (row["seconds"] or 0.0) + seconds
        row["warnings"] = tuple(dict.fromkeys((*row["warnings"], *texts)))

    def _cost(self, place: int, n_rows: int) -> float:
        """Return the expected seconds of training; 0 if the candidate is already trained on all rows."""
        is_known = self.shared is not None and place == self.shared.place and n_rows <= len(self.log.reward)
        return 0.0 if is_known else self._expected(place, n_rows)

    def _expected(self, place: int, n_rows: int) -> float:
        return self.budget.expected(place, n_rows) * self._n_parts(place, n_rows)

    def _note(self, place: int, seconds: float, n_rows: int) -> None:
        self.budget.note(place, seconds / self._n_parts(place, n_rows), n_rows)

    def _n_parts(self, place: int, n_rows: int) -> int:
        """Return in how many parts a candidate trains: their number may depend on that of the rows."""
        policy = self.active.get(place, self.dropped.get(place))
        return n_parts(policy, n_rows)

    def _cost_of_all(self, place: int) -> float:
        """Return the expected seconds of the last trainings of the full candidate, not of its light copy."""
        n_rows, n_later = self.refits
        later = self._expected(place, n_later) if n_later else 0.0
        return self._cost_ratios[place] * (self._cost(place, n_rows) + later)

    def _drop_hopeless(self) -> bool:
        """Drop candidates that are far behind; return whether only one has a chance.

        Constants stay: they cost nothing, and others are compared with them. So does the shared reward model.
        """
        places = list(self.active)
        shared = self.scoring.shared(self.active)
        must_lead = bool(self.folds) and shared is not None
        beyond = -self.rule.lead_to_stay(len(self.folds), self._n_folds) if must_lead else BEHIND
        far_behind = self.rule.far_behind(self.evidence.stack(places), self.evidence.counts, beyond)
        leader = places[self.rule.choose(self.evidence.stack(places), self.evidence.counts)]
        hopeless = [places[i] for i in np.flatnonzero(far_behind)]
        going = [place for place in hopeless if place != shared and not self.evidence.is_constant[place]]
        self.describe(going)
        for place in going:
            self.dropped[place], self._leader[place] = self.active[place], leader
            gap = gap_of(self.results[place], "highest value, but barely")
            why = "not clearly ahead" if must_lead else "too far behind"
            self.remove(place, "dropped", f"{why} after {self.n_learned:,} rows ({gap})")
        return len(hopeless) == len(places) - 1

    def _make_affordable(self, rung: Rung) -> bool:
        """Remove the worst candidates until there is time to train the others on a rung; return whether there is.

        Time is reserved for the final training of the chosen candidate on all rows.
        """
        self._remove_unaffordable()
        value = self.evidence.stack(list(self.active)).gaps(self.evidence.counts).value
        worst_first = [list(self.active)[each] for each in np.argsort(value, kind="stable")]
        for place in worst_first:
            last = max(self._cost_of_all(each) for each in self.active)
            if sum(self._cost(each, rung.n_learned) for each in (*self.active, OVERHEAD)) + last <= self.budget.left:
                return True
            if len(self.active) <= 2:
                break
            if place != self.scoring.shared(self.active) and not self.evidence.is_constant[place]:
                self.describe([place])
                self.remove(place, "left out", f"no time to learn from more than {self.n_learned:,} rows")
        return False

    def _remove_unaffordable(self) -> None:
        """Remove candidates that there is no time to train on all rows; the fastest one stays in any case.

        Those that were dropped because they were behind one of these are back, if there is time to train them.
        """
        seconds = {place: self._cost_of_all(place) for place in self.active}
        left = max(self.budget.left, OVERDRAFT * (self.budget.seconds or 0.0))
        going = [place for place, each in seconds.items() if each > max(left, min(seconds.values()))]
        self.describe(going)
        for place in going:
            self.remove(place, "left out", f"learning it from all rows would take about {seconds[place]:.2g} s")
        gone = set(going)
        while behind := [place for place in self.dropped if self._leader.get(place) in gone]:
            for place in behind:
                del self._leader[place]
                if self._cost_of_all(place) > left:
                    gone.add(place)
                    continue
                self.active[place] = self.dropped.pop(place)
                self.results[place].update(outcome="compared", reason="")
        self.active = dict(sorted(self.active.items()))
