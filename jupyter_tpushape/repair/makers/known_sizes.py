"""Candidates for results whose size depends on values: slices with bounds that are tensors, counts, and numbers of classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.mesh import ValueAsked
from ..edits.expression import MODULE
from .edits import Made, of
from .line import Line, lines_of


@of(ValueAsked)
def taken(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """``take`` of a known number of elements, from where a slice starts."""
    for line in lines_of(evidence) if fact.asked == "slice" else []:
        node = line.node
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
            continue
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not all(isinstance(part, ast.Slice) and part.step is None for part in parts):
            continue
        new, kept = line.source.of(node.value), []
        sized = [_sized(part, line) for part in parts if isinstance(part, ast.Slice)]
        if not any(sized):
            continue
        for axis, (part, bounds) in enumerate(zip(parts, sized, strict=True)):
            kept.append(":" if bounds else line.source.of(part))
            if bounds:
                new = f"{MODULE}.take({new}, {bounds[0]} + {MODULE}.arange({bounds[1]}), axis={axis})"
        if any(part != ":" for part in kept):
            new = f"{new}[{', '.join(kept)}]"
        sizes = " and ".join(bounds[1] for bounds in sized if bounds)
        yield (
            f"Take {sizes} elements from the start of the slice at {line.at}",
            [line.edit(node, new, "keras.ops")],
            "The number of elements is known, and only where they start depends on values.",
        )


def _sized(part: ast.Slice, line: Line) -> tuple[str, str] | None:
    """Where a slice starts and how many elements it has, where that is written: ``start : start + size`` or ``end - size : end``."""
    low, high = part.lower, part.upper
    if low is None or high is None:
        return None
    of = line.source.of
    if isinstance(high, ast.BinOp) and isinstance(high.op, ast.Add):
        for start, size in ((high.left, high.right), (high.right, high.left)):
            if ast.dump(start) == ast.dump(low):
                return of(low), of(size)
    if isinstance(low, ast.BinOp) and isinstance(low.op, ast.Sub) and ast.dump(low.left) == ast.dump(high):
        return of(low), of(low.right)
    return None


@of(ValueAsked)
def counted(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """The size of an axis for ``arange`` up to a number that only the data has, such as the longest of several lengths."""
    for line in lines_of(evidence) if fact.asked == "size" else []:
        call = line.call("arange")
        if call is None or len(call.args) != 1:
            continue
        for size in _sizes(line, line.shape_of_names()):
            yield (
                f"Count to {size} at {line.at}",
                [line.edit(call.args[0], size, choice="size")],
                "The size of a tensor in a compiled step is fixed; a mask leaves out the rest.",
            )


def _sizes(line: Line, shapes: dict[str, tuple[int | None, ...]]) -> Iterator[str]:
    for name, shape in shapes.items():
        if name.isidentifier() and len(shape) > 1:
            yield from (f"{name}.shape[{axis}]" for axis in range(1, len(shape)))


@of(ValueAsked)
def classes(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """The number of classes for ``bincount``, from the tensor that has a value for each."""
    for line in lines_of(evidence) if fact.asked == "size" else []:
        call = line.call("bincount")
        if call is None or len(call.args) != 1 or any(word.arg != "minlength" for word in call.keywords):
            continue
        root = ast.unparse(call.func).split(".")[0]
        for name, shape in line.shape_of_names().items():
            size = f"{name}.shape[-1]"
            if not name.isidentifier() or len(shape) < 2 or shape[-1] is None or shape[-1] < 2:
                continue
            if root in ("jnp", "jax"):
                edit = line.edit(call, f"{ast.unparse(call)[:-1]}, length={size})", choice="size")
            else:
                edit = line.edit(
                    call, f"{MODULE}.sum({MODULE}.one_hot({line.source.of(call.args[0])}, {size}), axis=0)", "keras.ops", "size"
                )
            yield f"Count {size} classes at {line.at}", [edit], "The result then has a known size: one count for each class."
