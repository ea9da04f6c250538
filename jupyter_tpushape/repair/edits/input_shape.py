"""Another shape, dtype or batch size, for a declared input."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..text.arguments import Change, argument, with_argument
from ..text.names import literal, positions_of
from ..text.program import Text
from ..text.source import NoPlace, Source
from .base import Arguments, Edit, kind
from .run import _DECLARING, Run


@kind
@dataclass(frozen=True)
class InputShape(Edit):
    """``shape``, without the batch axis, for the ``index``-th declared input."""

    kind = "input-shape"

    index: int = 0
    shape: list[int | None] = field(default_factory=list)
    dtype: str = ""

    def write(self, text: Text) -> None:
        obj = text.door(self.target, self.index)
        source, names, call = text.made(obj)
        callee = names.value(call.func, call)
        order = positions_of(callee) if callee is not None else []
        changes = [self._shaped(source, call, order)]
        if self.dtype:
            changes.append(with_argument(source, names, call, "dtype", literal(self.dtype), order))
        source.splice(changes)

    def _shaped(self, source: Source, call: ast.Call, order: list[str]) -> Change:
        value = literal(tuple(self.shape))
        for key in _DECLARING:
            known = argument(call, key, order)
            if known is None:
                continue
            if key == "input_dim":
                keyword = next(item for item in call.keywords if item.arg == key)
                return source.change(keyword, f"input_shape={value}")
            if key.startswith("batch_"):
                if not isinstance(known, (ast.Tuple, ast.List)) or not known.elts:
                    raise NoPlace
                value = literal((None, *self.shape)).replace("None", source.of(known.elts[0]), 1)
            return source.change(known, value)
        raise NoPlace

    def shown(self, dataset: bool) -> Iterator[str]:
        yield f"# the declared shape of {self.target}:"
        yield f"+{literal(self.shape)}"

    def declare(self, run: Run, index: int, args: Any, kwargs: Any) -> Arguments:
        if index != self.index:
            return args, kwargs
        run.done(self)
        shape, declares = tuple(self.shape), [key for key in _DECLARING if kwargs.get(key) is not None]
        kwargs = dict(kwargs)
        for key in declares:
            if key.startswith("batch_"):
                before = kwargs[key]
                kwargs[key] = ((before[0] if before else None), *shape)
            elif key == "input_dim":
                kwargs.pop(key)
                kwargs["input_shape"] = shape
            else:
                kwargs[key] = shape
        if self.dtype:
            kwargs["dtype"] = self.dtype
        return ((shape, *args[1:]) if not declares and args else args), kwargs


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
