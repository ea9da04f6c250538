"""A training step that holds the variables of two models in one list, split in the order of their creation or the other way round."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

PROGRAM = """
class Pair(keras.Model):
    def __init__(self):
        super().__init__()
        self.judge = keras.Sequential([keras.Input((12,)), layers.Dense(16, activation="relu"), layers.Dense(1)])
        self.maker = keras.Sequential([keras.Input((4,)), layers.Dense(8, activation="relu"), layers.Dense(12)])
        self.seeds = keras.random.SeedGenerator(1)
        self.built = True
    def call(self, z):
        return self.judge(self.maker(z))
    def train_step(self, state, data):
        trainable, non_trainable, optimizer_vars, metric_vars = state
        n = len(self.{first}.trainable_variables)
        {split}
        with keras.StatelessScope(list(zip(self.non_trainable_variables, non_trainable))) as scope:
            noise = keras.random.normal((data.shape[0], 4), seed=self.seeds)
        non_trainable = [scope.get_current_value(one) for one in self.non_trainable_variables]
        def judged(own):
            made, _ = self.maker.stateless_call(maker, [], noise)
            good, _ = self.judge.stateless_call(own, [], data)
            bad, _ = self.judge.stateless_call(own, [], made)
            return jnp.mean(jax.nn.softplus(-good)) + jnp.mean(jax.nn.softplus(bad))
        def fooled(own):
            made, _ = self.maker.stateless_call(own, [], noise)
            return jnp.mean(jax.nn.softplus(-self.judge.stateless_call(judge, [], made)[0]))
        loss, to_judge = jax.value_and_grad(judged)(judge)
        other, to_make = jax.value_and_grad(fooled)(maker)
        trainable, optimizer_vars = self.optimizer.stateless_apply(optimizer_vars, {joined}, trainable)
        return {{"judged": loss, "fooled": other}}, (trainable, non_trainable, optimizer_vars, metric_vars)
def build():
    model = Pair()
    model.compile(optimizer="adam")
    return model
def data():
    return np.zeros((32, 12), "float32"), None
"""


def test_a_list_is_split_in_the_order_of_creation_and_the_gradients_are_joined_in_it(tmp_path):
    text = PROGRAM.format(first="maker", split="maker, judge = trainable[:n], trainable[n:]", joined="to_make + to_judge")
    patch = first(tmp_path, text, "step-without-state")
    assert "+        maker, judge = trainable[-n:], trainable[:-n]" in patch
    assert "stateless_apply(optimizer_vars, to_judge + to_make, trainable)" in patch


@pytest.mark.parametrize(
    ("first_", "split"), [("judge", "judge, maker = trainable[:n], trainable[n:]"), ("maker", "maker, judge = trainable[-n:], trainable[:-n]")]
)
def test_a_list_that_is_split_in_the_order_of_creation_is_ok(tmp_path, first_, split):
    assert not serious(traced(tmp_path, PROGRAM.format(first=first_, split=split, joined="to_judge + to_make")))
