"""The number of rows in a batch that the code behind a generator or a PyDataset writes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..text.arguments import Change
from ..text.source import Source, nodes
from .base import kind
from .data_code import DataCode


@kind
@dataclass(frozen=True)
class BatchNumber(DataCode):
    """``size`` for the one number ``batch`` in the code that makes the data."""

    op = "batch-number"

    batch: int = field(default=0, metadata={"needed": True})
    size: int = 0

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        found = [item for item in _numbers(source.tree, scope) if type(item.value) is int and item.value == self.batch]
        return [source.change(found[0], str(self.size))] if len(found) == 1 else []

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in the data code:"
        yield f"-{self.batch}"
        yield f"+{self.size}"


def _numbers(tree: ast.Module, scope: ast.AST) -> list[ast.Constant]:
    """The constants in a function, and in the functions, classes and assignments of its module that it names."""
    named: dict[str, list[ast.AST]] = {}
    for item in tree.body:
        if isinstance(item, (ast.FunctionDef, ast.ClassDef)):
            named.setdefault(item.name, []).append(item)
        elif isinstance(item, ast.Assign):
            for target in nodes(item, ast.Name):
                if isinstance(target.ctx, ast.Store):
                    named.setdefault(target.id, []).append(item.value)
    found, waiting, seen = [], [scope], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        found += list(nodes(part, ast.Constant))
        for name in nodes(part, ast.Name):
            waiting += named.get(name.id, [])
    return list({id(item): item for item in found}.values())


__all__ = ["BatchNumber"]
