"""The rules about layers and operations that raise, each with a program that breaks it and one that does not."""

from __future__ import annotations

from .registry import rule

_SOURCE = "Keras' input checks and TensorFlow's shape inference, applied to the recorded inputs"


def _pair(bad: str, good: str, shape: str = "(8, 8, 3)") -> tuple[str, str]:
    frame = f"""
def build():
    return keras.Sequential([keras.Input({shape}), %s])
def data():
    return np.zeros((4, *{shape}), "float32"), None
"""
    return frame % bad, frame % good


_rank = _pair("L.Conv2D(4, 3), L.LSTM(5)", "L.Conv2D(4, 3), L.Reshape((36, 4)), L.LSTM(5)")
RANK = rule("layer-rank", "Input has the wrong rank for the layer", severity="error", source=_SOURCE, fails=_rank[0], passes=_rank[1])
AXIS = rule(
    "layer-axis", "The layer was built for a different input size", severity="error", source=_SOURCE,
    fails="""
def build():
    d = L.Dense(4); d.build((None, 5)); return keras.Sequential([keras.Input((3,)), d, L.Dense(2)])
def data():
    return np.zeros((4, 3), "float32"), None
""",
    passes="""
def build():
    d = L.Dense(4); d.build((None, 3)); return keras.Sequential([keras.Input((3,)), d, L.Dense(2)])
def data():
    return np.zeros((4, 3), "float32"), None
""",
)  # fmt: skip
_reshape = _pair("L.Reshape((5, 5))", "L.Reshape((8, 24))")
RESHAPE = rule("reshape-size", "A reshape changes the number of elements", severity="error", source=_SOURCE, fails=_reshape[0], passes=_reshape[1])
_window = _pair("L.Conv2D(4, 9)", "L.Conv2D(4, 9, padding='same')")
WINDOW = rule("window-too-large", "Window larger than its input", severity="error", source=_SOURCE, fails=_window[0], passes=_window[1])
_unknown = _pair("L.Flatten(), L.Dense(4)", "L.GlobalAveragePooling2D(), L.Dense(4)", "(None, None, 3)")
UNKNOWN = rule(
    "axis-unknown", "A layer needs a dimension that is not declared", severity="error", source=_SOURCE,
    fails=_unknown[0].replace("(4, *(None, None, 3))", "(4, 8, 8, 3)"), passes=_unknown[1].replace("(4, *(None, None, 3))", "(4, 8, 8, 3)"),
)  # fmt: skip
_attention = """
def build():
    q, v, m = keras.Input((3, 4)), keras.Input((5, 4)), keras.Input((3, %d), dtype="bool")
    return keras.Model([q, v, m], L.MultiHeadAttention(2, 4)(q, v, attention_mask=m))
def data():
    return [np.zeros((2, 3, 4), "float32"), np.zeros((2, 5, 4), "float32"), np.ones((2, 3, %d), bool)], None
"""
ATTENTION = rule(
    "attention-shapes", "Query, value or mask of an attention layer have incompatible shapes", severity="error", source=_SOURCE,
    fails=_attention % (3, 3), passes=_attention % (5, 5),
)  # fmt: skip
_op = """
class Join(L.Layer):
    def call(self, x):
        return tf.matmul(x, tf.ones((%d, 2)))
def build():
    return keras.Sequential([keras.Input((6,)), L.Dense(5), Join()])
def data():
    return np.zeros((4, 6), "float32"), None
"""
OPERATION = rule("op-shapes", "An operation between layers receives incompatible shapes", severity="error", source=_SOURCE, fails=_op % 4, passes=_op % 5)
_raises = """
class Odd(L.Layer):
    def call(self, x):
        if x.shape[-1] %% 2 == %d:
            raise ValueError("an even number of features is needed")
        return x
def build():
    return keras.Sequential([keras.Input((6,)), L.Dense(4), Odd()])
def data():
    return np.zeros((4, 6), "float32"), None
"""
RAISES = rule("layer-raises", "A layer raises an error", severity="error", source="the exception that the layer raises", fails=_raises % 0, passes=_raises % 1)

CODE = rule(
    "code-raises",
    "A line outside any layer raises an error",
    severity="error",
    source="the exception raised by NumPy, TensorFlow or the program",
    fails="""
def build():
    table = np.arange(12, dtype="float32").reshape(5, 5)
    m = keras.Sequential([keras.Input((5,)), L.Dense(5)]); m.set_weights([table, np.zeros(5)]); return m
""",
    passes="""
def build():
    table = np.arange(25, dtype="float32").reshape(5, 5)
    m = keras.Sequential([keras.Input((5,)), L.Dense(5)]); m.set_weights([table, np.zeros(5)]); return m
""",
)
