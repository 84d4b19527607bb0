"""Tables to numbers: one encoder, for frames in bulk and for one raw row."""

from offsettree.encoding.table_encoder import TableEncoder

__all__ = ["TableEncoder"]
