"""What a front end calls in the kernel, by name: ``src/lab/kernel.ts`` has no other door."""

from __future__ import annotations

from .comm import register, run
from .extension import load

__all__ = ["connect", "run"]


def connect(hints: bool = True) -> None:
    """Loads the extension, so that the cells run from now on are known by their lines; called first."""
    from IPython import get_ipython

    shell = get_ipython()
    load(shell)
    register(shell)
    shell._tpushape.hints = hints
