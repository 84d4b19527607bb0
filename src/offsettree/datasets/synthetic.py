"""SynSep and SynNonSep: generated documents, from the experiments of the Banditron's authors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from offsettree._validation import as_random_state
from offsettree.exceptions import ParameterError

__all__ = ["make_synsep"]

N_CLASSES = 9
N_WORDS = 400
N_KEYWORDS = 120
FEWEST, MOST = 20, 40  # keywords of a class
N_OFF = 5  # keywords of its class that a document lacks
N_ON = 20  # other words of a document, which are no keywords
CHUNK = 1 << 16  # rows drawn at a time, to limit temporary memory


def make_synsep(
    n_rows: int = 1_000_000, *, label_noise: float = 0.0, random_state: int | np.random.RandomState | None = None
) -> tuple[csr_matrix, NDArray[np.int64]]:
    """Generate SynSep, or with label noise SynNonSep: bags of words in nine classes that differ by their keywords.

    There are 400 words; the first 120 are keywords. Each class has 20 to 40 of them, drawn at random, so that classes
    share some. A document has all but 5 keywords of its class, and 20 of the other 280 words. No class has all keywords
    of another class's document, so a linear classifier can separate them.

    Parameters
    ----------
    n_rows : int, default=1_000_000
        Number of documents.
    label_noise : float in [0, 1], default=0.0
        The probability that a label is replaced by one of the other eight, drawn uniformly; 0.05 gives SynNonSep. The
        documents do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the keywords, the documents and the label noise.

    Returns
    -------
    X : CSR matrix of shape (n_rows, 400)
        Ones where a document has a word, as float32; 32-bit indices, sorted.
    y : array of shape (n_rows,)
        The class of each, 0 to 8.

    References
    ----------
    S. M. Kakade, S. Shalev-Shwartz and A. Tewari. Efficient bandit algorithms for online multiclass prediction. ICML
    2008.

    Examples
    --------
    >>> X, y = make_synsep(1000, random_state=0)
    >>> X.shape, X.dtype.name
    ((1000, 400), 'float32')
    >>> noisy = make_synsep(1000, label_noise=0.05, random_state=0)[1]
    >>> bool(0.02 < (noisy != y).mean() < 0.08)
    True
    """
    if isinstance(n_rows, bool) or not isinstance(n_rows, (int, np.integer)) or n_rows < 1:
        raise ParameterError(f"n_rows must be a whole number of at least 1; got {n_rows!r}.")
    if not 0 <= label_noise <= 1:
        raise ParameterError(f"label_noise must be in [0, 1]: the share of labels replaced; got {label_noise!r}.")
    random = as_random_state(random_state)
    # Separate random streams: the documents do not depend on the noise.
    words, noise = (np.random.default_rng(random.randint(2**31, size=4)) for _ in range(2))
    keywords = _draw_keywords(words)
    y = words.integers(N_CLASSES, size=n_rows)
    lengths = np.array([len(own) for own in keywords]) - N_OFF + N_ON
    starts = np.concatenate([[0], np.cumsum(lengths[y])])
    indices = np.empty(starts[-1], dtype=np.int32)
    for rows, own in _rows_by_class(y, keywords):
        document = np.hstack(
            [_without(words, own, len(rows)), N_KEYWORDS + _distinct(words, len(rows), N_ON, N_WORDS - N_KEYWORDS)]
        )
        indices[starts[rows, np.newaxis] + np.arange(document.shape[1])] = document
    X = csr_matrix((np.ones(len(indices), dtype=np.float32), indices, starts), shape=(n_rows, N_WORDS))
    X.has_canonical_format = True  # sorted, without duplicates: saves scipy the check
    replaced = noise.random(n_rows) < label_noise
    shift = noise.integers(1, N_CLASSES, size=n_rows)
    return X, np.where(replaced, (y + shift) % N_CLASSES, y)


def _draw_keywords(random: np.random.Generator) -> list[NDArray[np.int64]]:
    """Draw each class's keywords, sorted; draw again if a document could belong to two classes."""
    while True:
        sizes = random.integers(FEWEST, MOST, endpoint=True, size=N_CLASSES)
        keywords = [np.sort(random.choice(N_KEYWORDS, size, replace=False)) for size in sizes]
        if all(len(np.setdiff1d(own, other)) > N_OFF for own in keywords for other in keywords if own is not other):
            return keywords


def _rows_by_class(
    y: NDArray[np.int64], keywords: list[NDArray[np.int64]]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.int64]]]:
    """Yield, chunk by chunk, the rows of each class with its keywords; such rows have equal lengths."""
    for start in range(0, len(y), CHUNK):
        for label, own in enumerate(keywords):
            rows = start + np.flatnonzero(y[start : start + CHUNK] == label)
            if len(rows):
                yield rows, own


def _without(random: np.random.Generator, own: NDArray[np.int64], n_rows: int) -> NDArray[np.int64]:
    """Return the class's keywords for each row, sorted, without `N_OFF` random ones."""
    on = np.ones((n_rows, len(own)), dtype=bool)
    np.put_along_axis(on, _distinct(random, n_rows, N_OFF, len(own)), values=False, axis=1)
    return own[np.nonzero(on)[1]].reshape(n_rows, -1)


def _distinct(random: np.random.Generator, n_rows: int, n_drawn: int, n_words: int) -> NDArray[np.int64]:
    """Draw words without replacement for each row, sorted.

    Rejection sampling: rows with a duplicate are drawn again, which keeps all sets equally likely. About half the rows
    are accepted at once, which is much cheaper than shuffling all words for each row.
    """
    drawn = np.empty((n_rows, n_drawn), dtype=np.int64)
    pending = np.arange(n_rows)
    while len(pending):
        # 16 bits suffice for a word, and sort several times as fast as 64.
        trial = np.sort(random.integers(n_words, size=(len(pending), n_drawn), dtype=np.int16), axis=1)
        drawn[pending] = trial
        pending = pending[(trial[:, 1:] == trial[:, :-1]).any(axis=1)]
    return drawn
