"""Weights that the loss depends on and that no gradient reaches, of which Keras on JAX says nothing."""

from __future__ import annotations

import pytest
from strangers import AROUND, first, serious, traced

OWN = """
class Own(layers.Layer):
    def build(self, shape):
        width = shape[-1]
{made}
    def call(self, x):
{lines}
"""


def own(made, *lines, shape=(6,)):
    """A layer that makes weights, each by its initializer, and the lines of its call."""
    weights = {"scale": "(width,)", "cut": "()"}
    texts = [
        f'        self.{name} = self.add_weight(shape={weights.get(name, "(width, width)")}, initializer="{start}", name="{name}")'
        for name, start in made.items()
    ]
    body = "\n".join(f"        {line}" for line in lines)
    return OWN.format(made="\n".join(texts), lines=body) + AROUND.format(shape=shape, rows=f"{shape[0]}, " if len(shape) > 1 else "")


STUCK = {
    "an adapter": "return x + ops.matmul(ops.matmul(x, self.a), self.b)",
    "one product": 'return x + jnp.einsum("bi,ij,jk->bk", x, self.a.value, self.b.value)',
    "behind an activation": "return x + ops.matmul(jnp.tanh(ops.matmul(x, self.a)), self.b)",
    "scaled": "return x + 0.5 * (x @ (self.a.value @ self.b.value))",
}


@pytest.mark.parametrize("line", STUCK.values(), ids=STUCK)
def test_factors_that_all_start_at_zero_stay_there(tmp_path, line):
    code = own({"a": "zeros", "b": "zeros"}, line)
    (finding,) = serious(traced(tmp_path, code))
    assert (finding.rule, finding.severity, finding.fact.weights) == ("weights-untrained", "silent", ("a", "b"))
    patch = first(tmp_path, code)
    assert '+        self.a = self.add_weight(shape=(width, width), initializer="he_uniform", name="a")' in patch


STARTS = {
    "one factor is random": ({"a": "he_uniform", "b": "zeros"}, STUCK["an adapter"]),
    "a branch scaled by zero": ({"a": "he_uniform", "scale": "zeros"}, "return x + self.scale * (x @ self.a.value)"),
    "a gate at zero": ({"a": "he_uniform", "cut": "zeros"}, "return x + jnp.tanh(self.cut.value) * ops.matmul(x, self.a)"),
    "a sum of zeros": ({"scale": "zeros"}, "return x + self.scale"),
    "zeros that a bias moves": ({"a": "zeros", "scale": "zeros", "b": "zeros"}, "return x + (x @ self.a.value + self.scale) @ self.b.value + self.scale"),
}  # fmt: skip


@pytest.mark.parametrize(("made", "line"), STARTS.values(), ids=STARTS)
def test_zeros_that_a_gradient_moves_are_a_start(tmp_path, made, line):
    assert traced(tmp_path, own(made, line)).ok


FLAT = {
    "a threshold": ({"cut": "zeros"}, ["return jnp.where(x > self.cut.value, x, 0.0)"], "cut", "Greater"),
    "rounding": ({"a": "he_uniform"}, ["return x + jnp.round(x @ self.a.value)"], "a", "Round"),
    "a sign": ({"a": "he_uniform"}, ["return x * jnp.sign(x @ self.a.value)"], "a", "Sign"),
}


@pytest.mark.parametrize(("made", "lines", "weight", "step"), FLAT.values(), ids=FLAT)
def test_no_gradient_passes_through_what_has_no_slope(tmp_path, made, lines, weight, step):
    (finding,) = serious(traced(tmp_path, own(made, *lines)))
    assert (finding.rule, finding.fact.weights, finding.fact.step.op) == ("weights-untrained", (weight,), step)
    assert not finding.fixes


ROUTED = ["probs = jax.nn.softmax(x @ self.a.value, axis=-1)", "chosen = jax.nn.one_hot(jnp.argmax(probs, axis=-1), x.shape[-1])", "return x + {}"]


def test_a_choice_is_weighted_by_its_probability(tmp_path):
    code = own({"a": "he_uniform"}, *ROUTED[:2], ROUTED[2].format("x * chosen"))
    (finding,) = serious(traced(tmp_path, code))
    assert (finding.rule, finding.fact.step.op) == ("weights-untrained", "ArgMax")
    assert "+        chosen = jax.nn.one_hot(jnp.argmax(probs, axis=-1), x.shape[-1]) * probs" in first(tmp_path, code)


RIGHT = {
    "a weighted choice": ({"a": "he_uniform"}, [*ROUTED[:2], ROUTED[2].format("x * chosen * probs")]),
    "the largest scores": ({"a": "he_uniform"}, ["best, _ = jax.lax.top_k(x @ self.a.value, 2)", "return x * jnp.sum(best, -1, keepdims=True)"]),
    "straight through": ({"a": "he_uniform"}, ["h = x @ self.a.value", "return h + jax.lax.stop_gradient(jnp.round(h) - h)"]),
    "stopped by name": ({"a": "he_uniform"}, ["return x + jax.lax.stop_gradient(x @ self.a.value)"]),
    "a codebook": (
        {"a": "he_uniform"},
        ["near = jnp.argmin(jnp.sum((x[:, None] - self.a.value) ** 2, -1), -1)", "return x + jax.lax.stop_gradient(jnp.take(self.a.value, near, axis=0) - x)"],
    ),
    "never read": ({"a": "zeros", "b": "zeros"}, ["return x"]),
    "in a scan": ({"a": "he_uniform"}, ["step = lambda h, _: (jnp.tanh(h @ self.a.value), None)", "return jax.lax.scan(step, x, None, length=3)[0]"]),
    "recomputed": ({"a": "he_uniform"}, ["return jax.checkpoint(lambda x, a: x @ a)(x, self.a.value)"]),
}  # fmt: skip


@pytest.mark.parametrize(("made", "lines"), RIGHT.values(), ids=RIGHT)
def test_what_is_meant_or_trained_is_not_reported(tmp_path, made, lines):
    assert traced(tmp_path, own(made, *lines)).ok


TEACHER = """
class Distilled(keras.Model):
    def __init__(self):
        super().__init__()
        self.student, self.teacher = layers.Dense(3), layers.Dense(3)
    def call(self, x):
        return self.student(x)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        hard = jnp.argmax(self.teacher(x), axis=-1)
        return jnp.mean(keras.losses.sparse_categorical_crossentropy(hard, y_pred, from_logits=True))
def build():
    model = Distilled()
    model.teacher.build((None, 6))
    model.compile("sgd")
    return model
def data():
    return np.zeros((64, 6), "float32"), np.zeros((64,), "int32")
"""


def test_labels_that_a_teacher_chooses_train_no_teacher(tmp_path):
    assert traced(tmp_path, TEACHER).ok


ROTATED = """
class Adapted(keras.Model):
    def __init__(self):
        super().__init__()
        self.base = layers.Dense(6, trainable=False)
        self.a = self.add_weight(shape=(6, 2), initializer="zeros", name="a")
        self.b = self.add_weight(shape=(2, 6), initializer="zeros", name="b")
        if FILLED:
            self.a.assign(np.ones((6, 2), "float32"))
    def call(self, x):
        return self.base(x) + (x @ self.a.value) @ self.b.value
def build():
    model = Adapted()
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((64, 6), "float32"), np.zeros((64, 6), "float32")
"""


def test_weights_of_the_model_itself_and_values_that_were_assigned(tmp_path):
    (finding,) = serious(traced(tmp_path, "FILLED = False\n" + ROTATED))
    assert finding.message.startswith("a and b both start at zero")
    assert traced(tmp_path, "FILLED = True\n" + ROTATED).ok
