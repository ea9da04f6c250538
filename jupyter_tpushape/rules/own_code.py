"""The contract between code of the program's own and what calls it: weights in build, the data of a training step, the lengths for CTC."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..examine.heard import HeardShape, hear
from ..examine.heard_contracts import HeardUndefined
from ..flow import Fact, Finding, Node, Shape, Who
from ..flow.paths import show
from ..flow.syntax import names_in
from ..sources.stats import stats_at
from .compared import fed_whole
from .facts.own_code import DataWhole, TooManySteps, WeightOfBatch
from .registry import check, rule

CTC = rule(
    "ctc-length", "CTC is given more steps than the predictions have", severity="error", backend="tensorflow", frameworks=("tf_keras",),
    source="the lengths in the data, and the steps of the predictions",
    fails="""
def build():
    x, y = keras.Input((20, 8)), keras.Input((3,)); n, k = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32")
    p = L.Conv1D(6, 3, strides=2, padding="same", activation="softmax")(x)
    c = L.Lambda(lambda a: keras.backend.ctc_batch_cost(a[1], a[0], a[2], a[3]), output_shape=(1,))([p, y, n, k])
    m = keras.Model([x, y, n, k], c); m.compile("sgd", lambda t, p: p); return m
def data():
    x = [np.zeros((8, 20, 8), "float32"), np.ones((8, 3), "float32"), np.full((8, 1), 20, "int32"), np.full((8, 1), 3, "int32")]
    return x, np.zeros((8,), "float32")
""",
    passes="""
def build():
    x, y = keras.Input((20, 8)), keras.Input((3,)); n, k = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32")
    p = L.Conv1D(6, 3, strides=2, padding="same", activation="softmax")(x)
    c = L.Lambda(lambda a: keras.backend.ctc_batch_cost(a[1], a[0], a[2], a[3]), output_shape=(1,))([p, y, n, k])
    m = keras.Model([x, y, n, k], c); m.compile("sgd", lambda t, p: p); return m
def data():
    x = [np.zeros((8, 20, 8), "float32"), np.ones((8, 3), "float32"), np.full((8, 1), 10, "int32"), np.full((8, 1), 3, "int32")]
    return x, np.zeros((8,), "float32")
""",
)  # fmt: skip


@check(order=46, backend="tensorflow")
def ctc_length(evidence: Evidence) -> Iterator[Finding]:
    """Lengths of the data that reach CTC as they are, beyond the steps of its predictions."""
    for node in evidence.flow.nodes:
        edges = evidence.flow.into(node.id) if node.op.startswith("CTCLoss") else []
        steps = (edges[0].spec.shape or (None,))[0] if edges else None
        path = fed_whole(evidence, edges[-1]) if len(edges) > 1 and len(edges[-1].spec.shape or ()) == 1 else None
        sampled = getattr(evidence.sample, "sampled", None) or []
        seen = stats_at(sampled, path) if path is not None and path[0] == "x" else None
        if path is not None and steps and seen is not None and seen.maximum is not None and seen.maximum > steps:
            fact = TooManySteps(show(path), int(seen.maximum), steps, Who.of(node))
            yield Finding.of(CTC.id, "error", fact, (node.id,), (edges[-1].id,), node.called)


def weight_of_batch(evidence: Evidence, node: Node, shape: Shape | None) -> tuple[str, Fact] | None:
    """A layer whose build makes a weight of the whole shape of its input."""
    made = hear(node.failure, HeardShape)
    if node.kind != "layer" or hear(node.failure, HeardUndefined) is None or made is None or evidence.raised is None:
        return None
    whole = made.shape == shape and len(made.shape) > 1 and made.shape[0] is None and None not in made.shape[1:]
    return ("layer-raises", WeightOfBatch(Who.of(node), made.shape)) if whole else None


def data_whole(evidence: Evidence, node: Node) -> tuple[str, Fact] | None:
    """A training step that passes inputs and labels together to a model with one input."""
    if node.kind != "layer" or "train_step" not in (evidence.facts.get("overrides") or ()) or evidence.raised is None:
        return None
    edges = [edge for edge in evidence.flow.into(node.id) if edge.label != "mask"]
    roles = [(evidence.carried(edge) or ("",))[0] for edge in edges]
    names = sorted(name for name in names_in(evidence.raised.text) if "." not in name and name != "self")
    if roles not in (["x", "y"], ["x", "y", "weight"]) or len(names) != 1 or evidence.raised.function != "train_step":
        return None
    return "layer-raises", DataWhole(Who.of(node), names[0], ("x", "y", "sample_weight")[: len(roles)])
