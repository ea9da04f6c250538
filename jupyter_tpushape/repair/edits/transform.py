"""An operation on the data or the labels, where they are handed over."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...flow import CannotRebuild, Spec
from ...flow import Edit as Value
from ...sources.kinds import is_loader
from ..text.program import Text
from ..text.variables import handed
from .base import Edit, kind
from .operations import OPERATIONS
from .run import Run

_ROLES = {"x": 0, "y": 1, "weight": 2}


@kind
@dataclass(frozen=True)
class Transform(Edit):
    """``operation(**arguments)`` on the leaf ``path`` of ``role`` (``x``, ``y``, ``weight``)."""

    kind = "data-transform"
    data_only = True

    role: str = "x"
    operation: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    path: tuple[Any, ...] = ()

    @property
    def value(self) -> Value:
        detail: dict[str, Any] = {"op": self.operation, **self.arguments}
        if self.path:
            detail["key"] = self.path[0] if len(self.path) == 1 else list(self.path)
        if self.role == "weight":
            detail["role"] = self.role
        return Value("label-transform" if self.role == "y" else "data-transform", self.target, detail)

    @classmethod
    def of(cls, value: Value) -> Transform | None:
        detail = dict(value.detail)
        name, key = detail.pop("op", ""), detail.pop("key", None)
        role = detail.pop("role", "y" if value.kind == "label-transform" else "x")
        if name not in OPERATIONS:
            return None
        return cls(value.target, role, name, detail, () if key is None else tuple(key) if isinstance(key, list) else (key,))

    def expression(self, name: str, spec: Spec | None, *, tensor: bool) -> str:
        """The operation on ``name`` as text."""
        found = OPERATIONS[self.operation]
        return (found.tensor if tensor else found.numpy)(name, spec, **self.arguments)

    def write(self, text: Text) -> None:
        handed(text, self.role).transform(self.path, self.expression)

    def shown(self, dataset: bool) -> Iterator[str]:
        from ..text.handed import mapped

        name = "".join([self.role if self.role != "weight" else "w", *(f"[{key!r}]" for key in self.path)])
        if dataset and not self.path and (made := mapped(self.role, self.expression("xyw"[_ROLES[self.role]], None, tensor=True))):
            yield "# at the end of the pipeline:"
            yield f"+ds = ds{made}"
            return
        yield "# before fit():"
        yield f"+{name} = {self.expression(name, None, tensor=dataset) or self.operation}"

    def data(self, run: Run, data: Any) -> Any:
        if hasattr(data, "element_spec"):
            return self._mapped(data)
        if is_loader(data) or callable(getattr(data, "__next__", None)) or type(data).__mro__[-2].__name__ in ("PyDataset", "Sequence"):
            raise CannotRebuild("tpushape cannot change the elements of a generator: apply the transform inside the generator.")
        parts = list((*data, None, None)[:3] if isinstance(data, tuple) else (data, None, None))
        index = _ROLES[self.role]
        parts[index] = at(parts[index], self.path, self._on_array)
        return tuple(parts[:2]) if parts[2] is None else tuple(parts)

    def _on_array(self, value: Any) -> Any:
        described = not isinstance(value, (np.ndarray, list)) and hasattr(value, "shape") and hasattr(value, "dtype") and not hasattr(value, "__array__")
        dtype = getattr(getattr(value, "dtype", None), "as_numpy_dtype", None) or getattr(value, "dtype", None)
        array = np.broadcast_to(np.zeros((), dtype), tuple(value.shape)) if described else np.asarray(value)
        spec = Spec(tuple(array.shape), str(array.dtype))
        made = OPERATIONS[self.operation].function("np", np, spec, self.arguments)(array)
        return type(value)(made.shape, made.dtype) if described else made

    def _mapped(self, dataset: Any) -> Any:
        tf = sys.modules["tensorflow"]
        index = _ROLES[self.role]

        def change(value: Any) -> Any:
            shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
            spec = Spec(tuple(shape) if shape is not None and shape.rank is not None else None, dtype.name) if dtype is not None else None
            return OPERATIONS[self.operation].function("tf", tf, spec, self.arguments)(value)

        def map_element(*parts: Any) -> Any:
            items = list(parts)
            items[index] = at(items[index], self.path, change)
            return tuple(items) if len(items) > 1 else items[0]

        return dataset.map(map_element, num_parallel_calls=tf.data.AUTOTUNE)


def at(value: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    """A nested value with one leaf changed."""
    if not path:
        return change(value)
    key, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {name: at(item, rest, change) if name == key else item for name, item in value.items()}
    if not isinstance(value, (list, tuple)):
        raise CannotRebuild(f"The data has no element {key!r}.")
    return type(value)(at(item, rest, change) if i == key else item for i, item in enumerate(value))


@kind
@dataclass(frozen=True)
class ExchangeInputs(Edit):
    """The leaves of x, or of y (``target``), in another order or under each other's names."""

    kind = "data-transform"
    op = "exchange"
    data_only = True

    order: Any = field(default_factory=list)

    def expression(self, name: str, spec: Spec | None, *, tensor: bool) -> str:
        from .operations import atom

        if isinstance(self.order, dict):
            return "{" + ", ".join(f'"{new}": {atom(name)}["{old}"]' for new, old in self.order.items()) + "}"
        inner = ", ".join(f"{atom(name)}[{i}]" for i in self.order)
        return f"({inner})" if tensor else f"[{inner}]"

    def write(self, text: Text) -> None:
        handed(text, self.target).exchange(self.order, self.expression)

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# before fit():"
        yield f"+{self.target} = {self.expression(self.target, None, tensor=False)}"

    def data(self, run: Run, data: Any) -> Any:
        def change(value: Any) -> Any:
            if isinstance(self.order, dict):
                return {new: value[old] for new, old in self.order.items()}
            return type(value)([value[i] for i in self.order])

        index = ("x", "y").index(self.target)

        def exchanged(*parts: Any) -> Any:
            return (*parts[:index], change(parts[index]), *parts[index + 1 :]) if len(parts) > 1 else change(parts[0])

        if hasattr(data, "element_spec"):
            return data.map(exchanged, num_parallel_calls=sys.modules["tensorflow"].data.AUTOTUNE)
        return exchanged(*data) if isinstance(data, tuple) else change(data)
