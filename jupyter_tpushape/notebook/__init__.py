"""IPython: the magics, and one line under a traceback."""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext jupyter_tpushape``."""
    from .extension import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext jupyter_tpushape``: takes everything away."""
    from .extension import unload

    unload(shell)
