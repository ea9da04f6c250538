"""Reshapes in the code that makes the data that exchange the sizes of two axes, so that steps and features are mixed. Nothing runs here."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..flow.syntax import called
from .given_names import At, Texts
from .program import Examined
from .row_steps import Array, arrays_of, stacked


@dataclass(frozen=True)
class Exchanged:
    """A reshape to (rows, ``features``, ``steps``) of an array whose rows are (``steps``, ``features``). ``beside``: it is stacked of as many arrays."""

    array: Array
    at: At
    call: ast.Call
    inner: ast.expr
    steps: int
    features: int
    beside: bool


def exchanged_axes(seen: Examined) -> Exchanged | None:
    """The first reshape of an input, with the sizes that are left in the batches, that moves the steps behind the features."""
    sample = seen.sample
    shapes = {path: leaf.concrete or leaf.shape for role in ("x", "y") for path, leaf in sample.leaves(role)} if sample is not None else {}
    if not any(shape and len(shape) == 3 and None not in shape[1:] and shape[1] != shape[2] and min(shape[1:]) > 1 for shape in shapes.values()):
        return None
    for array in arrays_of(seen, only="reshape"):
        shape = shapes.get(array.path)
        if not shape or len(shape) != 3 or shape[1] == shape[2] or min(shape[1:]) < 2:
            continue
        texts = Texts.of(array.at.file)
        for at, place in array.places:
            call = _outermost(place)
            inner = _inner(texts, call) if call is not None else None
            rows = isinstance(place, ast.Subscript) and isinstance(place.slice, (ast.Slice, ast.Name))
            if call is None and not rows and not isinstance(place, (ast.Name, ast.Call)):
                break  # other sizes than those of the reshape
            if call is None or inner is None:
                continue
            sizes = _target(texts, call)
            beside = any(len(stacked(node)) == shape[2] for _, way in array.places for node in ast.walk(way))
            if len(sizes) == 3 and (beside or _turned(sizes, inner) or _is_window(texts, array, at, sizes)):
                return Exchanged(array, at, call, inner, shape[2], shape[1], beside)
    return None


def _outermost(place: ast.expr) -> ast.Call | None:
    while isinstance(place, ast.Call) and called(place) in ("astype", "copy") and isinstance(place.func, ast.Attribute):
        place = place.func.value
    return place if isinstance(place, ast.Call) and called(place) == "reshape" and isinstance(place.func, ast.Attribute) else None


def _inner(texts: Texts, call: ast.Call) -> ast.expr | None:
    assert isinstance(call.func, ast.Attribute)
    if texts.is_module(call.func.value):
        return call.args[0] if len(call.args) == 2 and not call.keywords else None
    return call.func.value if call.args and not call.keywords else None


def _target(texts: Texts, call: ast.Call) -> list[ast.expr]:
    assert isinstance(call.func, ast.Attribute)
    given = call.args[texts.is_module(call.func.value) :]
    return list(given[0].elts) if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)) else list(given)


def _turned(sizes: list[ast.expr], inner: ast.expr) -> bool:
    name = ast.unparse(inner)
    return [ast.unparse(size) for size in sizes[1:]] == [f"{name}.shape[2]", f"{name}.shape[1]"] and ast.unparse(sizes[0]) in (
        f"{name}.shape[0]",
        f"len({name})",
        "-1",
    )


def _is_window(texts: Texts, array: Array, at: At, sizes: list[ast.expr]) -> bool:
    """Whether the rows are windows of a series, and the last size is their length, which a name says in both places."""
    last = array.steps[-1] if array.steps else None
    folded = sum(step.kind == "folded" for step in array.steps)
    if last is None or last.kind != "windows" or folded > (ast.unparse(sizes[0]) == "-1"):
        return False
    return any(
        isinstance(size, (ast.Name, ast.Constant)) and ast.unparse(size) == ast.unparse(sizes[2]) and _same(texts, size, last.at, at)
        for size in _lengths(last.node)
    )


def _lengths(node: ast.expr) -> list[ast.expr]:
    """The lengths of the slices that move: ``n`` in ``x[i : i + n]`` with nothing behind it that takes one column."""
    node = node.elt if isinstance(node, ast.ListComp) else node
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
        return []
    low, high = node.slice.lower, node.slice.upper
    if low is None or not isinstance(high, ast.BinOp) or not isinstance(high.op, ast.Add) or node.slice.step is not None:
        return []
    return [high.right] if ast.unparse(high.left) == ast.unparse(low) else []


def _same(texts: Texts, size: ast.expr, one: At, other: At) -> bool:
    if isinstance(size, ast.Constant):
        return True
    held = [texts.given(size.id, place) for place in (one, other)] if isinstance(size, ast.Name) else []
    found = [given[1] for given in held if given is not None]
    return len(found) == 2 and found[0] is found[1]
