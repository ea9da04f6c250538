"""Functions of JAX that are given too little or in another order: steps of loops, starts and sizes for each axis, an index for each sample."""

from __future__ import annotations

import pytest
from strangers import AROUND, serious, traced


def own(*lines, shape="(8, 4)"):
    text = "class Own(layers.Layer):\n    def call(self, x, training=None):\n"
    return text + "".join(f"        {line}\n" for line in lines) + AROUND.format(shape=shape, rows="8, " if shape == "(8, 4)" else "")


STEP = ["def step(xt, h):", "    h = jnp.tanh(h @ w + xt @ v)", "    return h, h"]
LOOP = [
    "v, w = jnp.ones((6, 5)), jnp.ones((5, 5))",
    *STEP,
    "h = jax.lax.scan(step, jnp.zeros((x.shape[0], 5)), jnp.swapaxes(x, 0, 1))[1]",
    "return jnp.swapaxes(h, 0, 1)",
]
CALLS = {
    "a scan whose step takes its parts the other way round": (own(*LOOP), "def step(h, xt):"),
    "a counted loop that passes its number first": (
        own("def step(z, i):", "    return jnp.concatenate([z[:, 1:], z[:, :1] * i], axis=1)", "return jax.lax.fori_loop(0, 3, step, x)"),
        "def step(i, z):",
    ),
    "a slice with a start too few": (own("return x + jax.lax.dynamic_slice(x, (0, 0), x.shape)"), "jax.lax.dynamic_slice(x, (0, 0, 0), x.shape)"),
    "a cache that is written at one place": (
        own("cache = jnp.zeros((x.shape[0], 8, 6))", "new = jax.lax.dynamic_update_slice(cache, x[:, :1], (0, 3))", "return x + new"),
        "(0, 3, 0)",
    ),
    "pictures whose size is written": (
        own('y = jax.image.resize(x, (16, 16), "nearest")', "return jnp.mean(y, axis=(1, 2))", shape="(8, 8, 3)"),
        "(x.shape[0], 16, 16, x.shape[-1])",
    ),
    "two tensors for each branch": (
        own("index = jnp.argmax(x, axis=-1) % 2", "return jax.lax.switch(index, [lambda a, b: a + b, lambda a, b: a - b], x, 2.0 * x)", shape="(8,)"),
        "jax.vmap(lambda index, row, row_1: jax.lax.switch(index, [lambda a, b: a + b, lambda a, b: a - b], row, row_1))(index, x, 2.0 * x)",
    ),
    "places of each sample": (own("places = np.array([0, 2, 4])", "return x.at[places].set(jnp.zeros((x.shape[0], 3, 6)))"), "x.at[:, places].set"),
    "a list beside a tuple": (
        own("parts = (x, 2.0 * x)", "kept = [one + 1.0 for one in parts]", "return jax.tree.map(lambda a, b: a + b, parts, kept)[0]"),
        "kept = tuple(one + 1.0 for one in parts)",
    ),
    "a tuple of calls beside a list": (
        own("parts = [x, 2.0 * x]", "kept = tuple(ops.abs(one) for one in list(parts))", "return jax.tree.map(lambda a, b: a + b, parts, kept)[0]"),
        "kept = [ops.abs(one) for one in list(parts)]",
    ),
    "a branch by training": (own("return jax.lax.cond(training, lambda z: 2.0 * z, lambda z: z, x)"), "jax.lax.cond(bool(training), "),
}


@pytest.mark.parametrize(("code", "written"), CALLS.values(), ids=CALLS)
def test_a_call_gets_what_it_lacks(tmp_path, code, written):
    finding = serious(traced(tmp_path, code))[0]
    assert finding.severity == "error"
    assert finding.fixes[0].verified and finding.fixes[0].proof == "source"
    assert written in finding.fixes[0].patch


def test_no_layer_gets_another_width_where_parameters_are_swapped(tmp_path):
    (finding,) = serious(traced(tmp_path, own(*LOOP)))
    assert [fix.title.split()[0] for fix in finding.fixes] == ["Swap"]
