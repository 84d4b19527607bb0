"""A log judged once: whoever is handed one trusts it, and so does whoever gets some of its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from inspect import Parameter, signature
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from offsettree._available import Available, check_available_to_log
from offsettree._features import Features, take_rows
from offsettree._labels import check_actions, encode_actions
from offsettree._validation import check_propensity, check_range, check_reward, lengths_differ
from offsettree.exceptions import LogError

__all__ = ["CheckedLog", "Columns", "judge_columns", "with_log_or_parts"]

BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL)
Parts = tuple[Features, NDArray[np.intp], NDArray[np.float64], NDArray[np.float64], Available | None]


class Columns(NamedTuple):
    """The columns of a log beside X, judged: labels (integers, or strings as objects), rewards and propensities."""

    action: NDArray[Any]
    reward: NDArray[np.float64]
    propensity: NDArray[np.float64]


def judge_columns(n_rows: int, action: Any, reward: Any, propensity: Any, *, copy: bool = False) -> Columns:
    """Judge the columns of a log, wherever it comes from; columns that have been judged come as `action`, alone."""
    if isinstance(action, Columns):
        if reward is not None or propensity is not None:
            raise LogError(
                "columns that were judged come alone: reward and propensity are among them. Leave those out."
            )
        for name, values in zip(action._fields, action, strict=True):
            if len(values) != n_rows:
                raise LogError(lengths_differ(name, len(values), n_rows))
        return action
    return Columns(
        check_actions(action, n_rows),
        check_reward(reward, n_rows, copy=copy),
        check_propensity(propensity, n_rows, copy=copy),
    )


@dataclass(frozen=True)
class CheckedLog:
    """A log judged for a policy, or for several with the same actions and range of rewards.

    Attributes
    ----------
    X : array, CSR matrix or frame
        The contexts as learners see them, without infinity.
    position : array of int
        The position of each row's action in `actions`.
    reward : array of float
        The rewards as logged, within `reward_range`; `scaled` has them between 0 and 1.
    propensity : array of float
        The probability of each row's action.
    actions : array
        The labels of the actions, sorted; the policy has them as `actions_`.
    available : masks or None
        The actions available in each row; None is all.
    reward_range : (float, float)
        The smallest and the largest possible reward.
    is_finite : bool
        Whether X is known to be without missing values.
    """

    X: Features
    position: NDArray[np.intp]
    reward: NDArray[np.float64]
    propensity: NDArray[np.float64]
    actions: NDArray[Any]
    available: Available | None = None
    reward_range: tuple[float, float] = (0.0, 1.0)
    is_finite: bool = False

    @classmethod
    def of(
        cls, X: Features, columns: Columns, actions: Any, reward_range: Any, available: Any = None, first_row: int = 0
    ) -> Self:
        """Make a log of judged features and columns; `available` is judged here. Rows count from `first_row` on."""
        position = encode_actions(columns.action, actions, first_row=first_row)
        sets = None if available is None else check_available_to_log(available, position, actions)
        return cls(X, position, columns.reward, columns.propensity, actions, sets, check_range(reward_range))

    @property
    def scaled(self) -> NDArray[np.float64]:
        """The rewards scaled to [0, 1]."""
        low, high = self.reward_range
        return self.reward if (low, high) == (0, 1) else (self.reward - low) / (high - low)

    def parts(self) -> Parts:
        """Return features, positions, scaled rewards, propensities and masks."""
        return self.X, self.position, self.scaled, self.propensity, self.available

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return the log of some rows."""
        return replace(
            self,
            X=take_rows(self.X, rows),
            position=self.position[rows],
            reward=self.reward[rows],
            propensity=self.propensity[rows],
            available=None if self.available is None else self.available.take(rows),
        )


def with_log_or_parts(fit: Callable[..., None]) -> Callable[..., None]:
    """Let a policy's `_fit` be called with a checked log or with its parts, whichever of the two it takes itself.

    Policies written before there were checked logs define ``_fit(self, X, action, reward, propensity, available)``.
    """
    given_by_place = [each for each in signature(fit).parameters.values() if each.kind in BY_PLACE]
    is_open = any(each.kind is Parameter.VAR_POSITIONAL for each in given_by_place)
    takes_log = not is_open and sum(each.default is Parameter.empty for each in given_by_place) == 2

    @wraps(fit)
    def either(self: Any, *given: Any) -> None:
        if not takes_log:
            return fit(self, *(given[0].parts() if len(given) == 1 else given))
        if len(given) > 1:
            X, action, reward, propensity, *more = given
            given = (CheckedLog(X, action, reward, propensity, self.actions_, more[0] if more else None),)
        held = [*given]
        del given  # no reference is held here, so that `fit` can free what it no longer needs
        return fit(self, held.pop())

    either.takes_both = either  # type: ignore[attr-defined]
    return either
