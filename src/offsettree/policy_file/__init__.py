"""Policies in files: safe to load from a stranger, and decided by without scikit-learn."""

from typing import TYPE_CHECKING

from offsettree._lazy import names_on_demand

if TYPE_CHECKING:
    from offsettree.policy_file.action_policies import load_action_policy
    from offsettree.policy_file.files import export_onnx, load, load_any, save
    from offsettree.policy_file.saved import SavedPolicy

__all__ = ["SavedPolicy", "export_onnx", "load", "load_action_policy", "load_any", "save"]

__getattr__ = names_on_demand(
    __name__,
    {
        "action_policies": ("load_action_policy",),
        "files": ("export_onnx", "load", "load_any", "save"),
        "saved": ("SavedPolicy",),
    },
)
