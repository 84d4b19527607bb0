"""Names that are taken, objects that are none, and entry points that do not work."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest
from sklearn.linear_model import Ridge

from offsettree import ConstantPolicy, LoggedData, register_format, register_learner, register_policy
from offsettree.exceptions import OffsetTreeWarning, ParameterError
from offsettree.learners import make_learner
from offsettree.logs.readers import open_reader
from offsettree.registry import CLASSIFIERS, FORMATS, POLICIES, REGRESSORS, register, registry, resolve
from offsettree.selection import default_candidates
from offsettree.workflow import make_policy
from tests.suites import policies, readers
from tests.toys import toys, undone


def test_what_is_built_in_is_there_and_could_have_been_registered() -> None:
    for name, entry in POLICIES.known.items():
        policy = entry._replace(target=resolve(entry.target))
        base = ("offsettree.actions.policy", "ActionPolicy") if entry.over_sets else ("offsettree.base", "BasePolicy")
        register._check_class(policy.target, *base, name)
        register._check_policy(name, policy)
    for kind in FORMATS.known.values():
        register._check_class(resolve(kind.target), "offsettree.logs._reader", "Reader", "register_format")
        assert kind.recognise is None or callable(resolve(kind.recognise))
    suffixes = [suffix for each in FORMATS.known.values() for suffix in each.suffixes]
    assert len(suffixes) == len(set(suffixes))
    for learner in (*CLASSIFIERS.known.values(), *REGRESSORS.known.values()):
        assert hasattr(resolve(learner.target)(), "fit")


@pytest.mark.usefixtures("outside")
def test_nothing_that_is_registered_escapes_the_contract_suites(tmp_path: Path) -> None:
    checked = {type(policy) for policy in policies.POLICIES.values()}
    # Those over actions with features have suites of their own: tests/actions and tests/cli/test_action_sets.py.
    over_labels = [entry for entry in POLICIES.known.values() if not entry.over_sets]
    assert {resolve(entry.target) for entry in over_labels} <= checked
    read = {type(open_reader(form.write(readers.make_frame(40), tmp_path / "log"))) for form in readers.FORMS.values()}
    assert read == {resolve(entry.target) for entry in FORMATS.known.values()}


@pytest.mark.parametrize(
    ("register", "message"),
    [
        (lambda: register_policy("offset-tree")(toys.ToyAdvantage), "'offset-tree' is that of offsettree.reductions:O"),
        (lambda: register_policy("Toy Name")(toys.ToyAdvantage), "must be lower-case letters.*got 'Toy Name'"),
        (lambda: register_policy("toy")(Ridge), "decorates a subclass of BasePolicy; got .*Ridge"),
        (lambda: register_policy("toy")(toys.ToyAdvantage()), "decorates a subclass of BasePolicy; got ToyAdvantage()"),
        (lambda: register_policy("toy", base="tree"), "base must be None, 'classifier' or 'regressor'; got 'tree'"),  # type: ignore[arg-type]
        (lambda: register_policy("toy", settings={"alpha": 1})(toys.ToyAdvantage), "it has no 'alpha'"),
        (lambda: register_policy("toy", base="classifier")(ConstantPolicy), "it has no 'estimator'"),
        (lambda: register_policy("toy", online=True)(toys.ToyAdvantage), "must learn by partial_fit; .*ToyAdvantage"),
        (lambda: register_policy("toy", candidates="offset tree")(toys.ToyAdvantage), "there is a 'offset tree'"),
        (lambda: register_format("csv")(toys.ToyRowsReader), "'csv' is that of offsettree.logs._csv:CsvReader"),
        (lambda: register_format("toy")(LoggedData), "decorates a subclass of Reader; got .*LoggedData"),
        (lambda: register_format("toy", suffixes=["rows"])(toys.ToyRowsReader), "begin with a point; got 'rows'"),
        (lambda: register_format("toy", suffixes=[".tsv"])(toys.ToyRowsReader), "'.tsv' is of 'csv'"),
        (lambda: register_learner("toy", "transformer"), "kind must be"),  # type: ignore[arg-type]
        (lambda: register_learner("tree", "regressor")(Ridge), "'tree' is that of offsettree.learners.catalog:tree_r"),
        (lambda: register_learner("toy", "regressor")(int), "a class with fit, or a function"),
        (lambda: register_learner("toy", "regressor", read=len)(lambda: Ridge()), "read is for fitted learners of one"),
    ],
)
def test_what_cannot_be_registered_is_refused(register: Any, message: str) -> None:
    with undone(), pytest.raises(ParameterError, match=message):
        register()
    assert "toy" not in {*POLICIES, *FORMATS, *CLASSIFIERS, *REGRESSORS}


def test_the_same_class_may_be_registered_again() -> None:
    with undone():
        for _ in range(2):
            register_policy("toy")(toys.ToyAdvantage)
        assert POLICIES["toy"].target is toys.ToyAdvantage


@pytest.mark.usefixtures("outside")
def test_unknown_names_are_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"must be one of auto, offset-tree, .*toy-advantage; got 'tou'"):
        make_policy("tou")
    with pytest.raises(ParameterError, match=r"no regressor called 'tou'; there are boosting, .*toy-linear"):
        make_learner("tou", "regressor")
    with pytest.raises(ParameterError, match=r"must be one of csv, .*toy-rows; got 'tou'"):
        LoggedData.read(tmp_path, format="tou")


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a function that makes packages look installed: their entry points, of all groups."""

    def install(**places: list[str]) -> None:
        groups = ("offsettree.policies", "offsettree.formats", "offsettree.learners")
        found = [EntryPoint(name, each, group) for group in groups for name, all_ in places.items() for each in all_]
        monkeypatch.setattr(registry, "_scan", lambda: EntryPoints(found))
        registry._entry_points.cache_clear()

    with undone():
        yield install
    registry._entry_points.cache_clear()


def test_entry_points_that_do_not_work_are_named(points: Any, tmp_path: Path) -> None:
    points(broken=["no_such_package:Policy"], silent=["json:dumps"], double=["one:a", "two:b"])
    assert list(POLICIES)[-3:] == ["broken", "silent", "double"]
    with pytest.raises(ParameterError, match=r"no_such_package:Policy of .* fails with ModuleNotFoundError: No module"):
        make_policy("broken")
    with pytest.raises(ParameterError, match=r"importing json:dumps of .* registers no policy 'silent'.*register_po"):
        make_policy("silent")
    with pytest.raises(ParameterError, match=r"must be of one package; one:a and two:b offer it"):
        make_policy("double")
    with pytest.raises(ParameterError, match=r"registers no learner 'silent'"):
        make_learner("silent")


def test_entry_points_that_do_not_work_do_not_stop_others(points: Any, tmp_path: Path) -> None:
    points(broken=["no_such_package:thing"])
    with pytest.warns(OffsetTreeWarning, match=r"policy 'broken' must be importable; .* It is left out"):
        assert default_candidates()[0].name == "constant"
    (tmp_path / "bare").write_text("age,action,reward,propensity\n" + "1,2,0,1\n2,1,1,1\n" * 5)
    with pytest.warns(OffsetTreeWarning, match=r"format 'broken' must be importable"):
        assert len(LoggedData.read(tmp_path / "bare")) == 10
    with (
        pytest.warns(OffsetTreeWarning, match=r"classifier 'broken' must be importable"),
        pytest.raises(ParameterError, match=r"no classifier called 'nothing'; there are boosting"),
    ):
        make_learner("nothing")


def test_the_registries_are_read_without_scikit_learn_and_without_looking_for_packages() -> None:
    code = (
        "import sys; from offsettree.registry import *; POLICIES['constant'], 'csv' in FORMATS, 'tree' in REGRESSORS;"
        "assert not {'sklearn', 'numpy', 'importlib.metadata'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
