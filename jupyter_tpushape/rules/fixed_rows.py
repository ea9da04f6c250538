"""Code that works for one number of rows only, and sizes that the data leaves unknown, which a step of ``fit`` is traced without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..examine.evidence import Evidence
from ..flow import Finding, Node, Shape, Who
from ..flow.paths import show
from ..trace.assemble import clean_message
from ..trace.locations import location
from .compared import ends, seen_at
from .examples import sequential
from .facts.calls import RowsUnknown
from .facts.entry import RankUnknown, SizeUnknown
from .facts.lone import ScoresOfSamples
from .facts.loss_silent import BatchBehind
from .facts.mixing import EveryPair, FixedBatch, RowsGrouped, RowsJoined, RowsMultiplied, RowsSplit, SamplesReturn
from .facts.other_axes import StepsByRows
from .mixing import LOST, MERGED, PAIRWISE, SUMMED, above
from .moved import batch_behind
from .registry import check, rule
from .upstream import ancestors
from .words import PAIRING

FIXED = rule(
    "fixed-batch", "Hard-coded batch size", severity="error", source="tracing again with one more row",
    fails=sequential("Fold(), L.Dense(1)", "(40, 6)", "np.zeros((40, 1), 'float32')", more="class Fold(L.Layer):\n    def call(self, x):\n        return tf.reshape(x, (32, 6))"),
    passes=sequential("Fold(), L.Dense(1)", "(40, 6)", "np.zeros((40, 1), 'float32')", more="class Fold(L.Layer):\n    def call(self, x):\n        return tf.reshape(x, (-1, 6))"),
    doc="Serious if the data also has a batch of a different size: the last batch of an array whose rows do not divide evenly, or batches of varying sizes.",
)  # fmt: skip

UNKNOWN_ROWS = rule(
    "rows-unknown", "The batch size is used where it is unknown", severity="error", backend="tensorflow", source="tracing with an unknown batch axis",
    fails=sequential("L.Dense(1)", "(40, 6)", "np.zeros((40, 1), 'float32')", "mean", "def mean(y_true, y_pred):\n    return tf.reduce_mean(tf.reshape((y_true - y_pred) ** 2, (y_pred.shape[0], 1)))"),
    passes=sequential("L.Dense(1)", "(40, 6)", "np.zeros((40, 1), 'float32')", "mean", "def mean(y_true, y_pred):\n    return tf.reduce_mean(tf.reshape((y_true - y_pred) ** 2, (tf.shape(y_pred)[0], 1)))"),
    doc="Reported only if the data's batches differ in size; otherwise fit traces the step with the actual number.",
)  # fmt: skip


@check(order=44)
def fixed_batch(evidence: Evidence) -> Iterator[Finding]:
    """Code that works with this batch size and fails with another."""
    probe = evidence.facts.get("probe")
    if probe is None or probe.failure is None:
        return
    node = evidence.flow.node(probe.failure[0])
    batch = next((spec.shape[0] for _, spec in evidence.x if spec.shape), None)
    others = _other_batches(evidence, batch)
    meeting = (
        _met_by_chance(evidence, node, batch)
        or _reduced_by_chance(evidence, node, batch)
        or _scores_by_chance(evidence, node, batch)
        or _behind_by_chance(evidence, node)
        or _joined(evidence, node, batch)
    )
    if meeting is not None:
        if others and (meeting.rule == SUMMED.id or batch == 1):
            meeting.severity = "error"  # the batch of another size raises
        yield meeting
        return
    parts = _parts(evidence, node, batch)
    if parts and batch:
        apart = any(rows % parts for rows in others)
        split = RowsSplit(Who.of(node), batch, parts)
        yield Finding.of(FIXED.id, "error" if apart else "note", split, (node.id,), location=node.called or node.location)
        return
    before, after = _reshaped(evidence, node)
    if groups_rows(before, after, batch):
        grouped = RowsGrouped(Who.of(node), before, after)
        if all(rows % grouped.size == 0 for rows in others):
            yield Finding.of(FIXED.id, "note", grouped, (node.id,), location=node.called or node.location)
            return
    fact = FixedBatch(Who.of(node), batch, probe.rows, probe.failure[1].splitlines()[-1].lstrip("- ")[:200], others[0] if others else None)
    yield Finding.of(FIXED.id, "error" if others else "note", fact, (node.id,), location=node.called or node.location)


def _computes(node: Node) -> bool:
    return bool(node.weights) or node.family in ("dense", "convolution", "embedding", "recurrent", "attention")


def _met_by_chance(evidence: Evidence, node: Node, batch: int | None) -> Finding | None:
    """The finding for an operation that one row more makes fail because the batch axis of one operand meets an inner axis of the other."""
    edges = evidence.flow.into(node.id)
    if node.kind == "op" and node.op.startswith("MatMul") and len(edges) == 2 and batch and batch > 1:
        left, right = (edge.spec.shape or () for edge in edges)
        # A matrix of the data's own may well have a column for each sample: a graph that is fed as one batch.
        made = any(_computes(item) for item in (evidence.flow.node(edges[0].source), *ancestors(evidence, edges[0].source)))
        if made and len(left) == len(right) == 2 and left[1] == batch and evidence.facts["probe"].met == [{0: 1}, {0: 1}]:
            fact = RowsMultiplied(Who.of(node), left, right)
            return Finding.of(SUMMED.id, "silent", fact, (node.id,), (edges[1].id,), node.called)
    shapes = [edge.spec.shape or () for edge in edges]
    if len(edges) == 1:
        # Random numbers of the program's own, one for each sample, come along no edge.
        probe = evidence.facts["probe"]
        shapes = [tuple(batch if n == probe.rows else n for n in shape or ()) for shape in probe.operands]
    if node.kind != "op" or node.op not in PAIRING or len(shapes) != 2 or not batch:
        return None
    a, b = shapes
    short, long = sorted((a, b), key=len)
    if not short or len(short) == len(long) or {short[0], long[0], batch if batch == 1 else long[len(long) - len(short)]} != {batch}:
        return None
    pairs = EveryPair(Who.of(node), a, b, chance=True)
    return Finding.of(PAIRWISE.id, "silent", pairs, (node.id,), tuple(edge.id for edge in edges), node.called)


def _reduced_by_chance(evidence: Evidence, node: Node, batch: int | None) -> Finding | None:
    """The finding for an operand whose samples were added up, and which has as many values left as there are samples."""
    probe = evidence.facts["probe"]
    edges = evidence.flow.into(node.id)
    if node.kind != "op" or node.op not in PAIRING or sorted(map(len, probe.met)) != [0, 1] or len(edges) != 2:
        return None
    less, each = sorted(edges, key=lambda edge: len(probe.until.get(edge.id, ())))
    if probe.until.get(each.id) != {0: 1} or probe.until.get(less.id) or (less.spec.shape or ())[:1] != (batch,):
        return None
    for total in (evidence.flow.node(less.source), *ancestors(evidence, less.source)):
        for edge in evidence.flow.into(total.id):
            if probe.until.get(edge.id) == {0: 1}:
                if not total.op.lower().endswith(("sum", "mean")):
                    return None
                fact = SamplesReturn(Who.of(total), edge.spec.shape or (), Who.of(node))
                return Finding.of(SUMMED.id, "silent", fact, (total.id, node.id), (edge.id,), total.called or node.called)
    return None


def _scores_by_chance(evidence: Evidence, node: Node, batch: int | None) -> Finding | None:
    """The finding for scores of all pairs of samples where there is a number for each pair of features, as many by chance."""
    probe, edges = evidence.facts["probe"], evidence.flow.into(node.id)
    square = (batch, batch)
    scores = next((edge for edge in edges if edge.spec.shape == square and set(probe.until.get(edge.id, ())) == {0, 1}), None)
    if node.kind != "op" or node.op not in PAIRING or scores is None or square not in probe.operands:
        return None
    for product in (evidence.flow.node(scores.source), *ancestors(evidence, scores.source)):
        pair = evidence.flow.into(product.id)
        rows = [edge for edge in pair if probe.until.get(edge.id) == {0: 1} or set(probe.until.get(edge.id, ())) == {1}]
        if _compared_by_sample(evidence, product):
            break
        if product.op in ("MatMul", "Einsum") and len(pair) == len(rows) == 2 and all(edge.spec.shape == square for edge in pair):
            fact = ScoresOfSamples(Who.of(product), square, Who.of(node))
            return Finding.of(SUMMED.id, "silent", fact, (product.id, node.id), (scores.id,), product.called or node.called)
        if product.op not in PAIRING:
            break
    return None


def _compared_by_sample(evidence: Evidence, product: Node) -> bool:
    """Whether a softmax reads scores: they are of samples, as contrastive losses have them."""
    pending, seen = [product.id], {product.id}
    while pending:
        for edge in evidence.flow.out_of(pending.pop()):
            reader = evidence.flow.node(edge.target)
            if reader.op in ("Softmax", "LogSoftmax", "Logsumexp", "LogSumExp") or reader.kind == "loss":
                return True
            if reader.id not in seen and reader.kind == "op":
                seen.add(reader.id)
                pending.append(reader.id)
    return False


def _behind_by_chance(evidence: Evidence, node: Node) -> Finding | None:
    """The finding for predictions without the batch, which was on an inner axis before: they are as many as the samples by chance."""
    labels, predictions = ends(evidence, node) if node.kind in ("loss", "metric") else (None, None)
    grown = evidence.facts["probe"].until
    if labels is None or predictions is None or grown.get(labels.id) != {0: 1} or grown.get(predictions.id, {0: 1}):
        return None
    start = evidence.flow.node(predictions.source)
    behind = batch_behind(evidence, [start, *ancestors(evidence, start.id)], lambda edge: set(grown.get(edge.id, ())))
    if behind is None:
        return None
    maker, shape, axis, reader = behind
    fact = BatchBehind(Who.of(maker), shape, axis, labels.spec.shape or (), predictions.spec.shape or ())
    return Finding.of(LOST.id, "silent", fact, (maker.id, reader.id, node.id), location=maker.called or maker.location)


def _joined(evidence: Evidence, node: Node, batch: int | None) -> Finding | None:
    """The finding for a reshape that makes one row of several samples, as many as divide the batch by chance.

    In a loss only if labels and predictions are both joined. Samples that stay apart on an axis of their own, such as the triplets of a
    batch, are joined on purpose.
    """
    before, after = _reshaped(evidence, node)
    if not joins_rows(before, after, batch):
        return None
    loss = next((item for item in above(evidence, node) if item.kind in ("loss", "metric")), None)
    if loss is not None:
        pairs = [_reshaped(evidence, item) for item in evidence.flow.nodes if loss in above(evidence, item)]
        if sum(joins_rows(one, two, batch) for one, two in pairs) < 2:
            return None
    fact = RowsJoined(Who.of(node), before, after)
    edges = tuple(edge.id for edge in evidence.flow.into(node.id)[:1])
    return Finding.of(MERGED.id, "silent", fact, (node.id,), edges, node.called or node.location)


def _parts(evidence: Evidence, node: Node, batch: int | None) -> int:
    edges = (*evidence.flow.into(node.id)[:1], *evidence.flow.out_of(node.id)[:1])
    if "split" not in node.op.lower() or len(edges) != 2:
        return 0
    before, after = (edge.spec.shape or () for edge in edges)
    whole = bool(batch) and before[:1] == (batch,) and before[1:] == after[1:] and groups_rows(before, after, batch)
    return (before[0] or 0) // (after[0] or 1) if whole else 0


def _reshaped(evidence: Evidence, node: Node) -> tuple[Shape, Shape]:
    edges = (*evidence.flow.into(node.id)[:1], *evidence.flow.out_of(node.id)[:1])
    if node.op.lower() != "reshape" or len(edges) != 2:
        return (), ()
    return edges[0].spec.shape or (), edges[1].spec.shape or ()


def groups_rows(before: Shape, after: Shape, batch: int | None) -> bool:
    """Whether the second shape has one row for each group of the samples that the first one has a row for."""
    rows = after[0] if after else None
    return bool(batch and before[:1] == (batch,) and rows and rows < batch and batch % rows == 0)


def joins_rows(before: Shape, after: Shape, batch: int | None) -> bool:
    """Whether each row of the second shape has the values of several rows of the first, which do not stay apart."""
    inner = tuple(n for n in before[1:] if n != 1)
    return groups_rows(before, after, batch) and len(after) > 1 and bool(inner) and after[-len(inner) :] != inner


@check(order=45, backend="tensorflow")
def rows_unknown(evidence: Evidence) -> Iterator[Finding]:
    """Code that works with batches of a known size and fails if the size is unknown."""
    opened = evidence.facts.get("opened")
    if opened is None or opened.axes:
        return
    raised = opened.raised
    batch = next((spec.shape[0] for _, spec in evidence.x if spec.shape), None)
    others = _other_batches(evidence, batch)
    text = " ".join(raised.text.split())
    text = text if len(text) <= 80 else f"{text[:77]}..."
    if opened.squeezed:
        yield Finding.of(UNKNOWN_ROWS.id, "error", RankUnknown(text, opened.squeezed), location=location((raised.file, raised.line)))
        return
    fact = RowsUnknown(text, batch, others[0] if others else None, clean_message(opened.failure).splitlines()[-1][:200])
    yield Finding.of(UNKNOWN_ROWS.id, "error", fact, location=location((raised.file, raised.line)))


def _other_batches(evidence: Evidence, batch: int | None) -> list[int]:
    sample = evidence.sample
    sizes = [size for size in getattr(sample, "batch_sizes", ()) or () if size != batch]
    rows, whole = getattr(sample, "rows", None), getattr(sample, "batch", None)
    if rows and whole and getattr(sample, "kind", "") in ("arrays", "dataset") and rows % whole and rows > whole:
        sizes.append(rows % whole)
    return sizes


_LENGTHS = """
def build():
    model = keras.Sequential([keras.Input((%s, 6)), %s, L.GlobalAveragePooling1D(), L.Dense(1)])
    model.compile('adam', 'mse')
    return model
def data():
    x, y = np.zeros((16, 12, 6), 'float32'), np.zeros((16, 1), 'float32')
    shapes = tf.TensorSpec((None, None, 6)), tf.TensorSpec((None, 1))
    return tf.data.Dataset.from_generator(lambda: ((x[i:i + 4], y[i:i + 4]) for i in range(0, 16, 4)), output_signature=shapes)
"""
SIZE = rule(
    "data-size-unknown", "Code needs a size that the data leaves unknown", severity="error", backend="tensorflow",
    source="tracing with the shapes that the data declares",
    fails=_LENGTHS % (12, "L.Lambda(lambda x: x * tf.ones((x.shape[1], 1)))"),
    passes=_LENGTHS % (12, "L.Lambda(lambda x: x * tf.ones((tf.shape(x)[1], 1)))"),
    doc="fit traces a step with the shapes that a tf.data pipeline or a generator declares, whatever size the batches have.",
)  # fmt: skip
STEPS = rule(
    "steps-by-rows", "TimeDistributed counts rows instead of steps", severity="silent", backend="tensorflow", frameworks=("keras",),
    source="computing TimeDistributed of an unknown number of steps",
    fails=_LENGTHS % (None, "L.TimeDistributed(L.Dense(4))"), passes=_LENGTHS % (None, "L.Dense(4)"),
    doc="Observed in Keras 3 on TensorFlow, where the number of steps is unknown to the pipeline. With more rows than steps it is an error.",
)  # fmt: skip


@check(order=45, backend="tensorflow")
def size_unknown(evidence: Evidence) -> Iterator[Finding]:
    """Code that runs with the sizes of a batch and fails with the shapes that the data declares."""
    opened = evidence.facts.get("opened")
    if opened is None or not opened.axes:
        return
    node = evidence.flow.node(opened.node) if opened.node else None
    path, shape, batch = opened.axes[0]
    text = " ".join(opened.raised.text.split()) if opened.raised is not None else ""
    said = clean_message(opened.failure).splitlines()[-1].split(". ")[0][:200]
    fact = SizeUnknown(
        Who.of(node) if node is not None else None, text if len(text) <= 80 else f"{text[:77]}...", show(path), shape, batch, same_sizes(evidence, path), said
    )  # fmt: skip
    place = (node.called or node.location) if node is not None else None
    if place is None and opened.raised is not None:
        place = location((opened.raised.file, opened.raised.line))
    yield Finding.of(SIZE.id, "error", fact, (node.id,) if node is not None else (), location=place)


@check(order=45, backend="tensorflow")
def steps_by_rows(evidence: Evidence) -> Iterator[Finding]:
    """Layers that run once for each row instead of once for each step."""
    found: dict[tuple[int, int], list[Node]] = {}
    for id_ in evidence.facts.get("by_rows") or ():
        shape = next((edge.spec.shape for edge in evidence.flow.into(id_)), None)
        if shape and len(shape) > 1 and shape[0] and shape[1] and shape[0] != shape[1]:
            found.setdefault((shape[0], shape[1]), []).append(evidence.flow.node(id_))
    for (rows, steps), nodes in found.items():
        fact = StepsByRows(Who.of(nodes[0]), tuple(node.name for node in nodes[1:]), rows, steps)
        first = nodes[0].called or nodes[0].location
        yield Finding.of(STEPS.id, "error" if rows > steps else "silent", fact, tuple(node.id for node in nodes), location=first)


def same_sizes(evidence: Evidence, path: tuple[Any, ...]) -> bool:
    """Whether this tensor has the same sizes behind the batch axis in all of several batches that were drawn."""
    shapes = [value.shape[1:] for value in seen_at(evidence, path)]
    return len(shapes) > 1 and len(set(shapes)) == 1
