"""Logs of decisions, real and simulated."""

from offsettree.logs.logged_data import LoggedData
from offsettree.logs.simulate import simulate_log
from offsettree.logs.table_encoder import TableEncoder

__all__ = ["LoggedData", "TableEncoder", "simulate_log"]
