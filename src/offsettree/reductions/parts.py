"""Parts of an out-of-core fit that the folders above build on: rows on disk by action, statistics, plans."""

from offsettree._fingerprint import Fingerprint, empty_fingerprint
from offsettree.reductions._contests import share_out
from offsettree.reductions._depth_first import children_first, climb, rows_below
from offsettree.reductions._forest_out_of_core import ForestPlan, check_forest_out_of_core, plan_forest
from offsettree.reductions._intake import Intake, Seen
from offsettree.reductions._nodes import one_blas_thread
from offsettree.reductions._offset import Tally, Votes
from offsettree.reductions._out_of_core import Plan, check_out_of_core, plan_tree
from offsettree.reductions._routed_log import RoutedLog, Rows, Run
from offsettree.reductions._routed_statistics import LogStatistics, Values, pairwise_leaves, sums_from_leaves
from offsettree.reductions._scratch import ScratchWriter
from offsettree.reductions._settled import rows_sampled
from offsettree.reductions.boosting._boosting import (
    SUMMED,
    BoostedLog,
    BoostingSettings,
    Course,
    GrowingRows,
    add_trees,
    held_out_scores,
    mean_of,
    stacked,
    units_of,
)
from offsettree.reductions.boosting._levels import Growth, begin_growth, choose_tests, finish_tree
from offsettree.reductions.boosting._room import Room
from offsettree.reductions.boosting._stacking import STARTS, FoldFits, RunJobs, losses_of

__all__ = [
    "STARTS",
    "SUMMED",
    "BoostedLog",
    "BoostingSettings",
    "Course",
    "Fingerprint",
    "FoldFits",
    "ForestPlan",
    "GrowingRows",
    "Growth",
    "Intake",
    "LogStatistics",
    "Plan",
    "Room",
    "RoutedLog",
    "Rows",
    "Run",
    "RunJobs",
    "ScratchWriter",
    "Seen",
    "Tally",
    "Values",
    "Votes",
    "add_trees",
    "begin_growth",
    "check_forest_out_of_core",
    "check_out_of_core",
    "children_first",
    "choose_tests",
    "climb",
    "empty_fingerprint",
    "finish_tree",
    "held_out_scores",
    "losses_of",
    "mean_of",
    "one_blas_thread",
    "pairwise_leaves",
    "plan_forest",
    "plan_tree",
    "rows_below",
    "rows_sampled",
    "share_out",
    "stacked",
    "sums_from_leaves",
    "units_of",
]
