"""From fitted classifiers of two labels to contests in flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline

from offsettree.learners import ConstantClassifier
from offsettree.learners.shared_contest import SharedContest
from offsettree.models.boosted_contests import BoostedContests
from offsettree.models.committee_contests import NAMES, CommitteeContests
from offsettree.models.contests import Contests
from offsettree.models.plane_contests import PlaneContests
from offsettree.models.planes import Planes
from offsettree.models.split_contests import SplitContests
from offsettree.models.tree_table import TreeTable
from offsettree.reading._committee_builder import CommitteeBuilder
from offsettree.reading._fixed_columns import TableMember, fixed_plane, fixed_table
from offsettree.reading.cannot_flatten import CannotFlatten, name_of
from offsettree.reading.classifiers import read_committee, read_member
from offsettree.reading.columns import ColumnSpace
from offsettree.reading.members import Committee, Constant, Member, Plane, Splits
from offsettree.reading.members import Part as CommitteePart
from offsettree.reading.pieces import TreesPiece, stated_form
from offsettree.reading.pipelines import Preprocessing, unwrap
from offsettree.reading.trees import TreeList, read_boosting

__all__ = ["read_contests"]


@dataclass(frozen=True)
class FilledPlane:
    """A plane that knows what to make of missing values."""

    plane: Plane
    at_missing: NDArray[np.float64]


@dataclass(frozen=True)
class Boosted:
    """A sum over trees, of which the sign decides."""

    trees: TreeList
    base: float


def read_contests(classifiers: Sequence[Any], space: ColumnSpace) -> Contests:
    """Flatten classifiers that answer 1 where the first, or left, side wins, else 0."""
    read = [_read(classifier, space) for classifier in classifiers]
    n_columns = space.n_columns  # known only now, as reading may find more of them
    if any(isinstance(each, Boosted) for each in read):
        return _as_boosted(read)
    if all(isinstance(each, Splits | Constant) for each in read):
        return _as_splits(read)
    if all(isinstance(each, Plane | FilledPlane | Constant) for each in read):
        return _as_planes(read, n_columns)
    return _as_committees(read, n_columns)


def _read(classifier: Any, space: ColumnSpace) -> Any:
    """Read one classifier: a member, a committee, a plane that fills what is missing, or a sum over trees."""
    if type(classifier) is SharedContest:
        return _read_shared(classifier, space)
    if type(classifier) is ConstantClassifier:
        return Constant(int(classifier.label))
    if type(classifier) is not Pipeline:  # most contests, of which there may be thousands: nothing comes before it
        member = read_member(classifier, len(space.numbers))
        if member is not None:
            return member
    learner, before = unwrap(classifier, space)
    core = stated_form(learner)
    n_seen = len(before.source)
    if type(core) is HistGradientBoostingClassifier:
        if core.n_trees_per_iteration_ != 1 or core.classes_.tolist() != [0, 1]:
            raise CannotFlatten("boosting of more than two classes")
        trees = read_boosting(core)
        return Boosted(
            trees.on_columns(before.columns_for(core)), float(np.asarray(core._baseline_prediction).ravel()[0])
        )
    if isinstance(core, TreesPiece) and len(core.base) == 1 and not core.narrow:
        return Boosted(core.trees.on_columns(before.columns_for(learner)), float(core.base[0]))
    member = read_member(core, n_seen)
    if member is not None:
        return _place(member, before, core, space.n_columns)
    committee = read_committee(core, n_seen)
    if committee is None:
        raise CannotFlatten(name_of(learner))
    if committee.constant is not None:
        return Constant(committee.constant)
    columns = before.columns_for(core)
    return _with_members(committee, lambda each: _on_columns(each, columns, space.n_columns))


def _place(member: Member, before: Preprocessing, core: Any, n_columns: int) -> Any:
    """Let a single classifier speak of the columns of X rather than of those that it sees."""
    if isinstance(member, Plane):
        weights, bias, at_missing = before.plane(member.weights[np.newaxis], np.array([member.bias]), n_columns)
        plane = Plane(weights[0], float(bias[0]), member.logistic)
        return plane if at_missing is None else FilledPlane(plane, at_missing[0])
    if isinstance(member, Constant):
        return member
    return _on_columns(member, before.columns_for(core), n_columns)


def _on_columns(member: Member, columns: NDArray[np.intp] | None, n_columns: int) -> Member:
    if isinstance(member, Constant):
        return member
    if isinstance(member, Plane):
        if columns is None:
            return member
        weights = np.zeros(n_columns)
        np.add.at(weights, columns, member.weights)
        return replace(member, weights=weights)
    if columns is None:
        return member
    features = columns if member.features is None else columns[member.features]
    return Splits(member.tree, member.columns, features)


def _with_members(committee: Committee, change: Any) -> Committee:
    parts = [replace(part, members=[change(member) for member in part.members]) for part in committee.parts]
    return replace(committee, parts=parts)


def _read_shared(contest: SharedContest, space: ColumnSpace) -> Any:
    """Read one node's view on a classifier of all nodes: the columns that tell the node are known."""
    wider = space.with_more(contest.n_nodes, "node")
    unwrap(contest.classifier, wider)
    core, before = unwrap(contest.classifier, wider)
    core = stated_form(core)
    n, n_all = space.n_columns, space.n_columns + contest.n_nodes

    def fixed(member: Any) -> Any:
        if isinstance(member, FilledPlane):
            return FilledPlane(fixed_plane(member.plane, n, contest.node), member.at_missing[:n])
        if isinstance(member, Plane):
            return fixed_plane(member, n, contest.node)
        return member if isinstance(member, Constant) else TableMember(fixed_table(member.table(), n, contest.node))

    member = read_member(core, len(before.source))
    if member is not None:
        return fixed(_place(member, before, core, n_all))
    committee = read_committee(core, len(before.source))
    if committee is None:
        raise CannotFlatten(name_of(core))
    if committee.constant is not None:
        return Constant(committee.constant)
    columns = before.columns_for(core)
    return _with_members(committee, lambda each: fixed(_on_columns(each, columns, n_all)))


def _as_splits(members: Sequence[Any]) -> SplitContests:
    tables = [member.table() for member in members]
    trees = TreeTable.joined([table.tree for table in tables], np.float32, categories=True)
    return SplitContests(trees, np.concatenate([table.answer_left for table in tables]))


def _constants(read: Sequence[Any]) -> NDArray[np.int8]:
    return np.array([each.label if isinstance(each, Constant) else -1 for each in read], dtype=np.int8)


def _as_planes(read: Sequence[Any], n_columns: int) -> PlaneContests:
    weights, bias = np.zeros((len(read), n_columns)), np.zeros(len(read))
    at_missing = np.zeros((len(read), n_columns))
    planes = [each.plane if isinstance(each, FilledPlane) else each for each in read]
    for place, (each, plane) in enumerate(zip(read, planes, strict=True)):
        if isinstance(plane, Plane):
            weights[place, : len(plane.weights)], bias[place] = plane.weights, plane.bias
        if isinstance(each, FilledPlane):
            at_missing[place, : len(each.at_missing)] = each.at_missing
    fills = all(isinstance(each, FilledPlane | Constant) for each in read)
    return PlaneContests(Planes(weights, bias, at_missing if fills else None), _constants(read))


def _as_committees(read: Sequence[Any], n_columns: int) -> CommitteeContests:
    builder = CommitteeBuilder(n_columns)
    for each in read:
        if isinstance(each, FilledPlane):
            raise CannotFlatten("planes that fill what is missing, beside other classifiers")
        if isinstance(each, Plane):
            each = Committee([CommitteePart([Plane(_wide(each.weights, n_columns), each.bias)])])
        elif isinstance(each, Splits):
            each = Committee([CommitteePart([each])])
        if not isinstance(each, Constant):
            builder.add(_with_members(each, lambda member: _widened(member, n_columns)))
    none = np.empty(0, dtype=np.int32)
    built = builder.build(none, none, 0, 2)
    return CommitteeContests(_constants(read), {name: getattr(built, name) for name in NAMES})


def _widened(member: Member, n_columns: int) -> Member:
    return replace(member, weights=_wide(member.weights, n_columns)) if isinstance(member, Plane) else member


def _wide(weights: NDArray[np.float64], n_columns: int) -> NDArray[np.float64]:
    return np.concatenate([weights, np.zeros(n_columns - len(weights))])


def _as_boosted(read: Sequence[Any]) -> BoostedContests:
    trees, tree_start, base = TreeList(), [0], []
    for contest, each in enumerate(read):
        if not isinstance(each, Boosted | Constant):
            raise CannotFlatten("boosting beside other classifiers")
        if isinstance(each, Boosted):
            trees.extend(each.trees, contest)
        tree_start.append(len(trees.tables))
        base.append(each.base if isinstance(each, Boosted) else 0.0)
    sums = trees.sums(np.array(base), np.ones(len(read)), narrow=False)
    return BoostedContests(_constants(read), np.array(tree_start, dtype=np.int64), sums)
