"""One record of all that is known: plain values out, any values in."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import offsettree
from offsettree.facts import CandidateFacts, Facts, SourceFacts, WeightFacts, as_number, as_text
from offsettree.policy_file import load, save
from tests.report.samples import make_facts

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def test_facts_are_the_same_after_a_journey_through_json() -> None:
    facts = Facts.read(make_facts(4, warned=True))
    again = Facts.read(json.loads(json.dumps(facts.as_dict())))
    assert again == facts
    assert again.log.actions[0].label == "no mail"
    assert again.estimate.baseline is not None
    assert again.estimate.baseline.low == 0.145


def test_the_keys_of_json_are_the_fields_in_their_order() -> None:
    plain = Facts(log=SourceFacts(rows=3)).as_dict()
    assert list(plain) == [each.name for each in fields(Facts)]
    assert list(plain["log"]) == [each.name for each in fields(SourceFacts)]
    assert plain["constant"] is None
    assert Facts.read(plain) == Facts(log=SourceFacts(rows=3))


@given(st.dictionaries(st.sampled_from([each.name for each in fields(Facts)]), ANYTHING), ANYTHING)
def test_what_a_stranger_wrote_is_read_or_left_out(facts: dict[str, Any], odd: Any) -> None:
    for found in (facts, odd, {"log": facts, "policy": odd}):
        read = Facts.read(found)
        assert Facts.read(read.as_dict()) == read
        assert all(isinstance(note, str) for note in read.log.notes)
        assert read.is_better in (None, False, True)


@pytest.mark.parametrize("odd", [True, "3", None, float("nan"), float("inf"), 10**400, [1], {}])
def test_only_numbers_to_calculate_with_are_numbers(odd: Any) -> None:
    assert as_number(odd) is None
    assert SourceFacts.read({"rows": odd}).rows is None


def test_numbers_of_numpy_and_labels_are_taken() -> None:
    assert SourceFacts.read({"rows": np.int64(7)}).rows == 7
    assert as_number(np.float32(0.5)) == 0.5
    assert (as_text(3), as_text(" a "), as_text(" "), as_text(False)) == ("3", "a", None, None)


def test_one_bad_edge_takes_the_histogram_with_it() -> None:
    assert WeightFacts.read({"edges": [1, "2", 3], "counts": [4, 5]}) == WeightFacts(counts=[4.0, 5.0])
    assert Facts.read({"candidates": [1, {"name": "a"}]}).candidates == [CandidateFacts(name="a")]


def test_a_policy_file_holds_facts_as_plain_values(tmp_path: Path) -> None:
    log = offsettree.simulate_log(np.arange(40.0)[:, None], np.arange(40) % 2, random_state=0)
    policy = offsettree.ConstantPolicy().fit(**log.arrays())
    facts = Facts.read(make_facts(2))
    save(policy, tmp_path / "policy.ot", facts=facts)
    manifest = load(tmp_path / "policy.ot").manifest
    assert manifest["facts"] == facts.as_dict()
    assert Facts.read(manifest["facts"]) == facts


@pytest.mark.parametrize("name", offsettree.workflow.__all__)
def test_the_workflow_is_reached_from_the_package(name: str) -> None:
    assert getattr(offsettree.workflow, name) is not None
