"""Where data that was named in a notebook comes from: the variables that hold it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def in_variables(shell: Any, typed: str, data: Any) -> Iterator[None]:
    """While this lasts, ``data`` is known to be the value of ``typed``, such as ``ds`` or ``x, y``. A function that makes the data speaks for itself."""
    from ..examine import HANDED, is_builder

    cells = getattr(getattr(shell, "compile", None), "_filename_map", None)
    if not typed or not cells or is_builder(data):
        yield
        return
    from ..trace.locations import Variables

    token = HANDED.set(Variables.typed(list(cells)[-1], typed))
    try:
        yield
    finally:
        HANDED.reset(token)
