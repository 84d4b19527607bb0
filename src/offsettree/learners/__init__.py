"""What a contest may learn with."""

from typing import TYPE_CHECKING

from offsettree._lazy import names_on_demand

if TYPE_CHECKING:
    from offsettree.learners._binning import KINDS, Bins, rows_looked_at
    from offsettree.learners._flat_tree import FIELDS, FlatTree, sets_of_words
    from offsettree.learners._kernels_counts import MISSING, N_BINS
    from offsettree.learners._template import Template
    from offsettree.learners.catalog import make_learner
    from offsettree.learners.constant import ConstantClassifier, ConstantRegressor
    from offsettree.learners.costing import Costing
    from offsettree.learners.default import default_classifier, default_regressor, forest_classifier
    from offsettree.learners.encoding import NominalEncoder
    from offsettree.learners.histogram_tree import HistogramTree
    from offsettree.learners.weka import J48, M5P, REPTree, REPTreeClassifier

__all__ = [
    "FIELDS",
    "J48",
    "KINDS",
    "M5P",
    "MISSING",
    "N_BINS",
    "Bins",
    "ConstantClassifier",
    "ConstantRegressor",
    "Costing",
    "FlatTree",
    "HistogramTree",
    "NominalEncoder",
    "REPTree",
    "REPTreeClassifier",
    "Template",
    "default_classifier",
    "default_regressor",
    "forest_classifier",
    "make_learner",
    "rows_looked_at",
    "sets_of_words",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "_binning": ("KINDS", "Bins", "rows_looked_at"),
        "_flat_tree": ("FIELDS", "FlatTree", "sets_of_words"),
        "_kernels_counts": ("MISSING", "N_BINS"),
        "_template": ("Template",),
        "catalog": ("make_learner",),
        "constant": ("ConstantClassifier", "ConstantRegressor"),
        "costing": ("Costing",),
        "default": ("default_classifier", "default_regressor", "forest_classifier"),
        "encoding": ("NominalEncoder",),
        "histogram_tree": ("HistogramTree",),
        "weka": ("J48", "M5P", "REPTree", "REPTreeClassifier"),
    },
)
