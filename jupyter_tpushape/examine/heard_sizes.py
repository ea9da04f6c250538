"""Sizes as messages write them."""

from __future__ import annotations

import re

from ..flow import Shape


def sizes_of(text: str) -> Shape:
    """The shape that a message gives as sizes between commas; what is no number is unknown."""
    return tuple(int(part) if part.strip().isdigit() else None for part in text.split(",") if part.strip())


def either_of(found: re.Match[str], *groups: int) -> str:
    """What the first of these groups that took part in a match has: nothing at all is the shape of a scalar."""
    return next((found[group] for group in groups if found[group] is not None), "")
