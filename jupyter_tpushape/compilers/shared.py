"""What an optimizer computes again for each variable is computed once: constants, powers of its decay rates, reads of its step count.

Keras writes an update out for each variable. In ResNet50's step with Adam every second operation repeats another one on the same tensors, and
TensorFlow takes half a millisecond to make and to lower each. XLA drops such repetitions first of all, so the compiled program is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

_READ = "ReadVariableOp"
_NUMBERS = (int, float, bool)


class Shared:
    """The operations of one graph that may stand for a later one of the same kind, inputs and attributes."""

    def __init__(self) -> None:
        self._graph: Any = None
        self._made: dict[Any, Any] = {}
        # By the handle of the variable, since it was last handed to anything but a read.
        self._reads: dict[int, Any] = {}
        # An identity is one object's only as long as the object is there.
        self._kept: list[Any] = []

    def operation(self, graph: Any, kind: str, inputs: Sequence[Any], make: Callable[[], Any]) -> Any:
        """The read of a variable that was made before, or the operation that ``make`` makes now."""
        self._of(graph)
        if kind == _READ and not graph._control_dependencies_stack:
            return self._once(self._reads, id(inputs[0]), inputs, make)
        if kind != _READ and not _plain(kind):
            # It may write to any variable whose handle it is given, or call what does.
            for one in inputs:
                self._reads.pop(id(one), None)
        return make()

    def result(self, graph: Any, kind: str, given: dict[str, Any], make: Callable[[], Any]) -> Any:
        """What an operation of this kind gave for the same arguments, or what ``make`` makes now."""
        from tensorflow.python.framework.tensor import Tensor

        self._of(graph)
        if graph._control_dependencies_stack or not _plain(kind):
            return make()
        key: list[Any] = [kind]
        for name, value in given.items():
            if isinstance(value, Tensor):
                key.append((name, id(value)))
            elif value is None or isinstance(value, (*_NUMBERS, str)) or type(value).__name__ == "DType":
                key.append((name, type(value), value))
            else:
                return make()
        return self._once(self._made, tuple(key), given.values(), make)

    def constant(self, graph: Any, given: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """The constant of a number that was made before, or the one that ``make`` makes now."""
        self._of(graph)
        if graph._control_dependencies_stack or type(given[0]) not in _NUMBERS:
            return make()
        # Zero below zero is a number of its own.
        return self._once(self._made, (type(given[0]), *map(repr, given)), (), make)

    def _of(self, graph: Any) -> None:
        if graph is not self._graph:
            self._graph, self._made, self._reads, self._kept = graph, {}, {}, []

    def _once(self, held: dict[Any, Any], key: Any, kept: Iterable[Any], make: Callable[[], Any]) -> Any:
        made = held.get(key)
        if made is None:
            made = held[key] = make()
            self._kept += kept
        return made


@lru_cache(maxsize=512)
def _plain(kind: str) -> bool:
    from tensorflow.python.framework import op_def_registry

    known = op_def_registry.get(kind)
    if known is None or known.is_stateful or not known.input_arg or not known.output_arg:
        return False
    # A function may do anything; what is given the handle of a variable may write to it.
    return not any(one.type in ("func", "list(func)") for one in known.attr) and not any(one.type == _RESOURCE for one in known.input_arg)


_RESOURCE = 20


@contextmanager
def once(graph_of: Callable[[], Any], shared: Shared) -> Iterator[None]:
    """While ``graph_of`` gives the graph in which an optimizer is at work, what it computes again is computed once."""
    from tensorflow.python.framework import op_def_library, ops

    apply, constant = op_def_library._apply_op_helper, ops._create_graph_constant

    def applied(op_type_name: str, name: str | None = None, **given: Any) -> Any:
        graph = graph_of()
        if graph is None:
            return apply(op_type_name, name, **given)
        return shared.result(graph, op_type_name, given, lambda: apply(op_type_name, name, **given))

    def of_number(value: Any, dtype: Any, shape: Any, name: Any, *rest: Any, **more: Any) -> Any:
        graph = graph_of()
        if graph is None or more:
            return constant(value, dtype, shape, name, *rest, **more)
        return shared.constant(graph, (value, dtype, shape, *rest), lambda: constant(value, dtype, shape, name, *rest))

    op_def_library._apply_op_helper, ops._create_graph_constant = applied, of_number
    try:
        yield
    finally:
        op_def_library._apply_op_helper, ops._create_graph_constant = apply, constant
