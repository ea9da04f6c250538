"""Edits as changes of source text."""

from .changes import change
from .expressions import code, map_code
from .words import NoPlace, constructor, literal, loss_code, with_import

__all__ = ["NoPlace", "change", "code", "constructor", "literal", "loss_code", "map_code", "with_import"]
