"""Set-up cells that raise: no TPU here, TensorFlow without TPU kernels, a scope that was left (catalogue, sections 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterator

from ..flow import Finding, Side
from .evidence import Evidence
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


_INSIDE = "Make model, optimizer and metrics, and call compile, inside one `with strategy.scope():`."
# What TensorFlow and Keras say of scopes: words, rule, message, reason.
_SCOPES = (
    (
        "was not created in the distribution strategy scope of", OUTSIDE,
        "A variable was made outside the strategy's scope, and the model is compiled inside.",
        "Each replica needs its own copy. Make every layer inside `with strategy.scope():`, layers loaded from a hub included.",
    ),
    (
        "was created inside a different distribution strategy scope than the model", METRIC,
        "A metric was made outside the strategy's scope, and the model inside.",
        "tf_keras refuses it at compile. Make it inside `with strategy.scope():`, or pass its name.",
    ),
    *(
        (
            words, OUTSIDE, "The optimizer's state is made in a strategy's scope, and the model's variables were made outside of it.", _INSIDE,
        )
        for words in (
            "Trying to create optimizer slot variable under the scope for tf.distribute.Strategy",
            "must only be passed a variable created in this tf.distribute.Strategy.scope()",
        )
    ),
    (
        "Mixing different tf.distribute.Strategy objects", OPTIMIZER,
        "What belongs to one strategy is used in the scope of another: model, optimizer and loss are to be of the same.", _INSIDE,
    ),
)  # fmt: skip


def of_scopes(said: str) -> bool:
    """Whether an exception speaks of scopes, and not of what the program computes."""
    return any(words in said for words, *_ in _SCOPES)


def told(evidence: Evidence) -> Finding | None:
    """The finding for a set-up that raised, or ``None`` where something else did."""
    if evidence.failure is None:
        return None
    said = str(evidence.failure)
    node = evidence.failed
    nodes, where = ((node.id,), node.location or node.called) if node is not None else ((), None)
    for words, (message, why) in _TELL.items():
        line = where.text if where is not None else ""
        if evidence.where == "build" and words in said and (not words.startswith("index 0") or "TPU" in line):
            return Finding(NO_TPU.id, "tpu", message, why, Side("a TPU, or a planned slice"), Side("no TPU"), nodes, location=where)
    for words, entry, message, why in _SCOPES:
        if words in said:
            return Finding(entry.id, "tpu", message, why, Side("made in the scope"), Side("made outside"), nodes, location=where)
    return None


@check(order=17, backend="tensorflow")
def set_up(evidence: Evidence) -> Iterator[Finding]:
    """A set-up that raised."""
    finding = told(evidence)
    known = getattr(evidence.facts.get("scope"), "outside", ()) and evidence.where != "build"  # said of the variables themselves
    if finding is not None and not known:
        yield finding
