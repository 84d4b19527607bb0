"""``offsettree reproduce noise``: section 7.2 with more and more wrong labels."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from offsettree._optional import require
from offsettree.cli._folders import make_folder
from offsettree.cli._output import print_json
from offsettree.exceptions import ParameterError
from offsettree.experiments import banditron_report, noise
from offsettree.experiments.seeds import splits_of

__all__ = ["configure"]

N_SEEDS = 5

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
    parser.add_argument(
        "--seeds",
        type=int,
        default=N_SEEDS,
        metavar="S",
        help=f"number of runs, each on its own rows (default: {N_SEEDS})",
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed of the runs (default: 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="threads (default: all cores)")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for records, table and figure")
    parser.add_argument("--json", action="store_true", help="print the errors as JSON")
    parser.set_defaults(run=run_noise)


def run_noise(options: argparse.Namespace) -> int:
    """Run what the records lack; write the table and the figure; print the table with a verdict."""
    if min(options.rows, options.seeds, options.jobs) < 1:
        raise ParameterError(
            f"--rows, --seeds and --jobs must be at least 1; got {options.rows}, {options.seeds} and {options.jobs}."
        )
    splits_of(options.seed, options.seeds)  # refuses what is not a seed before anything is made
    require("matplotlib", extra="plots")
    make_folder(options.out)
    records = noise.open_records(options.out)
    runs: dict[str, int] = {"n_rows": options.rows, "n_seeds": options.seeds, "seed": options.seed}
    noise.run(records, **runs, n_jobs=options.jobs)
    errors = noise.select(records, **runs)
    seeds = banditron_report.count(options.seeds, "seed")
    title = f"Mean error over one pass of {options.rows:,} rows of SynSep with wrong labels, {seeds}"
    text = f"{title}\n\n{noise.table(errors)}\n\n{noise.verdict(errors)}\n"
    # Results on other rows, or of fewer runs, must not overwrite those of the command without options.
    stem = "noise" + f"-{options.rows}-rows" * (options.rows != noise.N_ROWS)
    stem += f"-{options.seeds}-runs" * (options.seeds != N_SEEDS)
    stem += f"-seed-{options.seed}" * (options.seed != 0)
    path = options.out / f"{stem}.md"
    path.write_text(text, encoding="utf-8")
    written = [records.path, path, *noise.draw(errors, options.out, stem)]
    if options.json:
        print_json({"errors": {str(share): of for share, of in errors.items()}, "written": [str(f) for f in written]})
    else:
        sys.stdout.write(f"{text}\nWritten: {', '.join(str(file) for file in written)}\n")
    return 0
