"""Cards with the warnings, the log, the policy's settings, and how to reproduce the result."""

from __future__ import annotations

from typing import Any

from offsettree.facts import Facts, RewardFacts, RunFacts, SourceFacts
from offsettree.report._band import band_of
from offsettree.report._html import Html, element, join, paragraph, prose
from offsettree.report._numbers import count, duration, number, plural
from offsettree.report._tables import details, pairs, section

_METHODS = {
    "ips": "inverse propensity: rewards of matching decisions, each weighted by how rare it was in the log",
    "snips": "self-normalised inverse propensity: a weighted mean of the rewards of matching decisions",
    "direct": "direct: a model of the rewards predicts what the new policy's actions would earn",
    "doubly_robust": "doubly robust: a model of the rewards, corrected by the matching decisions",
    "log_smoothing": "logarithmic smoothing: a pessimistic estimate from matching decisions",
    "switch": "switch: matching decisions where they weigh little, a model of the rewards elsewhere",
}
_INTERVALS = {
    "normal": "by the normal distribution, good for many rows",
    "bootstrap": "by resampling the rows many times, good for many rows",
    "bernstein": "by Bernstein's inequality, which holds for any number of rows",
    "betting": "by betting against every value, which holds for any number of rows",
    "mid_p": "by a mid-P test that allows for unseen rows, good also where few rewards differ",
    "empirical_likelihood": "by empirical likelihood, good also where few rewards differ",
    "anytime": "by a confidence sequence, which holds however often one looks",
}


def warnings_section(facts: Facts) -> Html | None:
    """Return the card of warnings, each listed once."""
    warnings = dict.fromkeys(facts.warnings + facts.estimate.warnings)
    if not warnings:
        return None
    heading = "One warning" if len(warnings) == 1 else f"{len(warnings)} warnings"
    items = (element("li", prose(text[:1].upper() + text[1:])) for text in warnings)
    return section("warnings", heading, element("ul", join(items), class_="warnings"))


def log_section(facts: Facts) -> Html | None:
    """Return the card of the log: its file, columns, rewards and features."""
    log = facts.log
    known = (
        ("File", log.path),
        ("Decisions", _row_counts(log)),
        ("Columns", _columns(log.columns)),
        ("Rewards", _rewards(log.reward)),
        ("Eligible actions", _eligible(log)),
        ("Features of actions", _action_features(log)),
    )
    rows: list[tuple[str, object]] = [(name, found) for name, found in known if found is not None]
    features, notes = log.features, log.notes
    if not (rows or features or notes):
        return None
    listed = element("ul", *(element("li", element("bdi", name)) for name in features), class_="names")
    few = len(features) <= 8
    if features and few:
        rows.append(("Features", join((element("bdi", name) for name in features), ", ")))
    return section(
        "log",
        "The log",
        pairs(rows) if rows else None,
        details(plural(len(features), "feature"), listed) if features and not few else None,
        join([element("h3", "Notes"), _listed(notes)]) if notes else None,
        class_="half",
    )


def policy_section(facts: Facts) -> Html | None:
    """Return the card of the policy: its name, settings, and how its value was estimated."""
    policy, estimate = facts.policy, facts.estimate
    rows: list[tuple[str, object]] = []
    for name, found in (("Name", policy.name), ("Learner", policy.learner)):
        if found is not None:
            rows.append((name, found))
    if (lost := band_of(policy.loss)) is not None:
        ends = "" if lost.low is None or lost.high is None else f" [{lost.low:+.4g}, {lost.high:+.4g}]"
        rows.append(("Beside its teacher", f"{lost.value:+.4g}{ends} per decision"))
    if policy.parameters:
        rows.append(("Settings", join((f"{key} = {setting}" for key, setting in policy.parameters.items()), ", ")))
    if policy.seconds is not None:
        rows.append(("Time to learn", duration(policy.seconds)))
    for name, found, words in (("Estimate", estimate.method, _METHODS), ("Interval", estimate.interval, _INTERVALS)):
        if found is not None:
            rows.append((name, words.get(found, found)))
    return section("policy", "The policy", pairs(rows), class_="half") if rows else None


def reproduce_section(facts: Facts) -> Html | None:
    """Return the card with the command, seed and versions that reproduce the page."""
    run = facts.reproduce
    if run == RunFacts():
        return None
    command = run.command
    versions = {"Seed": run.seed, "offsettree": facts.version} | {
        name: found for name, found in run.versions.items() if name != "offsettree"
    }
    rows: list[tuple[str, object]] = [(str(name), found) for name, found in versions.items() if found is not None]
    return section(
        "reproduce",
        "How to reproduce this",
        None if command is None else element("pre", element("code", command)),
        paragraph("The same log, seed and versions give the same policy and the same figures.") if command else None,
        pairs(rows) if rows else None,
    )


def _row_counts(log: SourceFacts) -> str | None:
    parts = [] if log.train_rows is None else [f"{count(log.train_rows)} to learn from"]
    parts += [] if log.test_rows is None else [f"{count(log.test_rows)} held out for evaluation"]
    if log.rows is None:
        return ", ".join(parts) or None
    return count(log.rows) + (f": {', '.join(parts)}" if parts else "")


def _eligible(log: SourceFacts) -> str | None:
    if log.sets is None or log.sets.fewest is None or log.sets.most is None:
        return None
    span = count(log.sets.most) if log.sets.fewest == log.sets.most else f"{log.sets.fewest:,} to {log.sets.most:,}"
    return f"{span} at a time" + ("" if log.n_actions is None else f", of {count(log.n_actions)}")


def _action_features(log: SourceFacts) -> Html | None:
    names = [] if log.sets is None else [*log.sets.item_features, *log.sets.pair_features]
    if not names:
        return None
    more = [f"... ({len(names):,} in all)"] if len(names) > 20 else []
    return join([*(element("bdi", name) for name in names[:20]), *more], ", ")


def _columns(columns: dict[str, Any]) -> Html | None:
    parts = [join([f"{role}: ", label_inline(name)]) for role, name in columns.items() if name is not None]
    return join(parts, ", ") if parts else None


def label_inline(name: object) -> Html:
    """Return a column's name for use within a sentence."""
    return element("code", element("bdi", name))


def _rewards(reward: RewardFacts) -> str | None:
    low, high, mean = reward.min, reward.max, reward.mean
    parts = [] if low is None or high is None else [f"from {number(low)} to {number(high)}"]
    parts += [] if mean is None else [f"{number(mean)} on average"]
    return ", ".join(parts) or None


def _listed(lines: list[str]) -> Html:
    return element("ul", *(element("li", prose(line)) for line in lines), class_="plain")
