"""A package that extends offsettree from outside: a reduction, a format of logs and a base learner.

It uses public names only, and says what it has by decorators. Its installation names them as entry points.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.validation import validate_data

from offsettree import register_format, register_learner, register_policy
from offsettree.base import BasePolicy
from offsettree.exceptions import LogError
from offsettree.learners import ConstantRegressor
from offsettree.logs import FileStart, Reader, Source, line_blocks
from offsettree.models import Scores
from offsettree.reading import ColumnSpace, LinearPiece, join_pieces, read_regressor


@register_policy("toy-advantage", base="regressor", candidates=["toy advantage"])
class ToyAdvantage(BasePolicy):
    """Takes the action whose reward is predicted to be farthest above the mean."""

    _learner_kind = "regressor"
    _default_learner = staticmethod(lambda: DecisionTreeRegressor(min_samples_leaf=5, random_state=0))

    def __init__(self, estimator: Any = None, *, reward_range: Any = (0.0, 1.0), actions: Any = None) -> None:
        self.estimator = estimator
        self.reward_range = reward_range
        self.actions = actions

    def _fit(self, X: Any, action: Any, reward: Any, propensity: Any, available: Any = None) -> None:
        advantage = reward - reward.mean()
        self.estimators_: list[Any] = [ConstantRegressor(0.0) for _ in self.actions_]
        for position in np.unique(action):
            rows = np.flatnonzero(action == position)
            seen = X[rows] if not hasattr(X, "iloc") else X.iloc[rows]
            self.estimators_[position] = clone(self._learner()).fit(seen, advantage[rows])

    def _as_model(self, space: ColumnSpace) -> Scores:
        pieces = [read_regressor(each, space) for each in self.estimators_]
        return Scores([join_pieces(pieces, space)], len(self.actions_))

    def _scores(self, X: Any, mask: Any) -> Any:
        scores = np.stack([np.asarray(each.predict(X)) for each in self.estimators_], axis=1)
        return scores if mask is None else np.where(mask, scores, -np.inf)

    def _ask(self, X: Any) -> Any:
        return self._scores(X, None).argmax(axis=1)

    def _ask_within(self, X: Any, mask: Any) -> Any:
        return self._scores(X, mask).argmax(axis=1)


@register_format("toy-rows", suffixes=[".rows"], recognise=lambda start: ToyRowsReader.recognises(start))
class ToyRowsReader(Reader):
    """Lines of fields between tabs, below a line of ``%rows`` and every column as ``name:kind``."""

    kinds = {"integer": (int, pa.int64()), "number": (float, pa.float64()), "text": (str, pa.string())}  # noqa: RUF012

    @staticmethod
    def recognises(start: FileStart) -> bool:
        return start.line.startswith("%rows\t")

    def file_names(self) -> list[str]:
        return [name for name, _ in self._columns(next(self._lines(self.sources[0])), self.sources[0])]

    def tables(self, source: Source, columns: list[str] | None) -> Iterator[pa.Table]:
        lines = self._lines(source)
        header = self._columns(next(lines), source)
        if [name for name, _ in header] != self.file_names():
            raise LogError(f"all files of a folder must have the same columns; {source} has others than the first.")
        rows = []
        for number, line in enumerate(lines, start=1):
            fields = line.split("\t")
            if len(fields) != len(header):
                raise LogError(f"row {number} of {source} must have {len(header)} fields; it has {len(fields)}.")
            rows.append(fields)
        yield pa.table(
            {
                name: self._parsed([row[place] for row in rows], name, kind, source)
                for place, (name, kind) in enumerate(header)
                if columns is None or name in columns
            }
        )

    def _lines(self, source: Source) -> Iterator[str]:
        for block in line_blocks(source, self.options.encoding):
            try:
                yield from block.decode().splitlines()
            except UnicodeDecodeError as error:
                raise LogError(f"text must be {self.options.encoding}; {source} is not ({error}).") from error

    def _columns(self, line: str, source: Source) -> list[tuple[str, str]]:
        mark, *fields = line.split("\t")
        columns = [(name, kind) for name, _, kind in (field.rpartition(":") for field in fields)]
        if mark != "%rows" or not columns or any(kind not in self.kinds for _, kind in columns):
            raise LogError(
                f"{source} must begin with %rows and name:kind of every column; it begins with {line!r:.80}."
            )
        return columns

    def _parsed(self, fields: list[str], name: str, kind: str, source: Source) -> Any:
        parse, to = self.kinds[kind]
        try:
            return pa.array([None if field == "" else parse(field) for field in fields], to)
        except (ValueError, OverflowError) as error:
            raise LogError(f"column {name!r} of {source} must be of kind {kind}: {error}.") from error


class ToyLinear(BaseEstimator):
    """Least squares with a penalty, by the normal equations."""

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def _solve(self, X: Any, y: Any, weight: Any) -> Any:
        X = validate_data(self, X, dtype=np.float64)
        weight = np.ones(len(X)) if weight is None else np.asarray(weight)
        centre, mean = np.average(X, axis=0, weights=weight), np.average(y, weights=weight)
        spread = (X - centre).T * weight
        self.weights_ = np.linalg.solve(spread @ (X - centre) + self.alpha * np.eye(X.shape[1]), spread @ (y - mean))
        self.bias_ = float(mean - centre @ self.weights_)
        return self

    def _margin(self, X: Any) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False) @ self.weights_ + self.bias_

    def as_piece(self) -> LinearPiece:
        return LinearPiece(self.weights_[np.newaxis], np.array([self.bias_]))


@register_learner("toy-linear", "regressor", read=ToyLinear.as_piece)
class ToyLinearRegressor(RegressorMixin, ToyLinear):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return self._solve(X, np.asarray(y), sample_weight)

    def predict(self, X: Any) -> Any:
        return self._margin(X)


@register_learner("toy-linear", "classifier", read=ToyLinear.as_piece)
class ToyLinearClassifier(ClassifierMixin, ToyLinear):
    """Of two classes: the second where least squares on -1 and 1 are above zero."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.classes_ = np.unique(y)
        return self._solve(X, 2.0 * (np.asarray(y) == self.classes_[-1]) - 1.0, sample_weight)

    def predict(self, X: Any) -> Any:
        return self.classes_[(self._margin(X) > 0).astype(int)]
