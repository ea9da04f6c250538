"""Operations that take the samples of a batch for steps, or for parts of one whole."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Who
from .balanced import meant, predicts
from .examples import sequential
from .facts.other_axes import SamplesInOrder, SharedByAll
from .mixing import SOURCE, SUMMED, above, carried, of_a_loss
from .registry import check, rule
from .upstream import ancestors

_SUM = "class Running(L.Layer):\n    def call(self, x):\n        return tf.cumsum(x, axis=%d)"
IN_ORDER = rule(
    "samples-in-order", "An operation goes through the samples of a batch in order", severity="silent", source=SOURCE,
    fails=sequential("Running(), L.Dense(1)", "(8, 5, 6)", "np.zeros((8, 5, 1), 'float32')", more=_SUM % 0),
    passes=sequential("Running(), L.Dense(1)", "(8, 5, 6)", "np.zeros((8, 5, 1), 'float32')", more=_SUM % 1),
    doc="""Reported inside a model for cumulative sums and similar operations, and on JAX for scan and associative_scan, if they run along the batch axis. A loop over
the samples that carries no state from one sample to the next is not reported, nor are counts, such as the position of a token in an expert's queue. Losses are not reported either:
a partial likelihood adds up samples in order.""",
)  # fmt: skip


@check(order=43)
def samples_in_order(evidence: Evidence) -> Iterator[Finding]:
    """Cumulative operations and loops inside a model that run along the batch axis."""
    seen = set()
    for node, edge, axis in _ordered(evidence):
        shape = edge.spec.shape or ()
        grown = carried(evidence, edge)
        if (
            not _in_model(evidence, node)
            or node.called in seen
            or not grown
            or set(grown) != {axis}
            or len(shape) < 2
            or _counts(evidence, edge)
        ):
            continue
        seen.add(node.called)
        fact = SamplesInOrder(Who.of(node), shape, axis, node.op == "Scan")
        yield Finding.of(IN_ORDER.id, "silent", fact, (node.id,), (edge.id,), node.called or node.location)


def _ordered(evidence: Evidence) -> Iterator[tuple[Node, Edge, int]]:
    """The operations that go through an axis of what they get in order."""
    flow = evidence.flow
    for name, edge_id, axis, ordered in evidence.facts.get("along") or ():
        edge = next((one for one in flow.into(name) if one.id == edge_id), None) if ordered else None
        if edge is not None:
            yield flow.node(name), edge, axis
    for node in flow.nodes if evidence.backend == "tensorflow" else ():
        given, axis = flow.into(node.id), node.config.get("operand1")
        if node.op.startswith("Cum") and given and isinstance(axis, int):
            yield node, given[0], axis % max(len(given[0].spec.shape or ()), 1)


def _in_model(evidence: Evidence, node: Node) -> bool:
    """Whether an operation is part of what the model computes, and not of a loss or of a step around the model."""
    if evidence.where or node.status != "ok" or of_a_loss(evidence, node):
        return False
    own = {"train_step", "compute_loss"} & set(evidence.facts.get("overrides", ())) or "step" in evidence.facts
    return (
        not own or any(item.kind == "layer" for item in above(evidence, node)) or ("step" not in evidence.facts and _shown(evidence, node))
    )


def _shown(evidence: Evidence, node: Node) -> bool:
    """Whether an operation is part of an output of the model: what a loss alone computes is not."""
    return any(one.kind == "output" for one in evidence.flow.nodes) and predicts(evidence, node)


def _counts(evidence: Evidence, edge: Edge, depth: int = 6) -> bool:
    """Whether a tensor holds nothing but counts: whole numbers, or what was made of whole numbers and comparisons alone."""
    if not edge.spec.dtype.startswith(("float", "bfloat")):
        return True
    given = evidence.flow.into(edge.source)
    maker = evidence.flow.node(edge.source)
    return maker.kind == "op" and depth > 0 and bool(given) and all(_counts(evidence, one, depth - 1) for one in given)


# What one number may go through on its way to a division, or to a product with its inverse.
_SCALAR = ("Sqrt", "Rsqrt", "Maximum", "AddV2", "Add", "Pow", "Squeeze", "Reshape")
_INVERSE = ("Rsqrt", "Reciprocal", "RealDiv")


@check(order=43)
def shared_by_all(evidence: Evidence) -> Iterator[Finding]:
    """Divisions inside a model of each sample by the sum or norm of the whole batch that the sample is part of."""
    for node in evidence.flow.nodes:
        edges = evidence.flow.into(node.id) if node.op in ("RealDiv", "DivNoNan", "Mul") else []
        if node.op == "Mul" and len(edges) == 2:
            edges.sort(key=lambda edge: evidence.flow.node(edge.source).op in _INVERSE)
            if evidence.flow.node(edges[1].source).op not in _INVERSE:
                continue
        if len(edges) != 2 or not _is_number(edges[1]) or not _in_model(evidence, node) or (carried(evidence, edges[0]) or {}).get(0) != 1:
            continue
        total = _total(evidence, edges[1])
        whole = next(iter(evidence.flow.into(total.id)), None) if total is not None else None
        if total is None or whole is None or len(whole.spec.shape or ()) < 2 or (carried(evidence, whole) or {}).get(0) != 1:
            continue
        of_it = _each(evidence, whole.source) in {edges[0].source, *(item.id for item in ancestors(evidence, edges[0].source))}
        if of_it and not meant(evidence, node):
            fact = SharedByAll(Who.of(total), whole.spec.shape or (), Who.of(node))
            yield Finding.of(SUMMED.id, "silent", fact, (total.id, node.id), (edges[1].id,), total.called or node.called)


def _each(evidence: Evidence, source: str) -> str:
    """What is squared or made positive before it is summed."""
    node = evidence.flow.node(source)
    given = {edge.source for edge in evidence.flow.into(source)}
    return _each(evidence, given.pop()) if node.kind == "op" and node.op in ("Square", "Abs", "Mul", "Pow") and len(given) == 1 else source


def _is_number(edge: Edge) -> bool:
    return edge.spec.shape is not None and all(n == 1 for n in edge.spec.shape)


def _total(evidence: Evidence, edge: Edge) -> Node | None:
    """The sum or norm of everything that a single number is."""
    for _ in range(4):
        node = evidence.flow.node(edge.source)
        given = evidence.flow.into(node.id)
        if node.kind == "op" and node.op in ("Sum", "Norm"):
            return node
        if node.op == "RealDiv" and len(given) == 1:  # one divided by a number
            edge = given[0]
            continue
        if node.op not in _SCALAR or len(given) != 1 or not _is_number(given[0]):
            return None
        edge = given[0]
    return None
