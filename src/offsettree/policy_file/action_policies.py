"""Policies over actions with features in files: the same archive, checked the same way, without labels of actions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import offsettree
from offsettree.exceptions import ParameterError, PolicyFileError
from offsettree.models.part import Part, must_hold
from offsettree.policy_file._archive import read_archive, write_archive
from offsettree.policy_file._json import as_facts
from offsettree.policy_file._manifest import FORMAT, VERSION, check_version

if TYPE_CHECKING:
    from offsettree.actions import OnlineActionRegression

__all__ = ["KIND", "load_action_policy", "write_action_policy"]

KIND = "online action regression"
MAX_BYTES = 4 << 30
LARGE = 1e300


def write_action_policy(policy: OnlineActionRegression, path: Path, facts: Mapping[str, Any], estimate: Any) -> None:
    """Write the weights and settings of a policy that has learned."""
    if not hasattr(policy, "weights_"):
        raise ParameterError("the policy must have learned before it is saved: call fit, partial_fit or learn first.")
    about = {"written_by": f"offsettree {offsettree.__version__}", "facts": dict(facts), "estimate": estimate}
    low, high = policy.reward_range
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        **as_facts(about),
        "policy": {
            "kind": KIND,
            "learning_rate": float(policy.learning_rate),
            "interactions": policy.interactions,
            "id_effects": bool(policy.id_effects),
            "id_prior": float(policy.id_prior),
            "importance": policy.importance,
            "n_bits": int(policy.n_bits),
            "reward_low": float(low),
            "reward_high": float(high),
        },
    }
    arrays: dict[str, NDArray[Any]] = {
        "policy.weights": policy.weights_,
        "policy.scales": policy.scales_,
        "policy.totals": policy.totals_,
    }
    write_archive(path, manifest, arrays, {})


def load_action_policy(path: str | Path, *, max_bytes: int = MAX_BYTES) -> OnlineActionRegression:
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
    OnlineActionRegression
        Decides, and goes on learning, as the one that was saved.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from offsettree import OnlineActionRegression, load_action_policy, save
    >>> news = [{"id": "n1", "topic": "sport"}, {"id": "n2", "topic": "music"}]
    >>> policy = OnlineActionRegression().learn({"age": "young"}, news, "n2", reward=1.0, propensity=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(policy, pathlib.Path(folder) / "policy.ot")
    ...     again = load_action_policy(pathlib.Path(folder) / "policy.ot")
    >>> again.decide({"age": "young"}, news) == policy.decide({"age": "young"}, news)
    True
    """
    path = Path(path)
    archive = read_archive(path, max_bytes)
    check_version(archive.manifest, path)
    try:
        used: set[str] = set()
        policy = _read(Part(archive.manifest.get("policy"), "policy", archive.arrays, used))
        if odd := sorted({*archive.arrays, *archive.others} - used):
            raise PolicyFileError(f"{odd[0]} must not be in the file: the policy has no use for it.")  # noqa: TRY301
    except PolicyFileError as error:
        raise PolicyFileError(f"{path}: {error}") from error
    return policy


def _read(part: Part) -> OnlineActionRegression:
    from offsettree.actions import OnlineActionRegression

    if part.given("kind") != KIND:
        raise PolicyFileError(
            "it holds a policy over actions that are labels, or none that this version knows; read it with load."
        )
    low, high = part.number("reward_low", -LARGE, LARGE), part.number("reward_high", -LARGE, LARGE)
    must_hold(low < high, f"{part.where}.reward_high", "a number above reward_low")
    policy = OnlineActionRegression(
        learning_rate=part.number("learning_rate", 0.0, LARGE),
        interactions=part.choice("interactions", ("all", "context-action")),  # type: ignore[arg-type]
        id_effects=part.truth("id_effects"),
        id_prior=part.number("id_prior", 0.0, LARGE),
        importance=part.choice("importance", ("inverse_propensity", "none")),  # type: ignore[arg-type]
        n_bits=part.integer("n_bits", 1, 30),
        reward_range=(low, high),
    )
    n_places = 1 << policy.n_bits
    policy.weights_ = part.finite("weights", np.float32, 2, n_places)
    policy.scales_ = part.finite("scales", np.float32, n_places)
    policy.totals_ = part.finite("totals", np.float64, 4)
    must_hold(policy.weights_[1] >= 0, f"{part.where}.weights.npy", "sums of squares in its second row")
    must_hold(policy.scales_ >= 0, f"{part.where}.scales.npy", "sizes of at least 0")
    return policy
