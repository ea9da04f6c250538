"""A time limit on code of the user's that a trace calls: a layer, a builder or a pipeline may loop for ever or wait for what never comes."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ..flow.text import words

SECONDS = 120.0
_LONGEST = 1e6
# A loop that catches every Exception is told again, and at last by what it does not catch.
AGAIN, POLITE = 0.5, 4
# Memory is looked at this often, where it has a limit.
LOOK = 0.1
# The interpreter looks for an exception that was handed over at every turn of a loop.
_STEPS = 1000


# The interrupts that are a limit's own, and not Ctrl-C.
sent: list[int] = []
# What the user's code may end with; Ctrl-C is the user's own and goes on.
ENDS = (Exception, SystemExit)
ADVICE = "Set TPUSHAPE_TIMEOUT to change the limit"


class TimeUp(TimeoutError):
    """The user's code ran longer than a trace waits."""


def timed_out(error: BaseException | None) -> bool:
    """Whether this came of the time limit, also where a framework put it in other words."""
    return isinstance(error, TimeUp) or (error is not None and ADVICE in words(error))


def late(error: BaseException) -> BaseException | None:
    """The limit's own exception, where what was left in a hurry raised something else: a context manager's end that finds itself half begun."""
    at: BaseException | None = error
    for _ in range(20):
        if at is None or isinstance(at, (TimeUp, _Stopped)):
            return at
        at = at.__cause__ or at.__context__
    return None


def patience() -> float:
    """Seconds that one phase of the user's program may take: ``TPUSHAPE_TIMEOUT``, else 120."""
    try:
        seconds = float(os.environ.get("TPUSHAPE_TIMEOUT", SECONDS))
    except ValueError:
        return SECONDS
    # No clock waits for an infinite time.
    return SECONDS if math.isnan(seconds) else min(max(0.1, seconds), _LONGEST)


def resident(column: int = 1) -> int:
    """Bytes of memory that this process holds, or, with ``column=5``, may write to."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[column]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


@contextlib.contextmanager
def _room(memory: int) -> Iterator[None]:
    """Inside, the system gives the process no more than ``memory`` bytes beyond what it has: one call in C can take all that there is before
    anybody looks."""
    held = resident(5) if memory else 0
    if not held:
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [limit for limit in before if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min([held + memory, *limits]), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


@contextlib.contextmanager
def limited(what: str, seconds: float | None = None, memory: int = 0) -> Iterator[None]:
    """Raises :class:`TimeUp` inside the block when its time is up, or when the process has grown by ``memory`` bytes; inside another such
    block nothing is added.

    Python code stops at its next line; a wait (a lock, a sleep) stops on the main thread only. Code in C that never returns is
    beyond reach: Ctrl-C does not stop it either.
    """
    if getattr(_here, "inside", False):
        yield
        return
    limit = patience() if seconds is None else seconds
    watch = _Watch(what, limit, memory)
    _here.inside = True
    _finalizers.enter()
    watch.start()
    try:
        with _room(memory):
            yield
    except _Stopped as error:
        raise TimeUp(watch.message) from error
    except MemoryError as error:
        if not memory:
            raise
        raise TimeUp(watch.swollen) from error
    finally:
        try:
            watch.stop()
        finally:
            _finalizers.leave()
            _here.inside = False


_here = threading.local()


class _Finalizers:
    """A limit that is up while a finalizer or a weak reference's callback runs: Python drops the exception there and reports it.

    The limit says it again soon after, so that report is no news; all others go where they went.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.blocks = 0
        self.before: Any = None
        # One object: a method is another one at each look.
        self.hook = self._report

    def enter(self) -> None:
        with self.lock:
            self.blocks += 1
            if self.blocks == 1:
                self.before, sys.unraisablehook = sys.unraisablehook, self.hook

    def leave(self) -> None:
        with self.lock:
            self.blocks -= 1
            # One that was set since then is the user's own.
            if self.blocks == 0 and sys.unraisablehook is self.hook:
                sys.unraisablehook = self.before

    def _report(self, dropped: Any) -> None:
        if not issubclass(dropped.exc_type, (TimeUp, _Stopped)):
            self.before(dropped)


_finalizers = _Finalizers()


class _Watch:
    """A timer that interrupts the thread that it was made on."""

    def __init__(self, what: str, seconds: float, memory: int) -> None:
        self.most = memory and resident() + memory
        self.message = f"{what} was stopped after {seconds:g} seconds. {ADVICE}"
        self.swollen = f"{what} was stopped because it uses more memory than a model's configuration needs"
        self.seconds = seconds
        self.thread = threading.get_ident()
        self.told = 0
        self.handed_over = False
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.timer: threading.Thread | None = None
        self.before: Any = None

    def start(self) -> None:
        # Without a thread (none can be started) there is no limit; the trace itself is worth more.
        with contextlib.suppress(RuntimeError):
            self.timer = threading.Thread(target=self._wait, name="tpushape-limit", daemon=True)
            self.timer.start()
        main = threading.current_thread() is threading.main_thread() and hasattr(signal, "pthread_kill")
        # One that was not set from Python cannot be set again.
        if main and signal.getsignal(signal.SIGINT) is not None:
            self.before = signal.signal(signal.SIGINT, self._signalled)

    def stop(self) -> None:
        self.over.set()
        try:
            if self.timer is not None and self.timer.is_alive():
                self.timer.join(1)
            with self.lock:
                if self.handed_over:
                    take_back(self.thread, _Late, _Stopped)
        finally:
            if self.before is not None:
                signal.signal(signal.SIGINT, self.before)

    def _wait(self) -> None:
        wait = self.seconds
        while not self._over_within(wait):
            wait = AGAIN
            with self.lock:
                if self.over.is_set() or sys.is_finalizing():
                    return
                self.told += 1
                if self.before is not None:
                    sent.append(signal.SIGINT)
                    signal.pthread_kill(self.thread, signal.SIGINT)
                else:
                    kind = _Late if self.told <= POLITE else _Stopped
                    _said.message = self.message
                    self.handed_over = True
                    hand_over(self.thread, kind)

    def _over_within(self, seconds: float) -> bool:
        if not self.most:
            return self.over.wait(seconds)
        end = time.monotonic() + seconds
        while not self.over.wait(min(LOOK, max(0.0, end - time.monotonic()))):
            if resident() > self.most:
                self.message = self.swollen
                return False
            if time.monotonic() >= end:
                return False
        return True

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if not self.told and callable(self.before):
            self.before(number, frame)
            return
        if not self.told and self.before == signal.SIG_IGN:
            return
        if not self.told:
            raise KeyboardInterrupt
        if not self.over.is_set():
            raise (TimeUp if self.told <= POLITE else _Stopped)(self.message)


def hand_over(thread: int, kind: type[BaseException]) -> None:
    """Raises it on a thread, at the next step of Python code there.

    A thread that is starting another one is waited for: before Python 3.12 the newborn goes by its parent's number for a moment, and would
    be hit in its place. It would die unseen, and its parent would wait for it for ever.
    """
    for _ in range(_BIRTH):
        if thread == threading.get_ident() or not _starts_another(thread):
            break
        time.sleep(0.001)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))


# Looks for the end of a thread's start, a millisecond apart.
_BIRTH = 1000


def _starts_another(thread: int) -> bool:
    frame = sys._current_frames().get(thread)
    while frame is not None:
        if frame.f_code is threading.Thread.start.__code__:
            return True
        frame = frame.f_back
    return False


def take_back(thread: int, kind: type[BaseException], *others: type[BaseException]) -> None:
    """What was handed over to this thread and not yet raised is raised here, and dropped.

    To clear it instead would leave CPython looking for it at every step, and under a profiler for ever.
    """
    with contextlib.suppress(kind, *others):
        hand_over(thread, kind)
        for _ in range(_STEPS):
            pass


class _Said:
    """Another thread can hand over an exception's class only: the message waits here."""

    message = ""


_said = _Said()


class _Late(TimeUp):
    def __init__(self, *args: object) -> None:
        super().__init__(*(args or (_said.message,)))


class _Stopped(BaseException):
    """For a loop that catches every ``Exception``."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(args or (_said.message,)))


_Late.__name__ = _Late.__qualname__ = TimeUp.__name__
