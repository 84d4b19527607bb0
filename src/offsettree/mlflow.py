"""Policies in MLflow: a policy file as a model, with its signature and its estimated value as metrics."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import offsettree
from offsettree._optional import require
from offsettree.exceptions import ParameterError
from offsettree.policy_file import load, save

__all__ = ["log_model", "save_model"]

FILE = "policy.ot"
ESTIMATED = ("value", "low", "high", "stderr", "n_rows", "effective_rows")


def log_model(
    policy: Any,
    name: str = "policy",
    *,
    encoder: Any = None,
    estimate: Any = None,
    input_example: Any = None,
    **options: Any,
) -> Any:
    """Log a policy as a model of the current run of MLflow.

    The model is the policy file, no pickle; ``mlflow.pyfunc.load_model`` and MLflow's servers decide by it. Its
    `predict` takes frames: raw rows, if there is an encoder. The estimate is logged as the metrics ``estimate_value``,
    ``estimate_low``, ``estimate_high`` and so on.

    Parameters
    ----------
    policy : policy, str or Path
        A fitted policy, or a file that `save` or ``offsettree learn`` has written.
    name : str, default="policy"
        The model's name in the run.
    encoder : TableEncoder, optional
        As `save` takes it.
    estimate : Estimate or mapping, optional
        What the policy is worth; by default what the file or the policy says of itself.
    input_example : frame, optional
        Some rows, kept with the model. Without them the signature is made of the columns that the policy knows.
    **options : Any
        Further options of ``mlflow.pyfunc.log_model``.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Where the model is.
    """
    mlflow = require("mlflow", extra="mlflow")
    with tempfile.TemporaryDirectory(prefix="offsettree-") as folder:
        path, described = _write(policy, Path(folder) / FILE, encoder, estimate, input_example)
        info = mlflow.pyfunc.log_model(name=name, data_path=str(path), **described, **options)
        metrics = _metrics(load(path))
    if metrics:
        mlflow.log_metrics(metrics)
    return info


def save_model(
    policy: Any,
    path: str | Path,
    *,
    encoder: Any = None,
    estimate: Any = None,
    input_example: Any = None,
    **options: Any,
) -> None:
    """Write a policy to a folder as a model of MLflow; parameters as in `log_model`."""
    mlflow = require("mlflow", extra="mlflow")
    with tempfile.TemporaryDirectory(prefix="offsettree-") as folder:
        file, described = _write(policy, Path(folder) / FILE, encoder, estimate, input_example)
        mlflow.pyfunc.save_model(path=str(path), data_path=str(file), **described, **options)


def _load_pyfunc(path: str) -> Any:
    """Load a model; MLflow calls this."""
    place = Path(path)
    return _Model(load(place / FILE if place.is_dir() else place))


class _Model:
    """A policy as MLflow asks it."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    def predict(self, rows: Any, params: Any = None) -> Any:
        """Return a frame with the decision for every row."""
        pandas = require("pandas", extra="mlflow")
        index = getattr(rows, "index", None)
        if self.policy.encoder is None and hasattr(rows, "to_numpy"):
            names = getattr(self.policy, "feature_names_in_", None)
            rows = rows.to_numpy(float) if names is None else rows[list(names)]
        return pandas.DataFrame({"decision": self.policy.predict(rows)}, index=index)


def _write(policy: Any, path: Path, encoder: Any, estimate: Any, example: Any) -> tuple[Path, dict[str, Any]]:
    if isinstance(policy, str | Path):
        if encoder is not None:
            raise ParameterError("encoder must be None where policy is a file, which has its own.")
        loaded = load(policy)  # before it is copied: it may be a pipe, or of any size
        if estimate is not None:
            save(loaded, path, estimate=estimate)
        else:
            shutil.copyfile(policy, path)
    else:
        local = policy.to_local() if hasattr(policy, "to_local") else policy
        save(local, path, encoder=encoder, estimate=estimate)
    described = {
        "loader_module": __name__,
        "signature": _signature(load(path), example),
        "input_example": example,
        "pip_requirements": [f"offsettree=={offsettree.__version__}", "pandas"],
    }
    return path, described


def _signature(policy: Any, example: Any) -> Any:
    models = require("mlflow.models", extra="mlflow")
    if example is not None:
        return models.infer_signature(example, _Model(policy).predict(example))
    types = require("mlflow.types", extra="mlflow")
    label = "long" if policy.actions_.dtype.kind in "iu" else "string"
    outputs = types.Schema([types.ColSpec(label, "decision")])
    if policy.encoder is not None:
        # The encoder takes values in any spelling: truth values and whole numbers as numbers, texts as dates.
        any_type = require("mlflow.types.schema", extra="mlflow").AnyType()
        columns = [types.ColSpec(any_type, name, required=False) for name in policy.encoder.names_in]
    elif getattr(policy, "feature_names_in_", None) is not None:
        columns = [types.ColSpec("double", str(name)) for name in policy.feature_names_in_]
    else:
        columns = [types.ColSpec("double", f"x{place}") for place in range(policy.n_features_in_)]
    return models.ModelSignature(types.Schema(columns), outputs)


def _metrics(policy: Any) -> dict[str, float]:
    estimate = policy.manifest.get("estimate")
    if not isinstance(estimate, Mapping):
        return {}
    found = {name: estimate.get(name) for name in ESTIMATED}
    return {f"estimate_{name}": float(value) for name, value in found.items() if isinstance(value, int | float)}
