"""NumPy code that makes the data and raises: joins, statistics, classes, arrays that a loop fills, lists of several lengths."""

from __future__ import annotations

from own_code import Own
from written_rows import HEAD, MODEL, of_data

_ONE_HOT = MODEL.replace("sparse_categorical_crossentropy", "categorical_crossentropy")
_TEXTS = """
texts = [list(range(1, 4 + number % 5)) for number in range(40)]

def build():
    model = keras.Sequential([keras.Input((8,), dtype='int32'), L.Embedding(20, 4), L.GlobalAveragePooling1D(), L.Dense(1)])
    model.compile('sgd', 'mse')
    return model

"""


def _of(body: str, *lines: tuple[str, str], head: str = HEAD + MODEL) -> tuple[str, Own]:
    return of_data(body, *lines, head=head, rule="data-raises")


ARRAYS: dict[str, tuple[str, Own]] = {
    "tables joined by rows": _of(
        "return np.concatenate([x_all[:, :5], x_all[:, 5:]]), y_all",
        ("    return np.concatenate([x_all[:, :5], x_all[:, 5:]]), y_all", "    return np.concatenate([x_all[:, :5], x_all[:, 5:]], axis=1), y_all"),
    ),
    "tables stacked by rows": _of(
        """
a, b = x_all[:, :3], x_all[:, 3:]
return np.vstack([a, b]), y_all
""",
        ("    return np.vstack([a, b]), y_all", "    return np.hstack([a, b]), y_all"),
    ),
    "a table joined along the rows": _of(
        """
a, b = x_all[:, :3], x_all[:, 3:]
x = np.concatenate((a, b), axis=0)
return x, y_all
""",
        ("    x = np.concatenate((a, b), axis=0)", "    x = np.concatenate((a, b), axis=1)"),
    ),
    "statistics of each row": _of(
        """
mean = x_all.mean(axis=1)
std = x_all.std(axis=1)
return (x_all - mean) / std, y_all
""",
        ("    mean = x_all.mean(axis=1)", "    mean = x_all.mean(axis=1, keepdims=True)"),
        ("    std = x_all.std(axis=1)", "    std = x_all.std(axis=1, keepdims=True)"),
    ),
    "classes that count from one": _of(
        """
labels = y_all + 1
return x_all, np.eye(3)[labels]
""",
        ("    return x_all, np.eye(3)[labels]", "    return x_all, np.eye(3)[labels - 1]"),
        head=HEAD + _ONE_HOT,
    ),
    "one class more than said": _of(
        """
labels = np.arange(96) % 4
return x_all, keras.utils.to_categorical(labels, num_classes=3)
""",
        ("    return x_all, keras.utils.to_categorical(labels, num_classes=3)", "    return x_all, keras.utils.to_categorical(labels, num_classes=4)"),
        head=HEAD + _ONE_HOT,
    ),
    "three names for two results": _of(
        """
x, y, rest = load()
return x, y
""",
        ("    x, y, rest = load()", "    x, y = load()"),
        head=HEAD + "\ndef load():\n    return x_all, y_all\n" + MODEL,
    ),
    "two names for three results": _of(
        """
x, y = load()
return x, y
""",
        ("    x, y = load()", "    x, y, *_ = load()"),
        head=HEAD + "\ndef load():\n    return x_all, y_all, 'names'\n" + MODEL,
    ),
    "values that fill no row": _of(
        """
signal = np.arange(96 * 8 + 5, dtype="float32") % 7
return signal.reshape(-1, 8), y_all
""",
        ("    return signal.reshape(-1, 8), y_all", "    return signal[: len(signal) // 8 * 8].reshape(-1, 8), y_all"),
    ),
    "an array that is narrower than its rows": _of(
        """
x = np.zeros((96, 7), "float32")
for number, row in enumerate(x_all):
    x[number] = row
return x, y_all
""",
        ('    x = np.zeros((96, 7), "float32")', '    x = np.zeros((96, 8), "float32")'),
    ),
    "an array of fewer rows than there are": _of(
        """
x = np.zeros((90, 8), "float32")
for number, row in enumerate(x_all):
    x[number] = row
return x, y_all
""",
        ('    x = np.zeros((90, 8), "float32")', '    x = np.zeros((len(x_all), 8), "float32")'),
    ),
    "ids of several lengths": _of(
        "return np.array(texts), np.zeros((40, 1))",
        ("    return np.array(texts), np.zeros((40, 1))", "    return keras.utils.pad_sequences(texts, maxlen=8), np.zeros((40, 1))"),
        head=_TEXTS,
    ),
}
