"""Data in the wrong order: the shapes are right, and the model learns nothing from rows or steps that are mixed."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding
from ..flow.paths import show
from ..trace.locations import location
from .facts.orders import OrdersApart, StepsMixed
from .registry import check, rule

_MODEL = """
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    x, y = np.arange(64, dtype="float32").reshape(16, 4), np.arange(16, dtype="float32")[:, None]
"""
SHUFFLED = rule(
    "shuffled-apart", "The rows of inputs and labels are in different orders", severity="silent", source="the code that makes the data",
    fails=_MODEL + "    np.random.shuffle(x)\n    return x, y\n",
    passes=_MODEL + "    order = np.random.permutation(len(x))\n    return x[order], y[order]\n",
    doc="""Reported if the code of the data shuffles or sorts the rows of one of two arrays, or those of each on its own. So is an array whose rows are repeated one by one
beside one that is repeated as a whole. Two orders are not reported if the file seeds
random numbers more than once, because they may be the same, nor is one of several inputs that is paired with other samples. Datasets that `zip` pairs
are reported if one of the two is shuffled before.""",
)  # fmt: skip


@check(order=2)
def shuffled_apart(evidence: Evidence) -> Iterator[Finding]:
    """Arrays of which one is put in a random order that another one is not put in."""
    orders = evidence.facts.get("orders")
    if orders is not None:
        draw = orders.draw
        fact = OrdersApart(show(orders.one.path), show(orders.other.path), draw.text, draw.node.lineno, orders.alone)
        yield Finding.of(SHUFFLED.id, "silent", fact, location=location((draw.at.file, draw.node.lineno)))


_WINDOWS = """
def build():
    m = keras.Sequential([keras.Input(%s), L.LSTM(4), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    series = np.arange(60, dtype="float32").reshape(20, 3)
    x = np.array([series[i : i + 5] for i in range(15)])
"""
_LONG = 60
MIXED = rule(
    "data-axes-mixed", "A reshape of the data mixes steps and features", severity="silent", source="the code that makes the data",
    fails=_WINDOWS % "(3, 5)" + "    return x.reshape(len(x), 3, 5), series[5:, :1]\n",
    passes=_WINDOWS % "(5, 3)" + "    return x, series[5:, :1]\n",
    doc="""Reported if the text shows the axes before the reshape: windows of a series, arrays that are stacked, or an array whose own sizes are written in another order. Both sizes
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
