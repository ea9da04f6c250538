"""Loops, states and sizes on JAX: what a step returns, a table that a tensor is the index of, states in a list too many, parts of a state."""

from __future__ import annotations

import pytest
from strangers import AROUND, first, serious, traced

RECURRENT = """
class Own(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 6))
    def compute_output_shape(self, shape):
        return shape[0], 6
    def call(self, x):
        w, start = self.w.value, jnp.zeros((x.shape[0], 6))
        {step}
        {loop}
"""
SCAN = "h, ys = jax.lax.scan(step, {start}, jnp.swapaxes(x, 0, 1))\n        return {end}"
FORI = "return jax.lax.fori_loop(0, 3, step, start)"


@pytest.mark.parametrize(("step", "loop", "fixed"), [
    ("def step(h, xt):\n            h = jnp.tanh(xt @ w + h)\n            return h", SCAN.format(start="start", end="h"), "return h, None"),
    ("def step(h, xt):\n            h = jnp.tanh(xt @ w + h)\n            return h", SCAN.format(start="start", end="ys[-1]"), "return h, h"),
    ("step = lambda h, xt: jnp.tanh(xt @ w + h)", SCAN.replace("step", "lambda h, xt: jnp.tanh(xt @ w + h)").format(start="start", end="h"), "(jnp.tanh(xt @ w + h), None)"),
    ("def step(s, xt):\n            h, c = s\n            c = jnp.tanh(xt @ w + c)\n            h = h + c\n            return h, c, h", SCAN.format(start="(start, start)", end="h[0]"), "return (h, c), h"),
    ("def step(s, xt):\n            h, c = s\n            c = jnp.tanh(xt @ w + c)\n            h = h + c\n            return [h, c], h", SCAN.format(start="(start, start)", end="h[0]"), "return (h, c), h"),
    ("def step(s, xt):\n            h, c = s\n            c = jnp.tanh(xt @ w + c)\n            h = h + c\n            return h, h", SCAN.format(start="(start, start)", end="h[0]"), "return (h, c), h"),
    ("def step(i, h):\n            return i + 1, jnp.tanh(x[:, 0] @ w + h)", FORI, "return jnp.tanh(x[:, 0] @ w + h)"),
    ("def step(i, s):\n            h, c = s\n            h = jnp.tanh(x[:, 0] @ w + c)\n            return h", FORI.replace("start)", "(start, start))[0]"), "return h, c"),
])  # fmt: skip
def test_a_step_of_a_loop_returns_what_it_receives(tmp_path, step, loop, fixed):
    code = RECURRENT.format(step=step, loop=loop) + AROUND.format(shape=(5, 4), rows="")
    assert f"+{fixed}" in first(tmp_path, code, "op-shapes").replace(" " * 12, "").replace("+" + " " * 8 + "h, ys", "+h, ys") or fixed in first(
        tmp_path, code, "op-shapes"
    )


@pytest.mark.parametrize(("step", "loop", "said"), [
    ("def step(s):\n            return jnp.tanh(s[1])", "return jax.lax.while_loop(lambda s: s[0] < 3, step, (0, x[:, 0] @ w))[1]", "returns one tensor, but it receives a tuple"),
    ("h = x[:, 0] @ w", "return jax.lax.cond(jnp.mean(h) > 0, lambda h: (h, h), lambda h: h, h)", "return a tuple and one tensor"),
])  # fmt: skip
def test_where_the_text_does_not_say_what_a_step_should_return_nothing_is_offered(tmp_path, step, loop, said):
    (finding,) = serious(traced(tmp_path, RECURRENT.format(step=step, loop=loop) + AROUND.format(shape=(5, 4), rows="")))
    assert said in finding.message
    assert not finding.fixes


NOISE = """
TABLE = {table}
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.seeds = keras.random.SeedGenerator(0)
    def call(self, x):
        t = keras.random.randint((x.shape[0],), 0, 5, seed=self.seeds)
        return x * TABLE[t{more}][:, None]
"""


@pytest.mark.parametrize(
    ("table", "more"), [("np.linspace(0, 1, 5).astype('float32')", ""), ("[0.1, 0.2, 0.3, 0.4, 0.5]", ""), ("np.ones((5, 2), 'float32')", ", 0")]
)
def test_a_table_that_a_tensor_is_the_index_of_becomes_a_tensor(tmp_path, table, more):
    patch = first(tmp_path, NOISE.format(table=table, more=more) + AROUND.format(shape=(4,), rows=""), "value-asked")
    assert f"ops.convert_to_tensor(TABLE)[t{more}]" in patch


def test_layers_that_a_tensor_is_the_index_of_are_no_table(tmp_path):
    code = NOISE.format(table="[layers.Dense(2), layers.Dense(2), layers.Dense(2), layers.Dense(2), layers.Dense(2)]", more="")
    assert not any(
        "convert_to_tensor" in fix.patch for finding in serious(traced(tmp_path, code + AROUND.format(shape=(4,), rows=""))) for fix in finding.fixes
    )


DECODER = """
class Decoder(layers.Layer):
    def __init__(self):
        super().__init__()
        self.cell, self.dense = layers.{cell}(16), layers.Dense(3)
    def call(self, x, h):
        outputs = []
        for _ in range(4):
            y, {taken} = self.cell(x, {given})
            x = self.dense(y)
            outputs.append(x{used})
        return ops.stack(outputs, axis=1)

def build():
    inputs = keras.Input((9, 3))
    _, *states = layers.{layer}(16, return_state=True)(inputs)
    model = keras.Model(inputs, Decoder()(inputs[:, -1], {start}))
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((64, 9, 3), "float32"), np.zeros((64, 4, 3), "float32")
"""


@pytest.mark.parametrize(("cell", "layer", "start", "given", "used", "fixed"), [
    ("GRUCell", "GRU", "states[0]", "[h]", "", "y, [h] = self.cell(x, [h])"),
    ("GRUCell", "GRU", "states[0]", "[h]", " + h[:, :3]", "y, [h] = self.cell(x, [h])"),
    ("LSTMCell", "LSTM", "states", "[h]", "", "y, h = self.cell(x, h)"),
])  # fmt: skip
def test_the_states_that_a_cell_returns_are_a_list_already(tmp_path, cell, layer, start, given, used, fixed):
    assert fixed in first(tmp_path, DECODER.format(cell=cell, layer=layer, start=start, given=given, used=used, taken="h"), "rnn-states")
    right = DECODER.format(cell=cell, layer=layer, start="states", given="h", used="", taken="h")
    assert not serious(traced(tmp_path, right))


FEEDBACK = """
class FeedBack(keras.Model):
    def __init__(self):
        super().__init__()
        self.cell, self.dense = layers.GRUCell(16), layers.Dense(4)
        self.warm = layers.RNN(self.cell, return_state=True)
    def call(self, x):
        x, *state = self.warm(x)
        first = self.dense(x)
        x, state = self.cell(first, {given})
        return ops.stack([first, self.dense(x)], axis=1)

def build():
    model = FeedBack()
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((64, 9, 4), "float32"), np.zeros((64, 2, 4), "float32")
"""


def test_a_cell_that_a_layer_runs_in_a_loop_may_be_called_again(tmp_path):
    assert not serious(traced(tmp_path, FEEDBACK.format(given="state")))
    assert "self.cell(first, state)" in first(tmp_path, FEEDBACK.format(given="[state]"), "rnn-states")


OWN_LOSS = """
class M(keras.Model):
    def __init__(self):
        super().__init__()
        {init}
        self.a, self.b = layers.Dense(4), layers.Dense(1)
    def call(self, x):
        return {result}
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        {lines}

def build():
    model = M()
    model.compile("sgd")
    return model

def data():
    return np.zeros((64, 6), "float32"), np.ones((64, 5), "int32")
"""
COUNT = (
    "lengths = ops.sum(ops.cast(y > 0, 'int32'), axis=1)\n        longest = ops.max(lengths)\n        mask = ops.arange(longest)[None] < lengths[:, None]\n"
    "        return ops.mean(ops.where(mask, ops.cast(y[:, :longest], 'float32') - y_pred[:, :1], 0.0) ** 2)"
)
PAIRS = (
    "z = ops.concatenate([y_pred, y_pred + 1])\n        b = y_pred.shape[0]\n        s = z @ z.T\n        s = s - jnp.eye(b)\n"
    "        t = jnp.concatenate([jnp.arange(b) + b, jnp.arange(b)])\n        return ops.mean(keras.losses.sparse_categorical_crossentropy(t, s, from_logits=True))"
)
QUEUE = "self.queue = jnp.concatenate([self.queue[8:], y_pred[:8]])\n        return ops.mean((y_pred @ self.queue.T) ** 2)"


@pytest.mark.parametrize(("init", "result", "lines", "rule", "fixed"), [
    ("pass", "self.a(x)", COUNT, "value-asked", "longest = y.shape[1]"),
    ("self.queue = jax.random.normal(jax.random.key(0), (32, 4))", "self.a(x)", QUEUE, "state-lost", 'keras.Variable(jax.random.normal(jax.random.key(0), (32, 4)), trainable=False, name="queue")'),
    ("pass", "self.a(x)", "g = jax.grad(lambda t: self.b(t))(y_pred)\n        return ops.mean(g ** 2)", "op-shapes", "ops.sum("),
    ("pass", "self.a(x)", PAIRS, "loss-raises", "jnp.eye(s.shape[0])"),
])  # fmt: skip
def test_what_a_loss_of_the_models_own_computes(tmp_path, init, result, lines, rule, fixed):
    assert fixed in first(tmp_path, OWN_LOSS.format(init=init, result=result, lines=lines), rule)


def test_a_loss_of_the_models_own_that_no_weight_has_a_part_in(tmp_path):
    (finding,) = serious(traced(tmp_path, OWN_LOSS.format(init="pass", result="self.a(x)", lines="return ops.mean((ops.cast(y[:, :1], 'float32') - x) ** 2)")))
    assert (finding.rule, finding.severity) == ("no-gradient", "error")
    assert not serious(
        traced(tmp_path, OWN_LOSS.format(init="pass", result="self.a(x)", lines="return ops.mean((ops.cast(y[:, :1], 'float32') - y_pred) ** 2)"))
    )


CENTER = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.center = np.zeros((1, 6), "float32")
    def call(self, x, training=None):
        if training:
            self.center = 0.9 * self.center + 0.1 * jnp.mean(x, axis=0, keepdims=True)
        return x - self.center
"""
PUT = """
class Own(layers.Layer):
    def call(self, x):
        kept = jnp.zeros((x.shape[0], 3, 2))
        for t in range(3):
            kept = kept.at[:, t].set(x[:, t:t + 1, :2])
        return kept
"""


def test_an_array_of_numpys_that_a_step_overwrites_is_lost(tmp_path):
    assert "self.center.assign(" in first(tmp_path, CENTER + AROUND.format(shape=(4,), rows=""), "state-lost")


def test_what_is_put_into_a_place_is_taken_with_an_index(tmp_path):
    assert "x[:, t, :2]" in first(tmp_path, PUT + AROUND.format(shape=(3, 4), rows="3, "), "op-shapes")


ATTENDED = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.q, self.kv = layers.Dense(8), layers.Dense(16)
    def call(self, x):
        heads = lambda t: jnp.transpose(jnp.reshape(t, (-1, t.shape[1], 2, 4)), (0, 2, 1, 3))
        k, v = jnp.split(self.kv(jnp.concatenate([x, x[:, :1]], axis=1)), 2, axis=-1)
        q, k, v = heads(self.q(x)), heads(k), heads(v)
        o = jax.nn.dot_product_attention(q, k, v)
        {end}
"""


@pytest.mark.parametrize(("end", "turned"), [
    ("return jnp.reshape(o, (-1, x.shape[1], 8))", False),
    ("o = jnp.transpose(o, (0, 2, 1, 3))\n        return jnp.reshape(o, (-1, x.shape[1], 8))", True),
])  # fmt: skip
def test_heads_before_steps_are_turned_and_joined_as_the_text_joins_them(tmp_path, end, turned):
    patch = first(tmp_path, ATTENDED.format(end=end) + AROUND.format(shape=(5, 3), rows="5, "), "code-raises")
    assert "ops.transpose(q, (0, 2, 1, 3))" in patch
    assert ("o = ops.transpose(jax.nn" in patch) is turned
