"""Policies learned row by row: their tables of weights, and how a decision reads them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._lazy import ModuleOnDemand
from offsettree.exceptions import FeatureError, ParameterError
from offsettree.models import Model, is_csr, over_csr, over_tables
from offsettree.models.part import Contents, Part, refusing
from offsettree.online._layout import (
    KINDS,
    LARGEST,
    N_FEATURES,
    N_MODELS,
    N_SCALES,
    N_WEIGHTS,
    SCALE_SHIFT,
    SPACING,
    WIDTH,
    KernelRows,
    longest_row,
    make_layout,
    room_for,
    table_of,
)
from offsettree.topology import ActionTree


class _Online(Model):
    has_bias: ClassVar[bool]
    _kernels: ClassVar[ModuleOnDemand]  # that decide
    most_bits: ClassVar[int] = 32

    def __init__(self, layout: NDArray[np.uint64], weights: NDArray[np.float32], n_bits: int, n_actions: int) -> None:
        self.layout = layout
        self.weights = weights
        self.n_bits = n_bits
        self.n_actions = n_actions

    @staticmethod
    def bits_of(layout: NDArray[np.uint64]) -> int:
        """Return into how many bits features are hashed; 0 where they are not."""
        return 0 if layout[SCALE_SHIFT] == 0 else 64 - int(layout[SCALE_SHIFT])

    @classmethod
    def for_deciding(
        cls, layout: NDArray[np.uint64], weights: NDArray[np.float32]
    ) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
        """Leave out what stands beside the weights, and is for learning alone."""
        n_features, n_models, spacing = (int(layout[part]) for part in (N_FEATURES, N_MODELS, SPACING))
        alone = make_layout(n_features, n_models, bias=cls.has_bias, n_bits=cls.bits_of(layout) or None)
        return alone, np.ascontiguousarray(weights[::spacing] if layout[WIDTH] > 0 else weights[:, ::spacing])

    @classmethod
    def read_weights(cls, part: Part, n_models: int, n_columns: int) -> tuple[Any, Any, int]:
        """Read the weights, of the shape that the layout says they have."""
        n_bits = part.integer("bits", 0, cls.most_bits)
        with refusing(part.where):
            layout = make_layout(n_columns, n_models, bias=cls.has_bias, n_bits=n_bits or None)
        n_rows = int(layout[N_MODELS]) if layout[WIDTH] > 0 else 1
        return layout, part.finite("weights", np.float32, n_rows, int(layout[N_WEIGHTS]) // n_rows), n_bits

    @staticmethod
    def read_scales(part: Part, layout: NDArray[np.uint64]) -> NDArray[np.float32] | None:
        """Read the scales of the features, if they are scaled."""
        return part.finite("scales", np.float32, int(layout[N_SCALES])) if part.has_array("scales") else None

    @property
    def takes_missing(self) -> bool:
        return False

    def choose(self, X: Any) -> NDArray[np.intp]:
        refuse_huge(X)
        return choose_all(self._kernels, self._for_choosing(), X)

    def choose_within(self, X: Any, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        refuse_huge(X)
        return choose_all_within(self._kernels, self._for_choosing(), X, mask)

    @abstractmethod
    def _for_choosing(self) -> tuple[Any, ...]:
        """Return the arrays that they take."""


class OnlineTree(_Online):
    """The linear contests of an online offset tree."""

    kind = "online tree"
    has_bias = True
    _kernels = ModuleOnDemand("offsettree.online._kernels_tree")

    def __init__(
        self,
        layout: NDArray[np.uint64],
        weights: NDArray[np.float32],
        n_bits: int,
        tree: ActionTree,
        scales: NDArray[np.float32] | None,
    ) -> None:
        super().__init__(layout, weights, n_bits, tree.n_actions)
        self.tree = tree
        self.scales = scales
        self._links = links_of(tree)

    def contents(self) -> Contents:
        sides = {"left": self.tree.left.astype(np.int32), "right": self.tree.right.astype(np.int32)}
        scales = {} if self.scales is None else {"scales": self.scales}
        return Contents({"bits": self.n_bits}, {"weights": self.weights, **sides, **scales})

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        left, right = (part.array(name, np.int32, n_actions - 1) for name in ("left", "right"))
        with refusing(f"{part.where}.left.npy and right.npy"):
            tree = ActionTree(left, right)
        layout, weights, n_bits = cls.read_weights(part, n_actions - 1, n_columns)
        return cls(layout, weights, n_bits, tree, cls.read_scales(part, layout))

    def _for_choosing(self) -> tuple[Any, ...]:
        return self.layout, self.weights, self.scales, self._links


class OnlineBanditron(_Online):
    """A linear function per action, without intercept; explores, if asked for probabilities."""

    kind = "banditron"
    has_bias = False
    most_bits = 0  # it does not hash
    _kernels = ModuleOnDemand("offsettree.online._kernels_banditron")

    def __init__(
        self, layout: NDArray[np.uint64], weights: NDArray[np.float32], n_bits: int, n_actions: int, gamma: float
    ) -> None:
        super().__init__(layout, weights, n_bits, n_actions)
        self.gamma = gamma

    def contents(self) -> Contents:
        return Contents({"bits": self.n_bits, "gamma": self.gamma}, {"weights": self.weights})

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        return cls(*cls.read_weights(part, n_actions, n_columns), n_actions, part.number("gamma", 0, 1))

    def probabilities(self, X: Any, mask: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        if mask is not None:
            raise ParameterError("an explorer chooses among all actions: available must be None.")
        greedy = super().probabilities(X, mask)
        return np.asarray(self.gamma / self.n_actions + (1 - self.gamma) * greedy)

    def _for_choosing(self) -> tuple[Any, ...]:
        return self.layout, self.weights


class OnlineRegression(_Online):
    """A linear function per action, counted from where it started; actions never seen are worth the mean."""

    kind = "online regression"
    has_bias = True
    _kernels = ModuleOnDemand("offsettree.online._kernels_regression")

    def __init__(
        self,
        layout: NDArray[np.uint64],
        weights: NDArray[np.float32],
        n_bits: int,
        starts: NDArray[np.float64],
        mean: float,
        scales: NDArray[np.float32] | None,
    ) -> None:
        super().__init__(layout, weights, n_bits, len(starts))
        self.starts = starts  # NaN where never seen
        self.mean = mean
        self.scales = scales

    def contents(self) -> Contents:
        seen = ~np.isnan(self.starts)
        arrays = {
            "weights": self.weights,
            "seen": seen.astype(np.int32),
            "starts": np.where(seen, self.starts, 0.0),
            **({} if self.scales is None else {"scales": self.scales}),
        }
        return Contents({"bits": self.n_bits, "mean": self.mean}, arrays)

    @classmethod
    def read(cls, part: Part, n_actions: int, n_columns: int) -> Self:
        layout, weights, n_bits = cls.read_weights(part, n_actions, n_columns)
        seen, starts = part.array("seen", np.int32, n_actions), part.finite("starts", np.float64, n_actions)
        starts, mean = np.where(seen > 0, starts, np.nan), part.number("mean", 0, 1)
        return cls(layout, weights, n_bits, starts, mean, cls.read_scales(part, layout))

    def _for_choosing(self) -> tuple[Any, ...]:
        # With the totals of one row that earned the mean.
        return self.layout, self.weights, self.scales, self.starts, np.array([1.0, 1.0, self.mean])


def choose_all(
    kernels: Any, arrays: tuple[Any, ...], X: Any, folded: NDArray[np.float32] | None = None
) -> NDArray[np.intp]:
    """Choose for every row; of a CSR matrix by the table of weights times scales, where there is one."""
    model, layout = kernels.ToChoose(*arrays), arrays[0]
    n_features = int(layout[N_FEATURES])
    out = np.empty(X.shape[0], dtype=np.intp)

    def walk(values: NDArray[Any], first: int, last: int) -> int:
        table = KernelRows(*room_for(layout, n_features), values.reshape(-1, n_features), None, None)
        kernels.choose_rows(model, table, out[first:last])
        return 0

    def walk_csr(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], first: int, last: int) -> int:
        table = KernelRows(*room_for(layout, longest_row(indptr)), data, indices, indptr)
        if folded is None:
            kernels.choose_rows(model, table, out[first:last])
        else:
            kernels.choose_from_table(model, folded, table, out[first:last])
        return 0

    if is_csr(X):
        over_csr(walk_csr, X, KINDS)
    else:
        over_tables(walk, X, KINDS)
    return out


def choose_all_within(kernels: Any, arrays: tuple[Any, ...], X: Any, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Choose for every row among the actions that its mask allows."""
    out = np.empty(len(mask), dtype=np.intp)
    kernels.choose_within(np.ascontiguousarray(mask), out, *arrays, *table_of(arrays[0], X))
    return out


def refuse_huge(X: Any) -> None:
    """Refuse what float32 cannot hold the square of, as the policy that was saved does."""
    values = X.data if is_csr(X) else X
    if values.size and (largest := max(float(values.max()), -float(values.min()))) > LARGEST:
        raise FeatureError(f"X must be within {LARGEST:g} of zero; got {largest:g}. Scale the features.")


def links_of(tree: ActionTree) -> NDArray[np.int64]:
    """Return four rows: left child, right child and parent of each node, and the node above each leaf."""
    links = np.zeros((4, tree.n_actions), dtype=np.int64)
    links[:3, :-1] = tree.left, tree.right, tree.parent
    links[3] = tree.leaf_parent
    return links
