"""The datasets of the paper's Table 1, inside the package."""

from offsettree.datasets.dataset import Dataset
from offsettree.datasets.packaged import NAMES, load

__all__ = ["NAMES", "Dataset", "load"]
