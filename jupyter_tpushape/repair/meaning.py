"""Whether an edit changes the meaning of a program that runs with it.

Matching shapes are not enough: samples, pixels, classes and steps must stay what they were. An edit whose effect on the meaning
is unknown is offered as an idea, with a question to the user.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..examine.evidence import Evidence
from ..flow import Edge, Flow, KeyPath, Node, elements
from ..flow.observed import around
from ..rules.compared import as_it_came, kind_of
from ..rules.entry import batched_twice
from ..rules.mixing import carried
from ..rules.places_counted import made_of_counts
from ..rules.upstream import takes_one, unrelated
from ..rules.words import PAIRING
from .cropped import CROPPED
from .edits import Edit, Expression, InputShape, InsertLayer, LayerConfig, RemoveLayer, ReplaceLayer, Transform
from .roles import ROLES, Check, Question


def questions(before: Evidence, after: Evidence, edits: tuple[Edit, ...]) -> list[Question]:
    """What the user must decide before the edits count as a fix."""
    found = [question for edit in edits for check in _CHECKS for question in check(before, after, edit)]
    return [
        *dict.fromkeys(found),
        *_pooled_no_more(edits),
        *_features_as_steps(edits),
        *_samples_in_order(before, after, edits),
        *_widened_again(before, after, edits),
        *_positions_met(before, edits),
        *_repeated_again(after, edits),
        *_with_itself(before, after, edits),
        *_learned(before, after, edits),
        *_frozen(before, after),
        *_made_alike(before, after.flow),
        *_one_of_one(before.flow, after.flow),
        *_inputs_lost(before, after, edits),
        *_classes_lost(before, after),
        *_maps_lost(before, after),
    ]


def _learned(before: Evidence, after: Evidence, edits: tuple[Edit, ...]) -> Iterator[Question]:
    """Weights of other sizes, or another loss, where the program only reads what it has learned."""
    learned = Counter(before.facts.get("learned") or ())
    if learned - Counter(one.shape for node in after.flow.nodes for one in node.weights) or (learned and any(edit.kind == "loss" for edit in edits)):
        yield "The model was trained on data of another form. Should this data have that form?"


def _frozen(before: Evidence, after: Evidence) -> Iterator[Question]:
    """A frozen layer with other weights, where no trained one has."""
    was, now = (
        Counter(
            (any(one.trainable for one in node.weights), *(one.shape for one in node.weights))
            for node in seen.flow.nodes
            if node.weights and node is not before.failed
        )
        for seen in (before, after)
    )
    if {trained for trained, *_ in was - now} == {False}:
        yield "Was the frozen layer trained with its sizes? The part that is trained can follow it."


def _made_alike(before: Evidence, after: Flow) -> Iterator[Question]:
    """An argument of an own layer that becomes equal to another one, where sizes on an inner axis differ: a number of windows is none of heads.

    Of a reshape as well: a number of codes is none of values of a code.
    """
    failed, given = before.failed, [one.spec.shape or () for one in before.given]
    inner = len(given) == 2 and given[0][-1:] == given[1][-1:]
    if failed is None or not failed.parent or not (inner or (len(given) == 1 and failed.op == "Reshape")):
        return
    owner = before.flow.node(failed.parent)
    new = next((node.config for node in after.nodes if node.name == owner.name), {})
    for key, value in new.items():
        others = [other for other in new if other != key and type(new[other]) is int and new[other] == value]
        if others and type(owner.config.get(key)) is int and owner.config[key] != value:
            yield f"Are {key} and {others[0]} of {owner.name} the same number?"


def _pooled_no_more(edits: tuple[Edit, ...]) -> Iterator[Question]:
    """A layer that is left out because another edit of the same fix took the axes away that it works on."""
    flat = any(isinstance(edit, InsertLayer) and edit.layer_class in ("Flatten", "Reshape") for edit in edits)
    for edit in edits if flat else ():
        if isinstance(edit, RemoveLayer):
            yield f"Do you need {edit.target}? Without the Flatten that this fix adds, it would have axes to work on."


def _features_as_steps(edits: tuple[Edit, ...]) -> Iterator[Question]:
    """Positions that one layer takes away and another one seems to give back."""
    added = [edit.layer_class for edit in edits if isinstance(edit, InsertLayer)]
    if "Flatten" in added and "Reshape" in added:
        yield "May the positions be lost? Flatten takes them away, and the axis that Reshape then adds holds something else."


def _samples_in_order(before: Evidence, after: Evidence, edits: tuple[Edit, ...]) -> Iterator[Question]:
    """Numbers that are counted along the batch, and that an edit then combines with each sample."""
    if any(isinstance(edit, Expression) for edit in edits) and _counted_along(after) > _counted_along(before):
        yield "Does a sample have a position? What gets an axis is counted along the batch."


def _counted_along(evidence: Evidence) -> int:
    """How many operands grow with the batch, on the first axis alone, although no data leads to them."""
    found = 0
    for node in evidence.flow.nodes:
        edges = evidence.flow.into(node.id) if node.kind == "op" and node.status == "ok" and node.op in PAIRING else []
        alone = len(edges) == 1 and node.config.get("positions") == 0
        made = evidence.flow.out_of(node.id)[:1] if alone else edges if len(edges) == 2 else []
        of_counts = (edge for edge in made if set(carried(evidence, edge) or {}) == {0} and (alone or made_of_counts(evidence.flow, edge)))
        found += next(of_counts, None) is not None
    return found


def _widened_again(before: Evidence, after: Evidence, edits: tuple[Edit, ...]) -> Iterator[Question]:
    """Positions that a new layer takes away, where the one value that is left is then combined with each position of something else."""
    added = (edit for edit in edits if isinstance(edit, InsertLayer) and edit.layer_class.startswith(("Flatten", "Global")))
    flat = next((edit for edit in added if _several(before.flow, edit)), None)
    if flat is not None and _broadcasts(after.flow) > _broadcasts(before.flow):
        yield f"May every position have the same value? {flat.layer_class} takes the positions away, and one value is then broadcast over them."


def _positions_met(before: Evidence, edits: tuple[Edit, ...]) -> Iterator[Question]:
    """Positions that a new layer takes away from one operand, where another one has a value for each of them."""
    added = [edit for edit in edits if isinstance(edit, InsertLayer) and edit.layer_class.startswith(("Flatten", "Global"))]
    sides = [(before.flow.node(edge.source).name, edge.spec.shape or ()) for edge in before.operands()] if added else []
    for (name, whole), (other, few) in itertools.permutations(sides, 2):
        # An axis of size 1 has no positions to lose.
        if len(whole) == len(few) + 1 > 2 and whole[:-1] == few and None not in few[1:] and set(few[1:]) != {1} and any(edit.target == name for edit in added):
            yield f"May {name} lose its positions? {other} has a value for each of them."


def _parts_of_label(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    """A layer behind outputs that are joined, some of which have the values of a label together."""
    if not isinstance(edit, InsertLayer) or edit.layer_class != "Dense" or edit.position != "after":
        return
    node = next((item for item in before.flow.nodes if item.name == edit.target and item.op == "Concatenate"), None)
    parts = [(before.flow.node(edge.source).name, (edge.spec.shape or (0,))[-1] or 0) for edge in before.flow.into(node.id)] if node is not None else []
    for count in range(1, len(parts)) if len(parts) > 2 else ():
        for some in itertools.combinations(parts, count):
            if sum(size for _, size in some) == edit.config.get("units"):
                yield f"Which values does a label have? {' and '.join(name for name, _ in some)} have {edit.config['units']} already, and {edit.target} joins more to them."
                return


def _one_of_one(before: Flow, after: Flow) -> Iterator[Question]:
    alone = [
        sum((edge.spec.shape or ())[1:] == (1,) for node in flow.nodes if "softmax" in node.op.lower() for edge in flow.into(node.id)[:1])
        for flow in (before, after)
    ]
    if alone[1] > alone[0]:
        yield "May the softmax always return 1? It would work on one value."


_DIFFERENCES = frozenset({"sub", "subtract", "squareddifference"})


def _repeated_again(after: Evidence, edits: tuple[Edit, ...]) -> Iterator[Question]:
    """One value of several, or their sum, that an edit subtracts from each of as many others."""
    flow = after.flow
    pairs = (flow.into(node.id) for node in flow.nodes if node.kind == "op" and node.op.lower() in _DIFFERENCES)
    both = (pair for edges in pairs for pair in itertools.permutations(edges, 2) if any(isinstance(edit, Expression) for edit in edits))
    for one, other in both:
        shape, beside = one.spec.shape or (), other.spec.shape or ()
        axes = [i for i, (a, b) in enumerate(zip(shape, beside, strict=False)) if i and a == 1 != b]
        if len(axes) != 1 or len(shape) != len(beside):
            continue
        source = flow.node(one.source)
        while (given := flow.into(source.id)) and elements(given[0].spec.shape or ()) == elements(one.spec.shape or ()):
            source = flow.node(given[0].source)
        whole = list(given[0].spec.shape or ()) if given else []
        whole[axes[0] : axes[0] + 1] = [1] if whole[axes[0] : axes[0] + 1] == [beside[axes[0]]] else [0]
        if tuple(whole) == shape and unrelated(after, given[0], other):
            yield f"Is one value for each sample compared with each of {beside[axes[0]]} others? They may have to be reduced in the same way."


def _with_itself(before: Evidence, after: Evidence, edits: tuple[Edit, ...]) -> Iterator[Question]:
    """A tensor that an edit makes an operation compare with itself, value by value."""
    if any(isinstance(edit, Expression) for edit in edits) and len(same := _themselves(after)) > len(_themselves(before)):
        yield f"May {same[-1].op} compare a tensor with itself? With this edit, both sides are the same values."


def _themselves(evidence: Evidence) -> list[Node]:
    found = []
    for node in evidence.flow.nodes:
        edges = evidence.flow.into(node.id) if node.op in ("Equal", "NotEqual", "Sub", "SquaredDifference") else []
        starts = [_start(evidence, edge) for edge in edges]
        several = any(evidence.flow.node(edge.source).op in _PARTS for edge in starts)
        same = len(edges) == 2 and edges[0].spec.shape == edges[1].spec.shape and len({(edge.source, edge.spec) for edge in starts}) == 1
        if same and not several:
            found.append(node)
    return found


def _start(evidence: Evidence, edge: Edge) -> Edge:
    """The edge upstream with the same numbers, in whatever shape."""
    while (before := evidence.flow.into((edge := as_it_came(evidence, edge)).source)) and evidence.flow.node(edge.source).op in _WHOLE:
        if len(before) != 1 or elements(before[0].spec.shape) != elements(edge.spec.shape):
            break
        edge = before[0]
    return edge


# What gives several tensors of one shape.
_PARTS = ("Split", "Unstack", "Unpack", "ArraySplit")
_WHOLE = ("Slice", "StridedSlice", "Squeeze", "ExpandDims")


def _maps_lost(before: Evidence, after: Evidence) -> Iterator[Question]:
    """Maps as large as the input, of a network that enlarges what it reduced, that become vectors."""
    maps = {spec.shape[1:3] for _, spec in before.x if spec.shape and len(spec.shape) == 4}
    decodes = any(node.op.startswith("UpSampling") or node.op.endswith("Transpose") for node in before.flow.nodes)
    was, now = ([spec.shape or () for _, spec in one.outputs] for one in (before, after))
    if decodes and any(len(a) == 4 and a[1:3] in maps and len(b) == 2 for a, b in zip(was, now, strict=False)):
        yield "May the model give one prediction per picture? It predicts maps as large as its input, and the labels may have to be maps."


def _several(flow: Flow, edit: InsertLayer) -> bool:
    beside = flow.into if edit.position == "before" else flow.out_of
    shapes = [edge.spec.shape or () for node in flow.nodes if node.name == edit.target for edge in beside(node.id)]
    return not shapes or any(set(shape[1:-1]) != {1} for shape in shapes)


def _broadcasts(flow: Flow) -> int:
    pairs = ([edge.spec.shape or () for edge in flow.into(node.id)] for node in flow.nodes if node.kind == "op")
    inner = [(a[1:-1], b[1:-1]) for a, b in (pair for pair in pairs if len(pair) == 2) if len(a) == len(b) > 2]
    return sum((set(a) == {1}) != (set(b) == {1}) for a, b in inner)


# -- every input still counts


def _inputs_lost(before: Evidence, after: Evidence, edits: tuple[Edit, ...]) -> Iterator[Question]:
    if all(edit.kind == "layer-config" for edit in edits):
        return
    # The inputs of a custom training step do not end in an output or a loss of Keras, nor what leads to a loss that a layer adds.
    added = getattr(after.facts.get("probe"), "added", None) or after.facts.get("added")
    own = bool(added) or not {"train_step", "compute_loss"}.isdisjoint(after.facts.get("overrides") or ())
    was = _unread(before.flow, own)
    lost = [name for name in _unread(after.flow, own) if name not in was]
    if lost:
        yield f"May the model ignore {' and '.join(lost)}? With this edit, no output depends on it."


def _unread(flow: Flow, own: bool) -> list[str]:
    """Inputs that do not reach an output or a loss, or where the program has losses of its ``own``, the result of a layer or operation."""
    above: dict[str, list[str]] = {}
    for edge in flow.edges:
        above.setdefault(edge.target, []).append(edge.source)
    read = {edge.source for edge in flow.edges}
    pending = [node.id for node in flow.nodes if node.kind in ("output", "loss") or (own and node.kind in ("op", "layer") and node.id not in read)]
    if not pending:
        return []
    seen: set[str] = set()
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            pending += above.get(node, [])
    return [node.name for node in flow.nodes if node.kind == "input" and node.id not in seen]


# -- classes stay classes


def _classes_lost(before: Evidence, after: Evidence) -> Iterator[Question]:
    had = {node.name: node for node in before.flow.nodes if node.kind == "layer"}
    for loss in after.losses():
        edges = after.flow.into(loss.id)
        labels, predictions = (next((edge for edge in edges if edge.label == label), None) for label in ("labels", "predictions"))
        path = after.carried(labels) if labels is not None else None
        stats = _stats(after, path) if path is not None else None
        if stats is not None and stats.cut and kind_of(loss) == "categorical" and before.where:
            yield "Do the labels have a place for every class? Some of their rows are all zeros, as if one_hot were given too few classes."
        if predictions is None or stats is None or not (stats.integer and stats.maximum) or not predictions.spec.shape:
            continue
        head, width, most = had.get(after.flow.node(predictions.source).name), predictions.spec.shape[-1], int(stats.maximum)
        wide = [edge.spec.shape[-1] or 0 for edge in before.flow.out_of(head.id) if edge.spec.shape] if head is not None else []
        rows = labels is not None and len(labels.spec.shape or ()) == len(predictions.spec.shape) - 1
        two = kind_of(loss) == "binary" and most == 1  # one value tells two classes apart
        if head is not None and rows and width is not None and width <= most < max(wide, default=0) and not two:
            yield f"May {head.name} leave classes out? It then has {width} values, but the labels go up to {most}."


def _classes(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    config = edit.config if isinstance(edit, (LayerConfig, InsertLayer)) else {}
    width = config.get("units") or config.get("filters")
    if not isinstance(width, int) or width < 2 or not any(kind_of(node) == "categorical" for node in after.losses()):
        return
    for path, spec in before.y:
        stats = _stats(before, path)
        if spec.shape and spec.shape[-1] == width and stats is not None and not (stats.binary or stats.shares):
            yield (
                f"Are the {width} values of a label classes? They are not 0 and 1, and do not sum to 1. Colors of a mask, for example, must first become class indices."
            )


def _stats(evidence: Evidence, path: KeyPath) -> Any:
    return (getattr(evidence.sample, "stats", None) or {}).get(path)


def _numbers(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    if not isinstance(edit, Transform) or edit.operation != "argmax":
        return
    stats = _stats(before, (edit.role, *edit.path))
    if stats is None or stats.one_hot:
        return
    if stats.shares:
        yield "May each label be rounded to its most likely class? The labels are probabilities, not one-hot vectors."
    else:
        yield "Does each label have exactly one class? The labels are not one-hot: with no class or several, argmax gives a wrong one."


def _calculated(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    failed = before.failed
    if not isinstance(edit, Expression) or failed is None or failed.called is None or not failed.op.lower().startswith(("mul", "add", "sub")):
        return
    for node in after.flow.nodes:
        edges = after.flow.into(node.id)
        if node.op == failed.op and node.called is not None and node.called.line == failed.called.line and len(edges) == 2:
            picked = [_picks(after.flow, edge.source) for edge in edges]
            if picked[0] != picked[1] and all(edge.spec.shape and edge.spec.shape[-1] != 2 for edge in edges):
                yield "Is it intended to calculate with class indices? argmax returns them, and arithmetic on them usually has no meaning."
                return


# What hands the same numbers on, in another shape or dtype.
_SAME_NUMBERS = frozenset({"Cast", "ExpandDims", "Reshape", "Squeeze", "StridedSlice", "Identity", "Sub", "Tile"})


def _picks(flow: Flow, name: str) -> bool:
    for _ in range(8):
        node = flow.node(name)
        if node.op.lower() == "argmax":
            return True
        edges = flow.into(name)
        if node.op not in _SAME_NUMBERS or not edges:
            return False
        name = edges[0].source
    return False


# -- nothing is dropped


def _rows(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    if isinstance(edit, Transform) and edit.arguments.get("cut") and edit.arguments.get("axis") == 0:
        yield "Is row i of each array the same sample? Only then is it safe to drop the rows after the end of the shortest array."


def _never_seen(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    if isinstance(edit, Transform) and edit.operation == "first_rows":
        yield "Can the last samples be left out of training, the same ones in every epoch? Otherwise add samples, or use a batch size that divides their number."


def _filled(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    """Features that are filled up with zeros, or cut off; ids have a length. The fourth channel of a picture is its transparency."""
    if not isinstance(edit, Transform) or edit.operation != "pad_axis" or edit.role != "x":
        return
    spec, axis, size = dict(before.x).get((edit.role, *edit.path)), edit.arguments["axis"], edit.arguments["size"]
    if spec is not None and spec.shape and spec.dtype.startswith("float") and axis == len(spec.shape) - 1 and (axis, spec.shape[-1], size) != (3, 4, 3):
        yield f"Are the first {size} values those that the model expects?" if edit.arguments.get("cut") else "Is 0 right for the values that are missing?"


def _batched(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    if isinstance(edit, InputShape) and edit.shape and batched_twice(before):
        yield f"Is each batch one sample of {edit.shape[0]} rows? Without its first axis, it is a batch of {edit.shape[0]} samples that the model accepts."


def _taken(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    if not isinstance(edit, InsertLayer) or edit.layer_class != "Reshape" or set(edit.config.get("target_shape", ())) != {1}:
        return
    node = next((item for item in before.flow.nodes if item.name == edit.target), None)
    for edge in before.flow.into(node.id) if node is not None and edit.position == "before" else ():
        giver = before.flow.node(edge.source)
        given = next((one.spec.shape for one in before.flow.into(giver.id)), None)
        if takes_one(before.flow, giver) and given and len(given) == 2:
            yield f"Should {edit.target} read one value per sample? {giver.name} makes one of the {given[-1]} that it receives."


def _left_out(before: Evidence, after: Evidence, edit: Edit) -> Iterator[Question]:
    if isinstance(edit, ReplaceLayer) and edit.layer_class == "Identity":
        node = next((item for item in before.flow.nodes if item.name == edit.target), None)
        sizes = [elements(shape[1:]) for shapes in around(before.flow, node) for shape in shapes] if node is not None else []
        if node is not None and node.family == "shape" and len(set(sizes)) == 1 and None not in sizes:
            return  # it only gave the same numbers another shape
        yield f"Do you need {edit.target}? The program runs without it, but its computation is lost."


_CHECKS: tuple[Check, ...] = (*ROLES, _classes, _numbers, _calculated, _rows, _never_seen, _filled, _batched, _taken, *CROPPED, _left_out, _parts_of_label)
