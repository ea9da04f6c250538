"""What is added up or looked up by itself where it should meet something else: an axis of one operand of an einsum, and samples taken for nodes."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Node, Who
from .examples import sequential
from .facts.lone import LoneAxis, NodesTaken
from .mixing import PICKED, carried, of_a_loss
from .registry import check, rule

_GRAPH = """
import jax.numpy as jnp
class Neighbors(L.Layer):
    def call(self, x):
        return jnp.einsum("bij,bjf->b%sf", jnp.einsum("bif,bjf->bij", x, x), x)
"""
ALONE = rule(
    "einsum-alone", "An einsum adds up an axis of one operand alone", severity="silent", backend="jax", frameworks=("keras",),
    source="the letters of the einsum and the sizes of its operands",
    fails=sequential("Neighbors(), L.Dense(1)", "(8, 5, 6)", "np.zeros((8, 5, 1), 'float32')", more=_GRAPH % "j"),
    passes=sequential("Neighbors(), L.Dense(1)", "(8, 5, 6)", "np.zeros((8, 5, 1), 'float32')", more=_GRAPH % "i"),
    doc="""Reported for two operands that share no summed letter, if a letter of only one of them is summed. It must be one of two axes of the same size, such
as those of an adjacency matrix or of attention weights.""",
)  # fmt: skip


@check(order=43, backend="jax")
def lone_axis(evidence: Evidence) -> Iterator[Finding]:
    """Einsums of a square matrix that multiply value by value, and add up the other axis of the matrix by itself."""
    told = set()
    for node in evidence.flow.nodes if not evidence.where else ():
        written, edges = node.config.get("equation"), evidence.flow.into(node.id)
        if node.op != "Einsum" or not isinstance(written, str) or len(edges) != 2 or node.called in told:
            continue
        terms, _, gives = written.replace(" ", "").partition("->")
        pair = terms.split(",")
        shapes = [edge.spec.shape or () for edge in edges]
        if (
            len(pair) != 2
            or "." in written
            or not gives
            or [len(one) for one in shapes] != [len(one) for one in pair]
            or set(pair[0]) & set(pair[1]) - set(gives)
        ):
            continue
        for place, (term, shape) in enumerate(zip(pair, shapes, strict=True)):
            lone = [i for i, letter in enumerate(term) if letter not in pair[1 - place] + gives]
            kept = [i for i, letter in enumerate(term) if lone and i and shape[i] == shape[lone[0]] != 1 and letter in pair[1 - place] and letter in gives]
            if len(lone) == len(kept) == 1 and lone[0]:
                told.add(node.called)
                fact = LoneAxis(Who.of(node), written, place, term[lone[0]], term[kept[0]], shape, lone[0] < kept[0])
                yield Finding.of(ALONE.id, "silent", fact, (node.id,), (edges[place].id,), node.called)


@check(order=43, backend="jax")
def samples_for_nodes(evidence: Evidence) -> Iterator[Finding]:
    """Lookups in a layer of whole samples, of several vectors each, by indices of the program's own, which are then combined with every sample."""
    flow = evidence.flow
    for node in flow.nodes if not evidence.where else ():
        looked_up = node.config.get("looked_up") or (node.op == "Take" and node.config.get("operand2") == 0)
        given = flow.into(node.id) if looked_up and node.parent and not of_a_loss(evidence, node) else []
        if len(given) != 1 or len(given[0].spec.shape or ()) < 3 or carried(evidence, given[0]) != {0: 1.0}:
            continue
        reader = _met(evidence, node)
        if reader is not None and all(carried(evidence, edge) == {} for edge in flow.out_of(node.id)):
            fact = NodesTaken(Who.of(node), given[0].spec.shape or (), Who.of(reader))
            yield Finding.of(PICKED.id, "silent", fact, (node.id, reader.id), (given[0].id,), node.called)
            return


def _met(evidence: Evidence, node: Node) -> Node | None:
    """The first operation downstream that combines what carries no batch with what does."""
    pending, seen = [node.id], {node.id}
    while pending:
        for edge in evidence.flow.out_of(pending.pop(0)):
            reader = evidence.flow.node(edge.target)
            others = [carried(evidence, other) for other in evidence.flow.into(reader.id) if other.id != edge.id]
            if any(other == {0: 1.0} for other in others):
                return reader
            if reader.id not in seen:
                seen.add(reader.id)
                pending.append(reader.id)
    return None
