"""What Python decides by one value, and what is as large as values say: the fix is in the user's line, and one real fit runs with it."""

from __future__ import annotations

import pytest
from strangers import serious, traced
from test_jax_steps import repaired

LOSS = """
def own(y_true, y_pred):
    {0}
def build():
    model = keras.Sequential([keras.Input((6,)), layers.Dense(4, activation="softmax")])
    model.compile("adam", own)
    return model
def data():
    return np.random.rand(64, 6).astype("float32"), {1}
"""
FLOATS, INTEGERS = 'np.random.rand(64, 4).astype("float32")', "np.random.randint(0, 4, 64)"
DECIDED = {
    "max": (["return ops.mean(max(y_pred - y_true, 0.0), axis=-1)"], "ops.maximum(y_pred - y_true, 0.0)"),
    "min of three": (["return ops.mean(min(y_pred, y_true, 0.5), axis=-1) - y_pred[:, 0]"], "ops.minimum(ops.minimum(y_pred, y_true), 0.5)"),
    "and": (
        ["valid = (y_true > 0.1) and (y_true < 0.9)", "return ops.mean(ops.where(valid, ops.abs(y_true - y_pred), 0.0), axis=-1)"],
        "valid = ops.logical_and(y_true > 0.1, y_true < 0.9)",
    ),
    "a chain": (["return ops.mean(ops.where(0.1 < y_true < 0.9, ops.abs(y_true - y_pred), 0.0), axis=-1)"], "ops.logical_and(0.1 < y_true, y_true < 0.9)"),
    "not, and or": (
        ["valid = not (y_true < 0.1 or y_true > 0.9)", "return ops.mean(ops.where(valid, ops.abs(y_true - y_pred), 0.0), axis=-1)"],
        "valid = ops.logical_not(ops.logical_or(y_true < 0.1, y_true > 0.9))",
    ),
    "an if": (
        ["error = ops.abs(y_true - y_pred)", "if error < 0.5:", "    error = error * error", "return ops.mean(error, axis=-1)"],
        "error = ops.where(error < 0.5, error * error, error)",
    ),
    "an if with and": (
        ["error = ops.mean(ops.abs(y_true - y_pred))", "if error < 0.5 and error > 0.1:", "    error = error * error", "return error"],
        "error = ops.where(ops.logical_and(error < 0.5, error > 0.1), error * error, error)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "new"), DECIDED.values(), ids=DECIDED)
def test_what_needs_one_value_is_computed_for_each_element(tmp_path, lines, new):
    patch, _ = repaired(tmp_path, LOSS.format("\n    ".join(lines), FLOATS), "value-asked")
    assert new in patch


def test_a_question_about_objects_is_left_to_the_user(tmp_path):
    lines = ["weight = None", "if weight is None and ops.mean(y_pred) > 0:", "    y_pred = y_pred * 2", "return ops.mean(y_pred - y_true)"]
    (finding,) = serious(traced(tmp_path, LOSS.format("\n    ".join(lines), FLOATS)))
    assert not any(fix.verified for fix in finding.fixes)


COUNTS = {
    "of JAX": ("jnp.bincount(y)", "jnp.bincount(y, length=y_pred.shape[-1])"),
    "of Keras": ("ops.bincount(y)", "ops.sum(ops.one_hot(y, y_pred.shape[-1]), axis=0)"),
}


@pytest.mark.parametrize(("count", "new"), COUNTS.values(), ids=COUNTS)
def test_the_classes_of_a_batch_are_counted_to_a_known_number(tmp_path, count, new):
    lines = [
        'y = ops.cast(ops.reshape(y_true, (-1,)), "int32")', f"counts = {count}",
        'weight = ops.take(1.0 / (1.0 + ops.cast(counts, "float32")), y)', "return weight * keras.losses.sparse_categorical_crossentropy(y, y_pred)",
    ]  # fmt: skip
    patch, _ = repaired(tmp_path, LOSS.format("\n    ".join(lines), INTEGERS), "value-asked")
    assert f"+    counts = {new}" in patch


LAYER = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.size = 12
        self.seed = keras.random.SeedGenerator(1)
    def call(self, x):
        {0}
def build():
    inputs = keras.Input({1})
    x = layers.Flatten()(Own()(inputs))
    model = keras.Model(inputs, layers.Dense(1)(x))
    model.compile("adam", "mse")
    return model
def data():
    return np.random.rand(64, *{1}).astype("float32"), np.random.rand(64, 1).astype("float32")
"""
START = "at = keras.random.randint((), 0, 4, seed=self.seed)"
CROPS = {
    "from a start": ([START, "return x[:, at : at + self.size]"], (20, 2), "ops.take(x, at + ops.arange(self.size), axis=1)"),
    "to an end": ([START, "end = at + 12", "return x[:, end - 12 : end]"], (20, 2), "ops.take(x, end - 12 + ops.arange(12), axis=1)"),
    "of two axes": (
        [START, "return x[:, at : at + 8, at : at + 6, :2]"],
        (16, 16, 3),
        "ops.take(ops.take(x, at + ops.arange(8), axis=1), at + ops.arange(6), axis=2)[:, :, :, :2]",
    ),
}


@pytest.mark.parametrize(("lines", "shape", "new"), CROPS.values(), ids=CROPS)
def test_a_crop_at_a_random_place_takes_a_known_number(tmp_path, lines, shape, new):
    patch, _ = repaired(tmp_path, LAYER.format("\n        ".join(lines), shape), "value-asked")
    assert f"+        return {new}" in patch


def test_a_slice_of_unknown_length_is_left_to_the_user(tmp_path):
    code = LAYER.format(f"{START}\n        return x[:, at:]", (20, 2))
    (finding,) = serious(traced(tmp_path, code))
    assert (finding.fact.asked, [fix for fix in finding.fixes if fix.verified]) == ("slice", [])


MASKED = """
class Masked(layers.Layer):
    def call(self, x, lengths):
        mask = ops.arange({0})[None, :] < lengths[:, None]
        return ops.sum(x * ops.cast(mask, x.dtype)[..., None], axis=1)
def build():
    x, lengths = keras.Input((20, 8)), keras.Input((), dtype="int32")
    model = keras.Model([x, lengths], layers.Dense(1)(Masked()(x, lengths)))
    model.compile("adam", "mse")
    return model
def data():
    return (np.random.rand(64, 20, 8).astype("float32"), np.full((64,), 20, "int32")), np.random.rand(64, 1).astype("float32")
"""


def test_a_mask_is_as_long_as_the_axis_that_it_is_for(tmp_path):
    (finding,) = serious(traced(tmp_path, MASKED.format("ops.max(lengths)")))
    assert (finding.rule, finding.fact.asked) == ("value-asked", "size")
    assert finding.fixes[0].proof == "source"
    assert "ops.arange(x.shape[1])[None, :]" in finding.fixes[0].patch
    assert traced(tmp_path, MASKED.format("x.shape[1]")).ok


def test_an_array_of_the_builders_own_is_no_tensor_of_a_step(tmp_path):
    code = LOSS.format("return ops.mean(ops.square(y_true - y_pred))", FLOATS).replace(
        "def build():\n", "def build():\n    sizes = np.array([3, 4])\n    if sizes > 2:\n        pass\n"
    )
    assert "value-asked" not in [finding.rule for finding in traced(tmp_path, code).findings]
