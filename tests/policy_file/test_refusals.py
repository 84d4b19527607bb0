"""A file that is damaged or forged is refused, and nothing in it is run."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

from offsettree import (
    ConstantPolicy,
    ImportanceWeighted,
    OffsetForest,
    OffsetTree,
    OnlineOffsetTree,
    RewardBoosting,
    RewardRegression,
    load,
    save,
)
from offsettree.encoding.table_encoder import EncodedColumn, TableEncoder
from offsettree.exceptions import PolicyFileError
from offsettree.models.part import Part, refusing
from offsettree.policy_file import _archive
from tests.policy_file.forgery import UnvotedBoosting, contexts, forge, small_log

TREE, PLANES, COMMITTEE, SCORES, ONLINE, VOTES = "tree", "planes", "committee", "scores", "online", "votes"
TREE_OF_SIX, COMMITTEE_OF_SIX = "tree of six", "committee of six"
CONSTANT, BOOSTED, VOTED = "constant", "boosted", "boosted with votes"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    log = small_log(200)
    policies: dict[str, Any] = {
        TREE: OffsetTree(random_state=0),
        PLANES: OffsetTree(LogisticRegression(), random_state=0),
        COMMITTEE: OffsetTree(RandomForestClassifier(2, max_depth=2), random_state=0),
        SCORES: RewardRegression(DecisionTreeRegressor(max_depth=3)),
        ONLINE: OnlineOffsetTree(actions=range(4)),
        VOTES: ImportanceWeighted(n_draws=2, random_state=0),
        CONSTANT: ConstantPolicy(),
        BOOSTED: UnvotedBoosting(n_trees=5, n_folds=2, random_state=0),
        VOTED: RewardBoosting(n_trees=5, n_folds=2, random_state=0),
    }
    for name, policy in policies.items():
        save(policy.fit(**log.arrays()), folder / name)
    wide = small_log(200, n_actions=6)
    more = {TREE_OF_SIX: policies[TREE], COMMITTEE_OF_SIX: policies[COMMITTEE]}
    for name, policy in more.items():
        save(policy.fit(**wide.arrays()), folder / name)
    return {name: folder / name for name in (*policies, *more)}


@settings(max_examples=60)
@given(st.data())
def test_one_flipped_bit_anywhere_is_noticed(files: dict[str, Path], data: st.DataObject) -> None:
    whole = bytearray(files[TREE].read_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= 1 << data.draw(st.integers(0, 7))
    damaged = files[TREE].with_name("flipped")
    damaged.write_bytes(whole)
    with pytest.raises(PolicyFileError):
        load(damaged)


@settings(max_examples=30)
@given(st.floats(0, 1, exclude_max=True))
def test_a_file_cut_off_is_noticed(files: dict[str, Path], share: float) -> None:
    whole = files[TREE].read_bytes()
    cut = files[TREE].with_name("cut")
    cut.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(PolicyFileError, match=r"damaged|cut off|empty|not a policy file|not one that"):
        load(cut)


def test_what_is_appended_is_noticed(files: dict[str, Path]) -> None:
    longer = files[TREE].with_name("longer")
    longer.write_bytes(files[TREE].read_bytes() + b"more")
    with pytest.raises(PolicyFileError):
        load(longer)


class Bomb:
    """Pickles into something that leaves a trace when it is loaded."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return Path.touch, (self.trace,)


def test_a_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "policy.ot").write_bytes(pickle.dumps(Bomb(tmp_path / "trace")))
    with pytest.raises(PolicyFileError, match="not a policy file but a pickle"):
        load(tmp_path / "policy.ot")
    assert not (tmp_path / "trace").exists()


def test_a_pickle_inside_is_run_only_if_asked_for(files: dict[str, Path], tmp_path: Path) -> None:
    archive = _archive.read_archive(files[TREE], 1 << 30)
    archive.manifest.pop("members")
    _archive.write_archive(
        tmp_path / "forged", archive.manifest, {}, {"policy.pickle": pickle.dumps(Bomb(tmp_path / "trace"))}
    )
    for allowed in (False, 1, "yes"):
        with pytest.raises(PolicyFileError, match=r"to load it would run .* allow_pickle=True"):
            load(tmp_path / "forged", allow_pickle=allowed)  # type: ignore[arg-type]
    assert not (tmp_path / "trace").exists()


def other_zip(path: Path, compression: int, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.comment = b"sha256=" + b"0" * 64
    with path.open("r+b") as file:
        _archive._seal(file)
    return path


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"manifest.json": b"{}", "../up.npy": b""}, "must not be in it"),
        ({"manifest.json": b"{}", "/etc/passwd": b""}, "must not be in it"),
        ({"manifest.json": b"{}", "code.py": b""}, "must not be in it"),
        ({"array.npy": b""}, "no manifest.json"),
        ({"manifest.json": b"[1]"}, "must name its members"),
        ({"manifest.json": b"{"}, "must be JSON"),
        ({"manifest.json": b'{"a": NaN}'}, "NaN is no JSON"),
        ({"manifest.json": b'{"a": 1, "a": 2}'}, "a key is there twice"),
        ({"manifest.json": b"[" * 100_000}, "must be JSON"),
        ({"manifest.json": b'{"members": {}}', "a.npy": b""}, "'a.npy' is in one of them only"),
        ({"manifest.json": b'{"members": {}}'}, "must say format"),
    ],
)
def test_other_zips_are_refused(members: dict[str, bytes], message: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyFileError, match=message):
        load(other_zip(tmp_path / "other", zipfile.ZIP_STORED, members))


def test_a_zip_bomb_is_refused_before_it_unfolds(tmp_path: Path) -> None:
    bomb = other_zip(tmp_path / "bomb", zipfile.ZIP_DEFLATED, {"manifest.json": b"{}", "zeros.npy": b"\0" * (1 << 24)})
    assert bomb.stat().st_size < 1 << 16
    with pytest.raises(PolicyFileError, match=r"neither compressed .* would unfold from"):
        load(bomb)


def test_a_file_larger_than_expected_is_refused(files: dict[str, Path]) -> None:
    with pytest.raises(PolicyFileError, match="must not be larger than max_bytes=1,000"):
        load(files[TREE], max_bytes=1000)


def test_arrays_of_objects_are_refused(files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO()
    np.save(file, np.array([Bomb(tmp_path / "trace")], dtype=object), allow_pickle=True)
    real = _archive._as_npy
    monkeypatch.setattr(_archive, "_as_npy", lambda name, array: (file.getvalue(), real(name, array)[1]))
    forged = forge(files[TREE], lambda manifest, arrays: None, tmp_path / "forged")
    with pytest.raises(PolicyFileError, match=r"must have as many bytes|header differs"):
        load(forged)
    assert not (tmp_path / "trace").exists()


def put(name: str, place: Any, value: Any) -> Any:
    """Write one wrong number into an array."""

    def change(manifest: dict[str, Any], arrays: dict[str, Any]) -> None:
        array = arrays[name]
        array[place] = value(array) if callable(value) else value

    return change


def first_split(arrays: dict[str, Any], prefix: str = "policy.contests") -> int:
    return int(np.flatnonzero(arrays[f"{prefix}.feature"] >= 0)[0])


def at_split(name: str, value: Any, prefix: str = "policy.contests") -> Any:
    def change(manifest: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[f"{prefix}.{name}"][first_split(arrays, prefix)] = value

    return change


def wrap(name: str) -> Any:
    """Let numbers fall where their differences, which wrap around, do not."""

    def change(manifest: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name][1:-1] = -1
        arrays[name][1:3] = 2**63 - 1, -(2**63)

    return change


def say(*path: Any, value: Any) -> Any:
    """Let the manifest say something else."""

    def change(manifest: dict[str, Any], arrays: dict[str, Any]) -> None:
        *way, last = path
        for step in way:
            manifest = manifest[step]
        manifest[last] = value

    return change


def also(manifest: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["policy.more"] = np.zeros(3)


def wider(manifest: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["policy.weights"] = np.hstack([arrays["policy.weights"]] * 2)


def shorter(name: str) -> Any:
    def change(manifest: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name] = arrays[name][:1]

    return change


def nested(manifest: dict[str, Any], arrays: dict[str, Any]) -> None:
    for _ in range(50):
        manifest["policy"] = {"kind": "votes", "members": [manifest["policy"]]}


def below_two(manifest: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["policy.contests.left"][0] = arrays["policy.contests.right"][0]


def labelled(*labels: str) -> dict[str, Any]:
    return {"type": "text", "labels": list(labels)}


def wide_encoder() -> dict[str, Any]:
    column = EncodedColumn("x" * 10_000, "nominal", tuple(map(str, range(7_000))))
    return {"columns": [asdict(column)], "notes": []}


def deep(n_levels: int) -> list[Any]:
    return [deep(n_levels - 1)] if n_levels else []


def encoded(n_columns: int) -> Any:
    """Add an encoder whose rows are of another width."""
    encoder = TableEncoder([EncodedColumn(f"x{i}", "number") for i in range(n_columns)])
    return say("encoder", value=encoder.to_manifest())


def levels_of_many_digits(manifest: dict[str, Any], arrays: dict[str, Any]) -> None:
    encoding = {"levels": {"1" * 5000: ["u"]}, "shown": [[0, -1]]}
    manifest["features"] |= {"names": list("abcd"), "encoding": encoding}


def encoded_twice(manifest: dict[str, Any], arrays: dict[str, Any]) -> None:
    encoded(4)(manifest, arrays)
    shown = [[0, 0], [1, -1], [2, -1], [3, -1]]
    manifest["features"] |= {"names": list("abcd"), "encoding": {"levels": {"0": ["u"]}, "shown": shown}}


FORGED: dict[str, tuple[str, Any, str]] = {
    "a cycle of splits": (TREE, at_split("left", 0), "children after their parent"),
    "a child of another tree": (TREE, at_split("right", 10**6), "children after their parent"),
    "a column that is not there": (TREE, at_split("feature", 4), "columns from 0 to 3"),
    "a huge column": (TREE, at_split("feature", 2**31 - 1), "columns from 0 to 3"),
    "half a leaf": (TREE, at_split("feature", -1), "splits with two children"),
    "a threshold of NaN": (TREE, at_split("threshold", np.nan), "no NaN"),
    "a set that is not there": (TREE, at_split("category_set", 5), "sets from"),
    "trees that end early": (TREE, put("policy.contests.start", -1, 1), "must be of type|ascending"),
    "trees in disorder": (TREE, put("policy.contests.start", 1, 10**6), "ascending"),
    "a cycle of actions": (TREE, put("policy.left", (0, 0), 0), "not as it must be"),
    "an action twice": (TREE, put("policy.left", (0, -1), -1), "not as it must be"),
    "weights that are not finite": (PLANES, put("policy.contests.weights", (0, 0), np.inf), "finite"),
    "an answer that is none": (PLANES, put("policy.contests.constant", 0, 7), "-1, 0 or 1"),
    "a cycle in a committee": (COMMITTEE, put("policy.contests.nodes", (0, 2), 0), "children after their parent"),
    "a leaf beyond the last": (COMMITTEE, put("policy.contests.nodes", (0, 2), -(10**6)), "leaves"),
    "a column beyond the last": (COMMITTEE, put("policy.contests.nodes", (0, 0), 9), "columns below 4"),
    "flags that are not known": (COMMITTEE, put("policy.contests.flags", 0, 4), "known flags"),
    "sets that are not known": (COMMITTEE, put("policy.contests.flags", 0, 2), "sets below 0"),
    "a member elsewhere": (COMMITTEE, put("policy.contests.place", 0, 10**6), "places within"),
    "a kind of member that is none": (COMMITTEE, put("policy.contests.kind", 0, 9), "from 0 to 3"),
    "a division by zero": (COMMITTEE, put("policy.contests.divisor", 0, 0.0), "above 0"),
    "an output that is none": (SCORES, put("policy.summands.0.output", 0, 4), "outputs below 4"),
    "an output below zero": (SCORES, put("policy.summands.0.output", 0, -2), "outputs below 4"),
    "an indicator that is none": (SCORES, put("policy.summands.0.which", 0, 3), "indicators that there are"),
    "a value elsewhere": (SCORES, put("policy.summands.0.value_of", -1, 10**6), "at every leaf"),
    "a cycle of entries": (SCORES, at_split("left", 0, "policy.summands.0"), "children after their parent"),
    "weights of another shape": (ONLINE, wider, "must be of type float32 and shape"),
    "more bits than weights": (ONLINE, say("policy", "bits", value=32), "must be of type float32 and shape"),
    "classes that meet elsewhere": (VOTES, put("policy.members.0.pairs", (0, 0), 99), "numbers from 0 to 3"),
    "an order without some action": (CONSTANT, put("policy.order", slice(None), 0), "every action once"),
    "an order of actions that are none": (CONSTANT, put("policy.order", 3, 4), "numbers from 0 to 3"),
    "an answer beyond the last": (CONSTANT, say("policy", "answer", value=4), "from 0 to 3"),
    "a boosted column that is not there": (BOOSTED, put("policy.feature", (0, 0), 4), "numbers from 0 to 3"),
    "a boosted leaf of NaN": (BOOSTED, put("policy.values", (0, 0, 0), np.nan), "finite"),
    "boosted outputs beyond the last": (BOOSTED, put("policy.output", 0, 10**6), "numbers from 0 to"),
    "a linear column that is not there": (BOOSTED, put("policy.column", 0, -1), "numbers from 0 to 3"),
    "what nobody makes of a column": (BOOSTED, put("policy.what", 0, 63), "numbers from -2 to 62"),
    "weights of fewer columns": (BOOSTED, shorter("policy.weights"), "at least"),
    "a depth that does not fit": (
        BOOSTED,
        say("policy", "depth", value=4),
        "must be of type int32 and shape",
    ),
    "a voted column that is not there": (VOTED, put("policy.boosted.feature", (0, 0), 4), "numbers from 0 to 3"),
    "votes that weigh too much": (VOTED, say("policy", "weight", value=1e10), "from 0 to 1e"),
    "votes of a weight below zero": (VOTED, say("policy", "weight", value=-1.0), "from 0 to 1e"),
    "votes by no forest": (VOTED, say("policy", "forest", "kind", value="constant"), "must be one of contests"),
    "votes of trees that do not vote": (VOTED, say("policy", "forest", "voting", value=False), "trees that vote"),
    "scores by a forest": (VOTED, say("policy", "boosted", "kind", value="contests"), "must be one of boosted"),
    "nests within nests": (TREE, nested, "must not nest"),
    "an array too many": (TREE, also, "has no use for it"),
    "a foreign kind": (TREE, say("policy", "kind", value="os.system"), "must be one of constant, known"),
    "a foreign kind of contests": (TREE, say("policy", "contests", "kind", value="builtins.eval"), "must be one of"),
    "a kind that is no word": (TREE, say("policy", "kind", value=["contests"]), "must be one of"),
    "a foreign type of labels": (TREE, say("actions", "type", value="object"), "must be one of text"),
    "labels of two types": (TREE, say("actions", "labels", value=[0, "1", 2, 3]), "at least two labels"),
    "labels twice": (TREE, say("actions", "labels", value=[0, 1, 1, 3]), "differ from each other"),
    "more labels than actions": (TREE, say("actions", "labels", value=[0, 1, 2, 3, 4]), "must be of type int32"),
    "more features than columns": (PLANES, say("features", "count", value=9), "must be of type float64"),
    "names for other features": (TREE, say("features", "names", value=["u"]), "null or 4 names"),
    "a policy that is none": (TREE, say("policy", value=None), "by a mapping"),
    "another format": (TREE, say("format", value="something"), "must say format 'offsettree policy'"),
    "a version that is none": (TREE, say("version", value="1"), "whole number from 1 on"),
    "a later version": (TREE, say("version", value=2), "too new: it was written by format 2.*Upgrade"),
    "an encoder that is none": (TREE, say("encoder", value={"columns": 3}), "manifest.encoder is not as it must be"),
    "an encoder of fewer columns": (TREE, encoded(3), "as many columns as the policy takes, 4; it makes 3"),
    "an encoder of fewer columns than weights": (PLANES, encoded(1), "as many columns as the policy takes, 4"),
    "an encoder of more columns": (SCORES, encoded(5), "as many columns as the policy takes, 4; it makes 5"),
    "an encoder beside nominal columns": (TREE, encoded_twice, "encodes nominal columns itself"),
    "one long label": (TREE, say("actions", value=labelled("x" * 10_001, *"abc")), "at most 10,000 characters"),
    "many labels, one of them long": (
        TREE,
        say("actions", value=labelled("x" * 10_000, *map(str, range(7_000)))),
        r"67,108,864 in all if each .* got 7,001 labels of up to 10,000",
    ),
    "labels that an array takes for equal": (TREE, say("actions", value=labelled("a\0", *"abc")), "the character 0"),
    "long names of many columns": (TREE, say("encoder", value=wide_encoder()), "at most 67,108,864 characters"),
    "a manifest that nests too deep": (TREE, say("facts", value=deep(300)), "nest more than 200 deep"),
    "trees that fall unseen": (TREE_OF_SIX, wrap("policy.contests.start"), "ascending"),
    "committees that fall unseen": (COMMITTEE_OF_SIX, wrap("policy.contests.part_start"), "ascending"),
    "members that fall unseen": (COMMITTEE_OF_SIX, wrap("policy.contests.member_start"), "ascending"),
    "more features than memory": (ONLINE, say("features", "count", value=2**31), "whole number from 1 to 16777216"),
    "an entry below two others": (TREE, below_two, "no two ways lead to one entry"),
    "half a character": (TREE, say("actions", value=labelled("\ud800", *"abc")), "half a character"),
    "half a character in a fact": (TREE, say("facts", value={"log": "\udcff"}), "half a character"),
    "levels of many digits": (TREE, levels_of_many_digits, "lists of plain values by column"),
    "rows out of order": (TREE, put("rows.numbers", 0, 2**63), "ascending"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_numbers_are_refused_though_all_checksums_are_right(
    name: str, files: dict[str, Path], tmp_path: Path
) -> None:
    which, change, message = FORGED[name]
    forged = forge(files[which], change, tmp_path / "forged")
    with pytest.raises(PolicyFileError, match=message) as caught:
        load(forged)
    assert str(forged) in str(caught.value)


@settings(max_examples=60)
@given(st.data())
def test_whatever_number_is_forged_a_policy_decides_or_is_refused(
    files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """No checksum helps here: what gets through must be safe to walk, and answer with known labels."""
    which = data.draw(st.sampled_from(sorted(set(files) - {TREE_OF_SIX, COMMITTEE_OF_SIX})))

    def change(manifest: dict[str, Any], arrays: dict[str, Any]) -> None:
        name = data.draw(st.sampled_from(sorted(name for name, array in arrays.items() if array.size)))
        flat = arrays[name].reshape(-1).view(np.uint8)
        for _ in range(data.draw(st.integers(1, 3))):
            flat[data.draw(st.integers(0, len(flat) - 1))] = data.draw(st.integers(0, 255))

    forged = forge(files[which], change, tmp_path_factory.getbasetemp() / "forged-numbers")
    try:
        policy = load(forged)
    except PolicyFileError:
        return
    X = contexts(40)
    with np.errstate(all="ignore"):
        chosen = policy.predict(X).tolist()
        assert set(chosen) <= set(policy.actions_.tolist())
        assert [policy.decide(row) for row in X[:3]] == chosen[:3]


def test_what_does_not_fit_into_memory_is_a_fault_of_the_file() -> None:
    with pytest.raises(PolicyFileError, match=r"labels is not as it must be"), refusing("labels"):
        raise MemoryError


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PolicyFileError, match="must be a file; it is a pipe or a device"):
        load(tmp_path / "pipe")


def test_trees_whose_scores_count_from_other_centres_vote_as_each_alone(tmp_path: Path) -> None:
    log = small_log()
    save(OffsetForest(n_trees=1, linear_scores=True, random_state=0).fit(**log.arrays()), tmp_path / "tree.ot")
    archive = _archive.read_archive(tmp_path / "tree.ot", 1 << 30)
    tree = archive.manifest["policy"] | {"voting": False}
    own = {name: array for name, array in archive.arrays.items() if name.startswith("policy.")}
    rest = {name: array for name, array in archive.arrays.items() if name not in own}

    def written(policy: dict[str, Any], arrays: dict[str, Any]) -> Any:
        _archive.write_archive(tmp_path / "policy.ot", archive.manifest | {"policy": policy}, rest | arrays, {})
        return load(tmp_path / "policy.ot")

    alone = []
    within: dict[str, Any] = {}
    for place, shift in enumerate((0, 1, 1)):
        moved = {name: array + np.float32(shift) if name.endswith("centre") else array for name, array in own.items()}
        alone.append(written(tree, moved).predict(contexts()))
        within |= {name.replace("policy.", f"policy.members.{place}."): array for name, array in moved.items()}
    assert (alone[0] != alone[1]).any()
    members = [tree, tree, tree, {"kind": "constant", "answer": 0}]
    policy = written({"kind": "votes", "members": members}, within)
    votes = np.stack([*alone, np.full(500, policy.actions_[0])])[:, :, np.newaxis] == policy.actions_
    expected = policy.actions_[votes.sum(axis=0).argmax(axis=1)]
    np.testing.assert_array_equal(policy.predict(contexts()), expected)
    assert [policy.decide(x) for x in contexts()[:20]] == expected[:20].tolist()


@pytest.mark.parametrize("wrapped", [[0, 2**63 - 1, -(2**63), -1, 3], [0, 2**62, -(2**62), -1, 3]])
def test_starts_are_compared_and_not_subtracted(wrapped: list[int]) -> None:
    part = Part({}, "part", {"part.start": np.array(wrapped)}, set())
    assert (np.diff(wrapped) >= 0).all() or wrapped[1] < 2**63 - 1
    for n_members in (None, 3):
        with pytest.raises(PolicyFileError, match="ascending"):
            part.starts("start", 4, n_members)


def test_more_features_than_a_file_may_have_are_not_written(tmp_path: Path) -> None:
    X = sp.csr_matrix(([1.0, 1.0], ([0, 1], [0, 2**24])), shape=(4, 2**24 + 1))
    policy = OnlineOffsetTree(n_bits=4).fit(X, [0, 1] * 2, reward=[0, 1] * 2, propensity=0.5)
    with pytest.raises(PolicyFileError, match=r"at most 16,777,216 features .* takes 16,777,217. Hash"):
        save(policy, tmp_path / "policy.ot")


def test_facts_hold_the_names_of_files_that_are_no_text(files: dict[str, Path], tmp_path: Path) -> None:
    save(load(files[TREE]), tmp_path / "again", facts={"log": "caf\udce9.csv", "\udce9": Path("\udce9")})
    assert load(tmp_path / "again").manifest["facts"] == {"log": "caf\\udce9.csv", "\\udce9": "\\udce9"}


@pytest.mark.parametrize("label", ["x" * 10_001, "a\0b", "a\ud800"])
def test_labels_that_could_not_be_read_again_are_not_written(label: str, tmp_path: Path) -> None:
    policy = OffsetTree(random_state=0).fit(np.zeros((4, 1)), ["a", "b"] * 2, reward=[0, 1] * 2, propensity=0.5)
    policy.actions_ = np.array([label, "b"])  # fit refuses some of these
    with pytest.raises(PolicyFileError, match="Name"):
        save(policy, tmp_path / "policy.ot")
    assert not list(tmp_path.iterdir())
