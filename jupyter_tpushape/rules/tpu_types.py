"""Types that a TPU does not support: strings, ragged and sparse tensors, some dtypes and policies (catalog, section 4)."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Node, Who
from .facts.tpu_types import CompositeInput, Float64, MixedFloat16, TextInput, UnsupportedDtype
from .registry import check, rule
from .saved_models import LAYERS as SAVED_MODELS
from .tpu_batch import split_nodes

# core/tpu/tpu_defs.h, kTpuAllTypes; the names are TensorFlow's.
TPU_TYPES = frozenset({
    "int32", "uint32", "float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32", "float64", "bool", "complex64", "int64", "uint64",
    "qint8", "quint8", "qint32", "int8", "uint8", "int16", "uint16",
})  # fmt: skip
HANDLES = frozenset({"resource", "variant", ""})
_DENSE = """
def build():
    m = keras.Sequential([keras.Input((4,){more}), {layers}L.Dense(1)]); m.compile("sgd", "mse"); return m
"""
_GOOD = (
    _DENSE.format(more="", layers="")
    + """
def data():
    return np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")
"""
)

COMPOSITE = rule(
    "composite-input", "The strategy receives ragged or sparse tensors", severity="tpu",
    source="tpu-rules D7; tensorflow/python/distribute/tpu_strategy.py:1095", tpu="v3-8",
    fails="""
def build():
    i = keras.Input((8,)); m = keras.Model(i, L.Dense(1)(i)); m.compile("sgd", "mse"); return m
def data():
    rows = tf.sparse.from_dense(np.eye(8, dtype="float32"))
    return tf.data.Dataset.from_tensor_slices((rows, np.zeros((8, 1), "float32"))).batch(8, drop_remainder=True)
""",
    passes="""
def build():
    i = keras.Input((8,)); m = keras.Model(i, L.Dense(1)(i)); m.compile("sgd", "mse"); return m
def data():
    rows = tf.sparse.from_dense(np.eye(8, dtype="float32"))
    return tf.data.Dataset.from_tensor_slices((rows, np.zeros((8, 1), "float32"))).batch(8, drop_remainder=True).map(lambda x, y: (tf.sparse.to_dense(x), y))
""",
)  # fmt: skip
STRING = rule(
    "string-input", "Text reaches the replicas", severity="tpu", source="tpu-rules D8, D9, H4, O1; tensorflow#60092", tpu="v3-8",
    fails="""
def build():
    v = L.TextVectorization(max_tokens=9, output_sequence_length=4, vocabulary=["a", "b"])
    i = keras.Input((), dtype="string"); m = keras.Model(i, L.Dense(1)(L.Embedding(9, 2)(v(i)))); m.compile("sgd", "mse"); return m
def data():
    return tf.data.Dataset.from_tensor_slices((["a b"] * 16, np.zeros((16, 4, 1), "float32"))).batch(8, drop_remainder=True)
""",
    passes="""
def build():
    i = keras.Input((4,), dtype="int64"); m = keras.Model(i, L.Dense(1)(L.Embedding(9, 2)(i))); m.compile("sgd", "mse"); return m
def data():
    v = L.TextVectorization(max_tokens=9, output_sequence_length=4, vocabulary=["a", "b"])
    ds = tf.data.Dataset.from_tensor_slices((["a b"] * 16, np.zeros((16, 4, 1), "float32"))).batch(8, drop_remainder=True)
    return ds.map(lambda x, y: (tf.ensure_shape(v(x), (8, 4)), y))
""",
    doc="""TPUs have no strings. With a static batch size the strategy passes them on, and the first operation on them fails. With a dynamic one, padding
already fails (`Unsupported data type for TPU: string, caused by output Pad`). `tf.config.set_soft_device_placement(True)` moves such operations
to the host, which costs time in every step.""",
)  # fmt: skip
DTYPE = rule(
    "tpu-dtype", "dtype that TPUs do not support", severity="tpu", source="tpu-rules D1; tensorflow/core/tpu/tpu_defs.h kTpuAllTypes",
    tpu="v3-8",
    fails="""
def build():
    return keras.Sequential([keras.Input((4,)), Turn()])
class Turn(L.Layer):
    def call(self, x):
        return tf.math.abs(tf.cast(x, tf.complex128))
def data():
    return np.zeros((64, 4), "float32"), None
""",
    passes="""
def build():
    return keras.Sequential([keras.Input((4,)), Turn()])
class Turn(L.Layer):
    def call(self, x):
        return tf.math.abs(tf.cast(x, tf.complex64))
def data():
    return np.zeros((64, 4), "float32"), None
""",
)  # fmt: skip
WIDE = rule(
    "float64-on-tpu", "float64 is emulated on a TPU", severity="slow", source="tpu-rules D2", tpu="v3-8",
    fails=_DENSE.format(more=", dtype='float64'", layers="L.Dense(2, dtype='float64'), ") + "def data():\n    return tf.zeros((64, 4), "
    "tf.float64), np.zeros((64, 1), 'float32')\n",
    passes=_GOOD,
    doc="Every value is stored as a pair (8,192 bytes instead of 4,096 for float32, compiled for v5e).",
)  # fmt: skip
HALF = rule(
    "mixed-float16", "mixed_float16 is the policy for GPUs", severity="tpu",
    source="tpu-rules D5; tf_keras/src/mixed_precision/loss_scale_optimizer.py:1590",
    tpu="v3-8",
    fails="""
def build():
    keras.mixed_precision.set_global_policy("mixed_float16") if hasattr(keras, "mixed_precision") else keras.config.set_dtype_policy("mixed_float16")
    m = keras.Sequential([keras.Input((4,)), L.Dense(1)]); m.compile("sgd", "mse")
    keras.mixed_precision.set_global_policy("float32") if hasattr(keras, "mixed_precision") else keras.config.set_dtype_policy("float32")
    return m
def data():
    return np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")
""",
    passes=_GOOD,
    doc="""tf_keras rejects it under TPUStrategy. Keras 3 accepts it and adds loss scaling, which TPUs do not need. mixed_bfloat16 has the range of float32
and needs no loss scaling.""",
)  # fmt: skip


@check(order=70, backend="tensorflow")
def inputs(evidence: Evidence) -> Iterator[Finding]:
    """Ragged, sparse and text tensors of the data."""
    if evidence.split is None:
        return
    for path, leaf in evidence.sample.leaves():
        if leaf.kind != "dense":
            yield Finding.of(COMPOSITE.id, "tpu", CompositeInput(path, leaf.kind, leaf.dtype), split_nodes(evidence))
        elif leaf.dtype == "string":
            first = next((node for node in evidence.flow.nodes if node.kind == "layer" and _reads_text(evidence, node)), None)
            fact = TextInput(path, bool(evidence.split.dynamic), Who.of(first) if first is not None else None)
            nodes = (*((first.id,) if first else ()), *split_nodes(evidence))
            yield Finding.of(STRING.id, "tpu", fact, nodes, location=first.location if first else None)


def _reads_text(evidence: Evidence, node: Node) -> bool:
    return node.op in TEXT_LAYERS or (node.op in SAVED_MODELS and any(edge.spec.dtype == "string" for edge in evidence.flow.into(node.id)))


TEXT_LAYERS = frozenset({"TextVectorization", "StringLookup", "Hashing", "HashedCrossing", "IntegerLookup"})


@check(order=71, backend="tensorflow")
def dtypes(evidence: Evidence) -> Iterator[Finding]:
    """Dtypes along the edges of the model."""
    if evidence.target is None:
        return
    told: set[str] = set()
    for edge in evidence.flow.edges:
        source = evidence.flow.node(edge.source)
        dtype = edge.spec.dtype
        if source.kind in ("stage", "split") or dtype in told or dtype in HANDLES or dtype == "string":
            continue
        if dtype not in TPU_TYPES:
            told.add(dtype)
            fact = UnsupportedDtype(Who.of(source), dtype)
            yield Finding.of(DTYPE.id, "tpu", fact, (source.id,), (edge.id,), source.called or source.location)
        elif dtype == "float64" and source.kind in ("layer", "op"):
            told.add(dtype)
            yield Finding.of(WIDE.id, "slow", Float64(Who.of(source)), (source.id,), (edge.id,), source.called or source.location)


@check(order=72)
def policy(evidence: Evidence) -> Iterator[Finding]:
    """mixed_float16 on a TPU."""
    if evidence.target is None or "mixed_float16" not in str(evidence.facts.get("policy", "")):
        return
    legacy = evidence.framework == "tf_keras"
    yield Finding.of(HALF.id, "tpu" if legacy else "slow", MixedFloat16(legacy))
