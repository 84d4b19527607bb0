"""The paper's datasets (packaged, generated or downloaded), svmlight files, and a simulated campaign."""

from offsettree.datasets.campaign import Campaign, make_campaign
from offsettree.datasets.dataset import Dataset
from offsettree.datasets.downloaded import load_rcv1_topics
from offsettree.datasets.packaged import NAMES, load
from offsettree.datasets.svmlight import load_svmlight
from offsettree.datasets.synthetic import make_synsep
from offsettree.datasets.text import TEXTS, load_text

__all__ = [
    "NAMES",
    "TEXTS",
    "Campaign",
    "Dataset",
    "load",
    "load_rcv1_topics",
    "load_svmlight",
    "load_text",
    "make_campaign",
    "make_synsep",
]
