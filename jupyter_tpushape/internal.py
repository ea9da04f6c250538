"""Errors in this package: what is said of them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from .flow.text import line as one_line

_BECAUSE = "because of an internal error in tpushape"
_THEIRS = "because an object of the program raises an error when it is read"


def ours(error: BaseException) -> str:
    """One line about an internal error in this package, or about the line of the program's own that raised where nobody expected it to run."""
    from . import __version__
    from .examine.unread import unreadable

    if theirs := unreadable(error):
        return f"tpushape: {theirs}"
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" ({trace.tb_frame.f_code.co_name}, line {trace.tb_lineno})" if trace is not None else ""
    said = one_line(str(error).strip().partition("\n")[0])[:160]
    return f"Internal error in tpushape (your code is fine): {type(error).__name__}: {said}{where}. Please report this line and the version ({__version__}) in the project's issue tracker."


def because(error: BaseException) -> str:
    """Why a part is missing."""
    from .examine.unread import unreadable

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
