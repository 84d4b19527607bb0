"""Learn a policy from files larger than memory, here or on an engine, with an estimate on held-out rows."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray
from sklearn.base import clone

from offsettree import distributed
from offsettree._validation import check_level
from offsettree.base import BasePolicy
from offsettree.distributed.files import Columns, LogPart, Split, chunks_of, find_files
from offsettree.encoding import TableEncoder
from offsettree.engines import connected, run_all
from offsettree.evaluation import Estimate
from offsettree.exceptions import EmptyLogError, LogError, ParameterError
from offsettree.facts import Facts, RunFacts
from offsettree.workflow.facts import outcome_facts, policy_facts, tree_facts, versions
from offsettree.workflow.first_look import look_at_files
from offsettree.workflow.learners import make_policy
from offsettree.workflow.learning import check_sizes, our_warnings, range_of
from offsettree.workflow.running_value import RunningValue
from offsettree.workflow.streaming import source_facts

__all__ = ["LARGE_LEARNERS", "evaluate_files", "is_large", "learn_from_files"]

LARGE_LEARNERS = ("offset-tree", "offset-forest", "reward-regression", "reward-boosting")
FAVOURITE = "reward-boosting"  # what "auto" prefers unless another is clearly ahead
SHARE = 0.5  # of the free memory, that a log may take to be learned from at once
# Bytes in memory, while a policy is learned, per byte of a file: the numbers themselves, folds and encoded copies.
GROWTH = {".parquet": 12.0, ".pq": 12.0, ".parq": 12.0, ".gz": 20.0, ".zip": 20.0, ".zst": 20.0}
USUAL_GROWTH = 4.0


def is_large(path: Path) -> bool:
    """Tell by the size of its files whether to learn from a log at once would take half of the free memory."""
    files = [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]
    needed = sum(each.stat().st_size * GROWTH.get(each.suffix.lower(), USUAL_GROWTH) for each in files)
    free = _free_memory()
    return free is not None and needed > SHARE * free


def _free_memory() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None  # then nothing is known to be large
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")), None)


class Decided(NamedTuple):
    """What the decisions on some held-out rows are worth."""

    value: RunningValue
    chosen: Counter[Any]
    sample: NDArray[Any]


def learn_from_files(
    files: Any,
    *,
    learner: str = "auto",
    base: str | None = None,
    offset: float | str | None = None,
    test_size: float = 0.3,
    refit: bool = True,
    reward_range: tuple[float, float] | None = None,
    level: float = 0.95,
    n_jobs: int | None = None,
    random_state: int | None = None,
    engine: Any = None,
    storage: Any = None,
    **arguments: Any,
) -> tuple[BasePolicy, TableEncoder, Facts, Estimate]:
    """Learn from the training rows of files by `fit_log`, value decisions on the others, and learn again from all.

    Parameters
    ----------
    files : str, path or list of such
        A pattern such as ``"logs/*.parquet"``, a folder, or files.
    learner : str, default="auto"
        One of `LARGE_LEARNERS`; "auto" is reward boosting, as candidates cannot be compared without all rows at hand.
    base, offset
        As in `make_policy`.
    test_size : float, default=0.3
        The share of rows held out, drawn by a hash of their places.
    refit : bool, default=True
        Train the returned policy again on all rows.
    reward_range : (float, float), optional
        Smallest and largest possible reward; by default (0, 1) if all rewards are within, else those of the log.
    level : float, default=0.95
        Confidence level of the intervals, which are normal, of SNIPS.
    n_jobs : int, optional
        Workers.
    random_state : int or None, default=None
        Seed of the split and of the learner.
    engine : optional
        Where to learn: an address or a client, as `DistributedOffsetTree` takes it; by default this process.
    storage : str or path, optional
        Where workers exchange rows, as `DistributedOffsetTree` takes it; or the folder of scratch files.
    **arguments : Any
        Arguments of `LoggedData.scan`.

    Returns
    -------
    policy, encoder, facts, estimate
        As `learn_from_stream` returns them.
    """
    check_sizes(level, test_size)
    name = FAVOURITE if learner == "auto" else learner
    if name not in LARGE_LEARNERS:
        raise ParameterError(
            f"the learner must be one of {', '.join(LARGE_LEARNERS)} where a log is learned from in files or on an "
            f"engine; got {learner!r}."
        )
    parts = find_files(files)
    roles = {key: value for key, value in arguments.items() if value is not None}
    train = Split(test_size, 0 if random_state is None else random_state, held_out=False)
    with nullcontext() if engine is None else connected(engine, n_jobs) as workers:
        looked = look_at_files(parts, Columns(roles), train, reward_range, files, workers)
        first = looked.first
        used_range = reward_range or range_of(*first.reward_ends)
        settings: dict[str, Any] = {
            "reward_range": used_range,
            "actions": sorted(first.n_by_action),
            "random_state": random_state,
        }
        policy = make_policy(name, base, offset=offset, n_jobs=n_jobs, **settings)
        columns = Columns(roles, first.encoder, split=train)
        started = time.perf_counter()
        fitted, warnings = _fitted(policy, parts, columns, workers, storage)
        seconds = time.perf_counter() - started
        constant = looked.constant.best()
        held_out = Columns(roles, first.encoder, split=Split(train.share, train.seed, held_out=True))
        decided = _valued(fitted, constant, parts, held_out, workers, n_jobs)
        compared = decided.value.compared(constant, level).doubted(first.doubts)
        kept = fitted
        if refit:
            kept, again = _fitted(policy, parts, Columns(roles, first.encoder), workers, storage)
            warnings = list(dict.fromkeys([*warnings, *again]))
    n_learned = first.n_rows - decided.value.n_rows
    said = [_how(learner, engine)]
    facts = outcome_facts(
        compared,
        "training rows",
        title=str(files),
        log=source_facts(first, n_learned, decided.value.n_rows, decided.chosen, looked.roles, used_range, said),
        policy=policy_facts(kept, name=name, rows=first.n_rows if refit else n_learned, refit=refit, seconds=seconds),
        tree=tree_facts(kept, decided.sample),
        warnings=[*compared.warnings, *warnings],
        reproduce=RunFacts(command="", seed=random_state, versions=versions()),
    )
    return kept, first.encoder, facts, compared.estimate


def evaluate_files(
    policy: Any,
    files: Any,
    *,
    level: float = 0.95,
    engine: Any = None,
    n_jobs: int | None = None,
    encoder: Any = None,
    **arguments: Any,
) -> Estimate:
    """Estimate the value of a policy on the files of a log, here or on an engine.

    Every file is decided on by itself, a task each; only sums leave it. They are merged in the order of the files, so
    that the estimate is the same to the bit whatever the engine and the number of workers.

    Parameters
    ----------
    policy : policy
        A fitted policy, or one that was loaded, which may take raw rows by its own encoder.
    files : str, path or list of such
        A pattern such as ``"logs/*.parquet"``, a folder, or files; rows that the policy was not trained on.
    level : float, default=0.95
        Confidence level of the interval, which is normal, of SNIPS.
    engine : optional
        An address or a client, as `DistributedOffsetTree` takes it; by default this process.
    n_jobs : int, optional
        How many processes the engine "local" has.
    encoder : TableEncoder, optional
        Turns raw rows into numbers, where the policy has none of its own.
    **arguments : Any
        Arguments of `LoggedData.scan`: action, reward, propensity and so on.

    Returns
    -------
    Estimate
        With the value of the log and the difference to it.
    """
    check_level(level)
    columns = Columns({key: value for key, value in arguments.items() if value is not None}, encoder)
    decided = _valued(policy, policy.actions_[0], find_files(files), columns, engine, n_jobs)
    return decided.value.compared(policy.actions_[0], level).estimate


def _fitted(
    policy: BasePolicy, parts: list[LogPart], columns: Columns, engine: Any, storage: Any
) -> tuple[Any, list[str]]:
    """Fit a copy of the policy, here or on an engine; return it, and our warnings, each once."""
    with our_warnings() as texts:
        if engine is None:
            learned = clone(policy).fit_log(chunks_of(parts, columns), folder=storage)
        else:
            cls = getattr(distributed, f"Distributed{type(policy).__name__}")
            spread = cls(**policy.get_params(deep=False), client=engine, storage=storage)
            learned = spread.fit_files(parts, columns).to_local()
    return learned, texts


def _valued(
    policy: Any, constant: Any, parts: Sequence[LogPart], columns: Columns, engine: Any, n_jobs: int | None
) -> Decided:
    """Value the decisions on the held-out rows of all files: sums of each file, merged in their order."""
    jobs = [(policy, constant, part, columns) for part in parts]
    if engine is None:
        found = [value_file(*job) for job in jobs]
    else:
        with connected(engine, n_jobs) as workers:
            found = run_all(workers, value_file, jobs)
    whole = found[0]
    for each in found[1:]:
        whole.value.merge(each.value)
        whole.chosen.update(each.chosen)
        whole = whole if len(whole.sample) else whole._replace(sample=each.sample)
    if whole.value.n_rows == 0 and columns.split is None:
        raise EmptyLogError(f"a log must have rows to be evaluated on; none of its {len(parts):,} files has any.")
    if whole.value.n_rows == 0:
        raise LogError("the log must have rows to hold out; it is too short. Raise test_size, or use more rows.")
    return whole


def value_file(policy: Any, constant: Any, part: LogPart, columns: Columns) -> Decided:
    """Value the decisions on the wanted rows of one file."""
    value, chosen, sample = RunningValue(), Counter[Any](), policy.actions_[:0]
    for log in chunks_of([part], columns):
        decisions = policy.predict(log.X)
        chosen.update(decisions.tolist())
        value.add(decisions == log.action, log.action == constant, log.reward, log.propensity)
        sample = decisions
    return Decided(value, chosen, sample)


def _how(learner: str, engine: Any) -> str:
    how = "The log was read from its files chunk by chunk" + (
        "." if engine is None else f", and learned from on {engine}."
    )
    if learner != "auto":
        return how
    return f"{how} Candidates are compared on logs in memory only: this is reward boosting, the one preferred there."
