"""Layers made of SavedModels: hub.KerasLayer of tf_keras, keras.layers.TFSMLayer of Keras 3 (catalogue, section 7)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..flow import Edge, Finding, Node, Side, show_shape
from .evidence import Evidence
from .registry import check, rule
from .words import count, named

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
    doc="hub.KerasLayer is a layer of tf_keras. A model is made of one Keras: tf_keras throughout (it trains), or TFSMLayer in Keras 3 "
    "(for inference).",
)  # fmt: skip
INPUT = rule(
    "saved-model-input", "A SavedModel gets another structure than its signature takes", severity="error", source="tpu-rules H1; the SavedModel's own signature",
    fails=_example(_DICT, 'encoder()(list(i.values()))["pooled_output"]'), passes=_GOOD,
)  # fmt: skip
OUTPUT = rule(
    "dict-output", "A layer that takes one tensor gets a dict of them", severity="error", source="tpu-rules H5", fails=_example(_DICT, "encoder()(i)"), passes=_GOOD,
    doc="A BERT encoder gives pooled_output (one vector a sentence) and sequence_output (one a token). A Sequential cannot choose one; a "
    "functional model can.",
)  # fmt: skip

_FIELDS = re.compile(r"\['(\w+)', TensorSpec\(shape=(\([^)]*\)|None), dtype=tf\.(\w+)")
_ONE = re.compile(r"for signature: \(\w+: TensorSpec\(shape=(\([^)]*\)|None), dtype=tf\.(\w+)")
_NAMED = re.compile(r"signature_wrapper\(([\w, ]*)\) takes 0 positional arguments")
_SEVERAL = re.compile(r"expects 1 input\(s\), but it received \d+ input tensors")


def finding_of(evidence: Evidence) -> Finding | None:
    """What is wrong around a SavedModel's layer, or ``None`` where it is not that."""
    node = evidence.failed
    if node is None or evidence.failure is None:
        return None
    said = str(evidence.failure)
    # A SavedModel has no Keras mask: an input of that name is one of its own.
    edges = [edge for edge in evidence.failed_inputs() if edge.label != "mask" or node.op in LAYERS]
    if "tensorflow_hub.keras_layer.KerasLayer" in said and "Only instances of" in said:
        return _foreign(node)
    if node.op == "KerasLayer" and "<KerasTensor" in said:
        return _foreign(node)
    if node.op in LAYERS and node.kind == "layer":
        return _input(node, edges, said)
    if "All layers in a Sequential model should have a single output tensor" in said:
        return _several(evidence, node)
    if _SEVERAL.search(said):
        return _output(evidence, node, edges)
    return None


@check(order=18)
def saved_models(evidence: Evidence) -> Iterator[Finding]:
    """A break at a SavedModel's layer, or right behind it."""
    if evidence.where in ("build", "call"):
        finding = finding_of(evidence)
        if finding is not None:
            yield finding


def _foreign(node: Node) -> Finding:
    return Finding(
        FOREIGN.id, "error", "hub.KerasLayer is a layer of tf_keras and has no place in a Keras 3 model.",
        "Make the whole model with tf_keras (TF_USE_LEGACY_KERAS=1), or load it by keras.layers.TFSMLayer, which is for inference.",
        Side("keras.layers.TFSMLayer"), Side("hub.KerasLayer"), (node.id,), location=node.called or node.location,
    )  # fmt: skip


def _input(node: Node, edges: list[Edge], said: str) -> Finding | None:
    by_name = _NAMED.search(said)
    if by_name:
        names = by_name[1]
        return Finding(
            INPUT.id, "error", f"{named(node)} calls an endpoint that takes its inputs by name: {names}.",
            "TFSMLayer hands over one value, and a signature takes none by position. Name another endpoint, such as call_endpoint='__call__', or save "
            "the model with a function of one dict.",
            Side("an endpoint of one dict"), Side("a signature of names"), (node.id,), tuple(edge.id for edge in edges), node.location or node.called,
        )  # fmt: skip
    fields = {name: (shape, dtype) for name, shape, dtype in sorted(_FIELDS.findall(said))}
    one = _ONE.search(said)
    if "Binding inputs to tf.function failed" not in said or not (fields or one):
        return None
    given = {edge.label: edge for edge in edges}
    if one and not fields:
        wanted, got = f"one tensor {one[1]} {one[2]}", _shown(edges)
        why = f"Its signature takes {wanted}."
    else:
        wanted = f"a dict of {', '.join(fields)}"
        off = [name for name, (_, dtype) in fields.items() if name in given and given[name].spec.dtype != dtype]
        if off:
            wanted = f"{fields[off[0]][1]} for {off[0]}"
            got = f"{given[off[0]].spec.dtype}"
            why = f"A SavedModel casts nothing: its signature says {fields[off[0]][1]}. Declare the input so: Input(..., dtype='{fields[off[0]][1]}')."
        elif set(given) - {""} and set(given) != set(fields):
            got = f"a dict of {', '.join(given)}"
            why = "The signature's names are fixed when the model is saved. Pass a dict with exactly those keys."
        else:
            got = f"a list of {count(len(edges), 'tensor')}" if len(edges) > 1 else _shown(edges)
            why = f"The order says nothing to a signature of names. Pass a dict: {{{', '.join(repr(name) + ': ...' for name in list(fields)[:3])}}}."
    return Finding(
        INPUT.id, "error", f"{named(node)} takes {wanted}, and gets {got}.", why, Side(wanted), Side(got), (node.id,),
        tuple(edge.id for edge in edges), node.location or node.called,
    )  # fmt: skip


def _shown(edges: list[Edge]) -> str:
    return f"one tensor {show_shape(edges[0].spec.shape)} {edges[0].spec.dtype}" if len(edges) == 1 else f"{len(edges)} tensors"


def _output(evidence: Evidence, node: Node, edges: list[Edge]) -> Finding | None:
    # A SavedModel gives its outputs in no order.
    edges = sorted(edges, key=lambda edge: edge.label)
    labels = [edge.label for edge in edges]
    sources = {edge.source for edge in edges}
    if len(sources) != 1 or len(edges) < 2 or not all(labels):
        return None
    giver = evidence.flow.node(next(iter(sources)))
    if giver.kind == "input":
        return None
    parts = ", ".join(f"{edge.label} {show_shape(edge.spec.shape)}" for edge in edges)
    first = "pooled_output" if "pooled_output" in labels else labels[0]
    return Finding(
        OUTPUT.id, "error", f"{named(giver)} gives a dict ({parts}), and {named(node)} takes one tensor.",
        f"Take one of them: {giver.name}(inputs)['{first}']. A Sequential cannot choose, so write it as a functional model.",
        Side("one tensor"), Side(f"a dict of {', '.join(labels)}"), (node.id, giver.id), tuple(edge.id for edge in edges), node.location or node.called,
    )  # fmt: skip


def _several(evidence: Evidence, node: Node) -> Finding | None:
    giver = next((one for one in reversed(evidence.flow.nodes) if one.kind == "layer" and one.status == "ok" and not one.parent), None)
    if giver is None:
        return None
    return Finding(
        OUTPUT.id, "error", f"{named(giver)} gives more than one tensor, and a Sequential hands on only one.",
        f"Write it as a functional model, where {giver.name}(inputs) is a dict to take from.",
        Side("one tensor"), Side("several"), (giver.id, node.id), location=giver.location or giver.called,
    )  # fmt: skip
