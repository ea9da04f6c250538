"""Setup cells that raise: no TPU, TensorFlow without TPU kernels, objects outside the scope (catalog, sections 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..examine.heard import HeardNoTpu, HeardScope, hear
from ..flow import Finding
from .facts.tpu_scope import NoTpu, ScopeLeft
from .registry import check, rule
from .tpu_scope import METRIC, OPTIMIZER, OUTSIDE

_BUILD = """
def build():
    strategy = {strategy}
    with strategy.scope():
        m = keras.Sequential([keras.Input((4,)), L.Dense(1)])
        m.compile("sgd", "mse")
    return m
def data():
    return np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")
"""
_CONNECT = "tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver({}))"
NO_TPU = rule(
    "no-tpu", "The setup connects to a TPU that does not exist", severity="tpu", source="tpu-rules E1, E2, E5; tensorflow#70827, #96203, #52149, #40622",
    tpu="v5e-8", fails=_BUILD.format(strategy=_CONNECT.format("")), passes=_BUILD.format(strategy='tpushape.tpu_strategy("v5e-8")'),
    doc="""Without a TPU, the setup raises `Please provide a TPU Name to connect to`. With tpu='local' and the tensorflow package from PyPI, which has no
TPU kernels, it raises `index 0 is out of bounds for axis 0 with size 0` or `TPUs not found in the cluster`. `tpushape.tpu_strategy("v5e-8")`
returns a real strategy for a planned slice, or the live strategy on a machine that has that TPU. If the TensorFlow versions of client and TPU
differ, users report that `__inference__tpu_init_fn_...` is not registered; not reproduced.""",
)  # fmt: skip

_RULES = {"variable": OUTSIDE, "metric": METRIC, "slots": OUTSIDE, "mixed": OPTIMIZER}


def of_scopes(error: BaseException | None) -> bool:
    """Whether an exception is about scopes."""
    return hear(error, HeardScope) is not None


def told(evidence: Evidence) -> Finding | None:
    """The finding for a setup that raised."""
    if evidence.failure is None:
        return None
    node = evidence.failed
    nodes, where = ((node.id,), node.location or node.called) if node is not None else ((), None)
    absent, scope = hear(evidence.failure, HeardNoTpu), hear(evidence.failure, HeardScope)
    named = absent is not None and (absent.cause != "empty" or "TPU" in (where.text if where is not None else ""))
    if absent is not None and named and evidence.where == "build":
        return Finding.of(NO_TPU.id, "tpu", NoTpu(absent.cause), nodes, location=where)
    return None if scope is None else Finding.of(_RULES[scope.what].id, "tpu", ScopeLeft(scope.what), nodes, location=where)


@check(order=17, backend="tensorflow")
def set_up(evidence: Evidence) -> Iterator[Finding]:
    """A setup that raised."""
    finding = told(evidence)
    known = getattr(evidence.facts.get("scope"), "outside", ()) and evidence.where != "build"  # said of the variables themselves
    if finding is not None and not known:
        yield finding
