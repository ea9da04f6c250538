"""Edits as changes of source text."""

from .changes import change
from .words import NoPlace, constructor, literal, loss_code

__all__ = ["NoPlace", "change", "constructor", "literal", "loss_code"]
