"""Fitted policies flattened into arrays, and the kernels that walk them."""

from typing import TYPE_CHECKING

from offsettree._lazy import names_on_demand

if TYPE_CHECKING:
    from offsettree.compiled._batches import over_csr, over_tables
    from offsettree.compiled.flatten import compile_contests
    from offsettree.compiled.forest import CompiledForest
    from offsettree.compiled.graph import graph_from_tables
    from offsettree.compiled.layout import CompiledTree
    from offsettree.compiled.policy import CompilablePolicy

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
