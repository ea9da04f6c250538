"""Findings -> candidate edits -> fixes that were tried, ranked."""

from .search import propose

__all__ = ["propose"]
