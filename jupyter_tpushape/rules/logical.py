"""Lines of the program that calculate with a tensor of true and false: they raise, or TensorFlow gives bools for a product."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..examine.heard import hear
from ..examine.heard_contracts import HeardRefusedDtype
from ..flow import Fact, Finding, Node, Who, syntax
from .examples import sequential
from .facts.lines import LogicalOperand, LogicalProduct
from .registry import check, rule
from .upstream import ancestors

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
    """A product of bools and numbers. TensorFlow takes the numbers for bools too, and gives bools."""
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
