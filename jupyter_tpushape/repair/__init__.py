"""Findings -> candidate edits -> verified fixes, ranked."""

from .layouts import mend
from .search import propose, suggest

__all__ = ["mend", "propose", "suggest"]
