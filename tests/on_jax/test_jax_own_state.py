"""State of a program's own on JAX: a loop's carry, a cell's list of states, the arguments of an optimizer, a key that is kept, and new values in a method of the step."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from strangers import first, serious, traced

from jupyter_tpushape.examine.program import Examined, Program
from jupyter_tpushape.sources.values import LeafSpec

SCAN = """
class Cell(layers.Layer):
    def __init__(self):
        super().__init__(dtype="mixed_bfloat16")
        self.enter, self.recur = layers.Dense(24, dtype="mixed_bfloat16"), layers.Dense(24, dtype="mixed_bfloat16")
    def build(self, shape):
        self.enter.build(shape), self.recur.build((shape[0], 24))
        self.built = True
    def call(self, x):
        u = jnp.swapaxes(self.enter(x), 0, 1)
        def step(h, ut):
            h = jnp.tanh(ut + self.recur(h))
            return h, h
        h, hs = jax.lax.scan(step, jnp.zeros((x.shape[0], 24){dtype}), u)
        return jnp.swapaxes(hs, 0, 1)
def build():
    model = keras.Sequential([keras.Input((15, 6)), Cell(), layers.Dense(2, dtype="float32")])
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((32, 15, 6), "float32"), np.zeros((32, 15, 2), "float32")
"""


def test_no_order_of_parameters_mends_the_dtype_of_a_state(tmp_path):
    (finding,) = serious(traced(tmp_path, SCAN.format(dtype="")))
    assert (type(finding.fact).__name__, finding.fact.shapes) == ("CarryApart", False)
    assert finding.fixes[0].proof == "source"
    assert not any("def step(ut, h)" in fix.patch for fix in finding.fixes)
    assert not serious(traced(tmp_path, SCAN.format(dtype=", u.dtype")))


CELL = """
class Cell(layers.Layer):
    def __init__(self):
        super().__init__()
        self.state_size = {size}
    def build(self, shape):
        self.w, self.u = self.add_weight(shape=(shape[-1], 20)), self.add_weight(shape=(20, 20))
    def call(self, inputs, states):
        h = jnp.tanh(jnp.dot(inputs, self.w.value) + {product})
        return h, {back}
def build():
    inputs = keras.Input((12, 5))
    model = keras.Model(inputs, layers.Dense(1)(layers.RNN(Cell())(inputs)))
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((48, 12, 5), "float32"), np.zeros((48, 1), "float32")
"""


def cell(product, size="20", back="[h]"):
    return CELL.format(product=product, size=size, back=back)


@pytest.mark.parametrize("product", ["jnp.dot(states, self.u.value)", "jnp.matmul(jnp.tanh(states), self.u.value)"])
def test_a_cell_computes_with_its_state_and_not_with_the_list_of_it(tmp_path, product):
    (finding,) = serious(traced(tmp_path, cell(product)))
    assert (type(finding.fact).__name__, finding.fact.states, finding.fact.cell.op) == ("ListGiven", 1, "RNN")
    assert finding.fixes[0].proof == "source"
    assert "states[0]" in finding.fixes[0].patch
    assert not serious(traced(tmp_path, cell(product.replace("states", "states[0]"))))


def test_which_of_two_states_is_meant_is_not_known(tmp_path):
    (finding,) = serious(traced(tmp_path, cell("jnp.dot(states, self.u.value)", "[20, 20]", "[h, h]")))
    assert (type(finding.fact).__name__, finding.fact.states, [*finding.fixes]) == ("ListGiven", 2, [])


STEP = """
class Net(keras.Model):
    def loss_of(self, tv, ntv, x, y):
        {call}
        return self.compute_loss(x, y, y_pred), (y_pred, ntv)
    def train_step(self, state, data):
        tv, ntv, ov, mv = state
        (loss, (y_pred, ntv)), grads = jax.value_and_grad(self.loss_of, has_aux=True)(tv, ntv, *data)
        tv, ov = self.optimizer.stateless_apply({given})
        return {{"value": loss}}, (tv, ntv, ov, mv)
def build():
    inputs = keras.Input((10,))
    model = Net(inputs, layers.Dense(1)(layers.BatchNormalization()(layers.Dense(24)(inputs))))
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((64, 10), "float32"), np.zeros((64, 1), "float32")
"""
KEPT = "y_pred, ntv = self.stateless_call(tv, ntv, x, training=True)"


@pytest.mark.parametrize(("given", "fixed"), [
    ("tv, grads, ov", "stateless_apply(ov, grads, tv)"), ("grads, ov, tv", "stateless_apply(ov, grads, tv)"),
    ("ov, tv, grads", "stateless_apply(ov, grads, tv)"),
    ("optimizer_variables=tv, grads=grads, trainable_variables=ov", "(optimizer_variables=ov, grads=grads, trainable_variables=tv)"),
])  # fmt: skip
def test_the_arguments_of_an_optimizer_are_known_by_what_they_are(tmp_path, given, fixed):
    (finding,) = serious(traced(tmp_path, STEP.format(call=KEPT, given=given)))
    assert (finding.rule, sorted(finding.fact.order)) == ("gradients-swapped", ["grads", "optimizer_variables", "trainable_variables"])
    assert finding.fixes[0].proof == "source"
    assert fixed in finding.fixes[0].patch
    assert not serious(traced(tmp_path, STEP.format(call=KEPT, given="ov, grads, tv")))


@pytest.mark.parametrize("name", ["_", "fresh"])
def test_a_method_of_the_step_returns_the_new_values(tmp_path, name):
    dropped = STEP.format(call=KEPT.replace(", ntv =", f", {name} ="), given="ov, grads, tv")
    (finding,) = serious(traced(tmp_path, dropped))
    assert type(finding.fact).__name__ == "StateDropped"
    assert finding.fixes[0].proof == "source"
    assert KEPT in finding.fixes[0].patch


NOISE = """
class Noise(layers.Layer):
    def __init__(self):
        super().__init__()
        self.key = {made}
    def call(self, x, training=False):
        return x + jax.random.normal({key}, x.shape) if training else x
def build():
    model = keras.Sequential([keras.Input((12,)), Noise(), layers.Dense(1)])
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((64, 12), "float32"), np.zeros((64, 1), "float32")
"""


@pytest.mark.parametrize("made", ["jax.random.PRNGKey(42)", "jax.random.key(0)"])
def test_a_key_that_a_layer_keeps_becomes_a_seed_generator(tmp_path, made):
    text = first(tmp_path, NOISE.format(made=made, key="self.key"), "fixed-random")
    assert "jax.random.normal(self.seed_generator.next(), x.shape)" in text
    assert not serious(traced(tmp_path, NOISE.format(made="keras.random.SeedGenerator(0)", key="self.key.next()")))


MASKED = """
class Position(layers.Layer):
    def __init__(self):
        super().__init__()
        {more}
    def call(self, x{mask}):
        return x + ops.arange(x.shape[1], dtype=x.dtype)[:, None]
def build():
    tokens = keras.Input((20,), dtype="int32")
    x = {end}(Position()(layers.Embedding(50, 8, mask_zero={zero})(tokens)))
    model = keras.Model(tokens, layers.Dense(1)(x))
    model.compile("adam", "mse")
    return model
def data():
    return np.ones((32, 20), "int32"), np.zeros((32, 1), "float32")
"""


def masked(more="pass", mask="", end="layers.LSTM(8)", zero=True):
    return MASKED.format(more=more, mask=mask, end=end, zero=zero)


def test_a_mask_that_a_layer_drops_is_a_note(tmp_path):
    report = traced(tmp_path, masked())
    (finding,) = [one for one in report.findings if one.rule == "mask-lost"]
    assert (finding.severity, finding.fact.layer.op, finding.fact.reader.op) == ("note", "Position", "LSTM")
    assert [name.partition("_")[0] for name in finding.fact.makers] == ["embedding"]


@pytest.mark.parametrize("program", [
    masked(more="self.supports_masking = True"), masked(zero=False), masked(mask=", mask=None"), masked(end="layers.Flatten()"),
])  # fmt: skip
def test_a_mask_that_is_passed_on_or_that_nothing_reads_is_none(tmp_path, program):
    assert not [one for one in traced(tmp_path, program).findings if one.rule == "mask-lost"]


@pytest.mark.parametrize(("open_axes", "shape"), [(False, (16, 12)), (True, None)])
def test_a_batch_tells_the_rank_that_a_pipeline_does_not_declare(open_axes, shape):
    adapter = SimpleNamespace(backend=SimpleNamespace(open_axes=open_axes))
    seen = Examined(SimpleNamespace(split=None), Program(None), None, adapter=adapter)
    assert seen.shape_of()(LeafSpec(None, "float32", "dense", (16, 12))) == shape
