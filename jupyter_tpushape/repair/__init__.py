"""Findings -> candidate edits -> fixes that were tried, ranked."""

from .layouts import mend
from .search import propose, suggest

__all__ = ["mend", "propose", "suggest"]
