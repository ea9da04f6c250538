"""``tpushape explain``: explains an error message, using the rules."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

from ..flow.text import clean, in_part
from .early import UsageError
from .lists import rules as show
from .out import written

_MOST = 1_000_000
_MOST_FILE = 256 << 20
# What is no message but the name of a file, and which of these hold one.
_NAME = re.compile(r"[^\s\"'()\[\]{}]+\.(?:json|txt|log|out|err|py|ipynb|keras|h5|hdf5)", re.IGNORECASE)
_MESSAGES = (".json", ".txt", ".log", ".out", ".err")
_FRAME = re.compile(r'File "(?P<file>[^"\n]+)", line (?P<line>\d+)|^(?:File|Cell) (?P<cell>In\[\d+\])[^\n]*line (?P<at>\d+)', re.MULTILINE)
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_LIBRARY = re.compile(r"site-packages|dist-packages|lib/python3|<frozen|__autograph_generated_file")


def explain(options: Any) -> int:
    """Returns 0 if a rule matches the message, else 1. The id of a rule shows that rule, and a report's file that report."""
    from ..rules import RULES
    from ..rules.messages import meanings

    text = options.text
    if text == "-":
        text = _pasted()
    elif text.strip() not in RULES:
        file = _file(text)
        if file is not None and file.suffix.lower() == ".json":
            return _report(file)
        text = _read(file).decode("utf-8", "replace") if file is not None else text
    text = _COLORS.sub("", text)[:_MOST]
    if not text.strip():
        raise UsageError('No error message given: run tpushape explain "the message", or pipe a traceback into tpushape explain -.')
    if text.strip() in RULES:
        options.rule, options.json = text.strip(), False
        return show(options)
    found = list(meanings(text))
    lines = []
    for number, meaning in enumerate(found):
        rule = RULES.get(meaning.rule)
        lines.append("\n" * bool(number) + _wrapped(f"▸ {meaning.said}", "  "))
        lines.append(_wrapped(f"  Means: {meaning.means}"))
        lines.append(_wrapped(f"  Do:    {meaning.todo}"))
        if rule is not None:
            if rule.doc:
                lines.append(_wrapped(f"  More:  {' '.join(rule.doc.split())}"))
            lines.append(f"  Rule:  {rule.id} ({rule.title}). Run tpushape rules {rule.id} to see a program with this problem and one without.")
    where = _own_line(text)
    if where:
        lines.append(f"\nLine in your code: {where}")
    if found:
        lines.append("\nThis explanation uses only the message. To trace the program and try fixes, run tpushape check file.py:build --data file.py:data.")
    else:
        lines.append("No rule matches this message. It may be unrelated to shapes.")
        lines.append("To trace the program itself, which shows more than a message, run tpushape check file.py:build --data file.py:data.")
    # Names in a message are anybody's.
    written(clean("\n".join(lines)))
    return 0 if found else 1


def _file(text: str) -> Path | None:
    """The file that holds the message, where the text is the name of one; ``None`` where it is the message.

    Raises:
        UsageError: where it names something that holds no message.
    """
    named = bool(_NAME.fullmatch(text))
    try:
        there = os.path.exists(text)  # noqa: PTH110
    except (OSError, ValueError):
        there = False
    if not there:
        if named:
            raise UsageError(f"{text} does not exist: pass the message itself, or the path of a file that contains it.")
        return None
    if not os.path.isfile(text):  # noqa: PTH113
        raise UsageError(f"{text} is not a regular file: pass the message itself, or the path of a file that contains it.")
    if named and not text.lower().endswith(_MESSAGES):
        raise UsageError(f"{text} contains no message: run tpushape check on it.")
    return Path(text)


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(_MOST_FILE)
    except OSError as error:
        raise UsageError(f"Cannot read {file} ({error.strerror}): pass the message itself.") from None


def _report(file: Path) -> int:
    from ..report import Report
    from ..views.text import to_text

    try:
        report = Report.from_json(_read(file))
    except ValueError as error:
        raise UsageError(f"{file}: {in_part(str(error), 400)}") from None
    written(to_text(report))
    return 0 if report.findings else 1


def _pasted() -> str:
    if sys.stdin is None:
        return ""
    if sys.stdin.isatty():
        print("Paste the error message, then press Ctrl-D:", file=sys.stderr)
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="replace")
    try:
        return sys.stdin.read(_MOST)
    except OSError as error:
        raise UsageError(f"Cannot read standard input ({error.strerror}): pass the message as an argument.") from None


def _wrapped(text: str, indent: str = "         ") -> str:
    return textwrap.fill(text, 110, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _own_line(text: str) -> str:
    own = [match for match in _FRAME.finditer(text) if not _LIBRARY.search(match[0])]
    if not own:
        return ""
    last = own[-1]
    return f"{last['cell']}, line {last['at']}" if last["cell"] else f"{last['file']}, line {last['line']}"
