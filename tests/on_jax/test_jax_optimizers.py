"""An optimizer for a part of a model, in a training step that is a function of its state."""

from __future__ import annotations

from strangers import serious, traced

HEAD_ONLY = """
class Tuned(keras.Model):
    def __init__(self):
        super().__init__()
        self.body = keras.Sequential([keras.Input((6,)), layers.Dense(5)])
        self.head = keras.Sequential([keras.Input((5,)), layers.Dense(1)])
    def call(self, x):
        return self.head(self.body(x))
    def compile(self, optimizer, other=None):
        super().compile(optimizer)
        self.other = other
{built}
    def train_step(self, state, data):
        weights, rest, slots, metrics = state
        x, y = data
        size = len(self.body.trainable_variables)
        body, head = weights[:size], weights[size:]
        def loss_of(head):
            features, _ = self.body.stateless_call(body, [], x)
            made, _ = self.head.stateless_call(head, [], features)
            return ops.mean((made - y) ** 2)
        loss, grads = jax.value_and_grad(loss_of)(head)
        {applied}
        return {{"loss": loss}}, (body + head, rest, slots, metrics)
def build():
    model = Tuned()
    model.compile(keras.optimizers.Adam(), keras.optimizers.SGD(momentum=0.9))
    return model
def data():
    return np.zeros((64, 6), "float32"), np.zeros((64, 1), "float32")
"""
OWN = "head, slots = self.optimizer.stateless_apply(slots, grads, head)"
BESIDE = "head, _ = self.other.stateless_apply(self.other.variables, grads, head)"


def test_an_optimizer_for_a_part_is_built_for_its_variables(tmp_path):
    (finding,) = serious(traced(tmp_path, HEAD_ONLY.format(built="", applied=OWN)))
    assert finding.rule == "step-without-state"
    assert (finding.fact.attribute, finding.fact.given, finding.fact.built, finding.fact.part) == ("optimizer", 2, 4, "head")
    fix = finding.fixes[0]
    assert fix.verified
    assert "+        self.optimizer.build(self.head.trainable_variables)" in fix.patch


def test_an_optimizer_that_is_built_for_its_part_is_ok(tmp_path):
    assert traced(tmp_path, HEAD_ONLY.format(built="        self.optimizer.build(self.head.trainable_variables)", applied=OWN)).ok


def test_a_second_optimizer_is_built_by_nobody(tmp_path):
    finding = serious(traced(tmp_path, HEAD_ONLY.format(built="", applied=BESIDE)))[0]
    assert (finding.fact.attribute, finding.fact.built, finding.fact.part) == ("other", 0, "head")
    # Its state is still lost between steps, which no edit of one line repairs: a first step, and not the whole fix.
    assert not any(fix.verified for fix in finding.fixes)
    assert "+        self.other.build(self.head.trainable_variables)" in finding.fixes[0].patch
