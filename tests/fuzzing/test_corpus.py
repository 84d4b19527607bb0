"""What once crashed, hung or raised an error that was not ours is answered, or refused."""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import pytest

from offsettree import LoggedData, load
from offsettree.exceptions import OffsetTreeError
from offsettree.workflow.inspection import inspect_log
from tests.fuzzing.targets import ask, rows_for

CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.name)
def test_what_was_found_once_holds(file: Path) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if file.suffix == ".ot":
            with suppress(OffsetTreeError):
                policy = load(file)
                random = Random(0)  # noqa: S311 - nothing is secret
                ask(policy, rows_for(policy, random), random)
            return
        for read in (LoggedData.read, lambda path: list(LoggedData.scan(path)), inspect_log):
            with suppress(OffsetTreeError):
                read(file)
