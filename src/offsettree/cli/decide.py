"""``offsettree decide``: a policy's decisions for the rows of a file of any size."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from offsettree.cli._action_sets import add_action_options, policy_sets
from offsettree.cli._decide_among import decide_among, decisions_of
from offsettree.cli._options import (
    add_common_options,
    add_reading_options,
    column_types,
    reading_arguments,
    refuse_to_overwrite,
    require_files,
)
from offsettree.cli._output import print_json, print_line
from offsettree.exceptions import ParameterError
from offsettree.facts import Facts, SetFacts

__all__ = ["EXAMPLE", "configure"]

EXAMPLE = "offsettree decide policy.ot customers.csv --keep customer_id -o decisions.csv"
CHUNK_ROWS = 1 << 16


def configure(command: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    command.add_argument("policy", type=Path, metavar="POLICY", help="a policy file")
    command.add_argument("data", type=Path, metavar="DATA", help="rows to decide on: a file, or a folder of files")
    command.add_argument(
        "-o",
        "--out",
        type=Path,
        help="file to write: .csv, .csv.gz, .parquet, .ndjson or .arrow (default: print as CSV)",
    )
    command.add_argument("--keep", metavar="COL", nargs="+", default=[], help="columns of DATA to copy to the output")
    command.add_argument("--rank", type=int, metavar="N", help="write the N best actions, best first, one per column")
    add_action_options(command)
    add_reading_options(command)
    add_common_options(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Stream rows through the policy."""
    require_files(options.policy, options.data)
    import pyarrow as pa

    from offsettree.cli._row_encoder import encoder_for
    from offsettree.logs import write_table
    from offsettree.logs.readers import table_of
    from offsettree.logs.writers import check_output
    from offsettree.policy_file import load_any

    if options.json and options.out is None:
        raise ParameterError("--json prints a summary: give -o FILE for the decisions.")
    if options.out is not None:
        check_output(options.out)
        refuse_to_overwrite(options.out, [options.data, options.policy], "--out")
    policy = load_any(options.policy)
    known = Facts.read(policy.manifest.get("facts")).log
    over_sets = getattr(policy, "takes_action_sets", False)
    sets = policy_sets(options, options.data, (known.sets or SetFacts()) if over_sets else None)
    reserved = {"row", "decision", *(f"decision_{place + 1}" for place in range(options.rank or 0))}
    if clash := [name for name in options.keep if name in reserved]:
        raise ParameterError(
            f"--keep must not name {clash[0]!r}: the output has a column of that name. Rename it in the data."
        )
    counts: dict[Any, int] = {}
    n_rows = 0

    def count(decision: Any) -> None:
        nonlocal n_rows
        for label in decision.tolist():
            counts[label] = counts.get(label, 0) + 1
        n_rows += len(decision)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{n_rows:,} rows")
            sys.stderr.flush()

    def clear() -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")

    def decided() -> Iterator[pa.Table]:
        if sets is not None:
            for columns, decision in decide_among(policy, known, sets, options, CHUNK_ROWS):
                count(decision)
                yield pa.table(columns)
            clear()
            return
        encoder = encoder_for(policy, options.policy)
        for chunk in _chunks(options, encoder, [*encoder.names_in, *options.keep]):
            table = table_of(chunk)
            columns = {"row": pa.array(range(n_rows + 1, n_rows + len(table) + 1))}
            columns |= {name: table[name] for name in options.keep}
            X = encoder.encode(table, where=chunk.source, first_row=chunk.first_row)
            decision, written = decisions_of(policy, options.rank, X)
            count(decision)
            yield pa.table(columns | written)
        clear()

    if options.out is None:
        _print_csv(decided())
        return 0
    write_table(options.out, decided())
    if options.json:
        print_json({"rows": n_rows, "decisions": counts, "out": str(options.out)})
    else:
        top = sorted(counts.items(), key=lambda item: -item[1])
        shares = ", ".join(f"{label} {100 * count / n_rows:.1f} %" for label, count in top[:8])
        print_line(f"{n_rows:,} decisions: {shares}{', ...' * (len(top) > 8)}")
        print_line(f"Written {options.out}")
    return 0


def _chunks(options: argparse.Namespace, encoder: Any, columns: list[str]) -> Iterator[Any]:
    """Read the given columns; nominal columns are read as text even if all their values look like numbers."""
    from offsettree.logs.readers import open_reader

    types = column_types(options, options.data, encoder)
    reader = open_reader(options.data, types=types, **reading_arguments(options))
    return reader.chunks(list(dict.fromkeys(columns)), CHUNK_ROWS)


def _print_csv(tables: Iterator[Any]) -> None:
    import pyarrow.csv

    for place, table in enumerate(tables):
        text = pyarrow.BufferOutputStream()
        pyarrow.csv.write_csv(table, text, pyarrow.csv.WriteOptions(include_header=place == 0, quoting_style="needed"))
        sys.stdout.write(text.getvalue().to_pybytes().decode())
    sys.stdout.flush()
