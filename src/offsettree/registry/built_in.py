"""What the package itself offers by name. Classes are named by their places: listing them imports none."""

from __future__ import annotations

from collections.abc import Mapping

from offsettree.registry.registry import (
    CandidateEntry,
    FormatEntry,
    LearnerEntry,
    LearnerRegistry,
    PolicyEntry,
    Registry,
)

__all__ = ["CLASSIFIERS", "FORMATS", "POLICIES", "REGRESSORS"]

POLICIES: Registry[PolicyEntry] = Registry(
    "policy",
    {
        # The value is estimated on held-out rows, so the search need not spend twice the time to estimate it too.
        "auto": PolicyEntry("offsettree.selection:PolicySearch", settings={"nested": False}),
        "offset-tree": PolicyEntry(
            "offsettree.reductions:OffsetTree",
            "classifier",
            # The paper's offset, the middle of the reward range, suits few logs: most rewards are not centred there.
            {"tree": "learned", "offset": "mean"},
            (CandidateEntry("offset tree, logistic", 80, "logistic", sparse=True), CandidateEntry("offset tree", 90)),
        ),
        "offset-forest": PolicyEntry(
            "offsettree.reductions:OffsetForest",
            "classifier",
            candidates=(
                CandidateEntry("offset forest", 60),
                CandidateEntry("offset forest, logistic", 85, "logistic", {"n_trees": 10}, dense=False, sparse=True),
            ),
        ),
        "reward-regression": PolicyEntry(
            "offsettree.reductions:RewardRegression",
            "regressor",
            candidates=(CandidateEntry("reward regression, ridge", 40, "ridge", sparse=True),),
        ),
        "importance-weighted": PolicyEntry(
            "offsettree.reductions:ImportanceWeighted",
            "classifier",
            # One multinomial model, not one per pair of actions: with many actions it learns from all rows at once.
            candidates=(
                CandidateEntry("importance weighted, logistic", 70, "logistic", {"n_draws": None, "all_pairs": False}),
            ),
        ),
        "doubly-robust": PolicyEntry(
            "offsettree.reductions:DoublyRobust", candidates=(CandidateEntry("doubly robust", 50),)
        ),
        "reward-boosting": PolicyEntry(
            "offsettree.reductions:RewardBoosting", candidates=(CandidateEntry("reward boosting", 30),)
        ),
        "policy-tree": PolicyEntry("offsettree.reductions:PolicyTree", candidates=(CandidateEntry("policy tree", 20),)),
        "constant": PolicyEntry(
            "offsettree.reductions:ConstantPolicy", candidates=(CandidateEntry("constant", 10, sparse=True),)
        ),
        "popular-action": PolicyEntry(
            "offsettree.actions:PopularAction", candidates=(CandidateEntry("most popular", 10),), over_sets=True
        ),
        "action-regression": PolicyEntry(
            "offsettree.actions:ActionRegression",
            "regressor",
            candidates=(
                CandidateEntry("action regression, ridge", 30, "ridge"),
                CandidateEntry("action regression", 40),
            ),
            over_sets=True,
        ),
        "action-offset-tree": PolicyEntry(
            "offsettree.actions:ActionOffsetTree",
            candidates=(CandidateEntry("action offset tree", 60),),
            over_sets=True,
        ),
        "online-action-regression": PolicyEntry(
            "offsettree.actions:OnlineActionRegression",
            candidates=(CandidateEntry("online action regression", 50, sparse=True),),
            over_sets=True,
        ),
        "online-action-offset-tree": PolicyEntry("offsettree.actions:OnlineActionOffsetTree", over_sets=True),
        "online": PolicyEntry("offsettree.online:OnlineOffsetTree", settings={"offset": "mean"}, online=True),
        "online-regression": PolicyEntry("offsettree.online:OnlineRewardRegression", online=True),
    },
)

_TESTS = "offsettree.logs._recognise"
FORMATS: Registry[FormatEntry] = Registry(
    "format",
    {
        "csv": FormatEntry("offsettree.logs._csv:CsvReader", (".csv", ".tsv", ".tab", ".txt", ".psv")),
        "ndjson": FormatEntry(
            "offsettree.logs._ndjson:NdjsonReader", (".ndjson", ".jsonl", ".json"), f"{_TESTS}:is_ndjson", first="{"
        ),
        "parquet": FormatEntry(
            "offsettree.logs._columnar:ParquetReader", (".parquet", ".pq", ".parq"), magic=(b"PAR1",)
        ),
        "arrow": FormatEntry(
            "offsettree.logs._columnar:ArrowReader",
            (".arrow", ".feather", ".ipc", ".arrows"),
            magic=(b"ARROW1", b"\xff\xff\xff\xff"),  # of files and of streams
        ),
        "vw": FormatEntry("offsettree.logs._vw:VwReader", (".vw", ".dat"), f"{_TESTS}:is_vw"),
        "dsjson": FormatEntry("offsettree.logs._dsjson:DsjsonReader", (".dsjson",), f"{_TESTS}:is_decision", first="{"),
    },
)


def _catalog(kind: str, own: Mapping[str, str], *names: str) -> dict[str, LearnerEntry]:
    made = {name: f"offsettree.learners.catalog:{name.replace('-', '_')}_{kind}" for name in names}
    return {name: LearnerEntry(target) for name, target in sorted({**made, **own}.items())}


CLASSIFIERS = LearnerRegistry(
    "classifier",
    _catalog(
        "classifier",
        {"histogram-tree": "offsettree.learners:default_classifier", "j48": "offsettree.learners:J48"},
        *("boosting", "extra-trees", "forest", "logistic", "tree"),
    ),
)
REGRESSORS = LearnerRegistry(
    "regressor",
    _catalog(
        "regressor",
        {"m5p": "offsettree.learners:M5P", "reptree": "offsettree.learners:REPTree"},
        *("boosting", "extra-trees", "forest", "ridge", "tree"),
    ),
)
