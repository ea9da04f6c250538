"""Reshapes in the code that makes the data that exchange the sizes of two axes, so that steps and features are mixed. Nothing runs here."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..flow import KeyPath
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


@dataclass(frozen=True)
class Pictures:
    """A reshape of pictures of shape ``before`` to ``after``, which has the channels at the other end."""

    path: KeyPath
    at: At
    call: ast.Call
    inner: ast.expr
    before: tuple[int, ...]
    after: tuple[int, ...]


def reshaped_pictures(seen: Examined) -> list[Pictures]:
    """Reshapes of pictures that move their channels, where the text says the shape that they had before."""
    sample, found = seen.sample, []
    shapes = {path: leaf.concrete or leaf.shape for role in ("x", "y") for path, leaf in sample.leaves(role)} if sample is not None else {}
    if not any(shape and len(shape) == 4 for shape in shapes.values()):
        return []
    for array in arrays_of(seen, only="reshape"):
        after, texts = (shapes.get(array.path) or ())[1:], Texts.of(array.at.file)
        turned = (after[2:] + after[:2], after[1:] + after[:1]) if len(after) == 3 and None not in after else ()
        place = next(((at, call, inner) for at, way in array.places for call, inner in [_reshape_of(texts, way)] if call is not None), None)
        if place is None or not turned:
            continue
        at, call, inner = place
        later = [at for at, _ in array.places].index(at) + 1
        for there, way in [(at, inner), *array.places[later:]] if inner is not None else ():
            made = _whole(way)
            before = _row(texts, there, made)
            channels = [one for one in turned if one == before and one != after]
            if channels and min(channels[0][0], channels[0][-1]) in range(2, 5) and inner is not None:
                found.append(Pictures(array.path, at, call, inner, before, tuple(int(n or 0) for n in after)))
            if before or not isinstance(made, (ast.Name, ast.Call)):
                break
    return found


def _whole(value: ast.expr) -> ast.expr:
    """What an expression that changes each value by itself works on."""
    while True:
        if isinstance(value, ast.Call) and called(value) in ("astype", "copy") and isinstance(value.func, ast.Attribute):
            value = value.func.value
        elif isinstance(value, ast.BinOp) and isinstance(value.right, ast.Constant):
            value = value.left
        else:
            return value


def _reshape_of(texts: Texts, value: ast.expr) -> tuple[ast.Call | None, ast.expr | None]:
    value = _whole(value)
    if isinstance(value, ast.Call) and called(value) == "reshape" and isinstance(value.func, ast.Attribute):
        return value, _inner(texts, value)
    return None, None


def _row(texts: Texts, at: At, value: ast.expr) -> tuple[int, ...]:
    """The last three of the four sizes that a reshape, or a function that makes an array, is given."""
    if not isinstance(value, ast.Call):
        return ()
    listed = [one.elts for one in (*value.args, *(word.value for word in value.keywords)) if isinstance(one, (ast.Tuple, ast.List))]
    if called(value) == "reshape" and isinstance(value.func, ast.Attribute):
        listed = [_target(texts, value)]
    elif called(value) in ("rand", "randn"):
        listed = [value.args]
    for sizes in [one for one in listed if len(one) == 4]:
        row = [_number(texts, at, size) for size in sizes[1:]]
        if None not in row:
            return tuple(size for size in row if size is not None)
    return ()


def _number(texts: Texts, at: At, size: ast.expr) -> int | None:
    given = texts.given(size.id, at) if isinstance(size, ast.Name) else None
    held = given[2] if given is not None else size
    return held.value if isinstance(held, ast.Constant) and type(held.value) is int else None


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
