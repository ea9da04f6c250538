"""The contract between code of the program's own and what calls it: weights in build, the data of a training step, the lengths for CTC."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..examine.heard import hear
from ..examine.heard_contracts import HeardConversion, HeardUndefined
from ..flow import Fact, Finding, Node, Shape, Who
from ..flow.paths import show
from ..flow.syntax import names_in
from .compared import fed_whole, stats_at
from .facts.own_code import DataWhole, LabelsRefused, NamesCrossed, TooManySteps, WeightOfBatch
from .registry import check, rule

_READ = """
def build():
    x, y = keras.Input((20, 8)), keras.Input((3,)); n, k = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32")
    p = L.Conv1D(6, 3, strides=2, padding="same", activation="softmax")(x)
    c = L.Lambda(lambda a: keras.backend.ctc_batch_cost(a[1], a[0], a[2], a[3]), output_shape=(1,))([p, y, n, k])
    m = keras.Model([x, y, n, k], c); m.compile("sgd", lambda t, p: p); return m
def data():
    x = [np.zeros((8, 20, 8), "float32"), np.ones((8, 3), "float32"), np.full((8, 1), %s, "int32"), np.full((8, 1), 3, "int32")]
    return x, np.zeros((8,), "float32")
"""
CTC = rule(
    "ctc-length", "CTC is given more steps than the predictions have", severity="error", backend="tensorflow", frameworks=("tf_keras",),
    source="the lengths in the data, and the steps of the predictions",
    fails=_READ % 20,
    passes=_READ % 10,
)  # fmt: skip


@check(order=46, backend="tensorflow")
def ctc_length(evidence: Evidence) -> Iterator[Finding]:
    """Lengths of the data that reach CTC as they are, beyond the steps of its predictions."""
    for node in evidence.flow.nodes:
        edges = evidence.flow.into(node.id) if node.op.startswith("CTCLoss") else []
        steps = (edges[0].spec.shape or (None,))[0] if edges else None
        path = fed_whole(evidence, edges[-1]) if len(edges) > 1 and len(edges[-1].spec.shape or ()) == 1 else None
        seen = stats_at(evidence, path) if path is not None and path[0] == "x" else None
        if path is not None and steps and seen is not None and seen.maximum is not None and seen.maximum > steps:
            fact = TooManySteps(show(path), int(seen.maximum), steps)
            yield Finding.of(CTC.id, "error", fact, (node.id,), (edges[-1].id,), node.called)


def weight_of_batch(evidence: Evidence, node: Node, shape: Shape | None) -> tuple[str, Fact] | None:
    """A layer whose build makes a weight of the whole shape of its input."""
    made = hear(node.failure, HeardUndefined)
    if node.kind != "layer" or made is None or evidence.raised is None:
        return None
    whole = made.shape == shape and len(made.shape) > 1 and made.shape[0] is None and None not in made.shape[1:]
    return ("layer-raises", WeightOfBatch(Who.of(node), made.shape)) if whole else None


def data_whole(evidence: Evidence, node: Node) -> tuple[str, Fact] | None:
    """A training step that uses inputs and labels together as if they were one tensor: in a model with one input, or in an expression."""
    name = evidence.facts.get("step_data")
    if not name or evidence.raised is None or not (node.kind == "layer" or node.op == "Pack"):
        return None
    edges = [edge for edge in evidence.flow.into(node.id) if edge.label != "mask"]
    roles = [(evidence.carried(edge) or ("",))[0] for edge in edges]
    lines = [one for one in (evidence.raised, *evidence.raised.callers) if one.function == "train_step"]
    if roles not in (["x", "y"], ["x", "y", "weight"]) or not any(name in names_in(one.text) for one in lines):
        return None
    return "layer-raises", DataWhole(Who.of(node), name, ("x", "y", "sample_weight")[: len(roles)])


_COACH = """
class Coach(keras.Model):
    def __init__(self, small, large):
        super().__init__(); self.%s = small; self.%s = large
    def call(self, x):
        return self.small(x) + 0 * self.large(x)
def build():
    one, two = [keras.Sequential([keras.Input((4,)), L.Dense(1)]) for _ in "ab"]
    m = Coach(one, two); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
"""
CROSSED = rule(
    "names-crossed", "Two parameters are stored under each other's name", severity="silent", source="the text of the model's __init__",
    fails=_COACH % ("large", "small"), passes=_COACH % ("small", "large"),
    doc="""Reported if `__init__` of the model's class stores two of its parameters as attributes, each under the name of the other.""",
)  # fmt: skip


@check(order=44)
def names_crossed(evidence: Evidence) -> Iterator[Finding]:
    """Parameters of a model that are stored under each other's name."""
    found = evidence.facts.get("crossed_names")
    if found is not None:
        one, other, owner, where = found
        raised = evidence.failure is not None and evidence.where in ("build", "call")
        yield Finding.of(CROSSED.id, "error" if raised else "silent", NamesCrossed(owner, one, other), location=where)


def labels_refused(evidence: Evidence, node: Node, metric: Node) -> LabelsRefused | None:
    """A metric of the framework's own that computes with the labels in a dtype that they do not have."""
    said = hear(node.failure, HeardConversion)
    came = {spec.dtype for _, spec in evidence.y}
    if metric.kind != "metric" or node is not metric or said is None or came != {said.given}:
        return None
    return LabelsRefused(metric.name, said.wanted, said.given)
