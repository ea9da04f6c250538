"""Programs as strangers posted them: an embedding of measurements, channels ahead of positions, samples listed one by one, branches of other widths."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_IRIS = "np.linspace(0.1, 7.9, 32).reshape(8, 4), np.eye(3)[np.arange(8) % 3]"
_HEAD = """
i = keras.Input((8, 6, 1))
x = L.Conv2D(3, 1)(i)
{}
model = keras.Model(i, L.Softmax()(x))
"""
_PIXELS = f"{rows(8, 8, 6, 1)}, np.eye(3)[np.arange(384).reshape(8, 48) % 3]"
_OTHER = """
class Flat(L.Layer):
    def call(self, x):
        return keras.ops.transpose(keras.ops.reshape(x, (-1, 3, 48)), (0, 2, 1))
"""
_PAIRS = """
def pairs():
    for _ in range(4):
        images, labels = [], []
        for i in range(6):
            images.append([np.ones((4, 4), 'float32'), np.ones((3,), 'float32')])
            labels.append(i % 2)
        yield images, labels
"""
_TWO = """
a, b = keras.Input((4, 4)), keras.Input((3,))
model = keras.Model([a, b], L.Dense(1, activation='sigmoid')(L.Concatenate()([L.Flatten()(a), b])))
"""
_CAPTION = """
image, words = keras.Input((20,)), keras.Input((5,))
first = L.RepeatVector(1)(L.Dense(12)(image))
rest = {}
x = L.Concatenate(axis=1)([first, rest])
model = keras.Model([image, words], L.Dense(9, activation='softmax')(L.LSTM(4, return_sequences=True)(x)))
"""
_SPARSE = "'sparse_categorical_crossentropy'"
_TOLD = f"[{rows(8, 20)}, np.arange(40).reshape(8, 5) % 9], np.arange(48).reshape(8, 6) % 9"

STRANGERS: dict[str, tuple[str, Own]] = {
    "measurements in an embedding before an LSTM": ("embedding-range", Own(model_of("""
model = keras.Sequential([
    keras.Input((4,)),
    L.Embedding(4, 16),
    L.LSTM(8),
    L.Dense(3, activation='softmax'),
])
""", _IRIS, "'categorical_crossentropy'"), (("        L.Embedding(4, 16),", "        L.Reshape((4, 1)),"),))),
    "measurements in an embedding that is flattened": ("embedding-range", Own(model_of("""
model = keras.Sequential([
    keras.Input((4,)),
    L.Embedding(10, 16),
    L.Flatten(),
    L.Dense(3, activation='softmax'),
])
""", _IRIS, "'categorical_crossentropy'"), ())),
    "channels ahead of positions that are exchanged again": ("reshape-interleaves", Own(model_of(
        _HEAD.format("x = L.Reshape((3, 48))(x)\nx = L.Permute((2, 1))(x)"), _PIXELS, "'categorical_crossentropy'",
    ), (("    x = L.Reshape((3, 48))(x)", "    x = L.Reshape((48, 3))(x)"),))),
    "channels ahead of positions in the program's own layer": ("reshape-interleaves", Own(model_of(
        _HEAD.format("x = Flat()(x)"), _PIXELS, "'categorical_crossentropy'", _OTHER,
    ), ((
        "        return keras.ops.transpose(keras.ops.reshape(x, (-1, 3, 48)), (0, 2, 1))",
        "        return keras.ops.transpose(keras.ops.reshape(keras.ops.transpose(x, (0, 3, 1, 2)), (-1, 3, 48)), (0, 2, 1))",
    ),))),
    "a batch that lists its samples": ("input-structure", Own(model_of(_TWO, "pairs()", "'binary_crossentropy'", _PAIRS), ((
        "        yield images, labels",
        "        yield (np.array([sample[0] for sample in images]), np.array([sample[1] for sample in images])), np.array(labels)",
    ),))),
    "words narrower than the image that they are joined with": ("merge-shapes", Own(model_of(
        _CAPTION.format("L.Embedding(9, 1)(words)"), _TOLD, _SPARSE,
    ), (("    rest = L.Embedding(9, 1)(words)", "    rest = L.Embedding(9, 12)(words)"),))),
    "steps narrower than the image that they are joined with": ("merge-shapes", Own(model_of(
        _CAPTION.format("L.LSTM(8, return_sequences=True)(L.Embedding(9, 4)(words))"), _TOLD, _SPARSE,
    ), ((
        "    rest = L.LSTM(8, return_sequences=True)(L.Embedding(9, 4)(words))",
        "    rest = L.LSTM(12, return_sequences=True)(L.Embedding(9, 4)(words))",
    ),))),
    "masks with a row for each pixel": ("data-misfit", Own(model_of("""
i = keras.Input((8, 6, 1))
model = keras.Model(i, L.Conv2D(3, 1, activation='softmax')(i))
""", f"{rows(8, 8, 6, 1)}, np.eye(3)[np.arange(384) % 3]", "'categorical_crossentropy'"), ())),
    "one value for a label of several steps": ("loss-broadcast", Own(model_of("""
model = keras.Sequential([
    keras.Input((9, 1)),
    L.LSTM(8),
    L.Dense(1),
])
""", f"{rows(8, 9, 1)}, {rows(8, 5, 1)}"), (("        L.Dense(1),", "        L.Dense(5),"),))),
    "three classes under a sigmoid of its own": ("label-scale", Own(model_of("""
model = keras.Sequential([
    keras.Input((9,)),
    L.Dense(1),
    L.Activation('sigmoid'),
])
""", f"{rows(9, 9)}, np.arange(9) % 3", "'binary_crossentropy'"), (
        ("        L.Dense(1),", "        L.Dense(3),"), ("        L.Activation('sigmoid'),", '        L.Activation("softmax"),'),
    ))),
    "attended words beside a number": ("merge-shapes", Own(model_of(
        "a, b = keras.Input((6,)), keras.Input((1,))\nwords = L.Embedding(9, 4)(a)\nwords = L.MultiHeadAttention(2, 4)(words, words)\n"
        "model = keras.Model([a, b], L.Dense(1)(L.Concatenate()([words, b])))",
        f"(np.ones((8, 6)), {rows(8, 1)}), {rows(8, 1)}"),
        (("    model = keras.Model([a, b], L.Dense(1)(L.Concatenate()([words, b])))",
          "    model = keras.Model([a, b], L.Dense(1)(L.Concatenate()([L.GlobalAveragePooling1D()(words), b])))"),))),
    "a decoder that lacks its upsampling, joined by a function with an axis": ("merge-shapes", Own(model_of("""
i = keras.Input((8, 8, 1))
x, skips = i, []
for n in range(2):
    x = L.Conv2D(4, 3, padding='same')(x)
    skips.append(x)
    x = L.MaxPooling2D()(x)
for n in (1, 0):
    x = L.concatenate([skips[n], x], axis=3)
    x = L.Conv2D(4, 3, padding='same')(x)
model = keras.Model(i, L.Conv2D(1, 1)(x))
""", f"{rows(8, 8, 8, 1)}, {rows(8, 8, 8, 1)}"), (
        ("        x = L.concatenate([skips[n], x], axis=3)", "        x = L.concatenate([skips[n], L.UpSampling2D((2, 2))(x)], axis=3)"),
    ))),
    "a pooling among branches that keep their size": ("merge-shapes", Own(model_of("""
i = keras.Input((8, 8, 1))
a, b = L.Conv2D(4, 1, padding='same')(i), L.Conv2D(4, 3, padding='same')(i)
c = L.Conv2D(4, 1)(L.MaxPooling2D(3, padding='same')(i))
x = L.concatenate([a, b, c], axis=-1)
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling2D()(x)))
""", f"{rows(8, 8, 8, 1)}, {rows(8, 1)}"), (
        ("    c = L.Conv2D(4, 1)(L.MaxPooling2D(3, padding='same')(i))",
         '    c = L.Conv2D(4, 1)(L.MaxPooling2D(3, padding="same", strides=1)(i))'),
    ))),
    "a residual around layers in a list, the last of which is too wide": ("merge-shapes", Own(model_of("""
i = keras.Input((6,))
e = L.Embedding(9, 4)(i)
ffn = keras.Sequential([L.Dense(8, activation='relu'), L.Dense(8)])
x = L.LayerNormalization()(L.Add()([e, ffn(e)]))
model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(x)))
""", f"np.ones((8, 6)), {rows(8, 1)}"), (
        ("    ffn = keras.Sequential([L.Dense(8, activation='relu'), L.Dense(8)])",
         "    ffn = keras.Sequential([L.Dense(8, activation='relu'), L.Dense(4)])"),
    ))),
}  # fmt: skip
