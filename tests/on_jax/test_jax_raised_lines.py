"""Lines that raise on JAX: labels as indices in a loss, the pair of a stateless call, the axes that a product names, kernels of grouped convolutions."""

from __future__ import annotations

import pytest
from strangers import AROUND, serious, traced

LOSS = """
WEIGHTS = np.array([1.0, 4.0, 2.5, 0.5], "float32")
def weighted(y_true, y_pred):
    return {weights} * keras.losses.sparse_categorical_crossentropy(y_true, y_pred)
def build():
    model = keras.Sequential([keras.Input((10,)), layers.Dense(4, activation="softmax")])
    model.compile("adam", weighted)
    return model
def data():
    return np.zeros((64, 10), "float32"), np.arange(64).reshape(64, 1) % 4
"""
LOOKUPS = {
    "jnp.asarray(WEIGHTS)[y_true[:, 0]]": 'jnp.asarray(WEIGHTS)[ops.cast(y_true[:, 0], "int32")]',
    "jnp.array(WEIGHTS)[jnp.squeeze(y_true, -1)]": 'jnp.array(WEIGHTS)[ops.cast(jnp.squeeze(y_true, -1), "int32")]',
    "jnp.take(jnp.asarray(WEIGHTS), y_true[:, 0])": 'jnp.take(jnp.asarray(WEIGHTS), ops.cast(y_true[:, 0], "int32"))',
}


@pytest.mark.parametrize("text", LOOKUPS)
def test_labels_that_keras_cast_are_cast_back_for_a_lookup(tmp_path, text):
    (finding,) = serious(traced(tmp_path, LOSS.format(weights=text)))
    assert (finding.rule, finding.fact.parameter, finding.fact.came) == ("dtype-mix", "indices", "int64")
    assert finding.fixes[0].proof == "source" and LOOKUPS[text] in finding.fixes[0].patch


def test_labels_that_are_cast_are_looked_up(tmp_path):
    assert not serious(traced(tmp_path, LOSS.format(weights=LOOKUPS["jnp.asarray(WEIGHTS)[y_true[:, 0]]"])))


PRODUCT = """
class Own(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=({rows}), name="w")
    def call(self, x):
        return jax.lax.dot_general(x, self.w.value, {numbers})
"""
NUMBERS = {
    "the other axis": ("shape[-1], 24", "(((2,), (1,)), ((), ()))", "(((2,), (0,)), ((), ()))"),
    "by name": ("shape[-1], 24", "dimension_numbers=(((2,), (1,)), ((), ()))", "dimension_numbers=(((2,), (0,)), ((), ()))"),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_a_product_sums_over_the_axis_of_the_width_that_arrives(tmp_path, case):
    rows, wrong, right = NUMBERS[case]
    (finding,) = serious(traced(tmp_path, PRODUCT.format(rows=rows, numbers=wrong) + AROUND.format(shape=(10, 16), rows="10, ")))
    assert finding.fixes[0].proof == "source" and right in finding.fixes[0].patch
    assert not serious(traced(tmp_path, PRODUCT.format(rows=rows, numbers=right) + AROUND.format(shape=(10, 16), rows="10, ")))


STEP = """
class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.d, self.n = layers.Dense(3), layers.BatchNormalization()
        self.loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    def call(self, x, training=False):
        return self.d(self.n(x, training=training))
    def compute(self, tv, ntv, x, y):
        {names} = self.stateless_call(tv, ntv, x, training=True)
        return self.loss_fn(y, logits), ntv
    def train_step(self, state, data):
        tv, ntv, ov, mv = state
        x, y = data
        (loss, ntv), grads = jax.value_and_grad(self.compute, has_aux=True)(tv, ntv, x, y)
        tv, ov = self.optimizer.stateless_apply(ov, grads, tv)
        return {{"loss": loss}}, (tv, ntv, ov, mv)
def build():
    model = Own()
    model.compile(optimizer="adam")
    return model
def data():
    return np.zeros((32, 11), "float32"), np.arange(32) % 3
"""


def test_the_pair_of_a_stateless_call_is_no_prediction(tmp_path):
    finding = serious(traced(tmp_path, STEP.format(names="logits")))[0]
    assert type(finding.fact).__name__ == "StatefulPair"
    assert finding.fixes[0].proof == "source" and "+        logits, ntv = self.stateless_call" in finding.fixes[0].patch
    assert not serious(traced(tmp_path, STEP.format(names="logits, ntv")))


KERNEL = """
class Own(layers.Layer):
    def build(self, shape):
        self.k = self.add_weight(shape=(3, 3, {channels}), name="k")
    def call(self, x):
        return jax.lax.conv_general_dilated(
            x, self.k.value, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=x.shape[-1]
        )
"""


def test_a_kernel_of_groups_is_not_told_that_the_channels_come_first(tmp_path):
    (finding,) = serious(traced(tmp_path, KERNEL.format(channels="shape[-1], 1") + AROUND.format(shape=(9, 8, 6), rows="9, 8, ")))
    assert type(finding.fact).__name__ != "ConvolvedFirst"
    assert finding.fixes[0].proof == "source" and "shape=(3, 3, 1, shape[-1])" in finding.fixes[0].patch
    assert not serious(traced(tmp_path, KERNEL.format(channels="1, shape[-1]") + AROUND.format(shape=(9, 8, 6), rows="9, 8, ")))


BUFFER = """
class Own(layers.Layer):
    def call(self, x):
        {made}
        for i in range(x.shape[1] // 2):
            part = x[:, 2 * i:2 * i + 2]
            {filled}
        return x[:, :1] * ops.sum(ops.convert_to_tensor(out), axis=1, keepdims=True)
"""
NET = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.own, self.last = layers.Dense(6), Own(), layers.Dense(1)
    def call(self, x):
        return self.last(self.own(self.first(x)))
def build():
    model = Net()
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((64, 10, 8), "float32"), np.zeros((64, 1, 1), "float32")
"""
BUFFERS = {
    "zeros": ("out = np.zeros((x.shape[0] or 1, 5, 6), dtype='float32')", "out[:, i] = ops.sum(part, axis=1)"),
    "empty": ("out = np.empty((len(x), 5, 6))", "out[:, i, :] = jnp.max(part, axis=1)"),
    "two lines": ("out = np.zeros((32, 5, 6))", "out[:, i, :3] = part[:, 0, :3]\n            out[:, i, 3:] = part[:, 1, 3:]"),
}


@pytest.mark.parametrize("case", BUFFERS)
def test_an_array_of_numpy_that_takes_tensors_becomes_one_of_jax(tmp_path, case):
    made, filled = BUFFERS[case]
    finding = serious(traced(tmp_path, BUFFER.format(made=made, filled=filled) + NET))[0]
    assert finding.rule == "value-asked" and finding.fixes[0].proof == "source"
    assert "+        out = jnp." in finding.fixes[0].patch and "+            out = out.at[:, i" in finding.fixes[0].patch


def test_an_array_of_numpy_may_take_numbers(tmp_path):
    code = BUFFER.format(made="out = np.zeros((1, 5, 6), 'float32')", filled="out[:, i] = i / 5 + part.shape[1]")
    assert not serious(traced(tmp_path, code + NET))


FLAT = """
import math
class Own(layers.Layer):
    def build(self, {name}):
        self.flat = {size}
        self.w = self.add_weight(shape=(self.flat, 5), name="w")
    def call(self, x):
        return jnp.reshape(x, (x.shape[0], self.flat)) @ self.w.value
    def compute_output_shape(self, shape):
        return (shape[0], 5)
"""
SIZES = [("input_shape", "int(np.prod({}))"), ("shape", "math.prod({})"), ("in_shape", "np.prod({})")]


@pytest.mark.parametrize(("name", "size"), SIZES)
def test_the_size_of_a_sample_is_computed_without_the_batch(tmp_path, name, size):
    around = AROUND.format(shape=(4, 4, 2), rows="")
    finding = serious(traced(tmp_path, FLAT.format(name=name, size=size.format(name)) + around))[0]
    assert finding.fixes[0].proof == "source" and size.format(f"{name}[1:]") in finding.fixes[0].patch
    assert not serious(traced(tmp_path, FLAT.format(name=name, size=size.format(f"{name}[1:]")) + around))


PARTS = """
class Own(layers.Layer):
    def __init__(self, f=4):
        super().__init__()
        self.a = layers.Dense(f)
        self.c = layers.Dense(f)
        self.b = layers.Dense({width})
    def call(self, x):
        {value}
"""
WIDTHS = {
    "stack": ("2 * f", "return jnp.stack([self.a(x), self.c(x), self.b(x)], axis=-1)[..., 0]", "f instead of 2 * f"),
    "stack of two": ("f - 1", "return ops.stack([self.a(x), self.b(x)], axis=1)[:, 0]", "f instead of f - 1"),
    "split": ("f + f // 2", "p, q = ops.split(self.b(x), [4], axis=-1); return p * ops.sigmoid(q)", "8 instead of f + f // 2"),
}


@pytest.mark.parametrize("case", WIDTHS)
def test_parts_that_must_be_alike_get_one_width(tmp_path, case):
    width, value, said = WIDTHS[case]
    around = AROUND.format(shape=(6,), rows="")
    finding = serious(traced(tmp_path, PARTS.format(width=width, value=value) + around))[0]
    assert finding.rule == "op-shapes" and "They must be equal" in finding.why and "The error:" not in finding.why
    assert said in finding.fixes[0].title and finding.fixes[0].proof == "source"
    twin = "2 * f" if case == "split" else "f"
    assert not serious(traced(tmp_path, PARTS.format(width=twin, value=value) + around))


PADS = {
    "(6, 4)": ("((0, 0), (2, 0))", "((0, 0), (2, 0), (0, 0))", "8, "),
    "(7, 4)": ("((2, 0), (0, 0))", "((0, 0), (2, 0), (0, 0))", "9, "),
    "(6, 5, 4)": ("((1, 1), (1, 1))", "((0, 0), (1, 1), (1, 1), (0, 0))", "8, 7, "),
}
PADDED = """
class Own(layers.Layer):
    def call(self, x):
        return jnp.pad(x, {pairs})
"""


@pytest.mark.parametrize("shape", PADS)
def test_a_padding_has_a_pair_for_each_axis(tmp_path, shape):
    old, new, rows = PADS[shape]
    around = AROUND.format(shape=shape, rows=rows)
    finding = serious(traced(tmp_path, PADDED.format(pairs=old) + around))[0]
    assert "2 pairs" in finding.why and finding.fixes[0].proof == "source" and f"jnp.pad(x, {new})" in finding.fixes[0].patch
    assert not serious(traced(tmp_path, PADDED.format(pairs=new) + around))


BLOCK = """
class Block(layers.Layer):
    def __init__(self, filters, stride=1):
        super().__init__()
        self.one = layers.Conv1D(filters, 3, strides=stride, padding="same", activation="relu")
        self.two = layers.Conv1D(filters, 3, padding="same")
        self.add = layers.Add()
    def call(self, x):
        return {value}
def build():
    inputs = keras.Input((16, 3))
    x = layers.Conv1D(8, 3, padding="same")(inputs)
    x = Block(24, stride=4)(Block(8)(x))
    model = keras.Model(inputs, layers.Dense(1)(layers.GlobalMaxPooling1D()(x)))
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((64, 16, 3), "float32"), np.zeros((64, 1), "float32")
"""


@pytest.mark.parametrize("value", ["self.add([x, self.two(self.one(x))])", "ops.relu(x + self.two(self.one(x)))"])
def test_the_shortcut_of_every_block_is_projected_with_its_own_stride(tmp_path, value):
    patch = serious(traced(tmp_path, BLOCK.format(value=value)))[0].fixes[0].patch
    assert "+        self.project = layers.Conv1D(filters, kernel_size=1, strides=stride)" in patch and patch.count("\n+") == 3


GATE = """
class Own(layers.Layer):
    def __init__(self, units=6):
        super().__init__()
        self.dense = layers.Dense(units)
    def build(self, shape):
        self.dense.build(shape)
    def call(self, x):
        return jax.lax.cond(jnp.max(x) > 1, {branches}, x)
def build():
    inputs = keras.Input((10, 6))
    model = keras.Model(inputs, layers.Dense(1)(layers.Flatten()(Own({units})(inputs))))
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((64, 10, 6), "float32"), np.zeros((64, 1), "float32")
"""


@pytest.mark.parametrize("branches", ["lambda v: self.dense(v), lambda v: v", "lambda v: v, lambda v: jnp.tanh(self.dense(v))"])
def test_a_branch_is_as_wide_as_what_the_other_returns(tmp_path, branches):
    finding = serious(traced(tmp_path, GATE.format(branches=branches, units="units=9")))[0]
    assert finding.fixes[0].proof == "source" and "Own(units=6)" in finding.fixes[0].patch
    assert not serious(traced(tmp_path, GATE.format(branches=branches, units="")))
