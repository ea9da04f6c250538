"""A size as a part of the expression that stands there says it, in front of the same size as a number."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ..edits import LayerConfig
from ..text.arguments import argument
from .edits import Fix, named
from .line import lines_at, makers_of

_PLACES = {"units": ["units"], "filters": ["filters"], "output_dim": ["input_dim", "output_dim"]}


def in_terms(evidence: Evidence, fix: Fix) -> Iterator[Fix]:
    """``Dense(c)`` for ``Dense(c // ratio)``, where a fix would write a number: whether the part is that number shows when it is tried."""
    title, edits, why = fix
    edit = edits[0] if len(edits) == 1 else None
    if not isinstance(edit, LayerConfig) or len(edit.config) != 1:
        return
    (key, size), node = next(iter(edit.config.items())), named(evidence, edit.target)
    for line in lines_at(evidence, node.location)[:1] if node is not None and key in _PLACES and type(size) is int else ():
        calls = makers_of(line, node) if node is not None else []
        written = argument(calls[0], key, _PLACES[key]) if len(calls) == 1 else None
        if isinstance(written, ast.BinOp):
            for part in (written.left, written.right):
                if isinstance(part, (ast.Name, ast.Attribute)) and line.number(part) in (None, size):
                    text = ast.unparse(part)
                    yield title.replace(f"{key}={size}", f"{key}={text}"), [line.edit(written, text)], why
