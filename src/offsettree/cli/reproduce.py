"""``offsettree reproduce``: the paper's experiments."""

from __future__ import annotations

import argparse

from offsettree.cli import reproduce_banditron, reproduce_noise, reproduce_table1

__all__ = ["EXAMPLE", "configure"]

EXAMPLE = "offsettree reproduce table1 --learners sklearn --datasets glass vowel --out results"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    results = parser.add_subparsers(dest="result", metavar="RESULT", required=True)
    reproduce_table1.configure(results)
    reproduce_banditron.configure(results)
    reproduce_noise.configure(results)
