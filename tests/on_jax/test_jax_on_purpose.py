"""Programs of strangers: samples that are set against each other on purpose, and axes that meet them by mistake."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from strangers import HEAD, serious, traced

SINKHORN = """
class Assign(layers.Layer):
    def __init__(self):
        super().__init__()
        self.protos = layers.Dense(12, use_bias=False)
    def call(self, z):
        s = self.protos(z)
        q = jnp.exp(s)
        q = q / jnp.sum(q)
        for _ in range({rounds}):
            q = q / jnp.sum(q, axis=0, keepdims=True) / q.shape[1]
            {inner}
        {end}
def build():
    inputs = keras.Input((16,))
    model = keras.Model(inputs, layers.Dense(3, activation="softmax")(Assign()(layers.Dense(8)(inputs))))
    model.compile("adam", "sparse_categorical_crossentropy")
    return model
def data():
    return np.zeros((64, 16), "float32"), np.zeros((64,), "int32")
"""
INNER = "q = q / jnp.sum(q, axis=1, keepdims=True) / q.shape[0]"
MEANT = {
    "both axes in turn": (INNER, "return q * q.shape[0]"),
    "an added loss": ("pass", "self.add_loss(-jnp.mean(jnp.sum(q * jax.nn.log_softmax(s), axis=-1)))\n        return s"),
    "log space": ("q = jax.nn.softmax(jax.nn.softmax(s, axis=0), axis=1)", "return q"),
}


@pytest.mark.parametrize(("inner", "end"), MEANT.values(), ids=MEANT)
def test_samples_that_are_balanced_on_purpose_are_not_reported(tmp_path, inner, end):
    assert traced(tmp_path, SINKHORN.format(rounds=3, inner=inner, end=end)).ok


def test_one_axis_alone_is_not_balanced(tmp_path):
    found = serious(traced(tmp_path, SINKHORN.format(rounds=1, inner="pass", end="return q")))
    assert {finding.rule for finding in found} == {"samples-summed"}


SCAN = """
class Own(layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 8), name="w")
    def call(self, x):
        def cell(h, u):
            h = jnp.tanh(u @ self.w + h)
            return h, h
        return jax.lax.scan(cell, jnp.zeros((x.shape[0], 8)), {xs})[0]
def build():
    model = keras.Sequential([keras.Input((30, 6)), Own(), layers.Dense(1)])
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((64, 30, 6), "float32"), np.zeros((64, 1), "float32")
"""


def test_what_is_made_of_one_step_of_a_loop_meets_the_samples(tmp_path):
    (finding,) = serious(traced(tmp_path, SCAN.format(xs="x")))
    assert "scan steps through the first axis of (?, 30, 6)" in finding.why
    assert finding.fixes[0].proof == "source"
    assert "jnp.swapaxes(x, 0, 1)" in finding.fixes[0].patch
    assert traced(tmp_path, SCAN.format(xs="jnp.swapaxes(x, 0, 1)")).ok


OPEN = """
class Own(layers.Layer):
    def call(self, x):
        return jax.lax.associative_scan(jnp.add, x{axis})
{shape}
def build():
    inputs = keras.Input((None,), dtype="int32")
    model = keras.Model(inputs, layers.Dense(1)(layers.GlobalAveragePooling1D()(Own()(layers.Embedding(9, 4)(inputs)))))
    model.compile("adam", "mse")
    return model
def data():
    return np.zeros((64, 7), "int32"), np.zeros((64, 1), "float32")
"""


def test_a_scan_along_steps_whose_number_is_unknown_is_no_scan_along_the_batch(tmp_path):
    (finding,) = serious(traced(tmp_path, OPEN.format(axis=", axis=1", shape="")))
    assert (type(finding.fact).__name__, finding.fact.axis) == ("OpenScan", 1)
    shape = "    def compute_output_shape(self, shape):\n        return shape"
    assert traced(tmp_path, OPEN.format(axis=", axis=1", shape=shape)).ok
    assert type(serious(traced(tmp_path, OPEN.format(axis="", shape="")))[0].fact).__name__ == "BatchScanned"


GRAPH = """
class Conv(layers.Layer):
    def __init__(self):
        super().__init__()
        self.lin, self.own = layers.Dense(4), layers.Dense(4)
    def call(self, nodes, senders, receivers):
        def one(h, s, r):
            return jax.ops.segment_sum(h[s], r{count})
        return self.own(nodes) + jax.vmap(one)(self.lin(nodes), senders, receivers)
def build():
    nodes, s, r = keras.Input((12, 8)), keras.Input((30,), dtype="int32"), keras.Input((30,), dtype="int32")
    model = keras.Model([nodes, s, r], layers.Dense(1)(layers.GlobalAveragePooling1D()(Conv()(nodes, s, r))))
    model.compile("adam", "mse")
    return model
def data():
    return (np.zeros((64, 12, 8), "float32"), np.zeros((64, 30), "int32"), np.zeros((64, 30), "int32")), np.zeros((64, 1), "float32")
"""


def test_segments_of_rows_that_are_looked_up_are_as_many_as_the_table_has(tmp_path):
    (finding,) = serious(traced(tmp_path, GRAPH.format(count="")))
    assert finding.rule == "value-asked"
    assert finding.fixes[0].proof == "source"
    assert "num_segments=h.shape[0]" in finding.fixes[0].patch
    assert traced(tmp_path, GRAPH.format(count=", num_segments=h.shape[0]")).ok


RATES = """
class Noised(keras.Model):
    def __init__(self):
        super().__init__()
        self.net = keras.Sequential([layers.Conv2D(4, 3, padding="same"), layers.Conv2D(1, 3, padding="same")])
        self.bars, self.seed = np.linspace(0.1, 0.9, 50, dtype="float32"), keras.random.SeedGenerator(3)
    def call(self, x):
        return self.net(x)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        t = keras.random.randint((ops.shape(x)[0],), 0, 50, seed=self.seed)
        bar = ops.take(ops.convert_to_tensor(self.bars), t){axes}
        noise = keras.random.normal(ops.shape(x), seed=self.seed)
        noisy = ops.sqrt(bar) * x + ops.sqrt(1 - bar) * noise
        return ops.mean(ops.square(self(noisy) - noise))
def build():
    model = Noised()
    model.build((None, 28, 28, 1))
    model.compile("adam")
    return model
def data():
    return np.zeros((64, 28, 28, 1), "float32"), None
"""


def test_numbers_of_no_node_that_widen_each_sample_are_told_before_the_layer_that_refuses_them(tmp_path):
    (finding,) = serious(traced(tmp_path, RATES.format(axes="")))
    assert finding.rule == "batch-broadcast"
    assert finding.fixes[0].proof == "source"
    assert "self.bars), t)[:, None, None, None]" in finding.fixes[0].patch
    assert traced(tmp_path, RATES.format(axes="[:, None, None, None]")).ok


LINKED = (
    HEAD
    + """
import jupyter_tpushape as tpushape
class Own(layers.Layer):
    def call(self, x):
        return jnp.concatenate([x, x], axis=1) + jnp.ones((1, 5, 4))
def build():
    model = keras.Sequential([keras.Input((5, 4)), Own()])
    model.compile("sgd", "mse")
    return model
report = tpushape.trace(build, (np.zeros((8, 5, 4), "float32"), np.zeros((8, 10, 4), "float32")), tpu=None, fixes=False)
print(report.findings[0].rule)
"""
)


def test_an_environment_behind_a_link_is_one_as_well(tmp_path):
    link, program = tmp_path / "env", tmp_path / "program.py"
    link.symlink_to(sys.prefix, target_is_directory=True)
    program.write_text(LINKED, encoding="utf-8")
    out = subprocess.run([str(link / "bin" / "python"), str(program)], capture_output=True, text=True, check=False, env=dict(os.environ), timeout=300)
    assert out.stdout.split() == ["op-shapes"], out.stderr[-2000:]
