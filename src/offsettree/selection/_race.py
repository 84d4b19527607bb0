"""The race: candidates learn from ever larger parts of a log, and those that cannot win any more leave it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from offsettree._progress import Progress
from offsettree.base import BasePolicy
from offsettree.reductions import ConstantPolicy, RewardBoosting
from offsettree.selection._evidence import Evidence
from offsettree.selection._nested import try_without_pairs
from offsettree.selection._rule import Rule, Stack
from offsettree.selection._shared import SharedModel
from offsettree.selection._timing import Budget, now
from offsettree.selection._trials import Log, Part, Scoring, folds_of, hold_trial, said, texts_of
from offsettree.selection.candidates import Candidate, lighter, times_lighter
from offsettree.selection.results import SearchResults

__all__ = ["Race", "Rung", "plan_race"]

SHORT = 3000  # rows up to which only folds are learned from
SHARES = (0.1, 0.3)  # of a longer log, to learn from before most of it
ENOUGH = 1500  # rows decided in by policies that learned from most of the log: more folds than that takes are not tried
ENOUGH_IF_RARE = 5000  # where few rewards differ from the rest
FIRST_ROWS = 500  # to learn from first where there is a time budget
# Standard errors behind the one that would be chosen, at which a candidate is dropped: when it has learned from a small
# part, and may still catch up, and when it has learned from most rows.
BEHIND_EARLY, BEHIND = 2.0, 1.0
BEHIND_HOME = -0.3  # where one must be clearly ahead of a favourite to be chosen: it must be on its way there
HOPELESS = 3.0  # standard errors at which it could not have been chosen without any one fold either
OVERHEAD = -1  # the place, in accounts of time, of what is done for all candidates together


class Rung(NamedTuple):
    """Rows to learn from and rows to decide in; which fold the latter are, if they are one."""

    part: Part
    fold: int | None = None

    @property
    def n_learned(self) -> int:
        """How many rows are learned from."""
        return len(self.part[0])


def plan_race(
    fold: NDArray[np.intp], random: np.random.RandomState, *, in_haste: bool, is_rare: bool = False
) -> list[Rung]:
    """Return the parts of a race, the smallest first; more rows are decided in where few earn most.

    The parts of a long log are within the first fold's rows to learn from: no policy of the race has seen that fold
    when it is decided in.
    """
    folds = folds_of(fold)
    n_rows, n_folds = len(fold), len(folds)
    order = random.permutation(folds[0][0])
    sizes = [round(share * n_rows) for share in SHARES] if n_rows > SHORT else []
    if in_haste and min(sizes, default=n_rows // 2) > FIRST_ROWS:
        sizes.insert(0, FIRST_ROWS)
    rungs = []
    for size in sizes:
        is_learned = np.zeros(n_rows, dtype=bool)
        is_learned[order[:size]] = True
        rungs.append(Rung((np.flatnonzero(is_learned), np.flatnonzero(~is_learned))))
    n_tried = min(n_folds, -(-(ENOUGH_IF_RARE if is_rare else ENOUGH) * n_folds // n_rows))
    return [*rungs, *(Rung(folds[each], each) for each in range(n_tried))]


class Race:
    """Who is still in, by place in the list of candidates, and what is known of all of them.

    Parameters
    ----------
    candidates : list of Candidate
        Those that start.
    log : Log
        The rows to compare on.
    scoring, rule
        How decisions are valued, and who is chosen by that.
    results : SearchResults
        The table to write into.
    budget : Budget
        The time there is.
    n_refitted : int
        From how many rows the one chosen is to be learned in the end.
    level : float
        Of the intervals in the table.
    shares : bool
        Whether the model that values all candidates is learned once for all folds: not where rows of a group, or later
        ones, must not be known, for its own folds are drawn at random.
    """

    def __init__(
        self,
        candidates: list[Candidate],
        log: Log,
        scoring: Scoring,
        rule: Rule,
        results: SearchResults,
        budget: Budget,
        n_refitted: int,
        level: float,
        *,
        shares: bool = True,
    ) -> None:
        self.shares = shares
        self.log, self.scoring, self.rule, self.results, self.budget = log, scoring, rule, results, budget
        self.n_refitted, self.level = n_refitted, level
        self.still_in: dict[int, BasePolicy] = {place: lighter(each.policy) for place, each in enumerate(candidates)}
        self._times_lighter = [
            times_lighter(each.policy, light) for each, light in zip(candidates, self.still_in.values(), strict=True)
        ]
        is_constant = np.array([isinstance(each.policy, ConstantPolicy) for each in candidates])
        self.evidence = Evidence(is_constant, log, scoring.method)
        self.dropped: dict[int, BasePolicy] = {}
        self.folds: list[int] = []
        self._tried: dict[int, set[int]] = {place: set() for place in self.still_in}
        self.shared: SharedModel | None = None
        self.n_learned = 0

    def run(self, rungs: Sequence[Rung], progress: Progress) -> None:
        """Go from part to part until the best is known, or the parts or the time are used up."""
        for place, rung in enumerate(rungs):
            if place and not self._make_affordable(rung):
                break
            self.try_all(rung, progress)
            if not self.still_in:
                break
            is_decided = self._drop_hopeless()
            progress.total = progress.done + len(self.still_in) * sum(each.n_learned for each in rungs[place + 1 :])
            if is_decided and self.folds and len(self.log.reward) > SHORT:
                break  # shorter ones go on: it costs little, and makes the estimate better

    def try_all(self, rung: Rung, progress: Progress) -> None:
        """Let all that are still in learn from one part and decide in the other, unless they have done so before.

        The one whose predictions value all others learns for all folds at once, or in each of them again.
        """
        if rung.fold is not None and self._may_share():
            self._share(progress)
        waiting = {place: each for place, each in self.still_in.items() if rung.fold not in self._tried[place]}
        favourite = self.scoring.shared(self.still_in)
        if waiting and favourite is not None and self.shared is None:
            waiting[favourite] = self.still_in[favourite]  # whose predictions value all others
        first = next(iter(waiting), None)

        def start(place: int) -> bool:
            # Only in the first part: of later ones it is known beforehand what they take.
            if self.n_learned == 0 and self.budget.left <= 0 and place != first:
                self.leave(place, "left out", "no time to try it")
                return False
            progress.begin(f"{self.results[place]['name']}, {rung.n_learned:,} rows")
            return True

        if rung.fold is not None and not self.folds:
            # What policies decided that had learned from a small part would speak for the simple ones.
            self.evidence.forget()
        self.evidence.home = favourite
        started = now()
        known = None if rung.fold is None else self.shared
        trials = hold_trial(waiting, self.log, rung.part, self.scoring, start, known)
        spent = sum(trial.seconds for trial in trials.values())
        self.budget.note(OVERHEAD, now() - started - spent, rung.n_learned)
        for place, trial in trials.items():
            self._account(place, trial.seconds, trial.warnings)
            if known is None or place != known.place:
                self.budget.note(place, trial.seconds, rung.n_learned)
            progress.advance(rung.n_learned, self.results[place]["name"])
            self.evidence.add(place, rung.part[1], trial)
            if rung.fold is not None:
                self._tried[place].add(rung.fold)
            if trial.error is not None:
                self.leave(place, "failed", "it failed", trial.error)
        self.n_learned = rung.n_learned
        if rung.fold is not None and rung.fold not in self.folds:
            self.folds.append(rung.fold)

    def _may_share(self) -> bool:
        """Tell whether the model that values all may be learned from all rows, and if there is time for it."""
        if not self.shares or self.budget.seconds is None:
            return self.shares
        place = self.scoring.shared(self.still_in)
        n_rows = len(self.log.reward)
        return bool(self.n_learned and place is not None and self._cost(place, n_rows) <= self.budget.left)

    def _share(self, progress: Progress) -> None:
        """Learn the model that values all candidates from all rows, once; each row is judged by a part without it."""
        while self.shared is None and (place := self.scoring.shared(self.still_in)) is not None:
            progress.begin(f"{self.results[place]['name']}, {len(self.log.reward):,} rows")
            started = now()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    self.shared = self.log.share(place, cast(RewardBoosting, self.still_in[place]))
                    self.evidence.is_sure = self.shared.policy.gain_ >= self.rule.sure
                except Exception as reason:
                    self.leave(place, "failed", "it failed", said(reason))
            seconds = now() - started
            if self.shared is not None:
                self.shared = self.shared._replace(warnings=tuple(caught))
            self._account(place, seconds, texts_of(caught))
            self.budget.note(place, seconds, len(self.log.reward))

    def leave(self, place: int, outcome: str, reason: str, error: str | None = None) -> None:
        """Note why a candidate is out of the race."""
        self.still_in.pop(place, None)
        if self.results[place]["outcome"] != "chosen":  # which may fail without a fold all the same
            self.results[place].update(outcome=outcome, reason=reason, error=error)

    def leave_unmatched(self) -> None:
        """Let those go of which rows alone can tell nothing."""
        for place in list(self.still_in):
            if self.scoring.method in ("snips", "ips") and not self.evidence.weight[place].any():
                text = "in none of the rows was an action logged that it would take"
                self.leave(place, "failed", "it cannot be valued", text)

    def describe(self, places: Sequence[int]) -> None:
        """Write what some of those still in are worth into their rows of the table."""
        gaps = self.evidence.stack(list(self.still_in)).gaps(self.evidence.counts)
        gap = dict(zip(self.still_in, zip(gaps.behind.tolist(), gaps.stderr.tolist(), strict=True), strict=True))
        for place, interval in zip(places, self.evidence.intervals(places, self.level), strict=True):
            self.results[place].update(vars(interval), behind=gap[place][0], behind_stderr=gap[place][1])

    def choose(self) -> int:
        """Return the one to take; where time is short, of those that can still be learned from all rows."""
        self._leave_unaffordable()
        places = list(self.still_in)
        return places[self.rule.choose(self.evidence.stack(places), self.evidence.counts)]

    def bring_back(self) -> bool:
        """Let the best of those that were dropped in again, for all others have failed; tell whether there is one."""
        if self.dropped:
            place = max(self.dropped, key=lambda each: self.results[each]["value"])
            self.still_in[place] = self.dropped.pop(place)
            self.results[place].update(outcome="compared", reason="")
        return bool(self.still_in)

    def complete(self, fold: NDArray[np.intp], progress: Progress) -> bool:
        """Let all that might have been chosen learn without every fold; tell whether there was time for it.

        They were dropped by what was earned in all folds: a choice that is not to know a fold must have them back.
        """
        if self.shared is not None and len(self.log.reward) <= SHORT:
            # Its folds stop growing by the rows they are judged in: on a short log it looks too good by that.
            self._tried[self.shared.place].clear()
            self.shares, self.shared = False, None
        row = self.results
        back = [each for each in self.dropped if row[each]["behind"] <= HOPELESS * row[each]["behind_stderr"]]
        rest = [Rung(part, each) for each, part in enumerate(folds_of(fold))]
        n_learned = sum(rung.n_learned for rung in rest)
        places = [place for place in (*self.still_in, *back, OVERHEAD) if self._cost(place, len(fold)) > 0]
        needed = sum(self.budget.expected(place, n_learned) for place in places)
        if needed > self.budget.left:
            return False
        self.still_in = dict(sorted((self.still_in | {place: self.dropped[place] for place in back}).items()))
        progress.total = progress.done + len(self.still_in) * n_learned
        for rung in rest:
            self.try_all(rung, progress)
        return True

    def choosers(self, fold: NDArray[np.intp], n_jobs: int | None, progress: Progress) -> list[Stack] | str:
        """Return the terms to choose by without each fold, of policies that never saw it; or why there are none."""
        n_folds = int(fold.max()) + 1
        n_pairs = n_folds * (n_folds - 1) // 2
        n_learned = len(fold) * (n_folds - 2) // n_folds
        if (
            n_pairs * sum(self.budget.expected(each, n_learned) for each in (*self.still_in, OVERHEAD))
            > self.budget.left
        ):
            return f"time_budget={self.budget.seconds:g} s was used up"
        progress.begin(f"{len(self.still_in)} candidates without {n_pairs} pairs of folds, for the estimate")
        is_constant = self.evidence.is_constant[list(self.still_in)]
        try:
            found = try_without_pairs(self.still_in, is_constant, self.log, fold, self.scoring, n_jobs)
        except Exception as error:
            return f"a reward model failed without a pair of folds ({said(error)})"
        for place in self.still_in:
            self._account(place, found.seconds[place], found.warnings[place])
        # What the favourite predicts was learned from all rows: a choice that is not to know a fold cannot rest on it.
        stacks = [replace(self.evidence.mark(each, list(self.still_in)), is_sure=False) for each in found.stacks]
        return stacks or "no candidate could be learned without some pair of folds"

    def _account(self, place: int, seconds: float, texts: Sequence[str]) -> None:
        row = self.results[place]
        row["seconds"] = (row["seconds"] or 0.0) + seconds
        row["warnings"] = tuple(dict.fromkeys((*row["warnings"], *texts)))

    def _cost(self, place: int, n_rows: int) -> float:
        """Return the seconds that a candidate will take to learn; none, if it has learned from all rows before."""
        is_known = self.shared is not None and place == self.shared.place and n_rows <= len(self.log.reward)
        return 0.0 if is_known else self.budget.expected(place, n_rows)

    def _cost_of_all(self, place: int) -> float:
        """Return the seconds that the whole candidate will take to learn from all rows."""
        return self._times_lighter[place] * self._cost(place, self.n_refitted)

    def _drop_hopeless(self) -> bool:
        """Let those go that cannot win any more; tell whether only one has a chance.

        Constants stay, for they cost nothing and all must be better than they are; so does the candidate whose
        predictions value all others.
        """
        places = list(self.still_in)
        shared = self.scoring.shared(self.still_in)
        beyond = BEHIND_EARLY if not self.folds else BEHIND if shared is None else BEHIND_HOME
        are_hopeless = self.rule.are_hopeless(self.evidence.stack(places), self.evidence.counts, beyond)
        hopeless = [places[i] for i in np.flatnonzero(are_hopeless)]
        going = [place for place in hopeless if place != shared and not self.evidence.is_constant[place]]
        self.describe(going)
        for place in going:
            behind, stderr = (self.results[place][key] for key in ("behind", "behind_stderr"))
            self.dropped[place] = self.still_in[place]
            self.leave(place, "dropped", f"behind by {behind:.3g} +- {stderr:.2g} after {self.n_learned:,} rows")
        return len(hopeless) == len(places) - 1

    def _make_affordable(self, rung: Rung) -> bool:
        """Let the worst go until there is time for the others to learn from a part; tell whether there is.

        The one chosen must then be learned once more, from all rows.
        """
        self._leave_unaffordable()
        value = self.evidence.stack(list(self.still_in)).gaps(self.evidence.counts).value
        worst_first = [list(self.still_in)[each] for each in np.argsort(value, kind="stable")]
        for place in worst_first:
            last = max(self._cost_of_all(each) for each in self.still_in)
            if sum(self._cost(each, rung.n_learned) for each in (*self.still_in, OVERHEAD)) + last <= self.budget.left:
                return True
            if len(self.still_in) <= 2:
                break
            if place != self.scoring.shared(self.still_in) and not self.evidence.is_constant[place]:
                self.describe([place])
                self.leave(place, "left out", f"no time to learn from more than {self.n_learned:,} rows")
        return False

    def _leave_unaffordable(self) -> None:
        """Let those go that there is no time left to learn from all rows; the fastest stays in any case."""
        seconds = {place: self._cost_of_all(place) for place in self.still_in}
        going = [place for place, each in seconds.items() if each > max(self.budget.left, min(seconds.values()))]
        self.describe(going)
        for place in going:
            self.leave(place, "left out", f"learning it from all rows would take about {seconds[place]:.2g} s")
