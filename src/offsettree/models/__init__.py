"""A decided policy as flat arrays, and the kernels that walk them: the one form, live and loaded."""

from typing import TYPE_CHECKING

from offsettree._lazy import names_on_demand

if TYPE_CHECKING:
    from offsettree.models._batches import is_csr, over_csr, over_tables
    from offsettree.models._inputs import Inputs
    from offsettree.models._kernels_boosted import Trees, add_leaves
    from offsettree.models._nominal import CODE, MISSING, NUMBER, PLAIN, NominalColumns, is_missing, level_key
    from offsettree.models.boosted_model import Boosted
    from offsettree.models.contests import Contests
    from offsettree.models.forest import CompiledForest
    from offsettree.models.graph import graph_from_tables
    from offsettree.models.layout import CompiledTree
    from offsettree.models.model import Constant, Known, Model, Votes, describe, read_model
    from offsettree.models.pairs import Pairs
    from offsettree.models.part import Contents, Part, must_hold, refusing
    from offsettree.models.scores import Scores
    from offsettree.models.split_contests import SplitContests
    from offsettree.models.tournaments import Tournaments
    from offsettree.models.voted import BoostedWithVotes

__all__ = [
    "CODE",
    "MISSING",
    "NUMBER",
    "PLAIN",
    "Boosted",
    "BoostedWithVotes",
    "CompiledForest",
    "CompiledTree",
    "Constant",
    "Contents",
    "Contests",
    "Inputs",
    "Known",
    "Model",
    "NominalColumns",
    "Pairs",
    "Part",
    "Scores",
    "SplitContests",
    "Tournaments",
    "Trees",
    "Votes",
    "add_leaves",
    "describe",
    "graph_from_tables",
    "is_csr",
    "is_missing",
    "level_key",
    "must_hold",
    "over_csr",
    "over_tables",
    "read_model",
    "refusing",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "_kernels_boosted": ("Trees", "add_leaves"),
        "_nominal": ("CODE", "MISSING", "NUMBER", "PLAIN", "NominalColumns", "is_missing", "level_key"),
        "_batches": ("is_csr", "over_csr", "over_tables"),
        "_inputs": ("Inputs",),
        "boosted_model": ("Boosted",),
        "contests": ("Contests",),
        "forest": ("CompiledForest",),
        "graph": ("graph_from_tables",),
        "layout": ("CompiledTree",),
        "model": ("Constant", "Known", "Model", "Votes", "describe", "read_model"),
        "pairs": ("Pairs",),
        "part": ("Contents", "Part", "must_hold", "refusing"),
        "scores": ("Scores",),
        "split_contests": ("SplitContests",),
        "tournaments": ("Tournaments",),
        "voted": ("BoostedWithVotes",),
    },
)
