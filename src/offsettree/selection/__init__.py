"""Policy selection: candidates are trained and compared on one log, and the best is kept."""

from offsettree.registry import CandidateEntry
from offsettree.selection.candidates import default_candidates
from offsettree.selection.results import SearchResults
from offsettree.selection.search import PolicySearch

__all__ = ["CandidateEntry", "PolicySearch", "SearchResults", "default_candidates"]
