"""Cards of the actions: how often each is taken, in the log and by the new policy, and its mean reward."""

from __future__ import annotations

from collections.abc import Sequence

from offsettree.facts import ActionFacts, ConstantFacts, Facts, as_text
from offsettree.report._band import band, band_of, decimals_of
from offsettree.report._charts import bars, interval_plot, scale_over
from offsettree.report._html import Html, paragraph
from offsettree.report._numbers import number, percent, plural
from offsettree.report._tables import Row, chart, legend, section

_MOST = 30
_SHARES = "Share in the log, then of the new policy"


def mix_section(facts: Facts) -> Html | None:
    """Return the card of each action's share in the log and of the new policy."""
    actions = [action for action in facts.log.actions if _share(action) is not None]
    if not actions:
        return None
    shown = sorted(actions, key=lambda action: -(_share(action) or 0.0))[:_MOST]
    with_new = any(action.policy_share is not None for action in actions)
    largest = max(_share(action) or 0.0 for action in shown)
    rows = []
    for action in shown:
        old, new = action.share, action.policy_share
        drawn = [(old, "old"), (new, "new")] if with_new else [(old, "old")]
        rows.append(
            Row(_name(action), bars(drawn, largest), _from_to(old, new) if with_new else _percent_or_unknown(old))
        )
    key = [("old", "What was done, in the log"), ("new", "What the new policy does")]
    return section(
        "mix",
        "How often each action is taken",
        legend(*key[: 2 if with_new else 1]),
        # As tall as the rows of the neighbouring card.
        chart(rows, ("Action", "Drawn", _SHARES if with_new else "Share in the log"), names="36%", tall=True),
        _remainder_note(actions, shown, facts.log.n_actions, with_new=with_new),
        class_="half",
    )


def reward_section(facts: Facts) -> Html | None:
    """Return the card of each action's estimated mean reward."""
    actions = [action for action in facts.log.actions if action.mean_reward is not None]
    if not actions:
        return None
    shown = sorted(actions, key=lambda action: -(_share(action) or 0.0))[:_MOST]
    shown.sort(key=lambda action: -(action.mean_reward or 0.0))
    bands = [found for action in shown if (found := band(action.mean_reward, action.low, action.high))]
    mean = facts.log.reward.mean
    scale = scale_over(bands, also=[] if mean is None else [mean], most_ticks=3)
    places = decimals_of(bands)
    rows = [
        Row(
            _name(action),
            interval_plot(scale, found, kind="old", reference=mean),
            *found.figures(places),
            below=_times(action),
        )
        for action, found in zip(shown, bands, strict=True)
    ]
    selection = None
    n_actions = max(facts.log.n_actions or 0, len(actions))
    if n_actions > len(shown):
        selection = f"Of {plural(n_actions, 'action')} the {len(shown)} taken most, in the log or by the new policy."
    return section(
        "rewards",
        "What each action earns",
        None if mean is None else legend(("dash", f"mean of the whole log, {number(mean, places)}")),
        chart(rows, ("Action", "Drawn", "Mean reward, and its interval"), scale=scale, names="31%"),
        paragraph(
            selection,
            "What it would earn if it were always taken, estimated from the decisions for which the log chose it."
            if facts.log.sets is None
            else "What it earned where it was eligible and the log chose it, weighted by how rare that was.",
            None if facts.constant is None else _constant_note(facts.constant),
            class_="note",
        ),
        class_="half",
    )


def _constant_note(constant: ConstantFacts) -> str | None:
    """Compare the best constant action with the policy; None if that is not known."""
    action, gain = as_text(constant.action), band_of(constant.gain)
    if action is None or gain is None or gain.low is None or gain.high is None:
        return None
    if constant.popular:
        return None
    if constant.same:
        return f"The new policy always takes \u201c{action}\u201d."
    if gain.low > 0:
        return "The new policy earns more than the best of them alone, as it takes each where it works best."
    if gain.high < 0:
        return f"Always \u201c{action}\u201d alone earns more than the new policy."
    return f"Whether the new policy earns more than always \u201c{action}\u201d is not certain."


def _name(action: ActionFacts) -> str:
    return as_text(action.label) or "(no name)"


def _share(action: ActionFacts) -> float | None:
    """Return the larger of the two shares, so that an action that only the new policy takes is shown too."""
    return max((share for share in (action.share, action.policy_share) if share is not None), default=None)


def _percent_or_unknown(share: float | None) -> str:
    return "?" if share is None else percent(share)


def _from_to(old: float | None, new: float | None) -> str:
    return f"{_percent_or_unknown(old)} \u2192 {_percent_or_unknown(new)}"


def _times(action: ActionFacts) -> str | None:
    return None if action.rows is None else plural(action.rows, "decision")


def _remainder_note(
    actions: Sequence[ActionFacts], shown: Sequence[ActionFacts], n_actions: int | None, *, with_new: bool
) -> Html | None:
    n_more = max(n_actions or 0, len(actions)) - len(shown)
    if n_more == 0:
        return None
    # By identity: two actions may have the same label.
    drawn = {id(action) for action in shown}
    rest = [action for action in actions if id(action) not in drawn]
    old, new = (sum(getattr(action, name) or 0.0 for action in rest) for name in ("share", "policy_share"))
    if n_actions is not None and n_actions > len(actions):  # of thousands, only those taken most are there at all
        old, new = (
            max(0.0, 1 - sum(getattr(action, name) or 0.0 for action in shown)) for name in ("share", "policy_share")
        )
    together = f"{percent(old)} of the log" + (f" and {percent(new)} of the new policy's decisions" if with_new else "")
    return paragraph(f"And {plural(n_more, 'more action', 'more actions')}, together {together}.", class_="note")
