"""Text of the user's program as text: it moves no cursor, begins no line of its own and commands no tool that reads a log."""

from __future__ import annotations

import re

# C0 and C1 control characters, what turns the writing round, what no encoding holds, and the two separators that some take for a line's end.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# What the runners of GitHub, Azure and TeamCity take for a command: at a line's beginning, and anywhere in it.
_BEGINS = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
# Longer than what any framework says, and short enough for every pattern that is looked for in it.
_MOST_WORDS = 100_000
# Letters of a source that is searched. What is longer holds data written as code, and its tree would take gigabytes.
MOST_SOURCE = 2 << 20
_ANYWHERE = re.compile(r"##(?=\w*\[)")


def clean(text: str) -> str:
    """The text with a replacement character for each control character; tabs and line feeds stay."""
    return _CONTROL.sub("\ufffd", text)


def words(error: BaseException) -> str:
    """What an exception says: nothing where it cannot say it, and of a very long text the beginning and the end."""
    try:
        text = str(error)
    except (Exception, SystemExit, GeneratorExit):
        return ""
    half = _MOST_WORDS // 2
    return text if len(text) <= _MOST_WORDS else f"{text[:half]}\n{text[-half:]}"


# What an exception means that has no message.
_MEANT: tuple[tuple[type[BaseException], str], ...] = (
    (MemoryError, "there is not enough memory"),
    (RecursionError, "functions call each other too deeply"),
    (AssertionError, "an assertion does not hold"),
    (StopIteration, "an iterator has no more elements"),
    (NotImplementedError, "this is not implemented"),
    (TimeoutError, "this took too long"),
    (KeyboardInterrupt, "it was interrupted"),
)


def meaning(error: BaseException | str) -> str:
    """What is said of an exception without a message. ``error`` is the exception, or the name of its class."""
    name = error if isinstance(error, str) else type(error).__name__
    return next((said for kind, said in _MEANT if kind.__name__ == name or isinstance(error, kind)), f"{name}, without a message")


def line(text: object) -> str:
    """A text in one line."""
    return clean(" ".join(str(text).split("\n"))).replace("\t", " ")


def uncommanding(text: str) -> str:
    """A text for a log: no line of it is a command of the runner that keeps the log."""
    return _ANYWHERE.sub("# #", _BEGINS.sub(r"\1: ", text))


def in_part(text: str, most: int = 4_000) -> str:
    """A text that fills no terminal: of a very long one the beginning and the end."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[1 - most // 2 :]}"


def in_short(said: str) -> str:
    """A message of TensorFlow without the constants of a graph that it ends with, which say the shapes a second time, and without general advice."""
    return said.partition(" and with input tensors computed as partial shapes")[0].partition(" You can attempt the following resolutions")[0]
