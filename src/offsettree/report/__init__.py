"""What was learned from a log, and what it is worth, as one page that a browser shows without a network."""

from __future__ import annotations

from offsettree.report.page import render, write_report

__all__ = ["render", "write_report"]
