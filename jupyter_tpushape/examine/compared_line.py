"""What a line of the program's own training step compares, where it calls a loss that raised: edges of the failed line."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..flow import Node, Shape, syntax
from ..flow.text import words
from ..trace.assemble import Assembler
from ..trace.framework import Framework
from ..trace.raised import innermost, values_of
from ..trace.recorder import Port, Recorder
from .heard import hear
from .heard_data import HeardCompared


def compared(assembler: Assembler, adapter: Framework, recorder: Recorder, node: Node, error: BaseException) -> None:
    """Draws the labels and the predictions that the line's loss got, as far as they are under a name or came from the last call."""
    said = hear(words(error), HeardCompared)
    if said is None:
        return
    ports = [*_named(adapter, recorder, error), *_made_last(recorder)]
    for label, shape in (("labels", said.labels), ("predictions", said.predictions)):
        port = next((port for port in ports if _like(port.spec.shape, shape) and assembler.source_of(port) is not None), None)
        source = assembler.source_of(port) if port is not None else None
        if port is not None and source is not None:
            assembler.edge(source, node.id, port.spec, key=port.key, label=label, status="failed")


def _named(adapter: Framework, recorder: Recorder, error: BaseException) -> Iterator[Port]:
    found = innermost(error)
    if found is None:
        return
    frame, _, text = found
    try:
        tree = syntax.parse(text.strip())
    except SyntaxError:
        return
    values = values_of(frame)
    for item in ast.walk(tree):
        value = values.of(item)
        if adapter.is_tensor(value):
            yield recorder.port(adapter, value)


def _made_last(recorder: Recorder) -> Iterator[Port]:
    last = next((call for call in reversed(recorder.calls) if call.done and call.parent is None), None)
    for port in last.outputs if last is not None else ():
        # What a model gives is what one of its layers made.
        yield Port(port.spec, recorder.producers.get(port.key, last), port.label, port.key)


def _like(given: Shape | None, said: Shape) -> bool:
    return given is not None and len(given) == len(said) and all(None in pair or pair[0] == pair[1] for pair in zip(given, said, strict=True))
