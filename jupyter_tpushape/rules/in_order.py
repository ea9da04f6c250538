"""Operations that take the samples of a batch for steps, features, or parts of one whole, heads for steps, channels for pixels, and vectors against the wrong axis of a table."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..examine.given_names import Texts
from ..flow import Edge, Fact, Finding, Location, Node, Shape, Who
from ..flow.syntax import operands
from ..graph import Given, axes
from ..trace.axes import recurs
from .compared import as_it_came, ends
from .contracted import meant, predicts
from .examples import sequential
from .facts.mixing import HeadsAttended, NormalizedOverBatch
from .facts.other_axes import ChannelsReduced, RowsAgainstColumns, SamplesInOrder, SharedByAll, VectorTransposed
from .grids import TURNS
from .mixing import INTERLEAVED, SOURCE, SUMMED, above, carried, of_a_loss
from .moved import turned_around
from .registry import check, rule
from .upstream import ancestors
from .words import PAIRING

_PAIRS = """
def loss(y, p):
    table = tf.matmul(p, p, transpose_b=True)
    return table - tf.math.log(tf.reduce_sum(tf.exp(table), axis=1%s))
"""
AGAINST = rule(
    "rows-against-columns", "Values of rows are combined with columns", severity="silent", source="the axis of the reduction, and how shapes are broadcast",
    fails=sequential("L.Dense(4)", loss="loss", more=_PAIRS % ""), passes=sequential("L.Dense(4)", loss="loss", more=_PAIRS % ", keepdims=True"),
    doc="""Reported if a square table is combined with what a reduction over its last axis gives without that axis, and the two come from the same table. A
reduction over the first axis gives one value for each column, and is not reported.""",
)  # fmt: skip
_SAME = """
def loss(y, p):
    y = tf.reshape(y, %s)
    same = tf.cast(tf.equal(y, tf.transpose(y)), tf.float32)
    return tf.reduce_mean(same * tf.matmul(p, p, transpose_b=True))
"""
TRANSPOSED = rule(
    "vector-transposed", "A vector is compared with its own transpose", severity="silent", source="a transpose of one axis changes nothing",
    fails=sequential("L.Dense(4)", loss="loss", more=_SAME % "(-1,)"), passes=sequential("L.Dense(4)", loss="loss", more=_SAME % "(-1, 1)"),
)  # fmt: skip
REDUCES = frozenset({"Sum", "Mean", "Max", "Min", "Prod", "All", "Any", "EuclideanNorm"})
# What gives one value for each value.
ELEMENTWISE = PAIRING | {
    "Exp",
    "Log",
    "Log1p",
    "Sqrt",
    "Rsqrt",
    "Square",
    "Neg",
    "Abs",
    "Cast",
    "Relu",
    "Sigmoid",
    "Tanh",
    "Reciprocal",
    "Identity",
    "Softplus",
}


@check(order=43)
def rows_against_columns(evidence: Evidence) -> Iterator[Finding]:
    """Operations on a square table and a vector that was reduced from its rows."""
    for node in evidence.flow.nodes if not evidence.where else ():
        edges = evidence.flow.into(node.id)
        if node.kind != "op" or node.op not in PAIRING or len(edges) != 2:
            continue
        table, vector = sorted(edges, key=lambda edge: -len(edge.spec.shape or ()))
        shape = table.spec.shape or ()
        if len(shape) != 2 or shape[0] in (None, 1) or shape[0] != shape[1] or vector.spec.shape != shape[1:]:
            continue
        axes = carried(evidence, table)
        if axes is None or len(axes) < 2:
            continue  # samples and as many features: another rule says which two meet
        reduced = _reduction(evidence, vector)
        if reduced is not None and _tables(evidence, table) & _tables(evidence, evidence.flow.into(reduced.id)[0]):
            fact = RowsAgainstColumns(Who.of(reduced), Who.of(node), shape, shape[1:])
            yield Finding.of(AGAINST.id, "silent", fact, (node.id, reduced.id), (vector.id,), reduced.called or node.called)


def _reduction(evidence: Evidence, vector: Edge) -> Node | None:
    """The reduction over the last axis of a square table."""
    for _ in range(12):
        node = evidence.flow.node(vector.source)
        edges = evidence.flow.into(node.id)
        if node.op in REDUCES and edges:
            axis = node.config.get("operand1")
            last = axis in (1, -1, [1], [-1])
            return node if last and len(edges[0].spec.shape or ()) == 2 else None
        if node.op not in ELEMENTWISE or len(edges) != 1:
            return None
        vector = edges[0]
    return None


def _tables(evidence: Evidence, edge: Edge) -> set[str]:
    found: set[str] = set()
    pending = [edge]
    while pending:
        edge = pending.pop()
        node = evidence.flow.node(edge.source)
        if node.id in found:
            continue
        found.add(node.id)
        if node.op in ELEMENTWISE:
            pending += [one for one in evidence.flow.into(node.id) if one.spec.shape == edge.spec.shape]
    return found


@check(order=43)
def vector_transposed(evidence: Evidence) -> Iterator[Finding]:
    """Operations on a tensor with one axis and its transpose."""
    for node in evidence.flow.nodes if not evidence.where else ():
        edges = evidence.flow.into(node.id)
        if node.kind != "op" or node.op not in PAIRING or len(edges) > 2:
            continue
        # JAX gives back what it got, so that nothing but the text has a transpose.
        if len(edges) == 1 and len(edges[0].spec.shape or ()) == 1 and node.called and _beside_its_transpose(node.called):
            fact = VectorTransposed(Who.of(node), edges[0].spec.shape or ())
            yield Finding.of(TRANSPOSED.id, "silent", fact, (node.id,), (edges[0].id,), node.called)
        for edge, other in (edges, edges[::-1]) if len(edges) == 2 else ():
            turned = evidence.flow.node(edge.source)
            given = evidence.flow.into(turned.id)
            if turned.op != "Transpose" or len(given) != 1 or len(given[0].spec.shape or ()) != 1:
                continue
            starts = [as_it_came(evidence, one) for one in (given[0], other)]
            if (starts[0].source, starts[0].spec) == (starts[1].source, starts[1].spec):
                fact = VectorTransposed(Who.of(node), given[0].spec.shape or ())
                yield Finding.of(TRANSPOSED.id, "silent", fact, (node.id, turned.id), (edge.id,), node.called)
                break


def _beside_its_transpose(place: Location) -> bool:
    tree = Texts.of(place.file).tree(place.file)
    written = [operands(node) for node in ast.walk(tree) if getattr(node, "lineno", 0) == place.line] if tree is not None else []
    turned = [{ast.unparse(inner) for one in sides if (inner := turned_around(one)) is not None} for sides in written]
    return any(names & set(map(ast.unparse, sides)) for names, sides in zip(turned, written, strict=True))


_SUM = "class Running(L.Layer):\n    def call(self, x):\n        return tf.cumsum(x, axis=%d)"
IN_ORDER = rule(
    "samples-in-order", "An operation goes through the samples of a batch in order", severity="silent", source=SOURCE,
    fails=sequential("Running(), L.Dense(1)", "(8, 5, 6)", "np.zeros((8, 5, 1), 'float32')", more=_SUM % 0),
    passes=sequential("Running(), L.Dense(1)", "(8, 5, 6)", "np.zeros((8, 5, 1), 'float32')", more=_SUM % 1),
    doc="""Reported inside a model for positions that are counted over the batch, for cumulative sums and similar operations, and on JAX for scan,
associative_scan and Fourier transforms, if they run along the batch axis. On TensorFlow, also for differences between samples and those beside them, and
layers that take the steps first. Not reported: loops that carry no state from one sample to the next, counts, such as the position of a token in an
expert's queue, and losses, unless both sides are added up.""",
)  # fmt: skip


# What jax.numpy has for spectra, each with the axis, or the axes, as its third argument.
TRANSFORMS = frozenset(f"{way}{kind}{axes}".capitalize() for way in ("", "i") for kind in ("fft", "rfft", "hfft") for axes in ("", "2", "n"))


@check(order=43)
def samples_in_order(evidence: Evidence) -> Iterator[Finding]:
    """Cumulative operations and loops inside a model that run along the batch axis."""
    seen = set()
    for node, edge, axis in _ordered(evidence):
        shape = edge.spec.shape or ()
        # Where nothing but layers ran, none has moved the batch.
        grown = carried(evidence, edge) or ({0: 1.0} if node.config.get("time_major") and evidence.facts.get("probe") is None else {})
        if (
            not (node.op == "Sub" or in_model(evidence, node) or _both_sides(evidence, node, shape))
            or node.called in seen
            or set(grown) != {axis}
            or len(shape) < 2
            or _counts(evidence, edge)
        ):
            continue
        seen.add(node.called)
        fact = SamplesInOrder(Who.of(node), shape, axis, node.op == "Scan", node.op in ("AddV2", "ConcatV2"))
        yield Finding.of(IN_ORDER.id, "silent", fact, (node.id,), (edge.id,), node.called or node.location)


def _ordered(evidence: Evidence) -> Iterator[tuple[Node, Edge, int]]:
    flow = evidence.flow
    for name, edge_id, axis, ordered in evidence.facts.get("along") or ():
        edge = next((one for one in flow.into(name) if one.id == edge_id), None) if ordered else None
        if edge is not None:
            yield flow.node(name), edge, axis
    for node in flow.nodes if evidence.backend == "jax" else ():
        given, held = flow.into(node.id), node.config.get("operand2")
        for axis in (held if isinstance(held, list) else [held]) if node.op in TRANSFORMS and given else ():
            if isinstance(axis, int):
                yield node, given[0], axis % max(len(given[0].spec.shape or ()), 1)
    for node in flow.nodes if evidence.backend == "tensorflow" else ():
        given, axis = flow.into(node.id), node.config.get("operand1")
        if node.op.startswith("Cum") and given and isinstance(axis, int):
            yield node, given[0], axis % max(len(given[0].spec.shape or ()), 1)
        if node.op == "Sub" and len(given) == 2 and len(given[0].spec.shape or ()) > 2:
            yield from _beside(evidence, node, given)
        if node.config.get("time_major") and given:
            yield node, given[0], 0
        turned = axis if node.op == "ReverseV2" and isinstance(axis, list) and 0 in axis else []
        turns = turned or (node.op == "StridedSlice" and node.config.get("operand3") == [-1])
        if given and (len(turned) > 1 or (turns and any(recurs(flow.node(one.target)) for one in flow.out_of(node.id)))):
            yield node, given[0], 0


def _beside(evidence: Evidence, node: Node, given: list[Edge]) -> Iterator[tuple[Node, Edge, int]]:
    """A difference between samples and those beside them: shifted by one, or without the first and without the last one."""
    makers = [evidence.flow.node(edge.source) for edge in given]
    before = [edge for maker in makers for edge in evidence.flow.into(maker.id)[:1]]
    for maker, other in zip(makers, given[::-1], strict=True):
        for own in evidence.flow.into(maker.id) if maker.op == "Roll" and maker.config.get("operand1") in (1, -1) and maker.config.get("operand2") == 0 else ():
            if own.source == other.source:
                yield maker, own, 0
    ends = sorted([maker.config.get("operand1"), maker.config.get("operand2")] for maker in makers if maker.op == "StridedSlice")
    if ends == [[[0], [-1]], [[1], [0]]] and before[0].source == before[1].source:
        yield node, before[0], 0


def in_model(evidence: Evidence, node: Node) -> bool:
    """Whether an operation is part of what the model computes, and not of a loss or of a step around the model."""
    if evidence.where or node.status != "ok" or of_a_loss(evidence, node):
        return False
    own = {"train_step", "compute_loss"} & set(evidence.facts.get("overrides", ())) or "step" in evidence.facts
    return not own or any(item.kind == "layer" for item in above(evidence, node)) or ("step" not in evidence.facts and _shown(evidence, node))


def _both_sides(evidence: Evidence, node: Node, shape: Shape) -> bool:
    """Whether a loss adds up labels and predictions, each with several values a sample, along an axis: distances of distributions do."""
    loss = next((one for one in above(evidence, node) if one.kind in ("loss", "metric")), None)
    sides = [edge for edge in ends(evidence, loss) if edge is not None] if loss is not None and (shape[-1] or 0) > 1 else []
    run = {as_it_came(evidence, edge).source for one, edge, _ in (*_ordered(evidence), *_chosen(evidence)) if loss in [*above(evidence, one)]}
    return len(sides) == 2 and all(edge.source in run for edge in sides)


def _chosen(evidence: Evidence) -> Iterator[tuple[Node, Edge, int]]:
    for node in evidence.flow.nodes:
        if node.op in ("ArgMax", "ArgMin") and node.config.get("operand1") == 0:
            yield from ((node, edge, 0) for edge in evidence.flow.into(node.id)[:1])


def _shown(evidence: Evidence, node: Node) -> bool:
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
        if (
            len(edges) != 2
            or not _is_number(edges[1])
            or carried(evidence, edges[1])
            or not in_model(evidence, node)
            or (carried(evidence, edges[0]) or {}).get(0) != 1
        ):
            continue
        total = _total(evidence, edges[1])
        whole = next(iter(evidence.flow.into(total.id)), None) if total is not None else None
        if total is None or whole is None or len(whole.spec.shape or ()) < 2 or (carried(evidence, whole) or {}).get(0) != 1:
            continue
        above = {edges[0].source, *(item.id for item in ancestors(evidence, edges[0].source))}
        again = evidence.flow.node(whole.source).op == evidence.flow.node(edges[0].source).op == "Exp"  # a softmax by hand
        of_it = _each(evidence, whole.source) in above or (again and bool(above & {item.id for item in ancestors(evidence, whole.source)}))
        if of_it and not meant(evidence, node):
            fact = SharedByAll(Who.of(total), whole.spec.shape or (), Who.of(node))
            yield Finding.of(SUMMED.id, "silent", fact, (total.id, node.id), (edges[1].id,), total.called or node.called)


def _each(evidence: Evidence, source: str) -> str:
    node = evidence.flow.node(source)
    given = {edge.source for edge in evidence.flow.into(source)}
    return _each(evidence, given.pop()) if node.kind == "op" and node.op in ("Square", "Abs", "Mul", "Pow") and len(given) == 1 else source


def _is_number(edge: Edge) -> bool:
    return edge.spec.shape is not None and all(n == 1 for n in edge.spec.shape)


def _total(evidence: Evidence, edge: Edge) -> Node | None:
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


NORMALIZED = rule(
    "normalized-over-batch", "A layer or loss works along the batch", severity="silent", source=SOURCE,
    fails=sequential("L.Dense(4), L.UnitNormalization(axis=0), L.Dense(1)"), passes=sequential("L.Dense(4), L.UnitNormalization(), L.Dense(1)"),
    doc="""Some of these layers have a weight for each place of that axis, and raise where the batch size is unknown: then it is an error. An argmax is
reported where a loss or metric takes it of labels and predictions.""",
)  # fmt: skip


@check(order=43)
def normalized_over_batch(evidence: Evidence) -> Iterator[Finding]:
    """Normalizations and losses of the framework whose axis is that of the samples, and choices that a loss or metric makes so on both of its sides."""
    for node, edge, first in _chosen(evidence) if not evidence.where else ():
        shape = edge.spec.shape or ()
        if set(carried(evidence, edge) or {}) == {first} and len(shape) > 1 and _both_sides(evidence, node, shape):
            yield Finding.of(NORMALIZED.id, "silent", NormalizedOverBatch(Who.of(node), shape, first), (node.id,), (edge.id,), node.called)
    for node in evidence.flow.nodes if not evidence.where else ():
        loss = node.kind == "loss" and node.config.get("builtin")
        for edge in evidence.flow.into(node.id)[-1:] if loss else evidence.flow.into(node.id)[:1] if node.kind == "layer" else ():
            axis = _axis(evidence, node, edge.spec.shape or (), {0: 1.0} if loss else carried(evidence, edge) or {})
            if axis is not None:
                fact = NormalizedOverBatch(Who.of(node), edge.spec.shape or (), axis)
                yield Finding.of(NORMALIZED.id, "silent", fact, (node.id,), (edge.id,), node.location)


def without_size(evidence: Evidence, node: Node, _edges: list[Edge], shape: Shape | None) -> tuple[str, Fact] | None:
    """One that broke, because it has a weight for each sample."""
    if not shape or shape[0] is not None:
        return None
    axis = _axis(evidence, node, shape, {0: 1.0})
    return (NORMALIZED.id, NormalizedOverBatch(Who.of(node), shape, axis, raises=True)) if axis is not None else None


def _axis(evidence: Evidence, node: Node, shape: Shape, grown: dict[int, float]) -> int | None:
    """The axis of the samples, where a normalization works along it. One that broke tells with what arguments it was made."""
    if not (node.family == "normalization" or node.kind == "loss") or not shape or len(shape) < 2:
        return None
    axis = node.config.get("axis", evidence.arguments(node.id).get("axis"))
    axes = [one for one in (axis if isinstance(axis, (list, tuple)) else [axis]) if type(one) is int and -len(shape) <= one < len(shape)]
    return next((one for one in axes if one % len(shape) in grown), None)


# What takes (batch, steps, heads, features).
FUSED = "DotProductAttention"


@check(order=43)
def heads_attended(evidence: Evidence) -> Iterator[Finding]:
    """Products of queries and keys that a reshape splits into heads, and that no transpose follows."""
    told = set()
    for node in evidence.flow.nodes if not evidence.where else ():
        fused = node.op == FUSED
        scores = next(iter(evidence.flow.into(node.id)), None) if (node.op.lower() == "softmax" or fused) and node.status == "ok" else None
        product = alike(evidence, scores) if scores is not None and not fused else node
        pair = evidence.flow.into(product.id)[: 3 if fused else None]
        if len(pair) not in ((1, 2, 3) if fused else (2,)) or not all(heads_first(evidence, edge) if fused else split_heads(evidence, edge) for edge in pair):
            continue
        shape = pair[0].spec.shape or ()
        if scores is not None and (fused or scores.spec.shape == (*shape[:3], shape[2])) and product.called not in told:
            told.add(product.called)
            yield Finding.of(INTERLEAVED.id, "silent", HeadsAttended(Who.of(product), shape), (product.id, node.id)[fused:], (scores.id,), product.called)


def heads_first(evidence: Evidence, edge: Edge) -> bool:
    """Whether a transpose moved the heads of ``split_heads`` before the steps."""
    turned, shape = alike(evidence, edge), edge.spec.shape or ()
    split = evidence.flow.into(turned.id)[:1] if turned.op.lower() in TURNS and len(shape) == 4 else []
    return any(one.spec.shape == (shape[0], shape[2], shape[1], shape[3]) and split_heads(evidence, one) for one in split)


def alike(evidence: Evidence, edge: Edge) -> Node:
    """What made a tensor, but for scales and masks that keep its shape."""
    node = evidence.flow.node(edge.source)
    for _ in range(6):
        before = [one for one in evidence.flow.into(node.id) if one.spec.shape == edge.spec.shape]
        if node.op.lower() in ("reshape", "transpose") or not before or node.weights:
            break
        node = evidence.flow.node(before[0].source)
    return node


def split_heads(evidence: Evidence, edge: Edge) -> Node | None:
    """The reshape that split the features of each step, as a layer made them, into heads."""
    maker, shape = alike(evidence, edge), edge.spec.shape or ()
    turned = evidence.flow.into(maker.id)[:1] if maker.op.lower() == "transpose" else []
    if turned and turned[0].spec.shape == (*shape[:2], *shape[:1:-1]):  # of each matrix, for the product
        return split_heads(evidence, turned[0])
    given = next(iter(evidence.flow.into(maker.id)), None)
    whole = given.spec.shape or () if given is not None and maker.op.lower() == "reshape" else ()
    inner = [n for n in shape[1:] if n is not None and n > 1]
    if given is None or len(whole) != 3 or len(inner) != 3 or whole[1] != shape[1]:
        return None
    layer = evidence.flow.node(given.source)
    return maker if shape[1] != shape[2] and (layer.weights or layer.op == "Split") else None


_POOLED = "L.Conv2D(4, 3), L.Lambda(lambda x: tf.reduce_mean(x, axis=[%s])), L.Dense(1)"
REDUCED = rule(
    "channels-reduced", "A reduction combines the channels with an axis of the image", severity="silent", source="the axes of the reduction",
    fails=sequential(_POOLED % "2, 3", "(8, 9, 9, 3)"), passes=sequential(_POOLED % "1, 2", "(8, 9, 9, 3)"),
    doc="Reported if a Dense layer receives what is left of a convolution: one value for each row of the image.",
)  # fmt: skip


@check(order=43)
def channels_reduced(evidence: Evidence) -> Iterator[Finding]:
    """Reductions of images over all axes but the first, which a Dense layer reads."""
    for node in evidence.flow.nodes if not evidence.where else ():
        edges = evidence.flow.into(node.id) if node.op in REDUCES else []
        axis, rank = node.config.get("operand1"), len(edges[0].spec.shape or ()) if edges else 0
        if rank < 4 or not isinstance(axis, list) or sorted(one % rank for one in axis) != list(range(2, rank)):
            continue
        *inner, last = evidence.origins.of(edges[0])[1:]
        read = any(evidence.flow.node(edge.target).op == "Dense" for edge in evidence.flow.out_of(node.id))
        if read and isinstance(last, Given) and last.argument == "filters" and all(axes(one) for one in inner):
            fact = ChannelsReduced(Who.of(node), edges[0].spec.shape or (), last.who)
            yield Finding.of(REDUCED.id, "silent", fact, (node.id,), (edges[0].id,), node.called)
