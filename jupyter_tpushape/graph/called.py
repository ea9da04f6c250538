"""The functions that a traced program calls: their graphs, what of their inputs is known when the program is compiled, and their loops.

A ``tf.function`` in a layer, a branch or the body of a loop is a graph of its own. Nothing is computed, and no graph of the user's is changed:
where a gradient has to be taken to see what it keeps, that happens in a copy. TensorFlow 1 calls a function by a node whose operation is the
function's name, and keeps its definition only: a copy stands for its graph, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Static = Callable[[Any, dict[int, bool]], bool]


def called_graphs(operation: Any) -> Iterator[tuple[str, Any]]:
    """The graphs that an operation calls, by the attribute that names them."""
    for name, value in operation.node_def.attr.items():
        for function in ([value.func] if value.HasField("func") else []) + list(value.list.func):
            try:
                graph = operation.graph._get_function(function.name).graph
            except (AttributeError, KeyError, ValueError, TypeError):
                continue  # known by its definition only, as of a SavedModel
            if graph is not None and hasattr(graph, "inputs"):
                yield name, graph


def known_inside(operation: Any, graph: Any, static: Static, outer: dict[int, bool]) -> dict[int, bool]:
    """Which of a called graph's inputs are known when the program is compiled: those that are so outside, and that a loop leaves alone.

    Args:
        outer: what is known of the calling graph, as ``static`` fills it.
    """
    given = list(operation.inputs)
    if operation.type in ("If", "StatelessIf", "Case", "StatelessCase"):
        given = given[1:]  # the first chooses the branch
    loop = operation.type in ("While", "StatelessWhile")
    if len(given) != len(graph.inputs):
        return {id(inner.op): False for inner in graph.inputs}
    changed = _changed(operation) if loop else set()
    return {
        id(inner.op): index not in changed and tensor.dtype.name not in ("resource", "variant") and static(tensor, outer)
        for index, (inner, tensor) in enumerate(zip(graph.inputs, given, strict=True))
    }


def _changed(loop: Any) -> set[int]:
    body = next((graph for name, graph in called_graphs(loop) if name == "body"), None)
    if body is None:
        return set(range(len(loop.inputs)))
    found = set()
    for index, (given, out) in enumerate(zip(body.inputs, body.outputs, strict=False)):
        held = out
        while held.op.type == "Identity":
            held = held.op.inputs[0]
        if held is not given:
            found.add(index)
    return found


def keeps_values(loop: Any, differentiated: bool) -> bool:
    """Whether the gradient of a loop without a bound keeps a value of each turn, which takes a list whose size nobody knows.

    Args:
        differentiated: whether its graph holds the gradient already. Otherwise it is taken, in a graph that may be written to.
    """
    if not endless(loop):
        return False
    if not differentiated:
        _differentiate(loop)
    return any(tensor.op.type == "EmptyTensorList" for tensor in loop.inputs)


def keeps_values_inside(loop: Any, caller: Any) -> bool:
    """:func:`keeps_values` for a loop in a function's graph, which is the user's: a copy is differentiated.

    Args:
        caller: the graph that holds the function's definition.
    """
    if not endless(loop):
        return False
    try:
        library = caller.as_graph_def().library.function
        definition = next(one for one in library if one.signature.name == loop.graph.name or _holds(one, loop))
        return keeps_values(copied(definition, caller).get_operation_by_name(loop.name), False)
    except Exception:  # what cannot be copied is not judged
        return False


def copied(definition: Any, caller: Any) -> Any:
    """A graph of its own of a function's definition, ``None`` where TensorFlow makes none.

    Args:
        caller: the graph that holds the definition, and those of the functions that are called inside.
    """
    from tensorflow.python.framework.function_def_to_graph import function_def_to_graph

    try:
        with caller.as_default():
            return function_def_to_graph(definition)
    except Exception:
        return None


def _holds(definition: Any, loop: Any) -> bool:
    return any(node.name == loop.name and node.op == loop.type for node in definition.node_def)


def _differentiate(loop: Any) -> None:
    import tensorflow as tf

    floats = [[one for one in tensors if one.dtype.is_floating] for tensors in (loop.outputs, loop.inputs)]
    if not all(floats):
        return
    try:
        with loop.graph.as_default():
            tf.gradients(*floats)
    except Exception:  # an operation without a gradient is a fault of its own
        return


def endless(operation: Any) -> bool:
    """Whether a while loop has no maximum_iterations; that is its second operand, -1 for none."""
    import tensorflow as tf

    try:
        bound = tf.get_static_value(operation.inputs[1])
        return bound is not None and int(bound) == -1
    except Exception:
        return False
