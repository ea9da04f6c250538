"""The parts of a pipeline's elements, or the lists that a generator yields, put together as ``fit`` takes them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...flow import CannotRebuild, syntax
from ..text.program import Text
from ..text.source import NoPlace, Source, calls_nothing
from ..text.variables import handed
from .base import Edit, kind
from .data_code import DataCode, elements_of
from .run import Run

NAMES = "abcdefghijklmnopqrstuvw"


@kind
@dataclass(frozen=True)
class Regroup(Edit):
    """``element`` in place of each element of a pipeline, whose ``parts`` are called a, b, c, ...; of what ``function`` yields or returns, where one does."""

    kind = "data-transform"
    op = "regroup"
    data_only = True

    parts: int = field(default=0, metadata={"needed": True})
    element: str = ""
    choice: str = ""
    function: str = ""

    @property
    def either(self) -> tuple[Any, ...]:
        return (self.op, self.choice) if self.choice else ()

    @property
    def _function(self) -> str:
        return f"lambda {', '.join(NAMES[: self.parts])}: {self.element}"

    @property
    def _twice(self) -> frozenset[int]:
        names = [node.id for node in ast.walk(syntax.parse(self.element)) if isinstance(node, ast.Name)]
        return frozenset(NAMES.index(name) for name in names if names.count(name) > 1)

    def write(self, text: Text) -> None:
        if not self.function:
            place = handed(text)
            if place.dataset:
                place.behind(f".map({self._function})")
            else:
                place.regroup(self._regrouped, self._twice)
            return
        source, given = elements_of(text, self.function)
        if given and self.parts == 1 and all(isinstance(value, ast.Dict) for value in given):
            source.splice([source.change(value, _opened(source, value, self.element)) for value in given])  # type: ignore[arg-type]
            return
        if not given or not all(isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == self.parts for value in given):
            raise NoPlace
        if any(not calls_nothing(value.elts[part]) for value in given for part in self._twice):  # type: ignore[attr-defined]
            raise NoPlace
        source.splice([source.change(value, self._written([source.of(one) for one in value.elts])) for value in given])  # type: ignore[attr-defined]

    def _written(self, parts: list[str]) -> str:
        new = self._regrouped(parts)
        return new[1:-1] if new.startswith("(") else new

    def _regrouped(self, parts: list[str]) -> str:
        if len(parts) != self.parts:
            raise NoPlace
        new, names = self.element, [node for node in ast.walk(syntax.parse(self.element)) if isinstance(node, ast.Name)]
        for node in sorted(names, key=lambda node: node.col_offset, reverse=True):
            new = new[: node.col_offset] + parts[NAMES.index(node.id)] + new[node.end_col_offset :]
        return new

    def shown(self, dataset: bool) -> Iterator[str]:
        if self.function:
            yield f"# in {self.function}, for the parts {', '.join(NAMES[: self.parts])} of a batch:"
            yield f"+{self.element}"
            return
        if not dataset:
            yield f"# for the parts {', '.join(NAMES[: self.parts])} of the data:"
            yield f"+{self.element}"
            return
        yield "# at the end of the pipeline:"
        yield f"+ds = ds.map({self._function})"

    def data(self, run: Run, data: Any) -> Any:
        if isinstance(data, tuple) and len(data) == self.parts and not self.function:
            return eval(self._function)(*data)
        if not hasattr(data, "element_spec"):
            raise CannotRebuild("Only the elements of a tf.data pipeline can be regrouped.")
        return data.map(eval(self._function))


def _opened(source: Source, held: ast.Dict, element: str) -> str:
    new = element
    for key, value in zip(held.keys, held.values, strict=True):
        if isinstance(key, ast.Constant):
            new = new.replace(f"{NAMES[0]}[{key.value!r}]", source.of(value))
    if f"{NAMES[0]}[" in new:
        raise NoPlace
    return new[1:-1]


@kind
@dataclass(frozen=True)
class YieldArrays(DataCode):
    """``np.array`` around the ``parts`` of what ``function`` gives: a generator, or a class by its ``__getitem__``.

    ``inputs``: the first part is a list of samples with so many arrays each; it becomes one array for each of them.
    """

    op = "yield_arrays"

    function: str = field(default="", metadata={"needed": True})
    parts: list[int] = field(default_factory=list)
    inputs: int = 0

    def write(self, text: Text) -> None:
        source, given = elements_of(text, self.function)
        changes = []
        for value in given:
            if not isinstance(value, (ast.Tuple, ast.List)) or len(value.elts) <= max(self.parts):
                raise NoPlace
            name, imports = text.names(source.file).spell(np, value)
            changes += imports if value is given[0] else []
            changes += [source.change(value.elts[part], self._array(name, source.of(value.elts[part]), part)) for part in self.parts]
        if not changes:
            raise NoPlace
        source.splice(changes)

    def _array(self, name: str, given: str, part: int) -> str:
        if part or not self.inputs:
            return f"{name}.array({given})"
        return f"({', '.join(f'{name}.array([sample[{at}] for sample in {given}])' for at in range(self.inputs))})"

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in {self.function}:"
        yield "+np.array(x)"
