from __future__ import annotations

from typing import Any
from urllib.error import URLError

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.utils import Bunch

from offsettree.datasets import downloaded, load_rcv1_topics
from offsettree.exceptions import DatasetError


def test_stories_with_exactly_one_top_level_topic_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    names = np.array(["C11", "CCAT", "ECAT", "GCAT", "M11", "MCAT"])
    topics = [["C11", "CCAT"], ["CCAT", "ECAT"], ["MCAT", "M11"], ["C11"], ["GCAT"], ["ECAT"]]
    target = csr_matrix([[int(name in story) for name in names] for story in topics], dtype=np.uint8)
    stories = Bunch(data=csr_matrix(np.eye(6)), target=target, target_names=names)
    monkeypatch.setattr(downloaded, "fetch_rcv1", lambda: stories)
    X, y = load_rcv1_topics()
    assert y.tolist() == ["CCAT", "MCAT", "GCAT", "ECAT"]
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X.toarray(), np.eye(6)[[0, 2, 4, 5]])


@pytest.mark.parametrize("failure", [URLError("Name or service not known"), EOFError("cut off"), OSError("no space")])
def test_a_download_that_fails_is_explained(failure: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Any:
        raise failure

    monkeypatch.setattr(downloaded, "fetch_rcv1", fail)
    with pytest.raises(DatasetError, match=r"fetch_rcv1 failed .* Connect to the internet, copy the folder RCV1"):
        load_rcv1_topics()
