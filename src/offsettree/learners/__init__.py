"""What a contest may learn with."""

from offsettree.learners.catalog import make_learner
from offsettree.learners.constant import ConstantClassifier, ConstantRegressor
from offsettree.learners.costing import Costing
from offsettree.learners.default import default_classifier, default_regressor
from offsettree.learners.encoding import NominalEncoder
from offsettree.learners.histogram_tree import HistogramTree
from offsettree.learners.weka import J48, M5P, REPTree, REPTreeClassifier

__all__ = [
    "J48",
    "M5P",
    "ConstantClassifier",
    "ConstantRegressor",
    "Costing",
    "HistogramTree",
    "NominalEncoder",
    "REPTree",
    "REPTreeClassifier",
    "default_classifier",
    "default_regressor",
    "make_learner",
]
