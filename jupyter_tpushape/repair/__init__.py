"""Findings -> candidate edits -> fixes that were tried, ranked."""

from .search import propose, suggest

__all__ = ["propose", "suggest"]
