"""What a saved policy takes: as many columns as it was learned from, of the same names, and what they may hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from offsettree._features import as_floats, check_kind, check_numbers, holds_dates, is_frame, is_sparse, numeric_columns
from offsettree.exceptions import FeatureError, PolicyFileError
from offsettree.models._nominal import NominalColumns
from offsettree.models.part import Part, is_text

MOST_UNNAMED = 1 << 24  # columns: a row of them is written out by some kernels, which must not take all memory
SAME_ORDER = "Pass the columns that the policy was fitted on, in the same order."


@dataclass(frozen=True)
class Inputs:
    """The columns of X, their names if they have some, and whether NaN may be among them."""

    n_features: int
    names: tuple[str, ...] | None
    missing: bool
    missing_in_sparse: bool
    nominal: NominalColumns | None = None  # where columns of a frame become other numbers than they hold

    @property
    def n_columns(self) -> int:
        """How many columns the model sees."""
        return self.n_features if self.nominal is None else self.nominal.n_columns

    @property
    def name_array(self) -> NDArray[np.object_] | None:
        """The names as scikit-learn has them."""
        return None if self.names is None else np.array(self.names, dtype=object)

    def describe(self) -> dict[str, Any]:
        """Return what the manifest says of them; refuse what would not be read again."""
        if self.names is None and self.n_features > MOST_UNNAMED:
            raise PolicyFileError(
                f"a policy file must have at most {MOST_UNNAMED:,} features without names; this policy takes "
                f"{self.n_features:,}. Hash them into fewer columns before the policy sees them."
            )
        nominal = () if self.nominal is None else (v for values in self.nominal.levels.values() for v in values)
        if odd := next((word for word in (*(self.names or ()), *nominal) if not is_text(str(word))), None):
            raise PolicyFileError(
                f"the names of features, and their values, must be whole characters; {odd!a:.80} is not. Rename it."
            )
        return {
            "count": self.n_features,
            "names": None if self.names is None else list(self.names),
            "missing": self.missing,
            "missing_in_sparse": self.missing_in_sparse,
            "encoding": None if self.nominal is None else self.nominal.describe(),
        }

    @classmethod
    def read(cls, part: Part) -> Self:
        """Read and check what was written."""
        names = part.said.get("names")
        n_features = part.integer("count", 1, MOST_UNNAMED if names is None else 1 << 31)
        if names is not None and not (
            isinstance(names, list) and len(names) == n_features and all(isinstance(name, str) for name in names)
        ):
            raise PolicyFileError(f"{part.where}.names must be null or {n_features} names; got {names!r:.80}.")
        nominal = None
        if part.said.get("encoding") is not None:
            if names is None:
                raise PolicyFileError(f"{part.where}.encoding must go with names; there are none.")
            nominal = NominalColumns.read(part.part("encoding"), names)
        return cls(
            n_features,
            None if names is None else tuple(names),
            part.truth("missing"),
            part.truth("missing_in_sparse"),
            nominal,
        )

    def numbers(self, X: Any, *, names_expected: bool = True) -> Any:
        """Return X as an array or a CSR matrix of as many columns as there must be, checked but for NaN and infinity.

        Nominal columns are still to be encoded.
        """
        if is_frame(X):
            check_kind(X)
            self._check_names(X)
            if self.nominal is not None:
                return self.nominal.encode(X)
            other = [str(name) for name in X.columns if name not in set(numeric_columns(X))]
            if other:
                raise FeatureError(f"X must hold numbers as it did in fit; column {', '.join(other)} does not.")
            return as_floats(X)
        check_kind(X)
        if self.nominal is not None:
            raise FeatureError(
                f"X must be a pandas or polars frame, as in fit, where some columns were nominal; got a "
                f"{type(X).__name__}."
            )
        X = sp.csr_array(X) if is_sparse(X) else _as_table(X)
        if X.shape[0] == 0:
            raise FeatureError("X is empty (0 sample(s)): a policy needs at least one row to decide on.")
        if X.shape[1] != self.n_features:
            raise FeatureError(
                f"X has {X.shape[1]} features, but this policy is expecting {self.n_features} features as input.\n"
                f"{SAME_ORDER}"
            )
        return X

    def fault_of(self, encoder: Any) -> str | None:
        """Return what stands against an encoder whose rows the model would walk unseen; None where nothing does."""
        if encoder is None:
            return None
        if self.nominal is not None:
            return "must not go with a policy that encodes nominal columns itself; there are both."
        if len(encoder.names_out) != self.n_features:
            return (
                f"must make as many columns as the policy takes, {self.n_features}; it makes "
                f"{len(encoder.names_out)}. It is not the encoder that the policy learned with."
            )
        return None

    def checked(self, X: Any) -> Any:
        """Return X as the model takes it."""
        X = self.numbers(X)
        names = None if self.nominal is not None else self.name_array
        return check_numbers(X, names, allow_nan=self.missing_in_sparse if is_sparse(X) else self.missing)

    def _check_names(self, frame: Any) -> None:
        given = [str(name) for name in frame.columns]
        if self.names is None:
            if len(given) != self.n_features:
                raise FeatureError(
                    f"X has {len(given)} features, but this policy is expecting {self.n_features} features as input.\n"
                    f"{SAME_ORDER}"
                )
            return
        if given == list(self.names):
            return
        missing = [name for name in self.names if name not in set(given)]
        unexpected = [name for name in given if name not in set(self.names)]
        said = "The feature names should match those that were passed during fit."
        if missing:
            said += f" Missing: {', '.join(missing[:5])}."
        if unexpected:
            said += f" Not seen at fit time: {', '.join(unexpected[:5])}."
        if not missing and not unexpected:
            said += " They are in another order."
        raise FeatureError(f"{said}\n{SAME_ORDER}")


def _as_table(X: Any) -> NDArray[Any]:
    try:
        table = np.asarray(X)
        if table.dtype.kind == "c" or holds_dates(table):
            raise TypeError("there are complex numbers or dates")  # noqa: TRY301 - one way for all that are no numbers
        if (
            table.dtype.kind not in "biuf"
            or table.dtype.itemsize not in (1, 4, 8)
            or table.dtype.kind in "bu"
            or not table.dtype.isnative
        ):
            table = table.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise FeatureError(
            f"X must be a table of numbers; {error}. Pass nominal features as a pandas or polars frame, to a policy "
            "that was fitted on one."
        ) from error
    if table.ndim != 2:
        raise FeatureError(f"X must be a table of rows and columns; got an array of shape {table.shape}. Use decide.")
    return table
