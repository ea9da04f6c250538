"""A size as a part of the expression that stands there says it, in front of the same size as a number."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ..edits import LayerConfig
from ..text.arguments import argument
from ..text.names import positions_of
from .edits import Fix, named
from .line import lines_at, makers_of


def in_terms(evidence: Evidence, fix: Fix) -> Iterator[Fix]:
    """``Dense(c)`` for ``Dense(c // ratio)``, where a fix would write a number: whether the part is that number shows when it is tried."""
    _, edits, why = fix
    edit = edits[0] if len(edits) == 1 else None
    if not isinstance(edit, LayerConfig) or len(edit.config) != 1:
        return
    (key, size), node = next(iter(edit.config.items())), named(evidence, edit.target)
    if node is None or type(size) is not int:
        return
    positions = positions_of(getattr(getattr(sys.modules.get(evidence.framework), "layers", None), node.op, None))
    for line in lines_at(evidence, node.location)[:1]:
        calls = makers_of(line, node)
        written = argument(calls[0], key, positions) if len(calls) == 1 else None
        if not isinstance(written, ast.BinOp):
            continue
        for part in (written.left, written.right):
            if isinstance(part, (ast.Name, ast.Attribute)) and line.number(part) in (None, size):
                text = ast.unparse(part)
                yield f"Set {key}={text} on {node.name}", [line.edit(written, text)], why
