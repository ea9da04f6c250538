"""Candidates for what is fed: inputs in each other's place, tensors that are not dense, dtypes that a TPU lacks."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator
from typing import Any

from ...examine.evidence import Evidence
from ...flow import Finding, KeyPath, Shape, Spec, elements, show_shape
from ...flow.paths import flatten, show, to_wire
from ...rules.compared import kind_of, seen_at
from ...rules.entry import crossed, matched, pair_swapped
from ...rules.facts.data import InputsBySample, InputsStacked, LabelsAsWeights, ThirdPart
from ...rules.facts.layers import NotDense
from ...rules.facts.loss import WrongWeights
from ...trace.doors import accepted
from ..edits import ExchangeInputs, YieldArrays
from ..edits.regroup import NAMES, Regroup
from .edits import Made, append, of, shapes_set, transform
from .entry import declaration

_MOST_INPUTS = 5


def _kind(dtype: str) -> str:
    return "number" if dtype.startswith(("int", "uint")) else dtype.rstrip("0123456789")


def _suits(want: Spec, got: Spec) -> bool:
    return accepted(want, got) and (want.dtype == "string") == (got.dtype == "string")


def exchanged(evidence: Evidence, finding: Finding) -> Made:
    """Two inputs handed over in each other's place, or under other names."""
    declared, x = evidence.declared or [], evidence.x
    if len(declared) != len(x) or not 2 <= len(x) <= _MOST_INPUTS:
        return
    pairs = matched(evidence)
    if len(pairs) == len(x) and all(_suits(want, got) for (_, want), (_, got) in pairs) and not crossed(evidence):
        return
    if any(len(path) != 2 for path, _ in x):
        return
    wanted = [(evidence.doors[path].word, spec) for path, spec in declared]
    given = [(path[1], spec) for path, spec in x]
    orders = [order for order in itertools.permutations(range(len(x))) if all(_suits(want, x[i][1]) for (_, want), i in zip(declared, order, strict=True))]
    if not orders:
        return
    best = max(orders, key=lambda order: _alike(wanted, given, order))
    unique = len(orders) == 1
    if all(isinstance(key, str) for key, _ in given):
        mapping = {name: given[i][0] for (name, _), i in zip(wanted, best, strict=True)}
        changed = [f"{new} gets {old}" for new, old in mapping.items() if old != new]
        yield (
            f"Pass the inputs by name: {', '.join(changed)}",
            [ExchangeInputs("x", mapping)],
            "This is the only order in which every input fits." if unique else "Matched by name and shape; other orders fit too.",
        )
    elif best != tuple(range(len(x))):
        yield (
            f"Pass the inputs in the declared order: {', '.join(show(x[i][0]) for i in best)}",
            [ExchangeInputs("x", list(best))],
            "This is the only order in which every input fits." if unique else "Matched by shape and dtype; other orders fit too.",
        )


def swapped_pair(evidence: Evidence, finding: Finding) -> Made:
    """Inputs and labels in each other's place."""
    if pair_swapped(evidence) is not None and getattr(evidence.sample, "weight", None) is None:
        yield ("Swap the inputs and the labels", [Regroup("data", parts=2, element="(b, a)")], "The labels have the shape that the model's input declares.")


def _alike(declared: list[tuple[str, Spec]], x: list[tuple[Any, Spec]], order: tuple[int, ...]) -> tuple[float, float]:
    pairs = [(want, x[i]) for want, i in zip(declared, order, strict=True)]
    kinds = sum(_kind(want[1].dtype) == _kind(got[1].dtype) for want, got in pairs)
    return kinds, sum(difflib.SequenceMatcher(None, want[0], str(got[0])).ratio() for want, got in pairs)


def _leaves(evidence: Evidence, kinds: tuple[str, ...]) -> list[tuple[KeyPath, Any]]:
    sample = evidence.sample
    return [(path, leaf) for path, leaf in sample.leaves("x") if leaf.kind in kinds] if hasattr(sample, "leaves") else []


def dense(evidence: Evidence, finding: Finding) -> Made:
    """Sparse and ragged tensors made dense in the pipeline."""
    leaves = evidence.sample.leaves("x") if hasattr(evidence.sample, "leaves") else []
    kinds = ("sparse", "ragged")
    edits = [transform(path, "to_dense", sparse=leaf.kind == "sparse") for path, leaf in leaves if leaf.kind in kinds]
    if edits:
        yield "Convert the tensors to dense tensors in the pipeline, on the host", edits, "TPUs support only dense tensors."


@of(NotDense)
def padded(evidence: Evidence, finding: Finding, fact: NotDense) -> Made:
    """The same for a layer that reads dense tensors alone."""
    why = "Shorter rows end with zeros." if fact.kind == "ragged" else "Values that are not stored are zeros."
    for _, edits, _ in dense(evidence, finding):
        yield f"Convert {show(fact.path)} to a dense tensor in the pipeline", edits, why


def without_text(evidence: Evidence, finding: Finding) -> Made:
    """Texts that travel along in a dict of data, and that no layer reads."""
    flow = evidence.flow
    doors = {tuple(node.path): node for node in flow.nodes if node.kind == "input"}
    keys = []
    for path, spec in evidence.x:
        node = doors.get(tuple(to_wire(path)))
        if spec.dtype == "string" and len(path) == 2 and isinstance(path[1], str) and (node is None or not flow.out_of(node.id)):
            keys.append(path[1])
    if keys and len(keys) < len(evidence.x):
        yield (
            f"Remove {' and '.join(keys)} from the data: nothing reads {'it' if len(keys) == 1 else 'them'}",
            [transform(("x",), "without", keys=keys)],
            "TPUs do not support text.",
        )


def known_rank(evidence: Evidence, finding: Finding) -> Made:
    """A shape for what a Python function gave."""
    sample = evidence.sample
    shapes: dict[KeyPath, Shape] = {}
    rows: dict[KeyPath, Shape] = {}
    batches = set(getattr(sample, "batch_sizes", ()))
    for role in ("x", "y", "weight") if sample is not None and sample.sampled else ():
        for path, leaf in sample.leaves(role):
            seen = next(iter(seen_at(evidence, path)), None)
            if leaf.shape is not None or seen is None:
                continue
            size = leaf.concrete[0] if leaf.concrete else seen.shape[0]
            shapes[path] = (size if len(batches) == 1 else None, *seen.shape[1:])
            rows[path] = (None, *seen.shape[1:])
    # The last batch, which was not seen, may be smaller.
    if shapes != rows:
        yield from shapes_set(rows, "These are the sizes in the first batch, for a batch of any size.")
    yield from shapes_set(shapes, "This is the shape of the first batch; any other shape raises an error.")


_NARROWER = {"int64": ("int32",), "uint64": ("int32",), "float64": ("float32",), "complex128": ("complex64",)}


def narrower(evidence: Evidence, finding: Finding) -> Made:
    """Data of a dtype that the operation has a TPU kernel for."""
    for (door, want), (path, got) in matched(evidence):
        for dtype in _NARROWER.get(got.dtype, ("float32",) if got.dtype.startswith(("int", "uint", "bool")) else ()):
            if want.shape is None:
                continue
            yield (
                f"Feed {evidence.doors[door].name} as {dtype}",
                [transform(path, "cast", dtype=dtype), declaration(evidence, door, want.shape[1:], dtype)],
                f"The operation has a TPU kernel for this dtype, but not for {got.dtype}.",
            )


def regrouped(evidence: Evidence, finding: Finding) -> Made:
    """Elements whose parts stand side by side, or pair by pair, put together as ``((inputs), (labels))``: where just one way fits."""
    sample, declared = evidence.sample, evidence.declared or []
    if getattr(sample, "kind", "") not in ("dataset", "generator", "pydataset") or not declared:
        return
    function = sample.stages[0].function or "" if sample.kind != "dataset" and sample.stages else ""
    parts = list(sample.element) if sample.element is not None else [part for part in (sample.x, sample.y, sample.weight) if part is not None]
    leaves = [(path[1:], Spec(leaf.shape, leaf.dtype)) for path, leaf in flatten(tuple(parts), "element")]
    ends = sum(node.kind == "output" for node in evidence.flow.nodes)
    ways = [
        chosen
        for chosen in itertools.combinations(range(len(leaves)), len(declared))
        if all(_suits(want, leaves[i][1]) for (_, want), i in zip(declared, chosen, strict=True))
    ]
    if len(ways) != 1 or len(leaves) > len(NAMES) or not ends:
        return
    weighs = isinstance(finding.fact, LabelsAsWeights)
    if sample.element is None and [leaves[i][0] for i in ways[0]] == [path for path, _ in leaves if path[0] == 0] and not weighs:
        # They are put together so already.
        return
    rest = [path for i, (path, _) in enumerate(leaves) if i not in ways[0]]
    if {path[-1] for path in rest} & {evidence.doors[door].name for door, _ in declared}:
        # What has the name of an input is no label.
        return
    if len(rest) > ends and len({_drawn(sample, path) for path in rest}) == 1:
        # The same labels several times: one of them is enough.
        rest = rest[:ends]
    if len(rest) != ends:
        return
    x = _together([_leaf(leaves[i][0]) for i in ways[0]])
    for y, choice in _labels(evidence, [_leaf(path) for path in rest]):
        yield (
            f"Group each element as {f'({x}, {y})'}, where its parts are {', '.join(NAMES[: len(parts)])}",
            [Regroup("x", len(parts), f"({x}, {y})", choice, function)],
            "fit expects (inputs, labels).",
        )


def unstacked(evidence: Evidence, finding: Finding) -> Made:
    """One array that holds all inputs side by side on axis 1, taken apart."""
    declared = evidence.declared or []
    shape = evidence.x[0][1].shape if len(evidence.x) == 1 else None
    if shape is None or len(declared) < 2 or len(shape) < 2 or shape[1] != len(declared) or len(evidence.x[0][0]) != 1:
        return
    one = Spec((shape[0], *shape[2:]), evidence.x[0][1].dtype)
    if all(_suits(want, one) for _, want in declared):
        yield (
            f"Split the {len(declared)} inputs: x[:, 0], x[:, 1]{', ...' if len(declared) > 2 else ''}",
            [transform(("x",), "unstack", count=len(declared))],
            "Each input is a separate array.",
        )


def side_by_side(evidence: Evidence, finding: Finding) -> Made:
    """One array that holds the values of all inputs in a row, taken apart where it has as many as they declare together."""
    declared = [(evidence.doors[door].word, want.shape or ()) for door, want in evidence.declared or []]
    widths = [shape[1] or 0 for _, shape in declared if len(shape) == 2]
    shape = evidence.x[0][1].shape if len(evidence.x) == 1 and len(evidence.x[0][0]) == 1 else None
    if shape and len(shape) == 2 and len(widths) == len(declared) > 1 and 0 not in widths and sum(widths) == shape[1]:
        yield (
            f"Split the {shape[1]} columns of x among the inputs, in their order: {', '.join(map(str, widths))}",
            [transform(("x",), "split_last", widths=widths)],
            "Each input is a separate array.",
        )
    given = [(spec.shape or (None,))[1:] for _, spec in evidence.x]
    if len(given) > 1 == len(declared) and [*map(len, given)] == [1] * len(given) and declared[0][1][1:] == (sum(n or 0 for (n,) in given),):
        yield (f"Join the {len(given)} arrays of x along the last axis", [transform(("x",), "join_last")], "Together they have the declared columns.")


@of(InputsStacked)
def stacked(evidence: Evidence, finding: Finding, fact: InputsStacked) -> Made:
    """One array that holds all inputs one after the other on axis 0, taken apart."""
    yield (f"Split the array into the {len(fact.inputs)} inputs: a list of its rows", [transform(("x",), "apart")], "Each input is a separate array.")


@of(InputsBySample)
def yielded_by_input(evidence: Evidence, finding: Finding, fact: InputsBySample) -> Made:
    """The samples of a batch as one array for each input."""
    sample = evidence.sample
    function = sample.stages[0].function if sample is not None and sample.kind != "dataset" and sample.stages else ""
    if function and isinstance(sample.x, (list, tuple)):
        lists = [0, *([1] if isinstance(sample.y, list) else [])]
        yield (
            f"Yield {len(fact.inputs)} arrays in {function}, one per input, with the {fact.rows} samples of a batch",
            [YieldArrays("data", function, lists, len(fact.inputs))],
            "Keras reads each entry of a list as an input, and not as a sample.",
        )


@of(InputsBySample)
def by_input(evidence: Evidence, finding: Finding, fact: InputsBySample) -> Made:
    """A list of samples turned into a list of inputs."""
    first = evidence.sample.x[0] if evidence.sample is not None and isinstance(evidence.sample.x, (list, tuple)) else ()
    apart = isinstance(first, (list, tuple)) and len({leaf.concrete for leaf in first}) > 1
    yield (
        f"Swap samples and inputs: a list of {len(fact.inputs)} arrays with {fact.rows} rows",
        [transform(("x",), "by_part" if apart else "by_input")],
        "Each input is a separate array with one row per sample.",
    )


@of(ThirdPart)
def without_weights(evidence: Evidence, finding: Finding, fact: ThirdPart) -> Made:
    """Inputs and labels alone, without what no loss can be weighted with."""
    sample = evidence.sample
    function = sample.stages[0].function or "" if sample is not None and sample.kind != "dataset" and sample.stages else ""
    yield ("Remove the third part of each element", [Regroup("x", 3, "(a, b)", "", function)], "fit then gets (inputs, labels).")


@of(WrongWeights)
def one_weight(evidence: Evidence, finding: Finding, fact: WrongWeights) -> Made:
    """One weight for each value of the loss, where the weights are the same along one more axis."""
    path = fact.path
    seen = seen_at(evidence, path)
    alike = bool(seen) and all(value.ndim > 1 and (value == value[..., :1]).all() for value in seen)
    if alike and fact.weights[:-1] == fact.values:
        yield (
            f"Use one weight for each value of the loss: {'w' + ''.join(f'[{key!r}]' for key in path[1:])}[..., 0]",
            [transform(path, "first_of_last")],
            f"The {fact.weights[-1]} weights on the last axis are the same.",
        )


@of(WrongWeights)
def weight_of_class(evidence: Evidence, finding: Finding, fact: WrongWeights) -> Made:
    """The weight of its class for each label, where one-hot labels were multiplied with a weight for each class."""
    seen, labels = seen_at(evidence, fact.path), seen_at(evidence, ("y", *fact.path[1:]))
    one_hot = bool(labels) and all(len(one) and ((one == 0) | (one == 1)).all() and (one.sum(axis=-1) == 1).all() for one in labels)
    # What is no class of a label has weight 0: the sum is the weight of the one that is.
    apart = bool(seen) and [one.shape for one in seen] == [one.shape for one in labels] and not any(w[y == 0].any() for w, y in zip(seen, labels, strict=True))
    if one_hot and apart and fact.weights[:-1] == fact.values:
        yield (
            f"Sum the {fact.weights[-1]} weights on the last axis: the weight of the class of each label",
            [transform(fact.path, "sum_last")],
            "All others on that axis are 0.",
        )


@of(WrongWeights)
def grouped_weights(evidence: Evidence, finding: Finding, fact: WrongWeights) -> Made:
    """The weights of the positions of a sample with the axes that the positions have."""
    row = fact.values[1:]
    if len(row) > 1 and len(fact.weights) < len(fact.values) and elements(row) == elements(fact.weights[1:]):
        yield (
            f"Reshape the weights of each sample to {show_shape(row)}",
            [transform(fact.path, "reshape_rows", shape=list(row))],
            "Each position has its own weight; the values keep their order.",
        )


@of(WrongWeights)
def each_value(evidence: Evidence, finding: Finding, fact: WrongWeights) -> Made:
    """A weight for each value of a label, where these are not classes."""
    if len(evidence.y) != 1 or len(evidence.outputs) != 1 or len(evidence.weight) != 1 or any(kind_of(one) == "categorical" for one in evidence.losses()):
        return
    (path, labels), (_, out) = evidence.y[0], evidence.outputs[0]
    last = next((evidence.flow.node(edge.source) for node in evidence.flow.nodes if node.kind == "output" for edge in evidence.flow.into(node.id)), None)
    row = out.shape[1:] if out.shape else ()
    if last is None or last.kind != "layer" or not row or None in row or labels.shape != fact.weights or out.shape != labels.shape:
        return
    if fact.weights[:-1] == fact.values:
        target = (*row, 1)
        yield (
            f"Add Reshape({target}) after {last.name} and a last axis to the labels, to weight each of the {row[-1]} values",
            [append(last.name, "Reshape", target_shape=list(target)), transform(path, "expand_dims", axis=-1)],
            f"{fact.loss} averages over the last axis, which then has one value.",
        )


def _labels(evidence: Evidence, given: list[str]) -> Iterator[tuple[str, str]]:
    """The labels as the outputs are: by name where these have names, in each order that is possible, the one of their layers first."""
    flow = evidence.flow
    keys = [(flow.into(node.id), node.path[-1]) for node in flow.nodes if node.kind == "output" and node.path[1:]]
    if len(given) == 1 or len(keys) != len(given) or not all(isinstance(key, str) for _, key in keys):
        told = evidence.facts.get("compile")
        for labels in itertools.islice(itertools.permutations(given), 6):
            if told is not None and told.loss.names is not None and len(told.outputs) == len(given):
                yield "{" + ", ".join(f'"{name}": {label}' for name, label in zip(told.outputs, labels, strict=True)) + "}", "order"
            else:
                yield _together(list(labels)), "order" if len(given) > 1 else ""
        return
    order = {node.id: i for i, node in enumerate(flow.nodes)}
    names = [str(key) for _, key in sorted(keys, key=lambda pair: max((order[edge.source] for edge in pair[0]), default=0))]
    for labels in itertools.islice(itertools.permutations(given), 6):
        yield "{" + ", ".join(f'"{name}": {label}' for name, label in zip(names, labels, strict=True)) + "}", "order"


def _leaf(path: KeyPath) -> str:
    return NAMES[path[0]] + "".join(f"[{key!r}]" for key in path[1:])


def _together(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _drawn(sample: Any, path: KeyPath) -> Any:
    value: Any = sample.sampled[0] if sample.sampled else None
    try:
        for key in path:
            value = value[key]
        return value.tobytes(), value.shape
    except (TypeError, KeyError, IndexError, AttributeError):
        return path
