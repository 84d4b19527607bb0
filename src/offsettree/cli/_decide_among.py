"""``offsettree decide`` among the eligible actions that each row brings."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from offsettree.cli._options import reading_arguments
from offsettree.exceptions import ParameterError
from offsettree.facts import SourceFacts


def decide_among(
    policy: Any, known: SourceFacts, sets: dict[str, Any], options: argparse.Namespace, chunk_rows: int
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield the columns to write, with the decisions of each chunk of rows.

    The policy is over action sets, or over labels; `known` is the log that it was learned from, and `sets` says how to
    read the rows' eligible actions.
    """
    from offsettree.actions import LabelledActions
    from offsettree.logs import scan_eligible

    over_sets = getattr(policy, "takes_action_sets", False)
    features = known.features if over_sets else policy.encoder.names_in if policy.encoder is not None else None
    more = {} if known.sets is None or not over_sets else {"action_features": known.sets.pair_features or None}
    decider = policy if over_sets else LabelledActions.of(policy)
    blocks = scan_eligible(
        options.data, chunk_rows, features=features or None, beside=options.keep, **sets, **more,
        **reading_arguments(options),
    )  # fmt: skip
    first = 1
    for block in blocks:
        n_rows = len(block.sets)
        columns: dict[str, Any] = {"row": list(range(first, first + n_rows))}
        columns |= {name: block.beside[name] for name in options.keep}
        fewest = int(block.sets.sizes.min())
        if options.rank is not None and options.rank > fewest:
            row = first + int(block.sets.sizes.argmin())
            raise ParameterError(
                f"--rank must be at most the number of eligible actions, of which row {row} of {options.data} has "
                f"{fewest}; got {options.rank}."
            )
        decision, written = decisions_of(decider, options.rank, block.X, block.sets)
        first += n_rows
        yield columns | written, decision


def decisions_of(policy: Any, rank: int | None, *rows: Any) -> tuple[Any, dict[str, Any]]:
    """Return the decision on each row, and the columns to write: that, or the best actions in their order."""
    if rank is None:
        decision = policy.predict(*rows)
        return decision, {"decision": decision.tolist()}
    ranked = policy.rank(*rows, rank)
    return ranked[:, 0], {f"decision_{i + 1}": ranked[:, i].tolist() for i in range(ranked.shape[1])}
