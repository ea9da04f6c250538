"""Sizes that the data leaves unknown, and that a step of ``fit`` is traced without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..examine.evidence import Evidence
from ..flow import Finding, Node, Shape, Who
from ..flow.paths import flatten, show
from ..trace.assemble import clean_message
from ..trace.locations import location
from .facts.entry import SizeUnknown
from .facts.other_axes import StepsByRows
from .registry import check, rule

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
    opened: Any = evidence.facts.get("opened")
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
    index = ("x", "y", "weight").index(str(path[0]))
    sampled = evidence.sample.sampled if evidence.sample is not None else []
    shapes: list[Shape] = [
        found.shape[1:] for batch in sampled if (found := dict(flatten(batch[index], str(path[0]))).get(path)) is not None
    ]
    return len(shapes) > 1 and len(set(shapes)) == 1
