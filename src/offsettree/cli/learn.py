"""``offsettree learn``: from a log on disk to a policy file and an estimate of its value."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offsettree._messages import as_options
from offsettree.cli._action_sets import add_action_options, learning_sets
from offsettree.cli._learn_large import add_engine_options, is_for_files, is_pattern, learn_large
from offsettree.cli._learn_online import learn_online
from offsettree.cli._learn_over_sets import learn_over_sets
from offsettree.cli._learned_text import print_learned
from offsettree.cli._options import (
    TEST_SIZE,
    add_common_options,
    add_estimated_option,
    add_log_options,
    is_policy_file,
    learning_arguments,
    log_arguments,
    memory_arguments,
    refuse_to_overwrite,
    require_files,
)
from offsettree.cli._output import print_json
from offsettree.cli._require import add_require_option, exit_code
from offsettree.cli.evaluate import INTERVALS, METHODS
from offsettree.exceptions import LogError, ParameterError
from offsettree.registry import CLASSIFIERS, POLICIES, REGRESSORS

if TYPE_CHECKING:
    from offsettree.facts import Facts

__all__ = ["EXAMPLE", "configure"]

EXAMPLE = "offsettree learn campaign.csv --action mail --reward visited --report report.html"


def configure(command: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    command.add_argument("log", type=Path, metavar="LOG", help="a file, a folder of files, or a pattern in quotes")
    add_log_options(command)
    add_action_options(command, labels=True)
    _add_learning_options(command.add_argument_group("learning"))
    _add_evaluation_options(command.add_argument_group("evaluation"))
    group = command.add_argument_group("output")
    group.add_argument("-o", "--out", type=Path, default=Path("policy.ot"), help="policy file (default: policy.ot)")
    group.add_argument("--report", type=Path, metavar="HTML", help="also write a report as one HTML page")
    add_common_options(command, seed=True, jobs=True)
    command.set_defaults(run=run)


def _add_learning_options(group: Any) -> None:
    add_estimated_option(group)
    group.add_argument(
        "--learner",
        default="auto",
        help=f"auto compares several and keeps the best; {_names(online=True)} take one pass over a log "
        "of any size (default: auto)",
    ).choices = POLICIES
    group.add_argument(
        "--base",
        metavar="NAME",
        help=f"base learner: for {_names(base='regressor')} {', '.join(REGRESSORS.known)}; for "
        f"{_names(base='classifier')} {', '.join(CLASSIFIERS.known)} (j48, m5p and reptree need Java)"
        + "".join(f"; {name}, of another package" for name in CLASSIFIERS.beside()),
    )
    group.add_argument(
        "--offset",
        type=_offset,
        metavar="OFFSET",
        help="offset of offset-tree and offset-forest: mean, median, median_given_x, or a share of the reward range "
        "from 0 to 1; a reward of at least the offset votes for the action taken, a lower one against it "
        "(default: mean)",
    )
    group.add_argument(
        "--no-refit",
        dest="refit",
        action="store_false",
        help="save the policy that was evaluated; do not train it again on all rows",
    )
    group.add_argument(
        "--distill",
        action="store_true",
        help="save an offset tree that imitates the learned policy in fewer steps; the estimate is of that tree, and "
        "its loss against the learned policy is reported",
    )
    group.add_argument(
        "--reward-range",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="smallest and largest possible reward (default: 0 1 if all are within, else those of the log)",
    )
    group.add_argument(
        "--time-budget",
        type=float,
        metavar="SECONDS",
        help="time for choosing and training, where auto compares candidates: all are tried on a part of the rows, and "
        "those that would take too long are left out",
    )
    add_engine_options(group)


def _names(**wanted: Any) -> str:
    """List the learners whose entries are as wanted."""
    *names, last = [
        name
        for name, entry in POLICIES.known.items()
        if all(getattr(entry, field) == value for field, value in wanted.items())
    ]
    return f"{', '.join(names)} and {last}" if names else last


def _add_evaluation_options(group: Any) -> None:
    group.add_argument("--test-size", type=float, help=f"share of rows held out (default: {TEST_SIZE})")
    group.add_argument(
        "--method",
        choices=METHODS,
        help="estimator of the value (default: doubly_robust; snips if more than 20,000 rows are held out)",
    )
    held_out = group.add_mutually_exclusive_group()
    held_out.add_argument(
        "--split-by-time",
        metavar="COL",
        help="hold out the latest rows by this column of dates or numbers, and learn from the earlier ones (default: "
        "hold out random rows)",
    )
    held_out.add_argument(
        "--group",
        metavar="COL",
        help="hold out whole groups, such as all rows of a customer; COL is then not a feature",
    )
    group.add_argument(
        "--interval",
        choices=INTERVALS,
        help=f"kind of confidence interval (default: {INTERVALS[0]}; {_names(online=True)} have only normal)",
    )
    group.add_argument("--level", type=float, default=0.95, help="confidence level of the intervals (default: 0.95)")
    add_require_option(group)


def run(options: argparse.Namespace) -> int:
    """Read the log; learn, evaluate and save a policy; print the result."""
    if not is_pattern(options.log):
        require_files(options.log)
    _check_paths(options)
    if options.propensity_estimated and options.propensity is not None:
        raise ParameterError("give either --propensity or --propensity-estimated, not both.")
    facts = _write(*_learned(options), options)
    if options.json:
        print_json(facts)
    else:
        print_learned(facts, options)
    return exit_code(options, is_better=facts.is_better is True)


def _learned(options: argparse.Namespace) -> tuple[Any, Any, Facts, Any]:
    """Learn from labels or, where rows list the actions that they could choose from, from action sets."""
    way = _way(options)
    sets = None if way is learn_large else learning_sets(options, options.log)
    return way(options) if sets is None else learn_over_sets(options, sets)


def _way(options: argparse.Namespace) -> Callable[[argparse.Namespace], tuple[Any, Any, Facts, Any]]:
    """Return how to learn: online, from files, or in memory."""
    if not POLICIES[options.learner].online:
        return learn_large if is_for_files(options) else _learn_in_memory
    if options.engine is not None or options.storage is not None or options.out_of_core:
        raise ParameterError(
            f"--engine, --storage and --out-of-core cannot be used with --learner {options.learner}, which takes one "
            "pass over a log of any size as it is: leave them out."
        )
    return learn_online


def _learn_in_memory(options: argparse.Namespace) -> tuple[Any, Any, Facts, Any]:
    from offsettree.logs import LoggedData, read_columns
    from offsettree.workflow import learn_policy
    from offsettree.workflow.facts import learned_facts

    beside = [name for name in (options.split_by_time, options.group) if name is not None]
    found = read_columns(
        options.log,
        without_propensity=options.propensity_estimated,
        beside=beside,
        group=options.group,
        **log_arguments(options),
    )
    refuse_wide(found.X, options.log)
    learned = learn_policy(
        LoggedData(found.X, found.columns),
        distilled=options.distill,
        **learning_arguments(options),
        **memory_arguments(options, found.beside),
    )
    facts = learned_facts(learned, path=str(options.log), columns=found.roles, notes=found.notes, seed=options.seed)
    return learned.policy, learned.encoder, facts, learned.estimate


def _write(policy: Any, encoder: Any, facts: Facts, estimate: Any, options: argparse.Namespace) -> Facts:
    """Write the policy file and any report; return the facts with this command's own spelling and command line."""
    from offsettree.policy_file import save

    command = " ".join(["offsettree", "learn", *map(shlex.quote, options.arguments[1:])])
    facts = facts.changed(
        log=facts.log.changed(notes=[as_options(note) for note in facts.log.notes]),
        reproduce=facts.reproduce.changed(command=command),
    )
    save(policy, options.out, encoder=encoder, facts=facts, estimate=estimate)
    if options.report is not None:
        from offsettree.report import write_report

        write_report(facts, options.report)
    return facts


def _offset(given: str) -> float | str:
    try:
        return float(given)
    except ValueError:
        return given


def refuse_wide(X: Any, path: Path) -> None:
    """Refuse sparse rows with thousands of features: the command line encodes each feature as a named column."""
    if hasattr(X, "toarray"):
        raise LogError(
            f"the command line takes rows of at most 1,024 named features; those of {path} name {X.shape[1]:,}. "
            "Learn in Python: OnlineOffsetTree(n_bits=20) or another policy, on LoggedData.read(...)."
        )


def _check_paths(options: argparse.Namespace) -> None:
    """Check the output paths before hours of learning, not after."""
    for path, option in ((options.out, "--out"), (options.report, "--report")):
        if path is None:
            continue
        if path.is_dir():
            raise ParameterError(f"{option} must be a file; {path} is a folder. Name a file in it.")
        if not path.parent.is_dir():
            raise ParameterError(f"{option} must be in a folder that exists; {path.parent} does not. Create it first.")
        refuse_to_overwrite(path, [options.log], option)
    if options.report is not None and options.report.resolve() == options.out.resolve():
        raise ParameterError(f"--out and --report must differ; both are {options.out}.")
    if options.out.exists() and not is_policy_file(options.out):
        raise ParameterError(f"--out may overwrite policy files only; {options.out} is not one. Name another file.")
