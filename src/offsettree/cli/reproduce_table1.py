"""``offsettree reproduce table1``: Table 1 and Figure 1."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import Any

from offsettree import datasets
from offsettree._optional import require
from offsettree.cli._reproducing import add_output, make_folder, print_results
from offsettree.exceptions import ParameterError
from offsettree.experiments import figure1, report, table1
from offsettree.experiments.seeds import splits_of
from offsettree.learners import make_learner

__all__ = ["configure"]

EXAMPLE = """examples:
  offsettree reproduce table1 --learners sklearn --datasets glass vehicle --splits 3
  offsettree reproduce table1 --learners weka --jobs 2 --out results"""


def configure(results: Any) -> None:
    """Declare this subcommand and its options."""
    table = results.add_parser(
        "table1",
        help="test errors on the 13 datasets (Table 1) and the scatter plots (Figure 1)",
        description="Random splits with two thirds for training; each row reveals one reward, the same to all methods.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    table.add_argument(
        "--learners", choices=table1.LEARNERS, default="sklearn", help="base learners; weka: those of the paper"
    )
    table.add_argument("--datasets", nargs="+", metavar="NAME", default=list(datasets.NAMES), help="default: all 13")
    table.add_argument("--methods", nargs="+", metavar="NAME", help="columns or readings to run; default: all columns")
    table.add_argument("--readings", action="store_true", help="run the alternative readings of the paper's protocol")
    table.add_argument("--splits", type=int, default=10, help="number of random splits (default: 10)")
    table.add_argument("--seed", type=int, default=0, help="random seed of splits, draws and policies (default: 0)")
    add_output(table, "processes", "mean errors")
    table.set_defaults(run=run_table1)


def run_table1(options: argparse.Namespace) -> int:
    """Run what the records lack; write the table and the figure; print the table with a summary."""
    known, columns = table1.policies(options.learners), list(table1.COLUMNS[options.learners])
    others = [name for name in known if name not in columns]
    methods = list(dict.fromkeys(options.methods or (others if options.readings else columns)))
    names = list(dict.fromkeys(options.datasets))
    _check_names(names, datasets.NAMES, "--datasets")
    _check_names(methods, known, "--methods")
    if options.splits < 1 or options.jobs < 1:
        raise ParameterError(f"--splits and --jobs must be at least 1; got {options.splits} and {options.jobs}.")
    splits = splits_of(options.seed, options.splits)
    regressions = [method for method in methods if method.startswith("separate")]
    trees = [method for method in (table1.LETTER, table1.TUNED) if method in methods]
    draws_figure = bool(trees) and "weighting" in methods and bool(regressions)
    _check_prerequisites(options, draws_figure)
    records = table1.open_records(options.out, options.learners)
    table1.run(
        records,
        learners=options.learners,
        names=names,
        methods=methods,
        n_splits=options.splits,
        seed=options.seed,
        n_jobs=options.jobs,
    )
    done = [
        record
        for record in records
        if record["dataset"] in names and record["method"] in methods and record["split"] in splits
    ]
    errors = report.mean_errors(done)
    table = report.markdown(report.errors_by_split(done), methods)
    title = f"Mean test error over {options.splits} splits ± its standard error; the paper's figure in brackets"
    text = f"{title}\n\n{table}\n\n{report.summary(errors, methods)}\n"
    # Part of the table must not overwrite the whole.
    whole = methods == columns and len(names) == len(datasets.NAMES)
    part = "" if whole else "-readings" if options.readings and not options.methods else "-part"
    part += f"-seed-{options.seed}" * (options.seed != 0)
    path = options.out / f"table1-{options.learners}{part}.md"
    path.write_text(text, encoding="utf-8")
    written = [records.path, path]
    if draws_figure:
        stem = f"figure1-{options.learners}{part}"
        written += figure1.draw(errors, options.out, regressions=regressions, trees=trees, stem=stem)
    print_results(options, text, {"mean_errors": _nested(errors)}, written)
    return 0


def _nested(errors: dict[tuple[str, str], float]) -> dict[str, dict[str, float]]:
    nested: dict[str, dict[str, float]] = {}
    for (name, method), error in errors.items():
        nested.setdefault(name, {})[method] = error
    return nested


def _check_prerequisites(options: argparse.Namespace, draws_figure: bool) -> None:
    """Check the folder, matplotlib and Java before hours of work, not after."""
    make_folder(options.out)
    if draws_figure:
        require("matplotlib", extra="plots")
    if options.learners == "weka":
        make_learner("j48").fit([[0.0], [1.0]], [0, 1])


def _check_names(given: Collection[str], known: Collection[str], option: str) -> None:
    for name in given:
        if name not in known:
            listed = ", ".join(repr(choice) for choice in known)
            raise ParameterError(f"{option} must be among {listed}; got {name!r}.")
