"""The rules about the inputs of a model, each with a program that breaks it and one that does not."""

from __future__ import annotations

from .registry import rule

_SOURCE = "Keras' input checks (tpu-rules L9); tpushape compares the declared shape with the data"


def _example(declared: str, rows: str, layer: str = "L.Flatten(), L.Dense(2)") -> str:
    return f"""
def build():
    m = keras.Sequential([keras.Input({declared}), {layer}]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros({rows}, "float32"), np.zeros(({rows}[0], 2), "float32")
"""


_GOOD = _example("(6,)", "(8, 6)")
_CONV = "L.Conv2D(4, 3), L.Flatten(), L.Dense(2)"

BATCH_MISSING = rule(
    "missing-batch-axis", "The data is one sample without a batch axis", severity="error", source=_SOURCE,
    fails="""
def build():
    return keras.Sequential([keras.Input((8,)), L.Dense(4), L.Dense(1)])
def data():
    return np.zeros((8,), "float32"), None
""",
    passes="""
def build():
    return keras.Sequential([keras.Input((8,)), L.Dense(4), L.Dense(1)])
def data():
    return np.zeros((1, 8), "float32"), None
""",
)  # fmt: skip
BATCH_DECLARED = rule(
    "batch-in-input-shape", "The declared input shape includes the batch axis", severity="error", source=_SOURCE,
    fails=_example("(16, 7, 1)", "(16, 7, 1)", "L.LSTM(4), L.Dense(2)"), passes=_example("(7, 1)", "(16, 7, 1)", "L.LSTM(4), L.Dense(2)"),
)  # fmt: skip
CHANNELS_ORDER = rule(
    "channels-order", "Channels-first data for a channels-last model, or the reverse", severity="error", source=_SOURCE,
    fails=_example("(3, 32, 32)", "(8, 32, 32, 3)", "L.Conv2D(4, 3, strides=3), L.MaxPooling2D(2), L.Flatten(), L.Dense(2)"),
    passes=_example("(32, 32, 3)", "(8, 32, 32, 3)", _CONV),
    doc="""Where no error is raised: a convolution of square pictures whose first axis is at most four channels, and a BatchNormalization along axis 1 of the
square maps of a channels-last convolution.""",
)  # fmt: skip
SWAPPED = rule(
    "swapped-axes", "Two axes of the data are swapped", severity="error", source=_SOURCE,
    fails=_example("(1, 20)", "(8, 20, 1)", "L.LSTM(4), L.Dense(2)"), passes=_example("(20, 1)", "(8, 20, 1)", "L.LSTM(4), L.Dense(2)"),
)  # fmt: skip
TRANSPOSED = rule(
    "transposed-input", "A sample is a column instead of a row", severity="error", source=_SOURCE,
    fails="""
def build():
    return keras.Sequential([keras.Input((3,)), L.Dense(4)])
def data():
    return np.zeros((3, 1), "float32"), None
""",
    passes="""
def build():
    return keras.Sequential([keras.Input((3,)), L.Dense(4)])
def data():
    return np.zeros((1, 3), "float32"), None
""",
)  # fmt: skip
FLATTENED = rule(
    "flattened-input", "The data is flattened but the declared input is not, or the reverse", severity="error", source=_SOURCE,
    fails=_example("(28, 28, 1)", "(8, 784)", _CONV), passes=_example("(28, 28, 1)", "(8, 28, 28, 1)", _CONV),
)  # fmt: skip
PATCHES = rule(
    "input-patches", "The data is split into patches but the model expects whole images", severity="error", source=_SOURCE,
    fails=_example("(16, 16, 3)", "(8, 4, 192)", _CONV), passes=_example("(16, 16, 3)", "(8, 16, 16, 3)", _CONV),
)  # fmt: skip
RANK = rule(
    "input-rank", "The data's rank differs from the declared input", severity="error", source=_SOURCE,
    fails=_example("(3,)", "(8, 3, 3)", "L.LSTM(4), L.Dense(2)"), passes=_example("(3, 3)", "(8, 3, 3)", "L.LSTM(4), L.Dense(2)"),
)  # fmt: skip
AXIS = rule(
    "input-axis", "A dimension of the data differs from the declared input", severity="error", source=_SOURCE,
    fails=_example("(3,)", "(8, 2)", "L.Dense(2)"), passes=_GOOD,
)  # fmt: skip
STRUCTURE = rule(
    "input-structure", "The data does not match the model's inputs", severity="error", source=_SOURCE,
    fails="""
def build():
    a, b = keras.Input((3,)), keras.Input((4,)); return keras.Model([a, b], L.Concatenate()([a, b]))
def data():
    return [np.zeros((8, 3), "float32")], None
""",
    passes="""
def build():
    a, b = keras.Input((3,)), keras.Input((4,)); return keras.Model([a, b], L.Concatenate()([a, b]))
def data():
    return [np.zeros((8, 3), "float32"), np.zeros((8, 4), "float32")], None
""",
)  # fmt: skip
DTYPE = rule(
    "input-dtype", "The data is text but the model expects numbers", severity="error", source=_SOURCE,
    fails="""
def build():
    return keras.Sequential([keras.Input((1,)), L.Dense(4)])
def data():
    return tf.constant([["a"], ["b"]]), None
""",
    passes="""
def build():
    return keras.Sequential([keras.Input((1,)), L.Dense(4)])
def data():
    return np.array([[1], [2]]), None
""",
)  # fmt: skip
CAST = rule(
    "input-cast", "Keras casts integer data to float", severity="note", source="tpu-rules D4: Keras casts, no error",
    fails="""
def build():
    m = keras.Sequential([keras.Input((6,)), L.Dense(2)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 6), "int32"), np.zeros((8, 2), "float32")
""",
    passes=_GOOD,
)  # fmt: skip
EXPANDED = rule(
    "input-expanded", "Keras adds a missing trailing axis", severity="note", source="keras/src/models/functional.py, _adjust_input_rank",
    fails=_example("(6, 6, 1)", "(8, 6, 6)"), passes=_example("(6, 6, 1)", "(8, 6, 6, 1)"),
)  # fmt: skip
