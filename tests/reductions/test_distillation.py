"""An offset tree that decides as another policy does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge

from offsettree import (
    ConstantPolicy,
    LoggedData,
    OffsetForest,
    OffsetTree,
    RewardRegression,
    distill,
    evaluate,
    load,
    save,
)
from offsettree.exceptions import ActionError, FeatureError, ParameterError


class Corners:
    """Thinks most of the action of the corner that a row lies in; of the others, as they come."""

    actions_ = np.array(["a", "b", "c", "d"])

    def predict_rewards(self, X: Any) -> Any:
        X = np.asarray(X)
        best = 2 * (X[:, 0] > 0) + (X[:, 1] > 0)
        return 0.1 * np.arange(4) / 4 + (best[:, np.newaxis] == np.arange(4))


class Labels:
    """Has opinions, but says only what it does."""

    def __init__(self, **more: Any) -> None:
        self.__dict__ |= more

    def predict(self, X: Any) -> Any:
        return Corners.actions_[Corners().predict_rewards(X).argmax(axis=1)]


def rows(n_rows: int = 800, seed: int = 0) -> Any:
    return np.random.RandomState(seed).normal(size=(n_rows, 3))


@pytest.mark.parametrize("teacher", [Corners(), Labels()])
@pytest.mark.parametrize("tree", ["learned", "balanced", "similar"])
def test_the_student_decides_as_its_teacher(teacher: Any, tree: str) -> None:
    student = distill(teacher, rows(), tree=tree, random_state=0)
    assert isinstance(student, OffsetTree)
    assert (student.predict(rows(seed=1)) == Labels().predict(rows(seed=1))).mean() > 0.97
    assert student.node_rows_[0] == 800


def test_rows_count_by_what_is_at_stake() -> None:
    """A contest that cannot please all rows pleases those on which much depends."""

    class Stakes:
        actions_ = np.array([0, 1])

        def predict_rewards(self, X: Any) -> Any:
            ahead = np.where(X[:, 0] > 0.8, 10.0, -1.0)  # few rows, for which action 1 matters
            return np.column_stack([np.zeros(len(X)), ahead])

    blind = distill(Stakes(), np.column_stack([rows(500)[:, 0]]), estimator=Always(), random_state=0)
    assert set(blind.predict(rows(50)[:, :1]).tolist()) == {1}


class Always:
    """A classifier that sees nothing but which side weighs more."""

    def fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        self.side = np.average(y, weights=sample_weight) > 0.5
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.side)


def some_log(n_rows: int = 600, seed: int = 0) -> LoggedData:
    random = np.random.RandomState(seed)
    X = random.normal(size=(n_rows, 3))
    action = random.randint(4, size=n_rows)
    reward = ((2 * (X[:, 0] > 0) + (X[:, 1] > 0)) == action).astype(float)
    return LoggedData(X, action, reward, 0.25)


def test_what_is_lost_is_told_by_evaluate(tmp_path: Path) -> None:
    train, test = some_log(), some_log(seed=1)
    forest = OffsetForest(n_trees=10, random_state=0).fit(**train.arrays())
    save(forest, tmp_path / "forest.ot")
    for teacher in (forest, load(tmp_path / "forest.ot")):
        student = distill(teacher, rows(3000, seed=2), random_state=0)
        lost = evaluate(student, **test.arrays(), baseline=teacher).difference
        assert lost is not None
        assert abs(lost.value) < 0.08
        np.testing.assert_array_equal(student.actions_, forest.actions_)
    with pytest.warns(UserWarning, match="trained on about"):
        evaluate(student, **train.arrays())
    save(student, tmp_path / "student.ot")
    np.testing.assert_array_equal(load(tmp_path / "student.ot").predict(test.X), student.predict(test.X))


@pytest.mark.parametrize("kind", ["sparse", "frame"])
def test_rows_come_in_every_form(kind: str) -> None:
    log = some_log(200)
    X: Any = sp.csr_matrix(log.X) if kind == "sparse" else pd.DataFrame(log.X, columns=[*"uvw"])
    teacher = RewardRegression(Ridge(), reward_range=(-1, 2))
    teacher.fit(X, log.action, reward=log.reward, propensity=log.propensity)
    student = distill(teacher, X, estimator=LogisticRegression(), random_state=0)
    assert (student.predict(X) == teacher.predict(X)).mean() > 0.8
    assert tuple(student.reward_range) == (-1, 2)
    if kind == "frame":
        assert student.feature_names_in_.tolist() == [*"uvw"]


def test_a_constant_teacher_has_a_constant_student() -> None:
    log = some_log(100)
    student = distill(ConstantPolicy(2).fit(**log.arrays()), log.X, random_state=0)
    assert set(student.predict(rows()).tolist()) == {2}


def test_bad_teachers_and_rows_are_refused() -> None:
    for wrong in (RewardRegression, 7, None):
        with pytest.raises(ParameterError, match="policy must be a fitted policy"):
            distill(wrong, rows())

    class Odd(Corners):
        def predict_rewards(self, X: Any) -> Any:
            return np.zeros((len(X), 3))

    with pytest.raises(ParameterError, match=r"finite number for every row and action, of shape \(800, 4\)"):
        distill(Odd(), rows())
    nameless = Corners()
    nameless.actions_ = None  # type: ignore[assignment]
    with pytest.raises(ActionError, match=r"Name them: actions=\[...\]"):
        distill(nameless, rows())
    assert distill(nameless, rows(), actions=[4, 3, 2, 1]).actions_.tolist() == [4, 3, 2, 1]
    with pytest.raises(FeatureError, match="infinity"):
        distill(Corners(), np.full((5, 3), np.inf))
