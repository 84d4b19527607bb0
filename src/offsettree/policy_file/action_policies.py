"""Policies over actions with features in files: the same archive, checked the same way, without labels of actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import offsettree
from offsettree.actions import SavedActionPolicy, describe_core, read_core
from offsettree.actions.policy import PRIORS
from offsettree.exceptions import ParameterError, PolicyFileError
from offsettree.models.part import Part, must_hold, refusing
from offsettree.policy_file._archive import Archive, read_archive, write_archive
from offsettree.policy_file._json import as_facts
from offsettree.policy_file._manifest import (
    FORMAT,
    VERSION,
    check_labels,
    check_version,
    read_rows,
)

if TYPE_CHECKING:
    from offsettree.actions import OnlineActionOffsetTree, OnlineActionRegression, PopularAction

__all__ = ["ActionForm", "is_over_sets", "load_action_policy", "read_action_policy", "write_action_policy"]

MAX_BYTES = 4 << 30
LARGE = 1e300
Arrays = dict[str, NDArray[Any]]


class ActionForm(NamedTuple):
    """How policies of one class are written: settings and arrays by name, and how they are read back."""

    kind: str
    write: Callable[[Any], tuple[dict[str, Any], Arrays]]
    read: Callable[[Part], Any]


def write_action_policy(policy: Any, path: Path, facts: Any, estimate: Any) -> None:
    """Write the settings and the arrays of a policy that has learned."""
    name = policy.core_.kind if isinstance(policy, SavedActionPolicy) else type(policy).__name__
    form = FORMS.get(name) or next((each for each in FORMS.values() if each.kind == name), None)
    if form is None:
        raise PolicyFileError(
            f"{type(policy).__name__} has no form in plain arrays yet; {', '.join(FORMS)} have. For files that "
            "never leave your hands, use pickle."
        )
    settings, arrays = form.write(policy)
    known = facts.as_dict() if hasattr(facts, "as_dict") else dict(facts or {})
    low, high = policy.reward_range
    about = {
        "written_by": f"offsettree {offsettree.__version__}",
        "learner": None,
        "training": {"reward_range": [float(low), float(high)]},
        "facts": known,
        "estimate": estimate,
    }
    if isinstance(policy, SavedActionPolicy):  # what its file said, unless there is something new to say
        about |= {name: policy.manifest.get(name) for name in about if not about[name] or name == "written_by"}
    else:
        parameters = {name: " ".join(repr(value).split()) for name, value in policy.get_params(deep=False).items()}
        about["learner"] = {"class": type(policy).__name__, "parameters": parameters}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        **as_facts(about),
        "rows": policy._trained_on is not None,
        "policy": {"kind": form.kind, **settings, "reward_low": float(low), "reward_high": float(high)},
    }
    own = {f"policy.{name}": array for name, array in arrays.items()}
    if policy._trained_on is not None:
        own |= {f"rows.{name}": array for name, array in vars(policy._trained_on).items()}
    write_archive(path, manifest, own, {})


def is_over_sets(manifest: Mapping[str, Any]) -> bool:
    """Return whether a manifest is of a policy over actions with features."""
    policy = manifest.get("policy")
    return isinstance(policy, dict) and any(policy.get("kind") == form.kind for form in FORMS.values())


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
        Decides as the one that was saved. An online one goes on learning; `ActionRegression` and `ActionOffsetTree`
        come as `offsettree.actions.SavedActionPolicy`, which decides without scikit-learn. Its `manifest` is what the
        file says of itself.

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
    return read_action_policy(archive, path)


def read_action_policy(archive: Archive, path: Path) -> Any:
    """Return the policy of a file that was read."""
    try:
        used: set[str] = set()
        policy = _read(Part(archive.manifest.get("policy"), "policy", archive.arrays, used))
        # Files written before rows were remembered say nothing of them.
        if "rows" in archive.manifest and Part(archive.manifest, "manifest", archive.arrays, used).truth("rows"):
            policy._trained_on = read_rows(archive.arrays, used)
        if odd := sorted({*archive.arrays, *archive.others} - used):
            raise PolicyFileError(f"{odd[0]} must not be in the file: the policy has no use for it.")  # noqa: TRY301
    except PolicyFileError as error:
        raise PolicyFileError(f"{path}: {error}") from error
    policy.manifest = archive.manifest
    return policy


def _read(part: Part) -> Any:
    kind = part.said.get("kind")
    for form in FORMS.values():
        if form.kind == kind:
            return form.read(part)
    raise PolicyFileError(
        "it holds a policy over actions that are labels, or none that this version knows; read it with load."
    )


def _range_in(part: Part) -> tuple[float, float]:
    low, high = part.number("reward_low", -LARGE, LARGE), part.number("reward_high", -LARGE, LARGE)
    must_hold(low < high, f"{part.where}.reward_high", "a number above reward_low")
    return low, high


def _write_online(policy: OnlineActionRegression | OnlineActionOffsetTree) -> tuple[dict[str, Any], Arrays]:
    if not hasattr(policy, "weights_"):
        raise ParameterError("the policy must have learned before it is saved: call fit, partial_fit or learn first.")
    settings = {
        "prior": float(policy.prior),
        "interactions": policy.interactions,
        "id_effects": bool(policy.id_effects),
        "id_prior": float(policy.id_prior),
        "n_bits": int(policy.n_bits),
    }
    arrays: Arrays = {"weights": policy.weights_, "scales": policy.scales_, "totals": policy.totals_}
    if hasattr(policy, "heights"):
        offset = policy.offset if isinstance(policy.offset, str) else float(policy.offset)
        return settings | {"heights": policy.heights, "offset": offset, "seed": policy.seed}, arrays | {
            "reached": policy.n_reached_
        }
    return settings | {"importance": policy.importance}, arrays


def _read_online(part: Part) -> OnlineActionRegression:
    from offsettree.actions import OnlineActionRegression

    importance: Any = part.choice("importance", ("inverse_propensity", "none"))
    policy = OnlineActionRegression(importance=importance, **_hashing_settings(part))
    _read_weights(policy, part)
    return policy


def _read_online_tree(part: Part) -> OnlineActionOffsetTree:
    from offsettree.actions import OnlineActionOffsetTree

    offset: Any = "mean" if part.said.get("offset") == "mean" else part.number("offset", 0.0, 1.0)
    heights: Any = part.choice("heights", ("shared", "separate"))
    seed = part.integer("seed", 0, (1 << 32) - 1)
    policy = OnlineActionOffsetTree(heights=heights, offset=offset, seed=seed, **_hashing_settings(part))
    _read_weights(policy, part)
    policy.n_reached_ = part.array("reached", np.int64, 32)
    must_hold(policy.n_reached_ >= 0, f"{part.where}.reached.npy", "counts of at least 0")
    return policy


def _hashing_settings(part: Part) -> dict[str, Any]:
    if "learning_rate" in part.said:
        raise PolicyFileError(
            "it was written before offsettree 0.2.0, by an earlier learner whose weights mean something else: learn "
            "the policy again from its log."
        )
    return {
        "prior": part.number("prior", *PRIORS),
        "interactions": part.choice("interactions", ("all", "context-action")),
        "id_effects": part.truth("id_effects"),
        "id_prior": part.number("id_prior", *PRIORS),
        "n_bits": part.integer("n_bits", 1, 30),
        "reward_range": _range_in(part),
    }


def _read_weights(policy: Any, part: Part) -> None:
    n_places = 1 << policy.n_bits
    policy.weights_ = part.finite("weights", np.float32, 2, n_places)
    policy.scales_ = part.finite("scales", np.float32, 3, n_places)
    policy.totals_ = part.finite("totals", np.float64, 6)
    must_hold(policy.weights_[1] >= 0, f"{part.where}.weights.npy", "precisions of at least 0 in its second row")
    must_hold(policy.scales_[1:] >= 0, f"{part.where}.scales.npy", "spreads and counts of at least 0 in its last rows")


def _write_popular(policy: PopularAction) -> tuple[dict[str, Any], Arrays]:
    if not hasattr(policy, "ids_"):
        raise ParameterError("the policy must have learned before it is saved: call fit first.")
    ids = policy.ids_.tolist()
    check_labels("ids", ids)
    return {"ids": ids, "mean": float(policy.mean_)}, {"values": policy.values_}


def _read_popular(part: Part) -> PopularAction:
    from offsettree.actions import PopularAction

    policy = PopularAction(reward_range=_range_in(part))
    low, high = policy.reward_range
    ids: Any = part.said.get("ids")
    where = f"{part.where}.ids"
    must_hold(isinstance(ids, list) and len(ids) > 0, where, "a list of ids")
    must_hold({type(each) for each in ids} in ({int}, {str}), where, "whole numbers or texts, all of one kind")
    check_labels(where, ids)
    with refusing(where):
        policy.ids_ = np.array(ids, dtype=np.int64 if type(ids[0]) is int else str)
    must_hold(policy.ids_[:-1] < policy.ids_[1:], where, "ids in ascending order, none of them twice")
    policy.values_ = part.finite("values", np.float64, len(ids))
    policy.mean_ = part.number("mean", low, high)
    return policy


def _write_core(policy: Any) -> tuple[dict[str, Any], Arrays]:
    if not hasattr(policy, "core_"):
        raise ParameterError("the policy must have learned before it is saved: call fit first.")
    arrays: Arrays = {}
    said = describe_core(policy, arrays)
    settings = {name: value for name, value in said.items() if name != "kind"}
    return settings, {name.removeprefix("policy."): array for name, array in arrays.items()}


def _read_core(part: Part) -> SavedActionPolicy:
    return read_core(part, _range_in(part))


FORMS = {
    "ActionOffsetTree": ActionForm("action offset tree", _write_core, _read_core),
    "ActionRegression": ActionForm("action regression", _write_core, _read_core),
    "OnlineActionOffsetTree": ActionForm("online action offset tree", _write_online, _read_online_tree),
    "OnlineActionRegression": ActionForm("online action regression", _write_online, _read_online),
    "PopularAction": ActionForm("popular action", _write_popular, _read_popular),
}
