"""Candidates where two vectors of each sample were to give one score: a product value by value that nothing adds up."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Edge, Finding, Node
from ...flow.observed import keeps
from ...rules.mixing import carried
from ...rules.upstream import unrelated
from ..edits import ReplaceLayer
from ..edits.expression import IT, MODULE
from .edits import Made
from .ends import ends_of
from .line import lines_at

_WHY = "A product value by value has one number for each feature, and their sum is one score for each sample."


def summed(evidence: Evidence, finding: Finding) -> Made:
    """The sum of a product of two vectors, such as those of a user and an item, where each sample has one label."""
    labels, predictions = ends_of(evidence, finding)
    shape = labels.spec.shape if labels is not None else None
    made = _product(evidence, predictions) if predictions is not None and shape is not None and shape[1:] in ((), (1,)) else None
    if made is None:
        return
    if made.kind == "layer":
        yield f"Replace {made.name} with Dot(axes=-1)", [ReplaceLayer(made.name, "Dot", config={"axes": -1})], _WHY
        return
    for line in lines_at(evidence, made.called):
        node = line.node
        product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
        if isinstance(node, ast.expr) and (product or line.call("multiply") is not None):
            total = "reduce_sum" if line.module() == "tensorflow" else "sum"
            yield (
                f"Sum the product over its last axis at {line.at}",
                [line.edit(node, f"{MODULE}.{total}({IT}, axis=-1, keepdims=True)", line.module())],
                _WHY,
            )
            return


def _product(evidence: Evidence, edge: Edge) -> Node | None:
    """The product of two vectors, neither computed from the other, that predictions are, but for an activation or a number."""
    flow, shape = evidence.flow, edge.spec.shape or ()
    if len(shape) != 2 or (shape[1] or 0) < 2:
        return None
    for _ in range(6):
        node, given = flow.node(edge.source), flow.into(edge.source)
        if node.op in ("Multiply", "Mul") and len(given) == 2:
            whole = all(one.spec.shape == shape and carried(evidence, one) in ({0: 1.0}, None) for one in given)
            return node if whole and unrelated(evidence, *given) else None
        plain = len(given) == 1 and given[0].spec.shape == shape and not node.weights and (node.kind == "op" or keeps(flow, node))
        if not plain:
            return None
        edge = given[0]
    return None
