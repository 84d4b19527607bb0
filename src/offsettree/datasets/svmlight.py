"""Files in svmlight format, as used by LIBSVM: a label and index:value pairs per line."""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file

from offsettree.exceptions import DatasetError

__all__ = ["load_svmlight"]

NUMBER = rb"[+-]?(\d++(\.\d*+)?|\.\d++)([eE][+-]?\d++)?"  # digits in one way only, however long the line
LABEL = re.compile(NUMBER)
SEVERAL = re.compile(rb"%b(,%b)+" % (NUMBER, NUMBER))
PAIR = re.compile(rb"(\d+):%b|qid:\d+" % NUMBER)
LARGEST = 2**31 - 1  # limit of scikit-learn's reader


def load_svmlight(path: str | Path) -> tuple[csr_matrix, NDArray[np.int64]]:
    r"""Load a file of labelled rows, such as those of the LIBSVM collection.

    Parameters
    ----------
    path : path
        Lines are ``label index:value index:value ...`` with increasing indices. Files that end in ``.gz`` or ``.bz2``
        are decompressed.

    Returns
    -------
    X : CSR matrix of shape (n_rows, n_features)
        As float32. Indices start at 0 if the file has an index 0, else at 1.
    y : array of shape (n_rows,)
        The labels, which must be whole numbers.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "two.svm")
    ...     _ = file.write_text("1 1:0.5 3:2\n-1 2:1\n")
    ...     X, y = load_svmlight(file)
    >>> X.shape, y
    ((2, 3), array([ 1, -1]))
    """
    path = Path(path)
    if not path.is_file():
        what = "a folder" if path.is_dir() else "missing"
        raise DatasetError(f"{path} must be a file in svmlight format; it is {what}.")
    try:
        X, label = load_svmlight_file(str(path), dtype=np.float32)
    except (ValueError, OverflowError, EOFError, OSError, zlib.error) as error:
        raise DatasetError(f"{_first_malformed_line(path) or f'{path} cannot be read: {error}.'}") from error
    _check_labels(label, path)
    if not np.isfinite(X.data).all():
        row = int(np.searchsorted(X.indptr, np.flatnonzero(~np.isfinite(X.data))[0], side="right")) - 1
        raise DatasetError(f"{path} must hold finite values; data row {row + 1} has NaN or infinity. Leave it out.")
    # Rebuilding the matrix gives it 32-bit indices if these suffice.
    return csr_matrix((X.data, X.indices, X.indptr), shape=X.shape), label.astype(np.int64)


def _check_labels(label: NDArray[np.float64], path: Path) -> None:
    whole = np.isfinite(label) & (label == np.round(label))
    if not whole.all():
        row = int(np.flatnonzero(~whole)[0])
        raise DatasetError(
            f"{path} must have one whole number per row as its label, the class; data row {row + 1} has {label[row]}. "
            "Regression targets are not classes."
        )
    n_classes = len(np.unique(label))
    if n_classes < 2:
        raise DatasetError(f"{path} must have rows of at least 2 classes; it has {len(label)} rows of {n_classes}.")


def _first_malformed_line(path: Path) -> str | None:
    """Describe the first malformed line; None if the file cannot be read at all."""
    try:
        with _open(path) as file:
            for number, line in enumerate(file, start=1):
                defect = _defect(line)
                if defect:
                    return f"{path} is not in svmlight format (label index:value ...): line {number} {defect}"
    except (OSError, EOFError, zlib.error):
        pass
    return None


def _defect(line: bytes) -> str | None:
    label, *pairs = line.split(b"#")[0].split() or [b"0"]
    shown = repr(label[:40].decode(errors="replace"))
    if SEVERAL.fullmatch(label):
        return f"has several labels, {shown}. Keep the rows with one, and give each a whole number."
    if not LABEL.fullmatch(label):
        return f"begins with {shown}, which is not a number."
    before = -1
    for pair in pairs:
        found = PAIR.fullmatch(pair)
        shown = repr(pair[:40].decode(errors="replace"))
        if not found:
            return f"has {shown}, which is not an index:value pair."
        if found[1]:
            index = int(found[1])
            if not before < index < LARGEST:
                return f"has {shown}; indices must increase and be below 2^31 - 1."
            before = index
    return None


def _open(path: Path) -> IO[bytes]:
    opener = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix, open)
    return opener(path, "rb")  # type: ignore[operator,no-any-return]
