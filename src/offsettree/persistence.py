"""The former place of `offsettree.policy_file`, for programs that import from here."""

from offsettree.policy_file import export_onnx, load, save

__all__ = ["export_onnx", "load", "save"]
