"""Contexts and actions as tables of numbers, for learners that take tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, count_rows, is_frame, is_sparse, take_rows
from offsettree._sparse import as_csr
from offsettree.actions.eligible import labels_in, labels_of
from offsettree.encoding import TableEncoder
from offsettree.encoding.plain_rows import PlainRows, plain_rows
from offsettree.exceptions import ActionError, FeatureError
from offsettree.logs import ActionSets
from offsettree.models import Contents, Part, must_hold, refusing

MOST_COLUMNS = 1024
BLOCK_NUMBERS = 1 << 22
MOST_PLAIN = 1000  # actions; more are a table
LARGEST = 1e100  # of a feature, in standard deviations
Matrix = NDArray[np.float64]


class TablePart:
    """One of the tables of a log: numbers as they are, or a frame by the encoding learned from it."""

    kind: ClassVar[str] = "features"

    def __init__(self, what: str, n_columns: int, encoder: TableEncoder | None = None) -> None:
        self.what, self.n_columns, self.encoder = what, n_columns, encoder

    @classmethod
    def learn(cls, table: Features, what: str) -> Self:
        """Learn how a table becomes numbers."""
        encoder = TableEncoder.learn([table]) if is_frame(table) else None
        n_columns = int(np.shape(table)[1]) if encoder is None else len(encoder.names_out)
        if n_columns > MOST_COLUMNS:
            raise FeatureError(
                f"{what} must have at most {MOST_COLUMNS:,} features here; it has {n_columns:,}. Use "
                "OnlineActionRegression, which takes any number."
            )
        return cls(what, n_columns, encoder)

    @property
    def names(self) -> list[str] | None:
        """The names of the columns that a frame has become; None for an array."""
        return None if self.encoder is None else list(self.encoder.names_out)

    def contents(self) -> Contents:
        """Return what is written of it."""
        encoder = None if self.encoder is None else self.encoder.to_manifest()
        return Contents({"columns": self.n_columns, "encoder": encoder}, {})

    @classmethod
    def read(cls, part: Part, what: str) -> Self:
        """Read and check what was written."""
        n_columns, encoder = part.integer("columns", 0, MOST_COLUMNS), None
        if part.said.get("encoder") is not None:
            with refusing(f"{part.where}.encoder"):
                encoder = TableEncoder.from_manifest(part.said.get("encoder"))
            must_hold(len(encoder.names_out) == n_columns, f"{part.where}.encoder", f"{n_columns} columns")
        return cls(what, n_columns, encoder)

    def encode(self, table: Any, plain: PlainRows | None = None) -> Matrix:
        """Return the table as numbers; `plain` is the same table, if it was read at once."""
        if self.encoder is not None:
            if (found := self.encoder.encode_plain(plain)) is not None:
                return found.astype(np.float64)
            if not is_frame(table) and not isinstance(table, Mapping | list):
                raise FeatureError(f"{self.what} must be a frame, as in fit; got a {type(table).__name__}.")
            return self.encoder.encode(table).astype(np.float64)
        if is_frame(table) or isinstance(table, Mapping):
            raise FeatureError(f"{self.what} must be an array, as in fit; got a {type(table).__name__}.")
        try:
            numbers = np.asarray(as_csr(table).toarray() if is_sparse(table) else table, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise FeatureError(f"{self.what} must be a table of numbers, or a frame; {error}.") from None
        if numbers.ndim != 2 or numbers.shape[1] != self.n_columns:
            raise FeatureError(f"{self.what} must have {self.n_columns} features, as in fit; got {numbers.shape}.")
        if not np.isfinite(numbers).all():
            row = int((~np.isfinite(numbers)).any(axis=1).argmax())
            raise FeatureError(
                f"{self.what} must be finite; row {row} has NaN or infinity. Fill gaps, or pass a frame."
            )
        return numbers


class ActionEncoding:
    """How the contexts, items and pairs of a log become numbers of mean 0 and variance 1, learned once."""

    kind: ClassVar[str] = "encoding"

    def __init__(self, x: TablePart, items: TablePart | None, pairs: TablePart | None) -> None:
        self.x, self.items, self.pairs = x, items, pairs
        self._center: list[tuple[Matrix, Matrix]] = [(np.zeros(1), np.ones(1))] * 2

    @classmethod
    def learn(cls, X: Features, sets: ActionSets, pairs: NDArray[np.intp]) -> Self:
        """Learn from all rows, and from the actions taken in them, `pairs`."""
        if sets.items is None and sets.pairs is None:
            raise FeatureError(
                "the action sets must have features, of items or of pairs, to learn from; they have none. For actions "
                "without features, use OffsetTree or RewardBoosting with available=."
            )
        made = cls(
            TablePart.learn(X, "X"),
            None if sets.items is None else TablePart.learn(sets.items, "items"),
            None if sets.pairs is None else TablePart.learn(sets.pairs, "pairs"),
        )
        made._center = [(part.mean(axis=0), _spread(part)) for part in made.tables(X, sets.only(pairs))]
        return made

    @property
    def n_a(self) -> int:
        """The number of features of an action, of items and of pairs."""
        return sum(part.n_columns for part in (self.items, self.pairs) if part is not None)

    def contents(self) -> Contents:
        """Return what is written of it."""
        (x_mean, x_spread), (a_mean, a_spread) = self._center
        tables = {"x": self.x, "items": self.items, "pairs": self.pairs}
        return Contents(
            {"of_items": self.items is not None, "of_pairs": self.pairs is not None},
            {"x_mean": x_mean, "x_spread": x_spread, "a_mean": a_mean, "a_spread": a_spread},
            {name: table for name, table in tables.items() if table is not None},
        )

    @classmethod
    def read(cls, part: Part) -> Self:
        """Read and check what was written."""
        made = cls(
            TablePart.read(part.part("x"), "X"),
            TablePart.read(part.part("items"), "items") if part.truth("of_items") else None,
            TablePart.read(part.part("pairs"), "pairs") if part.truth("of_pairs") else None,
        )
        must_hold(made.items is not None or made.pairs is not None, part.where, "features of items or of pairs")
        made._center = [
            (part.finite(f"{name}_mean", np.float64, n), part.finite(f"{name}_spread", np.float64, n))
            for name, n in (("x", made.x.n_columns), ("a", made.n_a))
        ]
        for _, spread in made._center:
            must_hold(spread > 0, f"{part.where}.spread", "numbers above 0")
        return made

    def tables(self, X: Features, sets: ActionSets) -> tuple[Matrix, Matrix]:
        """Return the features of each row, and those of each pair."""
        x, a = self._numbers(X, sets)
        return self._scaled(0, x), self._scaled(1, a)

    def _numbers(self, X: Features, sets: ActionSets) -> tuple[Matrix, Matrix]:
        parts = []
        for part, table, what in ((self.items, sets.items, "items"), (self.pairs, sets.pairs, "pairs")):
            if (part is None) != (table is None):
                raise FeatureError(f"action sets must have features of {what} if and only if they had some in fit.")
            if part is not None:
                encoded = part.encode(table)
                parts.append(encoded[sets.item] if what == "items" else encoded)
        return self.x.encode(X), np.hstack(parts)

    def of_one(self, x: Any, actions: Any) -> tuple[Matrix, Matrix, list[Any] | None]:
        """Return one context, its actions, and their ids, from mappings, arrays or action sets of one row."""
        row, a, labels = self.numbers_of_one(x, actions)
        return self._scaled(0, row), self._scaled(1, a), labels

    def numbers_of_one(self, x: Any, actions: Any) -> tuple[Matrix, Matrix, list[Any] | None]:
        """Return the same before it is scaled."""
        is_row = isinstance(x, Mapping)
        row = x if is_row or is_frame(x) or is_sparse(x) else _as_row(x)
        if isinstance(actions, ActionSets):
            if len(actions) != 1 or (not is_row and count_rows(row) != 1):
                raise ActionError("decide takes one context and the action set of one row; use predict for several.")
            return *self._numbers(row, actions), actions[0]
        plain = plain_rows(actions) if type(actions) is list and 0 < len(actions) <= MOST_PLAIN else None
        labels = labels_of(actions) if plain is None else labels_in(plain)
        if not isinstance(actions, np.ndarray):
            actions = list(actions)
        encoded = self.x.encode(row)
        if len(encoded) != 1:  # kernels read the first row
            raise FeatureError(f"decide takes one context; x has {len(encoded)} rows. Use predict for several.")
        return encoded, self._joined(actions, plain), labels

    def arrays_of_one(self, x: Any, actions: Any) -> tuple[Matrix, Matrix] | None:
        """Return one context and its actions if they are arrays of the right shape, unscaled and not looked at."""
        if (
            type(x) is np.ndarray
            and type(actions) is np.ndarray
            and x.dtype == actions.dtype == np.float64
            and x.shape == (self.x.n_columns,)
            and actions.ndim == 2
            and actions.shape[1] == self.n_a
            and len(actions)
            and x.flags.c_contiguous
            and actions.flags.c_contiguous
            and self.takes_arrays
        ):
            return x[np.newaxis], actions
        return None

    @property
    def takes_arrays(self) -> bool:
        """Whether all tables were arrays in fit."""
        return all(part is None or part.encoder is None for part in (self.x, self.items, self.pairs))

    @property
    def scales(self) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """Mean and spread of the features of contexts, then of those of actions."""
        return *self._center[0], *self._center[1]

    def _joined(self, actions: Any, plain: PlainRows | None) -> Matrix:
        parts = [part for part in (self.items, self.pairs) if part is not None]
        if all(part.encoder is not None for part in parts):
            found = [part.encode(actions, plain) for part in parts]
            return found[0] if len(found) == 1 else np.hstack(found)
        numbers = np.asarray(actions)
        widths = np.cumsum([part.n_columns for part in parts])
        if numbers.ndim != 2 or numbers.shape[1] != widths[-1] or any(part.encoder is not None for part in parts):
            raise FeatureError(
                f"actions must have the features of fit, {widths[-1]} per action, those of items before those of "
                f"pairs; got {actions!r:.80}."
            )
        split = np.split(numbers, widths[:-1], axis=1)
        return np.hstack([part.encode(each) for part, each in zip(parts, split, strict=True)])

    def _scaled(self, which: int, table: Matrix) -> Matrix:
        mean, spread = self._center[which]
        with np.errstate(over="ignore"):
            scaled = (table - mean) / spread
        # Products of two must be finite.
        if not np.abs(scaled).max(initial=0.0) <= LARGEST:
            raise FeatureError(
                f"features of {('contexts', 'actions')[which]} must be within {LARGEST:g} standard deviations of their "
                f"mean in fit; got {np.abs(table).max():g}. Is a column in another unit?"
            )
        return scaled


def _as_row(x: Any) -> NDArray[Any]:
    try:
        return np.atleast_2d(np.asarray(x))
    except ValueError as error:
        raise FeatureError(f"x must be numbers, or a mapping of names to values; {error}.") from None


def _spread(table: Matrix) -> Matrix:
    spread = table.std(axis=0)
    return np.where(spread > 1e-12 * (1 + np.abs(table).max(axis=0)), spread, 1.0)


def products(x: Matrix, a: Matrix) -> Matrix:
    """Return the products of features of context and action, and of two features of the action, beside the latter."""
    first, second = np.triu_indices(a.shape[1])
    across = (x[:, :, np.newaxis] * a[:, np.newaxis, :]).reshape(len(x), -1)
    return np.hstack([a, across, a[:, first] * a[:, second]])


def n_products(n_x: int, n_a: int) -> int:
    """Return the number of columns of `products`."""
    return n_a + n_x * n_a + n_a * (n_a + 1) // 2


def row_blocks(sets: ActionSets, width: int) -> Iterator[NDArray[np.intp]]:
    """Cut the rows into blocks whose pairs times `width` numbers fit into memory."""
    per_block = max(1, BLOCK_NUMBERS // max(1, width))
    block = np.maximum(sets.starts[1:] - 1, 0) // per_block
    yield from np.split(np.arange(len(sets)), np.flatnonzero(np.diff(block)) + 1)


def some_rows(X: Features, rows: NDArray[np.intp]) -> Features:
    """Return some rows; all without a copy."""
    return X if len(rows) == count_rows(X) else take_rows(X, rows)
