"""Arrays in place of the lists of samples that a generator yields."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..text.program import Text
from ..text.source import NoPlace
from .base import kind
from .data_code import DataCode, elements_of


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
