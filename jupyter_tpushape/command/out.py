"""The output of a command: a report on stdout and messages on stderr, in any encoding, without the program's own output."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import Any, TextIO, final

from ..flow.text import clean, in_part, line, uncommanding
from .early import UsageError

# For a terminal without symbols.
_SIGNS = {
    "✓": "ok", "✖": "x", "◆": "*", "▲": "!", "·": "-", "│": "|", "░": ".", "⋮": ":", "←": "<-", "→": "->", "×": "x", "…": "...", "▸": ">",
    "◐": "~", "–": "-", "\u2014": "-", "“": '"', "”": '"', "’": "'", "‘": "'", "\ufffd": "?",
}  # fmt: skip
_MARKUP = "tpushape-markup"
_PLAIN = "tpushape-plain"
_JSON = "tpushape-json"


def _plainly(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(_SIGNS.get(letter, "?") for letter in error.object[error.start : error.end]), error.end


def _as_json(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error(_PLAIN, _plainly)
codecs.register_error(_JSON, _as_json)
codecs.register_error(_MARKUP, codecs.xmlcharrefreplace_errors)
_ERRORS = {"json": _JSON, "sarif": _JSON, "html": _MARKUP, "svg": _MARKUP}
# Control characters that JSON allows and a terminal interprets.
_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def said(text: object) -> None:
    """One line on stderr. Names from the program cannot move the cursor or start a new line."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(uncommanding(f"tpushape: {in_part(line(text))}") + "\n")
        sys.stderr.flush()


def harmless(text: str, form: str) -> str:
    """A report that is safe to show in a terminal or a log."""
    if form in ("json", "sarif"):
        text = _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
        return re.sub(r"##(?=\w*\[)", r"#\\u0023", text)
    if form == "github":
        return clean(text)
    if form == "text":
        # Colours of our own stand in it already; what the program is called was made harmless before they came.
        return uncommanding(text)
    return uncommanding(clean(text))


def written(text: str, form: str = "text", todo: str = "use another place", stream: TextIO | None = None) -> None:
    """Writes a report to stdout, or to ``stream``, whatever its encoding. A closed pipe is not an error.

    Raises:
        UsageError: if it cannot be written.
    """
    stream = stream or sys.stdout
    if stream is None:
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    text = harmless(text, form) + "\n"
    try:
        text.encode(encoding)
    except UnicodeError:
        try:
            text = text.encode(encoding, _ERRORS.get(form, _PLAIN)).decode(encoding)
        except (UnicodeError, LookupError):
            text = text.encode("ascii", _ERRORS.get(form, _PLAIN)).decode("ascii")
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        hang_up()
    except (OSError, ValueError) as error:
        hang_up()
        raise UsageError(f"Cannot write to stdout ({getattr(error, 'strerror', None) or error}): {todo}.") from None


def unchanged(data: bytes) -> None:
    """Writes a file to stdout byte for byte, and as harmless text where a terminal would obey it.

    Raises:
        UsageError: if it cannot be written.
    """
    stream = sys.stdout
    raw = getattr(stream, "buffer", None)
    if stream is None or raw is None or stream.isatty():
        return written(data.decode("utf-8", "replace").removesuffix("\n"), "program")
    try:
        stream.flush()
        raw.write(data)
        raw.flush()
    except BrokenPipeError:
        hang_up()
    except (OSError, ValueError) as error:
        hang_up()
        raise UsageError(f"Cannot write to stdout ({getattr(error, 'strerror', None) or error}): use another place.") from None
    return None


def hang_up() -> None:
    """Closes stdout if nobody reads it."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if sys.__stdout__ is not None and sys.stdout is sys.__stdout__:
            os.dup2(nowhere, sys.__stdout__.fileno())
        os.close(nowhere)


@contextlib.contextmanager
def lenient() -> Iterator[None]:
    """Replaces characters that stdout or stderr cannot encode."""
    changed: list[tuple[Any, str]] = []
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and getattr(stream, "errors", "") in ("strict", "surrogateescape"):
            changed.append((stream, str(stream.errors)))
            stream.reconfigure(errors=_PLAIN)
    try:
        yield
    finally:
        for stream, errors in changed:
            with contextlib.suppress(OSError, ValueError):
                stream.reconfigure(errors=errors)


@final
class Aside:
    """While the program runs, its output to stdout goes to stderr: from Python, from C++, and from processes that it starts.

    Afterwards both streams are what they were, whatever the program has replaced; with ``for_good``, which is for a process of our own,
    the program's threads go on printing to stderr.
    """

    def __init__(self, *, for_good: bool = False) -> None:
        self._stdout: TextIO | None = None
        self._stderr: TextIO | None = None
        self._descriptor = -1
        self._for_good = for_good

    def __enter__(self) -> Aside:
        self._stdout, self._stderr = sys.stdout, sys.stderr
        with contextlib.suppress(OSError, ValueError, AttributeError):
            if self._stdout is not None and self._stdout.fileno() == 1:
                self._stdout.flush()
                self._descriptor = os.dup(1)
                os.dup2(2, 1)
        sys.stdout = sys.stderr
        return self

    def written(self, text: str, form: str, todo: str) -> None:
        """Writes a report to the stdout from before, while the program's threads still print to stderr.

        Raises:
            UsageError: if it cannot be written.
        """
        stdout = self._stdout
        if stdout is None:
            return
        if self._descriptor < 0:
            written(text, form, todo, stdout)
            return
        try:
            own = os.dup(self._descriptor)
        except OSError:
            raise UsageError(_CLOSED) from None
        stream = os.fdopen(own, "w", encoding=stdout.encoding, errors=stdout.errors)
        try:
            written(text, form, todo, stream)
        finally:
            with contextlib.suppress(OSError, ValueError):
                stream.close()

    def __exit__(self, *exception: object) -> None:
        stdout = self._stdout
        sys.stdout, sys.stderr = stdout, self._stderr
        if self._descriptor < 0:
            return
        with contextlib.suppress(OSError, ValueError):
            if stdout is not None:
                stdout.flush()
        try:
            if not self._for_good:
                os.dup2(self._descriptor, 1)
            os.close(self._descriptor)
        except OSError:
            if exception[0] is None:
                raise UsageError(_CLOSED) from None
        finally:
            self._descriptor = -1


_CLOSED = "The program closes the file descriptors of its process, so no report can be written: fix that first."


def for_good() -> None:
    """From here to the end of the process stdout is as it was left: threads and exit functions of the program print to stderr."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if sys.stdout is not None and sys.stdout.fileno() == 1:
            sys.stdout.flush()
            os.dup2(2, 1)
