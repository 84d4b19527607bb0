from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse import random as random_sparse
from sklearn.datasets import dump_svmlight_file

from offsettree.datasets import load_svmlight, make_synsep
from offsettree.exceptions import DatasetError

TWO_ROWS = b"3 1:0.5 4:2\n-1 2:1 # a comment\n"


@pytest.mark.parametrize(("name", "pack"), [("a.svm", bytes), ("a.gz", gzip.compress), ("a.bz2", bz2.compress)])
def test_a_file_is_read_packed_or_not(name: str, pack: type[bytes], tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(pack(TWO_ROWS))
    X, y = load_svmlight(tmp_path / name)
    assert X.dtype == np.float32
    assert X.indices.dtype == np.int32
    np.testing.assert_array_equal(X.toarray(), [[0.5, 0, 0, 2], [0, 1, 0, 0]])
    np.testing.assert_array_equal(y, [3, -1])
    assert y.dtype == np.int64


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    X = csr_matrix(random_sparse(50, 30, density=0.2, dtype=np.float32, random_state=0))
    y = make_synsep(50, random_state=0)[1]
    dump_svmlight_file(X, y, str(tmp_path / "a.svm"), zero_based=True)
    again, labels = load_svmlight(str(tmp_path / "a.svm"))
    np.testing.assert_allclose(again.toarray(), X.toarray()[:, : again.shape[1]])
    np.testing.assert_array_equal(labels, y)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"1 1:2\n1,2 1:3\n", "line 2 has several labels, '1,2'. Keep the rows with one"),
        (b"age,income\n1,2\n", "line 1 begins with 'age,income', which is not a number"),
        (b"# head\n\n1 1:2\n2 1:2 income\n", "line 4 has 'income', which is not an index:value pair"),
        (b"1 2:1 1:1\n2 1:1\n", "line 1 has '1:1'; indices must increase"),
        (b"1 1:1 1:1\n2 1:1\n", "line 1 has '1:1'; indices must increase"),
        (b"1 3000000000:1\n2 1:1\n", "line 1 has '3000000000:1'; indices must increase and be below"),
        (b"1 -1:1\n2 1:1\n", "line 1 has '-1:1', which is not an index:value pair"),
        (b"\x00\xff\xfe\n", "line 1 begins with"),
        (b"1.5 1:2\n2 1:3\n", "one whole number per row as its label, the class; data row 1 has 1.5"),
        (b"1 1:2\nnan 1:3\n", "one whole number per row as its label, the class; data row 2 has nan"),
        (b"1 1:2\n2 1:3 2:nan\n", "must hold finite values; data row 2 has NaN or infinity"),
        (b"7 1:2\n7 1:3\n", "must have rows of at least 2 classes; it has 2 rows of 1"),
        (b"", "must have rows of at least 2 classes; it has 0 rows of 0"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(text: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.svm").write_bytes(text)
    with pytest.raises(DatasetError, match=r"bad\.svm") as refused:
        load_svmlight(tmp_path / "bad.svm")
    assert message in str(refused.value)


def test_long_numbers_are_matched_in_one_way_only(tmp_path: Path) -> None:
    """Else to find out what is wrong with this line would take years."""
    (tmp_path / "bad.svm").write_bytes(b"1" * 30_000 + b"," + b"1" * 30_000 + b"x 1:2\n")
    with pytest.raises(DatasetError, match=r"bad\.svm"):
        load_svmlight(tmp_path / "bad.svm")


def test_a_packed_file_that_is_broken_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "plain.gz").write_bytes(TWO_ROWS)
    with pytest.raises(DatasetError, match=r"plain\.gz cannot be read: Not a gzipped file"):
        load_svmlight(tmp_path / "plain.gz")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(TWO_ROWS * 1000)[:-20])
    with pytest.raises(DatasetError, match=r"cut\.gz cannot be read"):
        load_svmlight(tmp_path / "cut.gz")


def test_a_file_that_is_not_there_is_said_not_to_be(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"none\.svm must be a file in svmlight format; it is missing"):
        load_svmlight(tmp_path / "none.svm")
    with pytest.raises(DatasetError, match="it is a folder"):
        load_svmlight(tmp_path)
