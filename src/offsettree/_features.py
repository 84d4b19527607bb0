"""X in its forms: numpy array, scipy CSR, pandas or polars frame; and the few things done to all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from offsettree._sparse import check_sparse
from offsettree._traits import may_pick_columns, takes_missing, takes_nominal
from offsettree.exceptions import FeatureError, FeatureTypeError

# An array, a CSR matrix or a frame: no protocol covers the three, so the alias is for the reader.
Features: TypeAlias = Any


def is_frame(X: Features) -> bool:
    """Tell a pandas or polars frame from everything else."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


# Tells scipy's sparse matrices and arrays from everything else.
is_sparse: Callable[[Features], bool] = sp.issparse


def numeric_columns(X: Features) -> list[Any]:
    """List the columns of a frame that hold numbers or truth values."""
    return [name for name, dtype in zip(X.columns, X.dtypes, strict=True) if _is_numeric(dtype)]


def _is_numeric(dtype: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    return getattr(dtype, "kind", "O") in "biuf"


def as_floats(frame: Features) -> NDArray[np.float64]:
    """Make an array of numeric columns; a missing value of any kind is NaN."""
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        # pandas would make numbers of dates and spans of time, and drop the imaginary part.
        kind = getattr(dtype, "kind", None)
        if kind in ("M", "m", "c") or (kind is None and str(dtype).startswith(("Date", "Duration", "Time"))):
            raise _not_numbers([name], TypeError(f"it holds {dtype}"))
        if kind == "O" and any(isinstance(value, complex) for value in frame[name]):
            raise _not_numbers([name], TypeError("it holds complex numbers"))
    try:
        if hasattr(frame, "iloc"):  # pandas, whose nullable columns would become objects
            return np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(frame.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise _not_numbers(frame.columns, error) from error


def _not_numbers(names: Any, error: Exception) -> FeatureError:
    what, they = (f"column {names[0]!r}", "it") if len(names) == 1 else (f"columns {list(names)}", "they")
    return FeatureError(f"{what} must hold numbers as {they} did in fit; {error}.")


def count_rows(X: Features) -> int:
    """Count the rows of any form of X."""
    if is_frame(X) or is_sparse(X) or (isinstance(X, np.ndarray) and X.ndim):
        return int(X.shape[0])
    from sklearn.utils.validation import _num_samples

    return int(_num_samples(X))


def take_rows(X: Features, rows: NDArray[np.intp]) -> Features:
    """Copy the rows of the given positions, in the given order."""
    if isinstance(X, np.ndarray):
        # Half the time of X[rows]; but an X stored by columns, as a frame's is, would be copied as a whole first.
        return np.take(X, rows, axis=0) if X.flags.c_contiguous else X[rows]
    if is_sparse(X):
        return X[rows]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, rows)


def as_one_row(x: Any, names: NDArray[np.object_] | None, like: Features | None) -> Features:
    """Make a one-row X of a single context: a sequence, a mapping of names to values, or a one-row X as it is.

    `like` is an empty frame of the columns that the learners were trained on, or None where they were given arrays.
    """
    if hasattr(x, "to_dict") and hasattr(x, "index") and not is_frame(x):  # a row of a pandas frame
        x = x.to_dict()
    if isinstance(x, Mapping):
        if names is None:
            raise FeatureError("a context given by name needs a policy fitted on named columns; pass a sequence.")
        if missing := [name for name in names if name not in x]:
            raise FeatureError(f"a context given by name must have every feature; {', '.join(missing)} missing.")
        values = {name: x[name] for name in names}
        return np.array([list(values.values())]) if like is None else _one_row_frame(values, like)
    if is_frame(x) or is_sparse(x):
        return x
    try:
        array = np.asarray(x)
    except (TypeError, ValueError, OverflowError) as error:
        raise FeatureError(f"a context must be a sequence of as many numbers as there are features; {error}.") from None
    if array.ndim == 0:
        raise FeatureError(
            f"a context must be a sequence of numbers, a mapping of names to values or one row; got {x!r}."
        )
    return array[np.newaxis, :] if array.ndim == 1 else array


def _one_row_frame(values: dict[str, Any], like: Features) -> Features:
    try:
        if any(isinstance(value, complex) for value in values.values()):  # pandas would drop a part
            raise TypeError("one is complex")  # noqa: TRY301 - one way for all that do not fit
        if hasattr(like, "schema"):  # polars
            return type(like)([values], schema=like.schema)
        row = type(like)([values], columns=like.columns)
        return row.astype({name: dtype for name, dtype in like.dtypes.items() if not row[name].isna().any()})
    except (TypeError, ValueError, OverflowError) as error:
        raise FeatureError(f"a context given by name must have values as in fit; {error}.") from error


def append_indicator(X: Features, index: NDArray[np.intp], n_values: int, name: str) -> Features:
    """Append `index` as `n_values` columns of zeros and ones, a form that trees and linear models both can use.

    A sparse X stays sparse; a frame gets columns called ``name=0``, ``name=1``, ...
    """
    if is_sparse(X):
        ones = np.ones(len(index), dtype=X.dtype)
        indicator = sp.csr_matrix((ones, index, np.arange(len(index) + 1)), shape=(len(index), n_values))
        return sp.hstack([X, indicator], format="csr")
    columns = index[:, np.newaxis] == np.arange(n_values)
    if not is_frame(X):
        return np.hstack([X, columns.astype(X.dtype if X.dtype.kind == "f" else np.float64)])
    frame = type(X)({f"{name}={value}": columns[:, value].astype(np.float64) for value in range(n_values)})
    if hasattr(X, "hstack"):  # polars
        return X.hstack(frame)
    return X.reset_index(drop=True).join(frame)


def check_features(
    estimator: Any,
    X: Features,
    *,
    learner: Any,
    reset: bool,
    names_expected: bool = True,
    as_frame: bool | None = None,
    first_row: int = 0,
    within: float | None = None,
    numbers: bool = True,
) -> Features:
    """Return X as the learners will see it: an array, a CSR matrix, or a frame.

    A frame of numbers becomes one array, once, unless the learner may pick columns by name; any other frame is left
    as it is, for learners that know what to do with nominal columns. NaN and infinity are refused where the learner
    says it cannot take them. Without `names_expected`, an array need not have the names of the fitted frame;
    `as_frame` tells whether the fitted X was left as a frame, and None leaves the question open. Rows are counted
    from `first_row` on. Where numbers must not be larger than some size, `within` is that. Without `numbers` the values
    are not looked at: they have been, or will be.
    """
    if not reset and _is_plain(estimator, X, names_expected=names_expected):
        if not numbers:
            return X
        allow_nan, names = takes_missing(learner, sparse=False), getattr(estimator, "feature_names_in_", None)
        return check_numbers(X, names, allow_nan=allow_nan, first_row=first_row, within=within)
    # Here, as wherever logs are: to read one must not take as long as to import scikit-learn.
    from sklearn.utils import check_array
    from sklearn.utils.validation import _check_n_features, validate_data

    if isinstance(X, list | tuple):  # which scikit-learn would make objects of, unlike what is in an array
        X = _with_remedy(np.asarray, X)
    check_kind(X)
    if is_frame(X) and as_frame is not True:
        other = [str(name) for name in X.columns if name not in set(numeric_columns(X))]
        if as_frame is False and other:
            raise FeatureError(f"X must hold numbers as it did in fit; column {', '.join(other)} does not.")
        if other and not takes_nominal(learner):
            raise FeatureError(
                f"X has columns that are not numbers ({', '.join(other)}), and {type(learner).__name__} takes numbers "
                "only. Give an estimator that encodes them, such as make_pipeline(encoder, classifier), or encode all "
                "columns, dates too, by offsettree.TableEncoder.learn([X]).encode(X); leave out identifiers."
            )
        as_frame = bool(other) or may_pick_columns(learner)
    if is_frame(X) and as_frame:
        X = _with_remedy(validate_data, estimator, X, reset=reset, skip_check_array=True)
        if numbers:
            _refuse_infinity(X)
        return X
    as_array = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": False}
    if names_expected or is_frame(X):
        X = _with_remedy(validate_data, estimator, X, reset=reset, **as_array)
    else:
        X = _with_remedy(check_array, X, estimator=estimator, input_name="X", **as_array)
        _with_remedy(_check_n_features, estimator, X, reset=reset)
    if not numbers:
        return _canonical(X) if is_sparse(X) else X
    allow_nan = takes_missing(learner, sparse=is_sparse(X))
    names = getattr(estimator, "feature_names_in_", None)
    return check_numbers(X, names, allow_nan=allow_nan, first_row=first_row, within=within)


def _is_plain(estimator: Any, X: Features, *, names_expected: bool) -> bool:
    """Tell whether X is an array of which only the numbers are left to look at: the other checks take time."""
    return (
        type(X) is np.ndarray
        and X.dtype in (np.float32, np.float64)
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not (names_expected and hasattr(estimator, "feature_names_in_"))
    )


def check_numbers(
    X: Features,
    names: NDArray[np.object_] | None,
    *,
    allow_nan: bool,
    first_row: int = 0,
    within: float | None = None,
) -> Features:
    """Return an array or a CSR matrix whose numbers may be used: none infinite, entries in order and in their place."""
    if is_sparse(X):
        X = _canonical(X)
    if within is not None and _are_within(X, within):
        return X
    if not is_finite(X):
        _refuse_not_finite(X, names, allow_nan=allow_nan, first_row=first_row)
    if within is not None:
        _refuse_huge(X, within)
    return X


def _canonical(X: Features) -> Features:
    """Return a CSR matrix with its entries in order, each once, and indices as small as they can be."""
    check_sparse(X)
    if not X.has_canonical_format:
        X = X.copy()  # the caller's stays as it is
        X.sum_duplicates()
    if X.indices.dtype == np.int64 and max(*X.shape, X.nnz) < 2**31:
        # Many learners take 32-bit indices only, and these fit.
        X = type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    return X


def check_kind(X: Features) -> None:
    """Refuse what is no table, or one without rows or columns."""
    if is_sparse(X):
        check_sparse(X)
    elif isinstance(X, Mapping):  # scipy's dok_matrix is both
        raise FeatureError("X must be a table of rows; got a mapping. Use decide for one context given by name.")
    elif getattr(getattr(X, "dtype", None), "kind", None) in ("M", "m", "O") and holds_dates(np.asarray(X)):
        raise FeatureError(
            f"X must be a table of numbers; got dates or times ({X.dtype}). Make numbers of them, such as the days "
            "since an event."
        )
    if hasattr(X, "collect") and not hasattr(X, "shape"):  # polars' LazyFrame
        raise FeatureError(f"X must be a frame that is there; got a {type(X).__name__}. Call .collect() on it.")
    if not is_frame(X):
        return
    if X.shape[1] == 0:
        raise FeatureError("X has no columns. A policy needs at least one feature, if only a constant.")
    if X.shape[0] == 0:
        raise FeatureError("X has no rows. A policy needs at least one to learn from or decide on.")


def holds_dates(table: NDArray[Any]) -> bool:
    """Tell whether NumPy would make numbers of dates or times, also of those among objects."""
    if table.dtype.kind != "O":
        return table.dtype.kind in "Mm"
    return any(isinstance(value, np.datetime64 | np.timedelta64) for value in table.flat)


def is_finite(X: Features) -> bool:
    """Tell whether X is an array or a sparse matrix without NaN and infinity; of frames nothing is known."""
    if is_frame(X):
        return False
    values = X.data if is_sparse(X) else X
    if values.dtype.kind in "biu":
        return True
    # One pass without a temporary as large as X: a sum is finite unless some value is not, or it overflows. That of
    # squares is the fastest where BLAS can take it, and overflows first.
    if values.flags.forc and values.dtype in (np.float32, np.float64):
        flat = values.ravel(order="K")
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.dot(flat, flat)):
                return True
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(values, dtype=np.float64)))


def _are_within(X: Features, size: float) -> bool:
    """Look at all numbers at once, in the fastest way; where this is not sure, one by one will tell."""
    values = X.data if is_sparse(X) else X
    if values.dtype not in (np.float32, np.float64) or not values.flags.forc:
        return False
    flat = values.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.dot(flat, flat) <= min(size, size * size))


def _refuse_huge(X: Features, size: float) -> None:
    values = X.data if is_sparse(X) else X
    if values.size and (largest := max(float(values.max()), -float(values.min()))) > size:
        raise FeatureError(f"X must be within {size:g} of zero; got {largest:g}. Scale the features.")


def equal_column(X: Features, values: NDArray[np.float64]) -> str | None:
    """Name a column of X that holds the very values, if there is one."""
    head = slice(0, 64)
    if is_frame(X):
        for name in numeric_columns(X):
            column = X[name]
            if np.array_equal(column[head], values[head]) and np.array_equal(column, values):
                return f"column {name!r}"
    elif not is_sparse(X):
        for column in np.flatnonzero((X[head] == values[head, np.newaxis]).all(axis=0)):
            if np.array_equal(X[:, column], values):
                return f"column {column}"
    return None


def refuse_dates(frame: Features, nominal: list[Any]) -> None:
    """Refuse nominal columns of a frame that are dates or times."""
    for name in nominal:
        dtype = frame[name].dtype
        # numpy and pandas tell by a letter, polars by name.
        if getattr(dtype, "kind", None) in ("m", "M") or str(dtype).startswith(("Date", "Duration", "Time")):
            raise FeatureError(
                f"column {name!r} holds dates or times, neither numbers nor names. Make numbers of them, such "
                "as the days since an event, or leave them out; offsettree.TableEncoder.learn([frame]).encode(frame) "
                "makes the day of the week and the hour of them, and numbers of all other columns."
            )


def _with_remedy(check: Any, *args: Any, **kwargs: Any) -> Features:
    """Run one of scikit-learn's checks; its complaint becomes ours, with what to do."""
    try:
        return check(*args, **kwargs)
    except TypeError as error:
        raise FeatureTypeError(f"X must be a table of numbers; {error}") from error
    except (ValueError, OverflowError) as error:
        message = str(error)
        if "feature names" in message or "features, but" in message:
            message += "\nPass the columns that the policy was fitted on, in the same order."
        elif "0 sample(s)" in message:
            message += "\nX is empty: a policy needs at least one row to learn from or decide on."
        elif "could not convert string" in message or "dtype='numeric'" in message:
            message += "\nPass nominal features as a pandas or polars frame, to a learner that encodes them."
        raise FeatureError(message) from error


def _refuse_infinity(frame: Features) -> None:
    """Refuse infinity in the numbers of a frame; whether NaN may be there is the learner's to say."""
    for name in numeric_columns(frame):
        bad = np.isinf(as_floats(frame[[name]])).ravel()
        if bad.any():
            raise FeatureError(
                f"X must not hold infinity; row {int(bad.argmax())}, column {name!r} does "
                f"({int(bad.sum()):,} in all). Replace infinity by a large number or mark it as missing."
            )


def _refuse_not_finite(X: Features, names: NDArray[np.object_] | None, *, allow_nan: bool, first_row: int) -> None:
    """Refuse the values of X that are not finite; unless `allow_nan`, NaN is one of them."""
    values = X.data[: X.indptr[-1]] if is_sparse(X) else X  # what lies behind the last row is in none
    bad = np.isinf(values) if allow_nan else ~np.isfinite(values)
    n_bad = int(np.count_nonzero(bad))
    if n_bad == 0:
        return
    if is_sparse(X):
        place = int(np.flatnonzero(bad)[0])
        row, column = int(np.searchsorted(X.indptr, place, side="right")) - 1, int(X.indices[place])
    else:
        row, column = (int(i) for i in np.argwhere(bad)[0])
    remedy = (
        "Replace infinity by a large number or mark it as missing."
        if allow_nan
        else "Impute missing values (SimpleImputer in a Pipeline), or use a learner that takes NaN, such as a tree."
    )
    kind = "infinity" if allow_nan else "NaN or infinity"
    where = f"column {column}" if names is None else f"column {names[column]!r}"
    raise FeatureError(
        f"X must not hold {kind} for this learner; row {first_row + row}, {where} has "
        f"{X[row, column]} ({n_bad:,} value{'s' * (n_bad != 1)} in all). {remedy}"
    )
