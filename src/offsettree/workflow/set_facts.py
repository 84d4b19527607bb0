"""All that is known about a policy learned from a log with action sets, gathered in a `Facts`."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from offsettree._features import Features, is_frame, is_sparse, take_rows
from offsettree._texts import join_texts
from offsettree.actions import LabelledActions, PopularAction
from offsettree.evaluation.parts import values_by_action
from offsettree.facts import ActionFacts, Facts, FeatureFacts, SetFacts
from offsettree.logs import ActionSets
from offsettree.workflow.facts import MOST_IMPORTANT, earned_facts, facts_in_memory, whole_log
from offsettree.workflow.learned import Learned

__all__ = ["facts_over_sets", "popular_of"]

MOST_ACTIONS = 50  # of more, those logged or chosen most are kept
MOST_ROWS = 1_000  # to shuffle features in
MOST_PAIRS = 20_000
MOST_COLUMNS = 150
MOST_POPULAR = 2_000  # ids whose values are kept
LARGEST = 1 << 62


def facts_over_sets(
    learned: Learned,
    *,
    path: str,
    columns: dict[str, Any],
    reading: dict[str, Any],
    notes: Sequence[str] = (),
    seed: int | None = None,
) -> Facts:
    """Return all that is known about a policy learned from action sets.

    Parameters
    ----------
    learned : Learned
        The result of `learn_over_sets`.
    path : str
        The log's file.
    columns : dict
        Which columns were the action, the reward and the propensity.
    reading : dict
        How the sets were read, as `ActionLogScan` takes it.
    notes : list of str, default=()
        Remarks from reading the log.
    seed : int or None, default=None
        The run's seed.
    """
    train, test = learned.train, learned.test
    search: Any = learned.evaluated
    policy = getattr(search, "best_policy_", search)
    inner = policy.policy_ if isinstance(policy, LabelledActions) else policy
    actions, n_actions = _action_facts(learned)
    parts = [each.action_sets for each in (train, test) if each.action_sets is not None]
    popular = PopularAction(reward_range=learned.reward_range).fit(**train.arrays())
    return facts_in_memory(
        learned,
        search,
        {"policy": inner, "name": getattr(search, "best_name_", type(inner).__name__)},
        {
            "features": _feature_names(train.X, "x"),
            "actions": actions,
            "n_actions": n_actions,
            "sets": _set_facts(parts, reading, popular),
        },
        path=path,
        columns=columns,
        notes=[*notes, *learned.notes],
        seed=seed,
        importance=_importance(learned.policy, test.X, test.action_sets, seed)[:MOST_IMPORTANT],
    )


def _set_facts(parts: Sequence[ActionSets], reading: dict[str, Any], popular: PopularAction) -> SetFacts:
    """Return how many actions are eligible, and which features they have."""
    sizes = np.concatenate([each.sizes for each in parts])
    return SetFacts(
        fewest=int(sizes.min()),
        mean=float(sizes.mean()),
        most=int(sizes.max()),
        item_features=[] if parts[0].items is None else _feature_names(parts[0].items, "item"),
        pair_features=[] if parts[0].pairs is None else _feature_names(parts[0].pairs, "pair"),
        reading=reading,
        popular=_popular_facts(popular),
    )


def _popular_facts(popular: PopularAction) -> dict[str, Any]:
    most = np.sort(np.argsort(-popular.values_, kind="stable")[:MOST_POPULAR])
    return {
        "ids": popular.ids_[most].tolist(),
        "values": popular.values_[most].round(6).tolist(),
        "mean": round(popular.mean_, 6),
    }


def popular_of(facts: SetFacts | None) -> PopularAction | None:
    """Return the most popular action as the facts of a policy file, a stranger's perhaps, have it; None if not."""
    known = {} if facts is None else facts.popular
    ids, values, mean = known.get("ids"), known.get("values"), known.get("mean")
    numbers = isinstance(values, list) and all(type(each) in (int, float) for each in [*values, mean])
    if not (isinstance(ids, list) and ids and numbers and isinstance(values, list) and len(values) == len(ids)):
        return None
    if {type(each) for each in ids} not in ({int}, {str}) or any(
        abs(each) > LARGEST for each in ids if type(each) is int
    ):
        return None
    made = PopularAction()
    order = np.argsort(np.array(ids))
    made.ids_, made.values_ = np.array(ids)[order], np.array(values, dtype=np.float64)[order]
    made.mean_ = float(mean)  # type: ignore[arg-type]
    return made


def _feature_names(table: Features, prefix: str) -> list[str]:
    """Return the columns of a table; of hashed names there are too many to list."""
    if is_frame(table):
        return [str(name) for name in table.columns]
    return [] if is_sparse(table) else [f"{prefix}{i}" for i in range(table.shape[1])]


def _action_facts(learned: Learned) -> tuple[list[ActionFacts], int]:
    """Return the actions that are logged or chosen most, and the number of all that were ever eligible."""
    action, reward, propensity = whole_log(learned)
    eligible = [each.action_sets.ids for each in (learned.train, learned.test) if each.action_sets is not None]
    ids = np.unique(join_texts(eligible))
    code = np.searchsorted(ids, action)
    n_rows = np.bincount(code, minlength=len(ids))
    chosen = np.bincount(np.searchsorted(ids, learned.decisions), minlength=len(ids)) / len(learned.decisions)
    values = values_by_action(code, reward, propensity, len(ids), learned.known_range, always_eligible=False)
    most = np.argsort(-np.maximum(n_rows / len(action), chosen), kind="stable")[:MOST_ACTIONS]
    found = [
        ActionFacts(
            label=ids[place].item(),
            rows=int(n_rows[place]),
            share=float(n_rows[place] / len(action)),
            **earned_facts(values[place]),
            policy_share=float(chosen[place]),
        )
        for place in sorted(most.tolist())
    ]
    return found, len(ids)


def _importance(policy: Any, X: Features, sets: Any, random_state: int | None) -> list[FeatureFacts]:
    """Shuffle each feature of contexts, of actions and of pairs, and count how many decisions change; largest first.

    Features of contexts are shuffled among rows, those of actions among actions, those of pairs among pairs. Sparse
    tables are left out: their features have no names of their own.
    """
    random = np.random.default_rng(random_state)
    n_rows = int(min(MOST_ROWS, max(50, MOST_PAIRS // max(1, round(float(sets.sizes.mean()))))))
    rows = np.sort(random.permutation(len(sets))[:n_rows])
    X, sets = take_rows(X, rows), sets.take(rows)
    before = policy.predict(X, sets)
    # Where a row brings the features of its actions itself, it is all the same whether they are of the pair.
    of_pairs = "action" if sets.items is None else "pair"
    tables = [("context", X), ("action", sets.items), (of_pairs, sets.pairs)]
    found: list[tuple[float, str, str]] = []
    for of, table in tables:
        if table is None or is_sparse(table):
            continue
        for place, name in enumerate(_feature_names(table, "x")[:MOST_COLUMNS]):
            shuffled = _shuffled(table, place, random)
            if shuffled is None:
                found.append((0.0, name, of))
                continue
            x, among = (shuffled, sets) if of == "context" else (X, _with(sets, table is sets.items, shuffled))
            found.append((float(np.mean(policy.predict(x, among) != before)), name, of))
    total = sum(changes for changes, _, _ in found) or 1.0
    return [
        FeatureFacts(feature=name, of=of, importance=changes / total, changes=changes)
        for changes, name, of in sorted(found, key=lambda each: -each[0])
    ]


def _with(sets: ActionSets, of_items: bool, table: Features) -> ActionSets:
    changed = copy(sets)
    if of_items:
        changed.items = table
    else:
        changed.pairs = table
    return changed


def _shuffled(table: Any, place: int, random: np.random.Generator) -> Any:
    """Return a copy with one column shuffled; None if it is the same everywhere."""
    order: NDArray[np.intp] = random.permutation(len(table))
    changed = table.copy() if not hasattr(table, "clone") else table.clone()
    if hasattr(table, "iloc"):
        column = table.iloc[:, place]
        if column.nunique(dropna=False) < 2:
            return None
        changed[table.columns[place]] = column.to_numpy()[order]
        return changed
    if is_frame(table):  # of polars
        column = table[table.columns[place]]
        return None if column.n_unique() < 2 else table.with_columns(column.gather(order).alias(column.name))
    if (table[:, place] == table[0, place]).all():
        return None
    changed[:, place] = table[order, place]
    return changed
