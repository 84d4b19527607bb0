from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from offsettree import datasets
from offsettree.exceptions import MissingExtraError, ParameterError
from offsettree.experiments import figure1, report, table1
from offsettree.experiments.paper import TABLE_1, TABLE_1_COLUMNS
from offsettree.learners import default_classifier


def test_the_paper_has_a_figure_for_every_dataset_and_column() -> None:
    assert tuple(TABLE_1) == datasets.NAMES
    assert all(len(figures) == len(TABLE_1_COLUMNS) for figures in TABLE_1.values())
    assert report.paper_error("vowel", "offset tree, letter") == report.paper_error("vowel", table1.TUNED) == 0.6501
    assert report.paper_error("vowel", "separate M5P -R") == 0.7440
    assert report.paper_error("ecoli", "weighting") == 0.3120
    assert report.paper_error("ecoli", "single tree") is None


def test_a_split_reveals_one_reward_of_two_thirds_of_the_rows() -> None:
    data = datasets.load("glass")
    log, X_test, y_test = table1.reveal("glass", 3)
    assert len(log) + len(y_test) == len(data)
    assert len(log) == pytest.approx(2 / 3 * len(data), abs=1)
    assert set(log.reward) == {0, 1}
    np.testing.assert_allclose(log.propensity, 1 / data.n_actions)
    right = {tuple(row): label for row, label in zip(data.X.tolist(), data.y, strict=True)}
    assert [right[tuple(row)] for row in X_test.tolist()] == y_test.tolist()
    for row, action, reward in zip(log.X.tolist(), log.action, log.reward, strict=True):
        assert (right[tuple(row)] == action) == reward
    other, _, other_y = table1.reveal("glass", 4)
    assert other_y.tolist() != y_test.tolist()
    assert other.action.tolist() != log.action.tolist()


@pytest.mark.parametrize("learners", table1.LEARNERS)
def test_every_method_learns_from_the_same_log_and_is_tested_on_the_same_rows(
    learners: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def fit(self: Any, **log: Any) -> Any:
        seen.append((log["X"].tolist(), log["action"].tolist(), log["reward"].tolist()))
        self.actions_ = np.unique(log["action"])
        return self

    def predict(self: Any, X: Any) -> Any:
        seen.append(X.tolist())
        return np.full(len(X), self.actions_[0])

    for policy in {type(make()) for make in table1.policies(learners).values()}:
        monkeypatch.setattr(policy, "fit", fit)
        monkeypatch.setattr(policy, "predict", predict)
    for method in table1.policies(learners):
        table1.run_one(learners, "glass", 0, method)
    assert len(seen) == 2 * len(table1.policies(learners))
    assert all(log == seen[0] for log in seen[::2])
    assert all(rows == seen[1] for rows in seen[1::2])


def test_half_draws_keep_half_of_equally_weighted_rows() -> None:
    random = np.random.RandomState(0)
    X, y = random.normal(size=(2000, 2)), random.randint(2, size=2000)
    draws = table1.HalfDraws(default_classifier(), random_state=0).fit(X, y).n_rows_drawn_
    assert draws.mean() == pytest.approx(1000, abs=50)


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    records = table1.open_records(tmp_path, "sklearn")
    run = {"learners": "sklearn", "names": ["glass"], "methods": [table1.TUNED], "n_jobs": 1}
    table1.run(records, **run, n_splits=1)  # type: ignore[arg-type]
    text = records.path.read_text()
    table1.run(table1.open_records(tmp_path, "sklearn"), **run, n_splits=2)  # type: ignore[arg-type]
    assert records.path.read_text().startswith(text)
    assert len(records.path.read_text().splitlines()) == 2


@pytest.mark.parametrize("name", ["flare", "lymph", "soybean"])
def test_nominal_features_are_encoded_for_learners_that_know_numbers_only(name: str) -> None:
    record = table1.run_one("sklearn", name, 0, "separate tree")
    assert record["error"] < 1 - 1 / datasets.load(name).n_actions


def test_the_table_has_standard_errors_and_the_papers_figure_beside_ours() -> None:
    cells = {
        ("glass", table1.TUNED): np.array([0.3, 0.5]),
        ("glass", "weighting"): np.array([0.5, 0.5]),
        ("vowel", table1.TUNED): np.array([0.6, 0.8]),
    }
    lines = report.markdown(cells, [table1.TUNED, "weighting", "new"]).splitlines()
    assert lines[2] == "| glass | 0.4000 ± 0.1000 (0.5000) | 0.5000 ± 0.0000 (0.5938) | - |"
    assert lines[3] == "| vowel | 0.7000 ± 0.1000 (0.6501) | - (0.6403) | - |"
    # Both datasets go up together, so that their mean varies as much as each.
    assert lines[4] == "| **mean** | 0.5500 ± 0.1000 (0.5751) | 0.5000 ± 0.0000 (0.5938) | - |"
    one = report.markdown({("glass", table1.TUNED): np.array([0.4])}, [table1.TUNED])
    assert "| glass | 0.4000 (0.5000) |" in one


def test_the_summary_judges_both_offset_trees() -> None:
    errors = {("glass", table1.TUNED): 0.4, ("glass", "weighting"): 0.5, ("glass", table1.LETTER): 0.6}
    text = report.summary(errors, [table1.LETTER, table1.TUNED, "weighting", "new"])
    assert "offset tree, letter: mean difference to the paper +0.100, absolute 0.100" in text
    assert "the offset tree, letter is better on 0 of 1, worse on 1" in text
    assert "the offset tree, tuned is better on 1 of 1, worse on 0" in text
    assert "new: no figures" in text or "new: " in text
    assert report.distance(errors, table1.TUNED) == pytest.approx(0.1)
    assert report.column_mean(errors, "weighting") == 0.5


def test_splits_are_kept_in_their_order_whatever_the_order_of_the_records() -> None:
    records = [{"dataset": "glass", "method": "new", "split": split, "error": split / 10} for split in (2, 0, 1)]
    np.testing.assert_allclose(report.errors_by_split(records)["glass", "new"], [0, 0.1, 0.2])
    assert report.mean_errors(records)["glass", "new"] == pytest.approx(0.1)


def test_the_choice_is_one_nominal_feature_and_in_a_reading_zero_one_columns() -> None:
    pytest.importorskip("jpype", reason="Weka's learners need the extra weka")
    log, _, _ = table1.reveal("glass", 0)
    known = table1.policies("weka")
    shown = {}
    for method in ("single REPTree", "single REPTree, zero-one columns"):
        policy = known[method]().set_params(random_state=0).fit(**log.arrays())
        shown[method] = policy.estimators_[0]._model.columns
    assert shown["single REPTree"].names[-1] == "action"
    assert shown["single REPTree"].levels[-1] == [str(action) for action in range(6)]
    assert len(shown["single REPTree, zero-one columns"].names) == log.X.shape[1] + 6
    assert shown["single REPTree, zero-one columns"].are_numeric
    assert known["separate M5P -R"]().estimator.regression_tree
    assert not known["separate M5P"]().estimator.regression_tree


def test_another_seed_has_other_splits(tmp_path: Path) -> None:
    records = table1.open_records(tmp_path, "sklearn")
    run = {"learners": "sklearn", "names": ["glass"], "methods": ["separate tree"], "n_splits": 1}
    table1.run(records, **run)  # type: ignore[arg-type]
    table1.run(records, **run, seed=3)  # type: ignore[arg-type]
    assert [record["split"] for record in records] == [0, 3000]


def test_the_figure_is_drawn_as_png_and_svg(tmp_path: Path) -> None:
    errors = {
        (name, method): error
        for name in ("glass", "vowel")
        for method, error in (
            (table1.LETTER, 0.35),
            (table1.TUNED, 0.3),
            ("weighting", 0.4),
            ("separate M5P", 0.5),
            ("separate REPTree", 0.6),
        )
    }
    paths = figure1.draw(errors, tmp_path, regressions=["separate M5P", "no such"])
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in paths[1].read_text()
    before = [path.read_bytes() for path in paths]
    figure1.draw(errors, tmp_path, regressions=["separate M5P", "no such"])
    assert [path.read_bytes() for path in paths] == before


def test_each_panel_has_a_point_per_dataset_at_the_two_errors() -> None:
    from matplotlib.figure import Figure

    errors = {("glass", table1.LETTER): 0.3, ("glass", "weighting"): 0.4, ("vowel", "weighting"): 0.5}
    axes = Figure().subplots()
    figure1._panel(axes, errors, ["weighting"], "importance weighting", table1.LETTER)
    (points,) = axes.collections
    np.testing.assert_allclose(np.asarray(points.get_offsets(), dtype=float), [[40, 30]])


def test_a_missing_plotting_package_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install offsettree\[plots\]"):
        figure1.draw({}, tmp_path, regressions=[])


def test_an_unknown_family_of_learners_is_refused() -> None:
    with pytest.raises(ParameterError, match="learners must be one of weka, sklearn; got 'torch'"):
        table1.policies("torch")
