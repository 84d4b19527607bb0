"""Short lists of dictionaries of the same names, read at once, such as the eligible actions of a decision."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

__all__ = ["PlainRows", "picked_rows", "plain_rows"]


class PlainRows(NamedTuple):
    """The values of all rows, one row after the other.

    Parameters
    ----------
    names : tuple of str
        The names that every row has, in this order.
    values : list
        As many per row.
    n_rows : int
        The number of rows.
    """

    names: tuple[str, ...]
    values: list[Any]
    n_rows: int

    def column(self, name: str) -> list[Any]:
        """Return the values of a name, a KeyError if there is none.

        Parameters
        ----------
        name : str
            One of `names`.
        """
        return self.values[_places(self.names)[name] :: len(self.names)]

    def columns(self, names: tuple[str, ...]) -> list[Any]:
        """Return the values of several names, one column after the other.

        Parameters
        ----------
        names : tuple of str
            Some of `names`.
        """
        places, width = _places(self.names), len(self.names)
        return list(chain.from_iterable([self.values[places[name] :: width] for name in names]))

    def rows_without(self, name: str) -> list[Any]:
        """Return the values of all other names, one row after the other.

        Parameters
        ----------
        name : str
            A name that rows need not have.
        """
        place = _places(self.names).get(name)
        if place is None:
            return self.values
        values = self.values.copy()
        del values[place :: len(self.names)]
        return values


def plain_rows(rows: Any) -> PlainRows | None:
    """Read a list of dictionaries; None unless all have the same names, texts, in the same order.

    Parameters
    ----------
    rows : list of dict
        The rows, at least one.

    Examples
    --------
    >>> plain_rows([{"id": "a", "price": 3.0}, {"id": "b", "price": 5.0}]).column("price")
    [3.0, 5.0]
    >>> plain_rows([{"id": "a"}, {"price": 5.0}]) is None
    True
    """
    # One pass in C over all names, and one over all values: asking row by row takes several times as long.
    if type(rows) is not list or set(map(type, rows)) != {dict}:
        return None
    names = tuple(rows[0])
    if set(map(type, names)) != {str} or list(chain.from_iterable(rows)) != _names_of_all(names, len(rows)):
        return None
    return PlainRows(names, list(chain.from_iterable(map(dict.values, rows))), len(rows))


def picked_rows(rows: Any, names: tuple[str, ...]) -> PlainRows | None:
    """Read some values of dictionaries that may differ in their names; None unless all have those asked for.

    Parameters
    ----------
    rows : list of dict
        The rows.
    names : tuple of str
        What to read.
    """
    if set(map(type, rows)) != {dict}:
        return None
    try:
        return PlainRows(names, [row[name] for row in rows for name in names], len(rows))
    except KeyError:
        return None


@lru_cache(64)
def _names_of_all(names: tuple[str, ...], n_rows: int) -> list[str]:
    return list(names) * n_rows


@lru_cache(256)
def _places(names: tuple[str, ...]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}
