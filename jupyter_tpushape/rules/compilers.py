"""Rules for the results of compilers. The results come from :mod:`jupyter_tpushape.compilers`."""

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
    "hbm-oom", "The program needs more memory than the TPU core has", severity="tpu", source="tpu-rules T4 (from the TPU compiler)",
    tpu="v3-8", compiler="tpu", fails=_ROWS.format(rows=8 * 2_000_000), passes=_ROWS.format(rows=64),
    doc="`RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM`, from compiling one replica's program with libtpu.",
)  # fmt: skip
PADDING = rule(
    "tile-padding", "Much of the memory of tensors is padding", severity="slow", source="tpu-rules T1, T2, T3 (layouts that the "
    "TPU compiler chose)", tpu="v5e-8", compiler="tpu", fails=_DENSE.format(n=129), passes=_DENSE.format(n=128),
    doc="""The TPU stores float32 in tiles of 8 x 128: an axis of 129 uses the space of 256. The numbers come from the layouts of the compiled program.
Reported if the variables use at least 64 KiB and 1.5 times the size of their values.""",
)  # fmt: skip
XLA = rule(
    "xla-refused", "XLA rejected the program", severity="tpu", source="tpu-rules O1, O7, O8 (from XLA, lowered on a CPU)",
    tpu="v5e-8", compiler="xla", fails=_OWN.format(body="tf.ensure_shape(tf.py_function(lambda v: v * 2, [x], tf.float32), (None, 8, 8, 8))"),
    passes=_OWN.format(body="x * 2"),
    doc="What XLA rejects when it lowers a program for a CPU, it also rejects for a TPU. The reverse is not true.",
)  # fmt: skip
REFUSED = rule(
    "tpu-refused", "The TPU compiler rejected the program", severity="tpu", source="tpu-rules D3, M2 (from the TPU compiler)",
    tpu="v5e-8", compiler="tpu",
    fails=_OWN.format(body="tf.cast(tf.matmul(tf.cast(x, 'int64'), tf.cast(x, 'int64')), 'float32')"), passes=_OWN.format(body="x * 2"),
)  # fmt: skip
SILENT = rule(
    "no-verdict", "The compiler gave no verdict", severity="note", source="tpu-rules M2 (programs that crash libtpu)", tpu="v5e-8",
    compiler="tpu", fails=_OWN.format(body=_GONE), passes=_OWN.format(body="x * 2"),
    doc="The compiler crashed, took too long, needs too much memory, or was not run. The program itself may be fine.",
)  # fmt: skip
