"""Faults in the code and the structure of the data, before the model receives it, and what NumPy refuses there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..examine.heard import HeardOperation, HeardReshape, HeardUnequal, HeardUnlike, hear
from ..examine.heard_contracts import HeardNoRank, HeardUnpack
from ..examine.heard_data import HeardNested, HeardPadded, HeardPaddedShort, HeardReturned, HeardSlices, HeardUneven, HeardYielded
from ..examine.heard_lines import HeardArrays, HeardBeyond, HeardInnerDataset, HeardJoined, HeardNoValue, HeardTakes
from ..examine.row_steps import odd_steps
from ..flow import Fact, Finding, KeyPath, Location, Severity, Spec
from ..flow.paths import show
from ..flow.syntax import names_in
from ..trace.assemble import failure
from ..trace.locations import location
from ..trace.raised import error_line
from .compared import seen_at
from .entry import matched, stacked_inputs
from .facts.arrays import ClassBeyond, JoinedApart, ListsApart, ResultsApart, RowBeyond
from .facts.data import (
    ClassesAsWeights,
    DataRaised,
    MappedParts,
    MappedValue,
    PipelineShapes,
    RankNeeded,
    Refused,
    ReturnedDtype,
    RowStep,
    Sampled,
    SlicedApart,
    TextArray,
    ThirdPart,
    TooManyParts,
    Unbatchable,
    Unfilled,
    WidthsVary,
    WindowsAsDatasets,
    YieldedShape,
)
from .facts.layers import ArraysApart
from .facts.padded import PaddedApart
from .mapped import emptied_stage, refused_by_kernels
from .reasons_read import flattened_rows
from .registry import check, rule
from .tpu_types import TEXT_LAYERS
from .words import listed
from .zipped import short_windows

_SHORT = 60

DATA_RAISES = rule(
    "data-raises",
    "The code that prepares the data raises an error",
    severity="error",
    source="the exception raised by NumPy, TensorFlow or the program",
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
    "fit() rejects the data",
    severity="error",
    source="tpu-rules B13; Keras data adapters",
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


def _padded(evidence: Evidence, said: str) -> PaddedApart | None:
    told = hear(said, HeardPadded)
    if told is not None:
        return PaddedApart("rank", told.given, told.row)
    if hear(said, HeardPaddedShort) is not None:
        return PaddedApart("short")
    running = "padded_batch(" in _code(evidence)
    return PaddedApart("parts") if running and hear(said, HeardNested) is not None else None


@check(order=1)
def data_raises(evidence: Evidence) -> Iterator[Finding]:
    """The data callable, or iterating the data, raised."""
    error = getattr(evidence.sample, "error", None) if evidence.sample is not None else None
    windows = short_windows(evidence)
    if evidence.facts.get("returns_nothing") is not None:
        return  # told by the function itself
    if windows is not None:
        yield Finding.of(DATA_RAISES.id, "error", windows[0], location=windows[1])
        return
    node = evidence.failed
    if evidence.where == "data" and node is not None and node.failure is not None:
        said, where = node.failure.said, node.location
        nodes: tuple[str, ...] = (node.id,)
    elif error is not None:
        said, where, nodes = failure(error, "data").said, error_line(error), ()
    else:
        found = emptied_stage(evidence) if evidence.where else None
        if found is not None:
            yield Finding.of(DATA_MISFIT.id, "error", found[0], location=found[1])
        return
    emptied, kernel = emptied_stage(evidence), refused_by_kernels(evidence, said)
    if emptied is not None:
        yield Finding.of(DATA_RAISES.id, "error", emptied[0], nodes, location=emptied[1])
        return
    if kernel is not None:
        yield Finding.of(DATA_RAISES.id, "error", kernel, nodes, location=where)
        return
    reshape = hear(said, HeardReshape)
    unlike, operation = hear(said, HeardUnlike), hear(said, HeardOperation)
    pair = (unlike.first, unlike.second) if unlike is not None else operation.shapes if operation is not None else ()
    if len(pair) == 2 and (unlike is not None or hear(said, HeardUnequal) is not None):
        yield Finding.of(
            DATA_RAISES.id, "error", PipelineShapes(*pair, operation is not None and "matmul" in operation.operation.lower()), nodes, location=where
        )
        return
    arrays = refused(evidence, said, _code(evidence))
    if arrays is not None:
        yield Finding.of(DATA_RAISES.id, "error", arrays, nodes, location=where)
        return
    yielded = hear(said, HeardYielded)
    if yielded is not None:
        yield Finding.of(DATA_RAISES.id, "error", YieldedShape(yielded.given, yielded.wanted), nodes, location=where)
        return
    uneven = hear(said, HeardUneven)
    if uneven is not None:
        yield Finding.of(DATA_RAISES.id, "error", Unbatchable(uneven.first, uneven.second), nodes, location=where)
        return
    padded = _padded(evidence, said)
    if padded is not None:
        yield Finding.of(DATA_RAISES.id, "error", padded, nodes, location=where)
        return
    slices = hear(said, HeardSlices)
    if slices is not None:
        yield Finding.of(DATA_RAISES.id, "error", SlicedApart(slices.first, slices.second, _row_step(evidence)[0]), nodes, location=where)
        return
    returned = hear(said, HeardReturned)
    if returned is not None:
        yield Finding.of(DATA_RAISES.id, "error", ReturnedDtype(returned.index, returned.given, returned.wanted), nodes, location=where)
        return
    if hear(said, HeardNoRank) is not None:
        yield Finding.of(DATA_RAISES.id, "error", RankNeeded(said), nodes, location=where)
        return
    parts = hear(said, HeardTakes)
    fact: Fact = DataRaised(said, _code(evidence))
    if parts is not None and _called_by_map(evidence):
        fact = MappedParts(parts.function, parts.takes, parts.given)
    elif hear(said, HeardInnerDataset) is not None:
        fact = WindowsAsDatasets(_code(evidence), said)
    elif hear(said, HeardNoValue) is not None:
        fact = MappedValue(_code(evidence), said)
    elif reshape is not None and reshape.by == "numpy":
        fact = Unfilled(reshape.have, reshape.wanted, "data")
    yield Finding.of(DATA_RAISES.id, "error", fact, nodes, location=where)


def _code(evidence: Evidence) -> str:
    text = evidence.raised.text if evidence.raised is not None else ""
    return text if len(text) <= _SHORT and "\n" not in text else ""


# Of a call over several lines, the interpreter tells the method's name on.
_MAP = re.compile(r"\bmap\(")


def _called_by_map(evidence: Evidence) -> bool:
    return evidence.raised is not None and _MAP.search(evidence.raised.text) is not None


SAMPLED = rule(
    "data-sampled",
    "How the data was sampled",
    severity="note",
    source="the data sampler",
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
    """Notes on how the data was sampled, such as elements drawn from a generator."""
    for code, text in getattr(evidence.sample, "notes", ()) or ():
        # Leaving a shuffle alone takes nothing from the user and changes no shape.
        if code == "unshuffled":
            continue
        yield Finding.of(SAMPLED.id, "note", Sampled(code, text))
    for lost in evidence.facts.get("lost", ()):
        yield Finding.of(SAMPLED.id, "note", Sampled("moved-on", str(lost)))


@check(order=2)
def data_misfit(evidence: Evidence) -> Iterator[Finding]:
    """Data that ``fit`` rejects, as the sampler knows."""
    for problem in getattr(evidence.sample, "problems", ()) or ():
        if problem.code == "data-raised":
            continue  # said with its own words
        element = getattr(evidence.sample, "element", None)
        if problem.code == "element-parts" and isinstance(element, (tuple, list)):
            names = tuple(node.name for node in evidence.flow.nodes if node.kind == "output")
            yield Finding.of(DATA_MISFIT.id, "error", TooManyParts(len(element), len(evidence.declared or ()), names))
            continue
        if problem.code in ("cardinality", "parts-list") and stacked_inputs(evidence) is not None:
            continue  # said of the inputs
        by_class = _by_class(evidence, problem.counts) if problem.code == "cardinality" else None
        if by_class is not None:
            yield Finding.of(DATA_MISFIT.id, "error", by_class)
            continue
        if problem.code == "text" and _reads_text(evidence, problem.path):
            yield Finding.of(DATA_MISFIT.id, "error", TextArray(problem.path, str(problem.found)))
            continue
        wanted, found = str(problem.expected or ""), str(problem.found or "")
        same = {name: getattr(problem, name) for name in ("code", "text", "counts", "ids", "path", "dtype", "steps", "alike", "columns")}
        made, where = _row_step(evidence) if problem.code == "cardinality" else (None, None)
        flat = flattened_rows(evidence, problem.counts) if problem.code == "cardinality" else None
        positions = flat if flat is not None else ((), ())
        refused = Refused(**same, wanted=wanted, given=found, made=made, flat=positions[0], positions=positions[1], turned=_turned(evidence, problem.counts))
        yield Finding.of(DATA_MISFIT.id, _severity(evidence, problem.code), refused, location=where)


def _turned(evidence: Evidence, counts: tuple[int, ...]) -> KeyPath:
    """The only table with as many columns as all other arrays have rows, and as many rows as the model takes or gives values."""
    leaves = list(evidence.sample.leaves("x", "y"))
    if len(leaves) != len(counts) or len(set(counts)) == 1:
        return ()
    ends = {"x": [spec.shape for _, spec in evidence.declared or []], "y": [spec.shape for _, spec in evidence.outputs]}
    tables = [
        path
        for i, (path, leaf) in enumerate(leaves)
        if len(leaf.concrete or ()) == 2
        and {leaf.concrete[1]} == {*counts[:i], *counts[i + 1 :]}
        and any(shape and shape[-1] == counts[i] != leaf.concrete[1] for shape in ends[str(path[0])])
    ]
    return tables[0] if len(tables) == 1 else ()


def _reads_text(evidence: Evidence, path: KeyPath) -> bool:
    """Whether the model reads text where the data is at ``path``, as it declares, or as a layer that makes numbers of text does."""
    if evidence.declared is None:
        return any(node.op in TEXT_LAYERS for node in evidence.flow.nodes)
    return any(want.dtype == "string" for (_, want), (given, _) in matched(evidence) if given == path)


def _severity(evidence: Evidence, code: str) -> Severity:
    """An error, but for data without rows where ``fit`` returns an empty history: Keras 3 on TensorFlow counts no steps of a ``tf.data.Dataset``."""
    empty = code in ("no-rows", "no-batches") and getattr(evidence.sample, "kind", "") in ("arrays", "dataset")
    return "silent" if empty and (evidence.framework, evidence.backend) == ("keras", "tensorflow") else "error"


def _row_step(evidence: Evidence) -> tuple[RowStep | None, Location | None]:
    arrays = evidence.facts.get("arrays", ())
    for one, step in odd_steps(arrays)[:1]:
        rest = [other for other in arrays if other.rows != one.rows]
        theirs = next((cut.text for other in rest for cut in other.steps if cut.kind == step.kind == "cut"), "")
        others = listed(tuple(sorted({show(other.path) for other in rest})))
        made = RowStep(step.kind, step.text, step.node.lineno, show(one.path), others, theirs)
        return made, location((step.file, step.node.lineno))
    return None, None


@check(order=2)
def uneven_batches(evidence: Evidence) -> Iterator[Finding]:
    """A later batch whose features a layer's weights do not fit: ``fit`` sees an unknown axis, and fails where it gets there."""
    for (_, want), (path, got) in matched(evidence):
        if want.shape is None or got.shape is None or len(want.shape) != len(got.shape) or len(got.shape) < 2:
            continue
        width = want.shape[-1]
        if width is None or got.shape[-1] not in (None, width) or not _multiplied(evidence, want):
            continue
        for number, widths in enumerate(value.shape[-1] for value in seen_at(evidence, path) if value.ndim > 1):
            if widths != width:
                words = f"Batch {number} of the data has {widths} values on the last axis of {show(path)}, but the model declares {width}"
                text = f"{words}: fit fails when it gets there; give all batches the same features"
                yield Finding.of(DATA_MISFIT.id, "error", Refused("uneven-batches", text, str(width), str(widths)))
                break


def _multiplied(evidence: Evidence, want: Spec) -> bool:
    doors = {node.id for node in evidence.flow.nodes if node.kind == "input"}
    behind = {edge.target for edge in evidence.flow.edges if edge.source in doors}
    kernels = [weight.shape for node in evidence.flow.nodes if node.id in behind for weight in node.weights if weight.name == "kernel"]
    return want.shape is not None and any(shape is not None and len(shape) > 1 and shape[-2] == want.shape[-1] for shape in kernels)


WIDTHS = rule(
    "label-widths", "The number of classes in one-hot labels varies between batches", severity="error", source="the sampled batches",
    fails="""
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="softmax")]); m.compile("sgd", "categorical_crossentropy"); return m
def data():
    parts = np.array([[0, 1, 2, 1], [0, 1, 1, 0], [2, 0, 1, 0]])
    return ((np.zeros((4, 4), "float32"), keras.utils.to_categorical(part)) for part in parts)
""",
    passes="""
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(3, activation="softmax")]); m.compile("sgd", "categorical_crossentropy"); return m
def data():
    parts = np.array([[0, 1, 2, 1], [0, 1, 1, 0], [2, 0, 1, 0]])
    return ((np.zeros((4, 4), "float32"), keras.utils.to_categorical(part, num_classes=3)) for part in parts)
""",
)  # fmt: skip


@check(order=2)
def label_widths(evidence: Evidence) -> Iterator[Finding]:
    """One-hot labels that are wider in one batch than in another."""
    for path, widths in varying_widths(evidence):
        known = {spec.shape[-1] for _, spec in evidence.outputs if spec.shape and len(spec.shape) == 2}
        classes = known.pop() if len(known) == 1 else None
        fact = WidthsVary(show(path), widths, classes if classes is not None and classes >= max(widths) else None)
        yield Finding.of(WIDTHS.id, "error", fact)


def varying_widths(evidence: Evidence) -> list[tuple[KeyPath, tuple[int, ...]]]:
    """The labels with a row of zeros and a one for each sample, and their widths where these differ."""
    if "train_step" in (evidence.facts.get("overrides") or ()):
        return []
    found = {path: seen_at(evidence, path) for path, _ in evidence.y}
    return [
        (path, tuple(sorted({value.shape[1] for value in values})))
        for path, values in found.items()
        if all(value.ndim == 2 and value.dtype.kind in "buif" for value in values)
        and len({value.shape[1] for value in values}) > 1
        and all(((value == 0) | (value == 1)).all() and (value.sum(-1) == 1).all() for value in values)
    ]


NUMBERED = rule(
    "weights-numbered", "Sample weights that only count the samples", severity="note", source="the sampled weights",
    fails="""
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    x, y = np.zeros((16, 4), "float32"), np.zeros((16, 1), "float32")
    return tf.data.Dataset.from_tensor_slices((x, y, np.arange(16))).batch(8)
""",
    passes="""
def build():
    m = keras.Sequential([keras.Input((4,)), L.Dense(1)]); m.compile("sgd", "mse"); return m
def data():
    x, y = np.zeros((16, 4), "float32"), np.zeros((16, 1), "float32")
    return tf.data.Dataset.from_tensor_slices((x, y, np.arange(16) % 2)).batch(8)
""",
)  # fmt: skip


@check(order=76)
def weights_numbered(evidence: Evidence) -> Iterator[Finding]:
    """Sample weights of which each is another whole number."""
    stats = getattr(evidence.sample, "stats", None) or {}
    for path, spec in evidence.weight:
        known = stats.get(path)
        if known is not None and known.integer and spec.dtype.startswith(("int", "uint")) and known.rows >= 8 and known.distinct == known.rows:
            yield Finding.of(NUMBERED.id, "note", ThirdPart(whole=True))


def _by_class(evidence: Evidence, counts: tuple[int, ...]) -> ClassesAsWeights | None:
    """Sample weights that are one number a class: as many as a label is wide, or as there are class numbers."""
    leaves = list(evidence.sample.leaves()) if evidence.sample is not None else []
    weights = [leaf.concrete for path, leaf in leaves if path[0] == "weight"]
    labels = [(path, leaf.concrete) for path, leaf in leaves if path[0] == "y"]
    if len(weights) != 1 or len(labels) != 1 or weights[0] is None or len(weights[0]) != 1 or not labels[0][1]:
        return None
    (path, shape), classes = labels[0], weights[0][0]
    stats = evidence.label_stats.get(path)
    hot = len(shape) > 1 and shape[-1] == classes
    numbered = stats is not None and stats.whole and (stats.minimum or 0) >= 0 and classes == int(stats.maximum or 0) + 1
    rows = next((n for n in counts if n != classes), 0)
    return ClassesAsWeights(classes, rows, hot) if rows and classes > 1 and (hot or numbered) else None


def refused(evidence: Evidence, said: str, code: str) -> Fact | None:
    """The fact for a message of NumPy's; ``code`` is the expression that raised."""
    arrays, joined = hear(said, HeardArrays), hear(said, HeardJoined)
    classes, lists = evidence.facts.get("classes"), evidence.facts.get("lists")
    if arrays is not None and arrays.how == "combined":
        return PipelineShapes(arrays.first, arrays.second)
    if arrays is not None:
        return ArraysApart(arrays.how, arrays.first, arrays.second)
    if classes is not None:
        return ClassBeyond(classes.labels, classes.count, classes.lowest, classes.highest)
    if lists is not None:
        return ListsApart(lists.name, lists.shortest, lists.longest)
    unpack, beyond = hear(said, HeardUnpack), hear(said, HeardBeyond)
    if unpack is not None:
        return ResultsApart(code, unpack.wanted, unpack.many)
    if beyond is not None:
        return RowBeyond(code, beyond.index, beyond.size)
    return _joined(evidence, joined, code) if joined is not None else None


def _joined(evidence: Evidence, joined: HeardJoined, code: str) -> JoinedApart:
    raised = evidence.raised
    names = names_in(raised.text) if raised is not None else set()
    shapes = tuple(spec.shape for name, spec in raised.tensors if name in names and spec.shape is not None) if raised is not None else ()
    if len(shapes) < 2 or len({len(shape) for shape in shapes}) != 1:
        return JoinedApart(code, joined.axis, joined.first, joined.second, fits=joined.axis)
    differ = [axis for axis in range(len(shapes[0])) if len({shape[axis] for shape in shapes}) > 1]
    return JoinedApart(code, joined.axis, joined.first, joined.second, shapes, differ[0] if len(differ) == 1 else None)
