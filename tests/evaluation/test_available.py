"""Evaluation where rows may not choose every action."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from offsettree import OffsetTree, evaluate, make_policy_scorer
from offsettree.evaluation import plot_prefix, plot_weights
from offsettree.exceptions import ActionError, OffsetTreeWarning
from tests.selection.test_search_available import K, make_log


@pytest.fixture
def policy() -> OffsetTree:
    log, mask, _ = make_log(2000)
    return OffsetTree(LogisticRegression(), random_state=0).fit(**log, available=mask)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("method", ["ips", "snips", "doubly_robust"])
def test_a_policy_is_evaluated_by_what_it_chooses_among_the_available(
    policy: OffsetTree, form: Any, method: str
) -> None:
    log, mask, mean = make_log(4000, seed=1)
    chosen = policy.predict(log["X"], mask)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = evaluate(policy, **log, available=form(mask), method=method, random_state=0)
    assert found == evaluate(chosen, **log, available=mask, actions=range(K), method=method, random_state=0)
    assert abs(found.value - mean[np.arange(4000), chosen].mean()) < 4 * found.stderr


def test_a_policy_that_knows_other_actions_in_another_order_gets_its_own_columns() -> None:
    log, mask, _ = make_log()
    turned = OffsetTree(LogisticRegression(), actions=[3, 1, 0, 2], random_state=0)
    turned.fit(**log, available=mask[:, [3, 1, 0, 2]])
    new, new_mask, _ = make_log(seed=1)
    expected = turned.predict(new["X"], new_mask[:, [3, 1, 0, 2]])
    assert new_mask[np.arange(600), expected].all()
    by_labels = evaluate(expected, **new, actions=range(K), available=new_mask)
    assert evaluate(turned, **new, actions=range(K), available=new_mask).value == by_labels.value
    own_order = evaluate(turned, **new, available=new_mask[:, [3, 1, 0, 2]])
    assert own_order.value == pytest.approx(by_labels.value)


def answers(kind: str, log: dict[str, Any], mask: NDArray[np.bool_]) -> Any:
    """Answers of which those of row 7 leave the set."""
    first = mask.argmax(axis=1)
    mask[7] = [True, False, True, True]
    log["action"][7] = 0
    first[7] = 1
    return first if kind == "labels" else np.eye(K)[first]


@pytest.mark.parametrize("kind", ["labels", "probabilities"])
def test_an_answer_that_the_mask_excludes_is_refused(kind: str) -> None:
    log, mask, _ = make_log()
    given = answers(kind, log, mask)
    with pytest.raises(ActionError, match=r"policy must choose among the available .* row 7 it takes 1, .*\(1 such"):
        evaluate(given, **log, available=mask)
    with pytest.raises(ActionError, match="the baseline must choose among the available"):
        evaluate(mask.argmax(axis=1), **log, available=mask, baseline=given)


def test_a_logged_action_that_the_mask_excludes_is_refused(policy: OffsetTree) -> None:
    log, mask, _ = make_log()
    mask[5, log["action"][5]] = False
    mask[5, (log["action"][5] + 1) % K] = True
    with pytest.raises(ActionError, match="the logged action must be available; row 5"):
        evaluate(policy, **log, available=mask)


def test_propensities_are_held_against_how_often_actions_were_available(policy: OffsetTree) -> None:
    log, mask, _ = make_log(4000, seed=1)
    log["propensity"] = np.full(4000, 1 / K)  # as if all had been
    with pytest.warns(OffsetTreeWarning, match=r"propensities cannot be right: the mean of 1 / propensity .* is 4,"):
        evaluate(policy, **log, available=mask)


def test_a_scorer_gets_the_mask_by_routing(policy: OffsetTree) -> None:
    log, mask, _ = make_log()
    X, action = log.pop("X"), log.pop("action")
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(
            policy, X, action, cv=2, scoring=make_policy_scorer("snips"), params={**log, "available": mask}
        )
    assert np.isfinite(scores).all()


def test_plots_take_the_mask(policy: OffsetTree) -> None:
    pytest.importorskip("matplotlib")
    log, mask, _ = make_log(seed=1)
    assert plot_weights(policy, **log, available=mask).lines
    assert plot_prefix(policy, **log, available=mask, n_points=3).lines
