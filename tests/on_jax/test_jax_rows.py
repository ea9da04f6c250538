"""The rows of the data on JAX: arrays of different lengths, rows in different orders, and NumPy code that raises."""

from __future__ import annotations

import pytest
from strangers import first, serious, traced

CODE = """
x_all = np.random.default_rng(0).normal(size=(96, 8)).astype("float32")
y_all = np.arange(96) % 3

def build():
    model = keras.Sequential([keras.Input((8,)), layers.Dense(3, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model

def data():
    {lines}
"""
PROGRAMS = {
    "a slice of the inputs alone": ("data-misfit", "return x_all[:64], y_all", "+    return x_all[:64], y_all[:64]"),
    "a mask for the labels alone": ("data-misfit", "keep = y_all < 2\n    return x_all, y_all[keep]", "+    return x_all[keep], y_all[keep]"),
    "jax arrays": ("data-misfit", "x = jnp.array(x_all)[16:]\n    y = jnp.array(y_all)\n    return x, y", "+    y = jnp.array(y_all)[16:]"),
    "rows in another order": ("shuffled-apart", "order = np.random.permutation(96)\n    return x_all[order], y_all", "+    return x_all[order], y_all[order]"),
    "tables joined by rows": (
        "data-raises",
        "a, b = x_all[:, :3], x_all[:, 3:]\n    return np.concatenate([a, b]), y_all",
        "+    return np.concatenate([a, b], axis=1), y_all",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_rows_are_mended(tmp_path, name):
    rule, lines, fixed = PROGRAMS[name]
    assert fixed in first(tmp_path, CODE.format(lines=lines), rule)


def test_one_order_for_both_is_clean(tmp_path):
    assert not serious(traced(tmp_path, CODE.format(lines="order = np.random.permutation(96)\n    return x_all[order], y_all[order]")))
