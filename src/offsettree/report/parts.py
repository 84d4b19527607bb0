"""Parts of the page that other pages are made of: escaped markup, and the style sheet."""

from offsettree.report._html import Html, element, escape, join, label, paragraph
from offsettree.report._style import DARK, LIGHT, style

__all__ = ["DARK", "LIGHT", "Html", "element", "escape", "join", "label", "paragraph", "style"]
