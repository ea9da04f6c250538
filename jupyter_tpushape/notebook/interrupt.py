"""Interrupts one piece of work on the main thread, and nothing that runs after it."""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Any

# Seconds until it is told again, and how often; each wait is twice the one before.
AGAIN, TIMES = 0.05, 8
# A signal that comes so many seconds after the last one that was sent is somebody else's.
LATE = 1.0


class Cancelled(KeyboardInterrupt):
    """A trace was cancelled, or made way; handled like Ctrl-C."""


class Interruptible:
    """Another thread may end what runs inside with ``Cancelled``, if it is entered on the main thread.

    A plain signal can be late: one that comes just before a wait is heard when the wait is over, and one that comes when the work has just
    ended hits the next cell. So the work hears its signals itself, is told again until it has heard one, and listens until nothing more
    is on its way.
    """

    def __init__(self) -> None:
        self.listens = self.told = False
        self._inside = self._asked = False
        self._heard = threading.Event()
        self._lock = threading.Lock()
        self._last = 0.0
        self._before: Any = None

    def __enter__(self) -> None:
        main = threading.current_thread() is threading.main_thread() and hasattr(signal, "pthread_kill")
        # A handler that was not set from Python cannot be set again.
        if main and signal.getsignal(signal.SIGINT) is not None:
            self._before = signal.signal(signal.SIGINT, self._signalled)
            self._inside = self.listens = True

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Stops listening. The cancellation itself may cut this short, once: call it again behind the block."""
        self._inside = False
        # Whoever is sending a signal has sent it; Python hears it before it changes who listens.
        with self._lock:
            before, self._before = self._before, None
        if before is not None:
            signal.signal(signal.SIGINT, before)

    def cancel(self) -> None:
        """Called on another thread: returns when the work has heard it or has ended."""
        thread = threading.main_thread().ident
        self._asked = True
        wait = AGAIN
        for _ in range(TIMES):
            with self._lock:
                if not self._inside or thread is None:
                    return
                self._last = time.monotonic()
                signal.pthread_kill(thread, signal.SIGINT)
            if self._heard.wait(wait):
                return
            wait *= 2

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if self._asked and self._inside and not self.told:
            self.told = True
            self._heard.set()
            starts = _thread_start(frame)
            if starts is None:
                raise Cancelled
            _raise_behind(starts)
            return
        if self._asked and time.monotonic() - self._last < LATE:
            return
        if callable(self._before):
            self._before(number, frame)
        elif self._before != signal.SIG_IGN:
            raise KeyboardInterrupt


def _thread_start(frame: FrameType | None) -> FrameType | None:
    """The call of ``Thread.start`` that runs, if one does: an exception inside it can leave one lock in two hands, and the newborn dies of it."""
    while frame is not None and frame.f_code.co_filename == threading.__file__:
        if frame.f_code.co_name == "start":
            return frame
        frame = frame.f_back
    return None


def _raise_behind(frame: FrameType) -> None:
    before = sys.getprofile()

    def returned(one: FrameType, event: str, _: Any) -> None:
        if one is frame and event == "return":
            sys.setprofile(before)
            raise Cancelled

    sys.setprofile(returned)
