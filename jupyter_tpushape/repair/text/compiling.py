"""The call of ``compile`` in the text."""

from __future__ import annotations

import ast

from .names import Names
from .program import Text
from .source import NoPlace, Source, nodes


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
        source, names, call = text.call_of(where)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "compile":
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
