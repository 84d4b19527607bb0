"""What a notebook shows: HTML of logs, estimates and searches, plots, and a bar for progress."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine

from offsettree import (
    ConstantPolicy,
    LoggedData,
    OffsetTree,
    PolicySearch,
    RewardRegression,
    evaluate,
    simulate_log,
)
from offsettree._notebook import interval_bar
from offsettree._progress import Progress


@pytest.fixture(scope="module")
def log() -> LoggedData:
    X, y = load_wine(return_X_y=True)
    return simulate_log(X, y, random_state=0)


@pytest.fixture(scope="module")
def search(log: LoggedData) -> PolicySearch:
    candidates = [("one", ConstantPolicy()), ("ridge", RewardRegression())]
    return PolicySearch(candidates, cv=3, nested=False, random_state=0).fit(**log.arrays())


def test_a_log_shows_its_actions_and_escapes_their_labels() -> None:
    hostile = LoggedData([[0.0]] * 4, ["<script>", "b"] * 2, reward=[1, 0, 1, 1], propensity=0.5)
    shown = hostile._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "50.0 %" in shown


def test_many_actions_are_cut_in_the_table_and_in_the_plot() -> None:
    many = LoggedData(np.zeros((100, 1)), np.arange(100), reward=np.zeros(100), propensity=0.01)
    assert "and 88 more actions" in many._repr_html_()
    assert len(many.plot(max_actions=5).get_yticklabels()) == 5


def test_the_plot_of_a_log_has_weighted_means() -> None:
    rewards, propensity = [1, 0, 0, 1], [0.25, 0.75, 0.5, 0.5]
    log = LoggedData([[0.0]] * 4, ["a", "a", "b", "b"], reward=rewards, propensity=propensity)
    drawn = {line.get_ydata()[0]: line.get_xdata()[0] for line in log.plot().lines if len(line.get_xdata()) == 1}
    assert drawn == {0: pytest.approx(0.75), 1: pytest.approx(0.5)}


def test_an_estimate_shows_its_warnings_and_draws_its_baseline(log: LoggedData) -> None:
    policy = OffsetTree(random_state=0).fit(**log.arrays())
    with pytest.warns(UserWarning, match="trained on"):
        estimate = evaluate(policy, **log.arrays())
    shown = estimate._repr_html_()
    assert "Warning: the policy was trained" in shown
    assert "difference" in shown
    axes = estimate.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["policy", "baseline"]


def test_an_estimate_without_an_interval_is_shown_and_drawn() -> None:
    log = LoggedData([[0.0]] * 30, ["a", "b"] * 15, reward=[0.5] * 30, propensity=0.5)
    with pytest.warns(UserWarning, match="there is no interval"):
        estimate = evaluate("a", **log.arrays(), baseline=None)
    assert "no interval" in estimate._repr_html_()
    assert len(estimate.plot().get_yticklabels()) == 1


def test_a_search_shows_its_diagram_and_its_candidates(search: PolicySearch) -> None:
    shown = search._repr_html_()
    assert "sk-" in shown  # scikit-learn's diagram
    assert "<td style='text-align:left'>ridge</td>" in shown
    assert "<th style='text-align:left'>candidate</th>" in shown
    assert "<th style='text-align:left'>candidate</th>" not in PolicySearch()._repr_html_()
    assert "ridge</td>" in search._repr_mimebundle_()["text/html"]


def test_a_search_draws_the_chosen_candidate_first(search: PolicySearch) -> None:
    names = [label.get_text() for label in search.plot().get_yticklabels()]
    assert names[0] == search.best_name_
    assert sorted(names) == ["one", "ridge"]


def test_a_bar_stays_within_its_scale() -> None:
    assert interval_bar(0.5, float("nan"), float("nan"), (0, 1)) == ""
    assert "cx='116" in interval_bar(5.0, 0.0, 7.0, (0, 1))


def test_progress_in_a_notebook_is_a_bar_that_goes(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    shown: list[str] = []
    handle = SimpleNamespace(update=lambda data, raw: shown.append(data["text/html"]))
    display = SimpleNamespace(display=lambda *_, **__: handle)
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with Progress(4) as progress:
        progress.advance(1, "<fold> 1")
    assert "value='0.2500'" in shown[-2]
    assert "&lt;fold&gt; 1" in shown[-2]
    assert shown[-1] == ""
    assert capsys.readouterr().err == ""


def test_a_plot_is_shown_where_pyplot_is_in_use_and_kept_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    log = LoggedData([[0.0], [1.0]], ["a", "b"], reward=[1.0, 0.0], propensity=0.5)
    shown = pyplot.get_fignums()
    figure = log.plot().figure
    try:
        assert figure.number in set(pyplot.get_fignums()) - set(shown)
    finally:
        pyplot.close(figure)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot")
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    log.plot()
    assert pyplot.get_fignums() == shown
