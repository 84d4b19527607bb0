"""What is learned of a raw column from the tables of a log, one after another, in bounded memory."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from offsettree.encoding.raw_columns import Column, Dates, Numbers, Texts

MOST_WORDS = 100_000  # that are counted of one column; beyond, the rarest half is forgotten
PIECE = 1 << 16
FEWEST_ROWS_OF_ID = 50  # below, that all values differ says little
NAME_OF_ID = re.compile(r"(^|[^a-zA-Z])(id|uuid|guid|key|index|rownum)$|[a-z](Id|ID|Uuid|UUID|Key)$", re.ASCII)
NAME_OF_PERSON = re.compile(
    r"(^|[^a-z])(u?u?id|guid)$|[a-z]Id$|[a-z](ID|UUID)$|"
    r"(customer|client|user|member|visitor|person|patient|subscriber|account|household|session|visit|cookie|device|order|"
    r"transaction|invoice|request|event|message|mail|email)[^a-z]?(id|no|nr|num|number|key|code|hash)$",
    re.ASCII,
)
MOST_ROWS_OF_PERSON = 10  # on average, of what is called an identifier: a shop or a country has more
FEWEST_PERSONS = 50
FEWEST_ROWS_OF_DRAWN_ID = 1000
# What is added up where summaries are merged.
ADDED = ("n_rows", "n_missing", "n_numbers", "n_dates", "n_texts", "n_finite", "total", "squares", "words_forgotten")


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
    squares: float = 0.0
    lowest: float = np.inf
    highest: float = -np.inf
    all_whole: bool = True
    rising: bool = True
    falling: bool = True
    first: float | None = None
    last: float | None = None
    words: Counter[str] = field(default_factory=Counter)
    words_forgotten: int = 0
    numbers: Counter[float] = field(default_factory=Counter)
    n_compared: int = 0  # numbers that were there while new ones were still noticed
    has_hours: bool = False
    first_day: np.datetime64 | None = None
    last_day: np.datetime64 | None = None
    counts_numbers: bool = True

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
            self.squares += float(np.square(np.clip(finite, -1e150, 1e150)).sum())
            self.lowest = min(self.lowest, float(finite.min()))
            self.highest = max(self.highest, float(finite.max()))
        self.all_whole = self.all_whole and bool((np.floor(known) == known).all())
        self.first = float(known[0]) if self.first is None else self.first
        followed = known if self.last is None else np.append(self.last, known)
        self.rising = self.rising and bool((followed[1:] > followed[:-1]).all())
        self.falling = self.falling and bool((followed[1:] < followed[:-1]).all())
        self.last = float(known[-1])
        # By pieces: a large table is counted as the same rows in small ones are.
        for start in range(0, len(known), PIECE):
            full = self.is_full
            if not self.counts_numbers or (full and not self.n_texts):
                return  # too many to be words, should there be words further on
            piece = known[start : start + PIECE]
            found, counts = np.unique(piece, return_counts=True)
            self.n_compared += 0 if full else len(piece)
            for number, count in zip(found.tolist(), counts.tolist(), strict=True):
                if not full or number in self.numbers:
                    self.numbers[number] += count

    @property
    def is_full(self) -> bool:
        """Whether there are so many different numbers that new ones are not noticed any more."""
        return len(self.numbers) > MOST_WORDS

    def _add_texts(self, column: Texts) -> None:
        self.n_missing += int((column.codes < 0).sum())
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.words))
        self.n_texts += int(counts.sum())
        for word, count in zip(column.words, counts.tolist(), strict=True):
            if count:
                self.words[word] += count
        self._forget()

    def _forget(self) -> None:
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
        self._widen(days.min(), days.max())

    def _widen(self, low: np.datetime64, high: np.datetime64) -> None:
        self.first_day = low if self.first_day is None else min(self.first_day, low)
        self.last_day = high if self.last_day is None else max(self.last_day, high)

    def merge(self, later: Summary) -> None:
        """Count the rows of another summary, which come after those of this one."""
        for name in ADDED:
            setattr(self, name, getattr(self, name) + getattr(later, name))
        self.lowest, self.highest = min(self.lowest, later.lowest), max(self.highest, later.highest)
        self.all_whole = self.all_whole and later.all_whole
        if later.first is not None:
            between = 0.0 if self.last is None else later.first - self.last
            self.rising = self.rising and later.rising and (self.last is None or between > 0)
            self.falling = self.falling and later.falling and (self.last is None or between < 0)
            self.first = later.first if self.first is None else self.first
            self.last = later.last
        if not self.is_full:
            self.n_compared += later.n_compared
            self.numbers.update(later.numbers)
        elif self.n_texts:
            self.numbers.update({number: n for number, n in later.numbers.items() if number in self.numbers})
        self.words.update(later.words)
        self._forget()
        self.has_hours = self.has_hours or later.has_hours
        if later.first_day is not None and later.last_day is not None:
            self._widen(later.first_day, later.last_day)

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
            return len(self.numbers) == 1
        return len(self.words) == 1 and self.n_texts == n_known

    @property
    def is_id(self) -> bool:
        """Whether values tell rows or customers apart, and nothing that could be learned from."""
        n_known = self.n_rows - self.n_missing
        if n_known < FEWEST_ROWS_OF_ID:
            return False
        called_id = NAME_OF_PERSON.search(self.name) or NAME_OF_PERSON.search(self.name.lower())
        if self.n_texts == n_known:
            n_words = len(self.words) + self.words_forgotten
            return n_words > n_known / 2 or bool(called_id and _are_persons(n_words, n_known))
        if self.n_numbers < n_known or not self.all_whole:
            return False
        if self.rising or self.falling or (called_id and _are_persons(len(self.numbers), self.n_compared)):
            return True
        named_so = NAME_OF_ID.search(self.name) is not None
        return (named_so and len(self.numbers) > min(n_known / 2, MOST_WORDS)) or self._is_drawn

    @property
    def _is_drawn(self) -> bool:
        """Whether whole numbers are spread as those drawn from a long list: evenly, hardly one of them twice.

        Amounts and counts that rarely repeat are crowded somewhere, and are kept.
        """
        width = self.highest - self.lowest
        if self.n_finite < max(self.n_numbers, FEWEST_ROWS_OF_DRAWN_ID) or width < 10 * self.n_compared:
            return False
        spread = max(0.0, self.squares / self.n_finite - self.mean**2) ** 0.5
        evenly = abs(spread / width * 12**0.5 - 1) < 0.05 and abs((self.mean - self.lowest) / width - 0.5) < 0.05
        return evenly and len(self.numbers) > 0.9 * self.n_compared


def _are_persons(n_different: int, n_rows: int) -> bool:
    return n_different >= max(FEWEST_PERSONS, n_rows / MOST_ROWS_OF_PERSON)
