"""One kind of message that the catalogue knows."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """One kind of message. ``means`` and ``todo`` may name the pattern's groups; ``rule`` is an id of the register, or ``""``.

    ``family``: what many messages have in common; it speaks only where nothing more telling does.
    """

    rule: str
    pattern: re.Pattern[str]
    means: str
    todo: str
    family: bool = False


def known(rule: str, pattern: str | tuple[str, ...], means: str, todo: str, *, family: bool = False) -> Known:
    """An entry of the catalogue; several patterns are alternatives."""
    whole = pattern if isinstance(pattern, str) else "|".join(pattern)
    return Known(rule, re.compile(whole, re.DOTALL), means, todo, family)
