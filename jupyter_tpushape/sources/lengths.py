"""Whether what a pipeline's function returns is as long as what it is given."""

from __future__ import annotations

from typing import Any

_EACH = frozenset(
    {"Identity", "Cast", "Mul", "AddV2", "Sub", "RealDiv", "Maximum", "Minimum", "Neg", "Abs", "Exp", "Log", "Log1p", "Sqrt", "Square",
     "Pow", "Tanh", "Sigmoid", "ExpandDims", "OneHot"}
)  # fmt: skip


def as_long(wrapper: Any) -> bool:
    """Whether one of the outputs has the length of an argument, or the same number of elements fewer."""
    try:
        return any(_from_argument(output) for output in wrapper.function.graph.outputs)
    except Exception:  # a function without a graph of its own
        return False


def _from_argument(tensor: Any, depth: int = 30) -> bool:
    for _ in range(depth):
        if not tensor.shape.rank or tensor.shape[0] is not None:
            return False
        operation = tensor.op
        if operation.type == "Placeholder":
            return True
        if operation.type == "StridedSlice":
            if not _cuts_ends(operation):
                return False
        elif operation.type not in _EACH:
            return False
        tensor = max(operation.inputs, key=lambda one: one.shape.rank or 0)
    return False


def _cuts_ends(operation: Any) -> bool:
    """Whether a slice leaves out some elements from the start or the end, so a shorter tensor stays shorter."""
    from tensorflow import get_static_value

    begin, end = (get_static_value(one) for one in operation.inputs[1:3])
    from_start, to_end = operation.get_attr("begin_mask") & 1, operation.get_attr("end_mask") & 1
    if operation.get_attr("ellipsis_mask") & 1:
        return True
    if operation.get_attr("shrink_axis_mask") & 1 or begin is None or end is None:
        return False
    return bool((from_start or begin[0] >= 0) and (to_end or end[0] < 0))
