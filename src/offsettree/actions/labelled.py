"""Policies over labels among action sets: features of actions are not used, the sets are masks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from offsettree._features import Features, is_frame
from offsettree._fingerprint import Fingerprint
from offsettree._labels import check_actions, padded, unique_labels
from offsettree._texts import is_text, repeat_texts
from offsettree.actions.base import BaseActionPolicy
from offsettree.actions.eligible import labels_of
from offsettree.actions.policy import ActionLog, check_sets
from offsettree.encoding import TableEncoder
from offsettree.exceptions import ActionError
from offsettree.logs import ActionSets

__all__ = ["LabelledActions"]


class LabelledActions(BaseActionPolicy):
    """Lets a policy over labels, such as `RewardBoosting`, learn from and decide among action sets.

    For a catalogue that does not change, where each id is logged often enough to be learned by itself. The sets are
    masks: what was not eligible is neither learned about nor taken. An id that was never logged is taken only where
    nothing else is eligible.

    Parameters
    ----------
    policy : policy
        Unfitted; its `reward_range` is used as it is.

    Attributes
    ----------
    policy_ : policy
        The fitted policy. `save` writes it, with `encoder_`, as a file for `load`.
    encoder_ : TableEncoder or None
        What turns frames into numbers.

    Examples
    --------
    >>> from offsettree import RewardRegression, simulate_catalogue
    >>> from offsettree.actions import LabelledActions
    >>> catalogue = simulate_catalogue(2000, 8, 4, new_share=0.0, random_state=0)
    >>> policy = LabelledActions(RewardRegression(random_state=0)).fit(**catalogue.log.arrays())
    >>> catalogue.value(policy.predict(catalogue.log.X, catalogue.sets)) > catalogue.uniform_value
    True
    """

    _learned = "policy_"

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    @classmethod
    def of(cls, fitted: Any) -> Self:
        """Return a policy that has learned, also one that was loaded, among action sets."""
        made = cls(fitted)
        made.policy_, made.encoder_ = fitted, None  # a loaded policy encodes rows itself
        return made

    @property
    def reward_range(self) -> Any:  # type: ignore[override] # what is its policy's cannot be set
        """That of the policy within."""
        return getattr(self.policy, "reward_range", None)

    @property
    def _trained_on(self) -> Fingerprint | None:  # type: ignore[override] # as above
        return getattr(self.__dict__.get("policy_"), "_trained_on", None)

    def _remember(self, log: ActionLog, before: Fingerprint | None) -> None:
        """Leave it to the policy within."""

    def _checked(self, X: Features) -> Features:
        return self.policy_._checked(X if self.encoder_ is None else self.encoder_.encode(X))

    def _fit(self, log: ActionLog) -> None:
        X = log.X
        encoder = TableEncoder.learn([X]) if is_frame(X) else None
        taken = log.sets.ids[log.pair]
        actions = unique_labels(taken)
        if len(actions) < 2:
            raise ActionError(
                f"a log must have at least two actions; all of its {len(taken):,} rows have {actions.tolist()[0]!r}."
            )
        mask = _mask(log.sets, actions)
        settings = {"actions": actions} if "actions" in self.policy.get_params(deep=False) else {}
        fitted = clone(self.policy).set_params(**settings)
        fitted.fit(
            X if encoder is None else encoder.encode(X),
            taken,
            reward=log.reward,
            propensity=log.propensity,
            available=None if mask.all() else mask,
        )
        self.policy_, self.encoder_ = fitted, encoder

    def _choose(self, X: Features, sets: ActionSets) -> NDArray[np.intp]:
        check_sets(X, sets)
        self._check_fitted()
        actions = self.policy_.actions_
        actions = padded(actions.tolist()) if actions.dtype.kind == "O" else actions
        mask = _mask(sets, actions)
        # A row without any known action may have all: its choice is replaced by its first action below.
        lost = ~mask.any(axis=1)
        mask[lost] = True
        X = X if self.encoder_ is None else self.encoder_.encode(X)
        chosen = self.policy_.predict(X, available=None if mask.all() else mask)
        wanted = repeat_texts(np.asarray(chosen), sets.sizes)
        pairs = sets.starts[:-1].astype(np.intp).copy()
        if is_text(sets.ids) == is_text(actions):
            hits = np.flatnonzero(wanted == sets.ids)
            row = np.searchsorted(sets.starts, hits, side="right") - 1
            known = ~np.asarray(lost)[row]
            pairs[row[known]] = hits[known]
        return pairs

    def _choose_of_one(self, x: Any, actions: Any) -> tuple[int, list[Any] | None]:
        plain = isinstance(actions, list | tuple) and not any(isinstance(each, Mapping) for each in actions)
        labels = list(actions) if plain else labels_of(actions)
        if not labels:
            raise ActionError("actions must have ids, as this policy knows nothing else; and at least one of them.")
        if plain:
            check_actions(labels, what="actions")
        self._check_fitted()
        known = set(self.policy_.actions_.tolist())
        eligible = [each for each in labels if each in known]
        if not eligible:
            return 0, labels
        row = x if self.encoder_ is None else self.encoder_.encode([x])[0]
        return labels.index(self.policy_.decide(row, available=eligible)), labels


def _mask(sets: ActionSets, actions: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which of the actions each row may choose from."""
    mask = np.zeros((len(sets), len(actions)), dtype=bool)
    if is_text(sets.ids) != is_text(actions):
        return mask
    order = np.argsort(actions)
    place = order[np.minimum(np.searchsorted(actions, sets.ids, sorter=order), len(actions) - 1)]
    known = actions[place] == sets.ids
    row = np.repeat(np.arange(len(sets)), sets.sizes)
    mask[row[known], place[known]] = True
    return mask
