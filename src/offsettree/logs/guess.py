"""Guesses by name which columns of a table are the action, the reward and the propensity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from offsettree._messages import Message, Parameter
from offsettree.encoding.spellings import is_numeral
from offsettree.exceptions import LogError

__all__ = ["COMMON_NAMES", "ColumnGuess", "guess_columns", "simple"]

# The clearest names first: a column called "action" is the action, whatever else there is.
NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "action": (
        ("action",),
        ("logged_action", "chosen_action", "action_taken", "action_id", "action_name", "chosen", "decision", "arm",
         "arm_id", "treatment", "offer", "offer_id", "variant", "variant_id", "choice", "segment_treatment", "item_id",
         "label_action"),
        ("a",),
    ),
    "reward": (
        ("reward",),
        ("rewards", "logged_reward", "observed_reward", "click", "clicked", "clicks", "is_click", "visit", "visited",
         "conversion", "converted", "conversions", "outcome", "revenue", "profit", "payoff", "return", "response",
         "spend", "purchase", "purchased", "label_reward"),
        ("r", "y"),
    ),
    "propensity": (
        ("propensity",),
        ("propensity_score", "propensities", "pscore", "p_score", "prob", "probability", "action_prob",
         "action_probability", "action_propensity", "prob_action", "p_action", "logging_prob", "logging_probability",
         "logging_propensity", "logged_prob", "logged_probability", "treatment_prob", "label_probability"),
        ("p", "pi", "pi_b"),
    ),
}  # fmt: skip
COMMON_NAMES = frozenset(name for tiers in NAMES.values() for tier in tiers[:2] for name in tier)  # no single letters
MEANING = {
    "action": "what was chosen",
    "reward": "what the action earned",
    "propensity": "the probability of the choice",
}


@dataclass(frozen=True)
class ColumnGuess:
    """The columns of a log, given or guessed.

    Parameters
    ----------
    action, reward : str
        The names of their columns.
    propensity : str, float or None
        The name of its column, the number given for all rows, or None if no column looks like it.
    guessed : tuple of str
        Which of the three were guessed.
    """

    action: str
    reward: str
    propensity: str | float | None
    guessed: tuple[str, ...] = ()

    @property
    def statement(self) -> str:
        """The guesses in a sentence; empty if there are none."""
        if not self.guessed:
            return ""
        parts = [f"the {role} is column {getattr(self, role)!r}" for role in self.guessed]
        first, *others = map(Parameter, self.guessed)
        options = [first, *(part for other in others for part in (", ", other))]
        return Message(f"Guessed by name: {', '.join(parts)} (if wrong, give ", *options, ").")


def guess_columns(
    names: Sequence[str],
    table_head: Any = None,
    *,
    action: str | None = None,
    reward: str | None = None,
    propensity: str | float | None = None,
) -> ColumnGuess:
    """Guess which columns are the action, the reward and the propensity, if their names are clear.

    Parameters
    ----------
    names : list of str
        All columns.
    table_head : pyarrow.Table, optional
        The first rows. They rule out text as the reward, and numbers outside (0, 1] as the propensity.
    action, reward, propensity : str, optional
        Columns that are known; the propensity may also be a number.

    Returns
    -------
    ColumnGuess
        Its `propensity` is None if no column looks like it; the others are always found.

    Raises
    ------
    LogError
        If no column looks like the action or the reward, or several do.

    Examples
    --------
    >>> guess = guess_columns(["age", "Treatment", "clicked", "p"])
    >>> guess.action, guess.reward, guess.propensity
    ('Treatment', 'clicked', 'p')
    >>> guess.statement.partition(":")[0]
    'Guessed by name'
    """
    known: dict[str, str | float | None] = {"action": action, "reward": reward, "propensity": propensity}
    found = dict(known)
    for role in NAMES:
        if known[role] is None:
            taken = {name for name in found.values() if isinstance(name, str)}
            found[role] = _find(role, [name for name in names if name not in taken], table_head)
            if found[role] is None and role != "propensity":
                raise LogError(
                    f"a log must have a column for the {role}, {MEANING[role]}; no name looks like it. It has "
                    f"{', '.join(names[:40])}. Name the column: ",
                    Parameter(role),
                )
    guessed = tuple(role for role in NAMES if known[role] is None and found[role] is not None)
    return ColumnGuess(str(found["action"]), str(found["reward"]), found["propensity"], guessed)


def _find(role: str, names: list[str], head: Any) -> str | None:
    for tier in NAMES[role]:
        candidates = [name for name in names if simple(name) in tier]
        if tier is not NAMES[role][0]:  # wrong values of a column with a clear name are an error that names the row
            candidates = [name for name in candidates if _may_be(role, name, head)]
        if len(candidates) > 1:
            raise LogError(
                f"a log must have one column for the {role}, {MEANING[role]}; several look like it: "
                f"{', '.join(map(repr, candidates))}. Name the column: ",
                Parameter(role),
            )
        if candidates:
            return candidates[0]
    return None


def simple(name: str) -> str:
    """Return a name in lower case with underscores, as the common ones are written."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(name))  # actionTaken
    return re.sub(r"[^a-z0-9]+", "_", parted.lower()).strip("_")


def _may_be(role: str, name: str, head: Any) -> bool:
    if head is None or name not in head.column_names:
        return True
    values = [value for value in head.column(name).to_pylist() if value is not None]
    if role == "action":
        return all(not isinstance(value, float) or value == int(value) for value in values if value == value)
    if role == "reward":
        # Text in a few rows will be an error that names the row; only text means another column.
        return not values or any(isinstance(value, bool | int | float) or is_numeral(value) for value in values)
    return all(isinstance(value, int | float) for value in values) and (
        not values or sum(0 < value <= 1 for value in values) * 2 >= len(values)
    )
