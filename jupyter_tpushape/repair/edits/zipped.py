"""Batches for the parts of a zipped pipeline that have none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...flow.syntax import called
from ..text.arguments import Change
from ..text.source import NoPlace, Source, is_atom, nodes
from .base import kind
from .data_code import DataCode


@kind
@dataclass(frozen=True)
class BatchedParts(DataCode):
    """``.batch(batch)`` behind some ``parts`` of the one ``zip`` in the code of the data."""

    kind = "batching"
    op = "batched-parts"

    parts: list[int] = field(default_factory=list, metadata={"needed": True})
    batch: int = 0
    drop_remainder: bool = False

    @property
    def _stage(self) -> str:
        return f".batch({self.batch}{', drop_remainder=True' if self.drop_remainder else ''})"

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        for place in (scope, source.tree):
            calls = [
                call for call in nodes(place, ast.Call) if called(call) == "zip" and isinstance(call.func, ast.Attribute) and call.args
            ]
            if len(calls) != 1:
                continue
            first = calls[0].args[0]
            given = list(first.elts) if isinstance(first, (ast.Tuple, ast.List)) else list(calls[0].args)
            if max(self.parts) >= len(given) or any(isinstance(item, ast.Starred) for item in given):
                raise NoPlace
            return [
                source.change(item, f"{source.of(item) if is_atom(item) else f'({source.of(item)})'}{self._stage}")
                for item in (given[part] for part in self.parts)
            ]
        return []

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# for the parts of the zipped dataset that are not batched:"
        yield f"+ds = ds{self._stage}"
