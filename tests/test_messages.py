"""Errors, warnings and notes name parameters as Python does, and as options on the command line."""

from __future__ import annotations

import argparse
import ast
import copy
import pickle
import re
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from offsettree import evaluate, exceptions
from offsettree._messages import Message, Parameter, as_options
from offsettree.cli import main
from offsettree.exceptions import OffsetTreeError, OffsetTreeWarning, ParameterError

ERRORS = [getattr(exceptions, name) for name in exceptions.__all__ if name != "OffsetTreeWarning"]
SAID = ("pass ", Parameter("reward_range", (0.0, 1.5)), " or ", Parameter("interval", "betting"), ".")


@pytest.mark.parametrize(
    ("parameter", "python", "option"),
    [
        (Parameter("interval", "betting"), "interval='betting'", "--interval betting"),
        (Parameter("reward"), "reward=...", "--reward"),
        (Parameter("features", [...]), "features=[...]", "--features"),
        (Parameter("reward_range", ("low", "high")), "reward_range=(low, high)", "--reward-range low high"),
        (Parameter("reward_range", (-1.0, 2.5)), "reward_range=(-1, 2.5)", "--reward-range -1 2.5"),
        (Parameter("decimal", ","), "decimal=','", "--decimal ,"),
        (Parameter("header", False), "header=False", "--no-header"),
        (Parameter("test_size", 0.25), "test_size=0.25", "--test-size 0.25"),
    ],
)
def test_a_parameter_is_spelled_for_its_reader(parameter: Parameter, python: str, option: str) -> None:
    assert str(parameter) == f"{parameter}" == python
    assert parameter.as_option() == option


def test_a_message_is_a_text_and_may_be_part_of_another() -> None:
    inner = Message("pass ", Parameter("reward"))
    outer = Message("The log is odd: ", inner, ".")
    assert outer == "The log is odd: pass reward=...."
    assert outer.as_options() == "The log is odd: pass --reward."
    assert outer.parameters == (Parameter("reward"),)
    assert hash(outer) == hash(str(outer))
    assert as_options("reward=... as a label") == "reward=... as a label"


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_errors_keep_their_parameters_when_copied_and_chained(error: type[OffsetTreeError], again: Any) -> None:
    cause = KeyError("cause")
    with pytest.raises(error) as caught:
        raise error(*SAID) from cause
    assert caught.value.__cause__ is cause
    found = again(caught.value)
    assert type(found) is error
    assert str(found) == "pass reward_range=(0, 1.5) or interval='betting'."
    assert as_options(found) == "pass --reward-range 0 1.5 or --interval betting."
    assert [parameter.name for parameter in found.parameters] == ["reward_range", "interval"]
    assert as_options(error("plain")) == str(error("plain")) == "plain"


def test_an_error_says_which_parameter_it_is_about() -> None:
    rows: dict[str, Any] = {"X": np.zeros((4, 1)), "action": [0, 1, 0, 1], "reward": [0, 1, 1, 0], "propensity": 0.5}
    with pytest.raises(ParameterError, match="interval='bernstein' needs independent rows") as caught:
        evaluate([0] * 4, **rows, method="doubly_robust", interval="bernstein")
    assert caught.value.parameters == (Parameter("interval", "bernstein"), Parameter("interval", "betting"))
    assert as_options(caught.value).startswith("--interval bernstein needs independent rows")


def test_a_warning_keeps_its_parameters() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(Message(*SAID), OffsetTreeWarning, stacklevel=1)
    assert as_options(caught[0].message) == "pass --reward-range 0 1.5 or --interval betting."


def test_text_of_the_log_is_not_rewritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "reward='x'.csv"
    path.write_text("a,b,action='y'\n1,2,3\n")
    assert main(["inspect", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.endswith("Name the column: --reward\n")
    assert "action='y'" in said


def options_of_the_commands() -> set[str]:
    """Return all options by the names that Python gives their parameters."""
    found = set()
    for name in ("learn", "evaluate", "decide", "inspect", "compare"):
        parser = argparse.ArgumentParser()
        import_module(f"offsettree.cli.{name}").configure(parser)
        found |= {action.dest for action in parser._actions if action.option_strings}
    return found


def test_messages_name_options_by_parameters_only() -> None:
    options = options_of_the_commands()
    written = re.compile(rf"(?<!\()\b({'|'.join(options)})=(\.\.\.|\[\.\.\.\]|['\"(]|$)")
    named = set()
    for path in (Path(__file__).parent.parent / "src").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
                found = written.search(node.value)
                assert not found, f"{path}:{node.lineno} says {found[0]}: use a Parameter"
            elif isinstance(node, ast.Call) and ast.unparse(node).startswith("Parameter('"):
                named.add(ast.literal_eval(node.args[0]))
    assert {"interval", "reward_range", "encoding"} <= named <= options


def test_a_parameter_may_have_any_value() -> None:
    values = Parameter("test_size", np.array([1, 2]))
    assert str(values) == "test_size=array([1, 2])"
    assert values.as_option() == "--test-size [1 2]"
