"""What raised in a line of the program that uses NumPy or plain Python."""

from __future__ import annotations

import ast
import difflib
import re
import sys

from ..examine.evidence import Evidence
from ..examine.heard import (
    HeardDepth,
    HeardReshape,
    hear,
)
from ..examine.heard_lines import (
    HeardArrays,
    HeardMeshAxes,
    HeardMeshCount,
    HeardNeverCalled,
    HeardNoAttribute,
    HeardNotRecurrent,
    HeardUnknownArguments,
    HeardUnregistered,
)
from ..flow import Fact, Node, syntax
from ..trace.raised import Raised
from .facts.data import Unfilled
from .facts.layers import (
    ArraysApart,
)
from .facts.layouts import MeshAxes, MeshCount, for_batch
from .facts.lines import (
    KeyMissing,
    LineRaised,
    LossOfModel,
    NeverCalled,
    NoAttribute,
    NoGradient,
    NotRecurrent,
    SizeMissing,
    TooDeep,
    UnknownArguments,
    Unregistered,
)
from .messages import meanings


def line_raised(evidence: Evidence, node: Node) -> Fact:
    """A line of the program that uses NumPy or plain Python."""
    assert node.failure is not None
    raised = evidence.raised
    unwatched = _no_gradient(raised) if raised is not None else None
    if unwatched is not None:
        return unwatched
    looked_up = _key_missing(evidence, raised) if raised is not None and node.failure.type == "KeyError" else None
    if looked_up is not None:
        return looked_up
    beyond = _size_missing(raised) if raised is not None and node.failure.type == "IndexError" else None
    if beyond is not None:
        return beyond
    reshape = hear(node.failure, HeardReshape)
    if reshape is not None and reshape.by == "numpy":
        return Unfilled(reshape.have, reshape.wanted, "program", node.failure.said)
    arrays = hear(node.failure, HeardArrays)
    if arrays is not None:
        return ArraysApart(arrays.how, arrays.first, arrays.second)
    uncalled = hear(node.failure, HeardNeverCalled)
    if uncalled is not None:
        return NeverCalled(uncalled.layer, uncalled.what)
    axes, sizes = hear(node.failure, HeardMeshAxes), hear(node.failure, HeardMeshCount)
    if axes is not None and axes.got:
        return MeshAxes(axes.got[0], axes.valid, rows=next(filter(for_batch, axes.valid), ""))
    if sizes is not None:
        return MeshCount(sizes.shape, sizes.devices)
    short = raised.text if raised is not None and len(raised.text) < 60 and "\n" not in raised.text else ""
    older, absent = hear(node.failure, HeardUnknownArguments), hear(node.failure, HeardNoAttribute)
    absentee = hear(node.failure, HeardUnregistered)
    if absentee is not None:
        return Unregistered(absentee.what, absentee.name, short)
    if raised is not None and hear(node.failure, HeardNotRecurrent) is not None and (wrapped := _wrapped(raised.text)) is not None:
        return NotRecurrent(*wrapped)
    if older is not None and older.names:
        return UnknownArguments(older.names, short, evidence.facts.get("of_call", ()))
    if absent is not None:
        held = [one for one in dir(sys.modules.get(absent.module)) if not one.startswith("_")]
        near = [one for one in held if one.lower() == absent.name.lower()] or difflib.get_close_matches(absent.name, held, 1, 0.85)
        return NoAttribute(absent.module, absent.name, tuple(near[:1]))
    if hear(node.failure, HeardDepth) is not None:
        known = next(meanings(node.failure.message))
        return TooDeep(known.means, known.todo)
    if raised is not None and node.failure.type == "NotImplementedError" and re.match(r"[\w.]+\.add_loss\(", raised.text):
        return LossOfModel(short)
    return LineRaised(node.failure.said, short)


_TAPE = re.compile(r"(?<!\w)(\w+)\.gradient\(([\w.]+), (?:sources=)?([\w.]+)\)")


def _key_missing(evidence: Evidence, raised: Raised) -> KeyMissing | None:
    """A key that the model's own call looks up in the data, which has others."""
    keys = tuple(str(path[1]) for path, _ in evidence.x if len(path) == 2 and isinstance(path[1], str))
    tree = syntax.parsed(raised.text) if raised.function == "call" and not raised.callers and len(keys) == len(evidence.x) else None
    for node in ast.walk(tree) if tree is not None and keys else ():
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant):
            key = node.slice.value
            if isinstance(key, str) and key not in keys:
                return KeyMissing(node.value.id, key, keys)
    return None


def _size_missing(raised: Raised) -> SizeMissing | None:
    """A size that is read of an array with fewer axes."""
    tree, known = syntax.parsed(raised.text), dict(raised.tensors)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            name, axis = ast.unparse(node.value.value), node.slice.value if isinstance(node.slice, ast.Constant) else None
            shape = known[name].shape if name in known else None
            if shape and type(axis) is int and axis >= len(shape):
                return SizeMissing(name, shape, axis)
    return None


def _wrapped(text: str) -> tuple[str, str] | None:
    """A class that is made with a layer made on the spot, and the class of that layer."""
    try:
        tree = syntax.parse(text)
    except (SyntaxError, ValueError):
        return None
    for call in ast.walk(tree):
        inner = call.args[0] if isinstance(call, ast.Call) and call.args else None
        if isinstance(call, ast.Call) and isinstance(inner, ast.Call):
            return ast.unparse(call.func).rsplit(".", 1)[-1], ast.unparse(inner.func).rsplit(".", 1)[-1]
    return None


def _no_gradient(raised: Raised) -> NoGradient | None:
    """The gradient that an expression works on and that a tape did not record."""
    for name, made in raised.nothing:
        found = _TAPE.fullmatch(made)
        if found and re.search(rf"\b{name}\b", raised.text) and found[3] in dict(raised.tensors):
            return NoGradient(name, found[1], found[2], found[3], (found[1], found[3]) in raised.watched)
    return None
