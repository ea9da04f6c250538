"""Candidates in the model for a fault at the loss: the layer upstream that is the cause, and the head."""

from __future__ import annotations

import ast
from typing import Any

from ...examine.evidence import Evidence
from ...flow import Edge, Fact, Finding, Node, Shape, elements
from ...flow.observed import keeps, passes
from ...rules.compared import kind_of
from ...rules.facts.layers import OperationRaised
from ...rules.facts.lines import LossCalled
from ...rules.facts.loss import GridApart, LabelRank, StepsReduced
from ...rules.facts.loss_silent import Crosswise
from ...rules.facts.reasons import LacksAxis, Lengths
from ...rules.upstream import ancestors, cause_of_axes
from ...rules.words import axes_of, listed
from ...trace.axes import RECURRENT, recurs
from ..edits import WrapLayer
from ..text.source import nodes
from .edits import (
    Made,
    append,
    configure,
    flattened,
    given,
    insert,
    known,
    last_step_of,
    left_out,
    named,
    of,
    padding_of,
    pooling,
    same_size,
    setting,
    upstream,
    way_to,
    width_of,
)
from .ends import compared, ends_of, head_of, loss_node, of_classes
from .line import lines_at, own_layer, short


def _first_dense(evidence: Evidence, cause: Node, predictions: Edge) -> str | None:
    way = [evidence.flow.node(predictions.source), *upstream(evidence, evidence.flow.node(predictions.source))]
    reached = _below(evidence, cause)
    below = [node for node in way if node.id in reached] if reached else way
    dense = [node for node in below if node.kind == "layer" and isinstance(node.config.get("units"), int)]
    # A block that adds what it computes to what it gets needs the axes inside.
    dense = [node for node in dense if node.parent == way[0].parent] or dense
    others = [node for node in below if node.kind == "layer" and len(evidence.flow.into(node.id)) < 2 and not keeps(evidence.flow, node)]
    if dense or others:
        return (dense or others)[-1].name
    return below[0].name if below and below[0].kind == "layer" else None


def _below(evidence: Evidence, node: Node) -> set[str]:
    found: set[str] = set()
    pending = [node.id]
    while pending:
        for edge in evidence.flow.out_of(pending.pop()):
            if edge.target not in found:
                found.add(edge.target)
                pending.append(edge.target)
    return found


def last_step(evidence: Evidence, finding: Finding) -> Made:
    """return_sequences=False at the layer that lets time through."""
    node = evidence.flow.node(finding.nodes[0])
    if node.op in RECURRENT:
        yield last_step_of(node, "Per-sample labels need per-sample outputs.")


def last_frame(evidence: Evidence, finding: Finding) -> Made:
    """return_sequences=False at the layer that gives a frame for every step."""
    for last, y, p in compared(evidence, finding):
        frames = [node for node in way_to(evidence, last) if "ConvLSTM" in node.op and node.config.get("return_sequences")]
        if len(p) == len(y) + 1 and frames:
            yield last_step_of(frames[0], "Per-sample labels need one output frame per sample.")


def pooled_head(evidence: Evidence, finding: Finding) -> Made:
    """The positions of a convolution at the end averaged."""
    for last, y, p in compared(evidence, finding):
        head = head_of(evidence, last)
        if head is not None and pooling(p) and len(y) == 2 and y[-1] == p[-1] and len(axes_of(head.op)) == len(p):
            yield (
                f"Average over the positions: {pooling(p)} after {head.name}",
                [append(head.name, pooling(p))],
                "There is one label per sample. To judge each position instead, use labels of the output's shape.",
            )


@of(LabelRank)
def unfolded(evidence: Evidence, finding: Finding, fact: LabelRank) -> Made:
    """Without the layer that folds the steps, where the labels have one for each."""
    if fact.folded is not None:
        yield (
            f"Remove {fact.folded.name}: the labels have one value for each of the {fact.labels[1]} steps",
            [left_out(fact.folded.name)],
            "The layers after it are then applied to each step.",
        )


def whole_sequence(evidence: Evidence, finding: Finding) -> Made:
    """return_sequences=True at the layer that gives only its last step."""
    node = evidence.flow.node(finding.nodes[0])
    if node.config.get("return_sequences") or not recurs(node):
        return
    labels, predictions = ends_of(evidence, finding)
    y, p = (edge.spec.shape if edge is not None else None for edge in (labels, predictions))
    head = head_of(evidence, evidence.flow.node(predictions.source)) if predictions is not None else None
    each = (p[-1] or 0) // (y[1] or 1) if y and p and len(p) == 2 <= len(y) and not (p[-1] or 1) % (y[1] or 1) else 0
    if y and len(y) > 2 and y[-1] == (p or (0,))[-1]:
        each = 0  # a step of the labels is as wide as the predictions are
    wide = [configure(head.name, units=each)] if head is not None and head.config.get("units") == (p or (0,))[-1] and each > 1 else []
    reached = _below(evidence, node)
    frames = [item.name for item in evidence.flow.nodes if item.id in reached and item.kind == "layer" and len(axes_of(item.op)) > 3]
    yield (
        f"Return the whole sequence: set return_sequences=True on {node.name}"
        + (f", and apply {' and '.join(frames)} to each frame with TimeDistributed" if frames else "")
        + (f", and units={each} on {head.name}" if head is not None and wide else ""),
        [configure(node.name, return_sequences=True), *wide, *(WrapLayer(name, "TimeDistributed") for name in frames)],
        "Per-step labels need per-step outputs.",
    )


@of(StepsReduced)
def every_step(evidence: Evidence, finding: Finding, fact: StepsReduced) -> Made:
    """The whole sequence for the head."""
    node = evidence.flow.node(finding.nodes[0])
    if node.kind == "layer":
        yield f"Remove {node.name}: keep every step", [left_out(node.name)], "Per-step labels need per-step outputs."
        return
    for line in lines_at(evidence, node.called):
        taken = line.node if isinstance(line.node, ast.Subscript) else None
        for one in [taken] if taken is not None else nodes(line.node or line.scope, ast.Subscript):
            if one.lineno == line.raised.line and isinstance(one.slice, ast.Tuple) and isinstance(one.slice.elts[0], ast.Slice):
                yield (
                    f"Keep every step: {ast.unparse(one.value)} instead of {short(one)} at {line.at}",
                    [line.without(one, one.value)],
                    "Per-step labels need per-step outputs.",
                )
                return


def _cause(evidence: Evidence, finding: Finding) -> tuple[Node, Edge, str] | None:
    _, predictions = ends_of(evidence, finding)
    if predictions is None:
        return None
    found = cause_of_axes(evidence, predictions)
    cause = found[1] if found is not None else evidence.flow.node(predictions.source)
    target = _first_dense(evidence, cause, predictions) or (cause.name if cause.kind == "layer" else None)
    return None if target is None else (cause, predictions, target)


def _output_of(evidence: Evidence, cause: Node, predictions: Edge) -> Shape | None:
    return next((edge.spec.shape for edge in evidence.flow.out_of(cause.id) if edge.label not in ("labels", "weights")), predictions.spec.shape)


def pool_steps(evidence: Evidence, finding: Finding) -> Made:
    """A pooling over time in front of the head."""
    found = _cause(evidence, finding)
    if found is not None:
        yield (f"Average over time: add GlobalAveragePooling1D before {found[2]}", [insert(found[2], "GlobalAveragePooling1D")], "Uses every step.")


def flatten_cause(evidence: Evidence, finding: Finding) -> Made:
    """Flatten or a pooling in front of the first Dense behind the axes."""
    found = _cause(evidence, finding)
    node = named(evidence, found[2]) if found is not None else None
    if found is None or node is None or _sampleless(evidence, finding):
        return
    cause, predictions, target = found
    if _each_position(evidence, predictions.spec.shape or ()):
        return
    shape = given(evidence, node) or _output_of(evidence, cause, predictions)
    if not shape or len(shape) < 3 or not known(shape[1:]):
        return
    labels = [y for _, y, _ in compared(evidence, finding) if len(y) == 3 < len(shape) and y[1] == shape[1]]
    if labels and any(one.op == "TimeDistributed" for one in way_to(evidence, node)):
        row = elements(shape[2:])
        yield (
            f"Flatten each of the {shape[1]} items separately: Reshape(({shape[1]}, {row})) before {target}",
            [insert(target, "Reshape", target_shape=[shape[1], row])],
            "The labels have one row for each of them.",
        )
        return
    units, pool = node.config.get("units", 1), pooling(shape)
    each = units if isinstance(units, int) else 1
    flat = (elements(shape[1:]) or 0) * each
    options = [flattened(target, f"Keeps every value; {target} then has {flat:,} weights.")]
    if pool:
        why = f"Keeps one value per channel; {target} then has {(shape[-1] or 0) * each:,} weights."
        options.append((f"Add {pool} before {target}", [insert(target, pool)], why))
    if pool and cause.kind != "input" and flat > 2_000_000:
        options.reverse()
    yield from options
    last = evidence.flow.node(predictions.source)
    if last.kind == "layer" and last.name != target:
        yield flattened(last.name, "Keeps every value, but is further from the cause.")


@of(OperationRaised)
def flatten_inside(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Flatten in front of the first Dense on the way to code of the user's own that receives maps from it."""
    targets: list[str] = []
    kept = isinstance(fact.reason, LacksAxis) and bool(fact.reason.through)
    for edge in evidence.failed_inputs() if kept and own_layer(evidence) is not None else ():
        dense = ""
        for node in [evidence.flow.node(edge.source), *ancestors(evidence, edge.source)] if len(edge.spec.shape or ()) > 3 else ():
            if node.op == "Dense":
                dense = node.name
            elif node.op.startswith("Conv") or (node.kind == "layer" and not passes(evidence.flow, node)):
                break
        targets += [dense] if dense and dense not in targets else []
    if targets:
        title = f"Add Flatten before {listed(tuple(targets))}"
        yield (title, [insert(name, "Flatten") for name in targets], "A Dense works on the last axis only and keeps the positions of the map.")


def _each_position(evidence: Evidence, shape: Shape) -> bool:
    return any(len(spec.shape or ()) > 2 and (spec.shape or ())[1:-1] == shape[1:-1] for _, spec in evidence.y)


def _sampleless(evidence: Evidence, finding: Finding) -> bool:
    batch = next((spec.shape[0] for _, spec in evidence.x if spec.shape), None)
    shapes = finding.fact.shapes if isinstance(finding.fact, OperationRaised) else ()
    return bool(batch) and any(shape and len(shape) > 1 and shape[0] not in (None, 1, batch) for shape in shapes)


def broadcast_cause(evidence: Evidence, finding: Finding) -> Made:
    """A silent broadcast has the same causes as a loud one."""
    node = evidence.flow.node(finding.nodes[0])
    cut = isinstance(finding.fact, Crosswise) and finding.fact.cause == "last"
    sequences = node.config.get("return_sequences") or node.op == "Bidirectional"
    if node.op in RECURRENT and sequences and not cut:
        yield from last_step(evidence, finding)
        yield from pool_steps(evidence, finding)
    elif node.op in RECURRENT and cut:
        yield from whole_sequence(evidence, finding)
    elif axes_of(node.op) or node.kind == "input":
        yield from flatten_cause(evidence, finding)


def units(evidence: Evidence, finding: Finding) -> Made:
    """As many units as a label has values."""
    told = getattr(finding.fact, "reason", None)
    if isinstance(told, Lengths) and "" in (told.first, told.second):
        return  # what does not fit is a table of the loss, not its labels
    for last, y, p in compared(evidence, finding):
        if y != p and sorted(map(str, y)) == sorted(map(str, p)):
            continue  # the same sizes on other axes
        head = head_of(evidence, last)
        wanted = y[-1] if len(y) == len(p) else 1
        loss = loss_node(evidence, finding)
        kind = kind_of(loss) if loss is not None else ""
        if len(y) == len(p) + 1 == 3 and y[-1] == p[-1] == 1 and kind in ("regression", "binary"):
            if any(len(spec.shape or ()) > 2 and (spec.shape or ())[1] == y[1] for _, spec in evidence.x):
                continue  # one value for each step of the input, and no step stands for the others
            wanted = y[1]  # Keras drops the last axis of such labels
        if wanted == 1 and (kind == "sparse" or (kind == "custom" and head is not None and of_classes(evidence, head))):
            continue  # a number for the class of all of them
        if head is not None and wanted and wanted != p[-1]:
            yield setting(head, width_of(head), wanted, ", one for each value of a label", "The labels determine the number.")


_ARRANGES = frozenset({"Reshape", "Flatten", "Permute", "Concatenate", "Softmax"})
_HIDDEN = frozenset({"relu", "elu", "selu", "gelu", "tanh", "leaky_relu", "relu6", "silu", "swish", "mish"})


def _head_layer(evidence: Evidence, finding: Finding) -> tuple[str, dict[str, Any], Node] | None:
    labels, predictions = ends_of(evidence, finding)
    loss = loss_node(evidence, finding)
    if labels is None or predictions is None or loss is None or not labels.spec.shape:
        return None
    kind = kind_of(loss)
    wanted = labels.spec.shape[-1] if len(labels.spec.shape) > 1 else 1
    if kind == "sparse":
        stats = evidence.label_stats.values()
        highest = next((one.maximum for one in stats if one and one.maximum is not None), None)
        # One class seen says nothing of how many there are.
        wanted = int(highest) + 1 if highest else None
    activation = {"categorical": "softmax", "sparse": "softmax", "binary": "sigmoid"}.get(kind)
    if not wanted or (kind == "categorical" and wanted == 1):  # over one unit nothing is learnt
        return None
    config: dict[str, Any] = {"units": wanted, **({"activation": activation} if activation and not loss.config.get("from_logits") else {})}
    return f"Dense({wanted}{', ' + repr(activation) if 'activation' in config else ''})", config, evidence.flow.node(predictions.source)


def append_head(evidence: Evidence, finding: Finding) -> Made:
    """A last layer of as many units as a label has values."""
    found = _head_layer(evidence, finding)
    if found is not None and found[2].kind == "layer" and not _joins_heads(evidence, found[2]):
        text, config, last = found
        yield (
            f"Add {text} after {last.name}, at the end of the model",
            [append(last.name, "Dense", **config)],
            "The model has no layer whose output matches the labels.",
        )


def _joins_heads(evidence: Evidence, node: Node) -> bool:
    """Whether a node joins the outputs of several heads: a layer behind them would mix what each of them predicts."""
    heads = [evidence.flow.node(edge.source) for edge in evidence.flow.into(node.id)]
    return node.op.startswith("Concat") and len(heads) > 1 and all(_is_head(evidence, one) for one in heads)


def _is_head(evidence: Evidence, node: Node) -> bool:
    """Whether a node gives what a layer without a hidden activation makes, in another shape at most."""
    while node.op in _ARRANGES and len(edges := evidence.flow.into(node.id)) > 0:
        node = evidence.flow.node(edges[0].source)
    return node.family in ("dense", "convolution") and node.config.get("activation") not in _HIDDEN


def missing_head(evidence: Evidence, finding: Finding) -> Made:
    """Only where the last layer is plainly no head."""
    found = _head_layer(evidence, finding)
    if found is None:
        return
    last, loss = found[2], loss_node(evidence, finding)
    classifies = loss is not None and kind_of(loss) in ("sparse", "categorical", "binary")
    head = head_of(evidence, last)
    hidden = head is not None and head.config.get("activation") in _HIDDEN and (classifies or last.op.endswith("Dropout"))
    if head is None or last.op in RECURRENT or hidden:
        yield from append_head(evidence, finding)


def flat_head(evidence: Evidence, finding: Finding) -> Made:
    """Inner axes and no head at all: one layer folds the axes, one gives what a label holds."""
    found, (_, predictions) = _head_layer(evidence, finding), ends_of(evidence, finding)
    if found is None or found[2].kind != "layer" or predictions is None:
        return
    text, config, last = found
    if _each_position(evidence, predictions.spec.shape or ()):
        return
    # Where a product does not sum, that is the fault, and not the end of the model.
    if getattr(finding.fact, "cause", "") == "map":
        yield f"Average the map of {last.name}", [append(last.name, "GlobalAveragePooling2D")], "Each picture then has one prediction."
        return
    if getattr(finding.fact, "cause", "") == "product" or (last.op == "Dense" and last.config.get("activation") not in _HIDDEN):
        return
    for kind in filter(None, ("Flatten", pooling(predictions.spec.shape or ()))):
        yield (
            f"Add {kind} and {text} after {last.name}, at the end of the model",
            [append(last.name, kind), append(last.name, "Dense", **config)],
            "The model has no output layer that matches the labels.",
        )


def one_number(evidence: Evidence, finding: Finding) -> Made:
    """Without inner axes of size 1, where the model gives one number a sample."""
    for last, y, p in compared(evidence, finding):
        if len(y) < len(p) > 2 and set(p[1:]) == {1} and set(y[1:]) <= {1} and last.kind == "layer":
            yield f"Add Flatten after {last.name}: (?, 1)", [append(last.name, "Flatten")], "Keeps every value: one per sample."


def one_unit(evidence: Evidence, finding: Finding) -> Made:
    """A single unit for labels of one value."""
    loss = loss_node(evidence, finding)
    if loss is not None and kind_of(loss) in ("binary", "regression"):
        yield from units(evidence, finding)


@of(LabelRank, LossCalled)
def like_labels(evidence: Evidence, finding: Finding, fact: Fact) -> Made:
    """The last vector in the shape of the images or sequences that the model is to output, with as many values."""
    assert isinstance(fact, (LabelRank, LossCalled))
    (y, p), row = (fact.labels, fact.predictions), [int(n or 0) for n in fact.labels[1:]]
    givers = [evidence.flow.node(edge.source) for edge in evidence.failed_inputs() if edge.spec.shape == p]
    if len(p) != 2 or len(row) < 2 or not p[1] or elements(y[1:]) != p[1] or len(givers) != 1:
        return
    if givers[0].kind == "layer" and not (isinstance(fact, LabelRank) and not fact.copied):
        yield (
            f"Add Reshape({tuple(row)}) after {givers[0].name}, at the end of the model",
            [append(givers[0].name, "Reshape", target_shape=row)],
            "The output then has the shape of what it is compared with.",
        )


def whole_rows(evidence: Evidence, finding: Finding) -> Made:
    """As many units as a label has numbers in all, put in its shape."""
    if getattr(finding.fact, "twice", False):
        return  # what was encoded once too often is no shape to be like
    for head, y, p in compared(evidence, finding):
        if len(p) != 2 or len(y) != 3 or not known(y[1:]) or p[1] not in (1, *y[1:]) or 1 in y[1:]:
            return
        if head.op == "Dense" and isinstance(head.config.get("units"), int):
            numbers, row = elements(y[1:]) or 0, [int(n or 0) for n in y[1:]]
            yield (
                f"Set units={numbers} on {head.name}, and reshape its output like the labels: Reshape({tuple(row)})",
                [configure(head.name, units=numbers), append(head.name, "Reshape", target_shape=row)],
                f"A label has {row[0]} × {row[1]} values.",
            )


def grid_sizes(evidence: Evidence, finding: Finding) -> Made:
    """Predictions on a coarser grid than the labels."""
    for last, (_, *y), (_, *p) in compared(evidence, finding):
        if len(y) not in (len(p), len(p) - 1) or len(p) < 2 or None in (*y, *p):
            return
        ratios = [int(a or 0) / int(b or 1) for a, b in zip(y, p[:-1], strict=False)]
        windows = [node for node in way_to(evidence, last) if node.op.startswith("Conv") and "Transpose" not in node.op and axes_of(node.op)]
        for node in windows if max(ratios) > 1 else ():
            strides = node.config.get("strides", 1)
            why = "The labels have the same size as the input."
            if (max(strides) if isinstance(strides, (list, tuple)) else strides) > 1:
                yield same_size(node, why, strides=[1] * (len(axes_of(node.op)) - 2))
            elif node.config.get("padding", "valid") == "valid":
                yield same_size(node, why, padding=padding_of(evidence, node))
        if last.kind == "layer" and len(p) in (2, 3, 4) and all(ratio >= 1 and ratio == int(ratio) for ratio in ratios) and max(ratios) > 1:
            factor = [int(ratio) for ratio in ratios]
            yield (
                f"Upsample the predictions to the size of the labels: add UpSampling{len(p) - 1}D after {last.name}",
                [append(last.name, f"UpSampling{len(p) - 1}D", size=factor if len(factor) > 1 else factor[0])],
                "Adds no weights.",
            )
            if len(evidence.outputs) > 1:  # an output is called after its last layer
                yield (
                    f"Upsample to the size of the labels: add UpSampling{len(p) - 1}D before {last.name}",
                    [insert(last.name, f"UpSampling{len(p) - 1}D", size=factor if len(factor) > 1 else factor[0])],
                    f"Adds no weights, and the output is still named {last.name}.",
                )


@of(GridApart)
def upsampled_once_less(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """Predictions on a finer grid than the labels, by the stride of a transposed convolution."""
    sizes = list(zip(fact.predictions[1:], fact.labels[1:], strict=False))[: len(fact.predictions) - 2]
    ratios = {int(have or 0) / int(want or 1) for have, want in sizes}
    last = named(evidence, fact.head.name)
    if last is None or len(ratios) != 1 or min(ratios) <= 1:
        return
    for node in way_to(evidence, last):
        strides = node.config.get("strides", 1)
        each = set(strides) if isinstance(strides, (list, tuple)) else {strides}
        if "Transpose" in node.op and each == ratios and node.config.get("padding") == "same":
            yield (
                f"Keep the size in {node.name}: strides=1",
                [configure(node.name, strides=1)],
                f"The model upsamples {int(min(ratios))} times more than the labels.",
            )
            return
