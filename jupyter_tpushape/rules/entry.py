"""The model's inputs: what they declare against the data.

Keras 3's Sequential does not compare the two, so its errors surface inside a later layer, or not at
all. What Keras accepts on purpose is accepted here: a missing or surplus trailing axis of size 1,
integers that are cast, an unknown axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from ..examine.evidence import Evidence
from ..examine.replaced import Replaced
from ..flow import Fact, Finding, KeyPath, Severity, Shape, Spec, Who, elements
from ..flow.paths import show, subscript
from ..trace.doors import accepted, fits
from ..trace.locations import location
from .encodings import coded_rows
from .entry_rules import AXIS, BATCH_DECLARED, BATCH_MISSING, CAST, CHANNELS_ORDER, DTYPE, EXPANDED, FLATTENED, PATCHES, RANK, STRUCTURE, SWAPPED, TRANSPOSED
from .facts.data import InputsBySample, InputsStacked
from .facts.entry import (
    AxisAdded,
    BatchElsewhere,
    CastAtDoor,
    CutIntoPatches,
    Door,
    Fault,
    FeaturesWanted,
    FormatsApart,
    InputReplaced,
    Misfit,
    SwappedPair,
    WrongInputs,
    WrongNames,
    ZippedPairs,
)
from .facts.layers import ChannelsApart
from .registry import check
from .saved_models import finding_of as saved_model_finding
from .tpu_batch import never_batched
from .upstream import channels_in_front
from .words import axes_of


def compare(
    name: str, want: Spec, got: Spec, rows: int | None, *, several: bool, building: bool, labelled: bool, ranked: bool, once: bool, alone: bool, breaks_at: str
) -> tuple[str, Misfit] | None:
    """The rule and the fact of what is wrong between a declared input and the tensor that the data brings; ``None`` if nothing.

    ``rows``: how many rows the data has in all, to recognise a sample count that was declared as a size.
    ``building``: the declaration already broke the model, so the data is not at fault.
    ``labelled``: there are as many labels as rows, so each row is a sample.
    ``ranked``: the layer behind the input works on tensors of the declared rank alone.
    ``once``: the data is one sample, beside several samples of other inputs.
    ``alone``: there are no labels, so the data may be one sample.
    """
    text = got.dtype == "string" != want.dtype
    numbers = want.dtype == "string" and got.dtype.startswith(("int", "uint", "float"))
    if not text and not numbers and (accepted(want, got) or want.shape is None or got.shape is None):
        return None
    declared = (None, *(want.shape or ())[1:])
    fault: Fault = "text" if text else "numbers"
    if not text and not numbers:
        fault = "sample" if once else _fault(declared[1:], got.shape or (), rows, building, labelled, ranked)
    if fault == "rank" and alone and (_resized_sample(declared[1:], got.shape or ()) or _flat_sample(declared[1:], got.shape or (), rows)):
        fault = "sample"
    return _RULES[fault], Misfit(fault, Door(name, declared, want.dtype, several), got.shape or (), rows, breaks_at)


def _fault(want: Shape, shape: Shape, rows: int | None, building: bool, labelled: bool, ranked: bool) -> Fault:
    row = shape[1:]
    whole = (rows, *row) if rows else shape
    if want and not building and not (labelled and len(want) > 1) and fits(want, whole):
        return "sample"
    if not ranked and len(want) == len(row) + 1 and fits(want[1:], row) and (want[0] in (None, *shape[:1], rows) or building):
        return "batch-declared"
    if len(want) == len(row) + 1 > 2 and want[-1] == 1 and want[:-1] != row and sorted(map(str, want[:-1])) == sorted(map(str, row)):
        return "order"  # Keras adds the last axis
    if len(want) != len(row):
        size = elements(want)
        return "flattened" if size is not None and size == elements(row) else "rank"
    if sorted(map(str, want)) == sorted(map(str, row)):
        return "channels" if len(want) >= 3 and _channels_moved(want, row) else "order"
    if len(shape) == 2 and shape[0] == want[0] and shape[1] == 1:
        return "column"
    return "size"


def _resized_sample(want: Shape, shape: Shape) -> bool:
    return len(want) == len(shape) >= 3 and want[-1] is not None and want[-1] == shape[-1] and not fits(want[:-1], shape[1:])


def _flat_sample(want: Shape, shape: Shape, rows: int | None) -> bool:
    """Whether it is one sample that lacks its last axis, too: a gray picture, a series."""
    whole = (rows, *shape[1:]) if rows else shape
    return len(want) > 1 and want[-1] in (1, 3) and None not in want and fits(want[:-1], whole)


def _channels_moved(want: Shape, row: Shape) -> bool:
    moves = (((row[-1], *row[:-1]), row[-1]), ((*row[1:], row[0]), row[0]))
    known = [size for size in row if size is not None]
    return any(want == moved and channels is not None and channels == min(known) for moved, channels in moves)


_RULES: dict[Fault, str] = {
    "text": DTYPE.id,
    "numbers": DTYPE.id,
    "sample": BATCH_MISSING.id,
    "batch-declared": BATCH_DECLARED.id,
    "flattened": FLATTENED.id,
    "rank": RANK.id,
    "channels": CHANNELS_ORDER.id,
    "order": SWAPPED.id,
    "column": TRANSPOSED.id,
    "size": AXIS.id,
}


def names_apart(evidence: Evidence) -> tuple[list[str], list[str]]:
    """Declared inputs that a dict of data lacks, and keys of the data for which the model has no input."""
    declared = [evidence.doors[path].keys for path, _ in evidence.declared or []]
    given = [path[1:] for path, _ in evidence.x]
    if not declared or not any(isinstance(key, str) for keys in given for key in keys):
        return [], []
    return [_shown(keys) for keys in declared if keys not in given], [_shown(keys) for keys in given if keys not in declared]


def _shown(keys: KeyPath) -> str:
    return str(keys[0]) if len(keys) == 1 else subscript(keys)


def crossed(evidence: Evidence) -> list[tuple[KeyPath, KeyPath]]:
    """Inputs that receive the data of another input's key."""
    given = {path[1:] for path, _ in evidence.x}
    return [
        (door, leaf)
        for door, leaf in evidence.feeds
        if any(isinstance(key, str) for key in leaf[1:]) and leaf[1:] != evidence.doors[door].keys and evidence.doors[door].keys in given
    ]


def mismatches(evidence: Evidence) -> Iterator[tuple[KeyPath, str, Misfit]]:
    """Every declared input that the data does not match, with the path of that data and the rule."""
    rows, failed, once = getattr(evidence.sample, "rows", None), evidence.failed, once_for_all(evidence)
    for (door, want), (path, got) in matched(evidence):
        found = compare(
            evidence.doors[door].word, want, got, rows, several=len(evidence.doors) > 1, building=evidence.where == "build",
            labelled=_labelled(evidence, got), ranked=_ranked(evidence, door, want), once=path in once, alone=not evidence.y,
            breaks_at=failed.name if failed is not None and failed.kind != "input" else "",
        )  # fmt: skip
        if found is not None:
            yield path, *found


def once_for_all(evidence: Evidence) -> tuple[KeyPath, ...]:
    """Arrays that are one sample of their input each."""
    problems = getattr(evidence.sample, "problems", ())
    pairs = matched(evidence) if any(problem.code == "cardinality" for problem in problems) else []
    whole = {path: leaf.shape for path, leaf in evidence.sample.leaves("x", "y")} if pairs else {}
    once = tuple(path for (_, want), (path, _) in pairs if want.shape is not None and _whole(want.shape[1:], whole.get(path)))
    return once if len(once) < len(pairs) else ()


def _whole(row: Shape, shape: Shape | None) -> bool:
    return shape is not None and len(row) == len(shape) > 1 and fits(row, shape)


def _ranked(evidence: Evidence, door: KeyPath, want: Spec) -> bool:
    """Whether a layer that reads an input steps through its first axis, or works on as many axes as are declared."""
    names = {evidence.doors[door].word, _shown(evidence.doors[door].keys)}
    inputs = [node for node in evidence.flow.nodes if node.kind == "input" and (node.name in names or len(evidence.doors) == 1)]
    readers = [evidence.flow.node(edge.target) for node in inputs for edge in evidence.flow.out_of(node.id)]
    rank = len(want.shape or ())
    return any(node.op == "TimeDistributed" or (axes_of(node.op) and len(axes_of(node.op)) == rank) for node in readers)


def _labelled(evidence: Evidence, got: Spec) -> bool:
    firsts = [spec.shape[0] for _, spec in evidence.y if spec.shape]
    return bool(firsts) and bool(got.shape) and got.shape is not None and all(n is not None and n > 1 and n == got.shape[0] for n in firsts)


def matched(evidence: Evidence) -> list[tuple[tuple[KeyPath, Spec], tuple[KeyPath, Spec]]]:
    """Pairs of a declared input and the tensor of the data for it."""
    declared, x = dict(evidence.declared or []), dict(evidence.x)
    return [((door, declared[door]), (path, x[path])) for door, path in evidence.feeds]


def batched_twice(evidence: Evidence) -> tuple[int, ...]:
    """Which of x (0) and y (1) have one row in each batch, which is by itself a batch that the model accepts."""
    pairs, rows = matched(evidence), set(getattr(evidence.sample, "batch_sizes", ()))
    if rows != {1} or len(pairs) != 1 or len(evidence.y) > 1:
        return ()
    (_, want), (_, got) = pairs[0]
    inner = (got.shape or ())[1:]
    apart = any((spec.shape or ())[1:2] != inner[:1] for _, spec in evidence.y)
    if want.shape is None or inner[:1] in ((), (1,)) or not fits((None, *want.shape[1:]), inner) or apart:
        return ()
    return tuple(range(1 + len(evidence.y)))


def pair_swapped(evidence: Evidence) -> SwappedPair | None:
    """Inputs and labels that stand in each other's place: the labels fit the model's input, and the inputs its output."""
    if len(evidence.declared or []) != 1 or len(evidence.x) != 1 or len(evidence.y) != 1:
        return None
    (_, want), (_, x), (_, y) = *(evidence.declared or []), *evidence.x, *evidence.y
    if want.shape is None or not x.shape or not y.shape or accepted(want, x) or not fits((None, *want.shape[1:]), y.shape):
        return None
    made = [spec.shape for _, spec in evidence.outputs if spec.shape]
    if made:
        labels = [(None, *made[0][1:]), *([(None, *made[0][1:-1])] if x.dtype.startswith(("int", "uint")) else [])]
        swapped = len(made) == 1 and any(fits(row, x.shape) for row in labels) and y.shape[1:] != made[0][1:]
    else:
        swapped = len(x.shape) < len(want.shape) and x.shape[1:] != y.shape[1:-1]
    return SwappedPair(x.shape, y.shape, want.shape) if swapped else None


@check(order=9)
def swapped(evidence: Evidence) -> Iterator[Finding]:
    """Inputs and labels in each other's place."""
    found = pair_swapped(evidence) if evidence.where not in ("data", "build") and evidence.outputs else None
    if found is not None:
        inputs = tuple(node.id for node in evidence.flow.nodes if node.kind == "input")
        yield Finding.of(STRUCTURE.id, "error" if evidence.where else "silent", found, inputs)


@check(order=10)
def entry(evidence: Evidence) -> Iterator[Finding]:
    """Compares the inputs with the data; serious only if the program really failed because of them."""
    if evidence.where in ("data", "loss", "metric") or not evidence.declared or not evidence.x:
        return
    inputs = [node.id for node in evidence.flow.nodes if node.kind == "input"]
    if evidence.where == "build" and saved_model_finding(evidence) is not None:
        return  # the break stands behind the door, and the data never came that far
    replaced: Replaced | None = evidence.facts.get("input_replaced")
    if replaced is not None and evidence.where == "call" and next(mismatches(evidence), None) is not None:
        fact = InputReplaced(replaced.name, replaced.value, replaced.made)
        yield Finding.of(AXIS.id, "error", fact, tuple(inputs), location=location(replaced.place))
        return
    missing, unknown = names_apart(evidence)
    swapped = crossed(evidence) if not evidence.where else []
    if swapped or (unknown and missing and evidence.where == "call"):
        pairs = tuple((evidence.doors[door].word, path) for door, path in swapped)
        names = WrongNames(_doors(evidence), _given(evidence), tuple(unknown), tuple(missing), pairs)
        yield Finding.of(STRUCTURE.id, "silent" if swapped else "error", names, tuple(inputs))
        return
    if len(evidence.declared) != len(evidence.x) and not evidence.feeds:
        if evidence.where == "call":
            yield Finding.of(STRUCTURE.id, "error", stacked_inputs(evidence) or _counts(evidence), tuple(inputs))
        return
    fed = {leaf for _, leaf in evidence.feeds}
    own = evidence.facts.get("overrides")  # a step of the program's own may read them
    if len(evidence.declared) == 1 < len(evidence.x) and fed and not own and any(path not in fed and isinstance(path[-1], int) for path, _ in evidence.x):
        told = WrongInputs(_doors(evidence), _given(evidence), ignored=True)
        yield Finding.of(STRUCTURE.id, "error" if evidence.where else "silent", told, tuple(inputs))
        return
    embeddings = [node for node in evidence.flow.nodes if node.op == "Embedding"]
    coded = {found[0] for node in embeddings if (found := coded_rows(evidence, node)) is not None}
    for path, rule_id, fault in mismatches(evidence):
        if path in coded:
            continue  # told by what the data holds
        cut = _patches(fault)
        if cut is not None:
            yield Finding.of(PATCHES.id, "error" if evidence.where else "note", cut, tuple(inputs))
            continue
        elsewhere = _samples_behind(evidence, path) if evidence.where else None
        if elsewhere is not None:
            yield Finding.of(SWAPPED.id, "error", elsewhere, tuple(inputs))
            continue
        door = evidence.input_at(path)
        own = (door.id,) if door is not None else ()
        nodes = own + tuple(node.id for node in evidence.flow.failed())
        # Axes in another order run where nothing depends on their sizes, and mean something else.
        severity: Severity = "error" if evidence.where else "silent" if fault.fault in ("order", "channels") else "note"
        edges = tuple(edge.id for edge in evidence.flow.edges if edge.target in own)
        base = _features_of(evidence, fault) if evidence.where else ""
        misfit = (
            FeaturesWanted(fault.door, fault.shape, base)
            if base
            else msgspec.structs.replace(fault, pipeline=fault.fault == "sample" and never_batched(evidence))
        )
        yield Finding.of(rule_id, severity, misfit, tuple(dict.fromkeys(nodes)), edges)


def _features_of(evidence: Evidence, fault: Misfit) -> str:
    """A model of the program that takes such data and returns what is declared."""
    size = elements(fault.declared)
    beside: tuple[tuple[str, Shape, Shape], ...] = evidence.facts.get("beside") or () if size is not None else ()
    likely = (name for name, takes, gives in beside if len(takes) == len(fault.shape) > 2 and takes[-1] == fault.shape[-1] and elements(gives[1:]) == size)
    return next(likely, "")


def _samples_behind(evidence: Evidence, path: KeyPath) -> BatchElsewhere | None:
    shape = dict(evidence.x)[path].shape
    rows = {spec.shape[0] for at, spec in (*evidence.x, *evidence.y) if at != path and spec.shape}
    labels = next((spec.shape for _, spec in evidence.y if spec.shape), None)
    if not shape or labels is None or rows != {labels[0]} or labels[0] in (None, 1, shape[0]) or shape.count(labels[0]) != 1:
        return None
    axis = shape.index(labels[0])
    row = (*shape[:axis], *shape[axis + 1 :])
    want = next((want.shape for (_, want), (at, _) in matched(evidence) if at == path), None)
    return BatchElsewhere(path, shape, axis, labels) if want is not None and fits((None, *want[1:]), (None, *row)) else None


def stacked_inputs(evidence: Evidence) -> InputsStacked | InputsBySample | None:
    """The inputs on the axis of the samples: stacked to one array, or in a list of samples."""
    leaves = [(path, leaf.concrete) for path, leaf in (evidence.sample.leaves() if evidence.sample is not None else ())]
    x, y = ([shape for path, shape in leaves if path[0] == part and shape] for part in ("x", "y"))
    declared, problems = evidence.declared or [], getattr(evidence.sample, "problems", ()) or ()
    counts: list[int] = next((list(problem.counts) for problem in problems if problem.code == "cardinality"), [])
    names = tuple(evidence.doors[path].word for path, _ in declared)
    if _listed_by_sample(evidence):
        return InputsBySample(names, len(evidence.sample.x))
    if len(declared) > 1 and len(set(x)) == 1 and counts == [len(declared), len(x)] and y:
        each = all(spec.shape is not None and fits((None, *x[0][1:]), (None, *spec.shape[1:])) for _, spec in declared)
        return InputsBySample(names, len(x)) if each else None
    counts = counts or [shape[0] or 0 for shape in (*x[:1], *y[:1])]  # batches that nothing has compared
    if len(x) != 1 or not y or len(declared) < 2 or len(counts) < 2 or counts[0] != len(declared) or len(x[0]) < 2 or x[0][1] != counts[1]:
        return None
    inner = x[0][2:]
    alike = all(spec.shape is not None and fits((None, *inner), (None, *spec.shape[1:])) for _, spec in declared)
    return InputsStacked(names, (counts[0], *x[0][1:]), counts[1]) if alike else None


def _listed_by_sample(evidence: Evidence) -> bool:
    x, declared = getattr(evidence.sample, "x", None), [spec.shape for _, spec in evidence.declared or []]
    if not isinstance(x, (list, tuple)) or min(len(x), len(declared)) < 2 or None in declared:
        return False
    return all(
        isinstance(one, (list, tuple))
        and len(one) == len(declared)
        and all(
            fits(want, (None, *[None] * bool(leaf.concrete), *(leaf.concrete or ())[1:]))
            for leaf, want in zip(one, declared, strict=True)
            if hasattr(leaf, "concrete") and want
        )
        and all(hasattr(leaf, "concrete") for leaf in one)
        for one in x
    )


def _counts(evidence: Evidence) -> Fact:
    doors, parts = _doors(evidence), [[spec for _, spec in part] for part in (evidence.x, evidence.y, evidence.weight) if part]
    rows = [[(spec.shape[1:] if spec.shape is not None else None, spec.dtype) for spec in part] for part in parts]
    if len(parts) == len(doors) > 1 and all(len(part) == 2 for part in parts) and all(part == rows[0] for part in rows[1:]):
        return ZippedPairs(doors, len(parts))
    after = (evidence.declared or [])[len(evidence.x)][1].shape if len(evidence.x) < len(doors) else None
    y = evidence.y[0][1].shape if len(evidence.y) == 1 else None
    as_labels = after is not None and y is not None and len(evidence.weight) == 1 and fits((None, *after[1:]), y)
    return WrongInputs(doors, _given(evidence), as_labels, tuple(names_apart(evidence)[0]))


def _patches(fault: Misfit) -> CutIntoPatches | None:
    want, row = fault.declared, fault.row
    if fault.fault != "flattened" or len(want) != 3 or len(row) != 2 or None in (*want, *row):
        return None
    height, width, channels = (n or 0 for n in want)
    side = math.isqrt((row[1] or 0) // channels) if channels else 0
    if side < 2 or side * side * channels != row[1] or height % side or width % side or (height // side) * (width // side) != row[0]:
        return None
    return CutIntoPatches(fault.door, fault.shape, (height // side, width // side), (side, side, channels))


def _doors(evidence: Evidence) -> tuple[str, ...]:
    return tuple(evidence.doors[path].word for path, _ in evidence.declared or [])


def _given(evidence: Evidence) -> tuple[str, ...]:
    return tuple(map(show_given, evidence.x))


def show_given(leaf: tuple[KeyPath, Spec]) -> str:
    """The user's name for a tensor of the data: its key in a dict."""
    path, _ = leaf
    return str(path[1]) if len(path) == 2 and isinstance(path[1], str) else show(path)


@check(order=60)
def entry_notes(evidence: Evidence) -> Iterator[Finding]:
    """What Keras silently changes at the inputs."""
    if evidence.where:
        return
    for (_, want), (path, got) in matched(evidence):
        door = evidence.input_at(path)
        node = (door.id,) if door is not None else ()
        if want.dtype.startswith(("float", "bfloat")) and got.dtype.startswith(("int", "uint")):
            yield Finding.of(CAST.id, "note", CastAtDoor(want.dtype, got.dtype), node)
        if want.shape is not None and got.shape is not None and len(got.shape) == len(want.shape) - 1 and accepted(want, got):
            yield Finding.of(EXPANDED.id, "note", AxisAdded((None, *want.shape[1:]), got.shape), node)


@check(order=47)
def formats_apart(evidence: Evidence) -> Iterator[Finding]:
    """Layers behind one of another data format."""
    for node in evidence.flow.nodes if not evidence.where else ():
        giver = node
        while (giver is node or giver.family in ("normalization", "activation")) and (edges := evidence.flow.into(giver.id)):
            giver = evidence.flow.node(edges[0].source)
        pair = (node, giver)
        one, other = (str(layer.config.get("data_format", "channels_last")) for layer in pair)
        if one != other and all(len(axes_of(layer.op)) > 3 and 1 not in layer.config.get("pool_size", ()) for layer in pair):
            fact = FormatsApart(Who.of(node), Who.of(giver), (one, other))
            yield Finding.of(CHANNELS_ORDER.id, "silent", fact, (node.id, giver.id), location=node.location)


# Smaller maps may be tables with a few rows.
_PICTURE = 16


@check(order=47)
def channels_apart(evidence: Evidence) -> Iterator[Finding]:
    """The first convolution of a square picture with its channels in front, and normalizations of the rows that a convolution returns."""
    for node in evidence.flow.nodes if not evidence.where else ():
        for edge in evidence.flow.into(node.id)[:1] if node.family in ("convolution", "normalization") else ():
            shape, maker = edge.spec.shape or (), evidence.flow.node(edge.source)
            behind = maker.family == "convolution" and maker.config.get("data_format", "channels_last") == "channels_last"
            picture = channels_in_front(evidence, node) if node.family == "convolution" else ()
            rows = behind and node.op == "BatchNormalization" and node.config.get("axis") in (1, [1]) and shape[1:2] == shape[2:3]
            if len(shape) == 4 and (shape[2] or 0) >= _PICTURE and (rows or (not behind and shape[1:] == picture)):
                fact = ChannelsApart(Who.of(node), shape, 1 if rows else 3, picture)
                yield Finding.of(CHANNELS_ORDER.id, "silent", fact, (node.id,), (edge.id,), node.called or node.location)
