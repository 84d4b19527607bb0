from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from offsettree.exceptions import MissingExtraError
from offsettree.experiments import error_curves

# Two seeds, errors that halve with every tenfold of the rows.
FALLING = [[[10, 0.9], [100, 0.4], [1000, 0.2], [10000, 0.1]], [[10, 0.7], [100, 0.2], [1000, 0.1], [10000, 0.05]]]
FLAT = [[[10, 0.9], [100, 0.9], [1000, 0.8], [10000, 0.8]]] * 2


def test_the_figure_is_drawn_as_png_and_svg_and_the_same_again(tmp_path: Path) -> None:
    drawing = {"title": "One pass", "background": {"c": FLAT, "d": FALLING}, "floor": 0.05, "stem": "curves"}
    paths = error_curves.draw({"a": FALLING, "b": FLAT}, tmp_path, **drawing)  # type: ignore[arg-type]
    assert [path.name for path in paths] == ["curves.png", "curves.svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in paths[1].read_text()
    before = [path.read_bytes() for path in paths]
    error_curves.draw({"a": FALLING, "b": FLAT}, tmp_path, **drawing)  # type: ignore[arg-type]
    assert [path.read_bytes() for path in paths] == before


def test_a_line_is_the_mean_over_the_seeds_and_its_band_their_range() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    error_curves._lines(axes, {"falling": FALLING, "flat": FLAT}, {"c": FLAT, "d": FLAT})
    error_curves._format_axes(axes, "One pass")
    grey, [falling, flat] = axes.lines[:2], axes.lines[2:]
    assert [line.get_color() for line in grey] == ["0.78", "0.78"]
    np.testing.assert_allclose(
        np.asarray(falling.get_xydata(), dtype=float), [[100.0, 30.0], [1000.0, 15.0], [10000.0, 7.5]]
    )
    band = axes.collections[0].get_paths()[0].vertices
    assert sorted({float(error) for error in np.asarray(band)[:, 1]}) == [5, 10, 20, 40]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert falling.get_label() == "falling: 7.50 %"
    # The legend reads as the lines end, from the top; what is only an idea comes last.
    assert error_curves._by_last_error(axes) == [flat, falling, grey[0]]


@pytest.mark.parametrize("error", [0.0, 1.0])
def test_one_row_is_drawn_without_a_warning(error: float, tmp_path: Path) -> None:
    assert error_curves.draw({"a": [[[1, error]]]}, tmp_path, title="One row")[0].exists()


def test_a_missing_plotting_package_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install offsettree\[plots\]"):
        error_curves.draw({}, tmp_path, title="Nothing")
