"""Every operation of a program and of the functions that it calls, at any depth, with what is known when the program is compiled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..flow import Location
from .called import called_graphs, copied, known_inside
from .wrote import made_by_user, user_line

# What a graph holds beside the replica's own operations.
OUTSIDE = frozenset({"Placeholder", "VarHandleOp", "TPUReplicatedInput", "TPUReplicatedOutput", "TPUReplicateMetadata"})


def static(tensor: Any, known: dict[int, bool]) -> bool:
    """Whether a value follows from constants and static shapes alone."""
    pending, path = [tensor.op], []
    while pending:
        operation = pending.pop()
        if id(operation) in known:
            if known[id(operation)]:
                continue
            break
        kind = operation.type
        if kind in ("Const", "Shape", "ShapeN", "Size", "Rank", "VariableShape", "BroadcastGradientArgs"):
            continue
        if kind in OUTSIDE or not operation.inputs or operation.op_def.is_stateful:
            break
        path.append(operation)
        known[id(operation)] = True  # so far; a leaf that says otherwise ends the walk
        pending.extend(source.op for source in operation.inputs)
    else:
        return True
    for operation in path:
        del known[id(operation)]
    known[id(tensor.op)] = False
    return False


def _called(node: Any) -> Iterator[str]:
    """Names that a node of a graph may call a function by: its operation's, as in TensorFlow 1, and those in its attributes."""
    yield node.op
    for value in node.attr.values():
        if value.HasField("func"):
            yield value.func.name
        for function in value.list.func:
            yield function.name


def nodes(definition: Any, functions: dict[str, Any]) -> Iterator[Any]:
    """Every node of the functions that a graph calls; not of those it merely holds."""
    pending = [name for node in definition.node for name in _called(node)]
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if name in seen or name not in functions:
            continue
        seen.add(name)
        for node in functions[name].node_def:
            yield node
            pending.extend(_called(node))


@dataclass(frozen=True)
class Met:
    """An operation on the way through a program.

    Attributes:
        values: what is known of its graph's values when the program is compiled.
        by: the operation of the program itself that calls the function it is in; ``None`` for one of the program's own.
        wrote: the operation whose stack says who wrote it: its own, or that of the call, where a function's definition is all there is.
    """

    operation: Any
    values: dict[int, bool]
    by: Any
    wrote: Any

    @property
    def scope(self) -> str:
        """Its name behind that of the call, which bears the names of the layers around."""
        return self.operation.name if self.by is None else f"{self.by.name}/{self.operation.name}"

    @property
    def line(self) -> Location | None:
        return user_line(self.wrote)

    @property
    def by_user(self) -> bool:
        return made_by_user(self.wrote)


def walk(graph: Any, functions: dict[str, Any]) -> Iterator[Met]:
    """Every operation of a program; those of the functions that it calls come behind."""
    pending: list[tuple[Any, dict[int, bool], Any, Any]] = [(graph, {}, None, None)]
    seen: dict[Any, Any] = {}  # holds the graphs, so that no other gets the id of one
    while pending:
        current, values, by, wrote = pending.pop(0)
        if id(current) in seen:
            continue
        seen[id(current)] = current
        for operation in current.get_operations():
            if operation.type in OUTSIDE:
                continue
            outer = by or operation
            if operation.type not in functions:
                yield Met(operation, values, by, wrote or operation)
                pending.extend((inner, known_inside(operation, inner, static, values), outer, wrote) for _, inner in called_graphs(operation))
            elif operation.type not in seen:
                seen[operation.type] = inner = copied(functions[operation.type], graph)
                if inner is not None:
                    pending.append((inner, known_inside(operation, inner, static, values), outer, wrote or operation))
