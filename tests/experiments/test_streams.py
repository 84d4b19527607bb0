from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from offsettree import datasets
from offsettree.datasets import make_synsep
from offsettree.exceptions import DatasetError, ParameterError
from offsettree.experiments.streams import open_stream


@pytest.fixture
def file(tmp_path: Path) -> Path:
    X, y = make_synsep(60, random_state=0)
    path = tmp_path / "documents.svm"
    dump_svmlight_file(X, y, str(path))
    return path


@pytest.mark.parametrize(("name", "noise"), [("synsep", 0.0), ("synnonsep", 0.05)])
def test_generated_rows_are_those_of_the_seed(name: str, noise: float) -> None:
    stream = open_stream(name, 500)
    X, y = stream.draw(3)
    X_there, y_there = make_synsep(500, label_noise=noise, random_state=3)
    np.testing.assert_array_equal(X.toarray(), X_there.toarray())
    np.testing.assert_array_equal(y, y_there)
    assert stream.actions.tolist() == list(range(9))
    assert (stream.name, stream.identity, stream.n_rows, stream.whole) == (name, name, 500, False)
    assert open_stream(name).n_rows == 1_000_000
    assert open_stream(name).whole


def test_the_rows_of_a_file_are_shown_once_in_the_order_of_the_seed(file: Path) -> None:
    stream = open_stream(str(file))
    assert stream.whole
    assert stream.n_rows == 60
    X, y = datasets.load_svmlight(file)
    X_first, y_first = stream.draw(0)
    X_other, y_other = stream.draw(1)
    assert X_first.format == "csr"
    rows, first, other = (
        [(*document, label) for document, label in zip(matrix.toarray().tolist(), labels, strict=True)]
        for matrix, labels in ((X, y), (X_first, y_first), (X_other, y_other))
    )
    assert rows != first != other
    assert sorted(rows) == sorted(first) == sorted(other)
    part = open_stream(str(file), 10)
    assert not part.whole
    np.testing.assert_array_equal(part.draw(0)[1], y_first[:10])
    assert part.actions.tolist() == stream.actions.tolist()


def test_a_file_with_other_content_has_records_of_its_own(file: Path) -> None:
    before = open_stream(str(file)).identity
    assert open_stream(str(file)).identity == before
    file.write_text(file.read_text() + "3 1:1\n")
    after = open_stream(str(file))
    assert after.identity != before
    assert after.name == "documents.svm"


def test_rcv1_is_shown_by_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_synsep(20, random_state=0)
    monkeypatch.setattr(datasets, "load_rcv1_topics", lambda: (X, np.where(y > 4, "CCAT", "MCAT")))
    stream = open_stream("rcv1")
    assert (stream.name, stream.identity, stream.n_rows) == ("rcv1", "rcv1", 20)
    assert stream.actions.tolist() == ["CCAT", "MCAT"]


def test_what_cannot_be_shown_is_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="rows must be at least 1; got 0"):
        open_stream("synsep", 0)
    with pytest.raises(ParameterError, match=r"rows must be at most the 60 of documents\.svm; got 61"):
        open_stream(str(file), 61)
    with pytest.raises(ParameterError, match="'mnist' is none of these names, and there is no such file"):
        open_stream("mnist")
    with pytest.raises(DatasetError, match="it is a folder"):
        open_stream(str(tmp_path))
