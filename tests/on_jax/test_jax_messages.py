"""What JAX itself says here is known, with its meaning and what to do."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from jupyter_tpushape.notebook.hint import is_ours
from jupyter_tpushape.rules.messages import meanings

X = jnp.zeros((32, 7))


class Step:
    def train_step(self, data):
        return data


def donated():
    value = jnp.ones((3,))
    jax.block_until_ready(jax.jit(lambda v: v + 1, donate_argnums=0)(value))
    value.delete()
    return value + 1


def leaked():
    kept = []
    jax.jit(lambda v: kept.append(v) or v)(X)
    return kept[0] + 1


GENUINE = [
    ("value-asked", True, lambda: jax.jit(lambda x: x if x.sum() > 0 else -x)(X)),
    ("value-asked", True, lambda: jax.jit(lambda x: float(x.sum()))(X)),
    ("value-asked", True, lambda: jax.jit(lambda x: range(x.sum().astype(int)))(X)),
    ("item-assigned", True, lambda: X.__setitem__(0, 1.0)),
    ("step-without-state", False, lambda: Step().train_step(1, 2)),
    ("op-shapes", True, lambda: X @ jnp.zeros((6, 2))),
    ("op-shapes", True, lambda: X + jnp.zeros((6,))),
    ("reshape-size", True, lambda: X.reshape((5, 5))),
    ("", False, donated),
    ("", False, leaked),
]


@pytest.mark.parametrize(("rule", "hinted", "action"), GENUINE)
def test_what_jax_raises_is_explained(rule, hinted, action):
    with pytest.raises(Exception) as raised:  # noqa: PT011
        action()
    found = list(meanings(f"{type(raised.value).__name__}: {raised.value}"))
    assert [meaning.rule for meaning in found] == [rule]
    assert "{" not in found[0].means
    assert is_ours(raised.value) or not hinted
