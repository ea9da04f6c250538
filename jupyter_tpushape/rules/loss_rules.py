"""The rules about the loss and the metrics, each with a program that breaks it and one that does not."""

from __future__ import annotations

from .registry import rule

_SOURCE = "Keras loss functions, run symbolically"


def _case(layers: str, loss: str, y: str, x: str = "(8, 6)") -> str:
    return f"""
def build():
    m = keras.Sequential([keras.Input({x}[1:]), {layers}]); m.compile("sgd", {loss}); return m
def data():
    return np.zeros({x}, "float32"), {y}
"""


_IDS, _HOT = "np.arange(8) % 3", "np.eye(3, dtype='float32')[np.arange(8) % 3]"
_CCE, _SCE = "'categorical_crossentropy'", "'sparse_categorical_crossentropy'"
SEQUENCES = rule(
    "return-sequences", "The time axis is not reduced before the loss", severity="error", source=f"tpu-rules L5; {_SOURCE}",
    fails=_case("L.LSTM(4, return_sequences=True), L.Dense(3, activation='softmax')", _SCE, _IDS, "(8, 5, 6)"),
    passes=_case("L.LSTM(4), L.Dense(3, activation='softmax')", _SCE, _IDS, "(8, 5, 6)"),
)  # fmt: skip
LAST_ONLY = rule(
    "last-step-only", "Per-step labels, but only the last step is returned", severity="error", source=_SOURCE,
    fails=_case("L.LSTM(4), L.Dense(3, activation='softmax')", _SCE, "np.zeros((8, 5), 'int32')", "(8, 5, 6)"),
    passes=_case("L.LSTM(4, return_sequences=True), L.Dense(3, activation='softmax')", _SCE, "np.zeros((8, 5), 'int32')", "(8, 5, 6)"),
)  # fmt: skip
FLATTEN = rule(
    "missing-flatten", "Inner axes are not flattened before the loss", severity="error", source=_SOURCE,
    fails=_case("L.Conv2D(4, 3), L.Dense(3, activation='softmax')", _CCE, _HOT, "(8, 8, 8, 1)"),
    passes=_case("L.Conv2D(4, 3), L.Flatten(), L.Dense(3, activation='softmax')", _CCE, _HOT, "(8, 8, 8, 1)"),
)  # fmt: skip
INT_LABELS = rule(
    "integer-labels", "Integer labels for a loss that expects one-hot vectors", severity="error", source=f"tpu-rules L6; {_SOURCE}",
    fails=_case("L.Dense(3, activation='softmax')", _CCE, _IDS), passes=_case("L.Dense(3, activation='softmax')", _SCE, _IDS),
)  # fmt: skip
ONE_HOT = rule(
    "one-hot-labels", "One-hot vectors for a loss that expects integer labels", severity="error", source=f"tpu-rules L6; {_SOURCE}",
    fails=_case("L.Dense(3, activation='softmax')", _SCE, _HOT), passes=_case("L.Dense(3, activation='softmax')", _CCE, _HOT),
)  # fmt: skip
UNITS = rule(
    "output-units", "The model outputs a different number of values than a label has", severity="error", source=_SOURCE,
    fails=_case("L.Dense(4, activation='softmax')", _CCE, _HOT), passes=_case("L.Dense(3, activation='softmax')", _CCE, _HOT),
)  # fmt: skip
RANK = rule(
    "label-rank", "The ranks of labels and predictions differ", severity="error", source=_SOURCE,
    fails=_case("L.Dense(3, activation='softmax')", _CCE, _HOT + "[:, None, :]"), passes=_case("L.Dense(3, activation='softmax')", _CCE, _HOT),
)  # fmt: skip
SIZE = rule(
    "output-size", "The size of the predictions differs from the labels", severity="error", source="the arguments of the layers, traced from the data",
    fails=_case("L.Conv2D(4, 3, padding='same'), L.MaxPooling2D(padding='same'), L.UpSampling2D(), L.Conv2D(1, 3, padding='same')", "'mse'",
    "np.zeros((8, 9, 9, 1), 'float32')", "(8, 9, 9, 1)"),
    passes=_case("L.Conv2D(4, 3, padding='same'), L.MaxPooling2D(padding='same'), L.UpSampling2D(), L.Conv2D(1, 3, padding='same')", "'mse'",
    "np.zeros((8, 8, 8, 1), 'float32')", "(8, 8, 8, 1)"),
    doc="""The size is traced from the data through every stride, window and padding to the output. The report names the first layer that leaves a remainder
which upsampling does not restore, or the layer that lacks padding.""",
)  # fmt: skip
WEIGHTS = rule(
    "sample-weights", "The shape of the sample weights does not match the loss", severity="error", source=_SOURCE,
    fails=_case("L.Dense(5)", "'mse'", "np.zeros((8, 5), 'float32'), np.ones((8, 5), 'float32')"),
    passes=_case("L.Dense(5)", "'mse'", "np.zeros((8, 5), 'float32'), np.ones((8,), 'float32')"),
    doc="Keras losses average over the last axis and apply sample weights to the result. For a weight per output value, use a custom loss, or one loss per output.",
)  # fmt: skip
MASKS = rule(
    "colour-masks", "Label masks are color images instead of classes", severity="error", source=_SOURCE,
    fails=_case("L.Conv2D(5, 1, activation='softmax')", _CCE, "np.full((8, 4, 4, 3), 128, 'float32')", "(8, 4, 4, 2)"),
    passes=_case("L.Conv2D(5, 1, activation='softmax')", _SCE, "np.zeros((8, 4, 4), 'int32')", "(8, 4, 4, 2)"),
)  # fmt: skip
TEXT = rule(
    "string-labels", "The labels are text", severity="error", source=_SOURCE,
    fails=_case("L.Dense(1)", "'binary_crossentropy'", "tf.constant([['yes'], ['no']] * 4)"),
    passes=_case("L.Dense(1)", "'binary_crossentropy'", "np.zeros((8, 1), 'float32')"),
)  # fmt: skip
CUSTOM = rule(
    "loss-raises", "The loss raises an error", severity="error", source="the exception that the loss raises",
    fails=_case("L.Dense(3)", "lambda t, p: tf.reduce_mean(tf.abs(t - p) * tf.ones((100, 3)))", "np.zeros((8, 3), 'float32')"),
    passes=_case("L.Dense(3)", "lambda t, p: tf.reduce_mean(tf.abs(t - p))", "np.zeros((8, 3), 'float32')"),
)  # fmt: skip
METRIC = rule(
    "metric-raises", "A metric raises an error but the loss does not", severity="error", source="the exception that the metric raises",
    fails=_case("L.Dense(3)", "'mse', metrics=[lambda t, p: tf.reduce_mean(t[:, :2] - p)]", "np.zeros((8, 3), 'float32')"),
    passes=_case("L.Dense(3)", "'mse', metrics=[lambda t, p: tf.reduce_mean(t - p)]", "np.zeros((8, 3), 'float32')"),
)  # fmt: skip
