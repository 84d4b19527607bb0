"""One seed for a whole experiment: the numbers of its splits, or of its passes over the rows."""

from __future__ import annotations

from offsettree.exceptions import ParameterError

__all__ = ["splits_of"]

OF_A_SEED = 1000
LARGEST_SEED = 1_000_000


def splits_of(seed: int, n_splits: int) -> range:
    """Return the numbers of the splits of a seed: records, and everything random, go by these numbers.

    Seed 0 has the splits 0, 1, ..., which are those of the committed results; other seeds have none of them.

    Examples
    --------
    >>> splits_of(0, 3), splits_of(1, 3)
    (range(0, 3), range(1000, 1003))
    """
    if not 1 <= n_splits <= OF_A_SEED or not 0 <= seed < LARGEST_SEED:
        raise ParameterError(
            f"there must be 1 to {OF_A_SEED:,} runs, and a seed from 0 to {LARGEST_SEED - 1:,}; got {n_splits} runs "
            f"and the seed {seed}."
        )
    return range(OF_A_SEED * seed, OF_A_SEED * seed + n_splits)
