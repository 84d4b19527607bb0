"""The report on a learned policy and its value: one HTML page that needs no network."""

from __future__ import annotations

from offsettree.report.page import render, write_report

__all__ = ["render", "write_report"]
