"""Sums, products and comparisons over the samples of a batch whose result returns to each sample, and where they are meant."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Fact, Finding, Node, Shape, Who, elements
from .facts.mixing import NormedOverBatch, SamplesReturn
from .facts.other_axes import NormOfAll, SharedByAll
from .mixing import SUMMED, above, carried, of_a_loss
from .registry import check

_SCALES = frozenset({"RealDiv", "Mul", "DivNoNan"})
_ADDS = frozenset({"AddV2", "Sub"})
_PRODUCTS = frozenset({"MatMul", "Einsum", "Tensordot", "Dot", "Vdot"})


@check(order=41)
def samples_contracted(evidence: Evidence) -> Iterator[Finding]:
    """Sums, matrix products and means of trained layers over the samples, inside a model."""
    if evidence.where or "step" in evidence.facts:
        return
    told: set[str] = set()
    for node in evidence.flow.nodes:
        place = str(node.called)
        if node.kind != "op" or place in told or of_a_loss(evidence, node):
            continue
        made = next(iter(evidence.flow.out_of(node.id)), None)
        if made is None:
            continue
        single = _one_number(evidence, node, made)
        if not (single or _sums(evidence, node, made) or _multiplies(evidence, node, made)):
            continue
        reader = node if carried(evidence, made) else _met(evidence, node, single)
        if reader is not None and not meant(evidence, reader):
            given = _as_rows(evidence, evidence.flow.into(node.id)[0])
            told.add(place)
            fact = SamplesReturn(Who.of(node), given.spec.shape or (), Who.of(reader))
            yield Finding.of(SUMMED.id, "silent", fact, (node.id, reader.id), (given.id,), node.called)


def _sums(evidence: Evidence, node: Node, made: Edge) -> bool:
    """Whether an operation adds up the samples, or their squares for a norm, or averages them; one vector may be the average of nodes or a set."""
    given = evidence.flow.into(node.id)[:1]
    if not given or set(carried(evidence, given[0]) or {}) != {0} or (node.op in ("Norm", "Normalize") and _compares(evidence, node)):
        return False
    if node.op == "Normalize":
        return [axis for name, _, axis, _ in evidence.facts.get("along") or () if name == node.id] == [0]
    averages = node.op == "Mean" and sum(n != 1 for n in made.spec.shape or ()) > 1
    return (node.op in ("Sum", "Norm") or (averages and _learns(evidence, node))) and carried(evidence, made) == {}


def _learns(evidence: Evidence, node: Node) -> bool:
    """Whether an operation is part of a layer with trained weights alone, which so keeps no average for predictions."""
    inside = [one for one in evidence.flow.nodes if node.parent in (one.id, *(item.id for item in above(evidence, one)))]
    weights = [weight.trainable for one in inside for weight in one.weights]
    return any(weights) and all(weights)


def _multiplies(evidence: Evidence, node: Node, made: Edge) -> bool:
    """Whether a product of two tensors sums over an axis that carries the batch: it has two such axes fewer than its operands."""
    edges = evidence.flow.into(node.id)
    edges = edges * 2 if len(edges) == 1 else edges  # a matrix times itself
    if node.op not in ("MatMul", "Einsum") or len(edges) != 2 or any(len(edge.spec.shape or ()) < 2 for edge in (*edges, made)):
        return False
    axes = [carried(evidence, edge) for edge in (*edges, made)]
    return None not in axes and all(axes[:2]) and len(axes[0] or ()) + len(axes[1] or ()) - len(axes[2] or ()) == 2


def _one_number(evidence: Evidence, node: Node, made: Edge) -> bool:
    """Whether a product of two different tensors of the samples is one number for all of them: it sums over the batch and over all else."""
    edges = evidence.flow.into(node.id)
    if node.op not in _PRODUCTS or len(edges) != 2 or elements(made.spec.shape) != 1:
        return False
    rows = [_as_rows(evidence, edge) for edge in edges]
    return rows[0].id != rows[1].id and carried(evidence, made) == {} and all(carried(evidence, edge) for edge in edges)


def _as_rows(evidence: Evidence, edge: Edge) -> Edge:
    node = evidence.flow.node(edge.source)
    before = evidence.flow.into(node.id)
    return before[0] if node.kind == "op" and node.op == "Reshape" and before else edge


def _met(evidence: Evidence, node: Node, single: bool = False) -> Node | None:
    """The operation that combines the result with each sample; none if it is divided by a number before, as a mean is.

    ``single``: of one number too, where it is added to each sample.
    """
    pending, seen = [node.id], {node.id}
    while pending:
        for edge in evidence.flow.out_of(pending.pop()):
            reader = evidence.flow.node(edge.target)
            others = [carried(evidence, other) for other in evidence.flow.into(reader.id) if other.id != edge.id]
            after = next(iter(evidence.flow.out_of(reader.id)), None)
            ends = reader.op in _SCALES and (single or (not others and not _scores(evidence, node, reader)))
            learns = node.op == "Mean" and reader.family in ("dense", "convolution")
            if not (learns or reader.kind == "op") or after is None or reader.id in seen or ends:
                continue
            # A branch that the whole batch takes, or one number of it: statistics, if unusual ones.
            alone = elements(edge.spec.shape) == 1
            if edge.spec.dtype == "bool" or (alone and (not single or (reader.op not in _ADDS and others))):
                continue
            if any(0 in (other or {}) for other in others):
                if 0 in (carried(evidence, after) or {}):
                    return reader
                continue
            seen.add(reader.id)
            pending.append(reader.id)
    return None


def _scores(evidence: Evidence, product: Node, scale: Node) -> bool:
    readers = [evidence.flow.node(edge.target) for edge in evidence.flow.out_of(scale.id)]
    known = (scale.id, 1) in (evidence.facts.get("single") or {})
    return known and product.op in _PRODUCTS and any(one.op == "Softmax" for one in readers)


_NORMS = ("Norm", "Normalize", "L2Normalize", "EuclideanNorm", "Sum")
_DIVISIONS = ("RealDiv", "DivNoNan")
_MULTIPLIES = ("MatMul", "BatchMatMul", "BatchMatMulV2", "Einsum", "Dot")
# What a norm goes through on its way to the division, and what is divided on its way to the product.
_ON = (
    "Maximum", "AddV2", "Add", "Transpose", "Swapaxes", "Cast", "Mul", "RealDiv", "T", "Stack", "Concat", "ConcatV2", "Pack", "Sqrt", "Rsqrt", "Pow",
)  # fmt: skip


@check(order=42)
def normed_over_batch(evidence: Evidence) -> Iterator[Finding]:
    """Norms over the samples whose quotients a product then compares, every sample with every other."""
    flow, told = evidence.flow, set()
    along = _squared(evidence) if evidence.backend == "tensorflow" else evidence.facts.get("along") or ()
    for name, edge_id, axis, ordered in along if not evidence.where else ():
        node = flow.node(name)
        edge = next((one for one in flow.into(name) if one.id == edge_id), None)
        if node.op not in _NORMS or ordered or axis or edge is None or set(carried(evidence, edge) or {}) != {0} or name in told:
            continue
        made = flow.node(edge.source)
        squared = made.op in ("Square", "Abs", "Pow") or (made.op == "Mul" and len({one.source for one in flow.into(made.id)}) == 1)
        if node.op == "Sum" and not squared:
            continue
        others = {at for one, given, at, _ in along if (one, given) == (name, edge_id)}
        shape = edge.spec.shape or ()
        whole = len(shape) > 1 and others == set(range(len(shape))) and not predicts(evidence, node)
        product = _compares(evidence, node) if whole or others == {0} else None
        product = product or (_cosine(evidence, node) if whole else None)
        limit = _limited(evidence, node) if whole and product is None else None
        if limit is not None:
            fact: Fact = NormOfAll(Who.of(node), shape, Who.of(limit))
            yield Finding.of(SUMMED.id, "silent", fact, (node.id, limit.id), (edge.id,), node.called or node.location)
        if product is not None:
            told.add(name)
            fact = NormedOverBatch(Who.of(node), shape, Who.of(product)) if others == {0} else SharedByAll(Who.of(node), shape, Who.of(node))
            yield Finding.of(SUMMED.id, "silent", fact, (node.id, product.id), (edge.id,), node.called or node.location)


def _cosine(evidence: Evidence, norm: Node) -> Node | None:
    """The sum along the last axis of a product of two quotients, each by a norm of its own: a cosine."""
    flow = evidence.flow
    quotients = [flow.node(edge.target) for edge in flow.out_of(norm.id)]
    quotients += [flow.node(edge.target) for one in quotients if one.op in ("AddV2", "Maximum") for edge in flow.out_of(one.id)]
    for times in (flow.node(edge.target) for one in quotients if one.op in _DIVISIONS for edge in flow.out_of(one.id)):
        both = [flow.node(edge.source).op for edge in flow.into(times.id)] if times.op == "Mul" else []
        totals = [flow.node(edge.target) for edge in flow.out_of(times.id)]
        if (
            len(both) == 2
            and set(both) <= set(_DIVISIONS)
            and len(totals) == 1
            and totals[0].op == "Sum"
            and totals[0].config.get("operand1") in (-1, 1, [-1], [1])
        ):
            return totals[0]
    return None


def _limited(evidence: Evidence, node: Node) -> Node | None:
    """What subtracts a constant from a norm."""
    rooted = node.op != "Sum"
    for _ in range(5):
        readers = [evidence.flow.node(edge.target) for edge in evidence.flow.out_of(node.id)]
        node = readers[0] if len(readers) == 1 else node
        if len(readers) != 1 or len(evidence.flow.into(node.id)) != 1:
            return None
        if node.op == "Sub":
            return node if rooted else None
        rooted = rooted or node.op in ("Sqrt", "Pow")
        if node.op not in ("Sqrt", "Pow", "AddV2", "Maximum", "Cast"):
            return None
    return None


def _squared(evidence: Evidence) -> list[tuple[str, str, int, bool]]:
    found = []
    for node in evidence.flow.nodes:
        held = node.config.get("operand1")
        axes = [axis for axis in (held if isinstance(held, (list, tuple)) else [held]) if isinstance(axis, int)]
        for edge in evidence.flow.into(node.id)[:1] if node.op in _NORMS else ():
            found += [(node.id, edge.id, axis % max(len(edge.spec.shape or ()), 1), False) for axis in axes]
    return found


def _compares(evidence: Evidence, start: Node) -> Node | None:
    flow, pending, seen = evidence.flow, [start], {start.id}
    while pending:
        for edge in flow.out_of(pending.pop().id):
            reader = flow.node(edge.target)
            if reader.id in seen:
                continue
            seen.add(reader.id)
            if reader.op in _MULTIPLIES and _pairs(evidence, flow.into(reader.id), next(iter(flow.out_of(reader.id)), None)):
                return reader
            if reader.op in (*_ON, *_DIVISIONS):
                pending.append(reader)
    return None


def _pairs(evidence: Evidence, given: list[Edge], made: Edge | None) -> bool:
    each = [set(carried(evidence, one) or {}) for one in given]
    return made is not None and len(carried(evidence, made) or {}) == 2 and bool(each) and all(len(one) == 1 for one in each)


# What scales a matrix, and what a scale is made of.
_BALANCES = ("RealDiv", "DivNoNan", "Mul", "Sub", "Softmax", "LogSoftmax")
_TOTALS = ("Sum", "Logsumexp", "LogSumExp", "ReduceLogsumexp")


def meant(evidence: Evidence, reader: Node) -> bool:
    """Whether what combines samples here is on purpose: it is part of a loss, or of a matrix that is scaled along its samples and along another axis."""
    return not predicts(evidence, reader, True) or _balanced(evidence, reader)


def predicts(evidence: Evidence, node: Node, apart: bool = False) -> bool:
    """Whether an operation leads to an output of the model; what leads only to a loss that a layer adds does not. ``apart``: on a way with the samples."""
    outputs = {one.id for one in evidence.flow.nodes if one.kind == "output"}
    if not outputs:
        return True
    pending, seen = [node.id], {node.id}
    while pending:
        here = pending.pop()
        if here in outputs:
            return True
        for edge in evidence.flow.out_of(here):
            if edge.target not in seen and not (apart and carried(evidence, edge) == {}):
                seen.add(edge.target)
                pending.append(edge.target)
    return False


def _balanced(evidence: Evidence, reader: Node) -> bool:
    """Whether the same matrix is also scaled along an axis of each sample's own, as Sinkhorn's iterations do."""
    made = next(iter(evidence.flow.out_of(reader.id)), None)
    shape = made.spec.shape if made is not None else None
    if not shape or len(shape) < 2:
        return False
    pending, seen = [reader], {reader.id}
    while pending:
        node = pending.pop()
        if node is not reader and _within_samples(evidence, node, shape):
            return True
        around = [(edge, edge.source) for edge in evidence.flow.into(node.id)] + [(edge, edge.target) for edge in evidence.flow.out_of(node.id)]
        for edge, other in around:
            beside = evidence.flow.node(other)
            if edge.spec.shape == shape and beside.op in _BALANCES and beside.id not in seen:
                seen.add(beside.id)
                pending.append(beside)
    return False


def _within_samples(evidence: Evidence, node: Node, shape: Shape) -> bool:
    if node.op in ("Softmax", "LogSoftmax") and (given := evidence.flow.into(node.id)[:1]):
        return set(carried(evidence, given[0]) or {}) == {0} and (softmax_axis(evidence, node, given[0]) or 0) % len(shape) != 0
    for edge in evidence.flow.into(node.id):
        total = evidence.flow.node(edge.source)
        whole = evidence.flow.into(total.id)[:1]
        if total.op in _TOTALS and whole and whole[0].spec.shape == shape and set(carried(evidence, edge) or {}) == {0}:
            return True
    return False


def softmax_axis(evidence: Evidence, node: Node, edge: Edge) -> int | None:
    """The axis that a softmax, or a layer of one, sums over: the last one, where nobody saw another; ``None`` for several."""
    held = node.config.get("axis" if node.kind == "layer" else "operand1", -1)
    if node.kind == "layer" or isinstance(held, list):
        return held if isinstance(held, int) else None
    return next((axis for name, given, axis, ordered in evidence.facts.get("along") or () if (name, given, ordered) == (node.id, edge.id, False)), -1)


def summed_with(evidence: Evidence, node: Node, shape: Shape) -> list[int]:
    """The axes of what a node gives along which it is summed, once it is multiplied by something: those of a weighted sum."""
    flow = evidence.flow
    for edge in flow.out_of(node.id):
        times = flow.node(edge.target)
        for product in flow.out_of(times.id) if times.op == "Mul" and edge.spec.shape == shape else ():
            total = flow.node(product.target)
            if total.op == "Sum" and len(product.spec.shape or ()) == len(shape):
                held = total.config.get("operand1")
                return sorted(axis % len(shape) for axis in (held if isinstance(held, list) else [held]) if isinstance(axis, int))
    return []
