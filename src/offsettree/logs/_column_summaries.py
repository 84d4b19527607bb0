"""What is learned of a raw column from the tables of a log, one after another, in bounded memory."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from offsettree.logs._raw_columns import Column, Dates, Numbers, Texts
from offsettree.logs._spellings import as_text

__all__ = ["Summary"]

MOST_WORDS = 100_000  # that are counted of one column; beyond, the rarest half is forgotten
FEWEST_ROWS_OF_ID = 50  # below, that all values differ says little
NAME_OF_ID = re.compile(r"(^|[^a-zA-Z])(id|uuid|guid|key|index|rownum)$|[a-z](Id|ID|Uuid|UUID|Key)$", re.ASCII)


@dataclass
class Summary:
    """Counts of one column: enough to tell of what kind it is, and how to encode it."""

    name: str
    n_rows: int = 0
    n_missing: int = 0
    n_numbers: int = 0
    n_dates: int = 0
    n_texts: int = 0
    n_finite: int = 0
    total: float = 0.0
    all_whole: bool = True
    rising: bool = True
    falling: bool = True
    last: float | None = None
    words: Counter[str] = field(default_factory=Counter)
    words_forgotten: int = 0
    numbers_seen: set[float] = field(default_factory=set)
    has_hours: bool = False
    first_day: np.datetime64 | None = None
    last_day: np.datetime64 | None = None

    def add(self, column: Column | None, n_rows: int) -> None:
        """Count one more table's column, or its absence."""
        self.n_rows += n_rows
        if column is None:
            self.n_missing += n_rows
        elif isinstance(column, Numbers):
            self._add_numbers(column)
        elif isinstance(column, Texts):
            self._add_texts(column)
        else:
            self._add_dates(column)

    def _add_numbers(self, column: Numbers) -> None:
        known = column.values[~np.isnan(column.values)]
        self.n_missing += len(column.values) - len(known)
        self.n_numbers += len(known)
        if len(known) == 0:
            return
        finite = known[np.isfinite(known)]
        if len(finite):
            self.n_finite += len(finite)
            self.total += float(finite.sum())
        self.all_whole = self.all_whole and bool((np.floor(known) == known).all())
        self._follow(known)
        if len(self.numbers_seen) <= MOST_WORDS:
            self.numbers_seen.update(np.unique(known)[: MOST_WORDS + 1].tolist())

    def _follow(self, known: NDArray[np.float64]) -> None:
        followed = known if self.last is None else np.append(self.last, known)
        self.rising = self.rising and bool((followed[1:] > followed[:-1]).all())
        self.falling = self.falling and bool((followed[1:] < followed[:-1]).all())
        self.last = float(known[-1])

    def _add_texts(self, column: Texts) -> None:
        self.n_missing += int((column.codes < 0).sum())
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.words))
        self.n_texts += int(counts.sum())
        for word, count in zip(column.words, counts.tolist(), strict=True):
            if count:
                self.words[word] += count
        if len(self.words) > MOST_WORDS:
            kept = Counter(dict(self.words.most_common(MOST_WORDS // 2)))
            self.words_forgotten += len(self.words) - len(kept)
            self.words = kept

    def _add_dates(self, column: Dates) -> None:
        known = column.values[~np.isnat(column.values)]
        self.n_missing += len(column.values) - len(known)
        self.n_dates += len(known)
        if len(known) == 0:
            return
        days = known.astype("datetime64[D]")
        self.has_hours = self.has_hours or bool((known != days).any())
        low, high = days.min(), days.max()
        self.first_day = low if self.first_day is None else min(self.first_day, low)
        self.last_day = high if self.last_day is None else max(self.last_day, high)

    @property
    def mean(self) -> float:
        """The mean of the finite numbers."""
        return self.total / self.n_finite if self.n_finite else 0.0

    @property
    def is_constant(self) -> bool:
        """Whether every row has the same, or none has anything."""
        n_known = self.n_rows - self.n_missing
        if n_known == 0:
            return True
        if self.n_missing:
            return False
        if self.n_dates:
            return False
        if self.n_numbers == n_known:
            return len(self.numbers_seen) == 1
        return len(self.words) == 1 and self.n_texts == n_known

    @property
    def is_id(self) -> bool:
        """Whether values tell rows or customers apart, and nothing that could be learned from."""
        n_known = self.n_rows - self.n_missing
        if n_known < FEWEST_ROWS_OF_ID:
            return False
        if self.n_texts == n_known:
            return len(self.words) + self.words_forgotten > n_known / 2
        if self.n_numbers < n_known or not self.all_whole:
            return False
        named_so = NAME_OF_ID.search(self.name) is not None
        return self.rising or self.falling or (named_so and len(self.numbers_seen) > min(n_known / 2, MOST_WORDS))

    def all_words(self) -> Counter[str]:
        """Return how often each word is there; numbers of a column that has both are words too."""
        words = Counter(self.words)
        words.update({as_text(number): 1 for number in self.numbers_seen})
        return words
