"""``offsettree evaluate``: a policy's value on a log that it was not trained on."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from offsettree._messages import as_options
from offsettree.cli._action_sets import add_action_options
from offsettree.cli._options import (
    add_common_options,
    add_estimated_option,
    add_log_options,
    policy_files,
    require_files,
)
from offsettree.cli._output import paragraph, print_json, print_line, print_notes
from offsettree.cli._require import add_require_option, exit_code

__all__ = ["EXAMPLE", "configure"]

EXAMPLE = "offsettree evaluate policy.ot next-week.csv"
METHODS = ["snips", "ips", "doubly_robust", "switch", "direct", "log_smoothing"]
INTERVALS = ["mid_p", "empirical_likelihood", "normal", "bootstrap", "bernstein", "betting", "anytime"]


def configure(command: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    command.add_argument("policy", type=Path, metavar="POLICY", help="a policy file")
    command.add_argument("log", type=Path, metavar="LOG", help="a file, or a folder of files, not used for training")
    add_log_options(command)
    add_action_options(command)
    group = add_evaluation_options(command)
    add_require_option(group)
    add_common_options(command, seed=True)
    command.set_defaults(run=run)


def add_evaluation_options(command: argparse.ArgumentParser) -> Any:
    """Add the options for estimating values; return their group."""
    group = command.add_argument_group("evaluation")
    group.add_argument(
        "--baseline",
        metavar="ACTION|POLICY",
        help="what to compare with: an action, always taken, or a policy file",
    )
    group.add_argument(
        "--group",
        metavar="COL",
        help="rows with the same value in COL, such as a customer, may be correlated: intervals treat these groups, "
        "not rows, as independent (default: all rows are independent)",
    )
    group.add_argument("--method", choices=METHODS, default="snips", help="estimator of the value (default: snips)")
    group.add_argument("--interval", choices=INTERVALS, help=f"kind of confidence interval (default: {INTERVALS[0]})")
    group.add_argument(
        "--reward-range",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="smallest and largest possible reward (default: those of the policy's training)",
    )
    add_estimated_option(group)
    group.add_argument("--level", type=float, default=0.95, help="confidence level of the intervals (default: 0.95)")
    return group


def run(options: argparse.Namespace) -> int:
    """Load the policy, read the log, estimate the value and print the result."""
    require_files(options.policy, options.log)
    given = [str(options.policy)] + ([] if options.baseline is None else [options.baseline])
    files = policy_files(given)
    from offsettree.cli._evaluation import (
        compare_saved,
        contenders,
        evaluate_one,
        evaluation_arguments,
        note_ambiguous,
    )
    from offsettree.policy_file import load_any
    from offsettree.workflow import advice
    from offsettree.workflow.facts import constant_facts, estimate_facts

    found = contenders(given, {name: load_any(name) for name in files}, options)
    own, other = found[0], found[1] if len(found) > 1 else None
    note_ambiguous({} if other is None or other.policy is None else {other.name: other.policy}, own.log.actions)
    arguments = evaluation_arguments(options, own.policy, own.log)
    compared, picked_on = compare_saved(own, arguments, other)
    against = None if other is None else evaluate_one(own, arguments, other.decisions)
    advised = advice(compared)
    is_better = advised.is_better
    if against is not None and against.difference is not None:
        is_better = is_better and against.difference.low > 0 and not against.serious
    if options.json:
        print_json(
            {
                "policy": str(options.policy),
                "log": str(options.log),
                "estimate": estimate_facts(compared.estimate),
                "constant": constant_facts(compared, picked_on),
                "baseline": None
                if against is None
                else {"name": options.baseline, **estimate_facts(against).as_dict()},
                "conclusion": advised.sentence,
                "use": advised.use,
                "is_better": is_better,
                "notes": own.notes,
            }
        )
    else:
        _print_result(compared, against, own, other)
    return exit_code(options, is_better=is_better)


def _print_result(compared: Any, against: Any, own: Any, other: Any) -> None:
    from offsettree.workflow import advice, conclusion, verdict
    from offsettree.workflow.verdict import basis, gain_on

    print_line(paragraph(verdict(compared.estimate, compared)))
    if compared.picked_here:
        print_line(
            paragraph(
                "That constant action was picked as the best on these same rows, because the policy file names none "
                "that this log has. Its value is therefore optimistic, and no verdict rests on it; name one with "
                "--baseline."
            )
        )
    print_line(paragraph(basis(compared.estimate)))
    if against is not None:
        print_line()
        print_line(paragraph(gain_on(against, other.described)))
        if not against.serious:  # else the last sentence says that there is no verdict
            print_line(paragraph(conclusion(against, baseline=other.described)))
    print_line()
    print_line(paragraph(advice(compared).sentence))
    print_notes(own.notes)
    for warning in dict.fromkeys([*compared.warnings, *(() if against is None else against.warnings)]):
        print_line(paragraph(f"Warning: {as_options(warning)}", "  "))
