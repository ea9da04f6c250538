"""How a command ends: an exit code for each case, and one line for errors."""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..trace.patience import sent
from .early import UsageError
from .out import hang_up, said

CLEAN, FOUND, USAGE, FAULT, INTERRUPTED = 0, 1, 2, 70, 130
# After Ctrl-C: seconds in which Python code ends by itself. Code in C does not look up that soon.
GRACE = 0.7


def ended(run: Callable[[], int]) -> int:
    """Runs a command and returns its exit code; reports any error in one line."""
    try:
        return run()
    except UsageError as error:
        said(error)
        return USAGE
    except KeyboardInterrupt:
        said("Interrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe, as with `tpushape rules | head`.
        hang_up()
        return CLEAN
    except RecursionError:
        said("The model or its data is nested too deeply to trace, or contains itself.")
        return USAGE
    except MemoryError:
        said("There is not enough memory to trace this program.")
        return USAGE
    except Exception as error:
        if isinstance(error, _misuse()):
            said(error)
            return USAGE
        if isinstance(error, OSError) and error.errno in _LIMITS:
            said(f"The process reached a system limit ({error.strerror}): raise the limit and try again.")
            return USAGE
        if _is_programs(error):
            said(f"The program raises {type(error).__name__} in code that tpushape did not expect to run: fix that first.")
            return USAGE
        said(_fault(error))
        return FAULT
    except SystemExit:
        raise
    except BaseException as error:
        # The program's own exception.
        said(f"The program raises {type(error).__name__}, and nothing catches it: fix that first.")
        return USAGE


def flushed(code: int) -> int:
    """What was printed is out; the exit code of a command whose output has no room says so."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        hang_up()
    except (OSError, ValueError) as error:
        hang_up()
        said(f"Cannot write to stdout ({getattr(error, 'strerror', None) or error}): use another place.")
        return USAGE
    return code


# What ends where a process may open, hold, start or write no more.
_LIMITS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _is_programs(error: BaseException) -> bool:
    """Whether the user's own code raised: in a trace function, in a signal handler, or in a patched library."""
    from ..internal import is_users, last_entry

    trace = last_entry(error)
    return trace is not None and is_users(trace.tb_frame.f_code.co_filename)


def _misuse() -> tuple[type[Exception], ...]:
    from ..examine import BadProgram
    from ..sources import BadData
    from ..trace.frameworks import MissingBackend
    from ..trace.reach import BadStep

    return (BadProgram, BadData, MissingBackend, BadStep)


def _fault(error: BaseException) -> str:
    from .. import __version__
    from ..internal import last_entry

    trace = last_entry(error)
    where = f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}, line {trace.tb_lineno})" if trace is not None else ""  # noqa: PTH119
    text = next((part.strip() for part in str(error).splitlines() if part.strip()), "")[:160]
    return f"Internal error in tpushape (no result for your code): {type(error).__name__}: {text}{where}. Please report this line and the version ({__version__}) in the project's issue tracker."


@contextlib.contextmanager
def no_way_out() -> Iterator[None]:
    """Stops the program from ending the process with an exit code that looks like a result."""
    real, own = os._exit, os.getpid()
    _STARTED[:] = [own]

    def _exit(status: Any = 0) -> Any:
        if os.getpid() == own:
            if _Done.code is not None:
                real(_Done.code)
            said(f"The program ends the process (os._exit({status})) before tpushape can check it.")
            real(USAGE)
        real(status)

    os._exit = _exit
    try:
        yield
    finally:
        os._exit = real


def only_one() -> None:
    """Ends a process that the program has forked: only the original process writes the report."""
    if os.getpid() != _STARTED[0]:
        _LEAVE(USAGE)


def stand() -> None:
    """Makes sure that the standard streams are open: a file opened in place of a closed one would be written to."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            with contextlib.suppress(OSError):
                os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def answer_soon() -> None:
    """Ctrl-C ends the process within a second, also inside code in C that looks up late."""
    if threading.current_thread() is not threading.main_thread() or os.name != "posix":
        return
    # Functions that are registered first run last.
    atexit.register(_leave_at_once)
    with contextlib.suppress(ValueError, OSError, RuntimeError):
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return
        read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        threading.Thread(target=_wait, args=(read,), name="tpushape-interrupt", daemon=True).start()


def _wait(read: int) -> None:
    while True:
        try:
            number = os.read(read, 1)
        except OSError:  # a program that closes all descriptors: it is interrupted as any other
            return
        if signal.SIGINT in number:
            # A limit on time interrupts in the same way; that is no Ctrl-C.
            if sent:
                sent.pop()
                continue
            time.sleep(GRACE)
            if _Done.code is None:
                with contextlib.suppress(Exception):
                    sys.stderr.write("tpushape: Interrupted.\n")
                    sys.stderr.flush()
            # The handler does not run where the signal came just before a wait in C began.
            _LEAVE(INTERRUPTED if _Done.code is None else _Done.code)


# The program that is looked at may find another in its place.
_LEAVE = os._exit
# The process that was asked for a report.
_STARTED: list[int] = []


class _Done:
    """The exit code of a command that has ended by itself."""

    code: int | None = None


def _leave_at_once() -> None:
    """After an interrupt the interpreter is not taken down object by object, which takes seconds where TensorFlow has made many."""
    if _Done.code == INTERRUPTED:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        _LEAVE(INTERRUPTED)


def done(code: int) -> None:
    """The command has its exit code: from here on, an interrupt ends the process with it, silently, and so does the program in a thread or an
    exit function of its own."""
    _Done.code = code
    own = os.getpid()
    # The end of the interpreter would walk through all that the frameworks hold, for a second, to free what ends with the process.
    gc.freeze()

    def _exit(status: Any = 0) -> Any:
        _LEAVE(code if os.getpid() == own else status)

    os._exit = _exit
    if threading.current_thread() is threading.main_thread():
        with contextlib.suppress(ValueError, OSError):
            signal.signal(signal.SIGINT, lambda *_: _LEAVE(code))
    if code == INTERRUPTED:
        # Threads and exit functions of the program have as long to end as what was interrupted had.
        leaving = threading.Timer(GRACE, lambda: _LEAVE(code))
        leaving.daemon = True
        leaving.start()
