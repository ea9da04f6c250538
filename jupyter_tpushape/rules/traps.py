"""Numbers that go wrong without an error: gradients that are NaN or cancel, random numbers that repeat or that all samples share, and dtypes that lose values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Location, Node, Who
from ..sources.pipeline import COMPARED
from ..trace.locations import location
from .encodings import at_line
from .facts.traps import AcrossSamples, BackwardRaises, Cancelled, KeyReused, NoiseShared, Rounded, SameInLoop, SlopeHidden, Wraps, WrapsInData
from .mixing import carried
from .registry import check, rule

_LAYER = """
import jax, jax.numpy as jnp
class Own(L.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs); self.seed = keras.random.SeedGenerator(1)
    def build(self, shape):
        self.table = self.add_weight(shape=(1000, 4), name="table")
    def call(self, x):
{body}
def build():
    inputs = keras.Input((4,){dtype}); x = {first}; m = keras.Model(inputs, L.Dense(1)(Own({own})(x))); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 4), "{fed}"), np.zeros((8, 1), "float32")
"""


def _example(*lines: str, dtype: str = "", own: str = "", first: str = "L.Dense(4)(inputs)", fed: str = "float32") -> str:
    return _LAYER.format(body="\n".join(" " * 8 + line for line in lines), dtype=dtype, own=own, first=first, fed=fed)


_COMMON: dict[str, Any] = {"severity": "silent", "backend": "jax", "frameworks": ("keras",)}
_ADDED = "return jax.lax.scan(step, x, {})[0]"
WHERE = rule(
    "where-gradient", "where hides a value and not its gradient", source="JAX FAQ: gradients contain NaN where using where",
    fails=_example("return jnp.where(x > 0, jnp.sqrt(x), 0.0)"),
    passes=_example("return jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0)"), **_COMMON,
    doc="""Reported if the condition compares with zero the argument of a square root, a logarithm or a division in a branch, and that argument depends on
trained weights.""",
)  # fmt: skip
CANCELS = rule(
    "gradient-cancels", "The gradient of a straight-through estimator cancels", source="the traced program: a tensor minus itself, beside stop_gradient",
    fails=_example("return x + keras.ops.stop_gradient(keras.ops.round(x)) - x"),
    passes=_example("return x + keras.ops.stop_gradient(keras.ops.round(x) - x)"), **_COMMON,
)  # fmt: skip
_CLIPPED = ("f = jax.custom_vjp(lambda z, most: z)", "f.defvjp(lambda z, most: (z, most), lambda most, g: (jnp.clip(g, -most, most),{}))", "return f(x, 0.1)")
BACKWARD = rule(
    "backward-raises", "A backward function raises", source="jax.custom_vjp: a tuple with one gradient for each argument",
    fails=_example(*(line.format("") for line in _CLIPPED)), passes=_example(*(line.format(" None") for line in _CLIPPED)), **{**_COMMON, "severity": "error"},
)  # fmt: skip
LOOP = rule(
    "key-in-loop", "Every step of a loop draws the same random numbers", source="the traced program: a draw in a loop whose key does not change",
    fails=_example("key = self.seed.next()", "step = lambda z, k: (z + jax.random.normal(key, z.shape), None)", _ADDED.format("jnp.arange(3)")),
    passes=_example("step = lambda z, k: (z + jax.random.normal(k, z.shape), None)", _ADDED.format("jax.random.split(self.seed.next(), 3)")), **_COMMON,
    doc="Masks, such as those of `jax.random.bernoulli`, are not reported: the same values may be left out in every step on purpose.",
)  # fmt: skip
ACROSS = rule(
    "shift-across-samples", "A shift or reversal moves values between samples", source="jax.numpy.roll and flip: axis=None means all axes",
    fails=_example("return x + jnp.roll(x, 1)"), passes=_example("return x + jnp.roll(x, 1, axis=1)"), **_COMMON,
    doc="Reported for roll and flip without an axis, for tensors of more than one axis that depend on the data. A shift of the samples with axis=0 is not.",
)  # fmt: skip
_DTYPES = """
def build():
    i = keras.Input((4,), dtype="%s"); m = keras.Model(i, L.Dense(1)(L.Flatten()(%s))); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 4), "uint8"), np.zeros((8, 1), "float32")
"""
_DIFFERENCE, _LOOKUP = "i[:, 1:] - i[:, :-1]", "L.Embedding(3000, 2)(i)"
UNSIGNED = rule(
    "unsigned-difference", "Unsigned integers wrap around", source="NumPy, JAX and TensorFlow: unsigned integers wrap around",
    fails=_DTYPES % ("uint8", _DIFFERENCE), passes=_DTYPES % ("float32", _DIFFERENCE), **{**_COMMON, "backend": ""},
    doc="""Reported for the difference of two uint8 or uint16 tensors that both come from the data, also in a function of a `tf.data` pipeline. In NumPy code that
makes the data, reported for sums, differences and products whose values were seen to wrap around.""",
)  # fmt: skip
ROUNDED = rule(
    "ids-rounded", "Indices were floats of low precision", source="bfloat16 has 8 significant bits, float16 has 11; keras.layers.Layer(autocast=True)",
    fails=_DTYPES % ("float16", _LOOKUP), passes=_DTYPES % ("int32", _LOOKUP), **{**_COMMON, "backend": ""},
    doc="""Reported if the table has more rows than the dtype can count: 256 for bfloat16, 2,048 for float16.""",
)  # fmt: skip


def _found(evidence: Evidence) -> Iterator[tuple[str, str, Location | None, Any, Any]]:
    yield from evidence.facts.get("traps") or ()
    for stage in evidence.stages:
        for dtype, line in stage.detail.get("slips", ()):
            if isinstance(dtype, str):
                yield "unsigned", "Sub", at_line(stage.location, line), dtype, ()
    flow = evidence.flow
    for node in flow.nodes:
        edges = flow.into(node.id)
        if node.op in ("Sub", "Subtract") and len(edges) == 2 and edges[0].spec.dtype in ("uint8", "uint16"):
            near = {flow.node(name).op for edge in edges for name in (edge.source, *(one.target for one in flow.out_of(edge.source)))}
            if near.isdisjoint(COMPARED):
                yield "unsigned", node.op, node.called, edges[0].spec.dtype, ()
        for rows in _tables(evidence, node):
            if (dtype := _rounded_by(evidence, edges)) and rows > _EXACT[dtype]:
                yield "rounded", node.op, node.called, dtype, (rows, _EXACT[dtype])


def _tables(evidence: Evidence, node: Node) -> Iterator[int]:
    owner = evidence.flow.node(node.parent) if node.kind == "op" and node.parent else node
    for edge, made in zip(evidence.flow.into(node.id)[-1:], evidence.flow.out_of(node.id), strict=False):
        for shape in (weight.shape or () for weight in owner.weights):
            if len(shape) > 1 and made.spec.shape == (*(edge.spec.shape or ()), *shape[1:]):
                yield shape[0] or 0


def _rounded_by(evidence: Evidence, edges: list[Edge]) -> str:
    while edges and edges[-1].spec.dtype not in _EXACT:
        node, edges = evidence.flow.node(edges[-1].source), evidence.flow.into(edges[-1].source)
        if not (edges and edges[-1].spec.dtype.startswith("int")) and node.op not in ("Input", "Cast", "Reshape", "Slice", "StridedSlice"):
            return ""
    return edges[-1].spec.dtype if edges else ""


# The largest whole numbers up to which floats count by ones.
_EXACT = {"float16": 2048, "bfloat16": 256}


@check(order=49)
def traps(evidence: Evidence) -> Iterator[Finding]:
    """What the trace found, at its lines."""
    for kind, operation, place, detail, numbers in _found(evidence) if evidence.failure is None else ():
        if kind in ("where", "cancels", "backward") and not evidence.trains:
            continue
        # A seed that changes in a loop is lost there, which another rule says.
        if kind == "loop" and any(one[4] for one in evidence.facts.get("kept", ())):
            continue
        here = [node for node in evidence.flow.nodes if (node.kind == "op" or node.op == operation) and node.called == place]
        node = next((one for one in here if one.op == operation), here[0] if len(here) == 1 else None)
        step = Who.of(node) if node is not None else Who(operation, operation, "op", place)
        found = _FACTS[kind](step, detail, numbers)
        yield Finding.of(_RULES[kind].id, _RULES[kind].severity, found, (node.id,) if node is not None else (), location=place)


@check(order=49)
def wrapped(evidence: Evidence) -> Iterator[Finding]:
    """Lines of the data's own code, each with its first operation whose values wrapped around."""
    for one in evidence.facts.get("wrapped") or ():
        fact = WrapsInData(one.text, one.array, one.dtype, one.line, one.left, one.right, one.made, one.meant)
        yield Finding.of(UNSIGNED.id, "silent", fact, (), location=location((one.file, one.line)))


_RULES = {"where": WHERE, "cancels": CANCELS, "backward": BACKWARD, "loop": LOOP, "unsigned": UNSIGNED, "rounded": ROUNDED, "across": ACROSS}
_FACTS: dict[str, Any] = {
    "where": lambda step, detail, _: SlopeHidden(detail, step),
    "cancels": lambda step, *_: Cancelled(step),
    "backward": lambda step, detail, numbers: BackwardRaises(step.name, detail, *numbers),
    "loop": lambda _, __, numbers: SameInLoop(numbers),
    "unsigned": lambda step, detail, _: Wraps(detail, step),
    "across": lambda step, detail, numbers: AcrossSamples(detail, numbers, step),
    "rounded": lambda step, detail, numbers: Rounded(detail, numbers[0], numbers[1], step),
}


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
