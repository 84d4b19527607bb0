"""What a contest may learn with."""

from typing import TYPE_CHECKING

from offsettree._lazy import names_on_demand

if TYPE_CHECKING:
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

__getattr__ = names_on_demand(
    __name__,
    {
        "catalog": ("make_learner",),
        "constant": ("ConstantClassifier", "ConstantRegressor"),
        "costing": ("Costing",),
        "default": ("default_classifier", "default_regressor"),
        "encoding": ("NominalEncoder",),
        "histogram_tree": ("HistogramTree",),
        "weka": ("J48", "M5P", "REPTree", "REPTreeClassifier"),
    },
)
