"""Logs of decisions, real and simulated, in memory and in files."""

from typing import TYPE_CHECKING

from offsettree._lazy import names_on_demand
from offsettree.encoding import TableEncoder
from offsettree.logs._other_columns import alike_but_for_blanks
from offsettree.logs.action_files import ActionLogColumns, ActionLogScan, scan_eligible
from offsettree.logs.action_sets import ActionSets
from offsettree.logs.checked_log import CheckedLog, Columns, judge_columns
from offsettree.logs.guess import ColumnGuess, guess_columns
from offsettree.logs.log_file import LogColumns, read_columns
from offsettree.logs.log_scan import LogFacts, LogScan
from offsettree.logs.logged_data import LoggedData
from offsettree.logs.readers import scan_tables
from offsettree.logs.recognise_sets import RecognisedSets, recognise_action_sets
from offsettree.logs.simulate import simulate_log
from offsettree.logs.simulate_catalogue import SimulatedCatalogue, simulate_catalogue
from offsettree.logs.writers import write_table

if TYPE_CHECKING:
    from offsettree.logs._reader import Options, Reader
    from offsettree.logs._recognise import FileStart
    from offsettree.logs._source import Source, line_blocks, open_stream

__all__ = [
    "ActionLogColumns",
    "ActionLogScan",
    "ActionSets",
    "CheckedLog",
    "ColumnGuess",
    "Columns",
    "FileStart",
    "LogColumns",
    "LogFacts",
    "LogScan",
    "LoggedData",
    "Options",
    "Reader",
    "RecognisedSets",
    "SimulatedCatalogue",
    "Source",
    "TableEncoder",
    "alike_but_for_blanks",
    "guess_columns",
    "judge_columns",
    "line_blocks",
    "open_stream",
    "read_columns",
    "recognise_action_sets",
    "scan_eligible",
    "scan_tables",
    "simulate_catalogue",
    "simulate_log",
    "write_table",
]

# What a reader of another format is made of; these need pyarrow.
__getattr__ = names_on_demand(
    __name__,
    {
        "_reader": ("Options", "Reader"),
        "_recognise": ("FileStart",),
        "_source": ("Source", "line_blocks", "open_stream"),
    },
)
