"""The offset tree out of core is the offset tree: the same policy, whatever the chunks, the runs and the workers."""

from __future__ import annotations

import errno
import io
import os
import pickle
import shutil
import sys
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_info, threadpool_limits

from offsettree import ActionTree, Costing, LoggedData, OffsetTree
from offsettree.exceptions import (
    ActionError,
    FeatureError,
    LogError,
    OffsetTreeWarning,
    ParameterError,
    RewardError,
    ScratchError,
)
from offsettree.learners import HistogramTree, _binning
from offsettree.reductions import _depth_first, _out_of_core, _routed_statistics, _scratch, _settled
from tests.strategies import seeds

LEARNERS = {
    "logistic": LogisticRegression(),
    "decision tree": DecisionTreeClassifier(max_depth=4),
    "default": None,
    "native with draws": HistogramTree(max_depth=3, leaf_scale="auto", max_features=0.5, random_cuts=True),
    "native with a seed": HistogramTree(random_cuts=True, random_state=7),
    "costing": Costing(KNeighborsClassifier(3), n_draws=2),
    "pipeline": make_pipeline(StandardScaler(), SGDClassifier()),
}


class Log(NamedTuple):
    """The parts that `fit` takes."""

    X: NDArray[np.float32]
    action: NDArray[Any]
    reward: NDArray[np.float64]
    propensity: NDArray[np.float64]

    def chunks(self, *cuts: int) -> Iterator[LoggedData]:
        for first, last in zip([0, *cuts], [*cuts, len(self.X)], strict=True):
            if first < last:
                yield LoggedData(*(part[first:last] for part in self))

    def arrays(self) -> dict[str, Any]:
        return self._asdict()


def make_log(n_rows: int, n_actions: int, seed: int = 0, *, labels: Any = None) -> Log:
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, 4)).astype(np.float32)
    action = random.integers(0, n_actions, n_rows)
    action[:n_actions] = np.arange(n_actions)[:n_rows]
    taste = random.standard_normal((n_actions, 4))
    reward = 1 / (1 + np.exp(-2 * (X * taste[action]).sum(axis=1) - random.standard_normal(n_rows)))
    reward[random.random(n_rows) < 0.1] = 0.5  # which says nothing
    return Log(X, action if labels is None else labels[action], reward, random.uniform(0.05, 1, n_rows))


def contents(policy: OffsetTree) -> list[Any]:
    """List all that a policy has learned, to the last bit."""
    return [
        policy.actions_.tolist(),
        str(policy.tree_),
        policy.offset_,
        policy.node_rows_.tolist(),
        *(pickle.dumps(learned(classifier)) for classifier in policy.estimators_),
    ]


def learned(classifier: Any) -> Any:
    if isinstance(classifier, HistogramTree):
        return [part.tolist() for part in (*classifier.flat_tree_.arrays(), classifier.flat_tree_.value)]
    if hasattr(classifier, "coef_"):
        return classifier.coef_.tolist(), classifier.intercept_.tolist()
    if hasattr(classifier, "tree_"):
        return classifier.tree_.value.tolist(), classifier.tree_.threshold.tolist()
    return classifier.get_params()


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs be of some 100 rows, parts of some 50, and sums of some 100 numbers."""
    monkeypatch.setattr(_scratch, "RUN_BYTES", 4_000)
    monkeypatch.setattr(_depth_first, "PART_ROWS", 50)
    monkeypatch.setattr(_routed_statistics, "SUMMED", 128)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.usefixtures("in_pieces")
def test_the_policy_is_that_of_fit_to_the_last_bit(learner: str) -> None:
    log = make_log(700, 7)
    policies = [OffsetTree(LEARNERS[learner], random_state=3) for _ in range(2)]
    policies[0].fit(**log.arrays())
    policies[1].fit_log(log.chunks(100, 101, 440))
    assert contents(policies[0]) == contents(policies[1])
    assert_array_equal(policies[0].predict(log.X), policies[1].predict(log.X))


@pytest.mark.parametrize("tree", ["random", "similar", "learned", ActionTree.from_pairs((((3, 1), 0), (4, (2, 5))))])
@pytest.mark.parametrize("offset", [0.3, "mean", "median"])
@pytest.mark.usefixtures("in_pieces")
def test_trees_and_offsets_are_those_of_fit(tree: Any, offset: Any) -> None:
    log = make_log(901, 6, seed=2)
    parameters: Any = {"tree": tree, "offset": offset, "reward_range": (-1.0, 3.0), "random_state": 5}
    one = OffsetTree(**parameters).fit(**log.arrays())
    two = OffsetTree(**parameters).fit_log(log.chunks(300, 600))
    assert contents(one) == contents(two)


@given(
    seed=seeds,
    n_rows=st.sampled_from([1, 2, 30, 200]),
    cuts=st.lists(st.integers(1, 199), max_size=8),
    run_bytes=st.sampled_from([1, 500, 5_000, 1 << 20]),
    part_rows=st.sampled_from([0, 20, 1000]),
    learner=st.sampled_from(["decision tree", "default"]),
    kind=st.sampled_from(["numbers", "names"]),
)
@settings(max_examples=40, deadline=None)
def test_chunks_runs_and_parts_leave_no_trace(
    seed: int, n_rows: int, cuts: list[int], run_bytes: int, part_rows: int, learner: str, kind: str
) -> None:
    n_actions = 2 + seed % 7
    labels = np.array([f"action {number}" for number in range(n_actions)]) if kind == "names" else None
    log = make_log(n_rows, n_actions, seed, labels=labels)
    actions = None if n_rows >= n_actions else (range(n_actions) if labels is None else labels)
    parameters: Any = {"actions": actions, "tree": "random", "offset": "mean", "random_state": seed}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", OffsetTreeWarning)  # of actions that were never logged
        patch.setattr(_scratch, "RUN_BYTES", run_bytes)
        patch.setattr(_depth_first, "PART_ROWS", part_rows)
        one = OffsetTree(LEARNERS[learner], **parameters).fit(**log.arrays())
        chunks = log.chunks(*sorted(cut for cut in set(cuts) if cut < n_rows))
        two = OffsetTree(LEARNERS[learner], **parameters).fit_log(chunks)
    assert contents(one) == contents(two)


@pytest.mark.parametrize("learner", ["logistic", "decision tree", "default"])
@pytest.mark.usefixtures("in_pieces")
def test_workers_leave_no_trace(learner: str) -> None:
    log = make_log(600, 9)
    one, two = (
        OffsetTree(LEARNERS[learner], tree="random", n_jobs=n_jobs, random_state=1).fit_log(log.chunks(400))
        for n_jobs in (1, 2)
    )
    assert contents(one) == contents(two)


class Spy(LogisticRegression):
    """Writes down how many threads BLAS had in each fit."""

    seen: list[int] = []  # noqa: RUF012

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("way", ["fit", "fit_log"])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.usefixtures("in_pieces")
def test_blas_has_one_thread_in_the_fits_of_contests(way: str, n_jobs: int) -> None:
    log = make_log(600, 12)
    Spy.seen.clear()
    with threadpool_limits(2, user_api="blas"), parallel_config(backend="threading"):
        policy = OffsetTree(Spy(), n_jobs=n_jobs)
        policy.fit(**log.arrays()) if way == "fit" else policy.fit_log(log.chunks(100))
    assert set(Spy.seen) == {1}


def test_rows_of_long_floats_are_stored_as_short_ones() -> None:
    log = make_log(400, 4)
    exact = log.X.astype(np.float64) + 1e-9
    one = OffsetTree(LogisticRegression()).fit(**log._replace(X=exact.astype(np.float32)).arrays())
    two = OffsetTree(LogisticRegression()).fit_log([LoggedData(exact, *log[1:])])
    assert contents(one) == contents(two)


def test_frames_of_numbers_are_taken_and_their_names_kept() -> None:
    pandas = pytest.importorskip("pandas")
    log = make_log(300, 3)
    frame = pandas.DataFrame(log.X, columns=list("abcd"))
    named = LoggedData(frame, *log[1:])
    policy = OffsetTree(random_state=0).fit_log(named[part] for part in (slice(99), slice(99, 300)))
    assert policy.feature_names_in_.tolist() == list("abcd")
    assert contents(policy) == contents(OffsetTree(random_state=0).fit(**log.arrays()))
    with pytest.raises(FeatureError, match="feature names"):
        OffsetTree().fit_log([named, LoggedData(frame[list("bacd")], *log[1:])])


def test_learning_can_go_on_with_more_chunks() -> None:
    log, more = make_log(500, 4), make_log(500, 4, seed=1)
    one = OffsetTree(SGDClassifier(), random_state=0).fit(**log.arrays()).partial_fit(**more.arrays())
    two = OffsetTree(SGDClassifier(), random_state=0).fit_log(log.chunks(200)).partial_fit(**more.arrays())
    assert contents(one) == contents(two)


def test_missing_values_are_left_to_learners_that_take_them() -> None:
    log = make_log(500, 4)
    log.X[::3, 1] = np.nan
    one, two = OffsetTree(random_state=0).fit(**log.arrays()), OffsetTree(random_state=0).fit_log(log.chunks(123))
    assert contents(one) == contents(two)
    log.X[:200] = 0
    with pytest.raises(FeatureError, match=r"row 201, column 1 has nan"):
        OffsetTree(LogisticRegression()).fit_log(log.chunks(99))


def test_many_actions_need_one_file_only(tmp_path: Path) -> None:
    log = make_log(17_000, 16_384)
    files: list[list[Path]] = []

    def chunks() -> Iterator[LoggedData]:
        for chunk in log.chunks(5_000, 10_000):
            yield chunk
            files.append([path for path in tmp_path.rglob("*") if path.is_file()])

    one, two = (OffsetTree(HistogramTree(max_depth=2), random_state=0) for _ in range(2))
    one.fit(**log.arrays())
    two.fit_log(chunks(), folder=tmp_path)
    assert {len(found) for found in files} == {1}
    assert_array_equal(one.node_rows_, two.node_rows_)
    assert_array_equal(one.predict(log.X[:500]), two.predict(log.X[:500]))


def spoiled(log: Log, **changes: Any) -> Iterator[LoggedData]:
    """Cut a log into chunks of 100 rows, with other values in its row 250."""
    for name, value in changes.items():
        getattr(log, name)[250] = value
    return log.chunks(100, 200, 300)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"reward": 1.5}, RewardError, r"reward_range=\(0, 1\); row 250 has 1.5"),
        ({"action": 99}, ActionError, "row 250 has 99"),
        ({"X": np.inf}, FeatureError, "row 250, column 0 has inf"),
    ],
)
def test_errors_count_rows_over_all_chunks(changes: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        OffsetTree(actions=range(4)).fit_log(spoiled(make_log(400, 4), **changes))


def test_a_number_too_large_for_a_short_float_is_refused() -> None:
    log = make_log(400, 4)
    with pytest.raises(FeatureError, match=r"row 250, column 0 has 1e\+300"):
        OffsetTree().fit_log(spoiled(log._replace(X=log.X.astype(np.float64)), X=[1e300, 0, 0, 0]))


@pytest.mark.parametrize(
    ("chunks", "error", "words"),
    [
        ([], LogError, "the log is empty"),
        ([make_log(9, 3).arrays()], LogError, "came a dict"),
        ([LoggedData([[0.0]], [1], [0.5], 1.0)], ActionError, "at least two actions"),
        ([LoggedData([[0.0]] * 2, label, [0, 1], 1.0) for label in ([0, 1], ["a", "b"])], ActionError, "are strings"),
        ([LoggedData(sp.csr_matrix(np.eye(2)), [0, 1], [0, 1], 1.0)], FeatureError, "sparse"),
        ([LoggedData(np.zeros((2, m)), [0, 1], [0, 1], 1.0) for m in (2, 3)], FeatureError, "expecting 2 features"),
    ],
)
def test_what_is_no_log_of_numbers_is_refused(chunks: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        OffsetTree().fit_log(chunks)


def test_frames_that_learners_would_see_as_they_are_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"colour": ["red", "blue"], "size": [1, 2]})
    with pytest.raises(FeatureError, match="TableEncoder"):
        OffsetTree().fit_log([LoggedData(frame, [0, 1], [0, 1], 1.0)])


@pytest.mark.parametrize(
    "parameters",
    [
        {"node_models": "shared"},
        {"reward_model": "linear"},
        {"path_filter": "out_of_fold"},
        {"path_filter": 0.5},
        {"offset": LinearRegression()},
    ],
    ids=str,
)
def test_parameters_that_need_all_rows_at_once_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=rf"{next(iter(parameters))} must be .* for fit_log"):
        OffsetTree(**parameters).fit_log(make_log(50, 3).chunks())


@pytest.mark.parametrize("error", [KeyboardInterrupt, ArithmeticError])
def test_a_fit_that_fails_leaves_neither_files_nor_traces(error: type[BaseException], tmp_path: Path) -> None:
    log = make_log(300, 3)
    policy = OffsetTree(random_state=0).fit_log(log.chunks(100), folder=tmp_path)
    assert not list(tmp_path.iterdir())
    before = contents(policy)

    def chunks() -> Iterator[LoggedData]:
        yield from make_log(200, 5).chunks()
        assert list(tmp_path.iterdir())
        raise error

    with pytest.raises(error):
        policy.fit_log(chunks(), folder=tmp_path)
    assert not list(tmp_path.iterdir())
    assert contents(policy) == before
    assert len(policy.predict(log.X)) == 300


class Stubborn(LogisticRegression):
    """Fails, once it is asked to learn."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        raise RuntimeError("I will not.")


def test_a_learner_that_fails_leaves_no_files_and_says_where(tmp_path: Path) -> None:
    policy = OffsetTree(Stubborn())
    with pytest.raises(RuntimeError, match="I will not") as caught:
        policy.fit_log(make_log(300, 3).chunks(), folder=tmp_path)
    assert "in the contest at node" in caught.value.__notes__[0]
    assert not list(tmp_path.iterdir())
    assert not hasattr(policy, "actions_")


def test_a_disk_without_room_is_told_of_before_it_is_written_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = make_log(1000, 3)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=1000 * (20 + 4 * 4) - 1))
    with pytest.raises(ScratchError, match=r"folder=\.\.\."):
        OffsetTree().fit_log(list(log.chunks(100)), folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_disk_that_fills_up_is_told_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def write(self: Any, values: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(_scratch.ScratchWriter, "_write", write)
    with pytest.raises(ScratchError, match="the disk is full"):
        OffsetTree().fit_log(make_log(100, 3).chunks(), folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(ScratchError, match="folder must be a folder"):
        OffsetTree().fit_log(make_log(100, 3).chunks(), folder=tmp_path / "nowhere")


def test_slips_are_warned_of_as_in_fit() -> None:
    log = make_log(200, 3)
    log.X[:, 2] = log.reward
    leaking = log._replace(reward=log.X[:, 2].astype(np.float64))
    for slip, words in (
        (leaking, "column 2 of X equals the reward in every row"),
        (log._replace(reward=np.full(200, 0.9)), "above the offset"),
        (log._replace(reward=np.full(200, 0.5)), "every reward equals the offset"),
    ):
        with pytest.warns(OffsetTreeWarning, match=words) as caught:
            OffsetTree().fit_log(slip.chunks(64, 65))
        assert caught[0].filename == __file__
    with pytest.warns(OffsetTreeWarning, match="1 of the 4 actions were never logged"):
        OffsetTree(actions=range(4)).fit_log(log.chunks(64))


def test_rows_that_were_learned_from_are_remembered() -> None:
    log = make_log(5000, 3)
    one, two = OffsetTree().fit(**log.arrays()), OffsetTree().fit_log(log.chunks(1234))
    assert one._trained_on is not None
    assert two._trained_on is not None
    assert_array_equal(one._trained_on.numbers, two._trained_on.numbers)


def test_a_learned_tree_of_a_long_log_is_that_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    log = make_log(3000, 6)
    monkeypatch.setattr(_settled, "SAMPLE_ROWS", 500)
    one, two = (OffsetTree(tree="learned", random_state=seed).fit_log(log.chunks(900)) for seed in (0, 1))
    assert one.tree_ == two.tree_
    assert one.node_rows_.sum() > 1000


@pytest.mark.parametrize("n_numbers", [1, 7, 127, 128, 129, 1000, 4097, 300_001])
def test_sums_are_those_of_numpy_to_the_last_bit(n_numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_routed_statistics, "SUMMED", 200)
    values = np.random.default_rng(n_numbers).lognormal(sigma=5, size=n_numbers)
    assert _routed_statistics.pairwise_sum(lambda first, last: values[first:last].copy(), 0, n_numbers) == values.sum()


class Coin(ClassifierMixin, BaseEstimator):
    """Answers by the sign of the first column, and holds nothing."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X: Any) -> Any:
        return (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("learner", [Coin(), None], ids=["generic", "native"])
def test_memory_does_not_grow_with_the_log(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_scratch, "RUN_BYTES", 1 << 16)
    monkeypatch.setattr(_depth_first, "PART_ROWS", 0)
    monkeypatch.setattr(_binning, "SAMPLE", 500)

    def chunks(n_chunks: int) -> Iterator[LoggedData]:
        for seed in range(n_chunks):
            log = make_log(2000, 2, seed)
            yield LoggedData(np.tile(log.X, 8), log.action + 2 * seed, *log[2:])

    OffsetTree(learner).fit_log(chunks(1))  # loads and compiles
    peaks = []
    for n_chunks in (8, 32):  # more rows, of more actions: paths are as long, and one step deeper
        tracemalloc.start()
        OffsetTree(learner, random_state=0).fit_log(chunks(n_chunks))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 32 * 2000 * 32 * 4 / 4  # of X
    assert peaks[1] < 2 * peaks[0]  # of a log that is four times as long


class Screen(io.StringIO):
    """Claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_is_told_of_the_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    monkeypatch.setattr(_out_of_core, "SECONDS", -1)
    OffsetTree().fit_log(make_log(300, 3).chunks(200))
    assert "200 rows read" in screen.getvalue()
    assert "100 %" in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_progress_is_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    OffsetTree().fit_log(make_log(300, 3).chunks())
    assert capsys.readouterr().err == ""
    OffsetTree().fit_log(make_log(300, 3).chunks(), verbose=True)
    assert "under 1 %" in capsys.readouterr().err
