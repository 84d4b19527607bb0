"""The text that ``offsettree learn`` prints."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from offsettree._messages import as_options
from offsettree.cli._output import columns, paragraph, print_line, print_notes, shown
from offsettree.registry import POLICIES

if TYPE_CHECKING:
    from offsettree.facts import CandidateFacts, Facts, PolicyFacts, SetFacts


def print_learned(facts: Facts, options: argparse.Namespace) -> None:
    """Print the log's size, the candidates, the estimate, the verdict and the files written."""
    from offsettree.workflow.rules import rule_lines

    log, policy = facts.log, facts.policy
    n_actions, n_features = log.n_actions or len(log.actions), len(log.features)
    print_line(f"Read {log.rows:,} decisions among {n_actions:,} actions from {log.path}, {n_features:,} features.")
    if log.sets is not None:
        print_line(paragraph(_eligible_line(log.sets)))
    print_notes(log.notes)
    if facts.candidates:
        print_line()
        print_line(_candidate_table(facts.candidates))
        if facts.rule:
            print_line(paragraph(facts.rule))
    print_line()
    held_out = "decided on before they were learned from" if POLICIES[options.learner].online else "held out"
    print_line(f"Learned: {policy.name}, from {log.train_rows:,} rows; {log.test_rows:,} {held_out}.")
    print_line(paragraph(str(facts.verdict)))
    print_line(paragraph(str(facts.basis)))
    if policy.teacher is not None:
        print_line(paragraph(_distillation_note(policy)))
    if note := facts.refit_note:
        print_line(paragraph(note))
    if lines := rule_lines(facts.rules):
        print_line()
        print_line("The rules of the policy kept:")
        for line in lines:
            print_line(f"  {shown(line)}")
    if log.sets is not None and facts.importance:
        print_line()
        print_line(paragraph(_importance_line(facts)))
    print_line()
    print_line(paragraph(str(facts.conclusion)))
    if facts.use == "constant" and facts.constant is not None and not facts.constant.same:
        other = "popular-action" if facts.constant.popular else "constant"
        print_line(paragraph(f"The file has the learned policy all the same; --learner {other} writes the other."))
    for warning in facts.warnings:
        print_line(paragraph(f"Warning: {as_options(warning)}", "  "))
    print_line()
    written = [f"policy: {options.out}"] + ([f"report: {options.report}"] if options.report else [])
    print_line("Written " + ", ".join(written))
    sys.stdout.flush()


def _eligible_line(sets: SetFacts) -> str:
    """Say how many actions are eligible at a time, and what is known of them."""
    fewest, most, known = sets.fewest, sets.most, len(sets.item_features) + len(sets.pair_features)
    span = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return f"Each is among {span} eligible actions, with {known:,} feature{'s' * (known != 1)} of their own."


def _importance_line(facts: Facts) -> str:
    """Name the features that matter most."""
    parts = [
        f"{each.feature} of the {each.of} {100 * (each.changes or 0):.0f} %"
        for each in facts.importance[:5]
        if each.changes
    ]
    return f"Decisions that change when a feature is shuffled: {', '.join(parts) or 'none'}."


def _distillation_note(policy: PolicyFacts) -> str:
    """Compare a distilled tree with its teacher."""
    from offsettree.workflow.verdict import decimals, with_interval

    loss: Any = policy.loss
    gain = with_interval(loss, decimals(loss), sign=True)
    return (
        f"The tree imitates its teacher, {policy.teacher}, in fewer steps. Its value on the held-out rows minus the "
        f"teacher's is {gain} per decision."
    )


def _candidate_table(candidates: list[CandidateFacts]) -> str:
    rows = [["candidate", "value", "interval", "seconds", ""]]
    for each in candidates:
        value = "" if each.value is None else f"{each.value:.4f}"
        interval = "" if each.value is None else f"{each.low:.4f} to {each.high:.4f}"
        seconds = "" if each.seconds is None else f"{each.seconds:.1f}"
        error = shown(each.error)[:200] if each.error else None
        parts = ["" if each.outcome == "compared" else each.outcome, each.reason, error]
        outcome = ": ".join(part for part in parts if part)
        rows.append([str(each.name), value, interval, seconds, outcome])
    return columns(rows, right=(1, 3))
