"""RCV1, the news stories of the paper's section 7.2; scikit-learn downloads them once."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.datasets import fetch_rcv1

from offsettree.exceptions import DatasetError

__all__ = ["TOPICS", "load_rcv1_topics"]

TOPICS = ("CCAT", "ECAT", "GCAT", "MCAT")


def load_rcv1_topics() -> tuple[csr_matrix, NDArray[np.str_]]:
    """Load the stories of RCV1 that have exactly one of the four top-level topics.

    scikit-learn downloads them once, hundreds of megabytes, into the folder of `sklearn.datasets.get_data_home`. Words
    are weighted by tf-idf and each story has length 1. The Banditron's authors built their own bags of words of
    673,768 stories: similar to this, but not the same.

    Returns
    -------
    X : CSR matrix of shape (n_rows, 47236)
        The stories, as float32, in scikit-learn's order.
    y : array of str, of shape (n_rows,)
        The topic of each: CCAT (corporate), ECAT (economics), GCAT (government) or MCAT (markets).
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of every failed attempt, even if a later one succeeds
            stories = fetch_rcv1()
    except (OSError, EOFError, ValueError) as error:
        raise DatasetError(
            f"RCV1 must be on disk or downloadable; scikit-learn's fetch_rcv1 failed ({error}). Connect to the "
            "internet, copy the folder RCV1 of sklearn.datasets.get_data_home() from a machine that has it, or use "
            "generated data: synsep or synnonsep."
        ) from error
    column = [list(stories.target_names).index(topic) for topic in TOPICS]
    topics = stories.target.tocsc()[:, column].toarray().astype(bool)
    single = topics.sum(axis=1) == 1
    X = csr_matrix(stories.data[single], dtype=np.float32)
    X.sort_indices()
    return X, np.array(TOPICS)[topics[single].argmax(axis=1)]
