"""``offsettree compare``: several policies and constant actions on the same rows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from offsettree._messages import as_options
from offsettree.cli._action_sets import add_action_options
from offsettree.cli._options import add_common_options, add_log_options, policy_files, require_files
from offsettree.cli._output import columns, paragraph, print_json, print_line, print_notes
from offsettree.cli.evaluate import add_evaluation_options

__all__ = ["EXAMPLE", "configure"]

EXAMPLE = 'offsettree compare next-week.csv old.ot new.ot "free-shipping"'


def configure(command: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    command.add_argument("log", type=Path, metavar="LOG", help="a file, or a folder of files, not used for training")
    command.add_argument(
        "policies",
        metavar="POLICY|ACTION",
        nargs="+",
        help="policy files, and actions as constant policies (a name that is both is taken as the file); the others "
        "are compared with the first, unless --baseline names another",
    )
    add_log_options(command)
    add_action_options(command)
    add_evaluation_options(command)
    add_common_options(command, seed=True)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Evaluate each policy; differences are from the baseline, or else from the first."""
    require_files(options.log)
    given = list(options.policies) + ([] if options.baseline is None else [options.baseline])
    files = policy_files(given)
    from offsettree.cli._evaluation import contenders, evaluate_one, evaluation_arguments, note_ambiguous
    from offsettree.policy_file import load_any
    from offsettree.workflow.facts import estimate_facts, interval_facts
    from offsettree.workflow.verdict import which_to_use

    loaded = {name: load_any(name) for name in files}
    found = contenders(given, loaded, options)
    note_ambiguous(loaded, found[0].log.actions)
    default_arguments = evaluation_arguments(options, next(iter(loaded.values()), None), found[0].log)
    reference = found[0 if options.baseline is None else -1]
    if options.baseline is not None:
        found.pop()
    rows: list[dict[str, Any]] = []
    for place, each in enumerate(found):
        is_constant = each.policy is None
        arguments = default_arguments if is_constant else evaluation_arguments(options, each.policy, each.log)
        estimate = evaluate_one(each, arguments)
        is_first = options.baseline is None and place == 0
        to_first = None if is_first else evaluate_one(each, arguments, reference.decisions).difference
        rows.append({"policy": each.name, "estimate": estimate, "to_first": to_first})
    if options.json:
        print_json(
            [
                {
                    "policy": row["policy"],
                    "estimate": estimate_facts(row["estimate"]),
                    "to_first" if options.baseline is None else "to_baseline": interval_facts(row["to_first"]),
                }
                for row in rows
            ]
        )
        return 0
    _print_table(rows, "the first" if options.baseline is None else reference.name)
    print_line()
    named = [(each.described, row["estimate"], row["to_first"]) for each, row in zip(found, rows, strict=True)]
    print_line(paragraph(which_to_use(named, None if options.baseline is None else reference.described)))
    print_notes(found[0].notes)
    for row in rows:
        for warning in row["estimate"].warnings:
            print_line(paragraph(f"Warning ({row['policy']}): {as_options(warning)}", "  "))
    return 0


def _print_table(rows: list[dict[str, Any]], reference: str) -> None:
    logged = rows[0]["estimate"].baseline
    table = [["policy", "value", "interval", "gain on the log", f"gain on {reference}"]]
    table.append(["(as logged)", f"{logged.value:.4f}", _ends(logged), "", ""])
    for row in rows:
        estimate, to_first = row["estimate"], row["to_first"]
        table.append(
            [
                row["policy"],
                f"{estimate.value:.4f}",
                _ends(estimate),
                _gain(estimate.difference),
                "" if to_first is None else _gain(to_first),
            ]
        )
    print_line(columns(table, right=(1,)))


def _ends(interval: Any) -> str:
    return f"{interval.low:.4f} to {interval.high:.4f}"


def _gain(difference: Any) -> str:
    return f"{difference.value:+.4f} [{difference.low:+.4f}, {difference.high:+.4f}]"
