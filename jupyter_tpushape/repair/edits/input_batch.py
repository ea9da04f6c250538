"""A batch size for a declared input."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..text.arguments import argument, with_argument
from ..text.names import literal, positions_of
from ..text.program import Text
from ..text.source import NoPlace
from .base import Arguments, Edit, kind
from .run import Run

# The arguments whose first number is the batch.
_WHOLE = ("batch_shape", "batch_input_shape")


@kind
@dataclass(frozen=True)
class InputBatch(Edit):
    """The ``index``-th declared input declares batches of ``batch`` rows as well."""

    kind = "input-shape"
    op = "batch"

    index: int = 0
    batch: int = 0

    def write(self, text: Text) -> None:
        source, names, call = text.made(text.door(self.target, self.index))
        callee = names.value(call.func, call)
        order = positions_of(callee) if callee is not None else []
        whole = next((found for key in _WHOLE if (found := argument(call, key, order)) is not None), None)
        if whole is None:
            change = with_argument(source, names, call, "batch_size", literal(self.batch), order)
        elif isinstance(whole, (ast.Tuple, ast.List)) and whole.elts:
            change = source.change(whole.elts[0], literal(self.batch))
        else:
            raise NoPlace
        source.splice([change])

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# the batch size that {self.target} declares:"
        yield f"+batch_size={self.batch}"

    def declare(self, run: Run, index: int, args: Any, kwargs: Any) -> Arguments:
        if index != self.index:
            return args, kwargs
        run.done(self)
        for key in _WHOLE:
            if kwargs.get(key) is not None:
                return args, {**kwargs, key: (self.batch, *kwargs[key][1:])}
        return args, {**kwargs, "batch_size": self.batch}
