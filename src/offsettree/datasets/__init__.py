"""The datasets of the paper: Table 1's inside the package, section 7.2's generated, downloaded or of one's own."""

from offsettree.datasets.dataset import Dataset
from offsettree.datasets.downloaded import load_rcv1_topics
from offsettree.datasets.packaged import NAMES, load
from offsettree.datasets.svmlight import load_svmlight
from offsettree.datasets.synthetic import make_synsep

__all__ = ["NAMES", "Dataset", "load", "load_rcv1_topics", "load_svmlight", "make_synsep"]
