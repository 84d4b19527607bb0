"""Draw the pictures of docs/concepts: ``make pictures``. Figures are computed, from seeds that stand here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from offsettree import ActionTree, LoggedData, evaluate, theory
from offsettree.datasets import make_campaign

FOLDER = Path(__file__).parent.parent / "docs" / "concepts" / "images"
INK, WARM, SHADE, GREY = "#0b5d66", "#c4511b", "#b9dde1", "0.55"
LEVEL = 0.95


def main() -> None:
    """Draw all of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    mpl.rcParams.update({"svg.hashsalt": "offsettree", "font.size": 10, "axes.spines.top": False})
    mpl.rcParams.update({"axes.spines.right": False, "savefig.facecolor": "white"})
    for draw in (partial_labels, propensities, offset_votes, offset_choice, tournament, climbing, regret, intervals):
        figure = draw()
        name = draw.__name__.replace("_", "-")
        figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
        print(f"drawn {name}.svg")


def partial_labels() -> Figure:
    """Six customers and four mails: one outcome per row is known."""
    actions = ["discount", "bundle", "win-back", "no mail"]
    sent = [0, 2, 1, 3, 0, 2]
    outcome = [1, 0, 0, 1, 0, 1]
    figure = Figure(figsize=(7.2, 3.3), layout="constrained")
    axes = figure.subplots()
    for row, (chosen, reward) in enumerate(zip(sent, outcome, strict=True)):
        for column in range(len(actions)):
            seen = column == chosen
            axes.add_patch(Rectangle((column, row), 0.94, 0.88, color=(INK if reward else WARM) if seen else "0.93"))
            text = ("visit: 1" if reward else "no visit: 0") if seen else "?"
            axes.text(column + 0.47, row + 0.46, text, ha="center", va="center", color="white" if seen else "0.6")
    axes.set_xticks([column + 0.47 for column in range(4)], actions)
    axes.set_yticks([row + 0.46 for row in range(6)], [f"customer {row + 1}" for row in range(6)])
    axes.set(xlim=(-0.05, 4), ylim=(6, -0.1))
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure


def propensities() -> Figure:
    """Draw the mean reward of each mail: as logged, weighted by 1 / propensity, and the truth."""
    campaign = make_campaign(60_000, random_state=0)
    mail, visited, propensity = (np.asarray(campaign.columns[name]) for name in ("mail", "visited", "propensity"))
    truth = campaign.expected.mean(axis=0)
    plain = np.array([visited[mail == name].mean() for name in campaign.actions])
    weighted = np.array(
        [np.average(visited[mail == name], weights=1 / propensity[mail == name]) for name in campaign.actions]
    )
    order = np.argsort(truth)
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    place = np.arange(len(order))
    axes.barh(place, truth[order], color=SHADE, height=0.7, label="true mean, if everybody got it")
    axes.plot(plain[order], place, "s", color=WARM, label="mean of the rows that got it")
    axes.plot(weighted[order], place, "o", color=INK, label="the same, weighted by 1 / propensity")
    axes.set_yticks(place, campaign.actions[order])
    axes.set_xlabel("visits per mail")
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=1)
    return figure


def offset_votes() -> Figure:
    """Draw two votes: a reward above the offset is one for the action, one below a vote against it."""
    figure = Figure(figsize=(7.2, 2.6), layout="constrained")
    axes = figure.subplots()
    offset = 0.5
    axes.plot([0, 1], [0, 0], color="0.3", linewidth=1.5)
    axes.plot([offset, offset], [-0.25, 0.75], color=GREY, linestyle="--")
    axes.text(offset, 0.8, "offset 1/2", ha="center")
    for reward, text in (
        (0.9, "reward 0.9: vote for the action,\nweight 0.4 / propensity"),
        (0.35, "reward 0.35: vote against it,\nweight 0.15 / propensity"),
    ):
        colour = INK if reward > offset else WARM
        axes.annotate("", (reward, 0), (offset, 0), arrowprops={"arrowstyle": "<->", "color": colour, "linewidth": 2})
        axes.plot(reward, 0, "o", color=colour, markersize=10)
        axes.text(reward - 0.03 * (reward > offset) - 0.12 * (reward < offset), 0.25, text, ha="center", color=colour)
    for end in (0, 1):
        axes.text(end, -0.3, f"{end}", ha="center")
    axes.text(0.5, -0.55, "reward", ha="center")
    axes.set(xlim=(-0.03, 1.05), ylim=(-0.7, 1.0))
    axes.axis("off")
    return figure


def offset_choice() -> Figure:
    """With one visit in a hundred, who votes and how much: offset 1/2 beside the mean."""
    figure = Figure(figsize=(7.2, 2.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    share = 0.01
    for axes, offset, name in ((left, 0.5, "offset 1/2"), (right, share, "offset at the mean, 0.01")):
        weight = [share * (1 - offset), (1 - share) * offset]
        axes.bar(["for: visits", "against:\nno visit"], np.array(weight) / sum(weight), color=[INK, WARM], width=0.6)
        for place, part in enumerate(np.array(weight) / sum(weight)):
            axes.text(place, part + 0.02, f"{100 * part:.0f} %", ha="center")
        axes.set(title=name, ylim=(0, 1.12))
    left.set_ylabel("share of all votes")
    return figure


def _boxes(axes: Any, places: dict[str, tuple[float, float]], colours: dict[str, str]) -> None:
    for name, (x, y) in places.items():
        colour = colours.get(name, "0.93")
        axes.add_patch(
            FancyBboxPatch(
                (x - 0.62, y - 0.2), 1.24, 0.4, boxstyle="round,pad=0.03", facecolor=colour, edgecolor="0.4", zorder=3
            )
        )
        light = colour in (INK, WARM)
        axes.text(x, y, name, ha="center", va="center", color="white" if light else "0.1", zorder=4)


def _links(axes: Any, places: dict[str, tuple[float, float]], links: dict[tuple[str, str], str | None]) -> None:
    for (child, parent), colour in links.items():
        (x0, y0), (x1, y1) = places[child], places[parent]
        axes.plot([x0, x1], [y0 + 0.2, y1 - 0.2], color=colour or "0.7", linewidth=3 if colour else 1.2, zorder=1)


PLACES = {
    "discount": (0.0, 0.0), "bundle": (1.5, 0.0), "win-back": (3.0, 0.0), "no mail": (4.5, 0.0),
    "contest A": (0.75, 1.1), "contest B": (3.75, 1.1), "final": (2.25, 2.2),
}  # fmt: skip


def _canvas() -> tuple[Figure, Any]:
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(-0.8, 6.6), ylim=(-0.5, 2.6))
    axes.axis("off")
    return figure, axes


def tournament() -> Figure:
    """One decision: the final asks which half wins, then one contest asks which action."""
    figure, axes = _canvas()
    _links(axes, PLACES, {
        ("discount", "contest A"): None, ("bundle", "contest A"): None, ("contest A", "final"): None,
        ("contest B", "final"): INK, ("win-back", "contest B"): INK, ("no mail", "contest B"): None,
    })  # fmt: skip
    _boxes(axes, PLACES, {"final": SHADE, "contest B": SHADE, "win-back": INK})
    axes.text(3.1, 2.2, "1. Which half wins for this customer? Right.", va="center")
    axes.text(4.5, 1.1, "2. Which of the two? Left.", va="center")
    axes.text(3.0, -0.4, "decision", ha="center", color=INK)
    return figure


def climbing() -> Figure:
    """One training row climbs from its action's leaf as long as the contests below choose its action."""
    figure, axes = _canvas()
    _links(axes, PLACES, {
        ("discount", "contest A"): INK, ("bundle", "contest A"): None, ("contest A", "final"): WARM,
        ("contest B", "final"): None, ("win-back", "contest B"): None, ("no mail", "contest B"): None,
    })  # fmt: skip
    _boxes(axes, PLACES, {"discount": INK, "contest A": SHADE})
    axes.text(-0.7, -0.42, "logged: discount, visit 1, propensity 0.25", color=INK)
    axes.text(3.2, 2.2, "trains contest A: \u201cdiscount wins\u201d,\nweight 0.5 / 0.25 = 2", va="center", color=INK)
    axes.text(
        -0.7,
        1.95,
        "climbs to the final only if\ncontest A chooses discount\nfor this customer",
        va="center",
        color=WARM,
    )
    return figure


def regret() -> Figure:
    """Random problems and classifiers: the policy's regret beside the bound of Theorem 4.1."""
    random = np.random.default_rng(0)
    n_actions, found = 5, []
    tree = ActionTree.balanced(n_actions)
    for _ in range(400):
        problem = theory.FiniteProblem.certain(random.random((3, n_actions)).round(3))
        classifier = random.random((n_actions - 1, 3)) < 0.5
        induced = theory.offset_tree_problem(problem, tree, classifier)
        binary = theory.binary_regret(induced, classifier)
        policy = theory.policy_regret(problem, theory.offset_tree_policy(tree, classifier))
        found.append((binary, policy))
    binary, policy = np.array(found).T
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    line = np.array([0, binary.max()])
    axes.plot(
        line,
        (n_actions - 1) * line,
        color=WARM,
        label=f"the bound: (k - 1) x regret of the classifier, k = {n_actions}",
    )
    axes.plot(binary, policy, "o", color=INK, alpha=0.4, markersize=4, label="random problems, random classifiers")
    axes.set(xlabel="regret of the binary classifier", ylabel="regret of the policy", ylim=(0, 1), xlim=(0, None))
    axes.legend(frameon=False, loc="upper right")
    return figure


def intervals() -> Figure:
    """Fifty logs of 400 rows; a policy that is no better than what was logged, and how much better it looks."""
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    axes = figure.subplots()
    n_logs, gains = 50, []
    for seed in range(n_logs):
        random = np.random.default_rng(seed)
        action = random.choice(["mail", "call"], 400)
        reward = (random.random(400) < 0.1).astype(float)  # whatever is done
        log = LoggedData(random.normal(size=(400, 1)), action, reward=reward, propensity=0.5)
        gain = evaluate("mail", **log.arrays(), level=LEVEL).difference
        assert gain is not None  # noqa: S101 (rewards differ)
        gains.append(gain)
    gains.sort(key=lambda each: each.value)
    for place, each in enumerate(gains):
        misleads = each.low > 0 or each.high < 0
        colour = WARM if misleads else INK
        axes.plot([place, place], [each.low, each.high], color=colour, linewidth=1.5)
        axes.plot(place, each.value, "o", color=colour, markersize=3)
    axes.axhline(0, color=GREY, linestyle="--")
    axes.set(xlabel="fifty logs of the same world, by estimated gain", ylabel="estimated gain on the log")
    axes.set_xticks([])
    return figure


if __name__ == "__main__":
    main()
