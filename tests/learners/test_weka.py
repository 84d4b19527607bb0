"""Weka's trees behave as Weka's own command line does, and as scikit-learn's estimators do."""

from __future__ import annotations

import copy
import doctest
import inspect
import os
import pickle
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from offsettree import OffsetTree, simulate_log
from offsettree.exceptions import FeatureError, JavaError, MissingExtraError, ParameterError
from offsettree.learners import J48, M5P, REPTree, REPTreeClassifier, _jvm
from offsettree.learners._columns import WekaColumns
from offsettree.learners._jvm import java_class
from offsettree.learners._weka_model import WekaModel


def reason_to_skip() -> str | None:
    if find_spec("jpype") is None or find_spec("weka") is None:
        return "the extra 'weka' is not installed"
    import jpype

    try:
        jpype.getDefaultJVMPath()
    except jpype.JVMNotFoundException:
        return "no Java runtime was found"
    return None


REASON = reason_to_skip()
if REASON is not None:
    pytest.skip(REASON, allow_module_level=True)

N_TRAIN = 400
LABELS = ["high", "low", "middle"]


def mixed_frame(n_rows: int = 600, seed: int = 0) -> tuple[pd.DataFrame, Any, Any, Any]:
    """Numbers, strings, declared categories and truth values, all with gaps; labels, numbers and weights."""
    random = np.random.RandomState(seed)
    size = random.normal(size=n_rows)
    frame = pd.DataFrame(
        {
            "size": size,
            "age": random.randint(18, 90, size=n_rows).astype(float),
            "colour": random.choice(["red", "green", "blue"], size=n_rows),
            "shape": pd.Categorical(
                random.choice(["square", "round"], size=n_rows), categories=["square", "round", "never seen"]
            ),
            "old": random.random_sample(n_rows) < 0.4,
        }
    )
    number = 2 * size + (frame["colour"] == "red") - 1.5 * frame["old"] * size + 0.02 * frame["age"]
    number = number.to_numpy() + 0.5 * random.normal(size=n_rows)
    label = np.array(["low", "middle", "high"])[np.digitize(number, [0.0, 1.5])]
    weight = random.exponential(size=n_rows) + 0.1
    for name in ("size", "colour", "shape"):
        frame.loc[random.random_sample(n_rows) < 0.1, name] = None
    return frame, label, number, weight


def write_arff(path: Path, frame: pd.DataFrame, target: Any, weight: Any | None) -> None:
    kinds = {
        "colour": "{blue,green,red}",
        "shape": "{square,round,'never seen'}",
        "old": "{False,True}",
        "class": f"{{{','.join(LABELS)}}}" if target.dtype.kind in "UO" else "numeric",
    }
    lines = ["@relation mixed"]
    lines += [f"@attribute {name} {kinds.get(name, 'numeric')}" for name in [*frame.columns, "class"]]
    lines.append("@data")
    for position, row in enumerate(frame.itertuples(index=False)):
        values = ["?" if pd.isna(value) else str(value) for value in [*row, target[position]]]
        lines.append(",".join(values) + (f",{{{float(weight[position])!r}}}" if weight is not None else ""))
    path.write_text("\n".join(lines) + "\n")


def ask_weka(folder: Path, learner: str, options: list[str], train: tuple[Any, ...], test: tuple[Any, ...]) -> Any:
    """Train and predict through Weka's own command line; return the distributions, or the numbers, of the test rows."""
    write_arff(folder / "train.arff", *train)
    write_arff(folder / "test.arff", *test)
    library = Path(next(iter(find_spec("weka").submodule_search_locations))) / "lib"  # type: ignore[union-attr, arg-type]
    is_nominal = train[1].dtype.kind in "UO"
    writer = "weka.classifiers.evaluation.output.prediction.CSV -decimals 12" + (" -distribution" if is_nominal else "")
    java = Path(str(java_class("java.lang.System").getProperty("java.home"))) / "bin" / "java"
    command = [str(java), f"-DWEKA_HOME={folder}", "-cp", os.pathsep.join(map(str, library.glob("*.jar")))]
    command += [f"weka.classifiers.trees.{learner}", "-t", "train.arff", "-T", "test.arff", *options]
    command += ["-classifications", writer]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)  # noqa: S603
    lines = answer.stdout.splitlines()
    start = next(position for position, line in enumerate(lines) if line.startswith("inst#"))
    cells = [line.replace("*", "").split(",") for line in lines[start + 1 :] if line.strip()]
    return np.array([row[-3:] if is_nominal else row[2] for row in cells], dtype=float)


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (J48(), []),
        (J48(unpruned=True, laplace=True, collapse=False), ["-U", "-A", "-O"]),
        (J48(confidence=0.1, min_leaf=5, binary_splits=True), ["-C", "0.1", "-M", "5", "-B"]),
        (J48(subtree_raising=False, mdl_correction=False), ["-S", "-J"]),
        (REPTreeClassifier(), []),
        (REPTreeClassifier(max_depth=2, random_state=5), ["-L", "2", "-S", "5"]),
    ],
    ids=str,
)
def test_classifiers_answer_as_wekas_command_line_does(estimator: Any, options: list[str], tmp_path: Path) -> None:
    frame, label, _, weight = mixed_frame()
    train, test = frame[:N_TRAIN], frame[N_TRAIN:]
    expected = ask_weka(
        tmp_path,
        estimator._learner,
        options,
        (train, label[:N_TRAIN], weight[:N_TRAIN]),
        (test, label[N_TRAIN:], None),
    )
    estimator.fit(train, label[:N_TRAIN], sample_weight=weight[:N_TRAIN])
    assert estimator.classes_.tolist() == LABELS
    np.testing.assert_allclose(estimator.predict_proba(test), expected, atol=1e-11)
    np.testing.assert_array_equal(estimator.predict(test), np.array(LABELS)[expected.argmax(axis=1)])
    assert len(np.unique(expected, axis=0)) > 3


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (M5P(), []),
        (M5P(min_leaf=10, unpruned=True, unsmoothed=True), ["-M", "10", "-N", "-U"]),
        (M5P(regression_tree=True), ["-R"]),
        (REPTree(), []),
        (REPTree(unpruned=True, min_leaf=8, min_variance=0.05), ["-P", "-M", "8", "-V", "0.05"]),
        (REPTree(n_folds=5, max_depth=3, random_state=9), ["-N", "5", "-L", "3", "-S", "9"]),
    ],
    ids=str,
)
def test_regressors_answer_as_wekas_command_line_does(estimator: Any, options: list[str], tmp_path: Path) -> None:
    frame, _, number, weight = mixed_frame()
    train, test = frame[:N_TRAIN], frame[N_TRAIN:]
    weights = {} if isinstance(estimator, M5P) else {"sample_weight": weight[:N_TRAIN]}
    expected = ask_weka(
        tmp_path,
        estimator._learner,
        options,
        (train, number[:N_TRAIN], weights.get("sample_weight")),
        (test, number[N_TRAIN:], None),
    )
    estimator.fit(train, number[:N_TRAIN], **weights)
    np.testing.assert_allclose(estimator.predict(test), expected, atol=1e-11)
    assert estimator.score(test, number[N_TRAIN:]) > 0.5


@pytest.mark.parametrize("estimator", [J48(), M5P(), REPTree(), REPTreeClassifier()], ids=str)
def test_the_defaults_are_wekas(estimator: Any) -> None:
    ours, wekas = (java_class(f"weka.classifiers.trees.{estimator._learner}")() for _ in range(2))
    ours.setOptions(estimator._options(n_rows=100))
    assert [str(option) for option in ours.getOptions()] == [str(option) for option in wekas.getOptions()]


@pytest.mark.parametrize("cls", [J48, M5P, REPTree, REPTreeClassifier])
def test_the_examples_run(cls: type) -> None:
    """Where the package's doctests run there may be no Java, so they leave out what is run here."""
    text = (inspect.getdoc(cls) or "").replace("# doctest: +SKIP", "")
    example = doctest.DocTestParser().get_doctest(text, {}, cls.__name__, None, None)
    assert doctest.DocTestRunner().run(example) == doctest.TestResults(failed=0, attempted=len(example.examples))
    assert len(example.examples) > 2


def test_weights_change_what_is_learned() -> None:
    X, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.tile([0, 1], 20)
    weight = np.where(y == X[:, 0], 2.0, 1.0)
    for classifier in (J48(), REPTreeClassifier(unpruned=True)):
        np.testing.assert_array_equal(classifier.fit(X, y, sample_weight=weight).predict([[0.0], [1.0]]), [0, 1])
    tree = REPTree(unpruned=True).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(tree.predict([[0.0], [1.0]]), [1 / 3, 2 / 3])


def test_all_forms_of_one_table_give_one_answer() -> None:
    frame, label, _, _ = mixed_frame()
    numbers = frame[["size", "age"]]
    expected = J48().fit(numbers.to_numpy(), label).predict_proba(numbers.to_numpy())
    for X in (numbers, numbers.astype({"age": "Int64"}), pl.from_pandas(numbers), sp.csr_matrix(numbers.to_numpy())):
        np.testing.assert_array_equal(J48().fit(X, label).predict_proba(X), expected)

    expected = J48().fit(frame, label).predict_proba(frame)
    forms: list[Any] = [
        frame.astype({"colour": "category"}),
        frame.astype({"colour": object, "old": object, "shape": frame["shape"].dtype}),
        frame.astype({"old": "boolean"}),
        polars_frame(frame),
        polars_frame(frame).with_columns(pl.col("colour").cast(pl.Categorical)),
    ]
    for form in forms:
        np.testing.assert_array_equal(J48().fit(form, label).predict_proba(form), expected)
    # Levels are known by name, whatever the form.
    np.testing.assert_array_equal(J48().fit(frame, label).predict_proba(polars_frame(frame)), expected)


def polars_frame(frame: pd.DataFrame) -> pl.DataFrame:
    columns = {name: [None if pd.isna(value) else value for value in frame[name]] for name in frame.columns}
    shape = pl.Enum(["square", "round", "never seen"])
    return pl.DataFrame(columns, schema_overrides={"shape": shape})


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame])
def test_a_level_never_seen_in_training_is_missing(form: Any) -> None:
    train = form({"colour": ["red", "blue", "green"] * 20, "size": [1.0, 2.0, 3.0] * 20})
    tree = J48().fit(train, [0, 1, 1] * 20)
    answers = tree.predict_proba(form({"colour": ["violet", None, "blue"], "size": [1.0, 1.0, 1.0]}))
    np.testing.assert_array_equal(answers[0], answers[1])
    assert not np.array_equal(answers[0], answers[2])
    # Another order of first appearance is no other meaning.
    mixed = form({"colour": ["green", "violet", "red", "blue"], "size": [1.0] * 4})
    np.testing.assert_array_equal(tree.predict(mixed)[[0, 2, 3]], [1, 0, 1])


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame])
def test_a_column_without_any_value_is_no_obstacle(form: Any) -> None:
    frame = form({"empty": [None] * 20, "size": np.arange(20.0)})
    tree = J48().fit(frame, np.arange(20) > 9)
    assert tree.predict(form({"empty": [None], "size": [15.0]})).tolist() == [True]


def test_labels_of_any_kind_come_back() -> None:
    X = np.arange(20.0)[:, np.newaxis]
    for labels in (["a", "b"], [False, True], [-3, 7], np.array(["x", "y"], dtype=object), ["not y", "y"]):
        y = np.asarray(labels)[(X[:, 0] > 9).astype(int)]
        tree = J48().fit(X, y)
        np.testing.assert_array_equal(tree.predict(X), y)
        assert tree.classes_.dtype == y.dtype


@pytest.mark.parametrize("classifier", [J48(), J48(laplace=True), REPTreeClassifier()], ids=str)
def test_one_class_is_answered_with_certainty(classifier: Any) -> None:
    tree = classifier.fit([[0.0], [1.0], [2.0], [3.0]], ["only"] * 4)
    assert tree.predict([[7.0]]).tolist() == ["only"]
    assert tree.predict_proba([[7.0]]).tolist() == [[1.0]]


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_few_rows_and_constant_features_are_learned_from(n_rows: int) -> None:
    X, y = np.zeros((n_rows, 2)), np.arange(n_rows)
    for classifier in (J48(), J48(laplace=True), REPTreeClassifier()):
        probability = classifier.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(probability.sum(axis=1), 1)
    for regressor in (M5P(), REPTree()):
        assert 0 <= regressor.fit(X, y).predict(X)[0] <= n_rows


def test_names_may_be_strange() -> None:
    frame = pd.DataFrame(np.arange(40.0).reshape(10, 4), columns=["class", "class_", "a 'quoted' name", "%,{}"])
    y = frame["class"] > 20
    assert (J48().fit(frame, y).predict(frame) == y).all()


@pytest.mark.parametrize("estimator", [J48(), M5P(), REPTree(), REPTreeClassifier()], ids=str)
def test_the_tree_can_be_read(estimator: Any) -> None:
    frame, label, number, _ = mixed_frame()
    assert not hasattr(estimator, "text_")
    tree = clone(estimator).fit(frame, label if hasattr(estimator, "predict_proba") else number)
    assert "size <" in tree.text_


@pytest.mark.parametrize("estimator", [J48(), M5P(), REPTree(), REPTreeClassifier()], ids=str)
def test_copies_and_pickles_answer_alike_and_are_small(estimator: Any) -> None:
    frame, label, number, _ = mixed_frame(n_rows=2000)
    tree = estimator.fit(frame, label if hasattr(estimator, "predict_proba") else number)
    data = pickle.dumps(tree)
    assert len(data) < 40_000
    twice = pickle.loads(pickle.dumps(pickle.loads(data)))  # packed again without having been used
    for other in (pickle.loads(data), twice, copy.deepcopy(tree), copy.copy(tree)):
        np.testing.assert_array_equal(other.predict(frame), tree.predict(frame))
        assert other.text_ == tree.text_
    np.testing.assert_array_equal(clone(tree).fit(frame[:9], number[:9] > 0).n_features_in_, 5)


def test_a_pickle_opens_in_another_process(tmp_path: Path) -> None:
    frame, label, _, _ = mixed_frame()
    tree = J48().fit(frame, label)
    (tmp_path / "tree.pickle").write_bytes(pickle.dumps((tree, frame)))
    answer = run_quietly(
        """
        import pickle, sys
        from pathlib import Path

        tree, frame = pickle.loads(Path("tree.pickle").read_bytes())
        assert "jpype" not in sys.modules
        Path("answer.pickle").write_bytes(pickle.dumps(tree.predict_proba(frame)))
        """,
        tmp_path,
    )
    assert answer.returncode == 0
    np.testing.assert_array_equal(pickle.loads((tmp_path / "answer.pickle").read_bytes()), tree.predict_proba(frame))


def run_quietly(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own, whose home and working directory are the folder."""
    environment = {**os.environ, "HOME": str(folder), "TMPDIR": str(folder)}
    answer = subprocess.run(  # noqa: S603
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.stdout == ""
    assert answer.stderr == ""
    return answer


def test_nothing_is_printed_and_nothing_is_left_behind(tmp_path: Path) -> None:
    answer = run_quietly(
        """
        import pickle
        import numpy as np
        import offsettree.learners as learners

        X = np.random.RandomState(0).normal(size=(300, 3))
        for tree in (learners.J48(), learners.M5P(), learners.REPTree(), learners.REPTreeClassifier()):
            y = X[:, 0] > 0 if hasattr(tree, "predict_proba") else X[:, 0] ** 2
            pickle.loads(pickle.dumps(tree.fit(X, y))).predict(X)
        """,
        tmp_path,
    )
    assert answer.returncode == 0
    # Java leaves an empty folder for its monitoring tools where the temporary files are.
    assert [path for path in tmp_path.iterdir() if not path.name.startswith("hsperfdata")] == []


def test_importing_starts_nothing(tmp_path: Path) -> None:
    answer = run_quietly(
        """
        import sys
        import offsettree, offsettree.learners
        from offsettree.learners import J48, M5P, REPTree

        J48(), M5P(), REPTree()
        assert not {"jpype", "weka"} & set(sys.modules)
        """,
        tmp_path,
    )
    assert answer.returncode == 0


def test_an_interrupt_reaches_python(tmp_path: Path) -> None:
    answer = run_quietly(
        """
        import os, signal, sys, threading, time
        import numpy as np
        from offsettree.learners import J48

        J48().fit([[0.0], [1.0]], [0, 1])
        X = np.random.RandomState(0).normal(size=(500, 5))
        try:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            while True:
                J48().fit(X, X[:, 0] > 0)
        except KeyboardInterrupt:
            sys.exit(7)
        """,
        tmp_path,
    )
    assert answer.returncode == 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_complains_instead_of_waiting_forever(tmp_path: Path) -> None:
    answer = run_quietly(
        """
        import gc, os, pickle, sys, warnings
        from offsettree.exceptions import JavaError
        from offsettree.learners import J48

        def fork_and(task):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                task()
                sys.exit(5)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5

        def learn():
            assert J48().fit([[0.0], [1.0]], [0, 1]).predict([[0.0]]) is not None

        def fail():
            global tree
            for attempt in (learn, lambda: tree.predict([[0.0]]), lambda: pickle.dumps(tree)):
                try:
                    attempt()
                except JavaError as error:
                    assert "does not survive a fork" in str(error)
                else:
                    raise AssertionError
            del tree
            gc.collect()

        fork_and(learn)  # no Java yet: the child starts its own
        tree = J48().fit([[0.0], [1.0]], [0, 1])
        fork_and(fail)
        tree.predict([[0.0]])
        """,
        tmp_path,
    )
    assert answer.returncode == 0


def test_where_java_runs_already_weka_joins_it(tmp_path: Path) -> None:
    answer = run_quietly(
        """
        import jpype
        jpype.startJVM("-Xrs", convertStrings=True)

        import pickle
        from offsettree.learners import M5P

        tree = pickle.loads(pickle.dumps(M5P().fit([[0.0], [1.0]] * 9, [0.0, 1.0] * 9)))
        assert tree.predict([[1.0]])[0] > 0.9
        assert "M5" in tree.text_
        """,
        tmp_path,
    )
    assert answer.returncode == 0


def fit_and_ask(estimator: Any, frame: pd.DataFrame, y: Any) -> Any:
    return estimator.fit(frame, y), estimator.predict(frame)


def test_workers_of_joblib_start_their_own_java() -> None:
    frame, label, number, _ = mixed_frame()
    tasks = [(J48(), label), (M5P(), number)]
    results = Parallel(n_jobs=2)(delayed(fit_and_ask)(clone(estimator), frame, y) for estimator, y in tasks)
    for (estimator, y), (fitted, answer) in zip(tasks, results, strict=True):
        np.testing.assert_array_equal(answer, estimator.fit(frame, y).predict(frame))
        np.testing.assert_array_equal(answer, fitted.predict(frame))


def test_threads_may_share_a_tree() -> None:
    frame, _, number, _ = mixed_frame()
    tree = pickle.loads(pickle.dumps(M5P().fit(frame, number)))
    expected = M5P().fit(frame, number).predict(frame)
    with ThreadPoolExecutor(4) as pool:
        for answer in pool.map(lambda _: tree.predict(frame), range(16)):
            np.testing.assert_array_equal(answer, expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_offset_tree_learns_with_j48_on_an_array(n_jobs: int) -> None:
    random = np.random.RandomState(0)
    X = random.normal(size=(1500, 3))
    X[random.random_sample(X.shape) < 0.02] = np.nan
    right = np.digitize(np.nan_to_num(X[:, 0]), [-0.6, 0.0, 0.6])
    log = simulate_log(X, right, random_state=0)
    policy = OffsetTree(J48(), random_state=0, n_jobs=n_jobs)
    policy.fit(log.X, log.action, reward=log.reward, propensity=log.propensity)
    assert (policy.predict(X) == right).mean() > 0.9
    assert policy.decide(X[0]) == policy.predict(X[:1])[0]


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame])
def test_an_offset_tree_learns_with_j48_on_nominal_columns(form: Any) -> None:
    random = np.random.RandomState(0)
    colour, size = random.choice(["red", "green", "blue"], size=1500), random.normal(size=1500)
    right = np.where(colour == "red", "left", np.where(size > 0, "middle", "right"))
    frame = form({"colour": colour, "size": size})
    log = simulate_log(frame, right, random_state=1)
    policy = OffsetTree(J48(), random_state=1)
    policy.fit(log.X, log.action, reward=log.reward, propensity=log.propensity)
    assert (policy.predict(frame) == right).mean() > 0.95
    assert policy.decide({"colour": "red", "size": 0.5}) == "left"


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (J48(confidence=0), r"confidence must be in \(0, 0.5\]"),
        (J48(min_leaf=2.5), "min_leaf must be a whole number of at least 1"),  # type: ignore[arg-type]
        (REPTree(n_folds=1), "n_folds must be"),
        (M5P(min_leaf=0), "min_leaf must be a number of at least 1"),
        (REPTree(max_depth=-1), "max_depth must be"),
        (REPTree(min_variance=-1.0), "min_variance must be"),
        (REPTree(random_state=2**31), "random_state must be"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(estimator: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        estimator.fit([[0.0], [1.0]], [0, 1])


def test_a_random_state_decides_what_is_held_out() -> None:
    _, _, number, _ = mixed_frame()
    X = np.random.RandomState(1).normal(size=(600, 2)) + number[:, np.newaxis]
    first, again, other = (
        REPTree(random_state=np.random.RandomState(seed)).fit(X, number).predict(X) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert REPTree(random_state=None).fit(X, number).score(X, number) > 0.5


def test_frames_that_cannot_be_read_are_refused() -> None:
    frame, label, _, _ = mixed_frame(n_rows=30)
    tree = J48().fit(frame, label)
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(FeatureError, match="as in fit, where these columns were nominal: colour, shape, old"),
    ):
        tree.predict(np.zeros((3, 5)))
    with pytest.raises(FeatureError, match="'size' must be as in fit: it was numbers there and is nominal here"):
        tree.predict(frame.assign(size="large"))
    with pytest.raises(FeatureError, match="'colour' must be as in fit: it was nominal there and is numbers here"):
        tree.predict(frame.assign(colour=1.0))
    with pytest.raises(FeatureError, match="'when' has the type datetime64"):
        J48().fit(pd.DataFrame({"when": pd.to_datetime(["2008-01-01", "2008-01-02"])}), [0, 1])
    with pytest.raises(FeatureError, match="'when' has the type Date"):
        J48().fit(pl.DataFrame({"when": ["2008-01-01"] * 2}).with_columns(pl.col("when").str.to_date()), [0, 1])
    with pytest.raises(FeatureError, match="'mixed' has two that read '1'"):
        J48().fit(pd.DataFrame({"mixed": pd.Series([1, "1"], dtype=object)}), [0, 1])
    with pytest.raises(FeatureError, match="at least one row"):
        J48().fit(frame[:0], label[:0])
    with pytest.raises(ValueError, match="infinity"):
        J48().fit(pd.DataFrame({"size": [1.0, np.inf]}), [0, 1])
    with pytest.raises(ValueError, match="feature names should match"):
        tree.predict(frame[frame.columns[::-1]])


def test_what_weka_refuses_is_told_in_its_words() -> None:
    with pytest.raises(FeatureError, match=r"training M5P failed; Weka says: .*instance weights are not equal to 1"):
        WekaModel.train("M5P", [], WekaColumns(["x"], [None]), None, np.eye(2), np.array([1.0, 2.0]))
    with pytest.raises(JavaError, match="more memory than Java has"), _jvm.explained("training J48"):
        raise java_class("java.lang.OutOfMemoryError")("Java heap space")


@pytest.mark.parametrize("package", ["jpype", "weka"])
def test_a_missing_extra_is_explained(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jvm, "_ready", False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"needs {package}.*pip install offsettree\[weka\]"):
        J48().fit([[0.0], [1.0]], [0, 1])


def test_a_missing_java_is_explained(tmp_path: Path) -> None:
    answer = run_quietly(
        """
        import jpype
        from offsettree.exceptions import JavaError
        from offsettree.learners import J48

        def start(error):
            def fail(*args, **kwargs):
                raise error
            return fail

        for error, expected in (
            (jpype.JVMNotFoundException("nowhere"), "no Java was found. Install a Java runtime"),
            (OSError("broken"), "Java did not start: broken. Install a Java runtime"),
        ):
            jpype.startJVM = start(error)
            try:
                J48().fit([[0.0], [1.0]], [0, 1])
            except JavaError as complaint:
                assert expected in str(complaint), complaint
            else:
                raise AssertionError
        """,
        tmp_path,
    )
    assert answer.returncode == 0


HOLDS_OUT = "the rows that pruning holds out are counted, whatever their weights"


DRAWS = "M5P draws rows by their weights: the same in distribution, not row by row"


def test_weights_reach_m5p_as_chances_to_be_drawn() -> None:
    """Two thirds of the weight say 1, one third says 0, of rows that look the same."""
    X, y = np.zeros((3000, 1)), np.tile([1.0, 0.0], 1500)
    weight = np.where(y == 1, 2.0, 1.0)
    assert M5P().fit(X, y, sample_weight=weight).predict([[0.0]])[0] == pytest.approx(2 / 3, abs=0.03)
    table = np.random.RandomState(0).normal(size=(200, 2))
    number = table[:, 0] ** 2
    np.testing.assert_array_equal(
        M5P().fit(table, number, sample_weight=np.full(200, 3.0)).predict(table),
        M5P().fit(table, number).predict(table),
    )


@parametrize_with_checks(
    [J48(), J48(unpruned=True), M5P(), REPTree(), REPTreeClassifier()],
    expected_failed_checks=lambda estimator: (
        {
            "check_sample_weight_equivalence_on_dense_data": HOLDS_OUT,
            "check_sample_weight_equivalence_on_sparse_data": HOLDS_OUT,
        }
        if isinstance(estimator, REPTree | REPTreeClassifier)
        else dict.fromkeys(
            ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"], DRAWS
        )
        if isinstance(estimator, M5P)
        else {}
    ),
)
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)
