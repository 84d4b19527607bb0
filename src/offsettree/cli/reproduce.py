"""``offsettree reproduce``: the paper's experiments."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection
from pathlib import Path

from offsettree import datasets
from offsettree.exceptions import ParameterError
from offsettree.experiments import figure1, report, table1

__all__ = ["configure"]

EXAMPLE = """examples:
  offsettree reproduce table1 --learners sklearn --datasets glass vehicle --splits 3
  offsettree reproduce table1 --learners weka --jobs 2 --out results"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    results = parser.add_subparsers(dest="result", metavar="RESULT", required=True)
    table = results.add_parser(
        "table1",
        help="test errors on the 13 datasets (Table 1) and the scatter plots (Figure 1)",
        description="Random splits, two thirds to learn from; of every row one reward is revealed, the same to all.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    table.add_argument(
        "--learners", choices=table1.LEARNERS, default="sklearn", help="Weka's, as in the paper, or ours"
    )
    table.add_argument("--datasets", nargs="+", metavar="NAME", default=list(datasets.NAMES), help="default: all 13")
    table.add_argument("--methods", nargs="+", metavar="NAME", help="columns or readings to run; default: all columns")
    table.add_argument(
        "--readings", action="store_true", help="run all readings of the protocol instead of the columns"
    )
    table.add_argument("--splits", type=int, default=10, help="random splits (default: 10)")
    table.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    table.add_argument("--out", type=Path, default=Path("results"), help="folder of records, table and figure")
    table.set_defaults(run=run_table1)


def run_table1(options: argparse.Namespace) -> int:
    """Run what the records lack; print the table and a summary, and write both with the figure."""
    known = table1.policies(options.learners)
    columns = list(table1.COLUMNS[options.learners])
    methods = options.methods or ([name for name in known if name not in columns] if options.readings else columns)
    _check_names(options.datasets, datasets.NAMES, "--datasets")
    _check_names(methods, known, "--methods")
    if options.splits < 1 or options.jobs < 1:
        raise ParameterError(f"--splits and --jobs must be at least 1; got {options.splits} and {options.jobs}.")
    records = table1.open_records(options.out, options.learners)
    table1.run(
        records,
        learners=options.learners,
        names=options.datasets,
        methods=methods,
        n_splits=options.splits,
        n_jobs=options.jobs,
    )
    errors = report.mean_errors(
        record
        for record in records
        if record["dataset"] in options.datasets and record["method"] in methods and record["split"] < options.splits
    )
    text = f"{report.markdown(errors, methods)}\n\n{report.summary(errors, methods)}\n"
    sys.stdout.write(f"Mean test error over {options.splits} splits; the paper's figure in brackets\n\n{text}")
    path = options.out / f"{'readings' if options.readings else 'table1'}-{options.learners}.md"
    path.write_text(text, encoding="utf-8")
    written = [records.path, path]
    regressions = [method for method in methods if method.startswith("separate")]
    if "offset tree" in methods and "weighting" in methods and regressions:
        written += figure1.draw(errors, options.out, regressions=regressions, stem=f"figure1-{options.learners}")
    sys.stdout.write(f"\nWritten: {', '.join(str(file) for file in written)}\n")
    return 0


def _check_names(given: Collection[str], known: Collection[str], option: str) -> None:
    for name in given:
        if name not in known:
            raise ParameterError(f"{option} must be among {', '.join(known)}; got {name!r}.")
