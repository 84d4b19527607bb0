"""``offsettree inspect``: a summary of a log or of a policy file."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from offsettree._messages import as_options
from offsettree.cli._action_sets import add_action_options, inspected_sets
from offsettree.cli._options import add_common_options, add_log_options, is_policy_file, log_arguments, require_files
from offsettree.cli._output import columns, paragraph, print_json, print_line, print_notes, shown
from offsettree.cli._policy_text import features_of, learner_of, mapping, number, text, tree_lines, worth_of
from offsettree.facts import Facts, SourceFacts

__all__ = ["EXAMPLE", "configure"]

EXAMPLE = "offsettree inspect campaign.csv --action mail"
MOST_SHOWN = 20
MOST_ALIKE = 10  # more features than this with the same kind, encoding and share missing are shown as one line


def configure(command: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    command.add_argument("path", type=Path, metavar="POLICY|LOG", help="a policy file, or a log: a file or a folder")
    add_log_options(command)
    add_action_options(command)
    add_common_options(command)
    command.add_argument(
        "--all", action="store_true", help="list every action and column of a log, also those left out, one per line"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print a summary of a policy file or of a log."""
    require_files(options.path)
    if is_policy_file(options.path):
        from offsettree.policy_file import load_any

        policy = load_any(options.path)
        facts = _policy_facts(options.path, policy)
        print_facts = partial(_print_policy, policy=policy)
    else:
        from offsettree.workflow.inspection import inspect_log

        sets = inspected_sets(options, options.path)
        facts = inspect_log(options.path, **log_arguments(options), **({} if sets is None else {"sets": sets}))
        print_facts = partial(_print_log, is_complete=options.all)
    if options.json:
        print_json(facts)
    else:
        print_facts(facts)
    return 0


def _policy_facts(path: Path, policy: Any) -> dict[str, Any]:
    own = {"path": str(path), "bytes": path.stat().st_size, "kind": "policy"}
    return own | {key: value for key, value in policy.manifest.items() if key not in {"members", *own}}


def _print_policy(manifest: dict[str, Any], policy: Any) -> None:
    from offsettree.workflow.rules import rule_lines

    known = Facts.read(manifest.get("facts"))
    log, training = known.log, mapping(manifest.get("training"))
    over_sets = bool(getattr(policy, "takes_action_sets", False))
    labels = [] if over_sets else policy.actions_.tolist()
    what = "over actions with features" if over_sets else f"{len(labels):,} actions"
    print_line(f"{manifest['path']}: a policy of {manifest['bytes']:,} bytes, {what}")
    if over_sets:
        _print_eligible(log)
    else:
        print_line(paragraph(f"  actions   {_first_few(labels)}", " " * 12))
    title, settings = learner_of(manifest, known)
    seconds = number(known.policy.seconds, ".1f")
    if title:
        print_line(paragraph(f"  learner   {title}{'' if seconds == '?' else f', learned in {seconds} s'}", " " * 12))
    if settings:
        print_line(paragraph(f"  settings  {settings}", " " * 12))
    if log != SourceFacts():
        part, whole, path = number(log.train_rows), number(log.rows), text(log.path) or "?"
        if known.policy.refit:
            source = f"from all {whole} rows of {path}; figures are of the policy learned from {part} of them"
            if known.policy.always is not None:
                source += f". It always takes {shown(repr(known.policy.always))}"
        else:
            source = f"from {part} of {whole} rows of {path}"
        print_line(paragraph(f"  learned   {source}", " " * 12))
    elif "n_rows_seen" in training:
        print_line(f"  learned   from {number(training['n_rows_seen'])} rows")
    features = _first_few(features_of(manifest, known))
    if not features:
        features = "unknown names" if over_sets else f"{policy.n_features_in_:,} numbers without names"
    print_line(paragraph(f"  features  {features}", " " * 12))
    if worth := worth_of(manifest, known):
        print_line(paragraph(f"  worth     {worth}", " " * 12))
    if known.importance:
        print_line()
        rows_of_table = [["feature", "decisions that change when it is shuffled"]]
        for each in known.importance[:MOST_SHOWN]:
            percent = number(None if each.changes is None else 100.0 * each.changes, ".1f")
            of = f" ({each.of})" if each.of else ""
            rows_of_table.append([shown("?" if each.feature is None else each.feature) + of, f"{percent} %"])
        print_line(columns(rows_of_table))
    if rules := rule_lines(known.rules):
        print_line()
        print_line("The rules:")
        for line in rules:
            print_line(f"  {shown(line)}")
    tree, recorded = None if over_sets else _tree_of(policy), known.tree
    if tree is not None or recorded:
        print_line()
        print_line("The tree of actions, with the rows of each contest.")
        for line in tree_lines(tree, labels, training.get("node_rows"), recorded, 4 * MOST_SHOWN):
            print_line(line)
    for warning in known.warnings:
        print_line(paragraph(f"Warning: {shown(warning)}", "  "))


def _print_eligible(log: SourceFacts) -> None:
    """Print how many actions there were to choose from, and which features they have."""
    if log.sets is None:
        return
    sets = log.sets
    span = f"{number(sets.fewest)} to {number(sets.most)}, {number(sets.mean, '.1f')} on average"
    print_line(paragraph(f"  eligible  {span}, of {number(log.n_actions)}", " " * 12))
    for name, features in (("items", sets.item_features), ("pairs", sets.pair_features)):
        if features:
            print_line(paragraph(f"  {name:<10}{_first_few(features)}", " " * 12))


def _tree_of(policy: Any) -> Any:
    """Return the policy's tree over actions; None if it has none or several."""
    model = policy._model
    trees = getattr(model, "trees", None) or [getattr(model, "tree", None)]
    return trees[0] if len(trees) == 1 else None


def _print_log(facts: dict[str, Any], is_complete: bool) -> None:
    print_line(f"{facts['path']}: a log of {facts['rows']:,} decisions among {len(facts['actions']):,} actions")
    print_notes(facts["notes"])
    sets = facts.get("sets")
    if sets:
        span = f"{sets['fewest']:,} to {sets['most']:,} actions, {sets['mean']:.1f} on average, of {sets['ids']:,}"
        print_line(f"  eligible    {span}")
    reward, propensity = facts["reward"], facts["propensity"]
    print_line(f"  reward      {reward['min']:.4g} to {reward['max']:.4g}, mean {reward['mean']:.4g}")
    if propensity:
        print_line(
            f"  propensity  {propensity['min']:.4g} to {propensity['max']:.4g}; the mean of 1 / propensity is "
            f"{propensity['mean_inverse']:.4g}, of "
            + (f"{sets['mean']:.1f} eligible actions" if sets else f"{len(facts['actions'])} actions")
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
        for each in facts["actions"]
    ]
    _print_table(rows, None if is_complete else MOST_SHOWN, right=(1, 2, 3, 4))
    print_line()
    rows = [["feature", "kind", "missing", "encoded as"]]
    rows += _feature_rows(facts["features"] + facts.get("action_features", []), fold=not is_complete)
    _print_table(rows, None if is_complete else 3 * MOST_SHOWN - 1, right=(2,))
    if not is_complete and (len(rows) <= len(facts["features"]) or len(facts["left_out"]) > MOST_ALIKE):
        print_line("--all lists all columns, also those left out.")
    if is_complete and facts["left_out"]:
        print_line()
        _print_table([["left out", "because"], *([each["name"], each["reason"]] for each in facts["left_out"])])
    for warning in facts["warnings"]:
        print_line(paragraph(f"Warning: {as_options(warning)}", "  "))


def _print_table(rows: list[list[str]], most: int | None = None, right: tuple[int, ...] = ()) -> None:
    """Print a table whose first row is its head; of many rows the first `most`."""
    shown_rows = rows if most is None else rows[: 1 + most]
    print_line(columns(shown_rows, right=right))
    if len(shown_rows) < len(rows):
        print_line(f"... and {len(rows) - len(shown_rows):,} more; --all lists them")


def _feature_rows(features: list[dict[str, Any]], *, fold: bool) -> list[list[str]]:
    """Return a line per feature; to `fold` is to show more than `MOST_ALIKE` of the same description as one line."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for each in features:
        description = (each["kind"], f"{100 * each['missing']:.1f} %", each["encoded"])
        alike.setdefault(description, []).append(each["name"])
    rows = []
    for (kind, missing, encoded), names in alike.items():
        if fold and len(names) > MOST_ALIKE:
            first = ", ".join(map(shown, names[:3]))
            rows.append([f"{first}, ... ({len(names):,} columns)", kind, missing, f"{encoded} each"])
        else:
            rows += [[name, kind, missing, encoded] for name in names]
    return rows


def _first_few(labels: list[Any], most: int = 30) -> str:
    return ", ".join(map(shown, labels[:most])) + (f", ... ({len(labels):,} in all)" if len(labels) > most else "")
