"""scikit-learn's own estimator checks, on every kind of policy."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.suites.policies import POLICIES, VARIANTS, as_classifier


@parametrize_with_checks([as_classifier(policy) for name, policy in POLICIES.items() if name not in VARIANTS])
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)
