"""``python -m jupyter_tpushape``: the command ``tpushape``, where its script is not on the path."""

from __future__ import annotations

import contextlib
import os
import sys


def _start() -> int:
    """Runs the command. The folder where it was typed, in which Python looks first, is no place for what the command itself imports: a
    program's folder may contain a json.py."""
    here: list[str] = []
    with contextlib.suppress(OSError):  # the folder may be gone
        if sys.path and os.path.abspath(sys.path[0]) == os.getcwd():  # noqa: PTH100, PTH109
            here = [sys.path.pop(0)]
    try:
        from .cli import main
    finally:
        sys.path[:0] = here
    return main()


if __name__ == "__main__":
    sys.exit(_start())
