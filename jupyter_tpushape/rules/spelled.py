"""Strings that name no activation, loss, metric, optimizer or initializer of Keras."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..examine.heard import hear
from ..examine.heard_lines import HeardUnknownName
from ..flow import Finding
from ..trace.locations import location
from .facts.lines import UnknownName
from .registry import check, rule

_NET = """
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="%s")]); m.compile("sgd", "mse"); return m
def data():
    return np.ones((8, 4), "float32"), np.ones((8, 3), "float32")
"""
NAME = rule(
    "unknown-name", "A string names no function of Keras", severity="error", source="the error that Keras raises", fails=_NET % "softmx", passes=_NET % "softmax",
    doc="""Reported for the name of an activation function, a loss, a metric, an optimizer, an initializer, a regularizer or a constraint that this version of
Keras does not have. The names that are most like it are listed.""",
)  # fmt: skip
# Where the names of each kind are.
_MODULES = {
    "activation function": "activations", "loss": "losses", "metric": "metrics", "optimizer": "optimizers", "initializer": "initializers",
    "regularizer": "regularizers", "constraint": "constraints",
}  # fmt: skip
_OTHERS = frozenset({"get", "serialize", "deserialize"})
# The share of letters that two names have in common.
_ALIKE = 0.75


def misspelled(evidence: Evidence) -> UnknownName | None:
    """The name that Keras did not find, where that is why the program raised."""
    node = evidence.failed
    heard = hear(node.failure, HeardUnknownName) if node is not None and node.failure is not None and not evidence.facts.get("unmade") else None
    return UnknownName(heard.what, heard.name, _near(evidence, heard.what, heard.name)) if heard is not None else None


def _near(evidence: Evidence, what: str, name: str) -> tuple[str, ...]:
    module = getattr(sys.modules.get(evidence.framework), _MODULES.get(what, ""), None)
    known = {"accuracy": "accuracy"} if what == "metric" else {}
    for one in dir(module):
        if callable(getattr(module, one, None)) and not one.startswith("_") and one not in _OTHERS:
            key = one.lower().replace("_", "")
            # Of a function and a class of one name, the function is how strings are usually written.
            known[key] = one if one.islower() or key not in known else known[key]
    if what == "optimizer":
        known = {key: one.lower() for key, one in known.items()}
    return tuple(known[key] for key in difflib.get_close_matches(name.lower().replace("_", ""), list(known), 2, _ALIKE))


@check(order=15)
def unknown_name(evidence: Evidence) -> Iterator[Finding]:
    fact, node = misspelled(evidence), evidence.failed
    if fact is not None and node is not None:
        raised = evidence.raised
        where = location((raised.file, raised.line)) if raised is not None else node.called or node.location
        yield Finding.of(NAME.id, "error", fact, nodes=(node.id,), location=where)
