"""Other threads of the user's, which draw random numbers and train models while a trace runs."""

from __future__ import annotations

import contextlib
import gc
import itertools
import operator
import sys
import threading
from collections.abc import Iterator
from types import FrameType

from ..internal import HERE, is_users

# Libraries that call back into the user's code from threads of their own.
_CALLING = ("/keras/", "/tf_keras/")
_DEEPEST = 1000


def stacks() -> Iterator[tuple[int, list[FrameType]]]:
    """Each other thread's identity and frames, the innermost first."""
    own = threading.get_ident()
    for thread in threading.enumerate():
        if thread.ident is not None and thread.ident != own:
            yield thread.ident, _frames(thread.ident)


def _frames(ident: int) -> list[FrameType]:
    """The frames of one thread, all of them taken before it runs on.

    Where it runs on between two steps of the way up, the interpreter may follow a frame that is gone, and crash; so all steps are made
    inside of a single call, which nothing written in Python interrupts. Before CPython 3.11.9 and 3.12.3 the interpreter holds its lock
    while it lists the frames: a collection of garbage that begins then, and frees what needs the lock, never ends
    (python/cpython#106883).
    """
    innermost = map(operator.itemgetter(ident), iter(sys._current_frames, None))
    way = itertools.accumulate(itertools.chain(itertools.islice(innermost, 1), itertools.repeat("f_back", _DEEPEST)), getattr)
    found: list[FrameType | None] = []
    collects = gc.isenabled()
    gc.disable()
    try:
        # A thread that has ended has no frames, and nothing is behind the outermost one.
        with contextlib.suppress(KeyError, AttributeError):
            found.extend(way)
    finally:
        if collects:
            gc.enable()
    return [frame for frame in found if frame is not None]


def at_work() -> bool:
    """Whether another thread runs code of the user's."""
    return any(_calls(frame.f_code.co_filename) for _, stack in stacks() for frame in stack)


def _calls(file: str) -> bool:
    return is_users(file) or (any(word in file for word in _CALLING) and not file.startswith((HERE, "<")))
