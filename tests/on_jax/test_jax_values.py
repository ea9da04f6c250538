"""What a compiled step computes once, or cannot ask for: numbers drawn on the host, values, selections, loops over samples; each fix runs in fit."""

from __future__ import annotations

import numpy as np
import pytest
from strangers import serious, traced
from test_jax_places import own
from test_jax_steps import repaired

HEAD = "import random\nrng = np.random.default_rng(7)\n"
KEPT = "seed=self.seed_generator)"
DRAWN = {
    "numpy": (["return x + np.random.normal(0.0, 0.1, size=x.shape[1:])"], f"keras.random.normal(x.shape[1:], mean=0.0, stddev=0.1, {KEPT}"),
    "rows of numbers": (["return x * np.random.rand(6)"], f"keras.random.uniform((6,), {KEPT}"),
    "an order": (["return ops.take(x, np.random.permutation(6), axis=1)"], f"ops.take(x, keras.random.shuffle(ops.arange(6), {KEPT}, axis=1)"),
    "a generator of the module": (["return x + rng.normal(size=6)"], f"keras.random.normal((6,), {KEPT}"),
    "a branch that returns": (
        ["if training and random.random() < 0.2:", "    return x", "return x * 2.0"],
        f"return ops.where(keras.random.uniform((), {KEPT} < 0.2, x, x * 2.0)",
    ),
    "an assignment": (
        ["if np.random.uniform(0, 1) > 0.5:", "    x = x[:, ::-1]", "return x"],
        f"x = ops.where(keras.random.uniform((), minval=0, maxval=1, {KEPT} > 0.5, x[:, ::-1], x)",
    ),
    "an expression": (["return x if random.random() < 0.5 else -x"], f"return ops.where(keras.random.uniform((), {KEPT} < 0.5, x, -x)"),
    "a key": (["return x + jax.random.normal(jax.random.PRNGKey(0), x.shape)"], "jax.random.normal(self.seed_generator.next(), x.shape)"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "line"), DRAWN.values(), ids=DRAWN)
def test_numbers_that_are_drawn_once_get_a_seed_that_is_kept(tmp_path, call, line):
    patch, _ = repaired(tmp_path, filled(HEAD + own(call, name="call(self, x, training=False)")), "fixed-random")
    assert line in patch


def filled(code):
    """The program with data in which every weight gets a gradient."""
    return code.replace("np.zeros(", "np.ones(")


RIGHT = {
    "a seed of its own": (["np.random.seed(3)", "return x + np.random.normal(size=6)"], []),
    "a generator of its own": (["return x + np.random.default_rng(3).normal(size=6)"], []),
    "made once": (["return x + self.noise"], ["self.noise = np.random.normal(size=6)"]),
}


@pytest.mark.parametrize(("call", "init"), RIGHT.values(), ids=RIGHT)
def test_numbers_that_are_constant_on_purpose_are_no_fault(tmp_path, call, init):
    assert traced(tmp_path, HEAD + own(call, init=init)).ok


def test_a_model_that_runs_eagerly_draws_anew(tmp_path):
    code = HEAD + own(DRAWN["numpy"][0])
    assert traced(tmp_path, code.replace('"mse")', '"mse", run_eagerly=True)')).ok


def test_generators_are_as_they_were(tmp_path):
    code = HEAD + own(["return x + rng.normal(size=6) + np.random.rand()"])
    before = np.random.get_state()[1].tolist()
    traced(tmp_path, code)
    assert np.random.get_state()[1].tolist() == before


NUMBER = {
    "item": (["y = ops.max(x).item()", "return x / (y + 1.0)"], "y = ops.max(x)\n"),
    "float": (["return x * float(ops.mean(x))"], "return x * ops.mean(x)\n"),
}


@pytest.mark.parametrize(("call", "line"), NUMBER.values(), ids=NUMBER)
def test_a_number_stays_a_tensor(tmp_path, call, line):
    patch, _ = repaired(tmp_path, filled(own(call)), "value-asked")
    assert f"+        {line}" in patch


LOSS = """
def loss(y_true, y_pred):
    {lines}
def build():
    inputs = keras.Input((5, 4))
    model = keras.Model(inputs, layers.Dense(3)(inputs))
    model.compile("sgd", loss)
    return model
def data():
    generator = np.random.default_rng(0)
    return generator.normal(size=(64, 5, 4)).astype("float32"), generator.normal(size=(64, 5, 3)).astype("float32")
"""
SELECTED = {
    "a mask of elements": ["mask = y_true > 0", "return ops.mean(ops.square(y_true[mask] - y_pred[mask]))"],
    "a mask of rows": ["mask = y_true[..., 0] > 0", "return ops.mean(ops.abs(y_true[mask] - y_pred[mask]))"],
    "indices": [
        "flat = ops.reshape(y_true, (-1,))",
        "index = ops.nonzero(flat > 0)[0]",
        "error = ops.take(flat, index) - ops.take(ops.reshape(y_pred, (-1,)), index)",
        "return ops.sum(ops.square(error))",
    ],
}


@pytest.mark.parametrize("lines", SELECTED.values(), ids=SELECTED)
def test_a_selection_becomes_a_choice_with_the_same_result(tmp_path, lines):
    code = LOSS.format(lines="\n    ".join(lines))
    repaired(tmp_path, code, "value-asked")
    scope, fixed = {}, {}
    exec("import keras\nimport numpy as np\nfrom keras import layers, ops\n" + code, scope)
    exec((tmp_path / "program.py").read_text(encoding="utf-8"), fixed)
    y = scope["data"]()[1]
    np.testing.assert_allclose(fixed["loss"](y, y * 0.3), scope["loss"](y, y * 0.3), rtol=1e-5)


MIXED = {
    "sorted": ["mask = y_true > 0", "return ops.mean(ops.sort(y_true[mask]) - ops.sort(y_pred[mask]))"],
    "an axis": ["mask = y_true[..., 0] > 0", "return ops.mean(ops.mean(y_true[mask] - y_pred[mask], axis=0))"],
    "returned": ["mask = y_true > 0", "return ops.square(y_true[mask] - y_pred[mask])"],
}


@pytest.mark.parametrize("lines", MIXED.values(), ids=MIXED)
def test_a_selection_that_mixes_its_elements_is_left_to_the_user(tmp_path, lines):
    (finding,) = serious(traced(tmp_path, LOSS.format(lines="\n    ".join(lines))))
    assert finding.fact.asked == "mask"
    assert not any(fix.verified for fix in finding.fixes)


LOOPS = {
    "a loop": (["out = []", "for i in range(x.shape[0]):", "    row = x[i] * 2.0", "    out.append(ops.roll(row, 1))", "return ops.stack(out)"], "one_sample, x)"),
    "a list": (["return ops.stack([ops.cumsum(x[i]) for i in range(x.shape[0])], axis=0)"], "vectorized_map(lambda x_i: ops.cumsum(x_i), x)"),
    "two tensors": (["y = x * x", "return ops.stack([x[i] + ops.max(y[i]) for i in range(x.shape[0])])"], "lambda rows: rows[0] + ops.max(rows[1]), (x, y))"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "line"), LOOPS.values(), ids=LOOPS)
def test_a_loop_over_samples_becomes_a_map(tmp_path, call, line):
    patch, _ = repaired(tmp_path, filled(own(call)), "value-asked")
    assert line in patch


def test_a_loop_that_needs_the_number_of_its_turn_is_left_to_the_user(tmp_path):
    (finding,) = serious(traced(tmp_path, own(["return ops.stack([x[i] * i for i in range(x.shape[0])])"])))
    assert not any(fix.verified for fix in finding.fixes)


def test_a_crop_in_one_branch_asks_how_it_becomes_whole(tmp_path):
    code = own(["return jax.lax.cond(ops.mean(x) > 0, lambda y: y[:, 1:-1, 2:], lambda y: y, x)"], shape=(8, 8, 4))
    (finding,) = serious(traced(tmp_path, code.replace("layers.Dense(1)]", "layers.Flatten(), layers.Dense(1)]").replace("64, 8, 1)", "64, 1)")))
    assert {fix.edits[0].detail["replace"] for fix in finding.fixes} >= {
        "{module}.image.resize({it}, (8, 8))",
        "{module}.pad({it}, ((0, 0), (1, 1), (1, 1), (0, 0)))",
    }
    assert not any(fix.verified for fix in finding.fixes)


def test_branches_return_one_dtype(tmp_path):
    code = own(["return ops.cond(ops.mean(x * x) >= 0, lambda: x, lambda: ops.cast(x > 0, 'int32'))"])
    patch, _ = repaired(tmp_path, filled(code), "op-shapes")
    assert "lambda: ops.cast(ops.cast(x > 0, 'int32'), \"float32\")" in patch
