from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from offsettree import estimate_propensity, evaluate
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
