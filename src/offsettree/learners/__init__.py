"""What a contest may learn with."""

from offsettree.learners.constant import ConstantClassifier
from offsettree.learners.costing import Costing
from offsettree.learners.default import default_classifier
from offsettree.learners.weka import J48, M5P, REPTree, REPTreeClassifier

__all__ = ["J48", "M5P", "ConstantClassifier", "Costing", "REPTree", "REPTreeClassifier", "default_classifier"]
