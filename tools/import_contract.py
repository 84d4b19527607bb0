"""A contract for import-linter: the private modules of a folder are imported in that folder only."""

from __future__ import annotations

from typing import Any

from importlinter import Contract, ContractCheck, output

__all__ = ["PrivateModules"]


class PrivateModules(Contract):
    """Modules that begin with an underscore are private to the folder of the package that they are in.

    Those directly below the package are for all. Kernels may import kernels: compiled functions must be globals of
    the module that calls them.
    """

    type_name = "private"

    def check(self, graph: Any, verbose: bool) -> ContractCheck:
        """See `Contract`."""
        wrong = []
        for importer in sorted(graph.modules):
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                if _is_wrong(importer.split("."), imported.split(".")):
                    lines = [
                        each["line_number"] for each in graph.get_import_details(importer=importer, imported=imported)
                    ]
                    wrong.append((importer, imported, lines))
        return ContractCheck(kept=not wrong, metadata={"wrong": wrong})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """See `Contract`."""
        for importer, imported, lines in check.metadata["wrong"]:
            output.print_error(f"{importer} must not import {imported} (line {', '.join(map(str, lines))})")


def _is_wrong(importer: list[str], imported: list[str]) -> bool:
    if importer[1:2] == imported[1:2] or not any(part.startswith("_") for part in imported[2:]):
        return False
    return not (importer[-1].startswith("_kernels") and imported[-1].startswith("_kernels"))
