"""Which policy to use: candidates learned, compared on one log, and the best one kept."""

from offsettree.selection.candidates import default_candidates
from offsettree.selection.results import SearchResults
from offsettree.selection.search import PolicySearch

__all__ = ["PolicySearch", "SearchResults", "default_candidates"]
