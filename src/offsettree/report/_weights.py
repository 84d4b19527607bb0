"""Card of the importance weights: how many rows the estimate rests on, and how unevenly."""

from __future__ import annotations

from offsettree.facts import EstimateFacts, Facts, WeightFacts
from offsettree.report._charts import histogram
from offsettree.report._html import Html, join, paragraph
from offsettree.report._numbers import count, number, percent
from offsettree.report._tables import columns, details, pairs, section

_MOST_BARS = 24


def weights_section(facts: Facts) -> Html | None:
    """Return the diagnostics of the importance weights."""
    weights = facts.weights or WeightFacts()
    rows = _figures(facts.estimate, weights)
    bins = _bins(weights)
    if not rows and bins is None:
        return None
    return section(
        "weights",
        "What the estimate rests on",
        paragraph(
            "A held-out decision counts where the log did what the new policy would do. It then stands in for those "
            "where the log did something else: the rarer its action was in the log, the more it counts. That is its "
            "weight. An estimate is solid where many decisions count about equally."
        ),
        pairs(rows) if rows else None,
        None if bins is None else _drawn(*bins),
        class_="half",
    )


def _figures(estimate: EstimateFacts, weights: WeightFacts) -> list[tuple[str, object]]:
    rows, matched, effective = estimate.n_rows, estimate.n_matched, estimate.effective_rows
    largest, top = estimate.max_weight, weights.top_percent_share
    figures: list[tuple[str, object]] = []
    if matched is not None:
        share = f" of {count(rows)} held-out ones ({percent(matched / rows)})" if rows else ""
        figures.append(("Decisions that count", f"{count(matched)}{share}"))
    if effective is not None:
        figures.append(("Worth", f"as much as {count(effective)} of equal weight{_assessment(effective, matched)}"))
    if largest is not None:
        figures.append(("Largest weight", f"{number(largest)}: one stands in for {_about(largest)}"))
    if top is not None:
        figures.append(("The heaviest 1\u202f%", f"carry {percent(top)} of all weight"))
    return figures


def _assessment(effective: float, matched: float | None) -> str:
    if effective < 100:
        return ": few, so do not rely on the estimate"
    if matched and effective < 0.2 * matched:
        return ": far fewer, as some count for much more than others"
    if matched and effective > 0.8 * matched:
        return ": they count almost equally"
    return ""


def _about(weight: float) -> str:
    return "itself" if weight < 1.5 else f"about {count(float(f'{weight:.2g}'))}"


def _bins(weights: WeightFacts) -> tuple[list[float], list[int]] | None:
    kept, merged = weights.edges, [round(height) for height in weights.counts]
    if len(kept) != len(merged) + 1 or min(merged, default=0) < 0 or not sum(merged):
        return None
    while len(merged) > _MOST_BARS:
        # Merge neighbouring bars: thin ones are invisible on small screens.
        merged = [sum(merged[i : i + 2]) for i in range(0, len(merged), 2)]
        kept = [*kept[:-1:2], kept[-1]]
    return kept, merged


def _drawn(edges: list[float], counts: list[int]) -> Html:
    tallest = counts.index(max(counts))
    description = (
        f"Histogram of the weights: of {count(sum(counts))} decisions, most, {count(counts[tallest])}, have a weight "
        f"between {number(edges[tallest])} and {number(edges[tallest + 1])}; none is above {number(edges[-1])}."
    )
    rows = [
        (f"{number(low)} to {number(high)}", count(height))
        for low, high, height in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    return join(
        [
            histogram(edges, counts, description),
            paragraph("How many of the decisions that count have which weight.", class_="note"),
            details("The same as a table", columns(("Weight", "Decisions"), rows)),
        ]
    )
