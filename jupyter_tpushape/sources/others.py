"""Other threads of the user's, which draw random numbers and train models while a trace runs."""

from __future__ import annotations

import gc
import sys
import sysconfig
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

_HERE = str(Path(__file__).resolve().parents[1])
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib", "platstdlib")})
# Libraries that call back into the user's code from threads of their own.
_CALLING = ("/keras/", "/tf_keras/")


def stacks() -> Iterator[list[FrameType]]:
    """The frames of each other thread, the innermost first."""
    own = threading.get_ident()
    for ident, frame in _frames().items():
        if ident == own:
            continue
        stack: list[FrameType] = []
        at: FrameType | None = frame
        while at is not None and len(stack) < 1000:
            stack.append(at)
            at = at.f_back
        yield stack


def _frames() -> dict[int, FrameType]:
    """The innermost frame of each thread.

    Before CPython 3.11.9 and 3.12.3 the interpreter holds its lock while it makes this dict: a collection of garbage that begins
    then, and frees what needs the lock, never ends (python/cpython#106883).
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return dict(sys._current_frames())
    finally:
        if collects:
            gc.enable()


def at_work() -> bool:
    """Whether another thread runs code of the user's."""
    return any(_calls(frame.f_code.co_filename) for stack in stacks() for frame in stack)


def _calls(file: str) -> bool:
    return is_users(file) or (any(word in file for word in _CALLING) and not file.startswith((_HERE, "<")))


def is_users(file: str) -> bool:
    """Whether code of this file is the user's own."""
    if file.startswith((_HERE, "<frozen")):
        return False
    if file.startswith("<"):
        return file.startswith(("<ipython-input", "<cell", "<string>"))
    return not file.startswith(_LIBRARIES) and "site-packages" not in file
