"""Indices and slices beyond the end of an axis: nothing is there, and a compiled program does not check."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..examine.written_slices import slices_at
from ..flow import Finding, Node, Who
from ..graph import Axis, Given
from .facts.ranges import IndexBeyond
from .facts.reasons_read import EmptySlice, SamplesSliced, SliceEmpty
from .registry import check, rule
from .upstream import ancestors, made_by
from .words import SLICES

_LAST = """
class Last(L.Layer):
    def call(self, x):
        return x[:, %s]
def build():
    m = keras.Sequential([keras.Input((6, 4)), L.Dense(4), Last(), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 6, 4), "float32"), np.zeros((8, 1), "float32")
"""
BEYOND = rule(
    "index-beyond", "An index is beyond the end of its axis", severity="silent", backend="jax", frameworks=("keras",),
    source="the traced program: a slice that starts beyond its tensor", fails=_LAST % "6", passes=_LAST % "5",
    doc="""JAX moves such an index to the nearest place and raises no error. TensorFlow and NumPy raise one. Only indices that are numbers of the program are known.""",
)  # fmt: skip


@check(order=40, backend="jax")
def index_beyond(evidence: Evidence) -> Iterator[Finding]:
    """The first index on each line that is beyond its axis."""
    told = set()
    for name, edge_id, axis, start in evidence.facts.get("beyond") or () if evidence.failure is None else ():
        node = evidence.flow.node(name)
        edge = next((one for one in evidence.flow.into(name) if one.id == edge_id), None)
        shape = edge.spec.shape if edge is not None else None
        if edge is None or not shape or (node.called, axis) in told:
            continue
        told.add((node.called, axis))
        size = shape[axis] or 0
        fact = IndexBeyond(Who.of(node), shape, axis, start if start >= 0 else start - size)
        yield Finding.of(BEYOND.id, "silent", fact, (node.id,), (edge.id,), node.called)


_PARTS = """
class Parts(L.Layer):
    def call(self, x):
        return tf.concat([tf.reduce_sum(x[:, 0:3], axis=1), tf.reduce_sum(x[:, 3:6], axis=1)], axis=-1)
def build():
    m = keras.Sequential([keras.Input((%d, 4)), L.Dense(4), Parts(), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, %d, 4), "float32"), np.zeros((8, 1), "float32")
"""
EMPTY = rule(
    "empty-slice", "A slice takes nothing", severity="silent", source="NumPy's slicing: indices beyond the end of an axis are cut",
    fails=_PARTS % (3, 3), passes=_PARTS % (6, 6),
    doc="""Reported if both ends of the slice are written as numbers or constants, and it begins where the axis has ended. Slices whose ends a loop sets are not reported:
the last one may be empty on purpose.""",
)  # fmt: skip


@check(order=40)
def empty_slice(evidence: Evidence) -> Iterator[Finding]:
    """The first empty slice of each tensor; where something raised, that error is explained by it."""
    seen = set()
    explained = evidence.failed is not None and emptied(evidence) is not None
    for node in evidence.flow.nodes if not explained else ():
        found = sliced_away(evidence, node)
        source = next((edge.source for edge in evidence.flow.into(node.id)), "")
        if found is not None and (source, found.axis) not in seen:
            seen.add((source, found.axis))
            yield Finding.of(EMPTY.id, "silent", EmptySlice(found), (node.id,), location=node.called)


# Where samples come from.
_DATA = {"input", "stage", "split"}


def samples_sliced(evidence: Evidence) -> SamplesSliced | None:
    """A slice with written ends along the batch that an operand of the failed operation comes from, where the last axis has that many columns."""
    batches = {(spec.shape or (None,))[0] for _, spec in (*evidence.x, *evidence.y)}
    numbers = dict(evidence.raised.numbers) if evidence.raised is not None else {}
    for one in evidence.given:
        for node in [one.giver, *ancestors(evidence, one.giver.id)] if one.giver is not None else ():
            edges = [edge for edge in evidence.flow.into(node.id) if edge.spec.shape] if node.kind == "op" and node.called is not None else []
            shape = edges[0].spec.shape or () if edges else ()
            above = {evidence.flow.node(edge.source).kind for edge in edges} | {item.kind for item in ancestors(evidence, node.id)}
            if node.called is None or node.op.lower() not in SLICES or len(shape) < 2 or shape[0] not in batches or not above & _DATA:
                continue
            for part in slices_at(node.called, 0, len(shape), numbers):
                on_line = part.node.lineno <= node.called.line <= (part.node.end_lineno or 0)
                if on_line and isinstance(part.node.slice, ast.Slice) and 0 <= part.start < part.stop <= (shape[-1] or 0):
                    return SamplesSliced(Who.of(node), ast.unparse(part.node), part.text, len(shape))
    return None


def emptied(evidence: Evidence) -> SamplesSliced | SliceEmpty | None:
    """The slice along the batch, or the empty one, that an operand of the failed operation comes from."""
    along = samples_sliced(evidence)
    if along is not None:
        return along
    for one in evidence.given:
        if 0 not in (one.spec.shape or ()) or one.giver is None:
            continue
        for node in [one.giver, *ancestors(evidence, one.giver.id)]:
            found = sliced_away(evidence, node)
            if found is not None:
                return found
    return None


def sliced_away(evidence: Evidence, node: Node) -> SliceEmpty | None:
    """What an operation takes of its tensor, where that is nothing of an axis that has something."""
    edges = [edge for edge in evidence.flow.into(node.id) if edge.spec.shape] if node.kind == "op" and node.called is not None else []
    made = next((edge.spec.shape for edge in evidence.flow.out_of(node.id) if edge.spec.shape), None) or ()
    before = edges[0].spec.shape or () if edges else ()
    gone = [axis for axis, size in enumerate(made) if size == 0] if len(made) == len(before) and 0 not in before else []
    size = before[gone[0]] if len(gone) == 1 else None
    if node.called is None or size is None:
        return None
    numbers = dict(evidence.raised.numbers) if evidence.raised is not None else {}
    written = slices_at(node.called, gone[0], len(before), numbers)
    empty = [one for one in written if one.start >= size and one.node.lineno <= node.called.line <= (one.node.end_lineno or 0)]
    if not empty:
        return None
    base = ast.unparse(empty[0].node.value)
    most = max((one for one in written if ast.unparse(one.node.value) == base), key=lambda one: one.stop)
    sizes = evidence.origins.of(edges[0])
    began = sizes[gone[0]] if gone[0] < len(sizes) else None
    who = began.who if isinstance(began, (Axis, Given)) else made_by(evidence, edges[0], gone[0])[0].name
    argument = began.argument if isinstance(began, Given) else ""
    return SliceEmpty(Who.of(node), empty[0].text, gone[0], size, most.stop, ast.unparse(most.upper), who, argument)
