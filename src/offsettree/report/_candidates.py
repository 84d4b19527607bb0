"""Cards of the candidates with their values, and of the features' importance."""

from __future__ import annotations

from offsettree.facts import CandidateFacts, Facts, FeatureFacts
from offsettree.report._band import band_of, decimals_of
from offsettree.report._charts import Scale, bars, interval_plot, scale_over
from offsettree.report._html import Html, paragraph, prose
from offsettree.report._numbers import decimals_for, duration, number, percent, plural
from offsettree.report._tables import Row, chart, legend, section

_ORDER = {"chosen": 0, "compared": 1, "failed": 2, "left out": 3}
_MOST_FEATURES = 20
_HEADS = ("Candidate", "Drawn", "Reward per decision, and its interval")


def candidates_section(facts: Facts) -> Html | None:
    """Return the card of candidates: the chosen one first, the others by value."""
    tried = sorted(facts.candidates, key=_rank)
    if not tried:
        return None
    bands = [found for entry in tried if (found := band_of(entry)) is not None]
    reference = None if facts.estimate.baseline is None else facts.estimate.baseline.value
    scale = scale_over(bands, also=[] if reference is None else [reference]) if bands else None
    largest = max((abs(found.value) for found in bands), default=0.0)
    # Two digits of the largest value at least: rare rewards are small, and intervals of the first tries are wide.
    places = max(decimals_of(bands), decimals_for([], 4 * largest / 10) if largest < 1 else 0)
    rows = []
    for entry in tried:
        found = band_of(entry)
        kind = "new" if entry.outcome == "chosen" else "old"
        drawing = Html("")
        if scale is not None and found is not None:
            drawing = interval_plot(scale, found, kind=kind, reference=reference)
        rows.append(
            Row(
                entry.name or "(no name)",
                drawing,
                *(("", "") if found is None else found.figures(places)),
                below=_below(entry),
                main=kind == "new",
            )
        )
    return section(
        "candidates",
        "What was tried",
        paragraph(
            f"{plural(len(tried), 'way')} to learn a policy, each evaluated on rows it was not trained on. If "
            "intervals overlap, a difference may be luck."
            if len(tried) > 1
            else "One way to learn a policy was tried, and evaluated on rows it was not trained on."
        ),
        paragraph(prose(f"The rule of choice: {facts.rule}")) if facts.rule else None,
        None
        if reference is None or scale is None
        else legend(("dash", f"what was done earned {number(reference, places)}")),
        *(chart(part, _HEADS, scale=on, names="34%") for part, on in _valued_and_failed(rows, scale) if part),
    )


def _valued_and_failed(rows: list[Row], scale: Scale | None) -> list[tuple[list[Row], Scale | None]]:
    """Separate candidates with a value, which get an axis, from those without."""
    return [([row for row in rows if row.figure], scale), ([row for row in rows if not row.figure], None)]


def _rank(entry: CandidateFacts) -> tuple[int, float]:
    return _ORDER.get(str(entry.outcome), 1), -(entry.value or 0.0)


def _below(entry: CandidateFacts) -> str | None:
    parts = []
    if entry.outcome == "left out":
        parts.append("left out for lack of time")
    elif entry.outcome is not None and entry.outcome != "compared":
        parts.append(entry.outcome)
    if entry.seconds is not None:
        parts.append(duration(entry.seconds))
    texts = [found for found in (entry.reason, entry.error) if found is not None]
    parts += [found if len(found) <= 300 else found[:299] + "\u2026" for found in texts]
    return " \u00b7 ".join(parts) or None


def importance_section(facts: Facts) -> Html | None:
    """Return the card of the most important features."""
    known = [(each.importance, _feature_name(each)) for each in facts.importance if each.importance is not None]
    if not known:
        return None
    known.sort(key=lambda each: -each[0])
    shown = known[:_MOST_FEATURES]
    rows = [Row(name, bars([(share, "new")], shown[0][0]), percent(share)) for share, name in shown]
    rest = known[_MOST_FEATURES:]
    more = None
    if rest:
        together = percent(sum(share for share, _ in rest))
        more = f"And {plural(len(rest), 'more feature')}, together {together}."
    return section(
        "features",
        "Which features matter",
        paragraph(
            "How much the policy's choice depends on each feature, in percent of the total.",
            "Features are of the context, of an action, or of the pair of both."
            if facts.log.sets is not None
            else None,
        ),
        chart(rows, ("Feature", "Drawn", "Share of importance"), names="42%"),
        paragraph(
            more,
            "A feature that matters to the choice need not be a cause of the reward.",
            class_="note",
        ),
        class_="half",
    )


def _feature_name(found: FeatureFacts) -> str:
    name = found.feature or "(no name)"
    return name if found.of is None else f"{name}, of the {found.of}"
