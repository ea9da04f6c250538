"""Set-up cells that raise: no TPU here, TensorFlow without TPU kernels, a scope that was left (catalogue, sections 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator

from ..flow import Finding, Side
from .evidence import Evidence
from .registry import check, rule
from .tpu_scope import OUTSIDE

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
    "no-tpu", "The set-up connects to a TPU that is not there", severity="tpu", source="tpu-rules E1, E2, E5; tensorflow#70827, #96203, #52149, #40622",
    tpu="v5e-8", fails=_BUILD.format(strategy=_CONNECT.format("")), passes=_BUILD.format(strategy='tpushape.tpu_strategy("v5e-8")'),
    doc="""Without a TPU the set-up raises `Please provide a TPU Name to connect to`; with tpu='local' and PyPI's tensorflow, which has no TPU
kernels, `index 0 is out of bounds for axis 0 with size 0` or `TPUs not found in the cluster`. `tpushape.tpu_strategy("v5e-8")` is the genuine
strategy for a slice that is only planned, and the live one on a machine that has that TPU. A client and a TPU of different TensorFlow
versions say that `__inference__tpu_init_fn_...` is not registered: users' reports, not reproduced.""",
)  # fmt: skip

_PLANNED = "To look at the program without a TPU, type strategy = tpushape.tpu_strategy('v5e-8')."
_WHEEL = f"PyPI's tensorflow is built without TPU kernels: on a TPU VM install tensorflow-tpu. {_PLANNED}"
_TELL = {
    "Please provide a TPU Name to connect to": (
        "No TPU is named, and this machine has none: TPUClusterResolver finds nothing to connect to.",
        f"On a TPU VM type TPUClusterResolver(tpu='local'). {_PLANNED}",
    ),
    "TPUs not found in the cluster": (
        "TensorFlow finds no TPU, and the one installed here has no TPU kernels.",
        _WHEEL,
    ),
    "index 0 is out of bounds for axis 0 with size 0": (
        "TPUStrategy was given a cluster without a single TPU core.",
        _WHEEL,
    ),
    "__inference__tpu_init_fn_": (
        "The TPU does not know the function that starts it: users report this where TensorFlow here and on the TPU differ in version.",
        "Install the same version on both. This is not reproduced without a TPU.",
    ),
}


def told(evidence: Evidence) -> Finding | None:
    """The finding for a set-up that raised, or ``None`` where something else did."""
    if evidence.where != "build" or evidence.failure is None:
        return None
    said = str(evidence.failure)
    node = evidence.failed
    nodes, where = ((node.id,), node.location or node.called) if node is not None else ((), None)
    for words, (message, why) in _TELL.items():
        line = where.text if where is not None else ""
        if words in said and (not words.startswith("index 0") or "TPU" in line):
            return Finding(NO_TPU.id, "tpu", message, why, Side("a TPU, or a planned slice"), Side("no TPU"), nodes, location=where)
    if "was not created in the distribution strategy scope of" in said:
        return Finding(
            OUTSIDE.id, "tpu", "A variable was made outside the strategy's scope, and the model is compiled inside.",
            "Each replica needs its own copy. Make every layer inside `with strategy.scope():`, layers loaded from a hub included.",
            Side("made in the scope"), Side("made outside"), nodes, location=where,
        )  # fmt: skip
    return None


@check(order=17)
def set_up(evidence: Evidence) -> Iterator[Finding]:
    """A set-up that raised."""
    finding = told(evidence)
    if finding is not None:
        yield finding
