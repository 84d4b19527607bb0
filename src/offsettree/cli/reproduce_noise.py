"""``offsettree reproduce noise``: section 7.2 with more and more wrong labels."""

from __future__ import annotations

import argparse
from typing import Any

from offsettree._optional import require
from offsettree.cli._reproducing import add_output, add_seeds, check_runs, make_folder, print_results, stem_of
from offsettree.experiments import banditron_report, noise

__all__ = ["configure"]

EXAMPLE = """examples:
  offsettree reproduce noise --rows 20000 --seeds 2
  offsettree reproduce noise --jobs 2 --out results"""


def configure(results: Any) -> None:
    """Declare this subcommand and its options."""
    parser = results.add_parser(
        "noise",
        help="the same error rates with 0 to 10 %% of wrong labels",
        description="SynSep with more and more wrong labels: the Banditron over its grid, and four offset trees.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--rows", type=int, default=noise.N_ROWS, metavar="N", help=f"number of rows (default: {noise.N_ROWS})"
    )
    add_seeds(parser)
    add_output(parser, "threads", "errors")
    parser.set_defaults(run=run_noise)


def run_noise(options: argparse.Namespace) -> int:
    """Run what the records lack; write the table and the figure; print the table with a verdict."""
    check_runs(options, "rows", "seeds", "jobs")
    require("matplotlib", extra="plots")
    make_folder(options.out)
    records = noise.open_records(options.out)
    runs: dict[str, int] = {"n_rows": options.rows, "n_seeds": options.seeds, "seed": options.seed}
    noise.run(records, **runs, n_jobs=options.jobs)
    errors = noise.select(records, **runs)
    seeds = banditron_report.count(options.seeds, "seed")
    title = f"Mean error over one pass of {options.rows:,} rows of SynSep with wrong labels, {seeds}"
    text = f"{title}\n\n{noise.table(errors)}\n\n{noise.verdict(errors)}\n"
    stem = stem_of(options, "noise" + f"-{options.rows}-rows" * (options.rows != noise.N_ROWS))
    path = options.out / f"{stem}.md"
    path.write_text(text, encoding="utf-8")
    written = [records.path, path, *noise.draw(errors, options.out, stem)]
    print_results(options, text, {"errors": {str(share): of for share, of in errors.items()}}, written)
    return 0
