"""One kind of message in the catalog of known messages."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """One kind of message. ``means`` and ``todo`` may use the pattern's groups; ``rule`` is the id of a rule, or ``""``.

    ``family``: matches many messages; used only if no specific entry matches.
    """

    rule: str
    pattern: re.Pattern[str]
    means: str
    todo: str
    family: bool = False


def known(rule: str, pattern: str | tuple[str, ...], means: str, todo: str, *, family: bool = False) -> Known:
    """An entry of the catalog; several patterns are alternatives."""
    whole = pattern if isinstance(pattern, str) else "|".join(pattern)
    return Known(rule, re.compile(whole, re.DOTALL), means, todo, family)
