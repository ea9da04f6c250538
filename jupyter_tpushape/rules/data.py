"""Faults in the code and the structure of the data, before the model sees anything."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..flow import Finding, Side, elements
from .evidence import Evidence
from .registry import check, rule

DATA_RAISES = rule(
    "data-raises",
    "The code that prepares the data raises",
    severity="error",
    source="NumPy's, TensorFlow's or the user's own exception",
    fails="""
def build():
    m = keras.Sequential([keras.Input((784,)), L.Dense(10)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((10, 28, 28), "float32").reshape(60, 784), np.zeros((60, 10), "float32")
""",
    passes="""
def build():
    m = keras.Sequential([keras.Input((784,)), L.Dense(10)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((10, 28, 28), "float32").reshape(-1, 784), np.zeros((10, 10), "float32")
""",
)

DATA_MISFIT = rule(
    "data-misfit",
    "fit() will refuse the data as it is",
    severity="error",
    source="tpu-rules B13; Keras' data adapters",
    fails="""
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((10, 4), "float32"), np.zeros((9, 1), "float32")
""",
    passes="""
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((10, 4), "float32"), np.zeros((10, 1), "float32")
""",
)

NUMPY_RESHAPE = re.compile(r"cannot reshape array of size (\d+) into shape \(?([\d, ?-]+)\)?")


def reshape_of(match: re.Match[str]) -> tuple[int, tuple[int, ...]]:
    """How many numbers there are, and the shape that NumPy was asked for."""
    return int(match[1]), tuple(int(n) for n in match[2].replace(" ", "").split(",") if n)


@check(order=1)
def data_raises(evidence: Evidence) -> Iterator[Finding]:
    """The data callable, or iterating the data, raised."""
    error = getattr(evidence.sample, "error", None) if evidence.sample is not None else None
    node = evidence.failed
    if evidence.where == "data" and node is not None and node.failure is not None:
        said, where = node.failure.last_line, node.location
        nodes: tuple[str, ...] = (node.id,)
    elif error is not None:
        said, where, nodes = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__, None, ()
    else:
        return
    match = NUMPY_RESHAPE.search(said)
    if match:
        size, wanted = reshape_of(match)
        yield Finding(
            DATA_RAISES.id, "error", f"The data code asks for an array of {wanted}, and {size} numbers do not fill it.",
            "A reshape keeps every number. Writing -1 for the first axis lets NumPy count the rows itself.",
            Side(f"{elements(wanted)} numbers") if all(n > 0 for n in wanted) else Side(f"shape {wanted}"), Side(f"{size} numbers"), nodes, location=where,
        )  # fmt: skip
        return
    yield Finding(
        DATA_RAISES.id, "error", "The code that prepares the data raises, so there is nothing to feed to the model.",
        f"It says: {said}", None, None, nodes, location=where,
    )  # fmt: skip


SAMPLED = rule(
    "data-sampled",
    "How the data could be looked at",
    severity="note",
    source="the sampler itself",
    fails="""
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return ((np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")) for _ in range(9))
""",
    passes="""
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
""",
)


@check(order=75)
def data_sampled(evidence: Evidence) -> Iterator[Finding]:
    """What should be said about how the sample was taken, such as elements drawn from a generator."""
    for code, text in getattr(evidence.sample, "notes", ()) or ():
        # Leaving a shuffle alone takes nothing from the user and changes no shape.
        if code == "unshuffled":
            continue
        yield Finding(SAMPLED.id, "note", text)


@check(order=2)
def data_misfit(evidence: Evidence) -> Iterator[Finding]:
    """What the sampler knows that ``fit`` refuses."""
    for problem in getattr(evidence.sample, "problems", ()) or ():
        both = bool(problem.expected and problem.found)
        yield Finding(
            DATA_MISFIT.id, "error", problem.text.rstrip(".") + ".", "",
            Side(str(problem.expected)) if both else None, Side(str(problem.found)) if both else None,
        )  # fmt: skip
