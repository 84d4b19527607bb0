"""Reductions: from a log to problems that ordinary learners solve, and back to a policy."""

from offsettree.reductions.binary_offset import BinaryOffset
from offsettree.reductions.offset_tree import OffsetTree

__all__ = ["BinaryOffset", "OffsetTree"]
