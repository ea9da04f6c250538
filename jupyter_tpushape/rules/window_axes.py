"""A reshape in the code of the data that mixes the steps and features of each sample."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding
from ..flow.paths import show
from ..trace.locations import location
from .facts.orders import StepsMixed
from .registry import check, rule

_MODEL = """
def build():
    m = keras.Sequential([keras.Input(%s), L.LSTM(4), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    series = np.arange(60, dtype="float32").reshape(20, 3)
    x = np.array([series[i : i + 5] for i in range(15)])
"""
_LONG = 60
MIXED = rule(
    "data-axes-mixed", "A reshape of the data mixes steps and features", severity="silent", source="the code that makes the data",
    fails=_MODEL % "(3, 5)" + "    return x.reshape(len(x), 3, 5), series[5:, :1]\n",
    passes=_MODEL % "(5, 3)" + "    return x, series[5:, :1]\n",
    doc="""Reported if the text shows the axes before the reshape: windows of a series, or an array whose own sizes are written in another order. Both sizes
must be larger than 1.""",
)  # fmt: skip


@check(order=2)
def data_axes_mixed(evidence: Evidence) -> Iterator[Finding]:
    """Windows of a series whose two axes a reshape exchanges."""
    found = evidence.facts.get("swapped_axes")
    if found is not None:
        code = found.text if len(found.text) <= _LONG else f"{found.text[: _LONG - 1]}…"
        fact = StepsMixed(show(found.array.path), code, found.call.lineno, found.steps, found.features)
        yield Finding.of(MIXED.id, "silent", fact, location=location((found.at.file, found.call.lineno)))
