"""Functions of a pipeline that raise, inputs and labels in each other's place, layers that are wrapped as tensors: the line, and as it should be."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

_IMAGES = """
i = keras.Input((6, 6, 3))
model = keras.Model(i, L.Dense(3, activation='softmax')(L.GlobalAveragePooling2D()(i)))
"""
_SPARSE, _DENSE = "'sparse_categorical_crossentropy'", "'categorical_crossentropy'"


def _slices(x: str, then: str, y: str = "np.arange(8) % 3") -> str:
    return f"tf.data.Dataset.from_tensor_slices(({x}, {y})){then}"


def _pixels(*shape: int) -> str:
    return f"rng.integers(0, 255, {shape}).astype('uint8')"


def _mapped(head: str, data: str, *lines: tuple[str, str], loss: str = _SPARSE) -> tuple[str, Own]:
    return "data-raises", Own(model_of(_IMAGES, data, loss, head=f"rng = np.random.default_rng(0)\n{head.strip()}\n"), lines)


def _returned(old: str, new: str) -> tuple[str, str]:
    return f"    return {old}", f"    return {new}"


def _zipped(old: str, new: str) -> Own:
    made = model_of(_IMAGES, "", _SPARSE).rsplit("\n    return ", 1)[0]
    lines = (f"    x = tf.data.Dataset.from_tensor_slices({rows(8, 6, 6, 3)})", "    y = tf.data.Dataset.from_tensor_slices(np.arange(8) % 3)", old)
    return Own("\n".join((made, *lines, "")), ((old, new),))


_CROP = """
def crop(image, label):
    return tf.image.random_crop(image, (6, 6, 3)), label
"""
_MIXED = """
def mixed(images, labels):
    order = tf.random.shuffle(tf.range(tf.shape(images)[0]))
    share = tf.random.uniform((tf.shape(images)[0], 1, 1, 1))
    flat = share[:, 0, 0]
    return share * images + (1 - share) * tf.gather(images, order), flat * labels + (1 - flat) * tf.gather(labels, order)
"""
_ONE_HOT = "np.eye(3, dtype='float32')[np.arange(8) % 3]"
_RESHAPE = """
SIDE = 6
def parse(row, label):
    image = tf.reshape(row, ({0}))
    return image, label
"""
_SEQUENCE = """
i = keras.Input((12, 1))
model = keras.Model(i, L.Dense(1)(L.LSTM(4)(i)))
"""
_WINDOWS = f"""
def windows():
    return {rows(8, 1)}, {rows(8, 12, 1)}
"""
_TAGS = """
i = keras.Input((5, 4))
x = L.LSTM(8, return_sequences=True)(i)
x = {0}
model = keras.Model(i, L.Dense(3, activation='softmax')(x))
"""
_TAGGED = f"{rows(8, 5, 4)}, np.arange(40).reshape(8, 5) % 3"
_TWO = """
i = keras.Input((4,))
x = L.Dense(8, activation='relu')(i)
model = keras.Model(i, [L.Dense(1, name='age')(x), L.Dense(3, activation='softmax', name='kind')(x)])
"""


def _wrapped(old: str, new: str, rule: str = "layer-uncalled") -> tuple[str, Own]:
    return rule, Own(model_of(_TAGS.format(old), _TAGGED, _SPARSE), ((f"    x = {old}", f"    x = {new}"),))


MAPPED: dict[str, tuple[str, Own]] = {
    "a crop of one image, called on a batch": _mapped(
        _CROP, _slices(rows(8, 7, 7, 3), ".batch(4).map(crop)"),
        _returned(_slices(rows(8, 7, 7, 3), ".batch(4).map(crop)"), _slices(rows(8, 7, 7, 3), ".map(crop).batch(4)")),
    ),
    "a mixture of a batch, called on each image": _mapped(
        _MIXED, _slices(rows(8, 6, 6, 3), ".map(mixed).batch(4)", _ONE_HOT),
        _returned(_slices(rows(8, 6, 6, 3), ".map(mixed).batch(4)", _ONE_HOT), _slices(rows(8, 6, 6, 3), ".batch(4).map(mixed)", _ONE_HOT)),
        loss=_DENSE,
    ),
    "a function of the images alone": _mapped(
        "\ndef scaled(image):\n    return image / 255.0\n", _slices(rows(8, 6, 6, 3), ".map(scaled).batch(4)"),
        _returned(
            _slices(rows(8, 6, 6, 3), ".map(scaled).batch(4)"), _slices(rows(8, 6, 6, 3), ".map(lambda x, y: (scaled(x), y)).batch(4)"),
        ),
    ),
    "a function of the images alone, in a chain over lines": _mapped(
        "\ndef scaled(image):\n    return image / 255.0\n",
        _slices(rows(8, 6, 6, 3), "\\\n        .map(scaled)\\\n        .batch(4)"),
        ("        .map(scaled)\\", "        .map(lambda x, y: (scaled(x), y))\\"),
    ),
    "a reshape without the channels": _mapped(
        _RESHAPE.format("SIDE, SIDE"), _slices(rows(8, 108), ".map(parse).batch(4)"),
        ("    image = tf.reshape(row, (SIDE, SIDE))", "    image = tf.reshape(row, (SIDE, SIDE, 3))"),
    ),
    "a reshape without the rows": _mapped(
        f"raw = {rows(8, 108)}", "raw.reshape(6, 6, 3), np.arange(8) % 3",
        _returned("raw.reshape(6, 6, 3), np.arange(8) % 3", "raw.reshape((-1, 6, 6, 3)), np.arange(8) % 3"),
    ),
    "labels that are one-hot already": _mapped(
        "\ndef coded(image, label):\n    return image, tf.one_hot(label, 3)\n", _slices(rows(8, 6, 6, 3), ".map(coded).batch(4)", _ONE_HOT),
        _returned("image, tf.one_hot(label, 3)", "image, label"), loss=_DENSE,
    ),
    "a deviation in double precision": _mapped(
        "\nmean = np.array([0.4, 0.5, 0.6])\nspread = tf.constant([0.2, 0.2, 0.3], dtype='float64')\n"
        "def scaled(image, label):\n    return (image - mean) / spread, label\n",
        _slices(rows(8, 6, 6, 3), ".map(scaled).batch(4)"),
        _returned("(image - mean) / spread, label", "(image - mean) / tf.cast(spread, image.dtype), label"),
    ),
    "pixels less a mean": _mapped(
        "\nMEAN = tf.constant([120.0, 110.0, 100.0])\ndef centred(image, label):\n    return image - MEAN, label\n",
        _slices(_pixels(8, 6, 6, 3), ".map(centred).batch(4)"),
        _returned("image - MEAN, label", "tf.cast(image, MEAN.dtype) - MEAN, label"),
    ),
    "an image without channels, resized": _mapped(
        "\ndef parse(image, label):\n    image = tf.image.resize(image, (6, 6))\n    return tf.image.grayscale_to_rgb(image), label\n",
        _slices(rows(8, 5, 5), ".map(parse).batch(4)"),
        ("    image = tf.image.resize(image, (6, 6))", "    image = tf.image.resize(image[..., None], (6, 6))"),
    ),
    "colours made of colours": _mapped(
        "\ndef parse(image, label):\n    image = tf.image.grayscale_to_rgb(image)\n    return image, label\n",
        _slices(rows(8, 6, 6, 3), ".map(parse).batch(4)"),
        ("    image = tf.image.grayscale_to_rgb(image)", "    return image, label"),
    ),
    "a row of an identity matrix": _mapped(
        "\ndef coded(image, label):\n    return image, np.eye(3)[label]\n", _slices(rows(8, 6, 6, 3), ".map(coded).batch(4)"),
        _returned("image, np.eye(3)[label]", "image, tf.one_hot(label, 3)"), loss=_DENSE,
    ),
    "a function of NumPy in a pipeline": _mapped(
        "\ndef clipped(image, label):\n    return np.clip(image, 0, 1), label\n", _slices(rows(8, 6, 6, 3), ".map(clipped).batch(4)"),
        _returned("np.clip(image, 0, 1), label", "keras.ops.clip(image, 0, 1), label"),
    ),
    "names of classes in a dict": _mapped(
        "\nNAMES = {0: 2, 1: 0, 2: 1}\ndef named(image, label):\n    return image, NAMES[label]\n", _slices(rows(8, 6, 6, 3), ".map(named).batch(4)"),
        _returned("image, NAMES[label]", "image, tf.gather([NAMES[i] for i in range(len(NAMES))], label)"),
    ),
    "windows that are datasets": ("data-raises", Own(model_of("""
i = keras.Input((4, 2))
model = keras.Model(i, L.Dense(2)(L.Flatten()(i)))
""", f"tf.data.Dataset.from_tensor_slices({rows(20, 2)}).window(5, shift=1, drop_remainder=True).map(lambda w: (w[:-1], w[-1])).batch(4)"), (_returned(
        f"tf.data.Dataset.from_tensor_slices({rows(20, 2)}).window(5, shift=1, drop_remainder=True).map(lambda w: (w[:-1], w[-1])).batch(4)",
        f"tf.data.Dataset.from_tensor_slices({rows(20, 2)}).window(5, shift=1, drop_remainder=True).flat_map(lambda w: w.batch(5))"
        ".map(lambda w: (w[:-1], w[-1])).batch(4)",
    ),))),
    "inputs and labels in each other's place": ("input-structure", Own(
        model_of(_SEQUENCE, "windows()[0], windows()[1]", head=_WINDOWS),
        (_returned("windows()[0], windows()[1]", "windows()[1], windows()[0]"),),
    )),
    "the output of a layer in TimeDistributed": _wrapped(
        "L.TimeDistributed(L.Dense(6, activation='relu')(x))", "L.TimeDistributed(L.Dense(6, activation='relu'))(x)",
    ),
    "the output of a layer in a called wrapper": _wrapped(
        "L.Bidirectional(L.LSTM(6, return_sequences=True)(x))(x)", "L.Bidirectional(L.LSTM(6, return_sequences=True))(x)",
    ),
    "both directions of a Dense layer": _wrapped("L.Bidirectional(L.Dense(6))(x)", "L.Dense(6)(x)", "code-raises"),
    "labels that are zipped with batches of pictures": ("zipped-batches", _zipped(
        "    return tf.data.Dataset.zip((x.batch(4), y)).prefetch(1)", "    return tf.data.Dataset.zip((x.batch(4), y.batch(4))).prefetch(1)",
    )),
    "pictures that are zipped with batches of labels": ("zipped-batches", _zipped(
        "    return tf.data.Dataset.zip((x.map(lambda one: one / 2), y.batch(4, drop_remainder=True)))",
        "    return tf.data.Dataset.zip((x.map(lambda one: one / 2).batch(4, drop_remainder=True), y.batch(4, drop_remainder=True)))",
    )),
    "an output without a loss": ("output-names", Own(
        model_of(_TWO, f"{rows(8, 4)}, [{rows(8, 1)}, np.arange(8) % 3]", "['mse']"),
        (("    model.compile('sgd', ['mse'])", "    model.compile('sgd', ['mse', \"sparse_categorical_crossentropy\"])"),),
    )),
    "a pipeline that is never batched": ("data-raises", Own("""
def build():
    i = keras.Input((None,), dtype="int64")
    model = keras.Model(i, L.Dense(9, activation="softmax")(L.Embedding(9, 4)(i)))
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model

def shifted(ids):
    return ids[:, :-1], ids[:, 1:]

def data():
    ds = tf.data.Dataset.from_tensor_slices(np.arange(64 * 7).reshape(64, 7) % 9)
    return ds.map(shifted).prefetch(1)
""", (("    return ds.map(shifted).prefetch(1)", "    return ds.batch(32).map(shifted).prefetch(1)"),))),
}  # fmt: skip
