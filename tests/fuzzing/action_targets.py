"""What is done with a case about actions with features: each answer is one of its row's own, or an error of ours."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd

from offsettree import ActionSets, LoggedData, OnlineActionOffsetTree, OnlineActionRegression, load_action_policy
from offsettree.exceptions import OffsetTreeError
from offsettree.policy_file._archive import DTYPES, read_archive, write_archive
from tests.fuzzing.action_seeds import HOW, N_FEATURES, N_ITEM_FEATURES
from tests.fuzzing.forms import FoundError, numbers, odd_table
from tests.fuzzing.values import change_array, change_bytes, change_json, odd_json

ROWS, MOST_ACTIONS = 5, 4
ONLINE = OnlineActionRegression, OnlineActionOffsetTree


def hostile_sets(path: Path, random: Random, scratch: Path) -> None:
    """Change the bytes or the values of a log with action sets, or of its items; read it and learn from it."""
    name, _, suffix = path.name.partition("~")
    how = dict(HOW[name])
    data, items = path.read_bytes(), how.pop("items", None)
    if items is not None and random.random() < 0.3:
        items_data = change_bytes(items.encode(), random)
    else:
        items_data = (items or "").encode()
        data = _changed_log(data, suffix, random)
    file, second = scratch.with_name(f"sets.{suffix}"), scratch.with_name("items.csv")
    file.write_bytes(data)
    if items is not None:
        second.write_bytes(items_data)
        how["items"] = second
    if random.random() < 0.5:
        logs = [LoggedData.read(file, action_sets=True, **how)]
    else:
        logs = list(LoggedData.scan(file, chunk_rows=3, action_sets=True, **how))
    products: Any = "context-action" if name == "vw-hashed" else "all"
    for log in logs:
        assert log.action_sets is not None
        check_choices(log.action_sets, log.action)
        policy = OnlineActionRegression(n_bits=6, interactions=products, reward_range=(-1e6, 1e6)).fit(**log.arrays())
        check_choices(log.action_sets, policy.predict(log.X, log.action_sets))


def _changed_log(data: bytes, suffix: str, random: Random) -> bytes:
    if suffix in ("ndjson", "dsjson") and random.random() < 0.6:
        lines = [json.loads(line) for line in data.splitlines()]
        for _ in range(random.choice([1, 2, 5])):
            change_json(random.choice(lines) if random.random() < 0.8 else lines, random)
            if not lines:
                return b"\n"
        return "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    if suffix == "parquet" and random.random() < 0.6:
        return _changed_parquet(data, random)
    return change_bytes(data, random)


def _changed_parquet(data: bytes, random: Random) -> bytes:
    """Write the rows again with other lists in them, as far as Arrow has a type for them."""
    import io

    rows = pd.read_parquet(io.BytesIO(data)).to_dict("records")
    rows = json.loads(json.dumps(rows, default=lambda array: array.tolist()))
    for _ in range(random.choice([1, 2, 5])):
        change_json(random.choice(rows), random)
    file = io.BytesIO()
    try:
        pd.DataFrame(rows).to_parquet(file)
    except Exception:
        return change_bytes(data, random)
    return file.getvalue()


@cache
def chooser(path: Path) -> Any:
    """Return a policy that is as it should be."""
    return pickle.loads(path.read_bytes())


def odd_choices(path: Path, random: Random, _: Path) -> None:
    """Ask a live policy about contexts and sets that are put together wrongly."""
    policy = copy.deepcopy(chooser(path)) if "online" in path.name else chooser(path)
    ask_chooser(policy, path.name, random)


def forged_chooser(path: Path, random: Random, scratch: Path) -> None:
    """Change numbers and manifest of the file of a policy over actions, with right checksums; load and ask it."""
    file = scratch.with_name("chooser.ot")
    if random.random() < 0.2:
        file.write_bytes(change_bytes(path.read_bytes(), random))
    else:
        seed = read_archive(path, 1 << 30)
        manifest, arrays = copy.deepcopy(seed.manifest), dict(seed.arrays)
        manifest.pop("members", None)
        for _ in range(random.choice([1, 1, 2, 3])):
            if random.random() < 0.7:
                name = random.choice(sorted(arrays))
                arrays[name] = change_array(arrays[name], random)
            else:
                part = manifest.get("policy")
                change_json(part if random.random() < 0.7 and isinstance(part, dict) else manifest, random)
        arrays = {name: np.ascontiguousarray(each) for name, each in arrays.items() if each.dtype.str in DTYPES}
        try:
            write_archive(file, manifest, arrays, seed.others)
        except (ValueError, TypeError, UnicodeEncodeError, AttributeError):  # no file, no case
            return
    ask_chooser(load_action_policy(file), path.name, random)


def ask_chooser(policy: Any, form: str, random: Random) -> None:
    """Ask for all kinds of answers; every one must be among the row's own actions."""
    sizes = [random.randrange(1, MOST_ACTIONS + 1) for _ in range(ROWS)]
    listed: list[list[Any]] = [random.sample(range(12), size) for size in sizes]
    n_pairs = sum(sizes)
    X, items, pairs = numbers((ROWS, N_FEATURES), random), numbers((12, N_ITEM_FEATURES), random), None
    pairs = numbers((n_pairs, 1), random)
    tables: dict[str, Any] = {"X": X, "items": items, "pairs": pairs}
    if "frames" in form:
        tables = {
            "X": pd.DataFrame(X, columns=list("uvw")).assign(city=random.choice(["rome", None, 3.0])),
            "items": pd.DataFrame(items, columns=["price", "size"]),
            "pairs": pd.DataFrame(pairs, columns=["near"]),
        }
    for name, table in {"X": X, "items": items, "pairs": pairs}.items():
        if random.random() < 0.25:
            tables[name] = odd_table(table, random)
    kinds: list[Callable[[], None]] = [
        lambda: _ask_tables(policy, tables, listed, random),
        lambda: _ask_one(policy, form, X, items, random),
    ]
    for ask in kinds:
        with suppress(OffsetTreeError):
            ask()


def _ask_tables(policy: Any, tables: dict[str, Any], listed: list[list[Any]], random: Random) -> None:
    ids: Any = listed
    starts: Any = None
    if random.random() < 0.2:
        ids = change_json(copy.deepcopy(listed), random)
    elif random.random() < 0.3:
        ids = np.array([label for each in listed for label in each])
        starts = np.concatenate([[0], np.cumsum([len(each) for each in listed])])
        starts = change_array(starts, random) if random.random() < 0.7 else starts
    item_ids: Any = np.arange(12) if random.random() < 0.9 else change_array(np.arange(12), random)
    sets = ActionSets(ids, starts, items=tables["items"], item_ids=item_ids, pairs=tables["pairs"])
    repr(sets)
    X = tables["X"]
    asked: list[Callable[[], Any]] = [
        lambda: check_choices(sets, policy.predict(X, sets)),
        lambda: check_choices(sets, policy.rank(X, sets, random.choice([1, int(sets.sizes.min())]))[:, -1]),
        lambda: policy.predict_proba(X, sets),
    ]
    for ask in asked:
        with suppress(OffsetTreeError):
            ask()
    if isinstance(policy, ONLINE):
        action = [each[0] for each in sets]
        policy.partial_fit(X, action, reward=0.5, propensity=random.choice([1e-300, 0.5]), action_sets=sets)
        check_choices(sets, policy.predict(X, sets))


def _ask_one(policy: Any, form: str, X: Any, items: Any, random: Random) -> None:
    ids = random.sample(range(12), random.randrange(1, MOST_ACTIONS + 1))
    if random.random() < 0.5:
        x: Any = dict(zip("uvw", X[0].tolist(), strict=True)) | {"city": "rome"}
        actions: Any = [{"id": each, "price": items[each, 0], "size": 1.0, "near": 0.5} for each in ids]
        if random.random() < 0.5:
            change_json(actions, random)
        if random.random() < 0.3:
            change_json(x, random)
    else:
        x, actions = X[0], np.column_stack([items[: len(ids)], np.ones(len(ids))])
        actions = odd_table(actions, random) if random.random() < 0.3 else actions
        x = odd_json(random) if random.random() < 0.1 else X[: random.choice([0, 1, 2])] if random.random() < 0.2 else x
    chosen = policy.decide(x, actions)
    if isinstance(actions, np.ndarray):
        known = list(range(len(actions)))
    elif isinstance(actions, list) and all(isinstance(each, dict) and "id" in each for each in actions):
        known = [each["id"] for each in actions]
    else:
        known = actions if form == "popular" and isinstance(actions, list) else list(range(len(actions)))
    if chosen not in known:
        raise FoundError(f"{chosen!r} is none of {known}")
    if isinstance(policy, ONLINE):
        policy.learn(x, actions, chosen, random.choice([0.0, 1.0]), random.choice([1e-300, 0.5]))
        if policy.decide(x, actions) not in known:
            raise FoundError(f"after learning, the answer is none of {known}")


def check_choices(sets: ActionSets, chosen: Any) -> None:
    """Hold one answer per row against the row's own actions."""
    answers = np.asarray(chosen).tolist()
    if len(answers) != len(sets):
        raise FoundError(f"{len(answers)} answers for {len(sets)} rows")
    for row, label in enumerate(answers):
        if label not in sets[row]:
            raise FoundError(f"row {row} is answered by {label!r}, which is none of {sets[row]}")
