"""A size as a part of the expression that stands there says it, in front of the same size as a number."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ..edits import LayerConfig
from .edits import Fix, named
from .line import lines_at, written_in


def in_terms(evidence: Evidence, fix: Fix) -> Iterator[Fix]:
    """``Dense(c)`` for ``Dense(c // ratio)``, where a fix would write a number: whether the part is that number shows when it is tried."""
    _, edits, why = fix
    edit = edits[0] if len(edits) == 1 else None
    if not isinstance(edit, LayerConfig) or len(edit.config) != 1:
        return
    (key, size), node = next(iter(edit.config.items())), named(evidence, edit.target)
    if node is None or type(size) is not int:
        return
    for line in lines_at(evidence, node.location)[:1]:
        found = written_in(line, node, key)
        written = found[0] if len(found) == 1 else None
        if not isinstance(written, ast.BinOp):
            continue
        for part in (written.left, written.right):
            if isinstance(part, (ast.Name, ast.Attribute)) and line.number(part) in (None, size):
                text = ast.unparse(part)
                yield f"Set {key}={text} on {node.name}", [line.edit(written, text)], why
