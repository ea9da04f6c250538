"""Code that mixes samples or loses them: the batch axis on its way through the program."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Shape, Who, elements
from ..sources.pipeline import exchanged
from .examples import sequential
from .facts.mixing import BatchLost, BatchMerged, EveryIndex, EveryPair, Interleaved, SamplesPicked, SamplesSummed, Straddling
from .registry import check, rule
from .regrouped import channels_ahead, groups_apart, patch_side, pixels_moved, put_back
from .upstream import ancestors
from .words import PAIRING

SOURCE = "tracing again with one more row shows which axes carry the batch"


PAIRWISE = rule(
    "batch-broadcast", "A broadcast combines every sample with every other", severity="silent", source=SOURCE,
    fails=sequential("L.Dense(1)", y="np.zeros((8,), 'float32')", loss="lambda t, p: tf.reduce_mean(tf.square(tf.reshape(t, (-1,)) - p))"),
    passes=sequential("L.Dense(1)", y="np.zeros((8,), 'float32')", loss="lambda t, p: tf.reduce_mean(tf.square(tf.reshape(t, (-1, 1)) - p))"),
    doc="""Reported for an element-wise operation on two tensors of different rank whose *first* axes both carry the batch: (B,) with (B, 1) gives (B, B).
Not reported: operations where only one operand carries the batch (bias, mask), where both have the same rank (pairwise distances with
expand_dims), matrix products of pairs, and operations inside built-in layers and compiled functions. A product of two batches is reported before a Dense layer.""",
)  # fmt: skip
LOST = rule(
    "batch-axis-lost", "The batch axis does not reach the output", severity="silent", source=SOURCE,
    fails=sequential("L.Dense(4), Mean()", more="class Mean(L.Layer):\n    def call(self, x):\n        return tf.reduce_mean(x, axis=0, keepdims=True)"),
    passes=sequential("L.Dense(4), Mean()", more="class Mean(L.Layer):\n    def call(self, x):\n        return tf.reduce_mean(x, axis=1, keepdims=True)"),
    doc="""Reported at the model's output, and at a built-in layer with weights if its first axis is not the batch but another axis is. Batch statistics on
the side (such as subtracting the batch mean) keep the batch axis and are not reported.""",
)  # fmt: skip
_SPLIT = "class Split(L.Layer):\n    def call(self, x):\n        return tf.reshape(x, (-1, %d))"
MERGED = rule(
    "batch-axis-merged", "A reshape splits or merges samples", severity="silent", source=SOURCE,
    fails=sequential("Split(), L.Dense(1)", y="np.zeros((16, 1), 'float32')[:8]", loss="lambda t, p: tf.reduce_mean(p)", more=_SPLIT % 3),
    passes=sequential("Split(), L.Dense(1)", loss="lambda t, p: tf.reduce_mean(p)", more=_SPLIT % 6),
)  # fmt: skip
INTERLEAVED = rule(
    "reshape-interleaves", "A reshape is used instead of a transpose", severity="silent", source=SOURCE,
    fails=sequential("L.Reshape((5, 4, 1)), L.Flatten(), L.Dense(1)", "(8, 4, 5, 1)"), passes=sequential("L.Permute((2, 1, 3)), L.Flatten(), L.Dense(1)", "(8, 4, 5, 1)"),
    doc="""A reshape keeps the order of the values in memory. If its target has the axes of its input in another order, rows and columns, samples and
steps, or steps and heads are mixed: use a transpose (Permute). Also reported are reshapes that join axes that are apart, such as the rows and columns of blocks,
and those that cut a map into as many pieces as square patches. So are those that move channels before the positions, or whose rows cross samples. Attention that compares the heads of a step is reported,
too. Other reshapes that split or merge axes are not reported, nor those of tensors with only one axis larger than 1.""",
)  # fmt: skip
_LOSS = "lambda t, p: tf.reduce_mean(tf.square(tf.reshape(t, (-1,)) - tf.reduce_sum(p%s)))"
SUMMED = rule(
    "samples-summed", "The sum over all samples is compared with each sample", severity="silent", source=SOURCE,
    fails=sequential("L.Dense(4)", loss=_LOSS % ""), passes=sequential("L.Dense(4)", loss=_LOSS % ", axis=-1"),
    doc="""Reported for a difference between one value per sample and a sum without an axis over all samples, and in a loss for the
root of squared differences that are summed over the batch. In a model, a sum or a matrix product over the samples is reported if each sample is then combined with its
result. A single number is reported only if it is a product of two tensors and is added to each sample. A norm over the samples is reported
if each sample is divided by it, or if a product then compares every sample with every other. A mean is reported in a layer whose
weights are all trained, if it keeps two axes. Other statistics of a batch and divisions by a sum in a loss are often intended, and not reported.""",
)  # fmt: skip
_ONE = "lambda t, p: tf.square(t[%s2] - p[%s2])"
PICKED = rule(
    "samples-picked", "Samples of the batch are read by their index", severity="silent", source=SOURCE,
    fails=sequential("L.Dense(4)", y="np.zeros((8, 4), 'float32')", loss=_ONE % ("", "")),
    passes=sequential("L.Dense(4)", y="np.zeros((8, 4), 'float32')", loss=_ONE % (":, ", ":, ")),
    doc="""The first axis of labels and predictions is the batch, so `y_pred[2]` is the third sample and not the third value of each sample. Reported if a
loss reads the predictions only in this way. Slices that grow with the batch, such as every third sample, are not reported. On JAX, a layer is reported
if it looks up samples of several vectors, such as nodes, by indices of the program's own, and combines them with every sample.""",
)  # fmt: skip


def carried(evidence: Evidence, edge: Edge) -> dict[int, float] | None:
    """The axes of a tensor that grow with the batch, and by how much a sample."""
    probe = evidence.facts.get("probe")
    return None if probe is None else probe.axes.get(edge.id)


@check(order=41)
def batch_broadcast(evidence: Evidence) -> Iterator[Finding]:
    """Element-wise operations that combine every sample with every other; of several alike on a line, the first."""
    seen = set()
    for node in evidence.flow.nodes:
        edges = evidence.flow.into(node.id)
        if node.kind != "op":
            # A similarity of all pairs has no weights behind it.
            maker = crossed(evidence, edges[0]) if edges and node.family == "dense" else None
            given = evidence.flow.into(maker.id) if maker is not None and maker.op == "MatMul" else []
            if maker is not None and len(given) == 2 and all(len(edge.spec.shape or ()) > 2 for edge in given):
                fact = EveryPair(Who.of(maker), given[0].spec.shape or (), given[1].spec.shape or ())
                yield Finding.of(PAIRWISE.id, "silent", fact, (maker.id, node.id), (edges[0].id,), maker.called)
            continue
        drawn = _drawn(evidence, node, edges)
        if drawn is not None:
            shapes = (edges[0].spec.shape or (), drawn)
            yield Finding.of(PAIRWISE.id, "silent", EveryPair(Who.of(node), *shapes), (node.id,), (edges[0].id,), node.called)
        # A choice has a condition and two values.
        chosen = [edge for edge in edges if edge.spec.shape] if len(edges) == 3 and node.op in _CHOICES else []
        edges = next(([one, other] for one, other in itertools.combinations(chosen, 2) if len(one.spec.shape or ()) != len(other.spec.shape or ())), edges)
        if len(edges) != 2 or not edges[0].spec.shape or not edges[1].spec.shape:
            continue
        a, b = edges[0].spec.shape, edges[1].spec.shape
        carries = [carried(evidence, edge) for edge in edges]
        if len(a) == len(b) or any(not found or 0 not in found or len(found) != 1 for found in carries):
            continue
        if node.op not in PAIRING and not _crossed(evidence, node, a, b):
            continue
        # In a function that is mapped over the samples, each tensor has an axis more than the code sees.
        made = evidence.flow.out_of(node.id)[:1]
        grown = carried(evidence, made[0]) if made else None
        if made and ((grown and len(grown) == 1) or (a[-1] != b[-1] and made[0].spec.shape in (a, b))):
            continue
        fact = EveryPair(Who.of(node), a, b)
        # A metric that counts several things compares the same two in each line.
        within = next((item.id for item in above(evidence, node) if item.kind == "metric"), "")
        place = (within or node.op, a, b, node.called and (node.called.file, within or node.called.line))
        if place not in seen or node.called is None:
            seen.add(place)
            yield Finding.of(PAIRWISE.id, "silent", fact, (node.id,), tuple(edge.id for edge in edges), node.called)


_CHOICES = ("SelectV2", "Select", "Where")


def _drawn(evidence: Evidence, node: Node, edges: list[Edge]) -> Shape | None:
    made = next(iter(evidence.flow.out_of(node.id)), None)
    given = edges[0].spec.shape or () if len(edges) == 1 else ()
    after = made.spec.shape or () if made is not None else ()
    if node.op not in PAIRING or made is None or not given or carried(evidence, edges[0]) != {0: 1.0}:
        return None
    gap = len(after) - len(given)
    grown = set(carried(evidence, made) or {})
    if gap == 0 and node.op in _ARITHMETIC and "positions" not in node.config and given[1:] == (1,) and grown == {0, 1}:
        return after[1:]  # one value for each sample, beside a column
    return (*after[:gap], *[1] * len(given)) if gap > 0 and grown == {0, gap} and after[gap:] == given else None


# Comparisons may well be of each sample with each.
_ARITHMETIC = ("Mul", "AddV2", "Add", "Sub", "SquaredDifference", "RealDiv")


def _crossed(evidence: Evidence, node: Node, a: Shape, b: Shape) -> bool:
    """Whether an operation, whatever its name, made of two tensors what broadcasting makes of them, with the batch on two axes."""
    made = next(iter(evidence.flow.out_of(node.id)), None)
    if made is None or node.op.startswith(LOOKUPS) or len(carried(evidence, made) or {}) != 2:
        return False
    try:
        return made.spec.shape == np.broadcast_shapes(*(tuple(n or 0 for n in shape) for shape in (a, b)))
    except ValueError:
        return False


LOOKUPS = ("Gather", "Take")


def crossed(evidence: Evidence, edge: Edge) -> Node | None:
    """The operation upstream that gave a tensor the batch on two axes: what it got has it on one."""
    if len(carried(evidence, edge) or {}) != 2:
        return None
    start = evidence.flow.node(edge.source)
    for node in [start, *ancestors(evidence, start.id)]:
        edges = evidence.flow.into(node.id)
        if edges and all(len(carried(evidence, one) or {}) == 1 for one in edges):
            return node if node.kind == "op" else None
    return None


@check(order=41)
def gathered_across(evidence: Evidence) -> Iterator[Finding]:
    """Lookups along an inner axis with one index per sample, which return the values at the indices of all samples for each."""
    for node in evidence.flow.nodes:
        edges = looked_up(evidence, node)
        if not edges or any((carried(evidence, edge) or {}).get(0) != 1 for edge in edges[:2]):
            continue
        made = next(iter(evidence.flow.out_of(node.id)), None)
        fact = every_index(node, edges, made.spec.shape or ()) if made is not None and len(carried(evidence, made) or {}) == 2 else None
        if fact is not None:
            yield Finding.of(PAIRWISE.id, "silent", fact, (node.id,), tuple(edge.id for edge in edges[:2]), node.called)


def lookup_of_all(evidence: Evidence, node: Node) -> EveryIndex | None:
    """The fact of a lookup whose values and indices both begin with the samples, and whose result has them twice."""
    edges, made = looked_up(evidence, node), next(iter(evidence.flow.out_of(node.id)), None)
    shapes = [edge.spec.shape or (None,) for edge in edges[:2]]
    given = made.spec.shape or () if made is not None else ()
    if len(shapes) < 2 or shapes[0][0] is None or shapes[0][0] != shapes[1][0] or given.count(shapes[0][0]) < 2:
        return None
    return every_index(node, edges, given)


def looked_up(evidence: Evidence, node: Node) -> list[Edge]:
    """The values and the indices of a lookup, by a function or by ``[:, indices]``."""
    edges = evidence.flow.into(node.id)
    if node.op != "Slice":
        return edges if node.op.startswith(LOOKUPS) else []
    whole = [edge for edge in edges if "int" in edge.spec.dtype]
    return [*(edge for edge in edges if edge not in whole), *whole] if len(edges) == 2 and len(whole) == 1 else []


def every_index(node: Node, edges: list[Edge], made: Shape) -> EveryIndex | None:
    """A lookup along the axis behind the samples; indices that come from no other node."""
    values = edges[0].spec.shape or ()
    indices = edges[1].spec.shape or () if len(edges) > 1 else made[1 : len(made) - len(values) + 2]
    alike = made[:1] == values[:1] and made[1 : 1 + len(indices)] == indices and made[1 + len(indices) :] == values[2:]
    return EveryIndex(Who.of(node), values, indices, made) if alike or node.op.startswith("Gather") else None


@check(order=41)
def samples_summed(evidence: Evidence) -> Iterator[Finding]:
    """Differences of one value per sample and the sum over all samples; where two sums of tensors of one shape are added, too, as in a Dice loss."""
    for node in evidence.flow.nodes:
        adds = node.op in ("AddV2", "Add") and not _in_layer(evidence, node)
        edges = evidence.flow.into(node.id) if adds or node.op in ("Sub", "SquaredDifference") else []
        if len(edges) != 2:
            continue
        for one, each in (edges, edges[::-1]):
            total = _added_up(evidence, one) if adds else evidence.flow.node(one.source)
            whole = next(iter(evidence.flow.into(total.id)), None)
            if one.spec.shape != () or total.op != "Sum" or whole is None or len(whole.spec.shape or ()) < 2:
                continue
            beside = evidence.flow.node(each.source)
            alike = beside.op == "Sum" and whole.spec.shape in [given.spec.shape for given in evidence.flow.into(beside.id)]
            if adds and len(each.spec.shape or ()) != 1 and not alike:
                continue
            if (carried(evidence, each) or {}).get(0) == 1 and (carried(evidence, whole) or {}).get(0) == 1:
                fact = SamplesSummed(Who.of(total), whole.spec.shape or (), each.spec.shape or (), Who.of(node))
                yield Finding.of(SUMMED.id, "silent", fact, (total.id, node.id), (one.id,), total.called or node.called)


def _in_layer(evidence: Evidence, node: Node) -> bool:
    return any(item.kind == "layer" for item in above(evidence, node))


def _added_up(evidence: Evidence, edge: Edge) -> Node:
    """The sum that a single number is, but for constants that it is scaled by, and other numbers that are added to it."""
    for _ in range(6):
        node, before = evidence.flow.node(edge.source), evidence.flow.into(edge.source)
        scaled = node.op in ("Mul", "Neg", "Negative", "RealDiv") and len(before) == 1
        if not (scaled or node.op in ("AddV2", "Sub")) or not before or any(one.spec.shape != () for one in before):
            break
        edge = before[0]
    return evidence.flow.node(edge.source)


@check(order=41)
def samples_topped(evidence: Evidence) -> Iterator[Finding]:
    """The largest value of all samples, combined with each sample of something else: the next state's value in Q-learning."""
    numbers = {edge.target for edge in evidence.flow.edges if edge.spec.shape == ()}
    for node in evidence.flow.nodes:
        edges = evidence.flow.into(node.id) if node.id in numbers and node.op in _SCALED else []
        for one, each in (edges, edges[::-1]) if len(edges) == 2 else ():
            total = _largest(evidence, one)
            whole = next(iter(evidence.flow.into(total.id)), None) if total is not None else None
            if total is None or whole is None or len(whole.spec.shape or ()) < 2 or (each.spec.shape or ())[1:] not in ((), (1,)):
                continue
            above = {item.id for item in ancestors(evidence, total.id) if item.kind in ("layer", "op")}
            its = {each.source, *(item.id for item in ancestors(evidence, each.source))}
            if (carried(evidence, each) or {}).get(0) == 1 and (carried(evidence, whole) or {}).get(0) == 1 and not above & its:
                fact = SamplesSummed(Who.of(total), whole.spec.shape or (), each.spec.shape or (), Who.of(node), largest=True)
                yield Finding.of(SUMMED.id, "silent", fact, (total.id, node.id), (one.id,), total.called or node.called)
                return


_SCALED = ("Mul", "AddV2", "Add", "Sub")


def _largest(evidence: Evidence, edge: Edge) -> Node | None:
    """The maximum over everything that a single number is, but for constants that it is scaled or moved by."""
    for _ in range(4):
        node = evidence.flow.node(edge.source)
        if edge.spec.shape != () or node.op == "Max":
            return node if edge.spec.shape == () else None
        edges = evidence.flow.into(node.id)
        if node.op not in _SCALED or len(edges) != 1:
            return None
        edge = edges[0]
    return None


@check(order=41)
def samples_picked(evidence: Evidence) -> Iterator[Finding]:
    """Losses that read the predictions of single samples only, by their index."""
    for loss in evidence.losses():
        predictions = next((edge for edge in evidence.flow.into(loss.id) if edge.label == "predictions"), None)
        if predictions is None or len(predictions.spec.shape or ()) < 2:
            continue
        reads = [node for edge in evidence.flow.out_of(predictions.source) if (node := evidence.flow.node(edge.target)).parent == loss.id]
        picks = [(node, out) for node in reads if (out := _picked(evidence, node)) is not None]
        if picks and len(picks) == len(reads):
            node, out = picks[0]
            fact = SamplesPicked(Who.of(loss), predictions.spec.shape or (), out.spec.shape or (), len(picks))
            yield Finding.of(PICKED.id, "silent", fact, (node.id, loss.id), (out.id,), node.called)


def _picked(evidence: Evidence, node: Node) -> Edge | None:
    given = evidence.flow.into(node.id)[:1]
    made = next(iter(evidence.flow.out_of(node.id)), None)
    if not given or made is None or "slice" not in node.op.lower() or (carried(evidence, given[0]) or {}).get(0) != 1:
        return None
    return made if carried(evidence, made) == {} and made.spec.shape in ((given[0].spec.shape or ())[1:], (1, *(given[0].spec.shape or ())[1:])) else None


@check(order=42)
def batch_axis(evidence: Evidence) -> Iterator[Finding]:
    """The batch axis at the outputs, and at built-in layers with weights."""
    if evidence.where or evidence.facts.get("probe") is None:
        return
    # What a model's own loss makes of its outputs, with no labels beside them, is its own business.
    own = "compute_loss" in evidence.facts.get("overrides", ()) and not evidence.y and evidence.facts.get("reached_loss")
    for node in evidence.flow.nodes:
        if own and node.kind == "output":
            continue
        for edge in evidence.flow.into(node.id):
            grown = carried(evidence, edge)
            if grown is None or edge.label in ("labels", "weights", "mask") or edge.spec.shape is None:
                continue
            # What a step returns are losses and metrics.
            door = (node.kind == "output" and "step" not in evidence.facts) or (
                node.kind == "layer"
                and bool(node.weights)
                and len(edge.spec.shape) > 1
                # It gives each position its own result, wherever the samples are.
                and not (node.op == "Dense" and len(edge.spec.shape) - 1 not in grown)
                and not node.config.get("time_major")
            )
            if not door:
                continue
            source = evidence.flow.node(edge.source)
            if grown.get(0) == 1 or (edge.spec.shape and edge.spec.shape[0] is None):
                continue
            if 0 in grown:
                if node.kind == "output":
                    yield _merged(evidence, edge, source, node)
            elif (grown or node.kind == "output") and not _many_draws(evidence, source):
                yield _lost(evidence, edge, source, node, grown)


def _maker(evidence: Evidence, start: Node) -> Node:
    for node in [start, *ancestors(evidence, start.id)]:
        for edge in evidence.flow.into(node.id):
            grown = carried(evidence, edge)
            if grown is not None and grown.get(0) == 1:
                return node
    return start


def _many_draws(evidence: Evidence, source: Node) -> bool:
    maker = _maker(evidence, source)
    for node in [maker, *(evidence.flow.node(edge.source) for edge in evidence.flow.into(maker.id))]:
        edges, made = evidence.flow.into(node.id), next(iter(evidence.flow.out_of(node.id)), None)
        if node.op in PAIRING and len(edges) == 1 and made is not None and (made.spec.shape or ())[1:] == edges[0].spec.shape:
            return set(carried(evidence, made) or {}) == {1}
    return False


def _lost(evidence: Evidence, edge: Edge, source: Node, node: Node, grown: dict[int, float]) -> Finding:
    maker = _maker(evidence, source)
    reader = None if node.kind == "output" else Who.of(node)
    sized = bool(grown) and not evidence.flow.into(maker.id)
    fact = BatchLost(Who.of(maker), edge.spec.shape or (), min(grown) if grown else None, reader, sized)
    return Finding.of(LOST.id, "silent", fact, (maker.id, node.id), (edge.id,), maker.called or maker.location)


def _merged(evidence: Evidence, edge: Edge, source: Node, node: Node) -> Finding:
    maker = _maker(evidence, source)
    probe = evidence.facts["probe"]
    fact = BatchMerged(Who.of(maker), edge.spec.shape or (), probe.axes[edge.id][0], maker.op.startswith("Concat"))
    return Finding.of(MERGED.id, "silent", fact, (maker.id, node.id), (edge.id,), maker.called or maker.location)


@check(order=43)
def reshape_interleaves(evidence: Evidence) -> Iterator[Finding]:
    """Reshapes whose target has the input's axes in a different order, or that split rows unevenly."""
    cut, seen = False, set()
    for node in evidence.flow.nodes:
        if node.op.lower() != "reshape" or node.status != "ok":
            continue
        for edge in evidence.flow.into(node.id):
            given = edge.spec.shape
            after = next((out.spec.shape for out in evidence.flow.out_of(node.id)), None)
            if not given or not after:
                continue
            batch = _moved(evidence, node, edge, after)
            heads = heads_apart(given, after) or heads_apart(after, given)
            turned = swapped_after(evidence, node) is not None
            # A transpose behind it tells that positions and channels were meant, whatever their sizes are.
            ahead = turned and channels_ahead(given[1:], after[1:], turned)
            block = _block(given, after) if not heads and not ahead else 0
            across = _across_samples(evidence, edge, after) if not heads and not block and not ahead else 0
            block = block or across
            if block and not cut and not _shifted(evidence, edge):
                cut = True  # what comes behind it is cut unevenly for the same reason
                straddling = Straddling(Who.of(node), given, after, given[-1] or 0, block, elements(given[1:]) or 0 if across else 0)
                yield Finding.of(INTERLEAVED.id, "silent", straddling, (node.id,), (edge.id,), node.called or node.location)
                continue
            if _shifted(evidence, edge):
                continue
            moved = exchanged(given[1:], after[1:])
            # Frames that end up as channels, behind rows and columns that stay as they are.
            frames = len(given) == len(after) + 1 > 4 and given[2:-1] == after[1:-1] and after[-1] == (given[1] or 0) * (given[-1] or 0)
            groups = groups_apart(given[1:], after[1:], _just_split(evidence, edge)) or patch_side(given[1:], after[1:])
            moved = (
                moved
                or (frames and (given[1] or 0) > 1)
                or bool(groups)
                or bool(put_back(evidence, node, given, after) or pixels_moved(evidence, node, given, after))
            )
            moved = moved or channels_ahead(given[1:], after[1:], turned)
            place = (given, after, node.called and (node.called.file, node.called.line))
            if heads and place in seen:
                continue
            seen.add(place)
            parts = _parts(evidence, edge, after)
            if batch or moved or heads or parts:
                fact = Interleaved(Who.of(node), given, after, batch, parts)
                yield Finding.of(INTERLEAVED.id, "silent", fact, (node.id,), (edge.id,), node.called or node.location)


def _parts(evidence: Evidence, edge: Edge, after: Shape) -> int:
    """How many parts of one width are concatenated where the target has them behind their values: (3 × 5) to (5, 3)."""
    given, (width, parts) = edge.spec.shape or (), after[-2:] if len(after) > 2 else (0, 0)
    source, above = evidence.flow.node(edge.source), evidence.flow.into(edge.source)
    while above and (source.op in ("Cast", "convert_element_type") or source.kind in ("output", "loss")):
        source, above = evidence.flow.node(above[0].source), evidence.flow.into(above[0].source)
    shapes = [one.spec.shape or () for one in above if one.spec.shape != ()]
    joined = source.op.lower().startswith("concat") and shapes == [(*given[:-1], width)] * (parts or 0)
    # Where no row of the target has values of two parts, each part may well hold several rows.
    return parts if joined and parts and len(after) == len(given) + 1 and parts > 1 and (width or 0) % parts else 0


def _just_split(evidence: Evidence, edge: Edge) -> bool:
    shapes = [one.spec.shape or () for one in evidence.flow.into(edge.source) if evidence.flow.node(edge.source).op.lower() == "reshape"]
    return len(evidence.flow.out_of(edge.source)) == 1 and any(len(edge.spec.shape or ()) == len(one) + 2 for one in shapes)


def swapped_after(evidence: Evidence, node: Node) -> Node | None:
    """What exchanges the two inner axes of a node's result, if nothing else reads that."""
    readers = evidence.flow.out_of(node.id)
    after = evidence.flow.node(readers[0].target) if len(readers) == 1 else None
    given = readers[0].spec.shape or () if readers else ()
    made = next((out.spec.shape for out in evidence.flow.out_of(after.id)), None) if after is not None else None
    turns = after is not None and after.op in ("Permute", "Transpose", "transpose")
    return after if turns and len(given) == 3 and made == (given[0], given[2], given[1]) else None


def heads_apart(whole: Shape, parts: Shape) -> bool:
    """Whether the features of (batch, steps, features) stand around the steps in the other shape:."""
    if len(whole) != 3 or len(parts) != 4 or None in (*whole[1:], *parts[1:]):
        return False
    heads, steps, rest = parts[1] or 0, parts[2] or 0, parts[3] or 0
    return steps == whole[1] != heads and heads * rest == whole[2] and min(heads, steps, rest) > 1


def _block(given: Shape, after: Shape) -> int:
    # Where there are rows and columns alone, the samples are among the rows.
    sizes = after[2:] if len(after) > 2 else after[1:] if after[0] != given[0] or after[0] is None else ()
    inner = 1
    for n in reversed(sizes):
        inner *= n or 1
    width = given[-1] or 0
    uneven = len(given) > 2 and bool(sizes) and None not in sizes and width > 1 and inner > 1
    return inner if uneven and width % inner and inner % width else 0


def _across_samples(evidence: Evidence, edge: Edge, after: Shape) -> int:
    """The number of values in a row of a reshape to rows, if they are several positions' and a sample does not end where a row does."""
    given = edge.spec.shape or ()
    whole, block = elements(given[1:]), (after[-1] or 0) if len(after) == 2 else 0
    if len(after) == 3 and after[-1] == given[-1]:
        block = elements(after[1:]) or 0  # positions as they are, several of them in a row
    rows = {spec.shape[0] for _, spec in evidence.x if spec.shape}
    if len(given) < 3 or not whole or rows != {given[0]} or after[0] == given[0] or block < 2 or of_a_loss(evidence, evidence.flow.node(edge.source)):
        return 0
    return block if block > (given[-1] or 0) > 1 and whole % block and block % whole else 0


def _shifted(evidence: Evidence, edge: Edge) -> bool:
    """Whether what is reshaped got a column more right before: rows are then shifted against each other on purpose, as in relative attention."""
    maker, width = evidence.flow.node(edge.source), (edge.spec.shape or (0,))[-1] or 0
    return any((before.spec.shape or (0,))[-1] == width - 1 for before in evidence.flow.into(maker.id))


def _moved(evidence: Evidence, node: Node, edge: Edge, after: Shape) -> bool:
    """Whether a reshape moves the whole batch from the first axis to one after axes larger than 1, or back."""
    before = carried(evidence, edge)
    if before and len(before) == 1 and 0 not in before and next(iter(before.values())) == 1:
        front = (edge.spec.shape or ())[: next(iter(before))]
        return any(n != 1 for n in front) and any(carried(evidence, out) == {0: 1.0} for out in evidence.flow.out_of(node.id))
    if before != {0: 1.0}:
        return False
    for out in evidence.flow.out_of(node.id):
        grown = carried(evidence, out)
        if grown and len(grown) == 1 and 0 not in grown and next(iter(grown.values())) == 1:
            return any(n != 1 for n in after[: next(iter(grown))])
    return False


def above(evidence: Evidence, node: Node) -> Iterator[Node]:
    while node.parent:
        node = evidence.flow.node(node.parent)
        yield node


def of_a_loss(evidence: Evidence, node: Node) -> bool:
    return any(item.kind in ("loss", "metric") for item in above(evidence, node))
