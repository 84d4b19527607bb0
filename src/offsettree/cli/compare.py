"""``offsettree compare``: several policies on the same rows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from offsettree.cli._options import add_common_options, add_log_options
from offsettree.cli._output import columns, paragraph, print_json, print_line
from offsettree.cli.evaluate import add_evaluation_options

__all__ = ["EXAMPLE", "configure"]

EXAMPLE = "offsettree compare next-week.csv old.ot new.ot"


def configure(command: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    command.add_argument("log", type=Path, metavar="LOG", help="a file, or a folder of files, not learned from")
    command.add_argument(
        "policies", type=Path, metavar="POLICY", nargs="+", help="policy files; the first is compared to"
    )
    add_log_options(command)
    add_evaluation_options(command)
    add_common_options(command, seed=True)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Evaluate each policy; differences are to the first."""
    from offsettree.cli._evaluation import evaluate_saved, read_log_for
    from offsettree.cli._rows import encoder_for
    from offsettree.persistence import load
    from offsettree.workflow.facts import estimate_facts

    rows: list[dict[str, Any]] = []
    first = None
    for path in options.policies:
        policy = load(path)
        log = read_log_for(policy, path, options)
        X = encoder_for(policy, path).encode(log.X, where=options.log)
        estimate = evaluate_saved(policy, X, log, options)
        decisions = policy.predict(X)
        to_first = None
        if first is not None:
            to_first = evaluate_saved(policy, X, log, options, baseline=first).difference
        first = decisions if first is None else first
        rows.append({"policy": str(path), "estimate": estimate, "to_first": to_first})
    if options.json:
        print_json(
            [
                {
                    "policy": row["policy"],
                    "estimate": estimate_facts(row["estimate"]),
                    "to_first": _plain(row["to_first"]),
                }
                for row in rows
            ]
        )
        return 0
    logged = rows[0]["estimate"].baseline
    table = [["policy", "value", "interval", "gain on the log", "gain on the first"]]
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
    for row in rows:
        for warning in row["estimate"].warnings:
            print_line(paragraph(f"Warning ({row['policy']}): {warning}", "  "))
    return 0


def _ends(interval: Any) -> str:
    return f"{interval.low:.4f} to {interval.high:.4f}"


def _gain(difference: Any) -> str:
    return f"{difference.value:+.4f} [{difference.low:+.4f}, {difference.high:+.4f}]"


def _plain(interval: Any) -> dict[str, float] | None:
    if interval is None:
        return None
    return {name: getattr(interval, name) for name in ("value", "stderr", "low", "high")}
