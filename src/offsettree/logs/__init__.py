"""Logs of decisions, real and simulated."""

from offsettree.logs.logged_data import LoggedData
from offsettree.logs.simulate import simulate_log

__all__ = ["LoggedData", "simulate_log"]
