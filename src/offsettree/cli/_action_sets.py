"""Logs with a set of eligible actions per row on the command line: their options, and how they are recognised."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from offsettree.cli._options import log_arguments, reading_arguments, require_files
from offsettree.exceptions import LogError, ParameterError
from offsettree.facts import SetFacts
from offsettree.registry import POLICIES

GIVEN = ("items", "eligible", "pair_columns", "item_since")


def add_action_options(command: argparse.ArgumentParser, *, labels: bool = False) -> None:
    """Add the options that say which actions each row could choose from, and what is known of them."""
    group = command.add_argument_group("actions with features")
    group.add_argument(
        "--eligible",
        metavar="COL",
        help="the column that lists each row's eligible actions: ids, or mappings with an id and features (default: "
        "found by content; with --actions, all actions of that table)",
    )
    # Policies have a parameter called actions, which is something else.
    group.add_argument(
        "--actions", dest="items", type=Path, metavar="FILE", help="a second table, with a row of features per action"
    )
    group.add_argument(
        "--action-id",
        dest="item_id",
        metavar="COL",
        help="the column of ids in --actions, or their name in --eligible (default: id)",
    )
    group.add_argument(
        "--pair-columns",
        metavar="NAME",
        nargs="+",
        help="features of a row and an action, spread over a column per action: affinity stands for affinity_ID",
    )
    group.add_argument(
        "--action-since",
        dest="item_since",
        metavar="COL",
        help="the column of --actions with the time from when on a row holds, if features change; needs --time",
    )
    group.add_argument("--time", metavar="COL", help="the column with the time of each decision, for --action-since")
    if labels:
        group.add_argument(
            "--labels",
            action="store_true",
            help="learn about each action by itself: features of actions are not used, eligible sets are masks",
        )


def set_arguments(options: argparse.Namespace, known: SetFacts | None = None) -> dict[str, Any]:
    """Return the arguments of `ActionLogScan` about sets; those not given are as the policy was learned with."""
    reading = {} if known is None else known.reading
    require_files(*([] if options.items is None else [options.items]))
    return {
        "eligible": options.eligible or _text(reading.get("eligible")),
        "items": options.items,
        "item_id": options.item_id or _text(reading.get("item_id")) or "id",
        "pair_columns": options.pair_columns or [each for each in reading.get("pair_columns") or [] if _text(each)],
        "item_since": options.item_since or (None if options.items is None else _text(reading.get("item_since"))),
        "time": options.time or (None if options.items is None else _text(reading.get("time"))),
    }


def learning_sets(options: argparse.Namespace, path: Path) -> dict[str, Any] | None:
    """Return how to read a log's action sets, to learn from; None if its actions are labels."""
    entry = POLICIES[options.learner]
    arguments = set_arguments(options)
    if _are_given(options):
        if entry.online:
            raise ParameterError(
                f"--learner {options.learner} learns from labels, row by row: use online-action-regression, or leave "
                "out the options on actions."
            )
        return _with_listed(arguments, path, options)
    found = _recognised(path, options, item_id=arguments["item_id"], must=entry.over_sets)
    if found is None:
        if entry.over_sets:
            raise LogError(
                f"--learner {options.learner} needs the actions that each row could choose from, and {path} does not "
                "list them: name the column that does, --eligible, or pass a table of all actions, --actions."
            )
        return None
    is_auto = options.learner == "auto"
    if entry.online or not (entry.over_sets or found.varies or (is_auto and found.has_features)):
        return None
    return arguments | {"eligible": found.eligible}


def inspected_sets(options: argparse.Namespace, path: Path) -> dict[str, Any] | None:
    """Return how to read a log's action sets, to look into them; None if its actions are labels."""
    arguments = set_arguments(options)
    if _are_given(options):
        return _with_listed(arguments, path, options)
    found = _recognised(path, options, item_id=arguments["item_id"])
    if found is None or not (found.has_features or found.varies):
        return None
    return arguments | {"eligible": found.eligible}


def policy_sets(options: argparse.Namespace, path: Path, known: SetFacts | None) -> dict[str, Any] | None:
    """Return how to read the action sets of a log for a policy, over sets if `known` says so; None if there are none.

    A policy over labels chooses among the eligible actions where rows list them.
    """
    arguments = set_arguments(options, known)
    if _are_given(options):
        return arguments
    listed = known is not None and known.reading.get("items") is True
    if listed and arguments["eligible"] is None:
        raise ParameterError(
            "the policy was learned with a table of actions: pass the present one, --actions FILE, with the actions to "
            "choose from."
        )
    if listed:
        raise ParameterError(
            "the policy was learned with a table of actions: pass the present one, --actions FILE. It may have new "
            "actions."
        )
    if known is not None and arguments["eligible"] is not None:
        return arguments
    found = _recognised(path, options, item_id=arguments["item_id"], must=known is not None)
    if found is None and known is not None:
        raise LogError(
            f"the policy chooses among the actions that each row lists, and {path} lists none: name the column that "
            "does, --eligible, or pass a table of all actions, --actions."
        )
    return None if found is None or (known is None and not found.varies) else arguments | {"eligible": found.eligible}


def _are_given(options: argparse.Namespace) -> bool:
    return any(getattr(options, name) for name in GIVEN)


def _recognised(path: Path, options: argparse.Namespace, **how: Any) -> Any:
    from offsettree.logs import recognise_action_sets

    action = getattr(options, "action", None)  # `decide` has none
    return recognise_action_sets(path, action=action, **how, **reading_arguments(options))


def _with_listed(arguments: dict[str, Any], path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Add the column that lists the eligible actions, found by content unless it was given."""
    if arguments["eligible"]:
        return arguments
    found = _recognised(path, options)
    return arguments | {"eligible": None if found is None else found.eligible}


def read_sets(path: Path, arguments: dict[str, Any], options: argparse.Namespace, **more: Any) -> Any:
    """Read a log with action sets as a whole."""
    from offsettree.logs import LoggedData

    return LoggedData.scan(path, action_sets=True, **log_arguments(options), **arguments, **more).columns()


def described(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return how sets were read, for the policy file."""
    kept = {name: value for name, value in arguments.items() if name != "items" and value}
    return kept | {"items": arguments["items"] is not None}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
