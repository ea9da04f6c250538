"""Random numbers that are drawn twice from one key, and those that are meant to be the same."""

from __future__ import annotations

import pytest
from strangers import AROUND, serious, traced


def own(*lines):
    text = "class Own(layers.Layer):\n    def __init__(self):\n        super().__init__()\n        self.seed = keras.random.SeedGenerator(1)\n    def call(self, x):\n"
    return text + "".join(f"        {line}\n" for line in lines) + AROUND.format(shape=(8,), rows="")


TWICE = {
    "two lines": ["key = self.seed.next()", "a = jax.random.normal(key, x.shape)", "b = jax.random.normal(key, x.shape)", "return x * a + b"],
    "one line": ["key = self.seed.next()", "return x * jax.random.uniform(key, x.shape) + jax.random.uniform(key, x.shape)"],
    "a typed key": [
        "key = jax.random.wrap_key_data(self.seed.next())",
        "a = jax.random.normal(key, (x.shape[0], 1))",
        "return x * a + jax.random.normal(key, (x.shape[0], 1))",
    ],
}


@pytest.mark.parametrize("lines", TWICE.values(), ids=TWICE)
def test_the_second_draw_gets_a_key_of_its_own(tmp_path, lines):
    (finding,) = serious(traced(tmp_path, own(*lines)))
    assert (finding.rule, finding.severity) == ("key-reused", "silent")
    assert finding.fixes[0].proof == "source"
    assert "jax.random.fold_in(key, 1)" in finding.fixes[0].patch


RIGHT = {
    "a key for each": ["a, b = jax.random.split(self.seed.next())", "return x * jax.random.normal(a, x.shape) + jax.random.normal(b, x.shape)"],
    "another distribution": ["key = self.seed.next()", "return x * jax.random.uniform(key, x.shape) + jax.random.normal(key, x.shape)"],
    "one function, called twice": ["key = self.seed.next()", "def noise(): return jax.random.normal(key, x.shape)", "return x * noise() + noise()"],
    "next, twice": ["return x * jax.random.normal(self.seed.next(), x.shape) + jax.random.normal(self.seed.next(), x.shape)"],
    "numbers of keras.random": ["return x * keras.random.normal((32, 6), seed=self.seed) + keras.random.normal((32, 6), seed=self.seed)"],
    "a loop": ["for _ in range(3):", "    x = x + jax.random.normal(self.seed.next(), x.shape)", "return x"],
}


@pytest.mark.parametrize("lines", RIGHT.values(), ids=RIGHT)
def test_draws_that_differ_or_are_meant_to_be_the_same_are_not_reported(tmp_path, lines):
    report = traced(tmp_path, own(*lines))
    assert not [one for one in report.findings if one.rule == "key-reused"]
