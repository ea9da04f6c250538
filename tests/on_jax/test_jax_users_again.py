"""More programs as users of Keras on JAX write them, each with the fix in their own line, and those that look alike and are right."""

from __future__ import annotations

import pytest
from strangers import AROUND, traced

import jupyter_tpushape as tpushape


def own(call, shape=(4,), init="pass"):
    text = f"class Own(layers.Layer):\n    def __init__(self):\n        super().__init__()\n        {init}\n    def call(self, x):\n"
    body = "".join(f"        {line}\n" for line in call)
    return "import jax\nimport jax.numpy as jnp\n" + text + body + AROUND.format(shape=shape, rows=f"{shape[0]}, " if len(shape) > 1 else "")


def only(tmp_path, code):
    (finding,) = [one for one in traced(tmp_path, code).findings if one.serious]
    return finding


CHOICES = {
    "an if": (["norm = jnp.sum(x)", "if norm > 10.0:", "    x = x / norm", "return x"], "x = keras.ops.where(norm > 10.0, x / norm, x)"),
    "an if that adds": (["if jnp.mean(x) > 0:", "    x += 1.0", "return x"], "x = keras.ops.where(jnp.mean(x) > 0, x + 1.0, x)"),
    "two branches": (["if jnp.mean(x) > 0:", "    y = x * 2", "else:", "    y = -x", "return y"], "y = keras.ops.where(jnp.mean(x) > 0, x * 2, -x)"),
    "two returns": (["if jnp.mean(x) > 0:", "    return x * 2", "else:", "    return x"], "return keras.ops.where(jnp.mean(x) > 0, x * 2, x)"),
    "an expression": (["return x * 2 if jnp.mean(x) > 0 else x"], "return keras.ops.where(jnp.mean(x) > 0, x * 2, x)"),
}


@pytest.mark.parametrize(("call", "line"), CHOICES.values(), ids=CHOICES)
def test_a_branch_on_a_tensor_becomes_a_choice(tmp_path, call, line):
    finding = only(tmp_path, own(call))
    assert finding.fact.asked == "bool"
    assert finding.fixes[0].proof == "source"
    assert f"+        {line}" in finding.fixes[0].patch.replace("+        y = ops.", "+        y = keras.ops.").replace(" ops.where", " keras.ops.where")


def test_a_branch_that_does_more_is_left_to_the_user(tmp_path):
    assert not only(tmp_path, own(["if jnp.sum(x) > 0:", "    self.seen = 1", "    x = x * 2", "return x"])).fixes


TABLE = ["y = jnp.matmul(x, jnp.swapaxes(x, 1, 2))", "y = jnp.where(self.mask == 0, -1e9, y)", "return jnp.matmul(y, x)"]


def test_a_table_for_the_longest_sequence_is_cut_to_this_one(tmp_path):
    finding = only(tmp_path, own(TABLE, (12, 4), "self.mask = jnp.tril(jnp.ones((32, 32)))"))
    assert finding.rule == "op-shapes"
    assert finding.fixes[0].proof == "source"
    assert "self.mask[:y.shape[-2], :y.shape[-1]]" in finding.fixes[0].patch


def test_features_are_not_cut(tmp_path):
    finding = only(tmp_path, own(["return x * self.scale"], (12, 4), "self.scale = jnp.ones((9,))"))
    assert not any("self.scale[" in fix.patch for fix in finding.fixes)


def test_a_table_that_is_too_short_is_not_cut(tmp_path):
    finding = only(tmp_path, own(TABLE, (12, 4), "self.mask = jnp.tril(jnp.ones((8, 8)))"))
    assert not any("self.mask[" in fix.patch for fix in finding.fixes)


def test_the_size_of_a_result_is_asked_of_values(tmp_path):
    finding = only(tmp_path, own(["return x * jnp.unique(x).shape[0]"]))
    assert (finding.rule, finding.fact.asked) == ("value-asked", "size")


def test_sizes_that_were_joined_as_tensors_are_a_list(tmp_path):
    lines = [
        "batch = keras.ops.shape(x)[0]",
        "many = keras.ops.concatenate([keras.ops.expand_dims(batch, -1), keras.ops.convert_to_tensor([1])], axis=0)",
        "return x + keras.ops.tile(keras.ops.ones((1, 6)), many)",
    ]
    finding = only(tmp_path, own(lines))
    assert finding.fixes[0].proof == "source"
    assert "many = [batch, 1]" in finding.fixes[0].patch


STEP = """
import jax
class Net(keras.Model):
    def loss_of(self, trainable, rest, x, y):
        y_pred, rest = self.stateless_call(trainable, rest, x, training=True)
        return self.compute_loss(x, y, y_pred), rest
    def train_step(self, state, data):
        trainable, rest, slots, metrics = state
        grad = jax.value_and_grad(self.loss_of{aux})
        (loss, rest), grads = grad(trainable, rest, *data)
        trainable, slots = self.optimizer.stateless_apply(slots, grads, trainable)
        return {{"loss": loss}}, (trainable, rest, slots, metrics)
def build():
    inputs = keras.Input((8,))
    model = Net(inputs, layers.Dense(3)(layers.Dropout(0.2)(inputs)))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model
def data():
    return np.zeros((64, 8), "float32"), np.zeros((64,), "int32")
"""


def test_a_gradient_that_was_made_a_line_above_gets_its_argument_there(tmp_path):
    finding = only(tmp_path, STEP.format(aux=""))
    assert finding.fixes[0].proof == "source"
    assert "+        grad = jax.value_and_grad(self.loss_of, has_aux=True)" in finding.fixes[0].patch
    assert traced(tmp_path, STEP.format(aux=", has_aux=True")).ok


NOISE = "self.seed = keras.random.SeedGenerator(1)"


def test_random_state_that_a_branch_changes_is_lost(tmp_path):
    inside = "lambda: x + keras.random.uniform((1, 6), seed=self.seed)"
    finding = only(tmp_path, own([f"return keras.ops.cond(jnp.mean(x) > 0, {inside}, lambda: x)"], init=NOISE))
    assert (finding.rule, finding.severity) == ("state-lost", "error")
    assert finding.fact.inner
    assert finding.fact.random
    assert finding.location is not None


def test_random_numbers_that_are_drawn_before_a_branch_are_not(tmp_path):
    lines = ["noise = keras.random.uniform((1, 6), seed=self.seed)", "return keras.ops.cond(jnp.mean(x) > 0, lambda: x + noise, lambda: x)"]
    assert traced(tmp_path, own(lines, init=NOISE)).ok


def test_an_einsums_sizes_come_from_the_layers_that_set_them(tmp_path):
    init = 'self.q, self.k = (layers.EinsumDense("btd,dnh->btnh", output_shape=(None, n, 8)) for n in (8, 2))'
    halves = "lambda y: keras.ops.concatenate(keras.ops.split(y, 2, axis=-1), axis=-1)"
    finding = only(tmp_path, own([f"turn = {halves}", 'return keras.ops.einsum("btnh,bsnh->bts", turn(self.q(x)), turn(self.k(x)))'], (12, 4), init))
    assert "einsum_dense_1" in finding.why
    assert "Concat" not in finding.why


GAN = """
class Pairs(keras.Model):
    def __init__(self):
        super().__init__()
        self.judge = keras.Sequential([layers.Dense(8), layers.Dense(1)])
        self.bce = keras.losses.BinaryCrossentropy(from_logits=True)
    def call(self, x):
        return self.judge(x)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        both = ops.concatenate([x, -x], axis=0)
        labels = ops.concatenate([ops.ones_like(y_pred), ops.zeros_like(y_pred)], axis={axis})
        scores = self.judge(both)
        return self.bce(labels, scores)
def build():
    model = Pairs()
    model.compile("adam")
    return model
def data():
    return (np.zeros((64, 8), "float32"),)
"""


def test_labels_of_two_halves_stand_below_each_other_as_the_samples_do(tmp_path):
    fix = only(tmp_path, GAN.format(axis=1)).fixes[0]
    assert fix.proof == "source"
    assert "ops.zeros_like(y_pred)], axis=0)" in fix.patch
    assert traced(tmp_path, GAN.format(axis=0)).ok


def test_a_second_edit_of_what_did_not_run_again_stands_in_the_text_with_the_first(tmp_path):
    code = """
def build():
    inputs = keras.Input((8,))
    x = layers.Reshape((4, 2))(inputs)
    x = layers.Dense(4)(x)
    x = layers.Concatenate()([x, layers.Dense(3)(layers.Reshape((8, 1))(inputs))])
    model = keras.Model(inputs, layers.Dense(1)(layers.Flatten()(x)))
    model.compile("sgd", scaled)
    return model

def scaled(y_true, y_pred):
    return keras.ops.mean(np.log1p(y_pred) - y_true)

def data():
    return np.zeros((64, 8), "float32"), np.zeros((64, 1), "float32")
"""
    fix = traced(tmp_path, code).findings[0].fixes[0]
    assert fix.proof == "source", fix
    assert "keras.ops.log1p" in fix.patch or "ops.log1p" in fix.patch
    model, data = fix.rebuild()
    assert tpushape.trace(model, data, tpu=None).ok


BRANCHES = "return jax.lax.cond(jnp.asarray(self.whole), lambda v: jnp.mean(v, axis=1), lambda v: jnp.max(v, axis=1, keepdims=True), x)"


def test_branches_that_reduce_an_axis_both_drop_it(tmp_path):
    finding = traced(tmp_path, own([BRANCHES], (6, 4), "self.whole = True")).findings[0]
    assert type(finding.fact).__name__ == "BranchesApart"
    assert finding.fixes[0].title.startswith("Drop the reduced axis") and "keepdims=False" in finding.fixes[0].patch


def test_a_function_of_jax_on_a_symbolic_tensor_is_no_matter_of_a_variable(tmp_path):
    code = (
        "import jax.numpy as jnp\ndef build():\n    i = keras.Input((6, 4))\n    x = jnp.mean(layers.Dense(8)(i), axis=1)\n"
        "    model = keras.Model(i, layers.Dense(3)(x))\n    model.compile('adam', 'mse')\n    return model\n"
        "def data():\n    return np.zeros((8, 6, 4), 'float32'), np.zeros((8, 3), 'float32')\n"
    )
    finding = only(tmp_path, code)
    assert finding.rule == "symbolic-tensor"
    assert finding.fixes[0].proof == "source" and "ops.mean(" in finding.fixes[0].patch


SAMPLES = """
class Loader(keras.utils.PyDataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        return np.zeros((6, 4), "float32"), np.int64(i % 3)
def build():
    model = keras.Sequential([keras.Input((6, 4)), layers.GlobalAveragePooling1D(), layers.Dense(3, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    return model
def data():
    return Loader()
"""


def test_single_samples_whose_labels_are_scalars_are_told(tmp_path):
    finding = only(tmp_path, SAMPLES)
    assert finding.fact.fault == "sample"
    assert finding.fixes and finding.fixes[0].proof == "source"
