"""Operations of the replica's program that a TPU does not support, drops, or needs as constants (catalog, section 5)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..examine.evidence import Evidence
from ..flow import Fact, Finding, Node, Severity, Who
from .facts.tpu_ops import AssertDropped, BatchSizeUsed, BoundedSize, EndlessLoop, Int64Product, MixedSizes, NoKernel, SizeFromData, Unfed
from .registry import Rule, check, rule
from .upstream import ancestors


def _layer(body: str, dtype: str = "float32", x: str = "np.zeros((64, 8), 'float32')") -> str:
    indented = "\n".join(f"        {line}" for line in body.strip().splitlines())
    return f"""
class Own(L.Layer):
    def call(self, x):
{indented}
def build():
    m = keras.Sequential([keras.Input((8,), dtype="{dtype}"), Own()]); m.compile("sgd", lambda t, p: tf.reduce_mean(tf.cast(p, "float32"))); return m
def data():
    return {x}, np.zeros((64, 1), "float32")
"""


_GOOD = _layer("return tf.square(x)")
KERNEL = rule(
    "tpu-kernel", "Operation without a TPU kernel", severity="tpu",
    source="tpu-rules O1, O2, O3, O13, O16; TensorFlow 2.21's list of XLA kernels", tpu="v3-8",
    fails=_layer("return tf.ensure_shape(tf.py_function(lambda v: v * 2, [x], tf.float32), (None, 8))"), passes=_layer("return x * 2"),
    doc="""`Detected unsupported operations when trying to compile graph cluster_... on XLA_TPU_JIT`. Found by comparing the operations of the replica's
traced program, including the functions that it calls, with the kernels that TensorFlow registers for XLA. With
`tf.config.set_soft_device_placement(True)` such operations run on the host in every step.""",
)  # fmt: skip
DTYPE = rule(
    "tpu-kernel-dtype", "Operation without a TPU kernel for this dtype", severity="tpu", source="tpu-rules D1, D3, O1", tpu="v3-8",
    fails=_layer("return tf.matmul(x, x, transpose_b=True)", "uint8", "np.zeros((64, 8), 'uint8')"),
    passes=_layer("return tf.matmul(tf.cast(x, 'float32'), tf.cast(x, 'float32'), "
    "transpose_b=True)", "uint8", "np.zeros((64, 8), 'uint8')"),
)  # fmt: skip
PRODUCT = rule(
    "int64-matmul", "int64 matrix product", severity="tpu", source="tpu-rules D3 (from the TPU compiler)", tpu="v3-8",
    fails=_layer("return tf.matmul(x, x, transpose_b=True)", "int64", "np.zeros((64, 8), 'int64')"),
    passes=_layer("return tf.matmul(tf.cast(x, 'int32'), tf.cast(x, 'int32'), transpose_b=True)", "int64", "np.zeros((64, 8), 'int64')"),
    doc="""`UNIMPLEMENTED: While rewriting computation to not contain X{64|128} element types, XLA encountered an HLO for which this rewriting is not
implemented`. Other int64 arithmetic is emulated and works.""",
)  # fmt: skip
CONSTANT = rule(
    "shape-from-data", "A shape or an axis that is computed from the data", severity="tpu", source="tpu-rules O7", tpu="v3-8",
    fails=_layer("n = tf.cast(tf.reduce_max(x), 'int32') + 4\nreturn tf.zeros((n,))"),
    passes=_layer("n = tf.shape(x)[0]\nreturn tf.zeros((n,)) + tf.reduce_max(x)"),
    doc="""XLA must know sizes at compile time: `must be a compile-time constant`. Sizes that follow from static shapes (`tf.shape` of a tensor with known
axes) are known.""",
)  # fmt: skip
BOUNDED = rule(
    "data-dependent-size", "Operation whose result size depends on the data", severity="slow", source="tpu-rules O5, T5",
    tpu="v3-8",
    fails=_layer("return tf.boolean_mask(x, x[:, 0] > 0)"), passes=_layer("return tf.where(x > 0, x, 0.0)"),
    doc="""`boolean_mask`, `tf.where` with one argument and `tf.unique` compile on a TPU, but reserve buffers for the largest possible result (64 KiB
instead of none for a float32 tensor of shape (8, 100)).""",
)  # fmt: skip
MIXED = rule(
    "data-dependent-mix", "A result of data-dependent size is combined with a fixed-size tensor", severity="silent",
    source="tpu-rules O6 (the TPU compiler accepts it without an error)", tpu="v3-8",
    fails=_layer("y = tf.boolean_mask(x, x[:, 0] >= 0)\nreturn x + y"), passes=_layer("y = tf.where(x >= 0, x, 0.0)\nreturn x + y"),
    doc="On a CPU, a wrong size raises `Incompatible shapes`. The TPU program pads the smaller tensor to its bound and adds: no error, but different values.",
)  # fmt: skip
DROPPED = rule(
    "assert-dropped", "Assertion that a TPU drops", severity="note", source="tpu-rules O9", tpu="v3-8",
    fails=_layer("with tf.control_dependencies([tf.debugging.assert_non_negative(x)]):\n    return tf.identity(x)"), passes=_GOOD,
    doc="""`tf.debugging.assert_*` and `check_numerics` are dropped when the step is compiled: a value that they would have caught passes. Check values on
the host, in the pipeline.""",
)  # fmt: skip
_LOOP = "return tf.while_loop(lambda v: tf.reduce_sum(v) < 9.0, lambda v: (tf.sin(v) + v + 1.0,), (x,){})[0]"
LOOP = rule(
    "endless-loop-gradient", "A loop without maximum_iterations in a model that trains", severity="tpu", source="tpu-rules O8", tpu="v3-8",
    fails=_layer(_LOOP.format("")).replace("Own()]", "L.Dense(8), Own()]"),
    passes=_layer(_LOOP.format(", maximum_iterations=9")).replace("Own()]", "L.Dense(8), Own()]"),
    doc="""The gradient stores values of every iteration: `XLA compilation requires a fixed tensor list size. Set the max number of elements`. A loop whose
gradient stores nothing (`v + 1.0`), or that is not differentiated, compiles.""",
)  # fmt: skip
SIZE = rule(
    "batch-size-as-number", "The program computes with an unknown batch size", severity="silent",
    source="tpu-rules B3; tensorflow#45317 (reported by users, not reproduced without a TPU)", tpu="v3-8",
    fails=_layer('return x / tf.cast(tf.shape(x)[0], "float32")').replace("64", "72"),
    passes=_layer('return x / tf.cast(tf.shape(x)[0], "float32")'),
    doc="""A TPU pads a batch of unknown size. Users report that `tf.shape(x)[0]` returned the padded size instead of the true one; not reproduced without a
TPU. With a static batch size it is a constant.""",
)  # fmt: skip
UNFED = rule(
    "placeholder-in-step", "A placeholder without a value", severity="error", source="tpu-rules O4; tensorflow/python/tpu/tpu_replication.py:43", tpu="v3-8",
    fails=_layer("return x + tf.compat.v1.placeholder(tf.float32, ())"), passes=_layer("return x + tf.constant(1.0)"),
    doc="A leftover from TensorFlow 1. A CPU raises `You must feed a value for placeholder tensor`; a TPU reports that Placeholder is not supported.",
)  # fmt: skip
UNSAFE = {
    "PyFunc": "Python code", "EagerPyFunc": "Python code", "LookupTableFindV2": "a table of words", "StringSplitV2": "text",
    "StaticRegexReplace": "text",
    "StringLower": "text", "StringToHashBucketFast": "text", "StringFormat": "text (tf.print, tf.strings.format)", "PrintV2": "tf.print",
    "ImageProjectiveTransformV3": "a rotation, zoom or shift of images", "ResizeBicubic": "a bicubic resize",
    "ResizeArea": "an area resize",
    "ScaleAndTranslate": "an antialiased resize", "DecodeJpeg": "decoding of files", "WriteSummary": "tf.summary",
    "WriteScalarSummary": "tf.summary",
}  # fmt: skip

TEXT = frozenset({"LookupTableFindV2", "StaticRegexReplace", "RegexReplace", "AsString", "RaggedTensorToTensor", "DecodeBase64", "UnicodeDecodeWithOffsets"})


def _node_of(evidence: Evidence, use: Any) -> Node | None:
    if use.location is not None:
        for node in evidence.flow.nodes:
            if node.kind == "op" and node.op == use.op and node.called is not None and node.called.line == use.location.line:
                return node
    parts = use.scope.split("/")
    for part in reversed(parts):
        names = {part, re.sub(r"_\d+$", "", part)}  # a second trace counts on
        found = [node for node in evidence.flow.nodes if node.kind in ("layer", "loss", "metric") and node.name in names]
        if found:
            return found[-1]
    return next((node for node in evidence.flow.nodes if node.kind == "op" and node.op == use.op), None)


@check(order=75, backend="tensorflow")
def operations(evidence: Evidence) -> Iterator[Finding]:
    """Findings from the operations of the replica's program."""
    program = evidence.facts.get("program")
    if program is None or evidence.target is None:
        return
    text = any(leaf.dtype == "string" for _, leaf in evidence.sample.leaves("x")) if evidence.split is not None else False
    takes_text = {edge.target for edge in evidence.flow.edges if edge.spec.dtype == "string"}
    told: set[tuple[str, str]] = set()
    for use in program.uses:
        if text and (use.op in TEXT or "String" in use.op):
            continue  # what is wrong with text is said of the text itself
        node = _node_of(evidence, use)
        if text and node is not None and node.id in takes_text:
            continue
        if use.what == "loop" and "step" not in evidence.facts and not _learns(evidence, node):
            continue
        key = (use.what, node.id if node is not None else use.op)
        if key in told:
            continue
        told.add(key)
        found = _fact(use, node, program.soft, _within(evidence, node))
        if found is not None:
            entry, severity, fact = found
            location = use.location or ((node.location or node.called) if node is not None else None)
            yield Finding.of(entry.id, severity, fact, (node.id,) if node is not None else (), location=location)


def _learns(evidence: Evidence, node: Node | None) -> bool:
    if node is None:
        return True
    layer = evidence.flow.node(node.parent) if node.kind == "op" and node.parent else node
    around = [layer, *ancestors(evidence, node.id), *ancestors(evidence, layer.id)]
    return any(weight.trainable for one in around for weight in one.weights)


def _within(evidence: Evidence, node: Node | None) -> Who | None:
    while node is not None and node.kind not in ("loss", "metric"):
        node = evidence.flow.node(node.parent) if node.parent else None
    return Who.of(node) if node is not None else None


def _fact(use: Any, node: Node | None, soft: bool, within: Who | None) -> tuple[Rule, Severity, Fact] | None:
    who = Who.of(node) if node is not None else None
    match use.what:
        case "kernel":
            return KERNEL, "slow" if soft else "tpu", NoKernel(use.op, who, soft, does=UNSAFE.get(use.op, ""), within=within)
        case "dtype":
            return DTYPE, "slow" if soft else "tpu", NoKernel(use.op, who, soft, dtype=use.detail, within=within)
        case "product":
            return PRODUCT, "tpu", Int64Product(use.op, who)
        case "constant":
            return CONSTANT, "tpu", SizeFromData(use.op, who, use.detail)
        case "bounded":
            return BOUNDED, "slow", BoundedSize(use.op, who)
        case "mixed":
            return MIXED, "silent", MixedSizes(use.op, who, use.detail.replace("None", "?"))
        case "assert":
            return DROPPED, "note", AssertDropped(use.op, who)
        case "size":
            return SIZE, "silent", BatchSizeUsed(use.op, who)
        case "placeholder":
            return UNFED, "error", Unfed(use.op, who)
        case "loop":
            return LOOP, "tpu", EndlessLoop(use.op, who)
    return None
