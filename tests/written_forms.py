"""Calls with an argument of another form: tensors, sizes or layers one by one, a number for a shape, a class that nothing has made."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_PAIR = f"[{rows(8, 6)}, {rows(8, 6)}], {rows(8, 1)}"
_ROW = f"{rows(8, 6)}, {rows(8, 1)}"
_IMAGE = f"{rows(8, 12, 12, 1)}, {rows(8, 1)}"
_STEP = """
class Net(keras.Model):
    def train_step(self, data):
        {}
        with tf.GradientTape() as tape:
            p = self(x, training=True)
            loss = self.compute_loss(x=x, y=y, y_pred=p)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {{"loss": loss}}
"""
_KEPT = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        {} = L.Dense(1)

    def call(self, x):
        return {}(x)
"""
_FUSED = """
class Fused(L.Layer):
    def __init__(self):
        super().__init__()
        self.first, self.second = L.Dense(4), L.Dense(4)

    def call(self, inputs):
        a, b = inputs
        u, v = self.first(a), self.second(b)
        return {}
"""


def _merged(old: str, new: str, rule: str = "layer-raises") -> tuple[str, Own]:
    return rule, Own(model_of(f"""
a, b = keras.Input((6,)), keras.Input((6,))
x, y = L.Dense(4)(a), L.Dense(4)(b)
z = {old}
model = keras.Model([a, b], L.Dense(1)(z))
""", _PAIR), ((f"    z = {old}", f"    z = {new}"),), keras=True)  # fmt: skip


def _joined(old: str, new: str) -> tuple[str, Own]:
    return "layer-raises", Own(model_of("""
a, b = keras.Input((6,)), keras.Input((6,))
model = keras.Model([a, b], L.Dense(1)(L.Flatten()(Fused()([a, b]))))
""", _PAIR, head=_FUSED.format(old)), ((f"        return {old}", f"        return {new}"),))  # fmt: skip


def _made(old: str, new: str, data: str = _ROW, rule: str = "code-raises") -> tuple[str, Own]:
    return rule, Own(model_of(f"model = {old}", data), ((f"    model = {old}", f"    model = {new}"),), keras=True)


def _stepped(old: str, lines: tuple[tuple[str, str], ...], data: str) -> tuple[str, Own]:
    return "code-raises", Own(model_of("""
i = keras.Input((6,))
model = Net(i, L.Dense(1)(i))
""", data, head=_STEP.format(old)), ((f"        {old}", lines[0][1]), *lines[1:]))  # fmt: skip


FORMS: dict[str, tuple[str, Own]] = {
    "tensors one by one for a function that joins": _merged("L.concatenate(x, y)", "L.concatenate([x, y])"),
    "tensors one by one for a layer made on the line": _merged("L.Concatenate(axis=-1)(x, y)", "L.Concatenate(axis=-1)([x, y])"),
    "tensors one by one for a sum": _merged("L.Add()(x, y)", "L.Add()([x, y])"),
    "tensors one by one before an axis": _merged("L.dot(x, y, 1)", "L.dot([x, y], 1)", "code-raises"),
    "tensors one by one, joined along the batch by default": _merged(
        "keras.ops.concatenate(x, y)", "keras.ops.concatenate([x, y], axis=-1)", "code-raises"
    ),
    "tensors in a list, joined along the batch by default": _merged(
        "keras.ops.concatenate([x, y])", "keras.ops.concatenate([x, y], axis=-1)", "batch-axis-merged"
    ),
    "tensors one by one for a layer of one's own": ("layer-raises", Own(model_of("""
a, b = keras.Input((6,)), keras.Input((6,))
model = keras.Model([a, b], L.Dense(1)(Fused()(a, b)))
""", _PAIR, head=_FUSED.format("u * v")), (
        ("    model = keras.Model([a, b], L.Dense(1)(Fused()(a, b)))", "    model = keras.Model([a, b], L.Dense(1)(Fused()([a, b])))"),),
        keras=True)),
    "tensors one by one for an operation with an axis": _joined("tf.concat(u, v, axis=-1)", "tf.concat([u, v], axis=-1)"),
    "tensors one by one for an operation without one": _joined("tf.concat(u, v)", "tf.concat([u, v], axis=-1)"),
    "tensors one by one that are stacked": _joined("tf.stack(u, v, axis=1)", "tf.stack([u, v], axis=1)"),
    "sizes one by one for an input": ("code-raises", Own(model_of("""
i = keras.Input(12, 12, 1)
model = keras.Model(i, L.Dense(1)(L.Flatten()(i)))
""", _IMAGE), (("    i = keras.Input(12, 12, 1)", "    i = keras.Input((12, 12, 1))"),), keras=True)),
    "sizes one by one for a reshape": _made(
        "keras.Sequential([keras.Input((6,)), L.Reshape(3, 2), L.Flatten(), L.Dense(1)])",
        "keras.Sequential([keras.Input((6,)), L.Reshape((3, 2)), L.Flatten(), L.Dense(1)])"),
    "sizes one by one for a padding": _made(
        "keras.Sequential([keras.Input((12, 12, 1)), L.ZeroPadding2D(1, 2), L.Flatten(), L.Dense(1)])",
        "keras.Sequential([keras.Input((12, 12, 1)), L.ZeroPadding2D((1, 2)), L.Flatten(), L.Dense(1)])", _IMAGE),
    "layers one by one": _made(
        "keras.Sequential(keras.Input((6,)), L.Dense(4), L.Dense(1))", "keras.Sequential([keras.Input((6,)), L.Dense(4), L.Dense(1)])"),
    "a number for a shape": ("code-raises", Own(model_of("""
i = keras.Input(shape=6)
model = keras.Model(i, L.Dense(1)(i))
""", _ROW), (("    i = keras.Input(shape=6)", "    i = keras.Input(shape=(6,))"),), keras=True)),
    "a tuple for a number": _made(
        "keras.Sequential([keras.Input((6,)), L.RepeatVector((3,)), L.Flatten(), L.Dense(1)])",
        "keras.Sequential([keras.Input((6,)), L.RepeatVector(3), L.Flatten(), L.Dense(1)])"),
    "two sizes for one axis": _made(
        "keras.Sequential([keras.Input((9, 6)), L.Conv1D(4, (3, 3)), L.Flatten(), L.Dense(1)])",
        "keras.Sequential([keras.Input((9, 6)), L.Conv1D(4, 3), L.Flatten(), L.Dense(1)])", f"{rows(8, 9, 6)}, {rows(8, 1)}"),
    "a number as text": _made(
        "keras.Sequential([keras.Input((6,)), L.Dense('4'), L.Dense(1)])", "keras.Sequential([keras.Input((6,)), L.Dense(4), L.Dense(1)])"),
    "a share in percent": _made(
        "keras.Sequential([keras.Input((6,)), L.Dropout(50), L.Dense(1)])", "keras.Sequential([keras.Input((6,)), L.Dropout(0.5), L.Dense(1)])"),
    "a class among layers": _made(
        "keras.Sequential([keras.Input((6,)), L.Dense(4), L.ReLU, L.Dense(1)])",
        "keras.Sequential([keras.Input((6,)), L.Dense(4), L.ReLU(), L.Dense(1)])"),
    "an output among layers": ("code-raises", Own(model_of("""
i = keras.Input((6,))
model = keras.Sequential()
model.add(L.Dense(4)(i))
model.add(L.Dense(1))
""", _ROW), (("    model.add(L.Dense(4)(i))", "    model.add(L.Dense(4))"),), keras=True)),
    "a setting for what takes the layer": ("code-raises", Own(model_of("""
model = keras.Sequential()
model.add(L.Dense(4), input_shape=(6,))
model.add(L.Dense(1))
""", _ROW), (("    model.add(L.Dense(4), input_shape=(6,))", "    model.add(L.Dense(4, input_shape=(6,)))"),), keras=True)),
    "tensors one by one where the second may be a mask": ("layer-raises", Own(model_of("""
a, b = keras.Input((5, 4)), keras.Input((5, 4))
x = L.Attention()(a, b)
model = keras.Model([a, b], L.Dense(1)(L.Flatten()(x)))
""", f"[{rows(8, 5, 4)}, {rows(8, 5, 4)}], {rows(8, 1)}"), (("    x = L.Attention()(a, b)", "    x = L.Attention()([a, b])"),), keras=True)),
    "states of both directions for a layer that takes none": ("layer-raises", Own(model_of("""
i = keras.Input((5, 4))
x = L.Bidirectional(L.LSTM(4, return_state=True))(i)
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 5, 4)}, {rows(8, 1)}"), (
        ("    x = L.Bidirectional(L.LSTM(4, return_state=True))(i)", "    x = L.Bidirectional(L.LSTM(4, return_state=False))(i)"),),
        keras=True)),
    "a layer as the output of a model": ("layer-uncalled", Own(model_of("""
i = keras.Input((6,))
x = L.Dense(4)(i)
model = keras.Model(i, L.Dense(1))
""", _ROW), (("    model = keras.Model(i, L.Dense(1))", "    model = keras.Model(i, L.Dense(1)(x))"),), keras=True)),
    "a model among tensors": ("layer-uncalled", Own(model_of("""
i = keras.Input((6,))
base = keras.Model(i, L.Dense(4)(i))
x = L.Dense(1)(base)
model = keras.Model(i, x)
""", _ROW), (("    x = L.Dense(1)(base)", "    x = L.Dense(1)(base.output)"),), keras=True)),
    "an attribute that is kept as a local name": ("layer-raises", Own(model_of("model = Net()", _ROW, head=_KEPT.format("inner", "self.inner")), (
        ("        inner = L.Dense(1)", "        self.inner = L.Dense(1)"),))),
    "an attribute that is read as a local name": ("layer-raises", Own(model_of("model = Net()", _ROW, head=_KEPT.format("self.inner", "inner")), (
        ("        return inner(x)", "        return self.inner(x)"),))),
    "weights of samples that a step does not unpack": _stepped("x, y = data", (
        ("", "        x, y, sample_weight = data"),
        ("            loss = self.compute_loss(x=x, y=y, y_pred=p)", "            loss = self.compute_loss(x=x, y=y, y_pred=p, sample_weight=sample_weight)")),
        f"{rows(8, 6)}, {rows(8, 1)}, np.ones(8)"),
    "weights of samples that the data does not have": _stepped("x, y, w = data", (("", "        x, y, w = *data, None"),), _ROW),
    "inputs and labels unpacked from the inputs": _stepped("(x, y), _ = data", (("", "        x, y = data"),), _ROW),
    "a setting in the call": ("layer-raises", Own(model_of("""
i = keras.Input((6,))
x = L.Dense(4)(i, activation="relu")
model = keras.Model(i, L.Dense(1)(x))
""", _ROW), (('    x = L.Dense(4)(i, activation="relu")', '    x = L.Dense(4, activation="relu")(i)'),), keras=True)),
}  # fmt: skip
