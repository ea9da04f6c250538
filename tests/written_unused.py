"""Programs in which a layer is called and nothing uses its result: a name that is overwritten, a loop on the same input, a call without a name."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_DATA = f"{rows(8, 6)}, {rows(8, 1)}"
_MODEL = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = L.Dense(8, activation="relu")
        self.second = L.Dense(8, activation="relu")
        self.norm = L.LayerNormalization()
        self.more = [L.Dense(8, activation="relu") for _ in range(3)]
        self.head = L.Dense(1)

    def call(self, inputs):
{lines}

def build():
    model = Net()
    model.compile("sgd", "mse")
    return model

def data():
    return {data}
"""


def _net(*lines: str) -> str:
    return _MODEL.format(lines="\n".join(f"        {line}" for line in lines), data=_DATA)


UNUSED: dict[str, tuple[str, Own]] = {
    "a layer of a model that gets the inputs once more": ("unused-result", Own(
        _net("x = self.first(inputs)", "x = self.second(inputs)", "return self.head(x)"),
        (("        x = self.second(inputs)", "        x = self.second(x)"),))),
    "a layer of a functional model that gets the inputs once more": ("unused-result", Own(model_of("""
i = keras.Input((6,))
x = L.Dense(8, activation="relu")(i)
x = L.BatchNormalization()(x)
x = L.Dense(4)(i)
model = keras.Model(i, L.Dense(1)(x))
""", _DATA), (("    x = L.Dense(4)(i)", "    x = L.Dense(4)(x)"),))),
    "a branch that the head does not get": ("unused-result", Own(model_of("""
i = keras.Input((12, 12, 3))
x = L.Conv2D(4, 3)(i)
y = L.Conv2D(8, 3)(x)
y = L.MaxPooling2D()(y)
x = L.GlobalAveragePooling2D()(x)
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 12, 12, 3)}, {rows(8, 1)}"), (("    x = L.GlobalAveragePooling2D()(x)", "    x = L.GlobalAveragePooling2D()(y)"),))),
    "a loop of layers that all get the inputs": ("unused-result", Own(model_of("""
i = keras.Input((6,))
for units in (16, 8, 8):
    x = L.Dense(units, activation="relu")(i)
model = keras.Model(i, L.Dense(1)(x))
""", _DATA), (("    for units in (16, 8, 8):", "    x = i"),
             ('        x = L.Dense(units, activation="relu")(i)', '        x = L.Dense(units, activation="relu")(x)')))),
    "a loop of two layers that begins with what is above": ("unused-result", Own(model_of("""
i = keras.Input((6,))
x = L.Dense(16, activation="relu")(i)
for units in (16, 8):
    h = L.Dense(units, activation="relu")(x)
    h = L.Dropout(0.2)(h)
model = keras.Model(i, L.Dense(1)(h))
""", _DATA), (("    for units in (16, 8):", "    h = x"),
             ('        h = L.Dense(units, activation="relu")(x)', '        h = L.Dense(units, activation="relu")(h)')))),
    "a loop of a model's layers that begins well": ("unused-result", Own(
        _net("x = self.second(inputs)", "h = self.first(x)", "for layer in self.more:", "    x = layer(h)", "return self.head(x)"),
        (("        for layer in self.more:", "        x = h"), ("            x = layer(h)", "            x = layer(x)")))),
    "a normalization whose result has no name": ("unused-result", Own(
        _net("h = self.first(inputs)", "self.norm(h)", "return self.head(h)"),
        (("        self.norm(h)", "        h = self.norm(h)"),))),
    "a dropout whose result has no name": ("unused-result", Own(model_of("""
i = keras.Input((6,))
x = L.Dense(8, activation="relu")(i)
L.Dropout(0.5)(x)
model = keras.Model(i, L.Dense(1)(x))
""", _DATA), (("    L.Dropout(0.5)(x)", "    x = L.Dropout(0.5)(x)"),))),
    "an activation of a model whose result has no name": ("unused-result", Own(
        _net("x = self.second(inputs)", "self.relu(x)", "return self.head(x)").replace("self.norm =", "self.relu ="
        ).replace("L.LayerNormalization()", "L.ReLU()"),
        (("        self.relu(x)", "        x = self.relu(x)"),))),
    "a gate that the block does not return": ("unused-result", Own("""
def gated(x):
    gate = L.Dense(8, activation="sigmoid")(x)
    out = L.Multiply()([x, gate])
    return x
""" + model_of("""
i = keras.Input((6,))
model = keras.Model(i, L.Dense(1)(gated(L.Dense(8)(i))))
""", _DATA), (("    return x", "    return out"),))),
    "what is mixed with its inputs, and the head that takes one of them": ("unused-result", Own(
        _net("x = self.first(inputs)", "mixed = self.second(tf.concat([inputs, x], axis=-1))", "return self.head(x)"),
        (("        return self.head(x)", "        return self.head(mixed)"),))),
    "several results without a name": ("unused-result", Own(model_of("""
i = keras.Input((6,))
x = L.Dense(8, activation="relu")(i)
L.BatchNormalization()(x)
L.Dropout(0.25)(x)
model = keras.Model(i, L.Dense(1)(x))
""", _DATA), (("    L.BatchNormalization()(x)", "    x = L.BatchNormalization()(x)"), ("    L.Dropout(0.25)(x)", "    x = L.Dropout(0.25)(x)")))),
    "attention on what is not normalized": ("unused-result", Own("""
class Block(L.Layer):
    def __init__(self):
        super().__init__()
        self.norm = L.LayerNormalization()
        self.attention = L.MultiHeadAttention(2, 4)

    def call(self, x):
        h = self.norm(x)
        return x + self.attention(x, x)
""" + model_of("""
i = keras.Input((6, 8))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Block()(i))))
""", f"{rows(8, 6, 8)}, {rows(8, 1)}"), (("        return x + self.attention(x, x)", "        return x + self.attention(h, h)"),))),
}  # fmt: skip
