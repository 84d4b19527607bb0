"""The manifest: what a policy file says of itself, written and read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._fingerprint import N_COLUMNS, N_KEPT, Fingerprint
from offsettree.exceptions import ParameterError, PolicyFileError
from offsettree.models import Boosted, BoostedWithVotes, Inputs, Pairs, Scores, Tournaments  # noqa: F401 - a file may hold these
from offsettree.models.model import Model, describe, read_model
from offsettree.models.part import Part, is_text, refusing
from offsettree.online import OnlineBanditron, OnlineRegression, OnlineTree  # noqa: F401 - and these
from offsettree.policy_file._json import as_facts
from offsettree.policy_file.saved import SavedPolicy

FORMAT = "offsettree policy"
VERSION = 1
# An array pads every label to the longest: neither may a short file become a large one.
LONGEST_LABEL = 10_000
MOST_CHARACTERS = 1 << 26  # of all labels, so padded: 256 MB
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def write_manifest(
    model: Model | None,
    inputs: Inputs,
    actions: NDArray[Any],
    about: dict[str, Any],
    encoder: Any,
    trained_on: Fingerprint | None,
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the manifest and the arrays of a policy; `about` tells of learner, training and estimate."""
    arrays = {} if trained_on is None else {f"rows.{name}": array for name, array in vars(trained_on).items()}
    if fault := inputs.fault_of(encoder):
        raise ParameterError(f"encoder {fault} Pass the one whose columns the policy was fitted on.")
    check_labels("actions", actions.tolist())
    features = inputs.describe()
    of_rows = None if encoder is None else encoder.to_manifest()
    read_encoder({"encoder": of_rows}, inputs)  # what could not be read again is not written
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        **as_facts(about),
        "actions": {"type": "text" if actions.dtype.kind in "OU" else actions.dtype.name, "labels": actions.tolist()},
        "features": features,
        "encoder": of_rows,
        "rows": trained_on is not None,
        "policy": {"kind": "other"} if model is None else describe(model, "policy", arrays),
    }
    return manifest, arrays


def check_version(manifest: Any, path: Any) -> None:
    """Refuse what is no policy, or one of a later format."""
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise PolicyFileError(f"{path} holds no policy: its manifest must say format {FORMAT!r}.")
    version = manifest.get("version")
    if type(version) is not int or version < 1:
        raise PolicyFileError(f"{path}: version must be a whole number from 1 on; got {version!r:.80}.")
    if version > VERSION:
        raise PolicyFileError(
            f"{path} is too new: it was written by format {version}, and this offsettree reads up to format {VERSION}. "
            "Upgrade: pip install --upgrade offsettree."
        )


def read_policy(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> SavedPolicy:
    """Make a policy of a manifest and arrays; every number is checked on the way."""
    used: set[str] = set()
    whole = Part(manifest, "manifest", arrays, used)
    actions = actions_of(whole.part("actions"))
    inputs = Inputs.read(whole.part("features"))
    model = read_model(Part(manifest.get("policy"), "policy", arrays, used), len(actions), inputs.n_columns)
    trained_on = read_rows(arrays, used) if whole.truth("rows") else None
    if odd := sorted(set(arrays) - used):
        raise PolicyFileError(f"{odd[0]}.npy must not be in the file: the policy has no use for it.")
    return SavedPolicy(model, inputs, actions, manifest, read_encoder(manifest, inputs), trained_on)


def actions_of(part: Part) -> NDArray[Any]:
    """Return the labels, all different and of one type."""
    kind = part.choice("type", ("text", *INTEGERS))
    labels = part.said.get("labels")
    wanted = str if kind == "text" else int
    if not isinstance(labels, list) or len(labels) < 2 or any(type(label) is not wanted for label in labels):
        raise PolicyFileError(f"{part.where}.labels must be at least two labels of type {kind}; got {labels!r:.80}.")
    if len(set(labels)) < len(labels):
        raise PolicyFileError(f"{part.where}.labels must differ from each other.")
    check_labels(f"{part.where}.labels", labels)
    with refusing(f"{part.where}.labels"):
        return np.array(labels, dtype=str if kind == "text" else kind)


def check_labels(where: str, labels: list[Any]) -> None:
    """Refuse words that an array would make too much of, or, with zeros at their end, take for others."""
    words = [label for label in labels if isinstance(label, str)]
    longest = max(map(len, words), default=0)
    if longest > LONGEST_LABEL or longest * len(words) > MOST_CHARACTERS:
        raise PolicyFileError(
            f"{where} must have at most {LONGEST_LABEL:,} characters each, and {MOST_CHARACTERS:,} in all if each were "
            f"as long as the longest; got {len(words):,} labels of up to {longest:,}. Name actions by shorter labels."
        )
    if odd := next((word for word in words if not is_text(word)), None):
        raise PolicyFileError(f"{where} must be whole characters; {odd!a:.80} is not. Name that action otherwise.")
    if odd := next((word for word in words if "\0" in word), None):
        raise PolicyFileError(f"{where} must not hold the character 0; {odd!r:.80} does. Name that action otherwise.")


def read_encoder(manifest: dict[str, Any], inputs: Inputs) -> Any:
    """Return the encoder of raw rows, if there is one; its rows are as wide as the model takes them."""
    given = manifest.get("encoder")
    if given is None:
        return None
    from offsettree.encoding import TableEncoder

    with refusing("manifest.encoder"):
        encoder = TableEncoder.from_manifest(given)
    if fault := inputs.fault_of(encoder):
        raise PolicyFileError(f"manifest.encoder {fault}")
    return encoder


def read_rows(arrays: dict[str, NDArray[Any]], used: set[str]) -> Fingerprint:
    """Read and check what is remembered of the training rows."""
    part = Part({}, "rows", arrays, used)
    numbers = part.array("numbers", np.uint64, None)
    counts = part.array("counts", np.int64, len(numbers))
    if len(numbers) > N_KEPT or (np.diff(numbers.astype(object)) <= 0).any() or (counts < 1).any() or not len(numbers):
        raise PolicyFileError(
            "rows.numbers.npy must hold ascending numbers, and rows.counts.npy how often each was met."
        )
    columns = part.array("columns", np.int64, None)
    if len(columns) > N_COLUMNS or (columns < 0).any():
        raise PolicyFileError(f"rows.columns.npy must hold the positions of at most {N_COLUMNS} columns.")
    return Fingerprint(numbers, counts, columns)
