"""Random numbers that are drawn a second time from one key, or that all samples of a batch share."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, Node
from .facts.traps import KeyReused, NoiseShared
from .mixing import carried
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
    doc="""Reported if one function draws numbers of the same distribution and shape twice from one key. The same draw in two calls of a function may be meant, and
is not reported.""",
)  # fmt: skip


@check(order=49, backend="jax")
def key_reused(evidence: Evidence) -> Iterator[Finding]:
    """The second of two equal draws from one key."""
    found = evidence.facts.get("redrawn")
    if found is not None and evidence.failure is None:
        shape, first, second = found
        yield Finding.of(REUSED.id, "silent", KeyReused(shape, first), (), location=second)


_SAMPLING = """
class Sampling(L.Layer):
    def __init__(self):
        super().__init__(); self.seed = keras.random.SeedGenerator(1)
    def call(self, x):
        mean, deviation = x[:, :2], x[:, 2:]
        return mean + keras.ops.exp(deviation) * keras.random.normal(%s, seed=self.seed)
def build():
    m = keras.Sequential([keras.Input((4,)), Sampling(), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
"""
SHARED = rule(
    "noise-shared", "All samples get the same noise", severity="silent", frameworks=("keras",),
    source="the traced program: normal noise without a batch axis", fails=_SAMPLING % "(2,)", passes=_SAMPLING % "keras.ops.shape(mean)",
    doc="""Reported if normal noise without a batch axis is scaled by a value of each sample and added to another one, as in a variational autoencoder.
On JAX, also if a function under `jax.vmap` draws with one key for all samples. Noise that is only added, or that scales weights, is not reported.""",
)  # fmt: skip
_SUMS = ("AddV2", "Add", "Sub")


@check(order=49)
def noise_shared(evidence: Evidence) -> Iterator[Finding]:
    """Noise scaled by each sample, and added to each sample, or drawn for each sample with one key."""
    for name, edge_id, shape, line, one_key in evidence.facts.get("scaled") or () if evidence.failure is None else ():
        node, flow = evidence.flow.node(name), evidence.flow
        edge = next((one for one in flow.into(name) if one.id == edge_id), None)
        if (
            edge is not None
            and (carried(evidence, edge) or {}).get(0) == 1
            and ((one_key and shape[:1] != (edge.spec.shape or ())[:1]) or _added(evidence, node))
        ):
            fact = NoiseShared(shape, edge.spec.shape or (), node.called)
            yield Finding.of(SHARED.id, "silent", fact, (node.id,), (edge.id,), line or node.called)
            return


def _added(evidence: Evidence, node: Node) -> bool:
    for edge in evidence.flow.out_of(node.id):
        reader = evidence.flow.node(edge.target)
        others = [one for one in evidence.flow.into(reader.id) if one.id != edge.id]
        if reader.op in _SUMS and any((carried(evidence, one) or {}).get(0) == 1 for one in others):
            return True
    return False
