"""What is done with a case, and what must hold: an answer within its mask, or an error of ours."""

from __future__ import annotations

import copy
import io
import json
import pickle
import traceback
import warnings
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp

from offsettree import LoggedData, load
from offsettree.exceptions import OffsetTreeError
from offsettree.policy_file import _archive
from offsettree.policy_file._archive import Archive, read_archive
from offsettree.policy_file._json import read_json
from offsettree.policy_file._manifest import check_version, read_policy
from offsettree.workflow.inspection import inspect_log
from tests.fuzzing.action_seeds import CHOOSER_FILES, CHOOSERS, SET_LOGS
from tests.fuzzing.action_targets import forged_chooser, hostile_sets, odd_choices
from tests.fuzzing.forms import FoundError, numbers, odd_table
from tests.fuzzing.seeds import LIVE, LOGS, POLICY_FILES
from tests.fuzzing.values import change_array, change_bytes, change_json, odd_json

ROWS = 6
MANY_TIMES = 45  # blocks of rows, and some more


def run_case(target: str, seed_file: Path, number: int, scratch: Path) -> bool:
    """Run one case; return whether what was changed was taken. Whatever is not an error of ours is raised."""
    random = Random(f"{target}/{seed_file.name}/{number}")  # noqa: S311 - nothing is secret
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            TARGETS[target][1](seed_file, random, scratch)
        except OffsetTreeError:
            return False
        except (ValueError, TypeError) as error:
            if seed_file.parent.name == LIVE and is_learners_own(error):
                return False
            raise
    return True


def is_learners_own(error: BaseException) -> bool:
    """Tell what a learner of scikit-learn, within a live policy, says of numbers or forms that it does not take."""
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return "sklearn" in Path(frames[-1]).parts and any("offsettree" in Path(name).parts for name in frames)


@cache
def seed_archive(path: Path) -> Archive:
    """Read a file that is as it should be."""
    return read_archive(path, 1 << 30)


@cache
def seed_policy(path: Path) -> Any:
    """Load a policy that is as it should be."""
    return pickle.loads(path.read_bytes()) if path.parent.name == LIVE else load(path)


def forged_policy(path: Path, random: Random, scratch: Path) -> None:
    """Change numbers and manifest of a policy file, as one does who puts the checksums right."""
    seed = seed_archive(path)
    manifest, arrays = copy.deepcopy(seed.manifest), dict(seed.arrays)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        if random.random() < 0.7 and arrays:
            name = random.choice(sorted(arrays))
            arrays[name] = change_array(arrays[name], random)
        elif random.random() < 0.1 and arrays:
            name = random.choice(sorted(arrays))
            arrays[random.choice(sorted(seed.arrays))] = arrays.pop(name)
        else:
            part = random.choice(["policy", "policy", "features", "actions", "encoder", "facts", "training", None])
            within = manifest if part is None or not isinstance(manifest.get(part), dict) else manifest[part]
            change_json(within, random)
    try:
        text = json.dumps(manifest, allow_nan=False)
    except ValueError:
        return
    manifest = read_json(text.encode(), "manifest")
    check_version(manifest, "case")
    # As the archive hands them out: in one of a few types, and in order.
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items() if array.dtype.str in _archive.DTYPES}
    policy = read_policy(manifest, arrays)
    repr(policy)
    ask(policy, rows_for(policy, random), random)


def forged_archive(path: Path, random: Random, scratch: Path) -> None:
    """Change the bytes of a policy file, or how its members are stored, and seal it again."""
    whole = path.read_bytes()
    data = change_bytes(whole, random) if random.random() < 0.5 else _stored_otherwise(whole, random)
    if random.random() < 0.8 and len(data) > 64:
        file = io.BytesIO(data)
        _archive._seal(file)
        data = file.getvalue()
    scratch.write_bytes(data)
    policy = load(scratch)
    ask(policy, rows_for(policy, random), random)


def _stored_otherwise(whole: bytes, random: Random) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(file, "w") as new, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = old.namelist()
        chosen = random.choice(names)
        for name in names:
            data = old.read(name)
            if name == chosen:
                data = change_bytes(data, random) if random.random() < 0.5 else data
                name = random.choice(
                    [name, name, "../" + name, "manifest.json", name.upper(), name + ".npy", "/" + name]
                )
            how = random.choice([zipfile.ZIP_STORED] * 9 + [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
            new.writestr(zipfile.ZipInfo(name), data, how)
        new.comment = old.comment
    return file.getvalue()


def odd_tables(path: Path, random: Random, _: Path) -> None:
    """Ask a policy, live or loaded, about tables and masks that are put together wrongly."""
    policy = seed_policy(path)
    X = numbers((ROWS, policy.n_features_in_), random)
    odd = random.random() < 0.6
    table = odd_table(X, random) if odd else X
    n_actions = len(policy.actions_)
    mask = np.array([[random.random() < 0.4 for _ in range(n_actions)] for _ in range(ROWS)])
    mask[np.arange(ROWS), [random.randrange(n_actions) for _ in range(ROWS)]] = True
    kinds: list[Callable[[], Any]] = [lambda: mask, lambda: sp.csr_array(mask), lambda: odd_table(mask, random)]
    given = random.choice(kinds)()
    x = X[0] if random.random() < 0.5 else table
    asked: list[Callable[[], Any]] = [
        lambda: check_answers(policy, policy.predict(table), None),
        lambda: check_answers(policy, policy.predict(table, given), given),
        lambda: policy.predict_proba(table),
        lambda: check_answers(policy, policy.rank(table, random.choice([1, n_actions]), given)[:, 0], given),
        lambda: check_answers(policy, [policy.decide(table)], None),
        lambda: check_answers(policy, [policy.decide(x, odd_set(policy, random))]),
    ]
    for ask_one in random.sample(asked, 3):
        with suppress(OffsetTreeError):
            ask_one()


def odd_set(policy: Any, random: Random) -> Any:
    """Return what may stand for the actions of one decision."""
    labels = policy.actions_.tolist()
    return random.choice(
        [labels[:1], set(labels), [], ["z"], [True] * len(labels), [None], odd_json(random), labels * 2]
    )


def rows_for(policy: Any, random: Random) -> Any:
    """Return rows that a policy should take, with numbers at the ends of what there is; or not."""
    names = None if policy.encoder is None else [column.name for column in policy.encoder.columns]
    if names is not None:
        values = [None, 1.0, -1e30, "rome", "", "2024-01-01", "7", True]
        return [{name: random.choice(values) for name in names} for _ in range(ROWS)]
    if policy._inputs.nominal is not None:
        import pandas as pd

        nominal = policy._inputs.nominal.levels
        values = ["rome", "oslo", None, 3]
        return pd.DataFrame(
            {
                name: [random.choice(values) for _ in range(ROWS)]
                if place in nominal
                else numbers((ROWS, 1), random)[:, 0]
                for place, name in enumerate(policy._inputs.names)
            }
        )
    if policy.n_features_in_ > 1000:
        return sp.csr_array((ROWS, policy.n_features_in_))
    X = numbers((ROWS, policy.n_features_in_), random)
    form = random.randrange(4)
    return [X, X.astype(np.float32), sp.csr_array(np.where(X > 0, X, 0)), X][form]


def ask(policy: Any, X: Any, random: Random) -> None:
    """Ask a policy that was taken for everything it can tell, with and without a mask."""
    n_actions = len(policy.actions_)
    if n_actions > 1000:
        return
    mask = np.array([[random.random() < 0.4 for _ in range(n_actions)] for _ in range(ROWS)])
    mask[np.arange(ROWS), [random.randrange(n_actions) for _ in range(ROWS)]] = True
    check_answers(policy, policy.predict(X), None)
    try:
        check_answers(policy, policy.predict(X, mask), mask)
        check_answers(policy, policy.rank(X, 1, mask)[:, 0], mask)
    except OffsetTreeError:
        if policy.manifest["policy"].get("kind") not in ("banditron",):
            raise
    probability = policy.predict_proba(X)
    if probability.shape != (ROWS, n_actions) or not np.allclose(probability.sum(axis=1), 1):
        raise FoundError(f"probabilities that are none: {probability}")
    if isinstance(X, np.ndarray):
        check_answers(policy, [policy.decide(X[0]), policy.decide(X[0].tolist())], None)
        # Tables of more rows go through kernels of their own.
        answers = policy.predict(np.tile(X, (MANY_TIMES, 1)))
        if answers.tolist() != policy.predict(X).tolist() * MANY_TIMES:
            raise FoundError("the answers of many rows are not those of each few")


def check_answers(policy: Any, answers: Any, mask: Any = None) -> None:
    """Hold answers against the labels that there are, and the mask."""
    within: Any = None if mask is None else np.asarray(mask.toarray() if hasattr(mask, "toarray") else mask)
    position = {label: place for place, label in enumerate(policy.actions_.tolist())}
    listed = np.asarray(answers).tolist() if not isinstance(answers, list) else answers
    for row, label in enumerate(listed):
        if label not in position:
            raise FoundError(f"row {row} is answered by {label!r}, which is no action")
        if within is not None and not within[row, position[label]]:
            raise FoundError(f"row {row} is answered by {label!r}, which its mask excludes")


def hostile_log(path: Path, random: Random, scratch: Path) -> None:
    """Change the bytes of a log, or the values of its JSON, and read it in every way."""
    data = path.read_bytes()
    suffix = path.name.partition("~")[2]
    if suffix in ("ndjson", "dsjson") and random.random() < 0.5:
        lines = [json.loads(line) for line in data.splitlines()]
        for _ in range(random.choice([1, 2, 5])):
            change_json(lines, random)
        data = "".join(f"{json.dumps(line)}\n" for line in lines).encode() or b"\n"
    else:
        data = change_bytes(data, random)
    file = scratch.with_name(f"log.{suffix}")
    file.write_bytes(data)
    how = odd_options(random) if random.random() < 0.4 else {}
    read: list[Callable[[], Any]] = [
        lambda: LoggedData.read(file, **how),
        lambda: list(LoggedData.scan(file, chunk_rows=5, **how)),
        lambda: inspect_log(file, **how),
    ]
    random.choice(read)()


def odd_options(random: Random) -> dict[str, Any]:
    """Return options of reading that do not suit the file, or nobody can have meant."""
    kinds: dict[str, list[Any]] = {
        "format": ["csv", "ndjson", "vw", "dsjson", "parquet", "arrow"],
        "encoding": ["utf-16", "utf-16-le", "utf-32", "utf-7", "latin-1", "cp500", "shift_jis", "undefined", "a\0"],
        "delimiter": [",", ";", "\t", "|", "a", "1", '"', "\n", "\0", "é"],
        "decimal": [",", "1", "-", " ", "\r", "·"],
        "header": [False],
        "first_pass": [False],
        "types": [{"age": kind} for kind in ("number", "text")],
        "cost": ["one_minus_reward"],
        "max_line_bytes": [1, 64, 1 << 20],
        "max_nesting": [1, 3],
        "max_ratio": [1e-9, 1.0],
    }
    if random.random() < 0.3:
        kinds = {"header": [False], "action": ["column_4"], "reward": ["column_5"], "propensity": ["column_6"]}
        return {name: values[0] for name, values in kinds.items()}
    return {name: random.choice(kinds[name]) for name in random.sample(sorted(kinds), random.choice([1, 2]))}


TARGETS: dict[str, tuple[tuple[str, ...], Callable[[Path, Random, Path], None], int]] = {
    "policy": ((POLICY_FILES,), forged_policy, 6),
    "archive": ((POLICY_FILES,), forged_archive, 1),
    "table": ((POLICY_FILES, LIVE), odd_tables, 2),
    "log": ((LOGS,), hostile_log, 2),
    "sets": ((SET_LOGS,), hostile_sets, 2),
    "choices": ((CHOOSERS,), odd_choices, 4),
    "chooser": ((CHOOSER_FILES,), forged_chooser, 4),
}
