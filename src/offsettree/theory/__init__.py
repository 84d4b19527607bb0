"""The paper's mathematics over problems small enough to solve exactly.

A `FiniteProblem` is the paper's D. `offset_tree_problem` and `importance_weighted_problem` induce the binary problem
Q_D. `policy_regret`, `weighted_regret`, `binary_regret` and `regression_regret` measure regrets. ``theory.bounds`` has
the right-hand sides of the theorems, ``theory.constructions`` the instances on which they are equalities. A contest is
the comparison of two actions at a node of the tree.
"""

from offsettree.theory.bounds import (
    best_offset,
    binary_offset_bound,
    contest_importance,
    horizon_bound,
    importance_weighting_bound,
    label_factor,
    offset_tree_bound,
    regression_bound,
    sample_complexity_bound,
)
from offsettree.theory.constructions import (
    lower_bound_problem,
    tight_binary_offset,
    tight_importance_weighting,
    tight_offset_tree,
    tight_regression,
    tight_zero_offset,
)
from offsettree.theory.finite import FiniteProblem
from offsettree.theory.induced import (
    InducedProblem,
    all_pairs_policy,
    contest_inputs,
    importance_weighted_problem,
    offset_tree_policy,
    offset_tree_problem,
    pairs,
)
from offsettree.theory.lower_bound import (
    AllPairsReduction,
    Reduction,
    SimulatingOracle,
    lower_bound_for,
    oracle_regret,
)
from offsettree.theory.oracles import ObliviousOracle, OffsetTreeReduction, Oracle, lower_bound_instance
from offsettree.theory.regrets import (
    argmax_policy,
    binary_regret,
    policy_regret,
    policy_value,
    regression_regret,
    weighted_regret,
)

__all__ = [
    "AllPairsReduction",
    "FiniteProblem",
    "InducedProblem",
    "ObliviousOracle",
    "OffsetTreeReduction",
    "Oracle",
    "Reduction",
    "SimulatingOracle",
    "all_pairs_policy",
    "argmax_policy",
    "best_offset",
    "binary_offset_bound",
    "binary_regret",
    "contest_importance",
    "contest_inputs",
    "horizon_bound",
    "importance_weighted_problem",
    "importance_weighting_bound",
    "label_factor",
    "lower_bound_for",
    "lower_bound_instance",
    "lower_bound_problem",
    "offset_tree_bound",
    "offset_tree_policy",
    "offset_tree_problem",
    "oracle_regret",
    "pairs",
    "policy_regret",
    "policy_value",
    "regression_bound",
    "regression_regret",
    "sample_complexity_bound",
    "tight_binary_offset",
    "tight_importance_weighting",
    "tight_offset_tree",
    "tight_regression",
    "tight_zero_offset",
    "weighted_regret",
]
