"""Models that read the steps that they are to predict, or are compared with what they are given: found and mended, beside correct twins."""

import pytest
from told_silently import found, told

HEAD = "import keras\nimport numpy as np\nL, ops = keras.layers, keras.ops\nrng = np.random.default_rng(0)\n"
TOKENS = """
def shifted(y, p):
    return keras.losses.sparse_categorical_crossentropy(y[:, 1:], p[:, :-1])
class Block(L.Layer):
    def __init__(self):
        super().__init__()
        self.attend, self.norm = L.MultiHeadAttention(2, 4), L.LayerNormalization()
    def call(self, x):
        n = ops.shape(x)[1]
        mask = ops.arange(n)[:, None] >= ops.arange(n)
        return self.norm(x + self.attend(x, x{}))
def build():
    i = keras.Input((9,), dtype="int32")
    x = L.Embedding(50, 8)(i)
    x = {}
    m = keras.Model(i, L.Dense(50, activation="softmax")(x))
    m.compile("sgd", {})
    return m
def data():
    t = rng.integers(0, 50, (32, 10))
    return {}
"""
LOSS, NEXT = '"sparse_categorical_crossentropy"', "t[:, :-1], t[:, 1:]"
SERIES = """
class Padded(L.Layer):
    def __init__(self):
        super().__init__()
        self.inner = L.Conv1D(4, 3)
    def call(self, x):
        return self.inner(ops.pad(x, [[0, 0], {}, [0, 0]]))
def build():
    i = keras.Input((9, 2))
    x = {}
    m = keras.Model(i, L.Dense(2)(x))
    m.compile("sgd", "mse")
    return m
def data():
    t = rng.normal(size=(32, 10, 2)).astype("float32")
    return t[:, :-1], t[:, 1:]
"""
DECODER = """
def build():
    e, d = keras.Input((9,), name="e"), keras.Input((9,), name="d")
    h, x = L.Embedding(50, 8)(e), L.Embedding(50, 8)(d)
    h = L.Bidirectional(L.GRU(4, return_sequences=True))(h)
    x = L.MultiHeadAttention(2, 4)(x, x{})
    x = x + L.MultiHeadAttention(2, 4)(x, h)
    m = keras.Model([e, d], L.Dense(50, activation="softmax")(x))
    m.compile("sgd", "sparse_categorical_crossentropy")
    return m
def data():
    s, t = rng.integers(0, 50, (32, 9)), rng.integers(0, 50, (32, 10))
    return {{"e": s, "d": t[:, :-1]}}, t[:, 1:]
"""
FAULTS = {
    "both directions": ("next-steps-seen", TOKENS.format("", "L.Bidirectional(L.GRU(4, return_sequences=True))(x)", LOSS, NEXT), True),
    "no mask": ("next-steps-seen", TOKENS.format("", "x + L.MultiHeadAttention(2, 4)(x, x)", LOSS, NEXT), True),
    "a block without a mask": ("next-steps-seen", TOKENS.format("", "Block()(x)", LOSS, NEXT), True),
    "a decoder without a mask": ("next-steps-seen", DECODER.format(""), True),
    "convolutions of both sides": (
        "next-steps-seen",
        SERIES.format("[2, 0]", 'L.Conv1D(4, 3, padding="same")(L.Conv1D(4, 3, padding="same")(i))'),
        True,
    ),
    "padded at the end": ("next-steps-seen", SERIES.format("[0, 2]", "Padded()(i)"), True),
    "labels that are the input": ("same-steps", TOKENS.format(", use_causal_mask=True", "Block()(x)", LOSS, "t, t").replace("(9,)", "(10,)"), False),
}  # fmt: skip
TWINS = {
    "one direction": TOKENS.format("", "L.GRU(8, return_sequences=True)(x)", LOSS, NEXT),
    "a mask of the program": TOKENS.format(", attention_mask=mask[None]", "Block()(x)", LOSS, NEXT),
    "a causal mask": TOKENS.format(", use_causal_mask=True", "Block()(x)", LOSS, NEXT),
    "a loss that shifts": TOKENS.format(", use_causal_mask=True", "Block()(x)", "shifted", "t, t").replace("(9,)", "(10,)"),
    "tags": TOKENS.format("", "L.Bidirectional(L.GRU(4, return_sequences=True))(x)", LOSS, "t[:, 1:], rng.integers(0, 50, (32, 9))"),
    "a decoder": DECODER.format(", use_causal_mask=True"),
    "causal convolutions": SERIES.format("[2, 0]", 'L.Conv1D(4, 3, padding="causal", dilation_rate=2)(Padded()(i))'),
    "shifted before": SERIES.format("[2, 0]", 'L.Conv1D(4, 3, padding="same")(L.ZeroPadding1D((2, 0))(i)[:, :-2])'),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_seen_ahead_is_found(tmp_path, name):
    rule, text, mended = FAULTS[name]
    path = tmp_path / "train.py"
    path.write_text(HEAD + text)
    told(path, rule, mended)


@pytest.mark.parametrize("name", TWINS)
def test_what_sees_the_past_is_left_alone(tmp_path, name):
    path = tmp_path / "train.py"
    path.write_text(HEAD + TWINS[name])
    assert [one.rule for one in found(path)] == []
