"""What raised in a line of the program that uses NumPy or plain Python, and lines that calculate with a tensor of true and false."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..examine.heard import HeardDepth, HeardReshape, hear
from ..examine.heard_contracts import HeardRefusedDtype
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
from ..flow import Fact, Finding, Node, Who, syntax
from ..trace.raised import Raised
from .examples import sequential
from .facts.data import Unfilled
from .facts.layers import ArraysApart
from .facts.layouts import MeshAxes, MeshCount, for_batch
from .facts.lines import (
    ElementMissing,
    KeyMissing,
    LineRaised,
    LogicalOperand,
    LogicalProduct,
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
from .registry import check, rule
from .upstream import ancestors


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
    beyond = _size_missing(raised) or _element_missing(raised) if raised is not None and node.failure.type == "IndexError" else None
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
    keys = tuple(str(path[1]) for path, _ in evidence.x if len(path) == 2 and isinstance(path[1], str))
    tree = syntax.parsed(raised.text) if raised.function == "call" and not raised.callers and len(keys) == len(evidence.x) else None
    for node in ast.walk(tree) if tree is not None and keys else ():
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant):
            key = node.slice.value
            if isinstance(key, str) and key not in keys:
                return KeyMissing(node.value.id, key, keys)
    return None


def _size_missing(raised: Raised) -> SizeMissing | None:
    tree, known = syntax.parsed(raised.text), dict(raised.tensors)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            name, axis = ast.unparse(node.value.value), node.slice.value if isinstance(node.slice, ast.Constant) else None
            shape = known[name].shape if name in known else None
            if shape and type(axis) is int and axis >= len(shape):
                return SizeMissing(name, shape, axis)
    return None


def _element_missing(raised: Raised) -> ElementMissing | None:
    tree, lengths = syntax.parsed(raised.text), dict(raised.lengths)
    for node in ast.walk(tree) if tree is not None else ():
        index = node.slice.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) else None
        if isinstance(node, ast.Subscript) and type(index) is int and index >= lengths.get(ast.unparse(node.value), index + 1):
            return ElementMissing(ast.unparse(node.value), index, lengths[ast.unparse(node.value)])
    return None


def _wrapped(text: str) -> tuple[str, str] | None:
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
    for name, made in raised.nothing:
        found = _TAPE.fullmatch(made)
        if found and re.search(rf"\b{name}\b", raised.text) and found[3] in dict(raised.tensors):
            return NoGradient(name, found[1], found[2], found[3], (found[1], found[3]) in raised.watched)
    return None


_MASKED = """
class Masked(L.Layer):
    def call(self, x):
        keep = x > 0
        return tf.cast(%s * x, "float32")
"""
PRODUCT = rule(
    "product-logical", "A product with bools gives bools", severity="silent",
    source="tensorflow/python/ops/math_ops.py: the operator * of a tensor of bool gives bool",
    fails=sequential("Masked(), L.Dense(1)", more=_MASKED % "keep"), passes=sequential("Masked(), L.Dense(1)", more=_MASKED % 'tf.cast(keep, "float32")'),
)  # fmt: skip

_CALCULATES = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.FloorDiv, ast.Mod)


def logical(evidence: Evidence, node: Node) -> tuple[str, Fact] | None:
    """The operand of the line that raised which is a tensor of bools."""
    raised = evidence.raised
    if raised is None or node.failure is None or node.failure.type not in ("TypeError", "ValueError", "InvalidArgumentError"):
        return None
    tree = syntax.parsed(raised.text)
    line = tree.body[0] if tree is not None and len(tree.body) == 1 else None
    found = line.value if isinstance(line, ast.Expr) else line
    if isinstance(found, ast.BinOp) and isinstance(found.op, _CALCULATES):
        operands = [found.left, found.right]
    elif isinstance(found, ast.AugAssign) and isinstance(found.op, _CALCULATES):
        operands = [found.target, found.value]
    else:
        return None
    known = {name: spec.dtype for name, spec in raised.tensors}
    bools = [ast.unparse(one) for one in operands if known.get(ast.unparse(one)) == "bool"]
    return ("dtype-mix", LogicalOperand(bools[0], raised.text)) if bools else None


@check(order=44)
def logical_products(evidence: Evidence) -> Iterator[Finding]:
    """Products of numbers with bools."""
    for node in evidence.flow.nodes if not evidence.where else ():
        fact = _product(evidence, node)
        if fact is not None:
            yield Finding.of(PRODUCT.id, "silent", fact, (node.id,), location=node.called)


def of_product(evidence: Evidence, node: Node) -> tuple[str, Fact] | None:
    """The product upstream that gave bools to an operation which needs numbers."""
    refused = hear(node.failure, HeardRefusedDtype)
    if refused is None or refused.dtype != "bool":
        return None
    inside = [one for one in evidence.flow.nodes if node.kind == "layer" and one.parent == node.id]
    found = (_product(evidence, one) for one in (*inside, *ancestors(evidence, node.id)))
    fact = next((one for one in found if one is not None), None)
    return ("dtype-mix", fact) if fact is not None else None


def _product(evidence: Evidence, node: Node) -> LogicalProduct | None:
    flow = evidence.flow
    casts = [flow.node(edge.source) for edge in flow.into(node.id)]
    if node.op != "Mul" or [one.op for one in casts] != ["Cast", "Cast"] or any(one.called != node.called for one in casts):
        return None
    came = [next((edge.spec.dtype for edge in flow.into(one.id)), "") for one in casts]
    numbers = [at for at, dtype in enumerate(came) if dtype.startswith(("float", "bfloat", "int"))]
    made = [flow.node(edge.target) for edge in flow.out_of(node.id)]
    gives = {edge.spec.dtype for one in made if one.op == "Cast" and one.called == node.called for edge in flow.out_of(one.id)}
    if "bool" not in came or len(numbers) != 1 or not gives <= {"bool"} or all(one.op != "Cast" for one in made):
        return None
    return LogicalProduct(Who.of(node), came[numbers[0]], numbers[0])
