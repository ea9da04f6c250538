"""Arrays of different lengths: what selects, repeats or folds the rows of one of them, and not of the others."""

from __future__ import annotations

from own_code import Own
from written_programs import model_of, rows

HEAD = """
rng = np.random.default_rng(0)
x_all = rng.normal(size=(96, 8)).astype("float32")
y_all = np.arange(96) % 3
x_train, x_test = x_all[:72], x_all[72:]
y_train, y_test = y_all[:72], y_all[72:]
"""
MODEL = """
def build():
    model = keras.Sequential([keras.Input((8,)), L.Dense(16, activation='relu'), L.Dense(3, activation='softmax')])
    model.compile('sgd', 'sparse_categorical_crossentropy')
    return model

"""
_SERIES = """
series = np.sin(np.arange(90) / 5).astype("float32")
window = 12

def build():
    model = keras.Sequential([keras.Input((12, 1)), L.LSTM(4), L.Dense(1)])
    model.compile('sgd', 'mse')
    return model

"""
_IMAGES = """
images = np.arange(40 * 16 * 8).reshape(40, 16, 8).astype("float32") % 7
labels = np.arange(40) % 3

def build():
    model = keras.Sequential([keras.Input((16, 8, 1)), L.Conv2D(4, 3), L.Flatten(), L.Dense(3, activation='softmax')])
    model.compile('sgd', 'sparse_categorical_crossentropy')
    return model

"""
_FRAMES = """
frames = np.zeros((20, 9, 6, 6, 1), "float32")

def build():
    i = keras.Input((None, 6, 6, 1))
    x = L.ConvLSTM2D(2, 3, padding='same', return_sequences=True)(i)
    model = keras.Model(i, L.Conv3D(1, 3, padding='same', activation='sigmoid')(x))
    model.compile('sgd', 'binary_crossentropy')
    return model

"""
_TEXTS = """
texts = np.arange(32 * 11).reshape(32, 11) % 20

def build():
    i = keras.Input((None,), dtype='int32')
    x = L.GRU(8, return_sequences=True)(L.Embedding(20, 4)(i))
    model = keras.Model(i, L.Dense(20, activation='softmax')(x))
    model.compile('sgd', 'sparse_categorical_crossentropy')
    return model

"""
_PAIRS = """
first, second, target = x_all, x_all[:, :5], y_all % 2

def build():
    a, b = keras.Input((8,)), keras.Input((5,))
    model = keras.Model([a, b], L.Dense(1, activation='sigmoid')(L.Concatenate()([a, b])))
    model.compile('sgd', 'binary_crossentropy')
    return model

"""


def of_data(body: str, *lines: tuple[str, str], head: str = HEAD + MODEL, rule: str = "data-misfit") -> tuple[str, Own]:
    code = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    return rule, Own(f"{head}\ndef data():\n{code}\n", lines)


_NAMED = _PAIRS.replace("keras.Input((8,))", "keras.Input((8,), name='first')").replace("keras.Input((5,))", "keras.Input((5,), name='second')")
_NAMED = _NAMED.replace("keras.Model([a, b]", "keras.Model({'first': a, 'second': b}")

ROWS: dict[str, tuple[str, Own]] = {
    "a slice of the inputs alone": of_data("return x_all[:64], y_all", ("    return x_all[:64], y_all", "    return x_all[:64], y_all[:64]")),
    "rows without the validation's": of_data(
        """
n_val = 16
x = x_all[n_val:]
y = y_all
return x, y
""",
        ("    y = y_all", "    y = y_all[n_val:]"),
    ),
    "a mask for the labels alone": of_data(
        """
keep = y_all < 2
return x_all, y_all[keep]
""",
        ("    return x_all, y_all[keep]", "    return x_all[keep], y_all[keep]"),
    ),
    "weights of all rows": of_data(
        """
order = np.random.default_rng(1).permutation(96)[:48]
return x_all[order], y_all[order], np.ones(96, "float32")
""",
        ('    return x_all[order], y_all[order], np.ones(96, "float32")', '    return x_all[order], y_all[order], np.ones(96, "float32")[order]'),
    ),
    "the second input of all rows": of_data(
        "return [first[:64], second], target[:64]",
        ("    return [first[:64], second], target[:64]", "    return [first[:64], second[:64]], target[:64]"),
        head=HEAD + _PAIRS,
    ),
    "labels of the other set": of_data("return x_train, y_test", ("    return x_train, y_test", "    return x_train, y_train")),
    "rows by the other set's index": of_data(
        """
order = np.random.default_rng(1).permutation(96)
train, rest = order[:72], order[72:]
return x_all[train], y_all[rest]
""",
        ("    return x_all[train], y_all[rest]", "    return x_all[train], y_all[train]"),
    ),
    "results of a split in another order": of_data(
        """
a, b, c, d = split(x_all, y_all)
return a, b
""",
        ("    a, b, c, d = split(x_all, y_all)", "    a, c, b, d = split(x_all, y_all)"),
        head=HEAD
        + """
def split(*arrays):
    return [part for array in arrays for part in (array[:72], array[72:])]
"""
        + MODEL,
    ),
    "pairs of a split in another order": of_data(
        """
(x_a, x_b), (y_a, y_b) = load_data()
return x_a, y_a
""",
        ("    (x_a, x_b), (y_a, y_b) = load_data()", "    (x_a, y_a), (x_b, y_b) = load_data()"),
        head=HEAD
        + """
def load_data():
    return (x_train, y_train), (x_test, y_test)
"""
        + MODEL,
    ),
    "rows selected inside a function that data calls": of_data(
        """
x, y = load()
return x / 2, y
""",
        ("    return x, y_all", "    return x, y_all[near]"),
        head=HEAD
        + """
def load():
    near = np.abs(x_all[:, 0]) < 1
    x = x_all[near]
    return x, y_all
"""
        + MODEL,
    ),
    "one sample for all labels": of_data("return x_train[0], y_train", ("    return x_train[0], y_train", "    return x_train, y_train")),
    "windows, and every value as a label": of_data(
        """
x = np.array([series[i : i + window] for i in range(len(series) - window)])
y = series
return x[..., None], y
""",
        ("    y = series", "    y = series[window:]"),
        head=_SERIES,
    ),
    "windows of a loop, and every value as a label": of_data(
        """
x = []
for i in range(len(series) - window):
    x.append(series[i : i + window])
return np.array(x)[..., None], series
""",
        ("    return np.array(x)[..., None], series", "    return np.array(x)[..., None], series[window:]"),
        head=_SERIES,
    ),
    "more samples made of the old ones": of_data(
        """
noisy = x_all + 0.1
return np.concatenate([x_all, noisy]), y_all
""",
        ("    return np.concatenate([x_all, noisy]), y_all", "    return np.concatenate([x_all, noisy]), np.concatenate([y_all, y_all])"),
    ),
    "each sample several times": of_data(
        "return np.repeat(x_all, 2, axis=0), y_all",
        ("    return np.repeat(x_all, 2, axis=0), y_all", "    return np.repeat(x_all, 2, axis=0), np.repeat(y_all, 2, axis=0)"),
    ),
    "parts put together, with the labels of the first": of_data(
        """
x = np.concatenate([x_a, x_b])
return x, y_a
""",
        ("    return x, y_a", "    return x, np.concatenate([y_a, y_b])"),
        head=HEAD
        + """
x_a, x_b, y_a, y_b = x_all[:48], x_all[48:], y_all[:48], y_all[48:]
"""
        + MODEL,
    ),
    "labels of rows that the loop skips": of_data(
        """
x, y = [], []
for number, (row, label) in enumerate(zip(x_all, y_all)):
    y.append(label)
    if number % 7 == 0:
        continue
    x.append(row)
return np.array(x), np.array(y)
""",
        ("        y.append(label)", ""),
        ("", "        y.append(label)"),
    ),
    "rows selected by a comprehension": of_data(
        """
x = np.array([row for i, row in enumerate(x_all) if i % 3])
return x, y_all
""",
        ("    return x, y_all", "    return x, np.array([kept for (i, row), kept in zip(enumerate(x_all), y_all) if i % 3])"),
    ),
    "images folded into halves": of_data(
        "return images.reshape(-1, 8, 8, 1), labels",
        ("    return images.reshape(-1, 8, 8, 1), labels", "    return images.reshape(-1, 16, 8, 1), labels"),
        head=_IMAGES,
    ),
    "labels flattened with their classes": of_data(
        """
y = keras.utils.to_categorical(y_all, 3)
return x_all, y.reshape(-1)
""",
        ("    model.compile('sgd', 'sparse_categorical_crossentropy')", "    model.compile('sgd', 'categorical_crossentropy')"),
        ("    return x_all, y.reshape(-1)", "    return x_all, y"),
    ),
    "a slice in a pipeline": of_data(
        "return tf.data.Dataset.from_tensor_slices((x_all[:64], y_all)).batch(16)",
        (
            "    return tf.data.Dataset.from_tensor_slices((x_all[:64], y_all)).batch(16)",
            "    return tf.data.Dataset.from_tensor_slices((x_all[:64], y_all[:64])).batch(16)",
        ),
        rule="data-raises",
    ),
    "another set in a pipeline": of_data(
        "return tf.data.Dataset.from_tensor_slices((x_train, y_test)).batch(16)",
        (
            "    return tf.data.Dataset.from_tensor_slices((x_train, y_test)).batch(16)",
            "    return tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(16)",
        ),
        rule="data-raises",
    ),
    "one input of several with fewer rows": of_data(
        """
x = {"first": first, "second": second[:64]}
return x, target
""",
        ('    x = {"first": first, "second": second[:64]}', '    x = {"first": first, "second": second}'),
        head=HEAD
        + _PAIRS.replace("keras.Input((8,)), keras.Input((5,))", "keras.Input((8,), name='first'), keras.Input((5,), name='second')").replace(
            "keras.Model([a, b]", "keras.Model({'first': a, 'second': b}"
        ),
    ),
    "rows up to another number": of_data(
        """
n = int(0.75 * len(x_all))
x = x_all[:n]
y = y_all[: int(0.5 * len(x_all))]
return x, y
""",
        ("    y = y_all[: int(0.5 * len(x_all))]", "    y = y_all[:n]"),
    ),
    "frames shifted along the samples": of_data(
        """
x = frames[:, :-1]
y = frames[1:, :]
return x, y
""",
        ("    y = frames[1:, :]", "    y = frames[:, 1:]"),
        head=_FRAMES,
    ),
    "words shifted along the samples, beside others": of_data(
        """
given = texts[:, 0 : texts.shape[1] - 1]
wanted = texts[1 : texts.shape[1]]
return given, wanted
""",
        ("    wanted = texts[1 : texts.shape[1]]", "    wanted = texts[:, 1:texts.shape[1]]"),
        head=_TEXTS,
    ),
    "a loop that ends one step earlier": of_data(
        """
x, y = [], []
for i in range(len(series) - window):
    x.append(series[i : i + window])
for i in range(len(series) - window - 1):
    y.append(series[i + window])
return np.array(x)[..., None], np.array(y)
""",
        ("    for i in range(len(series) - window - 1):", "    for i in range(len(series) - window):"),
        head=_SERIES,
    ),
    "pictures and their mirror images": of_data(
        """
x = np.vstack([images, images[:, ::-1]])[..., None]
y = labels
return x, y
""",
        ("    return x, y", "    return x, np.concatenate([y, y])"),
        head=_IMAGES,
    ),
    "a squeeze of every axis, before a layer that needs a rank": (
        "rows-unknown",
        Own(
            model_of(
                """
model = keras.Sequential([keras.Input((4, 1)), L.Lambda(lambda t: tf.squeeze(t)), L.Dense(1)])
""",
                f"{rows(70, 4, 1)}, {rows(70, 1)}",
            ),
            (
                (
                    "    model = keras.Sequential([keras.Input((4, 1)), L.Lambda(lambda t: tf.squeeze(t)), L.Dense(1)])",
                    "    model = keras.Sequential([keras.Input((4, 1)), L.Lambda(lambda t: tf.squeeze(t, axis=-1)), L.Dense(1)])",
                ),
            ),
        ),
    ),
    "a squeeze of every axis inside a layer": (
        "rows-unknown",
        Own(
            model_of(
                """
i = keras.Input((1, 1, 6))
model = keras.Model(i, Head()(i))
""",
                f"{rows(70, 1, 1, 6)}, {rows(70, 3)}",
                head="""
class Head(L.Layer):
    def __init__(self):
        super().__init__()
        self.dense = L.Dense(3)
    def call(self, x):
        return self.dense(tf.squeeze(x))
""",
            ),
            (("        return self.dense(tf.squeeze(x))", "        return self.dense(tf.squeeze(x, axis=(1, 2)))"),),
        ),
    ),
}
