"""Scoring where the data is: Dask dataframes, Spark, MLflow."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from offsettree import LoggedData, RewardBoosting, RewardRegression, TableEncoder, evaluate, load, save
from offsettree.datasets import make_campaign
from offsettree.exceptions import FeatureError, MissingExtraError, ParameterError, PolicyFileError

AT_LENGTH = os.environ.get("OFFSETTREE_TEST_ENGINES") == "1"
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def campaign() -> pd.DataFrame:
    return pd.DataFrame(make_campaign(1500, random_state=0).columns)


@pytest.fixture(scope="module")
def saved(campaign: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy with its encoder: it takes raw rows."""
    log = LoggedData.from_frame(campaign, action="mail", reward="visited", propensity="propensity")
    encoder = TableEncoder.learn([log.X])
    X = encoder.encode(log.X)
    policy = RewardBoosting(n_trees=10, random_state=0).fit(X, log.action, reward=log.reward, propensity=log.propensity)
    path = tmp_path_factory.mktemp("policies") / "policy.ot"
    estimate = evaluate(policy, X, log.action, reward=log.reward, propensity=log.propensity, method="snips")
    save(policy, path, encoder=encoder, estimate=estimate)
    return path


def test_a_dask_dataframe_is_decided_on_lazily(campaign: pd.DataFrame, saved: Path) -> None:
    dd = pytest.importorskip("dask.dataframe", reason="the extra dask is not installed")
    policy = load(saved)
    lazy: Any = policy.predict(dd.from_pandas(campaign, npartitions=3))
    assert type(lazy).__module__.startswith("dask")
    found = lazy.compute(scheduler="synchronous")
    assert found.tolist() == policy.predict(campaign).tolist()
    assert found.index.equals(campaign.index)
    with pytest.raises(ParameterError, match="available must be None"):
        policy.predict(dd.from_pandas(campaign, npartitions=2), available=np.ones((1500, 3), dtype=bool))


def test_missing_extras_are_named(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import offsettree.mlflow
    import offsettree.spark

    for module in ("mlflow", "pyspark", "pyspark.sql", "pyspark.sql.types"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"offsettree\[mlflow\]"):
        offsettree.mlflow.log_model(saved)
    with pytest.raises(MissingExtraError, match=r"offsettree\[spark\]"):
        offsettree.spark.decide(None, saved)


def test_a_pipe_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import offsettree.mlflow
    import offsettree.spark

    def read(*_: Any) -> Any:
        raise AssertionError("it was read, which waits for ever")

    os.mkfifo(tmp_path / "policy.ot")
    for module in ("mlflow", "pyspark", "pyspark.sql", "pyspark.sql.types"):
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
    monkeypatch.setattr(Path, "read_bytes", read)
    with pytest.raises(PolicyFileError):
        offsettree.spark.decide(None, tmp_path / "policy.ot")
    with pytest.raises(PolicyFileError):
        offsettree.mlflow.save_model(tmp_path / "policy.ot", tmp_path / "model")


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    if not AT_LENGTH:
        pytest.skip("Spark takes long to start: make test-engines runs it")
    sql = pytest.importorskip("pyspark.sql", reason="the extra spark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.memory", "600m").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    yield session
    session.stop()


def test_spark_decides_as_the_policy_does(spark: Any, campaign: pd.DataFrame, saved: Path, tmp_path: Path) -> None:
    from offsettree.spark import decide

    policy = load(saved)
    names = policy.encoder.names_in
    rows = campaign[[*names, "mail"]].astype({"sent_at": str})
    decided = decide(spark.createDataFrame(rows).repartition(3), saved).toPandas()
    assert decided["decision"].tolist() == policy.predict(decided[names]).tolist()
    assert sorted(decided["mail"]) == sorted(rows["mail"])
    with pytest.raises(FeatureError, match="missing"):
        decide(spark.createDataFrame(rows[["mail"]]), saved)
    with pytest.raises(ParameterError, match="new name"):
        decide(spark.createDataFrame(rows), saved, column="mail")
    unnamed = tmp_path / "unnamed.ot"
    X = np.random.default_rng(0).normal(size=(200, 2))
    save(RewardRegression(random_state=0).fit(X, [0, 1] * 100, reward=X[:, 0] > 0, propensity=0.5), unnamed)
    frame = spark.createDataFrame(pd.DataFrame(X, columns=["a", "b"]))
    with pytest.raises(ParameterError, match="features must be given"):
        decide(frame, unnamed)
    found = decide(frame, unnamed, features=["a", "b"]).toPandas()
    assert found["decision"].tolist() == load(unnamed).predict(found[["a", "b"]].to_numpy()).tolist()


@pytest.fixture
def mlflow(tmp_path: Path) -> Any:
    if not AT_LENGTH:
        pytest.skip("MLflow takes long to import: make test-engines runs it")
    module = pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
    module.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    module.set_experiment("policies")
    return module


def test_mlflow_loads_what_was_logged(mlflow: Any, campaign: pd.DataFrame, saved: Path) -> None:
    import offsettree.mlflow

    with mlflow.start_run() as run:
        info = offsettree.mlflow.log_model(saved)
    policy = load(saved)
    model = mlflow.pyfunc.load_model(info.model_uri)
    rows = campaign[policy.encoder.names_in]
    found = model.predict(rows)
    assert found["decision"].tolist() == policy.predict(rows).tolist()
    metrics = mlflow.get_run(run.info.run_id).data.metrics
    assert metrics["estimate_value"] == policy.manifest["estimate"]["value"]
    assert metrics["estimate_low"] < metrics["estimate_value"] < metrics["estimate_high"]
    assert [column.name for column in model.metadata.signature.inputs] == policy.encoder.names_in


def test_mlflow_serves_decisions_on_raw_rows(mlflow: Any, campaign: pd.DataFrame, saved: Path, tmp_path: Path) -> None:
    import offsettree.mlflow

    policy = load(saved)
    rows = campaign[policy.encoder.names_in].head(20)
    offsettree.mlflow.save_model(saved, tmp_path / "model")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", str(tmp_path / "model"), "-p", str(port)]
    server = subprocess.Popen(  # noqa: S603
        [*command, "--env-manager", "local", "--workers", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},  # for uvicorn
    )
    try:
        text = json.dumps({"dataframe_split": json.loads(rows.to_json(orient="split", date_format="iso"))}).encode()
        answer = _ask(f"http://127.0.0.1:{port}/invocations", text, server)
        assert [each["decision"] for each in answer["predictions"]] == policy.predict(rows).tolist()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, 15)
        server.wait()


def _ask(url: str, text: bytes, server: subprocess.Popen[bytes]) -> Any:
    for _ in range(240):
        assert server.poll() is None, "the server ended"
        request = urllib.request.Request(url, text, {"Content-Type": "application/json"})  # noqa: S310
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error
        except OSError:
            time.sleep(0.5)
    raise AssertionError("the server did not answer")


@pytest.mark.skipif(not AT_LENGTH, reason="make test-engines runs the examples")
@pytest.mark.parametrize(("engine", "package"), [("dask", "distributed"), ("ray", "ray"), ("spark", "joblibspark")])
def test_joblib_backends_train_the_same_forest(engine: str, package: str) -> None:
    pytest.importorskip(package, reason="it is not installed")
    if engine == "spark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    example = Path(__file__).parent.parent.parent / "examples" / f"joblib_{engine}.py"
    settings = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "ignore", str(example)], capture_output=True, text=True, check=True, env=settings
    )
    assert "the same decisions: True" in done.stdout
