"""The model's door: what it declares against what the data brings.

Keras 3's Sequential does not compare the two, so its errors surface inside a later layer, or not at
all. What Keras accepts on purpose is accepted here: a missing or surplus trailing axis of size 1,
integers that are cast, an unknown axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..flow import Finding, KeyPath, Severity, Shape, Side, Spec, elements, show_shape
from ..flow.paths import show, subscript
from .evidence import Evidence
from .registry import check, rule
from .saved_models import finding_of as saved_model_finding
from .words import pair

_SOURCE = "Keras' input checks (tpu-rules L9); the declared shape is compared with the data directly"


def _example(declared: str, rows: str, layer: str = "L.Flatten(), L.Dense(2)") -> str:
    return f"""
def build():
    m = keras.Sequential([keras.Input({declared}), {layer}]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros({rows}, "float32"), np.zeros(({rows}[0], 2), "float32")
"""


_GOOD = _example("(6,)", "(8, 6)")
_CONV = "L.Conv2D(4, 3), L.Flatten(), L.Dense(2)"

BATCH_MISSING = rule(
    "missing-batch-axis", "The data is one sample without a batch axis", severity="error", source=_SOURCE,
    fails="""
def build():
    return keras.Sequential([keras.Input((8,)), L.Dense(4), L.Dense(1)])
def data():
    return np.zeros((8,), "float32"), None
""",
    passes="""
def build():
    return keras.Sequential([keras.Input((8,)), L.Dense(4), L.Dense(1)])
def data():
    return np.zeros((1, 8), "float32"), None
""",
)  # fmt: skip
BATCH_DECLARED = rule(
    "batch-in-input-shape", "The declared input shape counts the batch axis too", severity="error", source=_SOURCE,
    fails=_example("(16, 7, 1)", "(16, 7, 1)", "L.LSTM(4), L.Dense(2)"), passes=_example("(7, 1)", "(16, 7, 1)", "L.LSTM(4), L.Dense(2)"),
)  # fmt: skip
CHANNELS_ORDER = rule(
    "channels-order", "Channels first against channels last", severity="error", source=_SOURCE,
    fails=_example("(3, 32, 32)", "(8, 32, 32, 3)", "L.Conv2D(4, 3, strides=3), L.MaxPooling2D(2), L.Flatten(), L.Dense(2)"),
    passes=_example("(32, 32, 3)", "(8, 32, 32, 3)", _CONV),
)  # fmt: skip
SWAPPED = rule(
    "swapped-axes", "Two axes of the data stand in the other order", severity="error", source=_SOURCE,
    fails=_example("(1, 20)", "(8, 20, 1)", "L.LSTM(4), L.Dense(2)"), passes=_example("(20, 1)", "(8, 20, 1)", "L.LSTM(4), L.Dense(2)"),
)  # fmt: skip
TRANSPOSED = rule(
    "transposed-input", "A sample lies as a column where a row is expected", severity="error", source=_SOURCE,
    fails="""
def build():
    return keras.Sequential([keras.Input((3,)), L.Dense(4)])
def data():
    return np.zeros((3, 1), "float32"), None
""",
    passes="""
def build():
    return keras.Sequential([keras.Input((3,)), L.Dense(4)])
def data():
    return np.zeros((1, 3), "float32"), None
""",
)  # fmt: skip
FLATTENED = rule(
    "flattened-input", "The data is flat where the model declares axes, or the other way round", severity="error", source=_SOURCE,
    fails=_example("(28, 28, 1)", "(8, 784)", _CONV), passes=_example("(28, 28, 1)", "(8, 28, 28, 1)", _CONV),
)  # fmt: skip
RANK = rule(
    "input-rank", "The data has another number of axes than the model declares", severity="error", source=_SOURCE,
    fails=_example("(3,)", "(8, 3, 3)", "L.LSTM(4), L.Dense(2)"), passes=_example("(3, 3)", "(8, 3, 3)", "L.LSTM(4), L.Dense(2)"),
)  # fmt: skip
AXIS = rule(
    "input-axis", "An axis of the data has another size than the model declares", severity="error", source=_SOURCE,
    fails=_example("(3,)", "(8, 2)", "L.Dense(2)"), passes=_GOOD,
)  # fmt: skip
STRUCTURE = rule(
    "input-structure", "The model takes other inputs than the data brings", severity="error", source=_SOURCE,
    fails="""
def build():
    a, b = keras.Input((3,)), keras.Input((4,)); return keras.Model([a, b], L.Concatenate()([a, b]))
def data():
    return [np.zeros((8, 3), "float32")], None
""",
    passes="""
def build():
    a, b = keras.Input((3,)), keras.Input((4,)); return keras.Model([a, b], L.Concatenate()([a, b]))
def data():
    return [np.zeros((8, 3), "float32"), np.zeros((8, 4), "float32")], None
""",
)  # fmt: skip
DTYPE = rule(
    "input-dtype", "The data is text where the model takes numbers", severity="error", source=_SOURCE,
    fails="""
def build():
    return keras.Sequential([keras.Input((1,)), L.Dense(4)])
def data():
    return tf.constant([["a"], ["b"]]), None
""",
    passes="""
def build():
    return keras.Sequential([keras.Input((1,)), L.Dense(4)])
def data():
    return np.array([[1], [2]]), None
""",
)  # fmt: skip
CAST = rule(
    "input-cast", "Integers are cast to floats at the door", severity="note", source="tpu-rules D4: Keras casts, nothing breaks",
    fails="""
def build():
    m = keras.Sequential([keras.Input((6,)), L.Dense(2)]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 6), "int32"), np.zeros((8, 2), "float32")
""",
    passes=_GOOD,
)  # fmt: skip
EXPANDED = rule(
    "input-expanded", "Keras adds the missing trailing axis itself", severity="note", source="keras/src/models/functional.py, _adjust_input_rank",
    fails=_example("(6, 6, 1)", "(8, 6, 6)"), passes=_example("(6, 6, 1)", "(8, 6, 6, 1)"),
)  # fmt: skip


@dataclass
class Mismatch:
    """One input that does not fit, in words."""

    rule: str
    message: str
    why: str
    expected: Side
    found: Side


def fits(declared: Shape, shape: Shape) -> bool:
    """Whether a shape is one that the declaration allows; an unknown axis allows any."""
    return len(declared) == len(shape) and all(a is None or b is None or a == b for a, b in zip(declared, shape, strict=True))


def accepted(want: Spec, got: Spec) -> bool:
    """Whether Keras takes this tensor at this door without a word."""
    if want.shape is None or got.shape is None:
        return True
    if want.shape[1:] == () and got.shape[1:] == ():
        return True
    declared = (None, *want.shape[1:])
    if fits(declared, got.shape):
        return True
    if len(got.shape) == len(declared) - 1 and declared[-1] == 1 and len(got.shape) >= 1:
        return fits(declared[:-1], got.shape)
    return len(got.shape) == len(declared) + 1 and got.shape[-1] == 1 and fits(declared, got.shape[:-1])


def compare(
    name: str, want: Spec, got: Spec, rows: int | None = None, *, building: bool = False, labelled: bool = False
) -> Mismatch | None:
    """What is wrong between a declared input and the tensor that the data brings; ``None`` if nothing.

    ``rows``: how many rows the data has in all, to recognise a sample count that was declared as a size.
    ``building``: the declaration already broke the model, so the data is not at fault.
    ``labelled``: there are as many labels as rows, so each row is a sample.
    """
    if (got.dtype == "string") != (want.dtype == "string") and got.dtype == "string":
        return Mismatch(
            DTYPE.id, f"The data brings text to {name}, which takes {want.dtype} numbers.",
            'Turn text into numbers in the pipeline, for example with TextVectorization in ds.map, or declare the input with dtype="string".',
            Side(want.dtype), Side("string"),
        )  # fmt: skip
    if accepted(want, got) or want.shape is None or got.shape is None:
        return None
    declared: Shape = (None, *want.shape[1:])
    row_want, row = declared[1:], got.shape[1:]
    expected, found = pair(declared, got.shape)
    whole = (rows, *got.shape[1:]) if rows else got.shape
    if row_want and not building and not (labelled and len(row_want) > 1) and fits(row_want, whole):
        return Mismatch(
            BATCH_MISSING.id, f"The data is a single sample {show_shape(got.shape)}: {name} expects a batch of them.",
            "Keras reads the first axis as the batch, so one sample needs an axis of size 1 in front: x[None].",
            *pair(declared, got.shape),
        )  # fmt: skip
    if len(row_want) == len(row) + 1 and fits(row_want[1:], row) and (row_want[0] in (None, *got.shape[:1], rows) or building):
        return Mismatch(
            BATCH_DECLARED.id, f"{name} declares {show_shape(row_want)}, which counts the batch axis: one sample is {show_shape(row)}.",
            "An input shape describes one sample; Keras puts the batch axis in front of it.", *pair(declared, got.shape),
        )  # fmt: skip
    if len(row_want) != len(row):
        return _rank(name, declared, got.shape, expected, found)
    if sorted(map(str, row_want)) == sorted(map(str, row)):
        return _order(name, row_want, row, expected, found)
    if len(got.shape) == 2 and got.shape[0] == row_want[0] and got.shape[1] == 1:
        return Mismatch(
            TRANSPOSED.id, f"The data is a column {show_shape(got.shape)}: {name} reads it as {got.shape[0]} samples of one number, not one sample of {got.shape[0]}.",
            "The first axis is the batch. Transposing gives one row.", expected, found,
        )  # fmt: skip
    return _sizes(name, row_want, row, rows, expected, found)


def _rank(name: str, declared: Shape, shape: Shape, expected: Side, found: Side) -> Mismatch:
    size = elements(declared[1:])
    if size is not None and size == elements(shape[1:]):
        flat = len(shape) == 2
        return Mismatch(
            FLATTENED.id,
            f"Each row of the data is {'flat, ' + str(size) + ' numbers' if flat else show_shape(shape[1:])}: {name} declares {show_shape(declared[1:])}.",
            "The numbers are all there, only the axes differ: a reshape of the data, or a layer that reshapes, brings them together.", expected, found,
        )  # fmt: skip
    gap = len(shape) - len(declared)
    lacks = f"{abs(gap)} {'axis' if abs(gap) == 1 else 'axes'} {'more' if gap > 0 else 'fewer'}"
    return Mismatch(
        RANK.id, f"The data has {lacks} than {name} declares: {show_shape(shape[1:])} a row against {show_shape(declared[1:])}.",
        "The declared shape and one row of the data must have the same axes.", expected, found,
    )  # fmt: skip


def _order(name: str, want: Shape, row: Shape, expected: Side, found: Side) -> Mismatch:
    if len(want) >= 3 and (want == (row[-1], *row[:-1]) or want == (*row[1:], row[0])):
        first = "channels first" if want == (row[-1], *row[:-1]) else "channels last"
        other = "channels last" if first == "channels first" else "channels first"
        return Mismatch(
            CHANNELS_ORDER.id, f"{name} declares {show_shape(want)}, {first}; the data is {show_shape(row)}, {other}.",
            "Keras' layers and TPUs work channels last unless told otherwise.", expected, found,
        )  # fmt: skip
    return Mismatch(
        SWAPPED.id, f"The axes stand in another order: {name} declares {show_shape(want)}, a row of the data is {show_shape(row)}.",
        "The sizes are the same, their order is not.", expected, found,
    )  # fmt: skip


_SINGULAR = {"channels": "channel", "features": "feature", "numbers a row": "number a row"}


def _sizes(name: str, want: Shape, row: Shape, rows: int | None, expected: Side, found: Side) -> Mismatch:
    off = [i for i, (a, b) in enumerate(zip(want, row, strict=True)) if a is not None and b is not None and a != b]
    last = len(want) - 1
    if off == [last]:
        noun = "channels" if len(want) >= 3 else "features" if len(want) == 2 else "numbers a row"
        extra = f" {want[last]} is the number of rows in the data." if rows is not None and want[last] == rows else ""
        return Mismatch(
            AXIS.id, f"{name} declares {want[last]} {noun if want[last] != 1 else _SINGULAR[noun]}, the data brings {row[last]}.",
            f"The layers behind it were made for {want[last]}.{extra}", expected, found,
        )  # fmt: skip
    return Mismatch(
        AXIS.id, f"{name} declares {show_shape(want)} a row, the data brings {show_shape(row)}.", "The sizes of these axes differ.", expected, found,
    )  # fmt: skip


def names_apart(evidence: Evidence) -> tuple[list[str], list[str]]:
    """Declared inputs that a dict of data lacks, and keys of the data under which the model has no input."""
    declared = [evidence.doors[path].keys for path, _ in evidence.declared or []]
    given = [path[1:] for path, _ in evidence.x]
    if not declared or not any(isinstance(key, str) for keys in given for key in keys):
        return [], []
    return [_shown(keys) for keys in declared if keys not in given], [_shown(keys) for keys in given if keys not in declared]


def _shown(keys: KeyPath) -> str:
    return str(keys[0]) if len(keys) == 1 else subscript(keys)


def crossed(evidence: Evidence) -> list[tuple[KeyPath, KeyPath]]:
    """Inputs that are fed from under the key of another one."""
    given = {path[1:] for path, _ in evidence.x}
    return [
        (door, leaf)
        for door, leaf in evidence.feeds
        if any(isinstance(key, str) for key in leaf[1:]) and leaf[1:] != evidence.doors[door].keys and evidence.doors[door].keys in given
    ]


def mismatches(evidence: Evidence) -> Iterator[tuple[KeyPath, Mismatch]]:
    """Every declared input that the data does not fit, with the place of that data."""
    rows = getattr(evidence.sample, "rows", None)
    for (door, want), (path, got) in matched(evidence):
        found = compare(
            f"the model's input {evidence.doors[door].word}" if len(evidence.doors) > 1 else "the model's input",
            want,
            got,
            rows,
            building=evidence.where == "build",
            labelled=_labelled(evidence, got),
        )
        if found is not None:
            found.message = found.message[:1].upper() + found.message[1:]
            yield path, found


def _labelled(evidence: Evidence, got: Spec) -> bool:
    """Whether each row has a label of its own."""
    firsts = [spec.shape[0] for _, spec in evidence.y if spec.shape]
    return bool(firsts) and bool(got.shape) and got.shape is not None and all(n is not None and n > 1 and n == got.shape[0] for n in firsts)


def matched(evidence: Evidence) -> list[tuple[tuple[KeyPath, Spec], tuple[KeyPath, Spec]]]:
    """Declared inputs and the tensors of the data that feed them, side by side."""
    declared, x = dict(evidence.declared or []), dict(evidence.x)
    return [((door, declared[door]), (path, x[path])) for door, path in evidence.feeds]


@check(order=10)
def entry(evidence: Evidence) -> Iterator[Finding]:
    """Compares the door with the data; serious only where the program really broke behind it."""
    if evidence.where in ("data", "loss", "metric") or not evidence.declared or not evidence.x:
        return
    inputs = [node.id for node in evidence.flow.nodes if node.kind == "input"]
    if evidence.where == "build" and saved_model_finding(evidence) is not None:
        return  # the break stands behind the door, and the data never came that far
    missing, unknown = names_apart(evidence)
    swapped = crossed(evidence) if not evidence.where else []
    if swapped or (unknown and missing and evidence.where == "call"):
        yield Finding(
            STRUCTURE.id,
            "silent" if swapped else "error",
            "; ".join(f"{evidence.doors[door].word} is fed with {show(path)}" for door, path in swapped) + "."
            if swapped
            else f"The data brings {', '.join(unknown)}, and the model has no input of that name.",
            "Keras only warns where keys do not agree, and feeds the arrays in the order of their keys, whatever they mean."
            if swapped
            else "A dict of arrays is matched by name. Rename its keys to the inputs' names, or give a list in the declared order.",
            Side(", ".join(evidence.doors[path].word for path, _ in evidence.declared)),
            Side(", ".join(map(show_given, evidence.x))),
            tuple(inputs),
        )
        return
    if len(evidence.declared) != len(evidence.x) and not evidence.feeds:
        if evidence.where == "call":
            want, got = len(evidence.declared), len(evidence.x)
            yield Finding(
                STRUCTURE.id, "error", f"The model takes {want} input{'s' * (want > 1)} and the data brings {got}.",
                "Each declared input needs its own array, in the declared order or by name in a dict.",
                Side(", ".join(evidence.doors[path].word for path, _ in evidence.declared)), Side(", ".join(map(show_given, evidence.x))), tuple(inputs),
            )  # fmt: skip
        return
    for path, found in mismatches(evidence):
        door = evidence.input_at(path)
        own = (door.id,) if door is not None else ()
        nodes = own + tuple(node.id for node in evidence.flow.failed())
        # Axes in another order run where nothing depends on their sizes, and mean something else.
        severity: Severity = "error" if evidence.where else "silent" if found.rule in (SWAPPED.id, CHANNELS_ORDER.id) else "note"
        edges = tuple(edge.id for edge in evidence.flow.edges if edge.target in own)
        failed = evidence.failed
        broke = f" It breaks at {failed.name}." if failed is not None and failed.kind != "input" else ""
        yield Finding(
            found.rule, severity, found.message, found.why + broke, found.expected, found.found, tuple(dict.fromkeys(nodes)), edges
        )


def show_given(leaf: tuple[KeyPath, Spec]) -> str:
    """A tensor of the data as a user names it: its key in a dict, else its place."""
    path, _ = leaf
    return str(path[1]) if len(path) == 2 and isinstance(path[1], str) else show(path)


@check(order=60)
def entry_notes(evidence: Evidence) -> Iterator[Finding]:
    """What Keras does at the door without a word."""
    if evidence.where:
        return
    for (_, want), (path, got) in matched(evidence):
        door = evidence.input_at(path)
        node = (door.id,) if door is not None else ()
        if want.dtype.startswith(("float", "bfloat")) and got.dtype.startswith(("int", "uint")):
            yield Finding(
                CAST.id, "note", f"The data is {got.dtype} and is cast to {want.dtype} at the model's input.",
                "This is allowed everywhere. Casting in the pipeline instead says what is meant.", Side(want.dtype), Side(got.dtype), node,
            )  # fmt: skip
        if want.shape is not None and got.shape is not None and len(got.shape) == len(want.shape) - 1 and accepted(want, got):
            yield Finding(
                EXPANDED.id, "note", f"The rows have no trailing axis; Keras adds one of size 1 to make {show_shape((None, *want.shape[1:]))}.",
                "This is allowed. np.expand_dims(x, -1) makes it explicit.", *pair((None, *want.shape[1:]), got.shape), node,
            )  # fmt: skip
