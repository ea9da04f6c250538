"""Blocks that widen or turn what they add, weights of one value, ids for one-hot rows, sizes that are defaults: the line, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_BLOCK = """
class Block(L.Layer):
    def __init__(self, filters):
        super().__init__()
        self.one = L.Conv2D(filters, 3, padding='same', activation='relu')
        self.two = L.Conv2D(filters, 3, padding='same')
    def call(self, x):
        y = self.two(self.one(x))
        return tf.nn.relu(x + y)
"""
_HALVED = """
class Halved(L.Layer):
    def __init__(self, width):
        super().__init__()
        self.conv = L.Conv1D(width, 3, strides=2, padding='same')
    def call(self, x):
        shortcut = x
        x = self.conv(x)
        x += shortcut
        return x
"""
_MIXER = """
class Mixer(L.Layer):
    def __init__(self, tokens):
        super().__init__()
        self.dense = L.Dense(tokens)
    def call(self, x):
        y = self.dense(tf.transpose(x, (0, 2, 1)))
        return x + y
"""
_ATTEND = """
class Attend(L.Layer):
    def __init__(self):
        super().__init__()
        self.score = L.Dense(1, activation='softmax')
    def call(self, x):
        return tf.reduce_sum(x * self.score(x), axis=1)
"""
_WIDER = """
def wider(x, width=6):
    return L.Add()([x, L.Dense(width)(x)])
"""
_GIVEN = """
def joined(x, project):
    return L.Add()([x, project(x)])
"""
_MAPS = f"{rows(8, 8, 8, 3)}, {rows(8, 1)}"

_TOKENS = """
class Tokens(L.Layer):
    def __init__(self, dim, wide):
        super().__init__()
        self.steps = keras.Sequential([L.Dense(wide, activation='relu'), L.Dense(wide)])
    def call(self, x):
        return x + self.steps(x)
"""
_GATED = """
class Gated(L.Layer):
    def build(self, shape):
        d = shape[1]
        self.w = self.add_weight(shape=(d, d))
        self.b = self.add_weight(shape=(d,), initializer='zeros')
    def call(self, x):
        t = keras.ops.sigmoid(keras.ops.matmul(x, self.w) + self.b)
        return t * x
"""
_GRAPH = """
class Graph(L.Layer):
    def build(self, shapes):
        self.kernel = self.add_weight(shape=(shapes[1][-1], 3))
    def call(self, inputs):
        x, a = inputs
        return keras.ops.matmul(a, keras.ops.matmul(x, self.kernel))
"""
_PLACES = """
class Places(L.Layer):
    def __init__(self, most, dim):
        super().__init__()
        self.table = np.ones((1, most, dim), 'float32')
    def call(self, x):
        return x + self.table
"""

_ROUTED = """
class Routed(L.Layer):
    def call(self, u):
        v = keras.ops.mean(u, axis=1)
        b = keras.ops.sum(u, axis=3)
        return b + keras.ops.einsum('bjk,bijk->bjk', v, u)
"""
_SCALED = """
class Scaled(L.Layer):
    def build(self, shape):
        self.beta = self.add_weight(shape=(shape[-1],), initializer='ones')
    def call(self, x):
        return x * keras.ops.sigmoid(self.beta * x)
"""
_SHIFTED = """
class Shifted(L.Layer):
    def build(self, shape):
        self.b = self.add_weight(shape=(shape[1], 1), initializer='zeros')
    def call(self, x):
        return x + self.b
"""

_GROUPS = """
class Groups(L.Layer):
    def __init__(self, groups, units):
        super().__init__()
        self.groups, self.units = groups, units
        self.b = self.add_weight(shape=(groups * units,), initializer='zeros')
    def call(self, x):
        y = keras.ops.reshape(x, (keras.ops.shape(x)[0], self.groups, self.units))
        return y + self.b
"""

WIDTHS = {
    "groups that are not merged again": ("op-shapes", Own(model_of("""
i = keras.Input((12,))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Groups(3, 4)(i))))
""", f"{rows(8, 12)}, {rows(8, 1)}", head=_GROUPS), (
        (
            "        y = keras.ops.reshape(x, (keras.ops.shape(x)[0], self.groups, self.units))",
            "        y = keras.ops.reshape(x, (keras.ops.shape(x)[0], self.groups * self.units))",
        ),
    ))),
    "the axes of an einsum's result": ("op-shapes", Own(model_of("""
i = keras.Input((6, 5, 4))
model = keras.Model(i, L.Dense(1)(L.Flatten()(Routed()(i))))
""", f"{rows(8, 6, 5, 4)}, {rows(8, 1)}", head=_ROUTED), (
        (
            "        return b + keras.ops.einsum('bjk,bijk->bjk', v, u)",
            '        return b + keras.ops.einsum("bjk,bijk->bij", v, u)',
        ),
    ))),
    "one layer with weights for two sizes": ("op-shapes", Own(model_of("""
act = Scaled()
model = keras.Sequential([keras.Input((5,)), L.Dense(6), act, L.Dense(4), act, L.Dense(1)])
""", f"{rows(8, 5)}, {rows(8, 1)}", head=_SCALED), (
        (
            "    model = keras.Sequential([keras.Input((5,)), L.Dense(6), act, L.Dense(4), act, L.Dense(1)])",
            "    model = keras.Sequential([keras.Input((5,)), L.Dense(6), act, L.Dense(4), Scaled(), L.Dense(1)])",
        ),
    ))),
    "one Dense for two sizes": ("layer-axis", Own(model_of("""
i = keras.Input((5,))
shared = L.Dense(3, activation='relu')
x = L.Dense(4)(shared(i))
y = shared(x)
model = keras.Model(i, L.Dense(1)(y))
""", f"{rows(8, 5)}, {rows(8, 1)}"), (
        ("    y = shared(x)", "    y = L.Dense(3, activation='relu')(x)"),
    ))),
    "a weight for steps of any number": ("axis-unknown", Own(model_of("""
i = keras.Input((None, 3))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Shifted()(i))))
""", f"{rows(8, 6, 3)}, {rows(8, 1)}", head=_SHIFTED), (
        ("    i = keras.Input((None, 3))", "    i = keras.Input((6, 3))"),
    ))),
    "the declared input of a model that another calls": ("input-axis", Own(model_of("""
LATENT = 4
z = keras.Input((LATENT,))
inner = keras.Model(z, L.Dense(3)(z))
i, j = keras.Input((4,)), keras.Input((2,))
model = keras.Model([i, j], L.Dense(1)(inner(L.Concatenate()([i, j]))))
""", f"[{rows(8, 4)}, {rows(8, 2)}], {rows(8, 1)}"), (
        ("    z = keras.Input((LATENT,))", "    z = keras.Input((LATENT + 2,))"),
    ))),
    "the second of two layers on a line": ("op-shapes", Own(model_of("""
i = keras.Input((5, 4))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Tokens(4, 6)(i))))
""", f"{rows(8, 5, 4)}, {rows(8, 1)}", head=_TOKENS), (
        (
            "        self.steps = keras.Sequential([L.Dense(wide, activation='relu'), L.Dense(wide)])",
            "        self.steps = keras.Sequential([L.Dense(wide, activation='relu'), L.Dense(dim)])",
        ),
    ))),
    "a weight as long as the steps": ("op-shapes", Own(model_of("""
i = keras.Input((6, 4))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Gated()(i))))
""", f"{rows(8, 6, 4)}, {rows(8, 1)}", head=_GATED), (
        ("        d = shape[1]", "        d = shape[-1]"),
    ))),
    "the shape of the other input": ("op-shapes", Own(model_of("""
x, a = keras.Input((6, 4)), keras.Input((6, 6))
model = keras.Model([x, a], L.Dense(1)(L.GlobalAveragePooling1D()(Graph()([x, a]))))
""", f"[{rows(8, 6, 4)}, {rows(8, 6, 6)}], {rows(8, 1)}", head=_GRAPH), (
        ("        self.kernel = self.add_weight(shape=(shapes[1][-1], 3))", "        self.kernel = self.add_weight(shape=(shapes[0][-1], 3))"),
    ))),
    "a table for the longest input": ("op-shapes", Own(model_of("""
i = keras.Input((None, 4))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Places(9, 4)(i))))
""", f"{rows(8, 6, 4)}, {rows(8, 1)}", head=_PLACES), (
        ("        return x + self.table", "        return x + self.table[:, :x.shape[-2]]"),
    ))),
    "pooled twice": ("layer-rank", Own(model_of("""
i = keras.Input((8, 8, 3))
x = L.GlobalAveragePooling2D()(L.Conv2D(4, 3)(i))
y = L.GlobalMaxPooling2D()(x)
model = keras.Model(i, L.Dense(1)(y))
""", _MAPS), (
        ("    y = L.GlobalMaxPooling2D()(x)", "    y = x"),
    ))),
    "a block that widens its maps": ("op-shapes", Own(model_of("""
i = keras.Input((8, 8, 3))
x = Block(8)(L.Conv2D(4, 1)(i))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", _MAPS, head=_BLOCK), (
        ("        return tf.nn.relu(x + y)", "        return tf.nn.relu(self.project(x) + y)"),
        ("        self.two = L.Conv2D(filters, 3, padding='same')", "        self.project = L.Conv2D(filters, kernel_size=1)"),
    ))),
    "a block that widens and halves": ("op-shapes", Own(model_of("""
i = keras.Input((8, 4))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Halved(6)(i))))
""", f"{rows(8, 8, 4)}, {rows(8, 1)}", head=_HALVED), (
        ("        x += shortcut", "        x += self.project(shortcut)"),
        ("        self.conv = L.Conv1D(width, 3, strides=2, padding='same')", "        self.project = L.Conv1D(width, kernel_size=1, strides=2)"),
    ))),
    "tokens that are not turned back": ("op-shapes", Own(model_of("""
i = keras.Input((5, 4))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Mixer(5)(i))))
""", f"{rows(8, 5, 4)}, {rows(8, 1)}", head=_MIXER), (
        ("        return x + y", "        return x + tf.transpose(y, (0, 2, 1))"),
    ))),
    "a branch that is not turned back": ("merge-shapes", Own(model_of("""
i = keras.Input((5, 4))
y = L.Dense(5)(L.Permute((2, 1))(i))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(L.Add()([i, y]))))
""", f"{rows(8, 5, 4)}, {rows(8, 1)}"), (
        (
            "    model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(L.Add()([i, y]))))",
            "    model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(L.Add()([i, L.Permute((2, 1))(y)]))))",
        ),
    ))),
    "ids for one-hot rows": ("input-rank", Own(model_of("""
model = keras.Sequential([keras.Input((6, 9)), L.LSTM(4), L.Dense(9, activation='softmax')])
""", "np.arange(96).reshape(16, 6) % 9, np.arange(16) % 9", "'sparse_categorical_crossentropy'"), (
        ("    return np.arange(96).reshape(16, 6) % 9, np.arange(16) % 9", '    return np.eye(9, dtype="float32")[np.arange(96).reshape(16, 6) % 9], np.arange(16) % 9'),
    ))),
    "a softmax of one unit in the program's own layer": ("one-unit-softmax", Own(model_of("""
i = keras.Input((9, 4))
model = keras.Model(i, L.Dense(1)(Attend()(i)))
""", f"{rows(8, 9, 4)}, {rows(8, 1)}", head=_ATTEND), (
        ("        self.score = L.Dense(1, activation='softmax')", "        self.score = L.Dense(1, activation=None)"),
        ("        return tf.reduce_sum(x * self.score(x), axis=1)", "        return tf.reduce_sum(x * self.score_softmax(self.score(x)), axis=1)"),
    ))),
    "a width by default": ("merge-shapes", Own(model_of("""
i = keras.Input((4,))
model = keras.Model(i, L.Dense(1)(wider(i)))
""", f"{rows(8, 4)}, {rows(8, 1)}", head=_WIDER), (
        ("def wider(x, width=6):", "def wider(x, width=4):"),
    ))),
    "a lambda's width by default": ("merge-shapes", Own(model_of("""
i = keras.Input((4,))
x = joined(i, lambda t, width=6: L.Dense(width)(t))
model = keras.Model(i, L.Dense(1)(x))
""", f"{rows(8, 4)}, {rows(8, 1)}", head=_GIVEN), (
        ("    x = joined(i, lambda t, width=6: L.Dense(width)(t))", "    x = joined(i, lambda t, width=4: L.Dense(width)(t))"),
    ))),
}  # fmt: skip
