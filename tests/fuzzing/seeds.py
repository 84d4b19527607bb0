"""What cases are made from: a file of every kind of policy, live policies, and a log in every format."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier

from offsettree import DoublyRobust, OffsetForest, OffsetTree, TableEncoder, save
from offsettree.exceptions import PolicyFileError
from tests.fuzzing.action_seeds import make_action_seeds
from tests.suites.policies import POLICIES, make_log
from tests.suites.readers import FORMS, make_frame

POLICY_FILES, LIVE, LOGS = "policies", "live", "logs"
N_ROWS = 60


def make_seeds(folder: Path) -> None:
    """Write them into a folder, each under its own name."""
    for name in (POLICY_FILES, LIVE, LOGS):
        (folder / name).mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, policy in _policies().items():
            _write(policy, folder, name)
        _write_nominal(folder)
        _write_encoded(folder)
        make_action_seeds(folder)
        for name, form in FORMS.items():
            path = form.write(make_frame(12), folder / LOGS / name.replace(" ", "-").replace(".", "-"))
            path.rename(path.with_name(f"{name.replace(' ', '-')}~{path.name.partition('.')[2]}"))


def _policies() -> dict[str, Any]:
    more = {
        "offset tree, boosting": OffsetTree(HistGradientBoostingClassifier(max_iter=3), random_state=0),
        "doubly robust, boosting": DoublyRobust(reward_model="boosting", random_state=0),
    }
    return {**POLICIES, **more}


def _write(policy: Any, folder: Path, name: str) -> None:
    policy = clone(policy)
    log = make_log(policy, n_rows=N_ROWS, labels=["a", "b", "c"])
    policy.fit(**log.arrays())
    name = name.replace(" ", "-").replace(",", "")
    (folder / LIVE / name).write_bytes(pickle.dumps(policy))
    try:
        save(policy, folder / POLICY_FILES / name)
    except PolicyFileError:  # its learners have no form in flat arrays
        return


def _write_nominal(folder: Path) -> None:
    log = make_log(OffsetTree(), n_rows=N_ROWS)
    frame = pd.DataFrame(log.X, columns=list("uvwx")).assign(city=np.resize(["rome", "oslo", None], N_ROWS))
    policy = OffsetForest(n_trees=3, random_state=0)
    policy.fit(frame, log.action, reward=log.reward, propensity=log.propensity)
    save(policy, folder / POLICY_FILES / "nominal")


def _write_encoded(folder: Path) -> None:
    frame = make_frame(N_ROWS)
    encoder = TableEncoder.learn([frame[["age", "city", "score"]]])
    policy = OffsetTree(random_state=0)
    policy.fit(encoder.encode(frame), frame["action"], reward=frame["reward"], propensity=0.5)
    save(policy, folder / POLICY_FILES / "encoded", encoder=encoder)


if __name__ == "__main__":
    import sys

    make_seeds(Path(sys.argv[1]))
