"""Inputs and labels whose rows are in different orders: the shapes are right, and the model learns nothing."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Finding
from ..flow.paths import show
from ..trace.locations import location
from .facts.orders import OrdersApart
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
    doc="""Reported if the code of the data shuffles or sorts the rows of one of two arrays, or those of each on its own. Two orders are not reported if the file seeds
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
