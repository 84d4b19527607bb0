"""``offsettree learn --learner online`` or ``online-regression``: one pass over a log of any size."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from offsettree.cli._options import log_arguments, range_given
from offsettree.exceptions import ParameterError

if TYPE_CHECKING:
    from offsettree.facts import Facts

# No rows are held out: the policy decides on each chunk before it learns from it (progressive validation).
NOT_ONLINE = ("base", "time_budget", "method", "offset", "split_by_time", "group", "test_size")


def learn_online(options: argparse.Namespace) -> tuple[Any, Any, Facts, Any]:
    """Learn from a log chunk by chunk, deciding on each chunk first; return policy, encoder, facts and estimate."""
    from offsettree.workflow.streaming import learn_from_stream

    given = {name: getattr(options, name) is not None for name in NOT_ONLINE}
    for name, is_given in (given | {"no_refit": not options.refit, "distill": options.distill}).items():
        if is_given:
            option = "--" + name.replace("_", "-")
            raise ParameterError(f"{option} cannot be used with --learner {options.learner}: leave it out.")
    if options.propensity_estimated:
        raise ParameterError("--propensity-estimated needs all rows in memory: use another --learner.")
    if options.interval not in (None, "normal"):
        raise ParameterError(f"--learner {options.learner} has normal intervals only: leave --interval out.")
    return learn_from_stream(
        options.log,
        learner=options.learner,
        reward_range=range_given(options),  # type: ignore[arg-type]
        level=options.level,
        random_state=options.seed,
        **log_arguments(options),
    )
