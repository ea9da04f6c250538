"""Random numbers that are drawn a second time from one key."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding
from .facts.traps import KeyReused
from .registry import check, rule

_NOISES = """
import jax
class Noises(L.Layer):
    def __init__(self):
        super().__init__(); self.seed = keras.random.SeedGenerator(1)
    def call(self, x):
        key = self.seed.next()
        return x * jax.random.normal(key, x.shape) + jax.random.normal(%s, x.shape)
def build():
    m = keras.Sequential([keras.Input((4,)), Noises(), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
"""
REUSED = rule(
    "key-reused", "Two draws of random numbers use the same key", severity="silent", backend="jax", frameworks=("keras",),
    source="the traced program: two equal draws from one key", fails=_NOISES % "key", passes=_NOISES % "self.seed.next()",
    doc="""Reported if one function draws numbers of the same distribution and shape twice from one key. The same draw in two calls of a function is not reported:
both parts of a step may be meant to see the same noise.""",
)  # fmt: skip


@check(order=49, backend="jax")
def key_reused(evidence: Evidence) -> Iterator[Finding]:
    """The second of two equal draws from one key."""
    found = evidence.facts.get("redrawn")
    if found is not None and evidence.failure is None:
        shape, first, second = found
        yield Finding.of(REUSED.id, "silent", KeyReused(shape, first), (), location=second)
