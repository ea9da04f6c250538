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
ONCE = {
    "made in build": ("pass", "self.held"),
    "made by the first call": ("self.seed = self.seed or keras.random.SeedGenerator(7)", "self.seed"),
}


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
