"""Models as ONNX graphs: decisions by runtimes of other languages."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._optional import require
from offsettree.models.boosted_model import Boosted
from offsettree.models.model import Constant
from offsettree.models.plane_contests import PlaneContests
from offsettree.models.planes import Planes
from offsettree.models.scores import BoostedRewardScores, LeafMeans, LinearScores, Scores, TreeScores
from offsettree.models.split_contests import SplitContests
from offsettree.models.tournaments import Tournaments
from offsettree.models.voted import BoostedWithVotes
from offsettree.policy_file._onnx_boosted import boosted_scores
from offsettree.policy_file._onnx_trees import ensemble_of_contests, ensemble_of_means, ensemble_of_sums
from offsettree.reading.cannot_flatten import CannotFlatten
from offsettree.topology import ActionTree

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8


class Graph:
    """Collects the steps of a graph; every step is called by the name of what it makes."""

    def __init__(self) -> None:
        self.onnx = require("onnx", extra="onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any) -> str:
        """Add an array."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def step(self, operator: str, *inputs: str, **settings: Any) -> str:
        """Add an operation, and return the name of its result."""
        name = f"{operator.lower()}_{len(self.nodes)}"
        domain = "ai.onnx.ml" if operator.startswith("Tree") else ""
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], domain=domain, **settings))
        return name

    def cast(self, value: str, dtype: Any) -> str:
        """Change the type of numbers."""
        return self.step("Cast", value, to=self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def as_onnx(model: Any, actions: NDArray[Any], n_features: int) -> Any:
    """Return the graph of a model: from float32 rows `X` to `position` and `label`."""
    graph = Graph()
    helper, kinds = graph.onnx.helper, graph.onnx.TensorProto
    if isinstance(model, Tournaments):
        position = graph.step("ArgMax", _votes(graph, model), axis=1, keepdims=0)
    elif isinstance(model, Scores):
        position = graph.step("ArgMax", _scores(graph, model), axis=1, keepdims=0)
    elif isinstance(model, Boosted):
        position = graph.step("ArgMax", boosted_scores(graph, model.flat), axis=1, keepdims=0)
    elif isinstance(model, BoostedWithVotes):
        votes = graph.cast(_votes(graph, model.forest), np.float64)
        added = graph.step("Mul", votes, graph.constant(np.float64(model.weight)))
        scores = graph.step("Add", boosted_scores(graph, model.boosted.flat), added)
        position = graph.step("ArgMax", scores, axis=1, keepdims=0)
    elif isinstance(model, Constant):
        n_rows = graph.step("Gather", graph.step("Shape", "X"), graph.constant(np.array([0])), axis=0)
        position = graph.step("Expand", graph.constant(np.array([model.answer])), n_rows)
    else:
        raise CannotFlatten(f"a policy that decides by {model.kind}")
    text = actions.dtype.kind == "U"
    labels = graph.constant(actions.astype(object) if text else actions.astype(np.int64))
    label = graph.step("Gather", labels, position, axis=0)
    graph.nodes += [
        helper.make_node("Identity", [position], ["position"]),
        helper.make_node("Identity", [label], ["label"]),
    ]
    made = helper.make_graph(
        graph.nodes,
        "policy",
        [helper.make_tensor_value_info("X", kinds.FLOAT, [None, n_features])],
        [
            helper.make_tensor_value_info("position", kinds.INT64, [None]),
            helper.make_tensor_value_info("label", kinds.STRING if text else kinds.INT64, [None]),
        ],
        graph.constants,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    whole = helper.make_model(made, opset_imports=opsets, ir_version=IR_VERSION, producer_name="offsettree")
    graph.onnx.checker.check_model(whole)
    return whole


def _votes(graph: Graph, model: Tournaments) -> str:
    """Count the trees that choose each action: every contest on its way points to it, as many as are on the way."""
    contests, n_trees, n_nodes = model.contests, len(model.trees), model.n_actions - 1
    if isinstance(contests, SplitContests):
        answers = _split_answers(graph, contests)
    elif isinstance(contests, PlaneContests):
        above = graph.step("Greater", _planes(graph, _with_constants(contests)), graph.constant(np.float64(0)))
        answers = graph.cast(above, np.float32)
    else:
        raise CannotFlatten(f"contests of {contests.kind}")
    by_tree = graph.step("Reshape", answers, graph.constant(np.array([-1, n_trees, n_nodes], dtype=np.int64)))
    by_tree = graph.step("Transpose", by_tree, perm=[1, 0, 2])
    ways = [_ways(tree) for tree in model.trees]
    pointing = graph.step("MatMul", by_tree, graph.constant(np.stack([turns for turns, _ in ways])))
    short = graph.step("Add", pointing, graph.constant(np.stack([missing for _, missing in ways])[:, np.newaxis]))
    reached = graph.cast(graph.step("Greater", short, graph.constant(np.float32(-0.5))), np.float32)
    return graph.step("ReduceSum", reached, graph.constant(np.array([0], dtype=np.int64)), keepdims=0)


def _ways(tree: ActionTree) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return which way each action wants contests to go, and by how much a count of none falls short."""
    turns = np.zeros((tree.n_nodes, tree.n_actions), dtype=np.float32)
    missing = np.zeros(tree.n_actions, dtype=np.float32)
    for action in range(tree.n_actions):
        for node, from_left in tree.path(action):
            turns[node, action] = 1 if from_left else -1
            missing[action] -= from_left
    return turns, missing


def _split_answers(graph: Graph, contests: SplitContests) -> str:
    if (np.asarray(contests.trees.category_set) >= 0).any():
        raise CannotFlatten("contests that split on categories")
    rows = "X"
    if contests.centre is not None and contests.weights is not None:
        centred = graph.step("Sub", "X", graph.constant(contests.centre))
        nothing = graph.constant(np.float32(0))
        known = graph.step("Where", graph.step("IsNaN", "X"), nothing, centred)
        scores = graph.step("MatMul", known, graph.constant(np.ascontiguousarray(contests.weights.T)))
        rows = graph.step("Concat", "X", scores, axis=1)
    return graph.step("TreeEnsembleRegressor", rows, **ensemble_of_contests(contests))


def _with_constants(contests: PlaneContests) -> Planes:
    """Let a contest that is always won, or lost, be a plane far from zero."""
    planes, constant = contests.planes, contests.constant
    return Planes(planes.weights, np.where(constant < 0, planes.bias, 2.0 * constant - 1), planes.at_missing)


def _planes(graph: Graph, planes: Planes) -> str:
    wide = graph.cast("X", np.float64)
    weights = graph.constant(np.ascontiguousarray(planes.weights.T))
    bias = graph.constant(planes.bias)
    if planes.at_missing is None:
        return graph.step("Add", graph.step("MatMul", wide, weights), bias)
    missing = graph.step("IsNaN", wide)
    known = graph.step("Where", missing, graph.constant(np.float64(0)), wide)
    gaps = graph.constant(np.ascontiguousarray(planes.at_missing.T))
    total = graph.step("MatMul", known, weights)
    total = graph.step("Add", total, graph.step("MatMul", graph.cast(missing, np.float64), gaps))
    return graph.step("Add", total, bias)


def _scores(graph: Graph, model: Scores) -> str:
    total = None
    for summand in model.summands:
        scores = _summand(graph, summand, model.n_actions)
        total = scores if total is None else graph.step("Add", total, scores)
    if total is None:
        raise CannotFlatten("a policy without scores")
    return total


def _summand(graph: Graph, summand: Any, n_actions: int) -> str:
    if isinstance(summand, LinearScores):
        scores = _planes(graph, summand.planes)
    elif isinstance(summand, BoostedRewardScores):
        scores = boosted_scores(graph, summand.model.flat)
        if summand.logistic:
            return graph.step("Sigmoid", scores)
        scores = graph.step("Mul", scores, graph.constant(np.float64(summand.unit)))
        return graph.step("Clip", scores, graph.constant(np.float64(0)), graph.constant(np.float64(1)))
    elif isinstance(summand, LeafMeans):
        sums = graph.step("TreeEnsembleRegressor", "X", **ensemble_of_means(summand, n_actions))
        return graph.cast(sums, np.float64)
    elif isinstance(summand, TreeScores):
        sums = graph.step("TreeEnsembleRegressor", "X", **ensemble_of_sums(summand.sums))
        scores = graph.step("Add", graph.cast(sums, np.float64), graph.constant(summand.sums.base))
        scores = graph.step("Div", scores, graph.constant(summand.sums.divisor))
    else:
        raise CannotFlatten(f"scores of {summand.kind}")
    if summand.clipped:
        scores = graph.step("Clip", scores, graph.constant(np.float64(0)), graph.constant(np.float64(1)))
    return scores
