"""Creates unified diffs and applies them to files."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..files import read_text, write_text
from ..flow import Fix, Location, Patch
from ..flow.text import clean
from ..trace.locations import MAGIC, location, typed
from .rerun import origin
from .text.source import NoPlace

_FIRST_HUNK = re.compile(r"@@ -1,(\d+) \+1,(\d+) @@")
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
# What stands for a cell's line with a magic in the text that runs.
_MAGICS = (MAGIC, "# %%time")
_DAMAGED = "The diff of this fix is damaged: trace again to get a new fix."


class StaleSource(Exception):
    """The source has changed since the fix was created, so the patch no longer applies."""


def changes_of(texts: dict[str, str]) -> list[Patch]:
    """The changes that make the texts that ran, by the file or cell that each is a version of: cells in the order in which they ran.

    Raises:
        NoPlace: where no file is changed.
    """
    changed = [(*origin(file), text) for file, text in texts.items() if text != origin(file)[1]]
    if not changed:
        raise NoPlace
    found = [_change(location((name, 1)), before, after) for name, before, after in changed]
    return sorted(found, key=lambda change: change.execution)


def put(fix: Fix, changes: list[Patch]) -> None:
    """Gives a fix the changes of its texts."""
    (first, *others) = changes
    fix.patch, fix.file, fix.cell, fix.execution, fix.also = first.patch, first.file, first.cell, first.execution, tuple(others)


def _change(where: Location | None, before: str, after: str) -> Patch:
    assert where is not None
    label = where.file.rsplit("/", 1)[-1] if where.file else f"In[{where.execution}]"
    lines = difference(before, after, label)
    if not where.file:
        said = typed(where.execution)
        lines = _without_magic([line[:1] + said.get(line[1:], line[1:]) for line in lines])
    return Patch("\n".join(lines), where.cell, where.file, where.execution)


def difference(before: str, after: str, label: str) -> list[str]:
    """The lines of a unified diff. The empty line that a text ends in when it ends with a line break is no line of it."""
    if before.endswith("\n") and after.endswith("\n"):
        before, after = before[:-1], after[:-1]
    # A name of a file may hold a line break, which would end the header.
    label = clean(label).replace("\n", "�")
    return list(difflib.unified_diff(before.split("\n"), after.split("\n"), label, label, lineterm="", n=2))


def _without_magic(lines: list[str]) -> list[str]:
    hunk = _FIRST_HUNK.match(lines[2]) if len(lines) > 3 else None
    if hunk is None or not lines[3].strip().startswith(_MAGICS):
        return lines
    start, old, new = 2, int(hunk[1]) - 1, int(hunk[2]) - 1
    return [*lines[:2], f"@@ -{start},{old} +{start},{new} @@", *lines[4:]]


def apply(fix: Any, path: str | Path) -> Path:
    """Applies a fix's patch to its source file. Lines outside the patch keep every byte.

    If the fix changes several files, all of them are written, or none.

    Args:
        fix: a fix of a finding; its ``patch`` is a unified diff.
        path: the file that the patch is for. Further files of the fix are found from there, where they are beside ``fix.file``.

    Returns:
        The path.

    Raises:
        StaleSource: if the file has changed since the fix was created.
        ValueError: if the fix has no diff, but only a snippet, or a damaged one, or if it also changes a notebook cell.
        OSError: if a file cannot be written; all files are then unchanged.

    Example::

        tpushape.apply(report.findings[0].fixes[0], "train.py")
    """
    if not isinstance(getattr(fix, "patch", None), str):
        raise TypeError(f"Expected a fix, but got {type(fix).__name__}: use one of a finding, such as report.findings[0].fixes[0].")
    target = Path(path)
    if not fix.patch.startswith("--- "):
        raise ValueError("tpushape does not know the source file of this fix: add its lines by hand.")
    changes = {target: fix.patch}
    for change in getattr(fix, "also", ()):
        if not (fix.file and change.file):
            raise ValueError("This fix also changes a notebook cell: apply it in JupyterLab, or change its lines by hand.")
        changes[target.parent / os.path.relpath(change.file, Path(fix.file).parent)] = change.patch
    before = {file: read_text(file) for file in changes}
    after = {file: replace(before[file], text=patched(before[file].text, patch)) for file, patch in changes.items()}
    done: list[Path] = []
    try:
        for file, written in after.items():
            write_text(file, written, instead_of=before[file])
            done.append(file)
    except BaseException:
        for file in done:
            write_text(file, before[file], instead_of=after[file])
        raise
    return target


def patched(source: str, patch: str) -> str:
    """The source with a unified diff applied.

    Raises:
        StaleSource: where a line that the diff expects is not there.
        ValueError: where the diff is damaged.
    """
    # Lines end at line feeds alone: a form feed or a Unicode separator is part of its line.
    lines = _lines(source)
    out: list[str] = []
    at = 0
    for start, old, body in _hunks(patch):
        # Without lines to find, what is added stands after the line that is named.
        first = start - 1 if old else start
        if first < at:
            raise ValueError(_DAMAGED)
        out += lines[at:first]
        at = first
        end = ""
        taken = dict(zip([line[1:] for line in body if line[:1] != "+"], lines[first:], strict=False))
        for line in body:
            kind, text = line[:1], line[1:]
            if kind == "+":
                # A line that a diff takes out and puts back elsewhere ends as it did.
                out.append(text + ("\n" if text.endswith("\r") else _ended(taken.get(text, "")) or end or _end(lines, at)))
                continue
            if at >= len(lines) or lines[at].rstrip("\r\n") != text.rstrip("\r\n"):
                raise StaleSource(f"Line {at + 1} has changed since the fix was created: trace again to get a new fix.")
            end = _ended(lines[at]) or end
            if kind == " ":
                out.append(lines[at])
            at += 1
    if out and at >= len(lines) and not source.endswith("\n"):
        out[-1] = out[-1].removesuffix(_ended(out[-1]))
    return "".join(out + lines[at:])


def _hunks(patch: str) -> Iterator[tuple[int, int, list[str]]]:
    """Of each part of a unified diff: the line it begins at, how many lines it finds there, and its lines.

    Raises:
        ValueError: where the diff is not one that :func:`difference` writes.
    """
    lines = patch.removesuffix("\n").split("\n")
    at = 2
    if len(lines) <= at or not lines[1].startswith("+++ "):
        raise ValueError(_DAMAGED)
    while at < len(lines):
        head = _HUNK.match(lines[at])
        if head is None:
            raise ValueError(_DAMAGED)
        old, new = (1 if count is None else int(count) for count in (head[2], head[3]))
        at += 1
        body: list[str] = []
        left, right = old, new
        while left > 0 or right > 0:
            kind = lines[at][:1] if at < len(lines) else ""
            if kind not in (" ", "-", "+"):
                raise ValueError(_DAMAGED)
            left, right = left - (kind != "+"), right - (kind != "-")
            body.append(lines[at])
            at += 1
        if left or right:
            raise ValueError(_DAMAGED)
        yield int(head[1]), old, body


def _ended(line: str) -> str:
    return "\r\n" if line.endswith("\r\n") else "\n" if line.endswith("\n") else ""


def _end(lines: list[str], at: int) -> str:
    near = [*lines[at : at + 1], *lines[max(0, at - 1) : at]]
    return next((end for end in map(_ended, near) if end), "\n")


def _lines(text: str) -> list[str]:
    found = text.split("\n")
    return [line + "\n" for line in found[:-1]] + ([found[-1]] if found[-1] else [])
