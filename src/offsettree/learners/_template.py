"""Many copies of one unfitted estimator, each with a seed of its own, at the least cost."""

from __future__ import annotations

import copy
from typing import Any

from sklearn.base import clone


class Template:
    """An unfitted estimator, made ready once to be copied for every contest or draw.

    Parameters named ``random_state``, at any depth, that are None get the seed of each copy; a seed that the caller
    has set stays as it is.
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator = clone(estimator, safe=False)
        parameters = estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}
        self._seeds = [
            name
            for name, value in parameters.items()
            if value is None and (name == "random_state" or name.endswith("__random_state"))
        ]
        # Nothing in it can be changed from outside: a copy may share it all.
        self._is_flat = type(estimator).__module__.startswith("sklearn.") and all(
            isinstance(value, bool | int | float | str | None) for value in vars(self._estimator).values()
        )

    @property
    def is_seeded(self) -> bool:
        """Whether copies differ by their seeds."""
        return bool(self._seeds)

    def copy(self, seed: int) -> Any:
        """Return an unfitted copy of its own."""
        if self._is_flat:
            estimator = object.__new__(type(self._estimator))
            vars(estimator).update(vars(self._estimator))
        else:
            estimator = copy.deepcopy(self._estimator)  # a fifth of the time of clone(), which has been called already
        if self._seeds == ["random_state"]:
            estimator.random_state = seed
        elif self._seeds:
            estimator.set_params(**dict.fromkeys(self._seeds, seed))
        return estimator
