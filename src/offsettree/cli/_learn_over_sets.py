"""``offsettree learn`` on a log with a set of eligible actions per row."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from offsettree.cli._action_sets import described, read_sets
from offsettree.cli._options import learning_arguments, memory_arguments
from offsettree.exceptions import ParameterError

if TYPE_CHECKING:
    from offsettree.facts import Facts


def learn_over_sets(options: argparse.Namespace, arguments: dict[str, Any]) -> tuple[Any, Any, Facts, Any]:
    """Read the log, learn and evaluate; return policy, encoder, facts and estimate."""
    from offsettree.workflow import facts_over_sets
    from offsettree.workflow import learn_over_sets as learn

    if options.distill:
        raise ParameterError("--distill makes a tree over labels: leave it out for a log with action sets.")
    beside = [name for name in (options.split_by_time, options.group) if name is not None]
    without = options.propensity_estimated
    found = read_sets(options.log, arguments, options, beside=beside, without_propensity=without)
    learned = learn(
        found.log,
        labels=options.labels,
        **learning_arguments(options),
        **memory_arguments(options, found.beside),
    )
    facts = facts_over_sets(
        learned,
        path=str(options.log),
        columns=found.roles,
        reading=described(arguments),
        notes=found.notes,
        seed=options.seed,
    )
    return learned.policy, None, facts, learned.estimate
