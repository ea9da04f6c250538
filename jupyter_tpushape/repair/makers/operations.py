"""Candidates in the code of layers and in what runs on the host: batch sizes written down, masks, text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...examine.heard import HeardWidths, hear
from ...flow import Finding, Node, Shape, elements
from ...flow.paths import to_wire
from ...rules.facts.layers import WrongMask
from ...rules.facts.mixing import AttentionOverBatch, FixedBatch
from ...rules.facts.scores import SharesOfSamples
from ..edits import Edit, HostLayer, Loss, code
from ..text.keras_ops import spelled
from ..text.source import words_of
from .edits import Made, failing, given, gives, insert, key_of, left_out, of, owner_of, setting, transform, way_to
from .ends import snake
from .entry import declaration
from .line import calls_at, reshaped, short


@of(WrongMask)
def mask_shape(evidence: Evidence, finding: Finding, fact: WrongMask) -> Made:
    """A mask of query steps by value steps."""
    if len(fact.shape or ()) != len(fact.wanted):
        return
    target = [n for n in fact.wanted[1:] if n is not None]
    _node, _ = failing(evidence)
    edge = next((edge for edge in evidence.failed_inputs() if edge.label == "attention_mask"), None)
    if edge is None or len(target) != 2:
        return
    source = evidence.flow.node(edge.source)
    found = next(((door, path) for door, path in evidence.feeds if source.path and to_wire(path) == source.path), None)
    if found is None:
        return
    door, path = found
    edits: list[Edit] = [transform(path, "pad_axis", axis=axis + 1, size=size, value=1) for axis, size in enumerate(target)]
    edits.append(declaration(evidence, door, tuple(target)))
    yield (
        f"Create the mask as {tuple(target)} per sample: query steps by value steps",
        edits,
        "Attention can see the added positions; mask them if necessary.",
    )


def host_layer(evidence: Evidence, finding: Finding) -> Made:
    """A text layer at the model's door moves into the pipeline."""
    from .batching import static_batch

    doors = [node.id for node in evidence.flow.nodes if node.kind == "input"]
    for node in evidence.flow.nodes:
        if node.kind == "input" and any(edge.spec.dtype == "string" for edge in evidence.flow.into(node.id)):
            for edge in evidence.flow.out_of(node.id):
                layer = evidence.flow.node(edge.target)
                if layer.kind != "layer":
                    continue
                move = HostLayer(layer.name, key_of(node.path), doors.index(node.id) if evidence.declared else None)
                split, batch = evidence.split, getattr(evidence.sample, "batch", None)
                whole = not getattr(evidence.sample, "dynamic", True) and (split is None or (batch and split.divides(batch)))
                for title, edits, reason in () if whole else static_batch(evidence, finding):
                    yield (
                        f"Run {layer.name} in the pipeline, on the host; {title[:1].lower()}{title[1:]}",
                        [move, *edits],
                        "Text never reaches the TPU. " + reason,
                    )
                yield f"Run {layer.name} in the pipeline, on the host", [move], "Text never reaches the TPU."


def host_augmentation(evidence: Evidence, finding: Finding) -> Made:
    """A layer at the door that has no TPU kernel, and changes pictures in training only, moves into the pipeline."""
    if getattr(evidence.sample, "kind", "") != "dataset":
        return
    inside = set(finding.nodes)
    for node in evidence.flow.nodes:
        if node.id in inside and node.parent:
            inside.add(node.parent)
    for door in [node for node in evidence.flow.nodes if node.kind == "input"]:
        chain = list(_augmenting(evidence, door))
        last = max((i for i, top in enumerate(chain) if any(name == top.id or _below(evidence, name, top.id) for name in inside)), default=-1)
        if last >= 0:
            moved = chain[: last + 1]
            yield (
                f"Run {', '.join(top.name for top in moved)} in the pipeline, on the host",
                [HostLayer(top.name, key_of(door.path), training=True) for top in moved],
                "It only augments training images; the rest stays on the TPU.",
            )
            return


def _augmenting(evidence: Evidence, door: Node) -> Iterator[Node]:
    at = door.id
    while True:
        tops = [_top(evidence, evidence.flow.node(edge.target)) for edge in evidence.flow.out_of(at)]
        top = tops[0] if len(tops) == 1 else None
        if top is None or top.kind not in ("layer", "model"):
            return
        within = [item for item in evidence.flow.nodes if item is top or _below(evidence, item.id, top.id)]
        if not any(item.op.startswith("Random") for item in within):
            return
        yield top
        ids = {item.id for item in within}
        ends = [edge.source for item in ids for edge in evidence.flow.out_of(item) if edge.target not in ids]
        if len(ends) != 1:
            return
        at = ends[0]


def _top(evidence: Evidence, node: Node) -> Node:
    while node.parent:
        node = evidence.flow.node(node.parent)
    return node


def _below(evidence: Evidence, name: str, top: str) -> bool:
    node = evidence.flow.node(name)
    while node.parent:
        if node.parent == top:
            return True
        node = evidence.flow.node(node.parent)
    return False


def through(evidence: Evidence, owner: Node) -> tuple[Shape | None, Shape | None]:
    """What goes into a layer and what comes out of it; of one that shows its inside, at its edges."""
    inside = {owner.id}
    for node in evidence.flow.nodes:
        if node.parent in inside:
            inside.add(node.id)
    before = next((edge.spec.shape for edge in evidence.flow.edges if edge.target in inside and edge.source not in inside), None)
    after = next((edge.spec.shape for edge in evidence.flow.edges if edge.source in inside and edge.target not in inside), None)
    return before, after


def leave_out(evidence: Evidence, finding: Finding) -> Made:
    """Without a layer of the user's own that turns the batch axis into something else."""
    for start in finding.nodes:
        for item in way_to(evidence, evidence.flow.node(start)):
            owner = _own(evidence, item)
            if owner is None:
                continue
            before, after = through(evidence, owner)
            if before and after is not None and before[:1] != after[:1]:
                yield (
                    f"Remove {owner.name}: it does not keep the batch axis",
                    [left_out(owner.name)],
                    "The model works without it. If you need the operation, apply it along another axis.",
                )
                return


def free_batch(evidence: Evidence, finding: Finding) -> Made:
    """-1 for a batch size that is written into the code."""
    node = evidence.flow.node(finding.nodes[0])
    batch = finding.fact.batch if isinstance(finding.fact, FixedBatch) else None
    owner = node
    while owner.parent:
        owner = evidence.flow.node(owner.parent)
    if batch is not None:
        yield (
            f"Let reshape infer the number of rows: -1 instead of {batch}",
            [code.FirstNumber(owner.name, batch, -1, node.called.line if node.called else 0)],
            "Works for every batch size.",
        )
        # A function that a builder calls is in the code of no layer.
        for line, call in calls_at(evidence, finding.location, "reshape"):
            rows = next((item.elts[0] for item in words_of(call) if isinstance(item, (ast.Tuple, ast.List)) and item.elts), None)
            if rows is not None and line.number(rows) == batch:
                yield (f"Let reshape infer the number of rows: -1 instead of {short(rows)}", [line.edit(rows, "-1")], "Works for every batch size.")


def _own(evidence: Evidence, node: Node) -> Node | None:
    owner = node if node.kind == "layer" else owner_of(evidence, node)
    if owner is None or not (owner.op == "Lambda" or any(inner.parent == owner.id for inner in evidence.flow.nodes)):
        return None
    return owner


def other_axis(evidence: Evidence, finding: Finding) -> Made:
    """axis=1 where a layer of the user's own works along the batch axis."""
    start = [evidence.flow.node(name) for name in finding.nodes] or [node for node in [evidence.failed] if node is not None]
    for node in start:
        for item in way_to(evidence, node):
            owner = _own(evidence, item)
            if owner is None:
                continue
            before, after = through(evidence, owner)
            if before and len(before) > 1 and after is not None and before[:1] != after[:1]:
                yield (f"Use axis 1 in {owner.name}: axis 0 is the batch", [code.Axis(owner.name, 0, 1)], "Each sample is then processed separately.")
                return


def _within(evidence: Evidence, node: Node) -> str | None:
    owner = _own(evidence, node)
    if owner is not None:
        return owner.name
    return "" if node.kind == "op" and not node.parent else None


def softmax_axis(evidence: Evidence, finding: Finding) -> Made:
    """The softmax along another axis than the batch."""
    node = evidence.flow.node(finding.nodes[0])
    if isinstance(finding.fact, (AttentionOverBatch, SharesOfSamples)):
        return
    if node.kind == "layer":
        yield setting(node, "axis", 1, "", "Axis 1 is the first axis of a sample.")
        return
    name = _within(evidence, node)
    for axis in (1, -1) if name is not None else ():
        yield (f"Apply softmax along axis {axis}{' in ' + name if name else ''}", [code.Axis(name or "", 0, axis)], "Each sample is then processed separately.")


def features_axis(evidence: Evidence, finding: Finding) -> Made:
    """The axis of the features for a layer that works along the batch."""
    node, why = evidence.flow.node(finding.nodes[0]), "Each sample is then processed separately."
    title, edits, _ = setting(node, "axis", -1, "", why)
    yield title, edits if node.kind == "layer" else [Loss(node.id, snake(node.op), {"axis": -1}, snake(node.op))], why


def transpose_for_reshape(evidence: Evidence, finding: Finding) -> Made:
    """A transpose in place of a reshape in the user's own code."""
    from .transposed import permutation

    node = evidence.flow.node(finding.nodes[0])
    before, after = given(evidence, node), gives(evidence, node)
    name = _within(evidence, node)
    if node.kind != "op" or name is None or not before or not after or len(before) != len(after):
        return
    order = permutation(before, after)
    if order is not None:
        yield (
            f"Swap the axes with {spelled()}.transpose(x, {tuple(order)}){' in ' + name if name else ''}",
            [code.Transposed(name, order)],
            "Moves the values along with the axes.",
        )


def own_weights(evidence: Evidence, finding: Finding) -> Made:
    """A layer of the user's own whose weights were made for another width."""
    node = evidence.failed
    owner = _own(evidence, node) if node is not None else None
    said = hear(node.failure, HeardWidths) if node is not None else None
    before = through(evidence, owner)[0] if owner is not None else None
    if owner is None or said is None or not before or before[-1] != said.given:
        return
    width, depth = said.wanted, said.of == "channels"
    if depth and before[-1] == 1 and len(evidence.x) == 1 and evidence.x[0][1].shape == before:
        yield (
            f"Repeat the single channel of the data {width} times",
            [transform(("x",), "repeat_last", times=width)],
            "Turns a grayscale image into a color image.",
        )
    rank = len(before) - 2
    if depth and rank in (1, 2, 3):
        yield (
            f"Project to {width} channels before {owner.name}: add Conv{rank}D({width}, 1)",
            [insert(owner.name, f"Conv{rank}D", filters=width, kernel_size=[1] * rank)],
            "Its weights were built for this many channels; adds trainable weights.",
        )
    elif not depth:
        yield (
            f"Project to {width} before {owner.name}: add Dense({width})",
            [insert(owner.name, "Dense", units=width)],
            "Its weights were built for this size; adds trainable weights.",
        )


def whole_rows(evidence: Evidence, finding: Finding) -> Made:
    """A reshape in the user's own code whose inner axes hold exactly one sample."""
    for node in map(evidence.flow.node, finding.nodes):
        before, (_, *after) = given(evidence, node) or (), gives(evidence, node) or (0,)
        size, rest = elements(before[1:]) or 0, elements(tuple(after[:-1])) or 0
        for line, call in calls_at(evidence, node.called, "reshape") if after and rest and size % rest == 0 and size // rest != after[-1] else ():
            array, sizes = reshaped(line, call)
            if array is not None and len(sizes) == len(after) + 1 and ast.unparse(sizes[0]) == "-1":
                # By its name, where it is the size of what is reshaped, so that a sample's rows stay as they are.
                new = f"{ast.unparse(array)}.shape[-1]" if before[-1] == size // rest and isinstance(array, ast.Name) else str(size // rest)
                yield (
                    f"Make each row one sample: {new} instead of {ast.unparse(sizes[-1])} at {line.at}",
                    [line.edit(sizes[-1], new)],
                    f"One sample has {size} values.",
                )


def single_precision(evidence: Evidence, finding: Finding) -> Made:
    """A dtype that a TPU has, in the user's own code."""
    nodes = [evidence.flow.node(name) for name in finding.nodes] or evidence.flow.nodes
    for name in dict.fromkeys(owner.name for node in nodes if (owner := _own(evidence, node)) is not None):
        for old, new in (("complex128", "complex64"), ("float64", "float32")):
            yield (f"Use {new} in {name}", [code.Name(name, old, new)], f"TPUs do not support {old}.")


def static_mask(evidence: Evidence, finding: Finding) -> Made:
    """A mask that keeps the size, in place of ``boolean_mask``."""
    for name in dict.fromkeys(owner.name for node in map(evidence.flow.node, finding.nodes) if (owner := _own(evidence, node)) is not None):
        for axes in (1, 0, 2):
            yield (
                f"Mask with zeros in {name}: tf.where instead of boolean_mask",
                [code.StaticMask(name, axes)],
                "Keeps every row; rows outside the mask become zero.",
            )
