"""Findings -> candidate edits -> verified fixes, ranked."""

from .layouts import mend
from .search import propose

__all__ = ["mend", "propose"]
