"""What compilers answer, as rules. The answers themselves come from :mod:`jupyter_tpushape.compilers`."""

from __future__ import annotations

from .registry import rule

_DENSE = """
def build():
    m = keras.Sequential([keras.Input(({n},)), L.Dense({n}, name="wide")])
    return m
def data():
    return tf.TensorSpec((64, {n}))
"""
_ROWS = """
def build():
    return keras.Sequential([keras.Input((32, 32, 3)), L.Conv2D(12, 3), L.GlobalAveragePooling2D(), L.Dense(10)])
def data():
    return tf.TensorSpec(({rows}, 32, 32, 3))
"""
_OWN = """
class Own(L.Layer):
    def call(self, x):
        return {body}
    def compute_output_shape(self, shape):
        return shape
def build():
    return keras.Sequential([keras.Input((8, 8, 8)), Own(name="own")])
def data():
    return tf.TensorSpec((64, 8, 8, 8))
"""
_GONE = "tf.nn.conv2d(tf.boolean_mask(x, x[0, :, 0, 0] > 0, axis=1), tf.ones((3, 3, 8, 8)), 1, 'VALID')"

OOM = rule(
    "hbm-oom", "The program needs more memory than the TPU's core has", severity="tpu", source="tpu-rules T4 (the TPU compiler's own answer)",
    tpu="v3-8", compiler="tpu", fails=_ROWS.format(rows=8 * 2_000_000), passes=_ROWS.format(rows=64),
    doc="`RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM`, from libtpu's compilation of one replica's program.",
)  # fmt: skip
PADDING = rule(
    "tile-padding", "Much of the memory that tensors take is padding", severity="slow", source="tpu-rules T1, T2, T3 (layouts that the "
    "TPU compiler chose)", tpu="v5e-8", compiler="tpu", fails=_DENSE.format(n=129), passes=_DENSE.format(n=128),
    doc="The TPU keeps float32 in tiles of 8 x 128: an axis of 129 takes the room of 256. Numbers are from the compiled program's own "
    "layouts. Reported where there are 64 KiB of variables or more and they take half as much again as they hold.",
)  # fmt: skip
XLA = rule(
    "xla-refused", "XLA refuses the program", severity="tpu", source="tpu-rules O1, O7, O8 (XLA's own answer, lowered on a CPU)",
    tpu="v5e-8", compiler="xla", fails=_OWN.format(body="tf.ensure_shape(tf.py_function(lambda v: v * 2, [x], tf.float32), (None, 8, 8, 8))"),
    passes=_OWN.format(body="x * 2"),
    doc="What XLA does not take when it lowers for a CPU it does not take for a TPU either. The reverse does not hold.",
)  # fmt: skip
REFUSED = rule(
    "tpu-refused", "The TPU compiler refuses the program", severity="tpu", source="tpu-rules D3, M2 (the TPU compiler's own answer)",
    tpu="v5e-8", compiler="tpu",
    fails=_OWN.format(body="tf.cast(tf.matmul(tf.cast(x, 'int64'), tf.cast(x, 'int64')), 'float32')"), passes=_OWN.format(body="x * 2"),
)  # fmt: skip
SILENT = rule(
    "no-verdict", "The compiler gave no verdict", severity="note", source="tpu-rules M2 (programs that libtpu dies on)", tpu="v5e-8",
    compiler="tpu", fails=_OWN.format(body=_GONE), passes=_OWN.format(body="x * 2"),
    doc="The compiler died, took too long, needs too much memory, or was not asked. That says nothing of the program.",
)  # fmt: skip
