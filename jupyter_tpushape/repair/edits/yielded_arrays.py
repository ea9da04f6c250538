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
    """``np.array`` around the ``parts`` of what ``function`` gives: a generator, or a class by its ``__getitem__``."""

    op = "yield_arrays"

    function: str = field(default="", metadata={"needed": True})
    parts: list[int] = field(default_factory=list)

    def write(self, text: Text) -> None:
        source, given = elements_of(text, self.function)
        changes = []
        for value in given:
            if not isinstance(value, (ast.Tuple, ast.List)) or len(value.elts) <= max(self.parts):
                raise NoPlace
            name, imports = text.names(source.file).spell(np, value)
            changes += imports if value is given[0] else []
            changes += [source.change(value.elts[part], f"{name}.array({source.of(value.elts[part])})") for part in self.parts]
        if not changes:
            raise NoPlace
        source.splice(changes)

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# in {self.function}:"
        yield "+np.array(x)"
