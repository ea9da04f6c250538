"""A model that an earlier ``fit`` left so that no other can run: its code is right, the object is spent."""

from __future__ import annotations

from ..examine.evidence import Evidence
from ..flow import DATA_EDITS, Fact, Finding
from .facts.training import HalfBuilt, LayersLeft, WeightsLost
from .registry import RULES, rule

_TRIED = """
class Net(keras.Sequential):
    failing = {}
    def train_step(self, *given):
        if self.failing:
            raise ValueError("not yet")
        return super().train_step(*given)
m = Net([keras.Input((4,)), L.Dense(1)]); m.compile("sgd", "mse")
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
try:
    m.fit(*data(), verbose=0)
except ValueError:
    m.failing = False
def build():
    return m
"""
HALF_BUILT = rule(
    "half-built", "An earlier fit left the model half built", severity="error",
    source="tensorflow/python/eager/polymorphic_function/polymorphic_function.py: _call; keras/src/backend/jax/trainer.py: fit",
    fails=_TRIED.format(True), passes=_TRIED.format(False),
)  # fmt: skip
_FACTS: dict[str, type[Fact]] = {"step": HalfBuilt, "weights": WeightsLost, "layers": LayersLeft}


def half_built(evidence: Evidence, findings: list[Finding]) -> list[Finding]:
    """What an earlier ``fit`` left, in front of the other findings; where one raises by itself and its fix changes only the data, a note behind them.

    Only of the user's own objects: a fix is judged by a program that runs from its start.
    """
    made = _FACTS.get(evidence.facts.get("left", ""))
    if made is None:
        return findings
    raises = [one for one in findings if one.severity in ("error", "tpu")]
    finding = Finding.of(HALF_BUILT.id, "note" if raises else "error", made(), ())
    finding.docs = RULES[HALF_BUILT.id].page
    if not raises:
        return [finding, *findings]
    fix = next((fix for fix in raises[0].fixes if fix.verified), None)
    # A fix of the model's code creates the model anew.
    return [*findings, finding] if fix is not None and all(edit.kind in DATA_EDITS for edit in fix.edits) else findings
