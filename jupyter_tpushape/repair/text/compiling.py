"""The call of ``compile`` in the text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...trace.locations import Place
from .names import Names
from .program import Text, Where
from .source import NoPlace, Source, at_line, nodes


def compile_call(text: Text, argument: str = "") -> tuple[Source, Names, ast.Call]:
    """The call that compiled the model: the one that ran, or else the only one of its file.

    Raises:
        NoPlace: where there is none, or more than one that it could be.
    """
    seen = text.seen
    places = seen.recorder.compile_places
    where = places.get(id(seen.model))
    if where is None and len(places) == 1:
        where = next(iter(places.values()))
    if where is not None:
        for source, names, call in _at(text, where):
            return source, names, call
    files = {place[0] for obj in text.objects() if (place := text.where(obj)) is not None}
    if seen.program.handed is not None:
        files.add(seen.program.handed[0])
    found = []
    for file in files:
        try:
            source = text.source(file)
        except NoPlace:
            continue
        found += [
            (source, call)
            for call in nodes(source.tree, ast.Call)
            if isinstance(call.func, ast.Attribute) and call.func.attr == "compile" and (call.args or call.keywords)
        ]
    if len(found) > 1 and argument:
        found = [(source, call) for source, call in found if any(item.arg == argument for item in call.keywords)]
    if len(found) != 1:
        raise NoPlace
    source, call = found[0]
    return source, text.names(source.file), call


def _at(text: Text, where: Where) -> Iterator[tuple[Source, Names, ast.Call]]:
    """The call of ``compile`` at a place; where only its line is known, the one on the line."""
    if isinstance(where, Place) and where.span is not None:
        found = [text.call_of(where)]
    else:
        source = text.source(where[0])
        found = [(source, text.names(where[0]), call) for call in at_line(source.tree, ast.Call, where[1])]
    found = [one for one in found if isinstance(one[2].func, ast.Attribute) and one[2].func.attr == "compile"]
    if len(found) == 1:
        yield found[0]
