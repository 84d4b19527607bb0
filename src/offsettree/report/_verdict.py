"""Card of the verdict: the values of the new policy, of the log and of the best constant action."""

from __future__ import annotations

from offsettree.facts import ConstantFacts, Facts, as_text
from offsettree.report._band import Band, band_of
from offsettree.report._charts import interval_plot, scale_over
from offsettree.report._html import Html, element, paragraph, prose
from offsettree.report._numbers import count, decimals_for, percent
from offsettree.report._tables import Row, chart, section

_HEADINGS = {
    "good": "The new policy is better than what was done",
    "bad": "The new policy is worse than what was done",
    "open": "No clear difference from what was done",
}
_ADVICE = {
    "learned": "Use the learned policy",
    "constant": "Always take one action",
    "logged": "Go on as before",
    "open": "No verdict yet",
}
_MODELS = ("doubly_robust", "switch")
# The best constant action: what it is called, its value, and the new policy's gain over it.
_Always = tuple[str | None, Band | None, Band | None]


def verdict_section(facts: Facts) -> Html | None:
    """Return the first card of the page; None if the policy's value is unknown."""
    estimate, verdict, conclusion = facts.estimate, facts.verdict, facts.conclusion
    new, old, gain = (band_of(each) for each in (estimate, estimate.baseline, estimate.difference))
    if verdict is None and new is None:
        return None
    outcome = _outcome(gain)
    if facts.use == "open":
        outcome = "open"  # a serious warning rules out a verdict
    constant = facts.constant or ConstantFacts()
    action = as_text(constant.action)
    name = "the most popular" if constant.popular else None if action is None else f"always \u201c{action}\u201d"
    always = (name, band_of(constant), None if constant.same else band_of(constant.gain))
    return section(
        "verdict",
        _heading(facts, outcome),
        paragraph(prose(conclusion), class_="said") if conclusion else None,
        paragraph(prose(verdict), class_=None if conclusion else "said") if verdict else None,
        None if new is None else _tiles(new, old, gain, outcome, facts, always),
        None if new is None else _picture(new, old, gain, outcome, always),
        _basis(facts),
        class_=outcome,
    )


def _heading(facts: Facts, outcome: str | None) -> str:
    if facts.use in _ADVICE:
        is_popular = facts.use == "constant" and facts.constant is not None and facts.constant.popular
        return "Take the most popular action" if is_popular else _ADVICE[facts.use]
    return _HEADINGS[outcome] if outcome else "What the new policy is worth"


def _outcome(gain: Band | None) -> str | None:
    if gain is None or gain.low is None or gain.high is None:
        return None
    return "good" if gain.low > 0 else "bad" if gain.high < 0 else "open"


def _decimals(*bands: Band | None) -> int:
    known = [found for found in bands if found is not None]
    values = [found.value for found in known]
    widths = [found.width for found in known if found.width > 0]
    if not widths:
        return decimals_for(values)
    # All tiles show the same number of decimals: enough for the narrowest interval, not too many for the widest.
    return min(decimals_for(values, min(widths)), decimals_for(values, max(widths)) + 1)


def _tiles(new: Band, old: Band | None, gain: Band | None, outcome: str | None, facts: Facts, always: _Always) -> Html:
    places = _decimals(new, old, gain)
    tiles = [_tile("The new policy earns, per decision", new, places, "new")]
    if old is not None:
        tiles.append(_tile("What was done earned, per decision", old, places, None))
    if always[0] is not None and always[1] is not None:
        what = "of the eligible actions" if facts.constant and facts.constant.popular else ", the best constant,"
        blank = "" if what.startswith(",") else " "
        tiles.append(_tile(f"{_capital(always[0])}{blank}{what} earns", always[1], places, None))
    if gain is not None:
        kind = outcome if outcome in ("good", "bad") else None
        tiles.append(
            _tile("The gain on what was done", gain, places, kind, more=_relative(gain, old, facts), sign=True)
        )
    return element("dl", *tiles, class_="tiles")


def _tile(
    name: str, shown: Band, places: int, kind: str | None, *, more: str | None = None, sign: bool = False
) -> Html:
    big, between = shown.figures(places, sign=sign)
    return element(
        "div",
        element("dt", name),
        element("dd", big, class_="big num"),
        element("dd", prose(f"likely within {between}"), class_="num") if between else None,
        element("dd", more) if more else None,
        class_=kind,
    )


def _relative(gain: Band, old: Band | None, facts: Facts) -> str | None:
    """Return the gain in percent of the logged value; None if that means nothing: of luck, or with negative rewards."""
    smallest = facts.log.reward.min
    if _outcome(gain) == "open" or old is None or old.value <= 0 or (smallest is not None and smallest < 0):
        return None
    share = gain.value / old.value
    if abs(share) < 0.0005:
        return None
    return f"{percent(abs(share))} {'more' if share > 0 else 'less'} than what was done"


def _picture(new: Band, old: Band | None, gain: Band | None, outcome: str | None, always: _Always) -> Html:
    places = _decimals(new, old, gain)
    values = [(name, shown, kind) for name, shown, kind in _values(new, old, always) if shown is not None]
    scale = scale_over([shown for _, shown, _ in values])
    rows = [Row(name, interval_plot(scale, shown, kind=kind), *shown.figures(places)) for name, shown, kind in values]
    heads = ("What", "Drawn", "Earned per decision, and the interval")
    parts = [chart(rows, heads, scale=scale, names="9rem")]
    is_popular = (always[0] or "").startswith("the most popular")
    differences = [("Gain on the log", gain), ("Gain on popular" if is_popular else "Gain on constant", always[2])]
    known = [(name, shown) for name, shown in differences if shown is not None]
    if known:
        gains = scale_over([shown for _, shown in known], also=[0.0])
        rows = []
        for name, shown in known:
            kind = "new" if outcome == "open" else _outcome(shown) or "new"
            drawn = interval_plot(gains, shown, kind="new" if kind == "open" else kind, reference=0.0)
            rows.append(Row(name, drawn, *shown.figures(places, sign=True)))
        parts.append(chart(rows, ("What", "Drawn", "Gain per decision, and the interval"), scale=gains, names="9rem"))
    return element("div", *parts, class_="picture")


def _values(new: Band, old: Band | None, always: _Always) -> list[tuple[str, Band | None, str]]:
    return [("New policy", new, "new"), ("What was done", old, "old"), (_capital(always[0] or ""), always[1], "old")]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _basis(facts: Facts) -> Html | None:
    estimate = facts.estimate
    sentences = []
    if estimate.n_rows is not None and estimate.n_matched is not None:
        if estimate.method == "direct":
            end = "; the estimate itself is that of a model of the rewards, trained on this log"
        elif estimate.method in _MODELS:
            end = "; a model of the rewards makes the estimate, and these correct it"
        else:
            end = "; the estimate rests on these"
        sentences.append(
            f"Of {count(estimate.n_rows)} held-out decisions, {count(estimate.n_matched)} were ones where the log "
            f"happened to do what the new policy would do{end}."
        )
    if estimate.level is not None and estimate.value is not None:
        sentences.append(
            f"An interval says where the true figure is likely to be: {percent(estimate.level)} of intervals made this "
            "way contain it. A gain whose interval is all above zero is unlikely to be luck."
        )
    if note := facts.refit_note:
        sentences.append(note)
    if facts.constant is not None and facts.constant.picked_on == "training rows":
        what = "The most popular actions were" if facts.constant.popular else "The best constant action was"
        sentences.append(f"{what} picked on the training decisions, and valued on these.")
    return paragraph(*sentences, class_="note") if sentences else None
