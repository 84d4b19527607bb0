"""What a contest may learn with."""

from offsettree.learners.constant import ConstantClassifier
from offsettree.learners.costing import Costing
from offsettree.learners.default import default_classifier

__all__ = ["ConstantClassifier", "Costing", "default_classifier"]
