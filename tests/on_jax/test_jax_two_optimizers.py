"""Steps of two networks on JAX: the second optimizer's variables, and those of a seed, are no part of a step's state by themselves."""

from __future__ import annotations

import pytest
from strangers import serious, traced
from test_jax_steps import repaired

GAN = """
class Gan(keras.Model):
    def __init__(self):
        super().__init__()
        self.judge = keras.Sequential([keras.Input((8,)), layers.Dense(5, "tanh"), layers.Dense(1)])
        self.maker = keras.Sequential([keras.Input((3,)), layers.Dense(8)])
        self.seed_generator = keras.random.SeedGenerator(7)
        self.loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)
        self.built = True
    def compile(self, judge, maker):
        super().compile(judge)
        self.maker_optimizer = maker
        self.optimizer.build(self.judge.trainable_variables)
        self.maker_optimizer.build(self.maker.trainable_variables)
    def call(self, x):
        return self.judge(x)
    def judged(self, tv, x, labels):
        return self.loss_fn(labels, self.judge.stateless_call(tv, [], x)[0])
    def fooled(self, tv, judge, noise):
        made = self.maker.stateless_call(tv, [], noise)[0]
        return self.loss_fn(ops.ones((noise.shape[0], 1)), self.judge.stateless_call(judge, [], made)[0])
    def train_step(self, state, data):
        tv, ntv, ov, mv = state
        n = len(self.judge.trainable_variables)
        judge, maker = tv[:n], tv[n:]
        {draw}
        fake = self.maker.stateless_call(maker, [], noise)[0]
        x = ops.concatenate([fake, data], axis=0)
        labels = ops.concatenate([ops.zeros((data.shape[0], 1)), ops.ones((data.shape[0], 1))], axis=0)
        loss, grads = jax.value_and_grad(self.judged)(judge, x, labels)
        judge, ov = self.optimizer.stateless_apply(ov, grads, judge)
        maker_loss, grads = jax.value_and_grad(self.fooled)(maker, judge, noise)
        {apply}
        return {{"loss": loss, "maker": maker_loss}}, (judge + maker, ntv, ov, mv)
def build():
    gan = Gan()
    gan.compile(keras.optimizers.Adam(1e-3), keras.optimizers.Adam(1e-3))
    return gan
def data():
    return np.random.rand(64, 8).astype("float32"),
"""
DRAW = "noise = keras.random.normal((data.shape[0], 3), seed=self.seed_generator)"
SCOPED = [
    "with keras.StatelessScope(list(zip(self.non_trainable_variables, ntv))) as scope:",
    f"    {DRAW}",
    "ntv = [scope.get_current_value(one) for one in self.non_trainable_variables]",
]
FIXED = "noise = ops.ones((data.shape[0], 3))"
APPLIED = {
    "asked for values": ["slots = [one.value for one in self.maker_optimizer.variables]", "maker, slots = self.maker_optimizer.stateless_apply(slots, grads, maker)"],
    "in their place": ["maker, _ = self.maker_optimizer.stateless_apply([one.value for one in self.maker_optimizer.variables], grads, maker)"],
    "the variables": ["maker, slots = self.maker_optimizer.stateless_apply(self.maker_optimizer.variables, grads, maker)"],
}  # fmt: skip
KEPT = [
    "known = dict(zip(map(id, self.non_trainable_variables), ntv))",
    "maker, slots = self.maker_optimizer.stateless_apply([known[id(one)] for one in self.slots], grads, maker)",
    "known.update(zip(map(id, self.slots), slots))",
    "ntv = list(known.values())",
]


def code_of(draw, apply):
    return GAN.format(draw="\n        ".join(draw), apply="\n        ".join(apply))


@pytest.mark.parametrize("draw", [[FIXED], SCOPED], ids=["without a seed", "with one"])
@pytest.mark.parametrize("apply", APPLIED.values(), ids=APPLIED)
def test_the_variables_of_a_second_optimizer_are_kept_in_the_model(tmp_path, draw, apply):
    code = code_of(draw, apply)
    (finding,) = serious(traced(tmp_path, code))
    assert (finding.rule, finding.severity, finding.fact.attribute) == ("step-without-state", "silent", "maker_optimizer")
    patch, _ = repaired(tmp_path, code, "step-without-state")
    assert "+        self.maker_optimizer_variables = [*self.maker_optimizer.variables]" in patch


def right(draw=SCOPED):
    built = "self.maker_optimizer.build(self.maker.trainable_variables)"
    return code_of(draw, KEPT).replace(built, f"{built}\n        self.slots = [*self.maker_optimizer.variables]")


def test_a_step_that_keeps_both_is_ok(tmp_path):
    assert traced(tmp_path, right()).ok


def test_a_seed_is_asked_where_it_has_its_value(tmp_path):
    code = right([DRAW])
    (finding,) = serious(traced(tmp_path, code))
    assert (finding.rule, finding.severity) == ("step-without-state", "error")
    patch, _ = repaired(tmp_path, code, "step-without-state")
    assert "StatelessScope(list(zip(self.non_trainable_variables, ntv))) as scope:" in patch
