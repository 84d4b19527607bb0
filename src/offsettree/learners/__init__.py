"""What a contest may learn with."""

from offsettree.learners.constant import ConstantClassifier, ConstantRegressor
from offsettree.learners.costing import Costing
from offsettree.learners.default import default_classifier, default_regressor

__all__ = ["ConstantClassifier", "ConstantRegressor", "Costing", "default_classifier", "default_regressor"]
