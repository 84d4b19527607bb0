"""Large tables: chunks for all cores, rows in the form that kernels take."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS_PER_THREAD = 10_000  # below, waking a thread costs more than it saves
ROWS_PER_COPY = 4096
VALUES_AT_ONCE = 1 << 22  # of a CSR matrix that are written out

Work = Callable[[int, int], int]
Walk = Callable[[NDArray[Any], int, int], int]
WalkCsr = Callable[[NDArray[Any], NDArray[Any], NDArray[Any], int, int], int]


def is_csr(X: Any) -> bool:
    """Tell a CSR matrix or array from a table of numbers."""
    return hasattr(X, "indptr")


def usable_threads() -> int:
    """Count the cores that this call may use: fewer inside joblib's workers, or where the environment says so."""
    if hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) == 1:
        return 1  # joblib would look in files to find out
    from joblib import effective_n_jobs

    limits = [os.environ.get(name, "") for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS")]
    return max(1, min([int(effective_n_jobs(-1)), *(int(limit) for limit in limits if limit.isdigit())]))


def _over_chunks(work: Work, n_rows: int, n_walks: int) -> int:
    """Call `work(begin, end)` until all rows are done, in threads where there are many; join what they return by or."""
    enough = n_rows * n_walks // ROWS_PER_THREAD
    n_chunks = 1 if enough < 2 else min(usable_threads(), enough, n_rows)
    if n_chunks == 1:
        return work(0, n_rows)
    ends = np.linspace(0, n_rows, n_chunks + 1).astype(int).tolist()
    # The kernels hold no lock. A pool for each call: nothing is left behind that a fork could inherit.
    with ThreadPoolExecutor(n_chunks) as pool:
        results = list(pool.map(work, ends[:-1], ends[1:]))
    return int(np.bitwise_or.reduce(results))


def over_tables(walk: Walk, X: NDArray[Any], kinds: tuple[np.dtype[Any], ...], n_walks: int = 1) -> int:
    """Call `walk(values, first, last)` until all rows are done; `values` are rows first to last - 1 as one long array.

    Their type is one of the `kinds`, and the last of them where X is of none. `n_walks` are the trees that each row
    goes through.
    """
    X = np.asarray(X)
    if len(X) == 0:
        return 0
    fits = X.dtype in kinds
    as_it_is = fits and X.flags.carray  # what cannot be written to is of a type of its own to kernels
    if as_it_is and len(X) * n_walks < 2 * ROWS_PER_THREAD:
        return walk(X.reshape(-1), 0, len(X))

    def work(begin: int, end: int) -> int:
        found = 0
        for first, last in _pieces(begin, end, as_it_is):
            table = X[first:last]
            if not as_it_is:
                with np.errstate(over="ignore"):  # too large for float32 is infinite to a threshold as well
                    table = np.require(table, X.dtype if fits else kinds[-1], ["C", "W"])
            found |= walk(table.reshape(-1), first, last)
        return found

    return _over_chunks(work, len(X), n_walks)


def over_rows(walk: Callable[[NDArray[Any], slice], int], X: NDArray[Any], kinds: Any, begin: int, n_walks: int) -> int:
    """Call `walk(table, rows)` until all rows are done; `rows` count from `begin`. See `over_tables`."""
    width = X.shape[1]
    return over_tables(
        lambda values, first, last: walk(values.reshape(last - first, width), slice(begin + first, begin + last)),
        X,
        kinds,
        n_walks,
    )


def over_csr(walk: WalkCsr, X: Any, kinds: tuple[np.dtype[Any], ...], n_walks: int = 1) -> None:
    """Call `walk(data, indices, indptr, first, last)` until all rows of a CSR matrix are done."""
    data = X.data
    if data.dtype not in kinds:
        with np.errstate(over="ignore"):
            data = data.astype(kinds[-1])
    _over_chunks(
        lambda begin, end: walk(data, X.indices, X.indptr[begin : end + 1], begin, end),
        X.shape[0],
        n_walks,
    )


def dense_blocks(X: Any) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the first row and a table of as many rows as can be written out at once; an array as it is."""
    if not is_csr(X):
        yield 0, np.asarray(X)
        return
    step = max(1, VALUES_AT_ONCE // max(1, X.shape[1]))
    for first in range(0, X.shape[0], step):
        yield first, X[first : first + step].toarray()


def choose_rows_by(
    kernels: Any, parts: tuple[Any, ...], X: Any, kinds: Any, refused: int, for_csr: tuple[Any, ...] = ()
) -> NDArray[np.intp] | None:
    """Choose by the kernels `choose_rows` and `choose_csr` of a module; None where X, being an array, has the refused.

    Both take `parts` first; the latter has `for_csr` before the place for its answers.
    """
    out = np.empty(X.shape[0], dtype=np.intp)
    if is_csr(X):
        over_csr(
            lambda data, indices, indptr, first, last: kernels.choose_csr(
                *parts, data, indices, indptr, *for_csr, out[first:last]
            ),
            X,
            kinds,
        )
        return out
    found = over_tables(
        lambda values, first, last: kernels.choose_rows(*parts, values, out[first:last], refused), X, kinds
    )
    return None if found & refused else out


def _pieces(begin: int, end: int, whole: bool) -> Iterator[tuple[int, int]]:
    step = max(1, end - begin) if whole else ROWS_PER_COPY
    for first in range(begin, end, step):
        yield first, min(first + step, end)
