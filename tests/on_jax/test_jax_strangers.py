"""Whole programs of strangers on JAX: what is found, which sizes are named, and the text of the fix."""

from __future__ import annotations

import pytest
from strangers import serious, traced

SAMPLING = """
class Sampling(layers.Layer):
    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(7)
    def call(self, inputs):
        mean, log_var = inputs
        batch = ops.shape(mean)[0]
        epsilon = keras.random.normal((batch,), seed=self.seed)
        return mean + ops.exp(0.5 * log_var) * epsilon

def build():
    inputs = keras.Input((20,))
    z = Sampling()([layers.Dense(16)(inputs), layers.Dense(16)(inputs)])
    model = keras.Model(inputs, layers.Dense(20)(z))
    model.compile("adam", "mse")
    return model

def data():
    return np.zeros((64, 20), "float32"), np.zeros((64, 20), "float32")
"""


def test_random_numbers_are_an_operand_of_what_breaks(tmp_path):
    (finding,) = serious(traced(tmp_path, SAMPLING))
    assert finding.rule == "op-shapes"
    assert {str(finding.expected), str(finding.found)} == {"(?, 16)", "(?,)"}
    assert type(finding.fact.reason).__name__ == "LacksAxis"
    assert finding.fixes[0].verified


REGRESSOR = """
class Regressor(keras.Model):
    def __init__(self):
        super().__init__()
        self.out = layers.Dense(1)
    def call(self, x):
        return self.out(x)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return ops.mean(ops.square({y} - y_pred))

def build():
    model = Regressor()
    model.compile("adam")
    return model

def data():
    return np.zeros((256, 8), "float32"), np.zeros((256,), "float32")
"""


def test_a_loss_of_the_models_own_is_followed_where_compile_has_none(tmp_path):
    (finding,) = serious(traced(tmp_path, REGRESSOR.format(y="y")))
    assert (finding.rule, finding.severity) == ("batch-broadcast", "silent")
    assert traced(tmp_path, REGRESSOR.format(y="y[:, None]")).ok


STEP = """
class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.out = layers.Dense(4)
    def call(self, x):
        return self.out(x)
    def loss_of(self, trainable, non_trainable, x):
        y, non_trainable = self.stateless_call(trainable, non_trainable, x)
        return ops.mean(ops.square(x - y)), non_trainable
    def train_step(self, state, data):
        trainable, non_trainable, optimizer, metrics = state
        x = {x}
        (loss, non_trainable), grads = jax.value_and_grad(self.loss_of, has_aux=True)(trainable, non_trainable, x)
        trainable, optimizer = self.optimizer.stateless_apply(optimizer, grads, trainable)
        return {{"loss": loss}}, (trainable, non_trainable, optimizer, metrics)

def build():
    model = Own()
    model.compile("adam")
    return model

def data():
    x = np.zeros((32, 4), "float32")
    return {data}
"""
UNPACKED = "keras.utils.unpack_x_y_sample_weight(data)[0]"


@pytest.mark.parametrize(
    ("x", "data", "fits"),
    [
        ("data", "x", True),
        ("data[0]", "x", False),
        (UNPACKED, "x", True),
        ("data[0]", "(batch for batch in [(x,)])", True),
        (UNPACKED, "(batch for batch in [(x,)])", True),
    ],
)
def test_a_training_step_gets_inputs_alone_as_fit_hands_them(tmp_path, x, data, fits):
    report = traced(tmp_path, STEP.format(x=x, data=data))
    assert report.ok == fits
    if not fits:
        (finding,) = serious(report)
        assert (finding.fact.name, finding.fact.shape[1:]) == ("data", (4,))
        assert finding.fixes[0].verified
        assert "keras.utils.unpack_x_y_sample_weight(data)[0]" in finding.fixes[0].patch


LAYER = """
class Own(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 6), name="w")
    def call(self, x):
        return {call}

def build():
    model = keras.Sequential([keras.Input((4,)), Own(), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")
"""


def test_a_state_of_variables_is_no_array_of_jax(tmp_path):
    code = """
def first(state):
    return state[0][0] * 2

def build():
    model = keras.Sequential([keras.Input((4,)), layers.Dense(2)])
    state = (model.trainable_variables, model.non_trainable_variables)
    jax.jit(first)(state)
    return model

def data():
    return np.ones((8, 4), "float32"), None
"""
    (finding,) = serious(traced(tmp_path, code))
    assert finding.rule == "variable-as-tensor" and finding.fact.names == ("state",) and finding.fact.inside
    assert serious(traced(tmp_path, code.replace("= (model", "= jax.tree.map(lambda one: one.value, (model").replace("variables)\n", "variables))\n"))) == []


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        ("jnp.matmul(x, self.w)", "jnp.matmul(x, ops.convert_to_tensor(self.w))"),
        ("x @ jnp.tanh(self.w.T).T", "x @ jnp.tanh(ops.convert_to_tensor(self.w).T).T"),
    ],
)
def test_a_variable_of_keras_is_no_array_of_jax(tmp_path, call, fix):
    (finding,) = serious(traced(tmp_path, LAYER.format(call=call)))
    assert finding.rule == "variable-as-tensor"
    assert finding.fact.names == ("self.w",)
    assert finding.fixes[0].verified
    assert f"+        return {fix}" in finding.fixes[0].patch
    assert traced(tmp_path, LAYER.format(call="ops.matmul(x, self.w)")).ok


HEADS = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.qkv = layers.Dense(96)
    def call(self, x):
        b, t, _ = x.shape
        q, k, v = (one.reshape(b, t, 4, 8) for one in jnp.split(self.qkv(x), 3, axis=-1))
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k), axis=-1)
        y = jnp.einsum("bhqk,{v}->bqhd", weights, v)
        return y.reshape(b, t, 32)

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.own, self.head = Own(), layers.Dense(1)
    def call(self, x):
        return self.head(jnp.mean(self.own(x), axis=1))

def build():
    model = Net()
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((16, 30, 24), "float32"), np.zeros((16, 1), "float32")
"""


def test_the_letters_of_an_einsum_follow_the_sizes(tmp_path):
    (finding,) = serious(traced(tmp_path, HEADS.format(v="bhkd")))
    assert finding.rule == "op-shapes"
    assert finding.fixes[0].verified
    assert '+        y = jnp.einsum("bhqk,bkhd->bqhd", weights, v)' in finding.fixes[0].patch
    assert traced(tmp_path, HEADS.format(v="bkhd")).ok


def test_noise_is_made_in_the_shape_of_what_it_meets(tmp_path):
    (finding,) = serious(traced(tmp_path, SAMPLING))
    assert "+        epsilon = keras.random.normal(ops.shape(log_var), seed=self.seed)" in finding.fixes[0].patch


TOKEN = """
class Token(layers.Layer):
    def build(self, shape):
        self.token = self.add_weight(shape=(1, 1, shape[-1]), name="token")
    def call(self, x):
        return {call}

def build():
    inputs = keras.Input((16, 24))
    x = layers.GlobalAveragePooling1D()(Token()(layers.Dense(24)(inputs)))
    model = keras.Model(inputs, layers.Dense(1)(x))
    model.compile("adam", "mse")
    return model

def data():
    return np.zeros((32, 16, 24), "float32"), np.zeros((32, 1), "float32")
"""


@pytest.mark.parametrize(
    ("call", "rule", "fix"),
    [
        (
            "ops.concatenate([self.token, x], axis=1)",
            "op-shapes",
            "ops.concatenate([ops.broadcast_to(self.token, (ops.shape(x)[0], *self.token.shape[1:])), x], axis=1)",
        ),
        (
            "ops.concatenate([ops.tile(self.token, ops.stack([ops.shape(x)[0], 1, 1])), x], axis=1)",
            "value-asked",
            "ops.concatenate([ops.tile(self.token, [ops.shape(x)[0], 1, 1]), x], axis=1)",
        ),
    ],
)
def test_a_class_token_is_repeated_for_each_sample(tmp_path, call, rule, fix):
    (finding,) = serious(traced(tmp_path, TOKEN.format(call=call)))
    assert finding.rule == rule
    assert finding.fixes[0].verified
    assert f"+        return {fix}" in finding.fixes[0].patch


def test_a_reshape_that_leaves_a_rest_is_told_where_sizes_are_unknown(tmp_path):
    code = TOKEN.format(call="ops.reshape(x, (-1, ops.shape(x)[1], 5))").replace("keras.Input((16, 24))", "keras.Input((None, 24))")
    (finding,) = serious(traced(tmp_path, code))
    assert finding.rule == "op-shapes"
    assert finding.fact.reason.target == (None, None, 5)


UNKNOWN = """
def build():
    tokens = keras.Input((None,), dtype="int32")
    {first}
    x = layers.Embedding(1000, 32)(tokens)
    x = {then}
    x = layers.GlobalAveragePooling1D()(x)
    model = keras.Model(tokens, layers.Dense(1)(x))
    model.compile("adam", "mse")
    return model

def data():
    return np.zeros((64, 40), "int32"), np.zeros((64, 1), "float32")
"""


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("positions = ops.arange(tokens.shape[1])", "x + layers.Embedding(64, 32)(positions)"),
        ("", "x + ops.ones((x.shape[1], 32))"),
        ("", "ops.stack([x[:, i] for i in range(x.shape[1])], axis=1)"),
        ("", "x + ops.tile(x[:, :1], (1, x.shape[1], 1))"),
        ("", "ops.reshape(ops.reshape(x, (x.shape[0], x.shape[1], 4, 8)), (-1, x.shape[1], 32))"),
    ],
)
def test_a_size_that_is_none_is_told_at_its_line(tmp_path, first, then):
    (finding,) = serious(traced(tmp_path, UNKNOWN.format(first=first, then=then)))
    assert finding.rule == "symbolic-tensor"
    assert "shape" in finding.location.text
    assert finding.fixes[0].verified
    assert '+    tokens = keras.Input((40,), dtype="int32")' in finding.fixes[0].patch


PARTS = """
def batches():
    while True:
        left = np.zeros((16, 24), "float32")
        yield left, np.ones((16, 12), "float32"), np.zeros((16, 1), "float32")

def build():
    left, right = keras.Input((24,)), keras.Input((12,))
    x = layers.Concatenate()([layers.Dense(8)(left), layers.Dense(8)(right)])
    model = keras.Model([left, right], layers.Dense(1)(x))
    model.compile("adam", "mse")
    return model

def data():
    return batches()
"""


def test_the_parts_of_what_a_generator_yields_are_put_together(tmp_path):
    (finding,) = serious(traced(tmp_path, PARTS))
    assert finding.rule == "input-structure"
    assert finding.fixes[0].verified
    assert '+        yield (left, np.ones((16, 12), "float32")), np.zeros((16, 1), "float32")' in finding.fixes[0].patch


DISTANCE = """
class Distance(layers.Layer):
    def call(self, a, b):
        return ops.sum(ops.square(a - b), axis=-1)

def build():
    a, b = keras.Input((8,), name="a"), keras.Input((8,), name="b")
    model = keras.Model([a, b], layers.Dense(1, activation="sigmoid")(Distance()(a, b)))
    model.compile("adam", "binary_crossentropy")
    return model

def data():
    return (np.zeros((16, 8), "float32"), np.zeros((16, 8), "float32")), np.zeros((16, 1), "float32")
"""


def test_one_number_a_sample_gets_the_one_axis_that_it_lacks(tmp_path):
    (finding,) = serious(traced(tmp_path, DISTANCE))
    assert finding.rule == "layer-rank"
    assert "Reshape((1,))(" in finding.fixes[0].patch


CTC = """
def build():
    inputs = keras.Input((32, 16))
    model = keras.Model(inputs, layers.Dense(21)(layers.LSTM(8, return_sequences=True)(inputs)))
    model.compile("adam", keras.losses.CTC())
    return model

def data():
    labels = np.random.default_rng(0).integers(1, 20, (32, 6))
    return np.zeros((32, 32, 16), "float32"), {labels}
"""


def test_ctc_reads_class_numbers(tmp_path):
    (finding,) = serious(traced(tmp_path, CTC.format(labels="keras.utils.to_categorical(labels, 21)")))
    assert finding.rule == "one-hot-labels"
    assert finding.fixes[0].verified
    assert traced(tmp_path, CTC.format(labels="labels")).ok


def test_weights_in_the_place_of_gradients_are_told(tmp_path):
    code = STEP.format(x=UNPACKED, data="x")
    (finding,) = serious(traced(tmp_path, code.replace("optimizer, grads, trainable)", "optimizer, trainable, grads)")))
    assert (finding.rule, finding.severity) == ("gradients-swapped", "silent")
    assert finding.fixes[0].verified
    assert "+        trainable, optimizer = self.optimizer.stateless_apply(optimizer, grads, trainable)" in finding.fixes[0].patch
    report = traced(tmp_path, code.replace("optimizer, grads, trainable)", "optimizer, trainable, grads[0])"))
    assert next((finding.rule, finding.severity) for finding in serious(report)) == ("gradients-swapped", "error")
