"""Logs of decisions, real and simulated, in memory and in files."""

from offsettree.encoding import TableEncoder
from offsettree.logs.checked_log import CheckedLog, Columns, judge_columns
from offsettree.logs.guess import ColumnGuess, guess_columns
from offsettree.logs.log_file import LogColumns, read_columns
from offsettree.logs.log_scan import LogFacts, LogScan
from offsettree.logs.logged_data import LoggedData
from offsettree.logs.readers import scan_tables
from offsettree.logs.simulate import simulate_log
from offsettree.logs.writers import write_table

__all__ = [
    "CheckedLog",
    "ColumnGuess",
    "Columns",
    "LogColumns",
    "LogFacts",
    "LogScan",
    "LoggedData",
    "TableEncoder",
    "guess_columns",
    "judge_columns",
    "read_columns",
    "scan_tables",
    "simulate_log",
    "write_table",
]
