"""What each call of a program makes again, what it takes from Keras where the state has it, and sizes that several names get at once."""

from __future__ import annotations

import pytest
from strangers import AROUND, serious, traced

NOISE = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.seed = None
    def build(self, shape):
        self.held = keras.random.SeedGenerator(2)
    def call(self, x, training=False):
        {made}
        return x + keras.random.normal(ops.shape(x), seed={seed})
"""
AGAIN = {
    "a name": ("seed = keras.random.SeedGenerator(7)", "seed"),
    "an argument": ("pass", "keras.random.SeedGenerator(7)"),
    "no number": ("pass", "keras.random.SeedGenerator()"),
}
ONCE = {"made in build": ("pass", "self.held"), "made by the first call": ("self.seed = self.seed or keras.random.SeedGenerator(7)", "self.seed")}


@pytest.mark.parametrize(("made", "seed"), AGAIN.values(), ids=AGAIN)
def test_a_seed_generator_of_each_call_draws_the_same_numbers(tmp_path, made, seed):
    code = NOISE.format(made=made, seed=seed) + AROUND.format(shape=(4,), rows="")
    (finding,) = serious(traced(tmp_path, code))
    assert finding.rule == "fixed-random"
    assert finding.message.endswith("each call creates their seed generator again.")
    assert finding.fixes[0].verified
    assert "seed=self.seed_generator)" in finding.fixes[0].patch
    added = [line for line in finding.fixes[0].patch.splitlines() if line.startswith("+")]
    assert not any("SeedGenerator(7)" in line for line in added)


@pytest.mark.parametrize(("made", "seed"), ONCE.values(), ids=ONCE)
def test_a_seed_generator_that_is_kept_draws_others(tmp_path, made, seed):
    code = NOISE.format(made=made, seed=seed) + AROUND.format(shape=(4,), rows="")
    assert "fixed-random" not in {finding.rule for finding in traced(tmp_path, code).findings}


STEP = """
class Model(keras.Model):
    def train_step(self, state, data):
        trainable, rest, optimizer, metrics = state
        x, y = data
        def loss_of(weights):
            p, others = self.stateless_call(weights, rest, x, training=True)
            return ops.mean((p - y) ** 2), others
        (loss, rest), gradients = jax.value_and_grad(loss_of, has_aux=True)(self.trainable_variables)
        trainable, optimizer = self.optimizer.stateless_apply(optimizer, gradients, trainable)
        return {"loss": loss}, (trainable, rest, optimizer, metrics)

def build():
    inputs = keras.Input((4,))
    model = Model(inputs, layers.Dense(1)(inputs))
    model.compile("sgd", "mse")
    return model

def data():
    return np.ones((8, 4), "float32"), np.ones((8, 1), "float32")
"""


def test_a_step_differentiates_by_the_values_of_its_state(tmp_path):
    (finding,) = serious(traced(tmp_path, STEP.replace("(loss, rest), gradients", "(loss, others), gradients")))
    assert finding.rule == "variable-as-tensor"
    assert finding.fixes[0].verified
    assert "has_aux=True)(trainable)" in finding.fixes[0].patch


PATCHES = """
class Own(layers.Layer):
    def __init__(self, size=2):
        super().__init__()
        self.high, self.wide = ops.cast(size, "int32"), ops.cast(size, "int32")
    def call(self, x):
        rows, columns = ops.floor_divide(x.shape[1], self.high), x.shape[2] // 2
        return ops.reshape(x, (-1, rows, self.high, columns * self.wide))
"""


def test_sizes_that_several_names_get_at_once_are_computed_in_python(tmp_path):
    code = PATCHES + AROUND.format(shape=(8, 6), rows="4, 2, ")
    (finding,) = serious(traced(tmp_path, code))
    assert (finding.rule, finding.fact.asked) == ("value-asked", "index")
    assert finding.fixes[0].verified
    assert "+        self.high, self.wide = int(size), int(size)" in finding.fixes[0].patch
    assert "+        rows, columns = x.shape[1] // self.high, x.shape[2] // 2" in finding.fixes[0].patch


BLOCKS = """
class Block(layers.Layer):
    def __init__(self):
        super().__init__()
        self.inner, self.drop = layers.Dense(4), layers.Dropout(0.5)
    def forward(self, x, training):
        y = self.inner(x)
        if training:
            y = {drawn}
        return x + y
    def call(self, x, training=False):
        return {transform}(x, training)

class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.block, self.last = layers.Dense(4), Block(), layers.Dense(1)
    def call(self, x, training=False):
        return self.last(self.block(self.first(x), training=training))

def build():
    model = Model()
    model.compile("sgd", "mse")
    return model

def data():
    return np.ones((8, 4), "float32"), np.ones((8, 1), "float32")
"""


@pytest.mark.parametrize("transform", ["jax.checkpoint", "jax.jit"])
def test_a_truth_value_that_a_transformation_hands_on_is_static(tmp_path, transform):
    (finding,) = serious(traced(tmp_path, BLOCKS.format(drawn="y * 0.5", transform=f"{transform}(self.forward)")))
    assert finding.message == f"{transform} passes training to forward as a tensor, but this line needs its value in Python."
    assert finding.fixes[0].verified
    assert f"return {transform}(self.forward, static_argnums=(1,))(x, training)" in finding.fixes[0].patch


def test_a_function_that_jax_has_traced_runs_in_the_trace_all_the_same(tmp_path):
    # Keras traces it for its shapes first, and JAX keeps that trace.
    code = BLOCKS.format(drawn="self.drop(y, training=True)", transform="jax.checkpoint(self.forward, static_argnums=(1,))")
    assert "state-lost" in {finding.rule for finding in serious(traced(tmp_path, code))}


def test_a_static_truth_value_is_right(tmp_path):
    assert traced(tmp_path, BLOCKS.format(drawn="y * 0.5", transform="jax.checkpoint(self.forward, static_argnums=(1,))")).ok


WEIGHTS = """
def build():
    model = keras.Sequential([keras.Input((6,), dtype="int32"), layers.Embedding(9, 4), layers.Dense(3, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model

def data():
    ids = np.arange(48).reshape(8, 6) % 9
    weights = {weights}
    return ids, ids % 3, weights
"""


def test_weights_that_are_the_same_along_the_classes_are_taken_once(tmp_path):
    weights = 'np.repeat((ids != 0).astype("float32")[..., None], 3, axis=-1)'
    (finding,) = serious(traced(tmp_path, WEIGHTS.format(weights=weights)))
    assert finding.rule == "sample-weights"
    assert finding.fixes[0].verified
    assert "return ids, ids % 3, weights[..., 0]" in finding.fixes[0].patch


def test_weights_that_differ_along_the_classes_are_left(tmp_path):
    weights = 'np.random.default_rng(0).random((8, 6, 3)).astype("float32")'
    (finding,) = serious(traced(tmp_path, WEIGHTS.format(weights=weights)))
    assert not any("[..., 0]" in fix.patch for fix in finding.fixes)
