"""Policies in files: safe to load from a stranger, and decided by without scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from offsettree.exceptions import ParameterError, PolicyFileError
from offsettree.policy_file._archive import read_archive, replacing, write_archive
from offsettree.policy_file._fallbacks import read_other
from offsettree.policy_file._manifest import check_version, read_policy, write_manifest
from offsettree.policy_file.action_policies import is_over_sets, read_action_policy, write_action_policy
from offsettree.reading import CannotFlatten

if TYPE_CHECKING:
    from offsettree.facts import Facts
    from offsettree.policy_file.saved import SavedPolicy

__all__ = ["export_onnx", "load", "load_any", "save"]

MAX_BYTES = 4 << 30


def save(
    policy: Any,
    path: str | Path,
    *,
    encoder: Any = None,
    facts: Facts | Mapping[str, Any] | None = None,
    estimate: Any = None,
    fallback: Literal["skops", "pickle"] | None = None,
) -> None:
    """Write a fitted policy to a file: a zip of a readable `manifest.json` and plain arrays.

    The file is written beside its place and then put there in one step: it is whole, or not there.

    Parameters
    ----------
    policy : policy
        Any fitted policy of this package, an explorer, of which the policy is kept, or one that was loaded. Policies
        over actions with features are read by `load_action_policy`.
    path : str or Path
        Where to. A file that is there is replaced.
    encoder : TableEncoder, optional
        What turned raw rows into the numbers that the policy learned from: the policy loaded then takes raw rows.
    facts : Facts or mapping, optional
        What else should be known, such as the log's name: ``manifest["facts"]`` of the policy loaded.
    estimate : Estimate or mapping, optional
        What the policy is worth. By default what a `PolicySearch` found out about itself.
    fallback : {"skops", "pickle"}, optional
        What to do with a policy whose learners have no form in flat arrays. By default it is refused. "skops" (extra
        `skops`) writes scikit-learn's objects, and who loads them says which types are `trusted`. "pickle" is for
        files that never leave your hands: to load one runs what it says.

    Raises
    ------
    PolicyFileError
        Where a learner cannot be flattened, and no fallback is given.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> from offsettree import OffsetForest, load, save, simulate_log
    >>> log = simulate_log(*load_iris(return_X_y=True), random_state=0)
    >>> forest = OffsetForest(n_trees=10, random_state=0).fit(**log.arrays())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(forest, pathlib.Path(folder) / "policy.ot", facts={"log": "iris"})
    ...     saved = load(pathlib.Path(folder) / "policy.ot")
    >>> bool((saved.predict(log.X) == forest.predict(log.X)).all())
    True
    >>> saved.manifest["facts"]
    {'log': 'iris'}
    """
    if fallback not in (None, "skops", "pickle"):
        raise ParameterError(f"fallback must be None, 'skops' or 'pickle'; got {fallback!r}.")
    path = _checked_path(path)
    if getattr(policy, "takes_action_sets", False):
        _save_over_sets(policy, path, facts, estimate)
        return
    from offsettree.policy_file._writing import prepare

    prepared = prepare(policy, encoder, facts, estimate, fallback)
    manifest, arrays = write_manifest(
        prepared.model, prepared.inputs, prepared.actions, prepared.about, prepared.encoder, prepared.trained_on
    )
    write_archive(path, manifest, arrays, prepared.others)


def load(
    path: str | Path,
    *,
    trusted: Sequence[str] | None = None,
    allow_pickle: bool = False,
    max_bytes: int = MAX_BYTES,
) -> SavedPolicy:
    """Read a policy from a file that `save` has written.

    Everything in the file is checked before it is used: it may come from a stranger. Nothing in it is run, unless
    `allow_pickle` says so.

    Parameters
    ----------
    path : str or Path
        The file.
    trusted : list of str, optional
        For a file with a policy written by skops: the types that may be made, as skops names them. Beware that skops
        checks types, not numbers: a forged tree of scikit-learn can crash the process.
    allow_pickle : bool, default=False
        For a file with a pickle: whether to run it. Only for files that never left your hands.
    max_bytes : int, default=4 GiB
        A larger file is refused before it is read.

    Returns
    -------
    SavedPolicy
        Decides as the policy that was saved did.

    Raises
    ------
    PolicyFileError
        Where the file is damaged, forged, too new, or no policy.

    Examples
    --------
    >>> from offsettree import load
    >>> load("policy.pickle")
    Traceback (most recent call last):
    FileNotFoundError: ...
    """
    path = Path(path)
    archive = read_archive(path, max_bytes)
    check_version(archive.manifest, path)
    if is_over_sets(archive.manifest):
        raise PolicyFileError(
            f"{path} holds a policy over actions with features, which each decision brings: read it in Python, with "
            "offsettree.load_action_policy."
        )
    try:
        if archive.others:
            return read_other(archive, path, trusted, allow_pickle)
        return read_policy(archive.manifest, archive.arrays)
    except PolicyFileError as error:
        raise PolicyFileError(f"{path}: {error}") from error


def load_any(path: str | Path, *, max_bytes: int = MAX_BYTES) -> Any:
    """Read a policy from a file, whether it is over labels or over actions with features.

    Parameters
    ----------
    path : str or Path
        The file.
    max_bytes : int, default=4 GiB
        A larger file is refused before it is read.

    Returns
    -------
    SavedPolicy or policy over action sets
        As `load` and `load_action_policy` return them; `takes_action_sets` tells which.
    """
    path = Path(path)
    archive = read_archive(path, max_bytes)
    check_version(archive.manifest, path)
    if is_over_sets(archive.manifest):
        return read_action_policy(archive, path)
    return load(path, max_bytes=max_bytes)


def export_onnx(policy: Any, path: str | Path) -> None:
    """Write a policy as an ONNX graph, for runtimes in other languages (extra `onnx`).

    The graph takes `X`, float32 of shape (n_rows, n_features), and gives `position`, that of each row's action in
    `actions_`, and `label`. For offset trees and forests with contests of decision trees or linear classifiers, and for
    policies by linear or tree regressors per action. Decisions are those of `predict` on float32 rows, but where sums
    that a runtime rounds otherwise are within rounding of a border.

    Parameters
    ----------
    policy : policy
        As for `save`.
    path : str or Path
        Where to. A file that is there is replaced.

    Raises
    ------
    PolicyFileError
        Where the policy has no such form; the error says what stands in the way.
    """
    path = _checked_path(path)
    from offsettree.policy_file._onnx import as_onnx
    from offsettree.policy_file._writing import prepare

    prepared = prepare(policy, None, None, None, None)
    try:
        if prepared.inputs.nominal is not None or prepared.model is None:
            raise CannotFlatten("a policy of frames with nominal columns")  # noqa: TRY301
        graph = as_onnx(prepared.model, prepared.actions, prepared.inputs.n_features)
    except CannotFlatten as reason:
        raise PolicyFileError(
            f"{reason} cannot be written as an ONNX graph. Contests of decision trees and linear classifiers can, and "
            "linear or tree regressors per action; for others use offsettree.save."
        ) from None
    with replacing(path) as file:
        file.write(graph.SerializeToString())


def _save_over_sets(policy: Any, path: Path, facts: Any, estimate: Any) -> None:
    policy = getattr(policy, "best_policy_", policy)  # of a search
    if hasattr(policy, "policy_"):  # a policy over labels, among action sets
        save(policy.policy_, path, encoder=policy.encoder_, facts=facts, estimate=estimate)
        return
    policy = getattr(policy, "policy", policy)  # of an explorer
    write_action_policy(policy, path, facts, estimate)


def _checked_path(path: str | Path) -> Path:
    path = Path(path)
    if path.is_dir():
        raise ParameterError(f"path must be a file; {path} is a folder. Name a file in it, such as policy.ot.")
    if not path.parent.is_dir():
        raise ParameterError(f"path must be in a folder that is there; {path.parent} is not. Make it first.")
    return path
