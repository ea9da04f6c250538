"""Keys of a layout map that the program composes, in a loop or from constants: the piece of text that all of them get otherwise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from ..examine.layout_facts import Entry
from .text.source import NoPlace, Source, nodes

# Pieces before, instead of, and behind a change that all keys have in common: what they had, and get.
_Piece = tuple[str, str, str, str]
_QUOTES = re.compile(r"""^([rRfFbB]*)('''|\"\"\"|'|")""")


def composed(file: str, pairs: Mapping[Entry, Entry], limit: int = 4) -> Iterator[str]:
    """Texts in which one literal is written otherwise, so that the keys may become those of ``pairs``. Whether they do, a run tells."""
    try:
        source = Source.read(file)
        found = list(_keys(source, pairs) if all(old.key != new.key for old, new in pairs.items()) else _axes(source, pairs))
    except NoPlace:
        return
    for start, end, written in [*found[:limit], *list(_counted(source))[:limit]]:
        yield source.text[:start] + written + source.text[end:]


def _counted(source: Source) -> Iterator[tuple[int, int, str]]:
    for node in nodes(source.tree, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "range" and len(node.args) == 2 and ast.unparse(node.args[0]) == "1":
            last = node.args[1]
            written = [source.of(last)]
            if isinstance(last, ast.BinOp) and isinstance(last.op, ast.Add) and ast.unparse(last.right) == "1":
                written = [source.of(last.left)]
            elif isinstance(last, ast.Constant) and isinstance(last.value, int):
                written = [str(last.value - 1), str(last.value)]
            yield from ((source.start(node), source.end(node), f"range({one})") for one in written)


def _axes(source: Source, pairs: Mapping[Entry, Entry]) -> Iterator[tuple[int, int, str]]:
    changes = {(old.axes, new.axes) for old, new in pairs.items()}
    if len(changes) != 1 or any(old.key != new.key for old, new in pairs.items()):
        return
    was, axes = changes.pop()
    for node in nodes(source.tree, ast.Tuple):
        if [one.value if isinstance(one, ast.Constant) else one for one in node.elts] == [axis or None for axis in was]:
            inner = ", ".join(f'"{axis}"' if axis else "None" for axis in axes)
            yield source.start(node), source.end(node), f"({inner},)" if len(axes) == 1 else f"({inner})"


def _keys(source: Source, pairs: Mapping[Entry, Entry]) -> Iterator[tuple[int, int, str]]:
    """Where a literal has the piece that changes, between what stands beside it in all keys."""
    piece = _piece([(old.key, new.key) for old, new in pairs.items()])
    if piece is None or any(old.axes != new.axes for old, new in pairs.items()):
        return
    before, was, now, behind = piece
    for node in (*nodes(source.tree, ast.Constant), *nodes(source.tree, ast.JoinedStr)):
        if isinstance(node, ast.Constant) and not isinstance(node.value, str):
            continue
        written = source.of(node)
        quotes = _QUOTES.match(written)
        if quotes is None:
            continue
        text, first = written[quotes.end() : -len(quotes[2])], source.start(node) + quotes.end()
        for at in range(len(text) - len(was) + 1):
            left, right = text[:at], text[at + len(was) :]
            if text.startswith(was, at) and _fits(left[::-1], before[::-1]) and _fits(right, behind) and (was or left or right):
                yield first + at, first + at + len(was), now


def _fits(written: str, common: str) -> bool:
    for have, want in zip(written, common, strict=False):
        if have in "{}":
            return True
        if have != want:
            return False
    return len(written) <= len(common) or written[len(common)] in "{}"


def _piece(pairs: list[tuple[str, str]]) -> _Piece | None:
    parts = []
    for old, new in pairs:
        start = len(_common([old, new]))
        end = len(_common([old[start:][::-1], new[start:][::-1]]))
        parts.append((old[:start], old[start : len(old) - end], new[start : len(new) - end], old[len(old) - end :]))
    if len({(was, now) for _, was, now, _ in parts}) != 1:
        return None
    before = _common([left[::-1] for left, _, _, _ in parts])[::-1]
    return before, parts[0][1], parts[0][2], _common([right for _, _, _, right in parts])


def _common(texts: list[str]) -> str:
    first, last = min(texts), max(texts)
    return first[: next((i for i, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))]
