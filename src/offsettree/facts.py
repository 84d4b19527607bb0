"""Everything known about a learned policy: one record, which the report, ``--json`` and the policy file share.

`offsettree.workflow` makes it, `Facts.as_dict` gives what JSON can hold, and `Facts.read` takes that back. As a file
may come from a stranger, any entry may be missing: it is then None or empty. Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from numbers import Real
from types import UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

__all__ = [
    "ActionFacts",
    "CandidateFacts",
    "ConstantFacts",
    "EstimateFacts",
    "Facts",
    "FeatureFacts",
    "PolicyFacts",
    "PropensityFacts",
    "Record",
    "RewardFacts",
    "RunFacts",
    "SetFacts",
    "SourceFacts",
    "ValueFacts",
    "WeightFacts",
    "as_number",
    "as_text",
]

LARGEST = 1e100  # beyond, sums and squares would overflow


class Record:
    """What all records can: become plain values, and be read from such."""

    def as_dict(self) -> dict[str, Any]:
        """Return the record as JSON's types; keys are in the order of the fields."""
        return {name: _plain(getattr(self, name)) for name in _types_of(type(self))}

    def changed(self, **values: Any) -> Self:
        """Return a copy with other values of some fields."""
        return replace(self, **values)  # type: ignore[type-var]

    @classmethod
    def read(cls, found: Any) -> Self:
        """Return the record of a mapping that may come from a stranger: entries of a wrong type are left out."""
        known = found if isinstance(found, Mapping) else {}
        return cls(**{name: _read(kind, known.get(name)) for name, kind in _types_of(cls).items()})


@dataclass(frozen=True, kw_only=True)
class ValueFacts(Record):
    """A value per decision, its standard error and the ends of its interval."""

    value: float | None = None
    stderr: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class EstimateFacts(ValueFacts):
    """The policy's value on held-out rows: the fields of `offsettree.Estimate`."""

    level: float | None = None
    method: str | None = None
    interval: str | None = None
    n_rows: int | None = None
    n_matched: int | None = None
    effective_rows: float | None = None
    max_weight: float | None = None
    baseline: ValueFacts | None = None
    difference: ValueFacts | None = None
    warnings: list[str] = field(default_factory=list)
    serious: list[str] = field(default_factory=list)
    n_groups: int | None = None


@dataclass(frozen=True, kw_only=True)
class ConstantFacts(Record):
    """The best constant action, its value, and the policy's gain over it; `same` if the policy always takes it.

    Of logs with action sets it is the most popular of each row's eligible actions (`popular`), and `action` is None.
    """

    action: int | str | None = None
    popular: bool | None = None
    picked_on: str | None = None
    value: float | None = None
    stderr: float | None = None
    low: float | None = None
    high: float | None = None
    difference: ValueFacts | None = None
    gain: ValueFacts | None = None
    same: bool | None = None
    doubts: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ActionFacts(Record):
    """An action: its share of the log and of the policy's decisions, and what it would earn if always taken."""

    label: int | str | None = None
    rows: int | None = None
    share: float | None = None
    mean_reward: float | None = None
    low: float | None = None
    high: float | None = None
    policy_share: float | None = None


@dataclass(frozen=True, kw_only=True)
class RewardFacts(Record):
    """The smallest, the largest and the mean reward of the log."""

    min: float | None = None
    max: float | None = None
    mean: float | None = None


@dataclass(frozen=True, kw_only=True)
class SetFacts(Record):
    """The eligible actions of a log's rows: how many, what is known of them, and how they were read.

    `reading` has the names of columns that `offsettree.logs.ActionLogScan` takes; `pair_features` are of pairs of row
    and action, `item_features` of an action wherever it is eligible. `popular` has the values of ids in training, by
    which the most popular of later rows' actions is told.
    """

    fewest: int | None = None
    mean: float | None = None
    most: int | None = None
    item_features: list[str] = field(default_factory=list)
    pair_features: list[str] = field(default_factory=list)
    reading: dict[str, Any] = field(default_factory=dict)
    popular: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SourceFacts(Record):
    """The log: its file, rows, features and actions; `columns` holds those of action, reward and propensity.

    Of very many actions, `actions` has those that are logged or chosen most; `n_actions` are all.
    """

    path: str | None = None
    rows: int | None = None
    train_rows: int | None = None
    test_rows: int | None = None
    columns: dict[str, Any] = field(default_factory=dict)
    reward: RewardFacts = field(default_factory=RewardFacts)
    reward_range: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    features: list[str] = field(default_factory=list)
    actions: list[ActionFacts] = field(default_factory=list)
    n_actions: int | None = None
    sets: SetFacts | None = None


@dataclass(frozen=True, kw_only=True)
class PropensityFacts(Record):
    """How well propensities were estimated; `calibration` has a pair (predicted, seen) per tenth of the predictions."""

    estimated: bool | None = None
    log_loss: float | None = None
    constant_log_loss: float | None = None
    clip: float | None = None
    n_clipped: int | None = None
    calibration: list[Any] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class PolicyFacts(Record):
    """The policy: its class and settings, the rows it learned from; of a distilled tree its teacher and the loss.

    `always` is the action of a policy that takes one action always, as it is kept: learned again from all rows, it may
    be another than the one evaluated.
    """

    name: str | None = None
    teacher: str | None = None
    loss: ValueFacts | None = None
    rows: int | None = None
    refit: bool | None = None
    always: int | str | None = None
    learner: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class CandidateFacts(Record):
    """A candidate of a `PolicySearch`; `behind` is its distance from the best, `reason` why it was left out."""

    name: str | None = None
    outcome: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    behind: float | None = None
    behind_stderr: float | None = None
    seconds: float | None = None
    error: str | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class WeightFacts(Record):
    """Histogram of the importance weights, and the share of all weight that the heaviest percent of rows carries."""

    edges: list[float] = field(default_factory=list)
    counts: list[float] = field(default_factory=list)
    top_percent_share: float | None = None


@dataclass(frozen=True, kw_only=True)
class FeatureFacts(Record):
    """A feature: the share of decisions that change when it is shuffled, and that in shares of the sum of all.

    `of` is "context", "action" or "pair" where actions have features as well.
    """

    feature: str | None = None
    of: str | None = None
    importance: float | None = None
    changes: float | None = None


@dataclass(frozen=True, kw_only=True)
class RunFacts(Record):
    """What repeats the run: its command line, its seed, and the versions of the libraries."""

    command: str | None = None
    seed: int | None = None
    versions: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Facts(Record):
    """All that is known about a learned policy.

    Parameters
    ----------
    title, created, version : str
        The log, the day and the version of this package.
    verdict, basis, conclusion : str
        The values in one sentence, what they rest on, and which policy to use.
    use : {"learned", "constant", "logged", "open"}
        The conclusion in one word.
    is_better : bool
        Whether the policy is shown to be better than the log and than the best constant action.
    log, estimate, constant, propensity, policy
        The records of this module. `propensity` is None unless it was estimated.
    candidates : list of CandidateFacts
        Of a search; `rule` is the rule of choice.
    weights : WeightFacts or None
        Importance weights of the held-out rows.
    tree : dict or None
        The tree over actions, in nested nodes: a contest has `left`, `right`, `rows` and `strength`, a leaf `action`.
    rules : dict or None
        The rules of a `PolicyTree`, see `offsettree.workflow.rules`.
    importance : list of FeatureFacts
        The most important features, the first first.
    warnings : list of str
        Warnings on the log, on learning and on the estimate.
    reproduce : RunFacts
        What repeats the run.

    Examples
    --------
    >>> facts = Facts.read({"use": "learned", "log": {"path": "mails.csv", "rows": "many"}})
    >>> facts.use, facts.log.path, facts.log.rows
    ('learned', 'mails.csv', None)
    """

    title: str | None = None
    created: str | None = None
    version: str | None = None
    verdict: str | None = None
    basis: str | None = None
    conclusion: str | None = None
    use: str | None = None
    is_better: bool | None = None
    log: SourceFacts = field(default_factory=SourceFacts)
    estimate: EstimateFacts = field(default_factory=EstimateFacts)
    constant: ConstantFacts | None = None
    propensity: PropensityFacts | None = None
    policy: PolicyFacts = field(default_factory=PolicyFacts)
    candidates: list[CandidateFacts] = field(default_factory=list)
    rule: str | None = None
    weights: WeightFacts | None = None
    tree: dict[str, Any] | None = None
    rules: dict[str, Any] | None = None
    importance: list[FeatureFacts] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    reproduce: RunFacts = field(default_factory=RunFacts)

    @property
    def refit_note(self) -> str | None:
        """Which policy the figures are of and which one is kept; None if they are the same."""
        n_rows, n_train, constant = self.log.rows, self.log.train_rows, self.constant
        if not (self.policy.refit and n_rows and n_train):
            return None
        note = (
            f"These figures are of the policy learned from {n_train:,} rows ({100 * n_train / n_rows:.0f} %). The one "
            f"kept was learned again, with the same settings, from all {n_rows:,}."
        )
        always = self.policy.always
        if always is None or constant is None or not constant.same or always == constant.action:
            return note
        return f"{note} By all rows another action is the best: the policy kept always takes {always!r}."


def as_number(found: Any) -> float | None:
    """Return a number; None if it is none, not finite, or too large to calculate with."""
    if not isinstance(found, Real) or isinstance(found, bool):
        return None
    try:
        number = float(found)
    except OverflowError:
        return None
    return number if abs(number) <= LARGEST else None


def as_text(found: Any) -> str | None:
    """Return a text without blanks around it, or a label; None if it is empty."""
    is_text = isinstance(found, str | int) and not isinstance(found, bool)
    return (str(found).strip() or None) if is_text else None


_AS: dict[Any, Callable[[Any], Any]] = {
    float: as_number,
    int: lambda found: None if (known := as_number(found)) is None else round(known),
    str: lambda found: as_text(found) if isinstance(found, str) else None,
    bool: lambda found: found if isinstance(found, bool) else None,
    int | str | None: lambda found: None if as_text(found) is None else found,
    Any: lambda found: found,
}


def _types(record: Any) -> dict[str, Any]:
    types = get_type_hints(record)
    return {each.name: types[each.name] for each in fields(record)}


_types_of: Callable[[Any], dict[str, Any]] = cache(_types)


def _read(kind: Any, found: Any) -> Any:
    if kind in _AS:
        return _AS[kind](found)
    if isinstance(kind, UnionType):
        kind = get_args(kind)[0]
        return _read(kind, found) if kind in _AS or isinstance(found, Mapping) else None
    if get_origin(kind) is dict:
        return dict(found) if isinstance(found, Mapping) else {}
    if get_origin(kind) is not list:
        return kind.read(found)
    (kind,) = get_args(kind)
    entries = found if isinstance(found, Sequence) and not isinstance(found, str | bytes) else ()
    known = [_read(kind, entry) if kind in _AS or isinstance(entry, Mapping) else None for entry in entries]
    if kind is float and None in known:  # the others would move to the places of those left out
        return []
    return [entry for entry in known if entry is not None]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.as_dict() if isinstance(value, Record) else value
