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
from offsettree.policy_file._archive import read_archive, write_archive
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
        _write_votes(folder)
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


def _write_votes(folder: Path) -> None:
    """Write a vote of trees whose splits are by scores, of which no two have one centre, and others."""
    path = folder / POLICY_FILES / "votes"
    log = make_log(OffsetForest(), n_rows=N_ROWS, labels=["a", "b", "c"])
    save(OffsetForest(n_trees=1, linear_scores=True, random_state=0).fit(**log.arrays()), path)
    archive = read_archive(path, 1 << 30)
    tree = archive.manifest["policy"] | {"voting": False}
    own = {name: array for name, array in archive.arrays.items() if name.startswith("policy.")}
    members: list[dict[str, Any]] = [{"kind": "constant", "answer": 0}]
    arrays = {name: array for name, array in archive.arrays.items() if name not in own}
    for place in (1, 2):
        members.append(tree)
        for name, array in own.items():
            moved = array + np.float32(place) if name.endswith("centre") else array
            arrays[name.replace("policy.", f"policy.members.{place}.", 1)] = moved
    manifest = {name: value for name, value in archive.manifest.items() if name != "members"}
    write_archive(path, manifest | {"policy": {"kind": "votes", "members": members}}, arrays, {})


def _write_encoded(folder: Path) -> None:
    frame = make_frame(N_ROWS)
    encoder = TableEncoder.learn([frame[["age", "city", "score"]]])
    policy = OffsetTree(random_state=0)
    policy.fit(encoder.encode(frame), frame["action"], reward=frame["reward"], propensity=0.5)
    save(policy, folder / POLICY_FILES / "encoded", encoder=encoder)


if __name__ == "__main__":
    import sys

    make_seeds(Path(sys.argv[1]))
