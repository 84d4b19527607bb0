"""Policies over actions with features in files: the same archive, checked the same way, without labels of actions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

import offsettree
from offsettree.actions import SavedActionPolicy, describe_core, read_core
from offsettree.exceptions import ParameterError, PolicyFileError
from offsettree.facts import Facts
from offsettree.models.part import Part
from offsettree.policy_file._archive import read_archive, write_archive
from offsettree.policy_file._json import as_facts
from offsettree.policy_file._manifest import FORMAT, VERSION, check_version

__all__ = ["KINDS", "load_action_policy", "write_action_policy"]

ONLINE = ("online action regression",)  # they go on learning once loaded
KINDS = (*ONLINE, "action regression", "action offset tree")
MAX_BYTES = 4 << 30


def write_action_policy(
    policy: Any, path: Path, facts: Facts | Mapping[str, Any] | None = None, estimate: Any = None
) -> None:
    """Write the arrays and settings of a policy that has learned; of an explorer, those of its policy."""
    policy = getattr(policy, "policy", policy)
    if isinstance(facts, Facts):
        facts = facts.as_dict()
    arrays: dict[str, NDArray[Any]] = {}
    if hasattr(policy, "describe"):
        said = policy.describe(arrays)
    elif hasattr(policy, "core_"):
        said = describe_core(policy, arrays)
    else:
        raise ParameterError("the policy must have learned before it is saved: call fit, partial_fit or learn first.")
    manifest = {"format": FORMAT, "version": VERSION, **as_facts(_about(policy, facts, estimate)), "policy": said}
    write_archive(path, manifest, arrays, {})


def _about(policy: Any, facts: Mapping[str, Any] | None, estimate: Any) -> dict[str, Any]:
    if isinstance(policy, SavedActionPolicy):
        about = {name: policy.manifest.get(name) for name in ("written_by", "learner", "facts", "estimate")}
        return about | {
            name: value for name, value in (("facts", facts), ("estimate", estimate)) if value is not None
        }  # fmt: skip
    parameters = {name: " ".join(repr(value).split()) for name, value in policy.get_params(deep=False).items()}
    return {
        "written_by": f"offsettree {offsettree.__version__}",
        "learner": {"class": type(policy).__name__, "parameters": parameters},
        "facts": dict(facts or {}),
        "estimate": estimate,
    }


def load_action_policy(path: str | Path, *, max_bytes: int = MAX_BYTES) -> Any:
    """Read a policy over actions with features from a file that `save` has written.

    Everything in the file is checked before it is used, and nothing in it is run.

    Parameters
    ----------
    path : str or Path
        The file.
    max_bytes : int, default=4 GiB
        A larger file is refused before it is read.

    Returns
    -------
    policy
        Decides as the one that was saved. One that learned online goes on learning; others are returned as
        `offsettree.actions.SavedActionPolicy`, which decides without scikit-learn.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from offsettree import ActionRegression, load_action_policy, save, simulate_catalogue
    >>> log = simulate_catalogue(1000, random_state=0).log
    >>> policy = ActionRegression(random_state=0).fit(**log.arrays())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(policy, pathlib.Path(folder) / "policy.ot")
    ...     again = load_action_policy(pathlib.Path(folder) / "policy.ot")
    >>> bool((again.predict(log.X, log.action_sets) == policy.predict(log.X, log.action_sets)).all())
    True
    """
    path = Path(path)
    archive = read_archive(path, max_bytes)
    check_version(archive.manifest, path)
    try:
        used: set[str] = set()
        policy = _read(Part(archive.manifest.get("policy"), "policy", archive.arrays, used), archive.manifest)
        if odd := sorted({*archive.arrays, *archive.others} - used):
            raise PolicyFileError(f"{odd[0]} must not be in the file: the policy has no use for it.")  # noqa: TRY301
    except PolicyFileError as error:
        raise PolicyFileError(f"{path}: {error}") from error
    return policy


def _read(part: Part, manifest: dict[str, Any]) -> Any:
    kind = part.given("kind")
    if kind not in KINDS:
        raise PolicyFileError(
            "it holds a policy over actions that are labels, or none that this version knows; read it with load."
        )
    if kind not in ONLINE:
        return read_core(part, manifest)
    from offsettree.actions import OnlineActionRegression

    return OnlineActionRegression.read(part)
