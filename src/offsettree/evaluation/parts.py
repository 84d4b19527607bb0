"""Parts of an evaluation that the folders above build on: targets, terms, reward models, intervals, diagnostics."""

from offsettree.evaluation import _diagnostics as diagnostics
from offsettree.evaluation._action_sets import mask_of, predict_pairs, predict_set_rewards
from offsettree.evaluation._by_action import values_by_action
from offsettree.evaluation._diagnostics import FEW_DIFFERING, FEW_EFFECTIVE_ROWS, FEW_ROWS, WeightSums
from offsettree.evaluation._groups import check_group, folds_by_group, sum_by_group
from offsettree.evaluation._interval_methods import BY_TERMS, within
from offsettree.evaluation._intervals import normal_intervals
from offsettree.evaluation._labels import known_positions
from offsettree.evaluation._mid_p import mid_p_intervals, separate_mid_p_intervals, widened_by
from offsettree.evaluation._reward_limits import RewardLimits
from offsettree.evaluation._reward_models import Predictions, predict_rewards
from offsettree.evaluation._targets import certain, row_blocks
from offsettree.evaluation._terms import MODEL_METHODS, Terms, estimate_terms

__all__ = [
    "BY_TERMS",
    "FEW_DIFFERING",
    "FEW_EFFECTIVE_ROWS",
    "FEW_ROWS",
    "MODEL_METHODS",
    "Predictions",
    "RewardLimits",
    "Terms",
    "WeightSums",
    "certain",
    "check_group",
    "diagnostics",
    "estimate_terms",
    "folds_by_group",
    "known_positions",
    "mask_of",
    "mid_p_intervals",
    "normal_intervals",
    "predict_pairs",
    "predict_rewards",
    "predict_set_rewards",
    "row_blocks",
    "separate_mid_p_intervals",
    "sum_by_group",
    "values_by_action",
    "widened_by",
    "within",
]
