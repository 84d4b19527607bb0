"""What a policy is worth, how sure that is, and what speaks against it: estimates from logs."""

from offsettree.evaluation.estimate import Estimate, Interval
from offsettree.evaluation.evaluate import evaluate

__all__ = ["Estimate", "Interval", "evaluate"]
