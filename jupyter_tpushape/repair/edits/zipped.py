"""Stages of a zipped pipeline: batches for the parts that have none, and one order for all parts."""

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
            calls = _stages(place, "zip")
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


def _stages(place: ast.AST, name: str) -> list[ast.Call]:
    return [call for call in nodes(place, ast.Call) if called(call) == name and isinstance(call.func, ast.Attribute) and call.args]


@kind
@dataclass(frozen=True)
class ShuffledPairs(DataCode):
    """The one ``shuffle`` in the code of the data behind its one ``zip``, in place of at one of the parts."""

    op = "shuffled-pairs"

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        for place in (scope, *nodes(source.tree, ast.FunctionDef)):
            pairs, orders = _stages(place, "zip"), _stages(place, "shuffle")
            if len(pairs) == len(orders) == 1 and isinstance(orders[0].func, ast.Attribute):
                stage = source.text[source.end(orders[0].func.value) : source.end(orders[0])]
                if orders[0] in nodes(pairs[0], ast.Call):
                    return [source.change(pairs[0], source.of(pairs[0]).replace(stage, "", 1) + stage)]
                if pairs[0] not in nodes(orders[0], ast.Call):
                    return [
                        source.change(orders[0], source.of(orders[0].func.value)),
                        source.change(pairs[0], source.of(pairs[0]) + stage),
                    ]
        return []

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# after zip(), and not at one of its parts:"
        yield "+ds = ds.shuffle(...)"
