"""Four workers make the policy file of one process. Ray can be started once at a time: hence a file of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from offsettree import LoggedData
from tests.distributed.conftest import AT_LENGTH, ENGINES, running
from tests.distributed.test_engines import CLASSES, POLICIES
from tests.policy_files import content_of

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not AT_LENGTH, reason="make test-engines starts four workers"),
]


@pytest.mark.parametrize("name", ENGINES)
def test_four_workers_make_the_same_file(name: str, logs: Path, tmp_path: Path) -> None:
    with running(name, 4) as client:
        for cls, settings in POLICIES.values():
            alone = cls(random_state=0, **settings).fit_log(LoggedData.scan(logs))
            policy = CLASSES[cls](random_state=0, client=client, storage=tmp_path, **settings).fit(logs)
            assert content_of(policy.to_local()) == content_of(alone)
