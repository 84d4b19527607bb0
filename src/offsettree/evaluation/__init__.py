"""Off-policy evaluation: the value of a policy, its confidence interval, and warnings, from a log."""

from offsettree.evaluation.estimate import DEFAULT_INTERVAL, Estimate, Interval
from offsettree.evaluation.evaluate import evaluate
from offsettree.evaluation.marginal import marginal_decisions, marginalise
from offsettree.evaluation.plots import plot_calibration, plot_prefix, plot_values, plot_weights
from offsettree.evaluation.propensity import PropensityEstimate, estimate_propensity
from offsettree.evaluation.scoring import PolicyScorer, make_policy_scorer

__all__ = [
    "DEFAULT_INTERVAL",
    "Estimate",
    "Interval",
    "PolicyScorer",
    "PropensityEstimate",
    "estimate_propensity",
    "evaluate",
    "make_policy_scorer",
    "marginal_decisions",
    "marginalise",
    "plot_calibration",
    "plot_prefix",
    "plot_values",
    "plot_weights",
]
