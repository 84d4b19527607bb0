from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from offsettree import Estimate, estimate_propensity, evaluate
from offsettree.evaluation import plot_calibration, plot_prefix, plot_values, plot_weights
from offsettree.exceptions import LogError, ParameterError
from tests.evaluation.test_evaluate import some_log

log = some_log(400)


def saved(axes: Any, folder: Path) -> Any:
    axes.figure.savefig(folder / "figure.png")
    assert (folder / "figure.png").stat().st_size > 1000
    return axes


def test_values_stand_side_by_side(tmp_path: Path) -> None:
    found = {name: evaluate(action, **log.arrays()) for name, action in (("first", 0), ("second", 1))}
    axes = saved(plot_values(found), tmp_path)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["first", "second"]
    points = axes.lines[0].get_xdata()
    np.testing.assert_allclose(points, [each.value for each in found.values()])
    assert plot_values({"alone": evaluate(0, **log.arrays(), baseline=None)}, axes=axes) is axes
    with pytest.raises(ParameterError, match="at least one"):
        plot_values({})


def test_weights_add_up_to_all(tmp_path: Path) -> None:
    axes = saved(plot_weights(0, **log.arrays()), tmp_path)
    assert axes.lines[1].get_ydata()[-1] == pytest.approx(100)
    assert "rows of equal weight" in axes.get_title()
    with pytest.raises(LogError, match="no weights to draw"):
        plot_weights(3, **log.arrays(), actions=range(4))


def test_calibration_is_drawn_by_tenths(tmp_path: Path) -> None:
    found = estimate_propensity(log.X, log.action, random_state=0)
    saved(plot_calibration(found), tmp_path)
    with pytest.raises(ParameterError, match="estimate_propensity"):
        plot_calibration(log.propensity)  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", [0, np.full((400, 3), 1 / 3)])
def test_the_last_prefix_is_the_whole_log(policy: Any, tmp_path: Path) -> None:
    axes = saved(plot_prefix(policy, **log.arrays(), n_points=5, method="ips"), tmp_path)
    rows, values = axes.lines[0].get_data()
    assert rows[-1] == 400
    assert values[-1] == pytest.approx(evaluate(policy, **log.arrays(), method="ips").value)
    with pytest.raises(LogError, match="no value to draw"):
        plot_prefix(3, **log.arrays(), actions=range(4))


def estimates(**settings: Any) -> list[Estimate]:
    return [evaluate(action, **log.arrays(), **settings) for action in (0, 1)]


def test_an_interval_without_ends_is_not_drawn_as_certainty(tmp_path: Path) -> None:
    sure = evaluate(0, **log.arrays())
    rows = np.append(np.flatnonzero(log.action == 1)[:1], np.flatnonzero(log.action == 0)[:50])
    unsure = evaluate(1, **log[rows].arrays(), interval="normal")
    assert unsure.high == np.inf
    axes = saved(plot_values({"sure": sure, "unsure": unsure}), tmp_path)
    edges = axes.get_xlim()
    reached = {float(x) for line in axes.lines for x in np.ravel(line.get_xdata())}
    assert set(edges) <= reached
    assert [text.get_text() for text in axes.texts] == ["unknown"]
    assert edges[0] < min(sure.low, unsure.value)
    assert edges[1] > max(sure.high, unsure.value)
    alone = saved(plot_values({"unsure": unsure}), tmp_path)
    assert [text.get_text() for text in alone.texts] == ["unknown"]
    assert not plot_values({"sure": sure}).texts


def test_levels_and_baselines_that_differ_are_told_of_each(tmp_path: Path) -> None:
    narrow, wide = estimates(level=0.5)[0], estimates(level=0.99)[1]
    axes = saved(plot_values({"a": narrow, "b": wide}), tmp_path)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a (50 %)", "b (99 %)"]
    assert "50 %" not in axes.get_xlabel()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["baseline"]
    first, other, none = estimates()[0], estimates(baseline=2)[0], estimates(baseline=None)[0]
    axes = saved(plot_values({"a": first, "b": other, "c": none}), tmp_path)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["its own baseline"]
    drawn = [segment[0][0] for segment in axes.collections[-1].get_segments()]
    assert first.baseline is not None
    assert other.baseline is not None
    assert drawn == pytest.approx([first.baseline.value, other.baseline.value])


@pytest.mark.parametrize("wrong", [{}, [1], None, {"a": 0.5}])
def test_what_is_no_mapping_of_estimates_is_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="mapping of names"):
        plot_values(wrong)
    with pytest.raises(ParameterError, match="mapping of names"):
        plot_values(estimates())  # type: ignore[arg-type]


@pytest.mark.parametrize("baseline", ["logging", 2, np.arange(400) % 3, np.full((400, 3), 1 / 3)])
def test_prefixes_take_what_evaluate_takes_and_draw_the_baseline(baseline: Any, tmp_path: Path) -> None:
    model = np.random.RandomState(0).random_sample((400, 3))
    settings: dict[str, Any] = {"method": "doubly_robust", "reward_model": model, "baseline": baseline}
    axes = saved(plot_prefix(0, **log.arrays(), n_points=4, **settings), tmp_path)
    whole = evaluate(0, **log.arrays(), **settings)
    assert axes.lines[0].get_ydata()[-1] == pytest.approx(whole.value)
    assert whole.baseline is not None
    assert axes.lines[2].get_ydata()[-1] == pytest.approx(whole.baseline.value)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["policy", "baseline"]
    backwards = {**settings, "reward_model": model[:, ::-1], "actions": [2, 1, 0]}
    if np.ndim(baseline) < 2:
        again = plot_prefix(0, **log.arrays(), n_points=4, **backwards)
        np.testing.assert_allclose(again.lines[0].get_ydata(), axes.lines[0].get_ydata())


@pytest.mark.parametrize("form", [sp.coo_matrix, sp.csr_matrix])
def test_pictures_of_a_sparse_log(form: Any) -> None:
    arrays = {**log.arrays(), "X": form(log.X)}
    assert len(plot_prefix(0, **arrays, n_points=3).lines[0].get_xdata()) == 3
    plot_weights(0, **arrays)


def test_prefixes_of_the_shortest_logs_and_of_few_points(tmp_path: Path) -> None:
    first = int(np.flatnonzero(log.action == 0)[0])
    axes = saved(plot_prefix(0, **log[first : first + 1].arrays(), actions=range(3)), tmp_path)
    assert list(axes.lines[0].get_xdata()) == [1]
    assert list(plot_prefix(0, **log.arrays(), n_points=1).lines[0].get_xdata()) == [400]
    for wrong in (0, -1, 2.5, True, None):
        with pytest.raises(ParameterError, match="n_points must be a whole number"):
            plot_prefix(0, **log.arrays(), n_points=wrong)  # type: ignore[arg-type]
    with pytest.raises(LogError, match="does the baseline match"):
        plot_prefix(0, **log.arrays(), baseline=3, actions=range(4))
