"""``offsettree evaluate``: what a policy is worth, on a log that it has not seen."""

from __future__ import annotations

import argparse
from pathlib import Path

from offsettree.cli._options import add_common_options, add_log_options
from offsettree.cli._output import paragraph, print_json, print_line

__all__ = ["EXAMPLE", "configure"]

EXAMPLE = "offsettree evaluate policy.ot next-week.csv"
METHODS = ["snips", "ips", "doubly_robust", "switch", "direct"]
INTERVALS = ["normal", "bootstrap", "bernstein", "betting"]


def configure(command: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    command.add_argument("policy", type=Path, metavar="POLICY", help="a policy file")
    command.add_argument("log", type=Path, metavar="LOG", help="a file, or a folder of files, not learned from")
    add_log_options(command)
    add_evaluation_options(command)
    add_common_options(command, seed=True)
    command.set_defaults(run=run)


def add_evaluation_options(command: argparse.ArgumentParser) -> None:
    """Add how values are estimated."""
    group = command.add_argument_group("evaluation")
    group.add_argument("--method", choices=METHODS, default="snips", help="(default: snips)")
    group.add_argument("--interval", choices=INTERVALS, default="normal", help="(default: normal)")
    group.add_argument(
        "--reward-range",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="smallest and largest possible reward (default: that of the policy's training)",
    )
    group.add_argument(
        "--propensity-estimated",
        action="store_true",
        help="the log does not tell propensities: estimate them from what was chosen",
    )
    group.add_argument("--level", type=float, default=0.95, help="of the intervals (default: 0.95)")


def run(options: argparse.Namespace) -> int:
    """Load, read, estimate, and say what came out."""
    from offsettree.cli._evaluation import evaluate_saved, read_log_for
    from offsettree.cli._rows import encoder_for
    from offsettree.persistence import load
    from offsettree.workflow import conclusion, verdict
    from offsettree.workflow.facts import estimate_facts

    policy = load(options.policy)
    found = read_log_for(policy, options.policy, options)
    X = encoder_for(policy, options.policy).encode(found.X, where=options.log)
    estimate = evaluate_saved(policy, X, found, options)
    if options.json:
        print_json({"policy": str(options.policy), "log": str(options.log), "estimate": estimate_facts(estimate)})
        return 0
    print_line(paragraph(verdict(estimate)))
    print_line(paragraph(conclusion(estimate)))
    print_line(
        paragraph(
            f"From {estimate.n_rows:,} rows, in {estimate.n_matched:,} of which the log did what the policy would do; "
            f"worth {estimate.effective_rows:,.0f} rows of equal weight ({estimate.method}, {estimate.interval} "
            f"{100 * estimate.level:g} % intervals)."
        )
    )
    for warning in estimate.warnings:
        print_line(paragraph(f"Warning: {warning}", "  "))
    return 0
