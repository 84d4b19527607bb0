"""``offsettree inspect``: what is in a log, or in a policy file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from offsettree.cli._options import add_common_options, add_log_options, log_arguments
from offsettree.cli._output import columns, paragraph, print_json, print_line, print_notes

__all__ = ["EXAMPLE", "configure"]

EXAMPLE = "offsettree inspect campaign.csv"
MOST_SHOWN = 20


def configure(command: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    command.add_argument("path", type=Path, metavar="POLICY|LOG", help="a policy file, or a log: a file or a folder")
    add_log_options(command)
    add_common_options(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Look into the file, whichever it is."""
    if is_policy_file(options.path):
        facts = _policy_facts(options.path)
        tell = _tell_policy
    else:
        from offsettree.workflow.inspection import inspect_log

        facts = inspect_log(options.path, **log_arguments(options))
        tell = _tell_log
    if options.json:
        print_json(facts)
    else:
        tell(facts)
    return 0


def is_policy_file(path: Path) -> bool:
    """Tell a policy file, which is a zip, from a log."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


def _policy_facts(path: Path) -> dict[str, Any]:
    from offsettree.persistence import load

    policy = load(path)
    manifest = {key: value for key, value in policy.manifest.items() if key != "members"}
    return {"path": str(path), "bytes": path.stat().st_size, "kind": "policy", **manifest}


def _tell_policy(facts: dict[str, Any]) -> None:
    known = facts.get("facts") or {}
    policy, log = known.get("policy") or {}, known.get("log") or {}
    actions = facts["actions"]
    labels = actions["labels"] if isinstance(actions, dict) else actions
    print_line(f"{facts['path']}: a policy of {facts['bytes']:,} bytes, {len(labels):,} actions")
    print_line(paragraph(f"  actions   {_some(labels)}", " " * 12))
    if policy:
        print_line(
            f"  learner   {policy.get('name')} ({policy.get('learner')}), learned in {policy.get('seconds', 0):.1f} s"
        )
    if log:
        print_line(f"  learned   from {log.get('train_rows', 0):,} of {log.get('rows', 0):,} rows of {log.get('path')}")
        print_line(paragraph(f"  features  {_some(log.get('features') or [])}", " " * 12))
    if known.get("verdict"):
        print_line(paragraph(f"  worth     {known['verdict']}", " " * 12))
    if known.get("importance"):
        print_line()
        rows = [["feature", "decisions that change when it is shuffled"]]
        rows += [[each["feature"], f"{100 * each['changes']:.1f} %"] for each in known["importance"][:MOST_SHOWN]]
        print_line(columns(rows))
    if known.get("tree"):
        print_line()
        print_line("The tree of actions; beside each contest the rows held out that it decided, and how clearly.")
        for line in _tree_lines(known["tree"])[: 4 * MOST_SHOWN]:
            print_line(line)
    for warning in known.get("warnings") or []:
        print_line(paragraph(f"Warning: {warning}", "  "))


def _tree_lines(node: dict[str, Any], indent: str = "", mark: str = "") -> list[str]:
    if "action" in node:
        return [f"{mark}{node['action']}"]
    lines = [f"{mark}contest: {node['rows']:,} rows, {100 * node['strength']:.0f} % to one side"]
    lines += _tree_lines(node["left"], indent + "│  ", indent + "├─ ")
    return lines + _tree_lines(node["right"], indent + "   ", indent + "└─ ")


def _tell_log(facts: dict[str, Any]) -> None:
    print_line(f"{facts['path']}: a log of {facts['rows']:,} decisions among {len(facts['actions']):,} actions")
    print_notes(facts["notes"])
    reward, propensity = facts["reward"], facts["propensity"]
    print_line(f"  reward      {reward['min']:.4g} to {reward['max']:.4g}, mean {reward['mean']:.4g}")
    if propensity:
        print_line(
            f"  propensity  {propensity['min']:.4g} to {propensity['max']:.4g}; the mean of 1 / propensity is "
            f"{propensity['mean_inverse']:.4g}, of {len(facts['actions'])} actions"
        )
    print_line()
    rows = [["action", "rows", "share", "mean reward", "logged / by propensities"]]
    rows += [
        [
            str(each["label"]),
            f"{each['rows']:,}",
            f"{100 * each['share']:.2f} %",
            f"{each['mean_reward']:.4g}",
            "" if each["times_expected"] is None else f"{each['times_expected']:.2f}",
        ]
        for each in facts["actions"][:MOST_SHOWN]
    ]
    print_line(columns(rows, right=(1, 2, 3, 4)))
    if len(facts["actions"]) > MOST_SHOWN:
        print_line(f"... and {len(facts['actions']) - MOST_SHOWN:,} more")
    print_line()
    rows = [["feature", "kind", "missing", "encoded as"]]
    for each in facts["features"][: 3 * MOST_SHOWN]:
        rows.append([each["name"], each["kind"], f"{100 * each['missing']:.1f} %", each["encoded"]])
    print_line(columns(rows, right=(2,)))
    for warning in facts["warnings"]:
        print_line(paragraph(f"Warning: {warning}", "  "))


def _some(labels: list[Any], most: int = 30) -> str:
    return ", ".join(map(str, labels[:most])) + (f", ... ({len(labels):,} in all)" if len(labels) > most else "")
