"""Effects of single ids as flat arrays: an intercept and slopes per id, and trees over the most frequent ones."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._texts import is_text
from offsettree.actions._pair_scores import TREE_FIELDS, Arrays, read_trees
from offsettree.exceptions import PolicyFileError
from offsettree.models import Contents, Part, must_hold

MOST_CHARACTERS = 1 << 26  # of all ids, if each were as long as the longest
Matrix = NDArray[np.float64]


@dataclass(eq=False)
class IdModel:
    """What each id adds to a score, in a context; nothing for an id that was never logged."""

    kind: ClassVar[str] = "id effects"
    labels: NDArray[Any]  # sorted
    effects: Matrix  # of shape (n_ids, 1), or (n_ids, 1 + n_x): of 1 and of the features of the context
    category: NDArray[np.int64]  # which output of the trees an id has; -1 for none
    trees: Arrays | None
    penalty: float  # infinite where ids were not found to have linear effects

    def of(self, ids: NDArray[Any], x: Matrix, row: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the effect of each pair's id; `row` is its context."""
        if self._is_empty:
            return np.zeros(len(ids))
        if is_text(ids) != is_text(self.labels):
            return np.zeros(len(ids))
        place = np.minimum(np.searchsorted(self.labels, ids), len(self.labels) - 1)
        return self._at(place, self.labels[place] == ids, x, row)

    def add_of_one(self, labels: list[Any], x: Matrix, found: NDArray[np.float64]) -> None:
        """Add the effects of the ids of one context's actions to their scores."""
        if self._is_empty:
            return
        if set(map(type, labels)) not in ({int}, {str}):
            ids = np.asarray(labels)
            if ids.dtype.kind != "O":  # as numbers beyond 64 bits are
                found += self.of(ids, x, np.zeros(len(labels), dtype=np.intp))
            return
        if "_places" not in self.__dict__:
            self._places = {label: place for place, label in enumerate(self.labels.tolist())}
        place = np.fromiter(map(self._places.get, labels, repeat(-1)), np.intp, len(labels))
        known = place >= 0
        if known.any():
            found += self._at(place, known, x, np.zeros(len(labels), dtype=np.intp))

    @property
    def _is_empty(self) -> bool:
        """Whether no id has an effect."""
        return self.trees is None and not np.isfinite(self.penalty)

    def _at(
        self, place: NDArray[np.intp], known: NDArray[np.bool_], x: Matrix, row: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        found = np.zeros(len(place))
        if known.any():
            own = self.effects[place]
            found += own[:, 0]
            for column in range(own.shape[1] - 1):  # in one order, whatever the number of pairs
                found += own[:, column + 1] * x[row, column]
            if self.trees is not None:
                from offsettree.actions._kernels_pairs import score_trees

                score_trees(x, row, self.category[place], self._trees(), found)
            found[~known] = 0
        return found

    def _trees(self) -> Any:
        if "_tuple" not in self.__dict__:
            from offsettree.models import Trees

            assert self.trees is not None  # noqa: S101 - asked for only where there are some
            self._tuple = Trees(*(self.trees[name] for name in TREE_FIELDS))
        return self._tuple

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_tuple", "_places")}

    def contents(self) -> Contents:
        """Return what is written of it."""
        said: dict[str, Any] = {
            "ids": len(self.labels),
            "text": self.labels.dtype.kind == "U",
            "penalty": self.penalty if np.isfinite(self.penalty) else None,
            "outputs": int(self.category.max(initial=-1)) + 1,
            "boosted": self.trees is not None,
        }
        if self.trees is not None:
            n_trees, n_tests = self.trees["feature"].shape
            said |= {"trees": n_trees, "depth": int(n_tests + 1).bit_length() - 1}
        written: Arrays = {"effects": self.effects, "category": self.category}
        if self.labels.dtype.kind == "U":
            words = [label.encode() for label in self.labels.tolist()]
            written["characters"] = np.frombuffer(b"".join(words), dtype=np.uint8)
            written["starts"] = np.concatenate([[0], np.cumsum([len(word) for word in words])]).astype(np.int64)
        else:
            written["labels"] = self.labels.astype(np.int64)
        return Contents(said, written | (self.trees or {}))

    @classmethod
    def read(cls, part: Part, n_x: int) -> Self:
        """Read and check what was written."""
        n_ids = part.integer("ids", 1, 1 << 31)
        n_outputs = part.integer("outputs", 0, n_ids)
        labels = _read_words(part, n_ids) if part.truth("text") else part.array("labels", np.int64, n_ids)
        must_hold(labels[:-1] < labels[1:], f"{part.where}.labels", "ids that differ, in order")
        effects = part.finite("effects", np.float64, n_ids, None)
        must_hold(effects.shape[1] in (1, 1 + n_x), f"{part.where}.effects.npy", f"1 or {1 + n_x} columns")
        category = part.array("category", np.int64, n_ids)
        must_hold((category >= -1) & (category < n_outputs), f"{part.where}.category.npy", "outputs of trees, or -1")
        trees = read_trees(part, n_x, n_outputs) if part.truth("boosted") else None
        penalty = np.inf if part.said.get("penalty") is None else part.number("penalty", 0.0, 1e300)
        return cls(labels, effects, category, trees, penalty)


def _read_words(part: Part, n_ids: int) -> NDArray[np.str_]:
    characters = part.array("characters", np.uint8, None)
    starts = part.starts("starts", n_ids, len(characters))
    longest = int(np.diff(starts).max(initial=0))
    must_hold(longest * n_ids <= MOST_CHARACTERS, f"{part.where}.starts.npy", "ids that are not too long")
    try:
        text = characters.tobytes()
        words = [text[begin:end].decode() for begin, end in pairwise(starts.tolist())]
    except UnicodeDecodeError as error:
        raise PolicyFileError(f"{part.where}.characters.npy must hold text; {error}.") from error
    must_hold(not any("\0" in word for word in words), f"{part.where}.characters.npy", "text without the character 0")
    return np.array(words, dtype=str)
