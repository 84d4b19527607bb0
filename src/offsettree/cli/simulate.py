"""``offsettree simulate``: a log with known true rewards, to try things on."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from offsettree.cli._options import add_common_options
from offsettree.cli._output import print_json, print_line
from offsettree.exceptions import ParameterError

__all__ = ["EXAMPLE", "configure"]

EXAMPLE = "offsettree simulate campaign --rows 20000 -o campaign.csv"


def configure(command: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    command.add_argument(
        "dataset",
        metavar="DATASET",
        help="campaign (synthetic), catalogue (synthetic: items with features that come and go, a list of eligible "
        "ones per row), or one of the paper's datasets: ecoli, flare, glass, letter, ...",
    )
    command.add_argument(
        "-o", "--out", type=Path, required=True, help="file to write: .csv, .csv.gz, .parquet, .ndjson or .arrow"
    )
    command.add_argument("--rows", type=int, help="number of rows (default: 20,000; the paper's datasets: all)")
    command.add_argument(
        "--logging",
        choices=["uniform", "skewed"],
        default="uniform",
        help="for the paper's datasets: every action equally likely, or some up to ten times as likely (default: "
        "uniform)",
    )
    group = command.add_argument_group("catalogue")
    group.add_argument("--items", type=int, help="items in all (default: 100)")
    group.add_argument("--eligible", type=int, metavar="N", help="items that each decision is among (default: 10)")
    group.add_argument(
        "--nonlinear", action="store_true", help="context and item meet by distance and thresholds, not in products"
    )
    group.add_argument("--days", type=int, help="days of the log, in which items come and go (default: 20)")
    group.add_argument(
        "--items-out",
        type=Path,
        metavar="FILE",
        help="write the items' features to a second table, and lists of ids to the log (CSV: OUT-items.csv)",
    )
    add_common_options(command, seed=True)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Draw a log and write it."""
    import pyarrow as pa

    from offsettree.logs import write_table
    from offsettree.logs.writers import check_output

    if options.rows is not None and options.rows < 1:
        raise ParameterError(f"--rows must be at least 1; got {options.rows}.")
    check_output(options.out)
    items = None
    if options.dataset == "catalogue":
        columns, items = _catalogue(options)
    else:
        _refuse_catalogue_options(options)
        columns = _campaign(options) if options.dataset == "campaign" else _labelled(options)
    table = pa.table({name: _as_arrow(values) for name, values in columns.items()})
    write_table(options.out, _once(table))
    facts = {
        "rows": len(table),
        "columns": table.column_names,
        "mean_reward": float(table["reward" if items else table.column_names[-2]].to_numpy().mean()),
        "out": str(options.out),
    }
    if items:
        path, features = items
        facts["items"] = None if path is None else str(path)
        if path is not None:
            write_table(path, _once(pa.table({name: _as_arrow(values) for name, values in features.items()})))
    if options.json:
        print_json(facts)
    else:
        second = f" and {facts['items']}" if facts.get("items") else ""
        print_line(f"{len(table):,} decisions, mean reward {facts['mean_reward']:.4f}. Written {options.out}{second}")
    return 0


def _refuse_catalogue_options(options: argparse.Namespace) -> None:
    given = {"items": options.items, "eligible": options.eligible, "days": options.days, "items-out": options.items_out}
    for name, value in (given | {"nonlinear": options.nonlinear or None}).items():
        if value is not None:
            raise ParameterError(f"--{name} is for the catalogue; DATASET is {options.dataset!r}. Leave it out.")


def _catalogue(options: argparse.Namespace) -> tuple[dict[str, Any], tuple[Path | None, dict[str, Any]]]:
    """Return the columns of the log, where to write the items, and their columns; nowhere if rows bring them."""
    from offsettree.logs import simulate_catalogue
    from offsettree.logs.writers import check_output

    made = simulate_catalogue(
        options.rows or 20_000,
        options.items or 100,
        options.eligible or 10,
        kind="nonlinear" if options.nonlinear else "linear",
        n_days=options.days or 20,
        random_state=options.seed,
    )
    log, sets = made.log, made.sets
    is_text = ".csv" in options.out.suffixes or ".tsv" in options.out.suffixes
    path = options.items_out or (options.out.with_name(f"{options.out.stem}-items.csv") if is_text else None)
    if path is not None:
        check_output(path)
    table: Any = sets.items
    names = [f"item_{j}" for j in range(table.shape[1])]
    X: Any = log.X
    columns: dict[str, Any] = {"day": made.day, **{f"user_{j}": X[:, j].round(4) for j in range(X.shape[1])}}
    if path is None:
        features = table.round(4).tolist()
        described = [{"id": i, **dict(zip(names, row, strict=True))} for i, row in enumerate(features)]
        columns["eligible"] = [[described[i] for i in each] for each in sets]
    else:
        columns["eligible"] = ["|".join(map(str, each)) for each in sets] if is_text else list(sets)
    columns |= {"action": log.action, "reward": log.reward, "propensity": log.propensity}
    features = {"id": range(len(table)), **{name: table[:, j].round(4) for j, name in enumerate(names)}}
    return columns, (path, features)


def _campaign(options: argparse.Namespace) -> dict[str, Any]:
    from offsettree.datasets import make_campaign

    return make_campaign(options.rows or 20_000, random_state=options.seed).columns


def _labelled(options: argparse.Namespace) -> dict[str, Any]:
    import numpy as np

    from offsettree import datasets
    from offsettree._features import is_frame
    from offsettree.logs import simulate_log

    if options.dataset not in datasets.NAMES:
        raise ParameterError(
            f"DATASET must be campaign, catalogue or one of {', '.join(datasets.NAMES)}; got {options.dataset!r}."
        )
    data = datasets.load(options.dataset)
    random = np.random.default_rng(options.seed)
    logging: Any = "uniform"
    if options.logging == "skewed":
        # A random stream of its own: the frequent actions must not depend on the number of rows drawn.
        exponents = np.random.default_rng([options.seed, 1]).permutation(data.n_actions) / max(1, data.n_actions - 1)
        logging = 10**exponents / (10**exponents).sum()
    log = simulate_log(data.X, data.y, logging, int(random.integers(2**31)))
    if options.rows is not None:
        if options.rows > len(log):
            raise ParameterError(
                f"--rows must be at most {len(log):,}, all of {options.dataset}; got {options.rows:,}."
            )
        log = log[np.sort(random.permutation(len(log))[: options.rows])]
    features = (
        {str(name): log.X[name] for name in log.X.columns}
        if is_frame(log.X)
        else {name: log.X[:, i] for i, name in enumerate(data.feature_names)}
    )
    return features | {"action": log.action, "reward": log.reward, "propensity": log.propensity}


def _as_arrow(values: Any) -> Any:
    import pyarrow as pa

    array = pa.array(values, from_pandas=True)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _once(table: Any) -> Iterator[Any]:
    yield table
