"""The thirteen datasets inside the package; `tools/build_datasets.py` makes their files."""

from __future__ import annotations

import csv
import gzip
from importlib.resources import files
from typing import Any

import numpy as np

from offsettree._features import Features
from offsettree._optional import require
from offsettree.datasets.dataset import Dataset
from offsettree.exceptions import ParameterError

__all__ = ["NAMES", "load"]

# Creators and years as in the UCI repository; data/README.md has details.
SOURCES = {
    "ecoli": "Ecoli (K. Nakai, 1996)",
    "flare": "Solar Flare (G. Bradshaw, 1989)",
    "glass": "Glass Identification (B. German, 1987)",
    "letter": "Letter Recognition (D. Slate, 1991)",
    "lymph": "Lymphography (M. Zwitter and M. Soklic, 1988)",
    "optdigits": "Optical Recognition of Handwritten Digits (E. Alpaydin and C. Kaynak, 1998)",
    "page-blocks": "Page Blocks Classification (D. Malerba, 1995)",
    "pendigits": "Pen-Based Recognition of Handwritten Digits (E. Alpaydin and F. Alimoglu, 1996)",
    "satimage": "Statlog, Landsat Satellite (A. Srinivasan, 1993)",
    "soybean": "Soybean, Large (R. S. Michalski and R. L. Chilausky, 1980)",
    "vehicle": "Statlog, Vehicle Silhouettes (P. Mowforth and B. Shepherd, Turing Institute, Glasgow)",
    "vowel": "Connectionist Bench, Vowel Recognition (D. Deterding, M. Niranjan and T. Robinson)",
    "yeast": "Yeast (K. Nakai, 1991)",
}

NAMES = tuple(sorted(SOURCES))

# Numeric features of the datasets that have nominal ones. A feature is nominal if its source declares it so, or if it
# identifies a person: the speaker of vowel, and the speaker's sex.
NUMBERS: dict[str, tuple[str, ...]] = {
    "flare": (),
    "lymph": ("Lym_nodes_dimin", "Lym_nodes_enlar", "No_of_nodes_in"),
    "soybean": (),
    "vowel": tuple(f"f{measure}" for measure in range(10)),
}


def load(name: str, *, as_frame: bool = False) -> Dataset:
    """Load a dataset of the paper's Table 1 from the package; nothing is downloaded.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    as_frame : bool, default=False
        Whether X is a pandas frame even if all features are numeric. With nominal features it always is.

    Returns
    -------
    Dataset
        With its `X`, `y`, `feature_names`, `nominal`, `classes`, `n_actions` and `source`.

    Examples
    --------
    >>> load("letter")
    <Dataset letter: 20,000 rows, 16 features, 26 actions>
    >>> load("soybean").X[["date", "hail"]].tail(2)
          date hail
    681  april  NaN
    682   june  NaN
    """
    if not isinstance(name, str) or name not in NAMES:
        raise ParameterError(f"name must be one of {', '.join(NAMES)}; got {name!r}.")
    header, *rows = _read(name)
    *feature_names, _ = header
    *columns, labels = zip(*rows, strict=True)
    nominal = [feature for feature in feature_names if feature not in NUMBERS.get(name, feature_names)]
    X: Features
    if nominal or as_frame:
        X = _as_frame(dict(zip(feature_names, columns, strict=True)), nominal)
    else:
        X = np.array(columns, dtype=np.float64).T.copy()
    return Dataset(
        name,
        X,
        np.array(labels),
        feature_names=tuple(feature_names),
        nominal=tuple(nominal),
        source=f"UCI Machine Learning Repository: {SOURCES[name]}",
    )


def _read(name: str) -> list[list[str]]:
    packed = files("offsettree.datasets").joinpath("data", f"{name}.csv.gz").read_bytes()
    return list(csv.reader(gzip.decompress(packed).decode().splitlines()))


def _as_frame(columns: dict[str, tuple[str, ...]], nominal: list[str]) -> Any:
    pandas = require("pandas", extra="data")
    return pandas.DataFrame(
        {
            # Missing values are empty strings in the file; None keeps them from becoming a category.
            name: pandas.Categorical([value or None for value in values])
            if name in nominal
            else np.array(values, dtype=np.float64)
            for name, values in columns.items()
        }
    )
