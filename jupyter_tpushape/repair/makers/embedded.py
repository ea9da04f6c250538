"""Candidates where embeddings meet: one width, one vector a sample."""

from __future__ import annotations

from ...examine.evidence import Evidence
from ...flow import Finding, Node
from ...rules.facts.loss import SurplusAxes
from ...rules.facts.loss_silent import Crosswise
from .edits import Made, append, configure, failing, received


def one_width(evidence: Evidence, finding: Finding) -> Made:
    """One width for all embeddings that are stacked as rows."""
    node, _ = failing(evidence)
    edges = evidence.operands()
    makers = [_behind_flatten(evidence, evidence.flow.node(edge.source)) for edge in edges]
    if any(maker.op != "Embedding" for maker in makers) or (node.op == "Concatenate" and node.config.get("axis") in (-1, 2)):
        return
    widths = [edge.spec.shape[-1] for edge in edges if edge.spec.shape]
    width = max((n for n in widths if n is not None), default=0)
    if width and len(widths) == len(edges):
        yield (
            f"Use the same output_dim={width} for every embedding",
            [configure(maker.name, output_dim=width) for maker in makers],
            "Embeddings that are merged need the same size; any size works.",
        )


def _behind_flatten(evidence: Evidence, node: Node) -> Node:
    """The layer whose numbers a Flatten passes on."""
    while node.op in ("Flatten", "Reshape") and len(evidence.flow.into(node.id)) == 1:
        node = evidence.flow.node(evidence.flow.into(node.id)[0].source)
    return node


def flat_embeddings(evidence: Evidence, finding: Finding) -> Made:
    """Embeddings of one id a row, beside columns of numbers: each is one vector a row once its axis of size 1 is gone."""
    edges = received(evidence)
    makers = [(evidence.flow.node(edge.source), edge.spec.shape) for edge in edges]
    long = [maker for maker, shape in makers if maker.op == "Embedding" and shape is not None and len(shape) == 3 and shape[1] == 1]
    if long and all(maker in long or (shape is not None and len(shape) == 2) for maker, shape in makers):
        names = [maker.name for maker in long]
        shown = " and ".join(names) if len(names) < 3 else f"all {len(names)} embeddings"
        yield f"Flatten {shown}", [append(name, "Flatten") for name in names], "Keeps every value: one vector per sample."


def flat_factors(evidence: Evidence, finding: Finding) -> Made:
    """Vectors in place of the operands of a product that sums over axes of size 1."""
    fact = finding.fact
    if isinstance(fact, SurplusAxes | Crosswise) and fact.cause == "product":
        product = fact.through if isinstance(fact, SurplusAxes) else fact.blamed
        node = next(node for node in evidence.flow.nodes if node.name == product.name)
        givers = [evidence.flow.node(edge.source) for edge in evidence.flow.into(node.id)]
        names = list(dict.fromkeys(node.name for node in givers))
        if all(node.kind == "layer" for node in givers):
            yield (
                f"Add Flatten after {' and '.join(names)}: {product.name} then multiplies vectors",
                [append(name, "Flatten") for name in names],
                "The result is one value per sample.",
            )
