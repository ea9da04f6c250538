"""Errors in this package: what is said of them."""

from __future__ import annotations

import contextlib
import functools
import linecache
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from .flow.text import line as one_line
from .flow.text import meaning, words

_BECAUSE = "because of an internal error in tpushape"
_THEIRS = "because an object of the program raises an error when it is read"

HERE = str(Path(__file__).parent)


@functools.cache
def _libraries() -> tuple[str, ...]:
    return tuple({sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib", "platstdlib")})


def is_users(file: str) -> bool:
    """Whether code of this file is the user's own."""
    if file.startswith((HERE, "<frozen")):
        return False
    if file.startswith("<"):
        return file.startswith(("<ipython-input", "<cell", "<string>"))
    return not file.startswith(_libraries()) and "site-packages" not in file


def last_entry(error: BaseException | None) -> TracebackType | None:
    """Where an error was raised: the last entry of its traceback; ``None`` where it has none."""
    trace = getattr(error, "__traceback__", None)
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def unreadable(error: BaseException) -> str:
    """What is said where the user's own code raised outside of all that a trace runs; ``""`` where another's code did."""
    if isinstance(error, RecursionError):
        return "The model or its data is nested too deeply to trace, or contains itself."
    trace = last_entry(error)
    if trace is None or not is_users(trace.tb_frame.f_code.co_filename):
        return ""
    text = linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno).strip()
    where = f"`{one_line(text)[:120]}`" if text else f"{trace.tb_frame.f_code.co_name}, line {trace.tb_lineno},"
    said = one_line((words(error).strip() or meaning(error)).partition("\n")[0])[:160].rstrip(".")
    return f"{where} raises {type(error).__name__} when tpushape reads the model or the data: {said}."


def ours(error: BaseException) -> str:
    """One line about an internal error in this package, or about the line of the program's own that raised where nobody expected it to run."""
    from . import __version__

    if theirs := unreadable(error):
        return f"tpushape: {theirs}"
    trace = last_entry(error)
    where = f" ({trace.tb_frame.f_code.co_name}, line {trace.tb_lineno})" if trace is not None else ""
    said = one_line(str(error).strip().partition("\n")[0])[:160]
    return f"Internal error in tpushape (your code is fine): {type(error).__name__}: {said}{where}. Please report this line and the version ({__version__}) in the project's issue tracker."


def because(error: BaseException) -> str:
    """Why a part is missing."""
    return _THEIRS if unreadable(error) else _BECAUSE


def strict() -> bool:
    """Whether errors are to be seen as they are, as in the tests of this package."""
    return bool(os.environ.get("TPUSHAPE_STRICT"))


def part_lost(error: Exception) -> None:
    """A part of a report failed: the rest stands without it, and one line on stderr says why.

    Raises:
        Exception: the error itself where ``TPUSHAPE_STRICT`` is set, as it is for the tests of this package.
    """
    if strict():
        raise error
    print(ours(error), file=sys.stderr)


@contextlib.contextmanager
def contained(limits: list[str], part: str) -> Iterator[None]:
    """Runs a part that a report can do without; where it fails, ``limits`` says that ``part`` is missing.

    Raises:
        Exception: the error itself where ``TPUSHAPE_STRICT`` is set.
    """
    try:
        yield
    except Exception as error:
        part_lost(error)
        limits.append(f"{part}, {because(error)}")


def missing(limits: list[str]) -> list[str]:
    """The parts that failed."""
    return [limit for limit in limits if limit.endswith((_BECAUSE, _THEIRS))]
