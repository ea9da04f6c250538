"""What a kernel does on its cells' thread when no cell runs or waits. It ends as soon as a message comes for that thread."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import threading
from collections.abc import Callable
from typing import Any

from .interrupt import Interruptible

# After so many seconds a cell's answer is out; and this often it is looked whether a message has come.
LOOK = 0.05


class Idle:
    """A kernel's cells' thread, between its messages."""

    def __init__(self, inbox: Any) -> None:
        self.inbox = inbox
        self._next: asyncio.TimerHandle | None = None

    @classmethod
    def of(cls, shell: Any) -> Idle | None:
        """``None`` where cells do not come as messages."""
        kernel = getattr(shell, "kernel", None)
        if kernel is None:
            return None
        try:
            beside = kernel.shell_channel_thread
            return cls(beside.manager.get_shell_channel_to_subshell_pair(None).to_stream)
        except AttributeError:  # a kernel without subshells reads its messages on this thread
            return cls(kernel.shell_stream)

    def come(self) -> bool:
        """Whether a message waits."""
        return bool(self.inbox.socket.poll(0))

    def soon(self, work: Callable[[], None]) -> None:
        """Calls it, and nothing that was put off before, when the messages that have come are answered; what it displays goes where it would go now."""
        if self._next is not None:
            self._next.cancel()
        self._next = asyncio.get_running_loop().call_later(LOOK, work)

    def run(self, work: Callable[[], None]) -> bool:
        """Whether the work came to its end before a message came."""
        done = False
        look = _Look(self)
        try:
            with look.work:
                look.start()
                if not self.come():
                    work()
                    done = True
        except KeyboardInterrupt:
            pass
        finally:
            look.stop()
            # The loop hears of a message once only, and now the look has heard of it.
            self.inbox.flush()
        return done


class _Look:
    """Looks for messages in the middle of what runs, and ends it when one has come. The thread that the socket belongs to asks the socket."""

    def __init__(self, idle: Idle) -> None:
        self.idle = idle
        self.work = Interruptible()
        self.over = threading.Event()
        self.asked = self.come = False
        self.timer = threading.Thread(target=self._watch, name="tpushape-idle", daemon=True)

    def start(self) -> None:
        _looks.append(self)
        # Without a thread the messages wait; the trace itself is worth more.
        with contextlib.suppress(RuntimeError):
            self.timer.start()

    def stop(self) -> None:
        self.work.close()
        self.over.set()
        if self.timer.ident is not None:
            self.timer.join()
        _looks.clear()

    def _watch(self) -> None:
        while not self.over.wait(LOOK):
            if self.come:
                self.work.cancel()
                return
            if not self.asked:
                self.asked = True
                ctypes.pythonapi.Py_AddPendingCall(_CALLED, None)


_looks: list[_Look] = []


def _between_steps(_nothing: Any) -> int:
    """The interpreter calls this between two steps of the main thread, where the cells run."""
    for look in _looks:
        look.come, look.asked = look.idle.come(), False
    return 0


# The interpreter may call it late, so it stays.
_CALLED = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(_between_steps)
