"""The model that a cell only begins: what leads from its inputs to the last tensors that it leaves behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

_MOST = 5000


def begun(values: Iterable[Any]) -> Any:
    """A functional model of the symbolic tensors among ``values`` that lead to no other of them; ``None`` where no layer leads to one."""
    from ..trace.frameworks import adapter_for

    tensors = {id(one): one for value in values for one in _tensors(value)}
    if not tensors:
        return None
    adapter: Any = adapter_for(next(iter(tensors.values())))
    inputs: dict[int, Any] = {}
    passed: dict[int, Any] = {}
    pending = list(tensors.values())
    while pending and len(passed) < _MOST:
        tensor = pending.pop()
        operation, before = adapter.origin(tensor) or (None, [])
        if isinstance(operation, adapter.InputLayer):
            inputs[id(tensor)] = tensor
        for one in before:
            if id(one) not in passed:
                passed[id(one)] = one
                pending.append(one)
    ends = [one for key, one in tensors.items() if key not in passed and key not in inputs]
    return adapter.Model(list(inputs.values()), ends) if ends and inputs else None


def _tensors(value: Any) -> Iterator[Any]:
    from ..trace.frameworks import adapter_for

    for one in value if type(value) in (list, tuple) else [value]:
        adapter = adapter_for(one)
        if adapter is not None and adapter.is_symbolic(one):
            yield one
