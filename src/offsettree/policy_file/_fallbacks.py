"""Policies that have no form in flat arrays: written by skops, or by pickle, where the caller says so at both ends."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from offsettree._optional import require
from offsettree.exceptions import PolicyFileError
from offsettree.models import Inputs
from offsettree.models.part import Part
from offsettree.policy_file._archive import Archive
from offsettree.policy_file._manifest import actions_of, read_encoder
from offsettree.policy_file.saved import SavedPolicy

SKOPS, PICKLE = "policy.skops", "policy.pickle"


def write_other(policy: Any, fallback: str) -> dict[str, bytes]:
    """Return the bytes of a policy, under the name that tells what they are."""
    if fallback == "pickle":
        return {PICKLE: pickle.dumps(policy)}
    skops = require("skops.io", extra="skops")
    return {SKOPS: skops.dumps(policy)}


def read_other(archive: Archive, path: Path, trusted: Sequence[str] | None, allow_pickle: bool) -> SavedPolicy:
    """Return a policy that was not written as arrays, if the caller allows for how it was."""
    names = set(archive.others)
    if any(not name.startswith("rows.") for name in archive.arrays) or len(names) != 1:
        raise PolicyFileError("there must be one policy in the file; there are several.")
    name = names.pop()
    if name == PICKLE:
        if allow_pickle is not True:
            raise PolicyFileError(
                "the policy is a pickle: to load it would run whatever it says. Only if the file never left your "
                "hands: load(..., allow_pickle=True)."
            )
        policy = pickle.loads(archive.others[name])  # noqa: S301 - asked for in so many words
    elif name == SKOPS:
        policy = _read_skops(archive.others[name], trusted)
    else:
        raise PolicyFileError(f"{name} must not be in the file.")
    part = Part(archive.manifest, "manifest", archive.arrays, set())
    inputs = Inputs.read(part.part("features"))
    encoder = read_encoder(archive.manifest, inputs)
    actions = actions_of(part.part("actions"))
    return SavedPolicy(None, inputs, actions, archive.manifest, encoder, policy._trained_on, policy)


def _read_skops(data: bytes, trusted: Sequence[str] | None) -> Any:
    skops = require("skops.io", extra="skops")
    unknown = skops.get_untrusted_types(data=data)
    if trusted is None or not set(unknown) <= set(trusted):
        missing = sorted(set(unknown) - set(trusted or ()))
        raise PolicyFileError(
            f"the policy was written by skops, with types that must be trusted by name: {', '.join(missing)}. If you "
            "know who wrote the file: load(..., trusted=[...]). Numbers within are not checked: a forged tree can "
            "crash the process."
        )
    return skops.loads(data, trusted=list(trusted))
