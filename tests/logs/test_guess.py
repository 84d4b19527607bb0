from __future__ import annotations

import pyarrow as pa
import pytest

from offsettree.exceptions import LogError
from offsettree.logs import guess_columns


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["x", "action", "reward", "propensity"], ("action", "reward", "propensity")),
        (["X", "Action", "REWARD", "Propensity Score"], ("Action", "REWARD", "Propensity Score")),
        (["x", "a", "r", "p"], ("a", "r", "p")),
        (["age", "arm", "clicked", "pscore"], ("arm", "clicked", "pscore")),
        (["age", "offerId", "revenue", "actionProbability"], ("offerId", "revenue", "actionProbability")),
        (["action", "treatment", "a", "reward", "visit"], ("action", "reward", None)),
    ],
)
def test_names_that_tell(names: list[str], found: tuple[str, str, str | None]) -> None:
    guess = guess_columns(names)
    assert (guess.action, guess.reward, guess.propensity) == found


def test_what_was_guessed_is_said() -> None:
    guess = guess_columns(["sent", "visit", "p"], action="sent")
    assert guess.statement == (
        "Guessed by name: the reward is column 'visit', the propensity is column 'p' (if wrong, give reward=..., "
        "propensity=...)."
    )
    assert guess_columns(["a", "b", "c"], action="a", reward="b", propensity=0.5).statement == ""


def test_several_candidates_are_listed() -> None:
    with pytest.raises(LogError, match=r"several look like it: 'visit', 'conversion'\. Name the column: reward=\.\.\."):
        guess_columns(["action", "visit", "conversion"])


def test_no_candidate_is_said_with_the_columns_there_are() -> None:
    with pytest.raises(LogError, match=r"column for the action.*It has age, reward\. Name the column: action=\.\.\."):
        guess_columns(["age", "reward"])


def test_the_first_rows_rule_out_what_cannot_be() -> None:
    head = pa.table(
        {
            "action": [1, 2],
            "treatment": ["a", "b"],
            "outcome": ["won", "lost"],
            "click": [1, None],
            "p": [12.5, 80.0],
            "prob": [0.5, 0.25],
        }
    )
    guess = guess_columns(head.column_names, head)
    assert (guess.action, guess.reward, guess.propensity) == ("action", "click", "prob")


def test_a_column_has_one_role() -> None:
    assert guess_columns(["a", "reward", "outcome"], reward="outcome", action="reward").reward == "outcome"
