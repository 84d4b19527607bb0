"""What is learned of raw tables, one after another or in parts that are merged, before they are encoded."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from offsettree.encoding._column_summaries import Summary
from offsettree.encoding.raw_columns import RawTable, UselessColumnError, column_names, count_raw_rows, read_column

__all__ = ["TableSummary"]


class TableSummary:
    """Counts of all columns of the tables of a log, in bounded memory: what `TableEncoder.of_summary` settles on.

    Parameters
    ----------
    leave_out : list of str, default=()
        Columns that are no features.
    full : collection of str, default=()
        Columns of which so many different numbers are known that they need not be counted: `full_columns` of what
        came before, where this summary is to be merged with that.

    Examples
    --------
    >>> from offsettree import TableEncoder
    >>> january, february = TableSummary(), TableSummary()
    >>> january.add([{"age": 20, "plan": "basic"}, {"age": 40, "plan": "pro"}])
    >>> february.add([{"age": 60, "plan": None}])
    >>> january.merge(february)
    >>> TableEncoder.of_summary(january).names_out
    ['age', 'plan=basic', 'plan=pro', 'plan is missing']
    """

    def __init__(self, *, leave_out: Sequence[str] = (), full: Collection[str] = ()) -> None:
        self.columns: dict[str, Summary] = {}
        self.of_no_use: dict[str, str] = {}  # why, by name
        self.n_rows = 0
        self._leave_out = frozenset(leave_out)
        self._full = frozenset(full)

    def add(self, table: RawTable) -> None:
        """Count the rows of a table."""
        n_here = count_raw_rows(table)
        for name in column_names(table):
            if name not in self.columns and name not in self._leave_out:
                self.columns[name] = self._without_rows(name)
        for name, summary in self.columns.items():
            if name not in self.of_no_use:
                try:
                    summary.add(read_column(table, name), n_here)
                except UselessColumnError as error:
                    self.of_no_use[name] = str(error)
        self.n_rows += n_here

    def merge(self, later: TableSummary) -> None:
        """Count the rows of another summary, which come after those of this one."""
        for name in later.columns:
            if name not in self.columns:
                self.columns[name] = self._without_rows(name)
        for name, summary in self.columns.items():
            if name in later.columns:
                summary.merge(later.columns[name])
            else:
                summary.add(None, later.n_rows)
        self.of_no_use = later.of_no_use | self.of_no_use
        self.n_rows += later.n_rows

    def full_columns(self) -> list[str]:
        """List the columns with so many different numbers that new ones are not noticed any more."""
        return [name for name, summary in self.columns.items() if summary.is_full]

    def _without_rows(self, name: str) -> Summary:
        return Summary(name, n_rows=self.n_rows, n_missing=self.n_rows, counts_numbers=name not in self._full)
