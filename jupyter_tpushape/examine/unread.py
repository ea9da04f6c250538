"""Models and data whose own attributes raise when they are looked at: said in one sentence, as no fault of tpushape's."""

from __future__ import annotations

import linecache

from ..flow.text import line, meaning, words
from ..sources.others import is_users


def unreadable(error: BaseException) -> str:
    """What is said where the user's own code raised outside of all that a trace runs; ``""`` where another's code did."""
    if isinstance(error, RecursionError):
        return "The model or its data is nested too deeply to trace, or contains itself."
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not is_users(trace.tb_frame.f_code.co_filename):
        return ""
    text = linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno).strip()
    where = f"`{line(text)[:120]}`" if text else f"{trace.tb_frame.f_code.co_name}, line {trace.tb_lineno},"
    said = line((words(error).strip() or meaning(error)).partition("\n")[0])[:160].rstrip(".")
    return f"{where} raises {type(error).__name__} when tpushape reads the model or the data: {said}."


__all__ = ["unreadable"]
