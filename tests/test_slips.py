"""Programs that fit runs and that learn something else: what the functions of a pipeline, the observed values and the flow show of them, beside correct twins."""

import pytest
from broken import load

import jupyter_tpushape as tpushape

HEAD = "import keras\nimport numpy as np\nimport tensorflow as tf\nL = keras.layers\nrng = np.random.default_rng(0)\n"
PICTURES = """
def build():
    m = keras.Sequential([keras.Input((8, 8, 3)), L.Conv2D(4, 3), L.Flatten(), L.Dense(3, activation="softmax")])
    m.compile("sgd", "sparse_categorical_crossentropy")
    return m
def data():
    x, y = rng.integers(0, 256, (32, 3, 8, 8)).astype("uint8"), rng.integers(0, 3, 32)
    return tf.data.Dataset.from_tensor_slices((x, y)){}
"""
CLIPS = """
def motion(x, y):
    a, b = x[1:], x[:-1]
    return tf.cast({}, "float32"), y
def build():
    m = keras.Sequential([keras.Input((5, 4)), L.Flatten(), L.Dense(1)])
    m.compile("sgd", "mse")
    return m
def data():
    x, y = rng.integers(0, 256, (32, 6, 4)).astype("{}"), rng.normal(size=(32, 1)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, y)).map(motion).batch(8)
"""
PAIRS = """
def build():
    m = keras.Sequential([keras.Input((6,)), L.Dense(3, activation="softmax")])
    m.compile("sgd", "sparse_categorical_crossentropy")
    return m
def data():
    x = rng.normal(size=(40, 6)).astype("float32")
    one, two = tf.data.Dataset.from_tensor_slices(x), tf.data.Dataset.from_tensor_slices(x[:, :3].argmax(1))
    return {}
"""
ROWS = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.rows, self.out = L.Embedding(5000, 4), L.Dense(1)
    def call(self, x):
        {}
def build():
    m = Net()
    m.compile("sgd", "mse")
    return m
def data():
    x, y = rng.integers(0, 5000, (32, 2)), rng.normal(size=(32, 1)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, y)).map(lambda x, y: (tf.cast(x, "{}"), y)).batch(8)
"""
DECODER = """
def build():
    i, t = keras.Input((7,), dtype="int32", name="i"), keras.Input(({},), dtype="int32", name="t")
    state = L.GRU(8)(L.Embedding(50, 4)(i))
    x = {}
    m = keras.Model([i, t], L.Dense(50, activation="softmax")(x))
    m.compile("sgd", "sparse_categorical_crossentropy")
    return m
def data():
    i, t = rng.integers(0, 50, (32, 7)), rng.integers(0, 50, (32, 9))
    return {}
"""
STEPS = "L.GRU(8, return_sequences=True)(L.Embedding(50, 4)(t), initial_state=state)"
WINDOWS = """
def build():
    m = keras.Sequential([keras.Input((6, 2)), {}, L.Dense(1)])
    m.compile("sgd", "mse")
    return m
def data():
    series = rng.normal(size=(60, 2)).astype("float32")
    x = np.stack([series[i : i + 6] for i in range(50)])
    return x, series[{}, :1]
"""
BOTH = """
class Both(L.Layer):
    def __init__(self):
        super().__init__()
        self.one, self.two = L.GRU(4, return_sequences=True), L.GRU(4, return_sequences=True)
    def call(self, x):
        return tf.concat([self.one(x), {}], axis=-1)
def build():
    m = keras.Sequential([keras.Input((6, 2)), Both(), L.Dense(1)])
    m.compile("sgd", "mse")
    return m
def data():
    return rng.normal(size=(32, 6, 2)).astype("float32"), rng.normal(size=(32, 6, 1)).astype("float32")
"""
HEADS = """
def build():
    i = keras.Input((5,))
    m = keras.Model(i, [L.Dense(1, activation="sigmoid", name="ill")(i), L.Dense(1, name="age")(i)])
    m.compile("sgd", ["binary_crossentropy", "mse"])
    return m
def data():
    x, ill, age = rng.normal(size=(32, 5)), rng.integers(0, 2, (32, 1)).astype("float32"), rng.uniform(20, 80, (32, 1))
    return x, ({})
"""
MAPS = """
def build():
    i = keras.Input((8, 8, 6))
    x = {}
    m = keras.Model(i, L.Dense(3, activation="softmax")(L.Flatten()(x)))
    m.compile("sgd", "sparse_categorical_crossentropy")
    return m
def data():
    return rng.random((32, 8, 8, 6)).astype("float32"), rng.integers(0, 3, 32)
"""
FIRST = 'data_format="channels_first"'
FAULTS = {
    "a pool of channels": ("channels-order", MAPS.format(f"L.MaxPooling2D({FIRST})(L.Conv2D(4, 3)(i))")),
    "means of columns": ("channels-order", MAPS.format(f"L.GlobalAveragePooling2D({FIRST})(L.ReLU()(L.BatchNormalization()(L.Conv2D(4, 3)(i))))")),
    "a reshape of a picture": ("data-axes-mixed", PICTURES.format(".map(lambda x, y: (tf.reshape(x, (8, 8, 3)), y)).batch(8)")),
    "a reshape of a batch": ("data-axes-mixed", PICTURES.format(".batch(8).map(lambda x, y: (tf.reshape(x, (-1, 8, 8, 3)), y))")),
    "bytes in an operator": ("unsigned-difference", CLIPS.format("a - b", "uint8")),
    "words in a function": ("unsigned-difference", CLIPS.format("tf.subtract(a, b)", "uint16")),
    "two orders": ("shuffled-apart", PAIRS.format("tf.data.Dataset.zip((one.shuffle(40), two.shuffle(40))).batch(8)")),
    "two seeds": ("shuffled-apart", PAIRS.format("tf.data.Dataset.zip((one.shuffle(40, seed=1), two.shuffle(40, seed=2))).batch(8)")),
    "ids of half precision": ("ids-rounded", ROWS.format('return self.out(self.rows(tf.cast(x[:, 0], "int32")))', "float16")),
    "ids of eight bits": ("ids-rounded", ROWS.format("return self.out(self.rows(x)[:, 0])", "bfloat16")),
    "a decoder that is fed its labels": ("same-steps", DECODER.format(9, STEPS, '{"i": i, "t": t}, t')),
    "labels in their windows": ("same-steps", WINDOWS.format("L.LSTM(4)", "5:55")),
    "labels in windows of a convolution": ("same-steps", WINDOWS.format("L.Conv1D(4, 3), L.Flatten()", "5:55")),
    "samples in reverse": ("samples-in-order", BOTH.format("self.two(tf.reverse(x, [0]))")),
    "samples in reverse, by an index": ("samples-in-order", BOTH.format("self.two(x[::-1])[::-1]")),
    "samples in reverse for a last step": (
        "samples-in-order",
        BOTH.format("L.RepeatVector(6)(self.last(x[::-1]))").replace("self.one,", "self.last, self.one,", 1).replace("L.GRU(4,", "L.GRU(4), L.GRU(4,", 1),
    ),
    "labels in the order of the names": ("label-scale", HEADS.format("age, ill")),
}
TWINS = {
    "channels that were moved": MAPS.format(f"L.GlobalAveragePooling2D({FIRST})(L.Permute((3, 1, 2))(L.Conv2D(4, 3)(i)))"),
    "a pool of pairs of channels, on purpose": MAPS.format(f"L.GlobalMaxPooling2D()(L.MaxPooling2D((1, 2), {FIRST})(L.Conv2D(4, 3)(i)))"),
    "the mean of each step, on purpose": MAPS.format(f"L.GlobalAveragePooling1D({FIRST})(L.Conv1D(4, 3)(L.Reshape((64, 6))(i)))"),
    "a transpose": PICTURES.format(".map(lambda x, y: (tf.transpose(x, (1, 2, 0)), y)).batch(8)"),
    "an axis of size 1": PICTURES.format(".map(lambda x, y: (tf.transpose(tf.reshape(x, (1, 3, 8, 8))[0], (1, 2, 0)), y)).batch(8)"),
    "floats": CLIPS.format('tf.cast(a, "float32") - tf.cast(b, "float32")', "uint8"),
    "the larger without the smaller": CLIPS.format("tf.where(a > b, a - b, b - a)", "uint8"),
    "from a number": CLIPS.format("255 - a", "uint8"),
    "pairs in one order": PAIRS.format("tf.data.Dataset.zip((one, two)).shuffle(40).batch(8)"),
    "one seed": PAIRS.format("tf.data.Dataset.zip((one.shuffle(40, seed=1), two.shuffle(40, seed=1))).batch(8)"),
    "ids in single precision": ROWS.format("return self.out(self.rows(x)[:, 0])", "float32"),
    "the class of scores": ROWS.format('return self.out(self.rows(tf.argmax(tf.one_hot(tf.cast(x[:, 0], "int32"), 9, dtype="float16"), -1)))', "int32"),
    "a shifted decoder": DECODER.format(8, STEPS, '{"i": i, "t": t[:, :-1]}, t[:, 1:]'),
    "a sequence that is given back": DECODER.format(
        9, "L.GRU(8, return_sequences=True)(L.RepeatVector(9)(state + L.GRU(8)(L.Embedding(50, 4)(t))))", '{"i": i, "t": t}, t'
    ),
    "labels after their windows": WINDOWS.format("L.LSTM(4)", "6:56"),
    "steps in reverse, by an index": BOTH.format("self.two(x[:, ::-1])[:, ::-1]"),
    "the first rows": BOTH.format("self.two(x[::1])"),
    "samples beside their neighbors, as a mixture": BOTH.format("0.5 * x + 0.5 * x[::-1]"),
    "steps in reverse": BOTH.format("tf.reverse(self.two(tf.reverse(x, [1])), [1])"),
    "labels in the order of the outputs": HEADS.format("ill, age"),
}


def seen(tmp_path, text):
    path = tmp_path / "train.py"
    path.write_text(HEAD + text)
    module = load(path)
    return path, [one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.serious]


@pytest.mark.parametrize("name", FAULTS)
def test_what_runs_and_is_not_meant_is_found(tmp_path, name):
    rule, text = FAULTS[name]
    path, found = seen(tmp_path, text)
    assert [(one.rule, one.severity) for one in found] == [(rule, "silent")]
    for fix in (one for one in found[0].fixes[:1] if one.verified):
        tpushape.apply(fix, path)
        module = load(path)
        assert not [one.rule for one in tpushape.trace(module.build, module.data, tpu=None, fixes=False).findings if one.serious]


@pytest.mark.parametrize(
    "name",
    [
        "a reshape of a picture",
        "a reshape of a batch",
        "bytes in an operator",
        "two orders",
        "labels in the order of the names",
        "samples in reverse, by an index",
        "samples in reverse for a last step",
    ],
)
def test_these_have_a_fix_that_ran(tmp_path, name):
    assert seen(tmp_path, FAULTS[name][1])[1][0].fixes[0].verified


@pytest.mark.parametrize("name", TWINS)
def test_correct_twins_are_left_alone(tmp_path, name):
    assert [one.rule for one in seen(tmp_path, TWINS[name])[1]] == []
