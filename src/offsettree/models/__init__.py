"""Fitted policies flattened into arrays, and the kernels that walk them."""

from typing import TYPE_CHECKING

from offsettree._lazy import names_on_demand

if TYPE_CHECKING:
    from offsettree.models._batches import over_csr, over_tables
    from offsettree.models.flatten import compile_contests
    from offsettree.models.forest import CompiledForest
    from offsettree.models.graph import graph_from_tables
    from offsettree.models.layout import CompiledTree
    from offsettree.models.policy import CompilablePolicy

__all__ = [
    "CompilablePolicy",
    "CompiledForest",
    "CompiledTree",
    "compile_contests",
    "graph_from_tables",
    "over_csr",
    "over_tables",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "_batches": ("over_csr", "over_tables"),
        "flatten": ("compile_contests",),
        "forest": ("CompiledForest",),
        "graph": ("graph_from_tables",),
        "layout": ("CompiledTree",),
        "policy": ("CompilablePolicy",),
    },
)
