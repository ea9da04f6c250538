"""Layers that wrap SavedModels: hub.KerasLayer of tf_keras, keras.layers.TFSMLayer of Keras 3 (catalog, section 7)."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..examine.heard import HeardHub, HeardNames, HeardSeveral, HeardSignature, hear
from ..flow import Edge, Fact, Finding, Node, Who
from .facts.saved_models import DictOutput, HubLayer, NamedEndpoint, SeveralOutputs, WrongStructure
from .registry import check, rule

LAYERS = frozenset({"KerasLayer", "TFSMLayer"})
_MAKE = """
class Encoder(tf.__internal__.tracking.AutoTrackable):
    def __init__(self):
        super().__init__()
        self.table = tf.Variable(tf.zeros((9, 4)))
        self.variables = self.trainable_variables = [self.table]
        self.regularization_losses = []
    @tf.function(input_signature=[{k: tf.TensorSpec((None, None), tf.int32, name=k) for k in ("ids", "mask")}])
    def __call__(self, x):
        rows = tf.gather(self.table, x["ids"]) * tf.cast(x["mask"], tf.float32)[..., None]
        return {"pooled_output": tf.reduce_mean(rows, 1), "sequence_output": rows}
def encoder():
    import tempfile
    folder = tempfile.mkdtemp()
    tf.saved_model.save(Encoder(), folder)
    if keras.__name__ == "tf_keras":
        import tensorflow_hub as hub
        return hub.KerasLayer(folder)
    return L.TFSMLayer(folder, call_endpoint="__call__")
def data():
    return {"ids": np.ones((64, 6), "int32"), "mask": np.ones((64, 6), "int32")}, np.zeros((64, 1), "float32")
"""


def _example(first: str, last: str = 'encoder()(i)["pooled_output"]') -> str:
    return (
        _MAKE
        + f"""
def build():
    i = {first}
    m = keras.Model(i, L.Dense(1)({last})); m.compile("sgd", "mse"); return m
"""
    )


_DICT = '{k: keras.Input((6,), dtype="int32", name=k) for k in ("ids", "mask")}'
_GOOD = _example(_DICT)
FOREIGN = rule(
    "hub-layer-in-keras-3", "hub.KerasLayer in a Keras 3 model", severity="error", source="tpu-rules H1", frameworks=("keras",),
    fails=_MAKE + """
def build():
    import tempfile, tensorflow_hub as hub
    folder = tempfile.mkdtemp()
    tf.saved_model.save(Encoder(), folder)
    return keras.Sequential([hub.KerasLayer(folder), L.Dense(1)])
""",
    passes=_GOOD,
    doc="""`hub.KerasLayer` is a tf_keras layer, and a model cannot mix Keras versions. Use tf_keras throughout (it trains), or TFSMLayer in Keras 3 (for
inference).""",
)  # fmt: skip
INPUT = rule(
    "saved-model-input", "The input of a SavedModel does not match its signature", severity="error", source="tpu-rules H1; the signature of the SavedModel",
    fails=_example(_DICT, 'encoder()(list(i.values()))["pooled_output"]'), passes=_GOOD,
)  # fmt: skip
OUTPUT = rule(
    "dict-output", "A layer that expects one tensor receives a dict", severity="error", source="tpu-rules H5", fails=_example(_DICT, "encoder()(i)"), passes=_GOOD,
    doc="""A BERT encoder returns pooled_output (one vector per sentence) and sequence_output (one per token). A Sequential model cannot select one, but a
functional model can.""",
)  # fmt: skip


def finding_of(evidence: Evidence) -> Finding | None:
    """The fault at a SavedModel's layer."""
    node, said = evidence.failed, evidence.failure
    if node is None or said is None:
        return None
    # A SavedModel has no Keras mask: an input of that name is one of its own.
    edges = [edge for edge in evidence.failed_inputs() if edge.label != "mask" or node.op in LAYERS]
    hub, several = hear(said, HeardHub), hear(said, HeardSeveral)
    if hub is not None and (not hub.symbolic or node.op == "KerasLayer"):
        return Finding.of(FOREIGN.id, "error", HubLayer(), (node.id,), location=node.called or node.location)
    if node.op in LAYERS and node.kind == "layer":
        return _input(node, edges, said)
    if several is not None:
        return _several(evidence, node) if several.sequential else _output(evidence, node, edges)
    return None


@check(order=18)
def saved_models(evidence: Evidence) -> Iterator[Finding]:
    """A failure at a SavedModel's layer, or directly after it."""
    if evidence.where in ("build", "call"):
        finding = finding_of(evidence)
        if finding is not None:
            yield finding


def _input(node: Node, edges: list[Edge], said: BaseException) -> Finding | None:
    by_name, signature = hear(said, HeardNames), hear(said, HeardSignature)
    fact: Fact
    if by_name is not None:
        fact = NamedEndpoint(Who.of(node), by_name.names)
    elif signature is not None:
        given = tuple((edge.label, edge.spec.shape, edge.spec.dtype) for edge in edges)
        fact = WrongStructure(Who.of(node), signature.fields, given)
    else:
        return None
    return Finding.of(INPUT.id, "error", fact, (node.id,), tuple(edge.id for edge in edges), node.location or node.called)


def _output(evidence: Evidence, node: Node, edges: list[Edge]) -> Finding | None:
    # A SavedModel gives its outputs in no order.
    edges = sorted(edges, key=lambda edge: edge.label)
    sources = {edge.source for edge in edges}
    if len(sources) != 1 or len(edges) < 2 or not all(edge.label for edge in edges):
        return None
    giver = evidence.flow.node(next(iter(sources)))
    if giver.kind == "input":
        return None
    fact = DictOutput(Who.of(giver), Who.of(node), tuple((edge.label, edge.spec.shape) for edge in edges))
    return Finding.of(OUTPUT.id, "error", fact, (node.id, giver.id), tuple(edge.id for edge in edges), node.location or node.called)


def _several(evidence: Evidence, node: Node) -> Finding | None:
    giver = next((one for one in reversed(evidence.flow.nodes) if one.kind == "layer" and one.status == "ok" and not one.parent), None)
    if giver is None:
        return None
    return Finding.of(OUTPUT.id, "error", SeveralOutputs(Who.of(giver)), (giver.id, node.id), location=giver.location or giver.called)
