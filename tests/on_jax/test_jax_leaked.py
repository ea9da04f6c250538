"""Tensors of a loop's body or a branch that are used outside of it."""

from __future__ import annotations

import pytest
from strangers import AROUND, serious, traced
from test_jax_steps import repaired

OWN = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.cell = layers.Dense(6, activation="tanh")
    def build(self, shape):
        self.cell.build(shape)
    def call(self, x):
        {0}
"""
LEAKING = {
    "a list in a loop": [
        "kept = []", "def body(i, h):", "    h = self.cell(h)", "    kept.append(h)", "    return h",
        "jax.lax.fori_loop(0, 3, body, x)", "return kept[-1] * 2.0",
    ],
    "a list in a branch": [
        "kept = []", "def doubled(v):", "    kept.append(v * 2.0)", "    return v",
        "y = jax.lax.cond(ops.max(x) > 0, doubled, lambda v: v, x)", "return y + kept[0]",
    ],
}  # fmt: skip
RETURNED = {
    "a scan that stacks": [
        "def step(h, _):", "    h = self.cell(h)", "    return h, h",
        "_, kept = jax.lax.scan(step, x, None, length=3)", "return ops.mean(kept, axis=0)",
    ],
    "a tensor of the call in a loop": [
        "y = self.cell(x)", "return jax.lax.scan(lambda h, _: (h * 0.5 + y, None), x, None, length=3)[0]",
    ],
    "a gradient": ["return jax.grad(lambda v: ops.sum(self.cell(v) * x))(x)"],
    "a map": ["return jax.vmap(lambda v: v * ops.mean(x))(x)"],
    "a function that is computed again": ["return jax.checkpoint(lambda v: self.cell(v) + x)(x)"],
}  # fmt: skip


def code_of(lines):
    return OWN.format("\n        ".join(lines)) + AROUND.format(shape=(6,), rows="")


@pytest.mark.parametrize("lines", LEAKING.values(), ids=LEAKING)
def test_the_line_that_uses_a_tensor_of_another_trace_is_told(tmp_path, lines):
    (finding,) = serious(traced(tmp_path, code_of(lines)))
    assert (finding.rule, finding.severity) == ("state-lost", "error")
    assert finding.location.text == lines[-1]


@pytest.mark.parametrize("lines", RETURNED.values(), ids=RETURNED)
def test_what_a_function_returns_is_ok(tmp_path, lines):
    assert traced(tmp_path, code_of(lines)).ok


DECODER = """
class Decoder(layers.Layer):
    def __init__(self, units, steps):
        super().__init__()
        self.cell, self.units, self.steps = layers.GRUCell(units), units, steps
    def build(self, shape):
        self.cell.build(shape)
    def call(self, z):
        outputs = []
        def body(t, h):
            out, (h,) = self.cell(z, [h])
            outputs.append(out)
            return h
        {0}
        return jnp.stack(outputs, axis=1)
def build():
    i = keras.Input((16,))
    model = keras.Model(i, layers.Dense(3)(Decoder(24, 10)(i)))
    model.compile("adam", "mse")
    return model
def data():
    return np.random.rand(64, 16).astype("float32"), np.random.rand(64, 10, 3).astype("float32")
"""


TURNS = {
    "a state of its own": (
        ["h = jnp.zeros((z.shape[0], self.units))", "h = jax.lax.fori_loop(0, self.steps, body, h)"],
        ["for turn in range(self.steps):", "    h = body(turn, h)"],
    ),
    "a result that nobody keeps": (
        ["h = jnp.zeros((z.shape[0], self.units))", "jax.lax.fori_loop(0, self.steps, body, h)"],
        ["for turn in range(self.steps):", "    h = body(turn, h)"],
    ),
    "a state in its place": (
        ["last = jax.lax.fori_loop(0, 10, body, jnp.zeros((z.shape[0], self.units)))"],
        ["last = jnp.zeros((z.shape[0], self.units))", "for turn in range(10):", "    last = body(turn, last)"],
    ),
}


@pytest.mark.parametrize(("lines", "new"), TURNS.values(), ids=TURNS)
def test_a_loop_that_fills_a_list_runs_in_python(tmp_path, lines, new):
    code = DECODER.format("\n        ".join(lines))
    # What is computed from the list is no finding of its own: its stack has the wrong shape.
    (finding,) = serious(traced(tmp_path, code))
    assert (finding.rule, finding.location.text) == ("state-lost", "return jnp.stack(outputs, axis=1)")
    patch, _ = repaired(tmp_path, code, "state-lost")
    assert all(f"+        {line}\n" in patch for line in new)


def test_so_does_a_scan(tmp_path):
    code = DECODER.format("h, _ = jax.lax.scan(step, jnp.zeros((z.shape[0], self.units)), jnp.arange(10))")
    code = code.replace("def body(t, h):", "def step(h, t):").replace("            return h\n", "            return h, None\n")
    patch, _ = repaired(tmp_path, code, "state-lost")
    assert "+        for step in" not in patch and "h, _ = step(h, " in patch
