"""The loss and the metrics against the labels, with the cause upstream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ..examine.compiled import Compiled
from ..examine.evidence import Evidence
from ..examine.heard import HeardWidth, hear
from ..examine.heard_contracts import HeardAssigned
from ..examine.heard_data import HeardClassRows, HeardCompared, HeardIncompatible, HeardPositions
from ..examine.heard_lines import HeardTakes
from ..flow import Edge, Fact, Finding, KeyPath, Node, Shape, Who, elements
from ..flow.paths import show
from ..graph import cause as cause_of
from ..graph import instead, written
from ..trace.locations import location
from .calls import VECTOR, misdeclared, vector_added
from .compared import (
    as_they_are,
    class_labels,
    copied_from,
    cut_sequence,
    encoded_from_one,
    encoded_twice,
    ends,
    folder,
    kind_of,
    lists_classes,
    met_whole,
    observed_labels,
    of_sequences,
    reduced_steps,
    texts_of,
    widths_met,
    written_numbers,
)
from .compiled import METRIC_LABELS, OUTPUTS, metric_reads, outputs_apart
from .contracts import dtypes_in_loss
from .data import varying_widths
from .entry import matched
from .facts.compiled import ColourMasks, TextLabels
from .facts.contracts import Enclosed
from .facts.data import ClassesAsWeights, LabelsAsWeights, ThirdPart
from .facts.entry import BatchElsewhere
from .facts.held import ScalarSum
from .facts.layers import LayerRaised, OperationRaised, WrongWidth
from .facts.lines import LossCalled
from .facts.loss import IndexInRow, LabelRank, LastStepOnly, LossRaised, RowsOfValues, SingleValues, StepsReduced, SurplusAxes, WrongUnits, WrongWeights
from .facts.loss_silent import BatchBehind, PairsPredicted, RowsLost
from .facts.mixing import BatchLost, EveryPair
from .facts.reasons import AxisDropped, Flattened
from .grids import grid_apart
from .handed_over import overriding_finding
from .jitted import told as compiled_step_finding
from .loss_code import rows_as_indices, rows_cut
from .loss_rules import CUSTOM, FLATTEN, INT_LABELS, LAST_ONLY, MASKS, METRIC, ONE_HOT, RANK, SEQUENCES, SIZE, TEXT, UNITS, WEIGHTS
from .mixing import LOOKUPS, lookup_of_all
from .moved import crossed_before, rows_behind
from .own_code import labels_refused
from .reasons import operands, reason
from .reasons_read import counted_vectors
from .registry import check
from .restored import RESTORED, classless, labels_not_inputs
from .shapeless import label_rank, no_number, shape_lost
from .spelled import misspelled
from .tpu_setup import of_scopes
from .transforms import transformed, vector_total
from .upstream import ancestors, cause_of_axes
from .words import PAIRING, blamed
from .zipped import zipped_apart


@check(order=30)
def loss_failed(evidence: Evidence) -> Iterator[Finding]:
    """The loss or a metric raised."""
    node = evidence.failed
    if node is None or node.failure is None or evidence.where not in ("loss", "metric") or of_scopes(evidence.failure):
        return
    if misdeclared(evidence) is not None or overriding_finding(evidence) is not None or misspelled(evidence) is not None:
        return
    if evidence.backend == "jax" and compiled_step_finding(evidence) is not None:
        return
    if getattr(evidence.sample, "problems", ()) or varying_widths(evidence):
        return  # the data is not what fit takes, and a loss of it says nothing more
    if zipped_apart(evidence) is not None:
        return  # told of the pipeline
    crossed = crossed_before(evidence, node) if node.kind == "layer" or _pairs_meet_samples(evidence) else None
    if crossed is not None:
        yield crossed
        return
    vector = vector_added(evidence, node)
    if vector is not None:
        added, by, place = vector
        yield Finding.of(VECTOR.id, "error", added, (*by, node.id), (), place)
        return
    loss = node if node.kind == "loss" else _loss_above(evidence, node)
    labels, predictions = ends(evidence, loss if loss is not None else node)
    rule_id, fact, blamed = _explain(evidence, node, loss or node, labels, predictions)
    nodes = tuple(dict.fromkeys((*blamed, node.id)))
    edges = tuple(edge.id for edge in (predictions, labels) if edge is not None)[:1]
    first, raised = evidence.flow.node(nodes[0]), evidence.raised
    where = first.location or first.called or node.called or (location((raised.file, raised.line)) if raised is not None else None)
    yield Finding.of(rule_id, "error", fact, nodes, edges, where)


def _pairs_meet_samples(evidence: Evidence) -> bool:
    """Whether a tensor with the batch on two axes met one that has it on the first alone, with as many axes of its own."""
    grows = {len(one.spec.shape or ()): sorted(map(len, (other.grows for other in evidence.given))) for one in evidence.given}
    return len(grows) == 1 and min(grows) > 2 and list(grows.values()) == [[1, 2]] and all(0 in one.grows for one in evidence.given)


def _loss_above(evidence: Evidence, node: Node) -> Node | None:
    while node.parent:
        node = evidence.flow.node(node.parent)
        if node.kind in ("loss", "metric"):
            return node
    return None


BROADCAST = "loss-broadcast"
# The rule, the fact, and the nodes that it blames.
Explained = tuple[str, Fact, tuple[str, ...]]


def _explain(evidence: Evidence, node: Node, loss: Node, labels: Edge | None, predictions: Edge | None) -> Explained:
    assert node.failure is not None
    y = labels.spec.shape if labels is not None else None
    p = predictions.spec.shape if predictions is not None else None
    if labels is not None and labels.spec.dtype == "string":
        path = evidence.carried(labels)
        numbers = written_numbers(texts_of(evidence, path)) if path is not None else ""
        return TEXT.id, TextLabels(show(path) if path is not None else "", loss.name, numbers), ()
    if any(spec.dtype == "string" for _, spec in evidence.weight):
        return WEIGHTS.id, ThirdPart(), ()
    known: Compiled | None = evidence.facts.get("compile")
    if known is not None and all(known.enclosed):
        return "symbolic-tensor", Enclosed(*known.enclosed), ()
    rows = rows_as_indices(evidence, loss, labels)
    if rows is not None:
        return ONE_HOT.id, rows, ()
    total = vector_total(evidence, node)
    if total is not None:
        return total
    refused = labels_refused(evidence, node, loss)
    if refused is not None:
        return "dtype-mix", refused, ()
    dtypes, number = dtypes_in_loss(evidence, node, loss), no_number(evidence, node)
    if number is not None:
        return *number, ()
    if dtypes is not None:
        return "dtype-mix", dtypes, ()
    if node.kind == "op" and (transform := transformed(evidence, node)) is not None:
        return *transform, ()
    unranked = label_rank(evidence, node, labels)
    if unranked is not None:
        return "unknown-rank", unranked, ()
    lost = shape_lost(evidence, node, loss)
    if lost is not None:
        return METRIC.id if loss.kind == "metric" else CUSTOM.id, lost, ()
    indices = hear(node.failure, HeardClassRows)
    if indices is not None and indices.labels[-1:] == (1,):
        return RANK.id, IndexInRow(loss.name, indices.labels, indices.predictions), ()
    if len(evidence.outputs) > 1 and len(evidence.y) == len(evidence.weight) == 1:
        names = tuple(node.name for node in evidence.flow.nodes if node.kind == "output")
        return "data-misfit", LabelsAsWeights(evidence.y[0][1].shape, evidence.weight[0][1].shape, names), ()
    if len(evidence.weight) > 1 and evidence.y and all(spec.shape == () and isinstance(path[-1], int) for path, spec in evidence.weight):
        samples = (evidence.split.batch if evidence.split is not None else None) or (evidence.y[0][1].shape or (0,))[0] or 0
        return "data-misfit", ClassesAsWeights(len(evidence.weight), samples, hot=False, keyed=True), ()
    if predictions is not None and p == () != y:
        maker = _reducer(evidence, predictions)
        return "batch-axis-lost", BatchLost(Who.of(maker), (), None), (maker.id,)
    apart = outputs_apart(evidence)
    if apart is not None:
        return OUTPUTS.id, apart, ()
    if loss.op == "compile" and len(evidence.outputs) > 1:
        # All losses together: none of their labels is known to be at fault.
        return CUSTOM.id, LossRaised(loss.name, False, None, None, node.failure.said), ()
    if node.op == "compute_metrics":
        return METRIC.id, LossRaised(node.name, True, None, None, node.failure.said), ()
    assigned = hear(node.failure, HeardAssigned) if loss.kind == "metric" else None
    if assigned is not None:
        samples = (assigned.given or ())[:1] == (p or ())[:1]
        return METRIC.id, ScalarSum(loss.name, assigned.wanted, assigned.given, samples), ()
    if labels is not None and y and p and len(y) > len(p) and (paired := _paired_above(evidence, labels, p)) is not None:
        return "batch-broadcast", *paired
    if labels is not None and predictions is not None and y and p and labels.spec.dtype != "string":
        kind = kind_of(loss) if loss.kind == "loss" else "metric"
        integer = labels.spec.dtype.startswith(("int", "uint"))
        classes = integer or any(kind_of(one) == "sparse" for one in evidence.losses())
        # What a metric of the program's own computes is told by its line.
        reads = metric_reads(loss, y, p, classes) if node.kind != "op" else None
        if reads is not None:
            return METRIC_LABELS.id, reads, ()
        said = hear(node.failure, HeardCompared) or hear(node.failure, HeardIncompatible) if kind == "custom" else None
        cut = rows_cut(evidence, loss, said, p) if isinstance(said, HeardCompared) else None
        if cut is not None:
            return CUSTOM.id, cut[0], (cut[1],)
        computes = said is not None and said.predictions == p and said.labels[1:] != y[1:]
        # The loss makes these labels of what it receives.
        widened = computes and said is not None and len(said.labels) == len(p) + 1 == len(y) + 1 and said.labels[:-1] == y
        if said is not None and (widened or (computes and len(said.labels) == len(p) and said.labels[-1] != p[-1])):
            return CUSTOM.id, LossRaised(loss.name, False, said.labels, p, node.failure.said, computed=True), ()
        other = labels_not_inputs(evidence, loss)
        if other is not None:
            return RESTORED.id, other, (predictions.source,)
        if len(p) > len(y) > 2 and y != p[:-1] and None not in y and elements(y) == elements(p):
            # The positions of each label are in a row.
            return RANK.id, LabelRank(loss.name, y, p, node.failure.said, None), ()
        for explain in (_folded, _pairs, _last_only, _surplus, _encoding, _units):
            found = explain(evidence, loss, kind, y, p, integer, predictions, labels)
            if found is not None:
                return found
        weights = _weights(evidence, loss, kind, y, p)
        if weights is not None:
            return weights
        sized = grid_apart(evidence, node, loss, y, p, predictions)
        if sized is not None:
            return SIZE.id, sized, (predictions.source, loss.id, *blamed(evidence.flow, sized))
        if kind == "sparse" and None not in (y[0], p[0]) and y[0] != p[0] and y[1:] in (p[1:-1], (*p[1:-1], 1)):
            return CUSTOM.id, LossRaised(loss.name, False, y, p, node.failure.said), ()
        own = loss.kind == "metric" and node.kind == "op"
        if (
            len(y) != len(p)
            and not own
            and not (node.kind == "op" and isinstance(reason(evidence, node), AxisDropped))
            and not (kind == "custom" and not (y == p[:-1] and p[-1] == 1) and (y == p[:-1] or not as_they_are(evidence, node, y, p)))
        ):
            folded = folder(evidence, y, p, predictions)
            twice = y[:-1] == p and encoded_twice(evidence, evidence.carried(labels))
            return (
                RANK.id,
                LabelRank(
                    loss.name, y, p, node.failure.said, Who.of(folded) if folded is not None else None, twice, copied_from(evidence, evidence.carried(labels))
                ),
                ((folded.id,) if folded is not None else ()),
            )
    name = loss.name if loss.kind in ("loss", "metric") else node.name
    metric = "metric" in (loss.kind, evidence.where)
    rows_apart = hear(node.failure, HeardPositions) if node.kind == "op" and not metric else None
    if rows_apart is not None and len(rows_apart.labels) == len(rows_apart.predictions) - 1:
        text = evidence.raised.text if evidence.raised is not None else ""
        return CUSTOM.id, LossCalled(text, rows_apart.labels, rows_apart.predictions, True), ()
    if node.kind == "op" and node.op != "python" and len(evidence.given) >= (1 if loss is node or node.op == "Split" else 2):
        shapes = tuple(one.spec.shape for one in evidence.given)
        sizes = [elements(shape) if shape else None for shape in (y, p)]
        in_a_row = y and p and None not in sizes and sizes[0] != sizes[1] and shapes in (((sizes[0],), (sizes[1],)), ((sizes[1],), (sizes[0],)))
        why = Flattened(y, p) if y and p and in_a_row else reason(evidence, node)
        shapes = operands(node, why, shapes)
        return (METRIC.id if metric else CUSTOM.id, OperationRaised(node.op, shapes, node.failure.said, Who.of(node), reason=why), ())
    wanted = hear(node.failure, HeardWidth) if node.kind == "layer" else None
    edges = evidence.failed_inputs()
    if wanted is not None and len(edges) == 1 and edges[0].spec.shape:
        # A network that the loss calls, such as the one of a perceptual loss.
        source = edges[0].source
        given: Literal["", "labels", "predictions"] = (
            "labels" if labels is not None and labels.source == source
            else "predictions" if predictions is not None and predictions.source == source
            else ""
        )  # fmt: skip
        wide = WrongWidth(Who.of(node), wanted.wanted, edges[0].spec.shape, (), given=given)
        return METRIC.id if metric else CUSTOM.id, wide, (node.id,)
    if node.kind == "layer" and loss is node:
        # A network that the model's own loss calls compares nothing.
        given_to = tuple(edge.spec.shape for edge in edges)
        return "layer-raises", LayerRaised(Who.of(node), given_to, node.failure.said.rstrip("."), node.failure.inner), ()
    said = hear(node.failure, HeardCompared) or hear(node.failure, HeardIncompatible)
    if said is not None and (y is None or p is None):
        y, p = said.labels, said.predictions
    size = p[-1] if p and len(p) > 1 else None
    made = evidence.arguments(loss.id) if metric and size not in (None, 1) else {}
    told = next(((key, made[key]) for key in ("num_labels", "num_classes") if type(made.get(key)) is int and made[key] != size), ("", 0))
    count = hear(node.failure, HeardTakes)
    takes = count.takes - count.given + 2 if count is not None and count.function == name else None
    fact = LossRaised(name, metric, y, p, node.failure.said, False, told[0], told[1], takes if takes != 2 else None)
    return METRIC.id if metric else CUSTOM.id, fact, ()


def _paired_above(evidence: Evidence, labels: Edge, p: Shape) -> tuple[EveryPair, tuple[str]] | None:
    """The operation that gave the labels more axes than the predictions have: it broadcast them with a tensor of more axes."""
    source = evidence.flow.node(labels.source)
    for node in (source, *ancestors(evidence, source.id)):
        made = next((edge.spec.shape for edge in evidence.flow.out_of(node.id)), None) or ()
        given = [edge.spec.shape or () for edge in evidence.flow.into(node.id)]
        if node.op in PAIRING and p in given and len(made) > len(p) > 1 and all(len(one) in (len(p), len(made)) for one in given):
            # A random number comes along no edge.
            longer = next((one for one in given if len(one) == len(made)), (p[0], *(1 for _ in made[1:])))
            return EveryPair(Who.of(node), p, longer), (node.id,)
    return None


def _reducer(evidence: Evidence, predictions: Edge) -> Node:
    source = evidence.flow.node(predictions.source)
    above = (node for node in [source, *ancestors(evidence, source.id)] if any(edge.spec.shape for edge in evidence.flow.into(node.id)))
    return next(above, source)


def _weights(evidence: Evidence, loss: Node, kind: str, y: Shape, p: Shape) -> Explained | None:
    """Sample weights that match neither the samples nor the loss values; labels and predictions are not at fault."""
    fits = y == p or (kind == "sparse" and y in (p[:-1], (*p[:-1], 1)))
    # Of several outputs, each has weights of its own.
    given = [edge for edge in evidence.flow.into(loss.id) if edge.label == "weights"]
    path = evidence.weight[0][0] if len(evidence.weight) == 1 else evidence.carried(given[0]) if len(given) == 1 else None
    shape = next((spec.shape for at, spec in evidence.weight if at == path), None)
    if kind in ("custom", "metric") or not fits or path is None or not shape or shape in (p[:1], (*p[:1], 1), p[:-1], (*p[:-1], 1)):
        return None
    return WEIGHTS.id, WrongWeights(loss.name, shape, p[:-1], path), (loss.id,)


def _folded(evidence: Evidence, loss: Node, kind: str, y: Shape, p: Shape, integer: bool, predictions: Edge, labels: Edge) -> Explained | None:
    if p[0] is not None and y[0] not in (None, 1, p[0]):
        for path, spec in evidence.x:
            if spec.shape and spec.shape[0] == p[0] and spec.shape.count(y[0]) == 1 and not _as_declared(evidence, path, spec.shape):
                return "swapped-axes", BatchElsewhere(path, spec.shape, spec.shape.index(y[0]), y), (loss.id,)
            fed = (spec.shape or (None,))[0] == p[0] and _as_declared(evidence, path, spec.shape)
            if fed and loss.kind == "loss" and loss.failure is not None:
                return CUSTOM.id, LossRaised(loss.name, False, y, p, loss.failure.said), ()
    rows = {spec.shape[0] for _, spec in evidence.x if spec.shape}
    if rows != {y[0]} or p[0] is None or p[0] == y[0]:
        return None
    start = evidence.flow.node(predictions.source)
    above = [start, *ancestors(evidence, start.id)]
    lost = [node for node in above if node.kind != "input" and any(edge.spec.shape and edge.spec.shape[0] == y[0] for edge in evidence.flow.into(node.id))][:1]
    # A reshape to several rows for each sample, which has no axis as long as the batch behind them.
    made = [edge.spec.shape or () for node in lost if "reshape" in node.op.lower() for edge in evidence.flow.out_of(node.id)]
    behind = rows_behind(evidence, above, y[0]) if not any(shape[:1] == p[:1] and y[0] not in shape for shape in made) else None
    if behind is not None:
        maker, shape, axis, reader = behind
        return "batch-axis-lost", BatchBehind(Who.of(maker), shape, axis, y, p), (maker.id, reader.id, loss.id)
    return ("batch-axis-merged", RowsLost(Who.of(lost[0]), y, p), (lost[0].id, loss.id)) if lost else None


def _as_declared(evidence: Evidence, path: KeyPath, shape: Shape | None) -> bool:
    """Whether a tensor of the data has the sizes that the model declares for it, all of them known: then its axes are in order."""
    wanted = [door[1].shape for door, leaf in matched(evidence) if leaf[0] == path]
    return any(want is not None and len(want) > 1 and None not in want[1:] and want[1:] == (shape or ())[1:] for want in wanted)


def _pairs(evidence: Evidence, loss: Node, kind: str, y: Shape, p: Shape, integer: bool, predictions: Edge, labels: Edge) -> Explained | None:
    given = next((one for one in evidence.given if one.label == "predictions" and one.spec.shape == p), None)
    if given is None or len(given.grows) != 2:
        return None
    start = evidence.flow.node(predictions.source)
    for node in [start, *ancestors(evidence, start.id)]:
        edges = evidence.flow.into(node.id)
        index = lookup_of_all(evidence, node) if node.op.startswith(LOOKUPS) and len(edges) == 2 else None
        if index is not None:
            return "batch-broadcast", index, (node.id, loss.id)
        shapes = list(dict.fromkeys(edge.spec.shape or () for edge in edges))
        if node.kind == "op" and len(shapes) == 2 and len(edges) > 2 and node.op in PAIRING and p not in shapes and min(map(len, shapes)):
            one, other = shapes
            if one[0] == other[0] == p[0] and len(one) != len(other):
                return "batch-broadcast", EveryPair(Who.of(node), one, other), (node.id, loss.id)
        pair = [edge.spec.shape or () for edge in edges]
        if node.op in PAIRING and len(pair) == 2 and all(pair) and len(pair[0]) != len(pair[1]):
            return "batch-broadcast", EveryPair(Who.of(node), pair[0], pair[1]), (node.id, loss.id)
        if node.kind == "op" and len(edges) == 2 and all(p[0] in (edge.spec.shape or ()) and edge.spec.shape != p for edge in edges):
            return BROADCAST, PairsPredicted(loss.name, p, y, Who.of(node), silent=False), (node.id, loss.id)
    return None


def _last_only(evidence: Evidence, loss: Node, kind: str, y: Shape, p: Shape, integer: bool, predictions: Edge, labels: Edge) -> Explained | None:
    steps = (len(y) == len(p) == 2 and kind == "sparse" and integer) or (len(y) == len(p) + 1 and (y[-1] != 1 or len(p) > 3)) or (len(y) == 3 and len(p) == 2)
    if not steps or len(y) < 2:
        return None
    node = cut_sequence(evidence, y, predictions)
    if node is not None:
        return LAST_ONLY.id, LastStepOnly(Who.of(node), p, y), (node.id,)
    one = reduced_steps(evidence, y, predictions) if y[-1] != p[-1] else None
    return None if one is None else (LAST_ONLY.id, StepsReduced(Who.of(one), p, y), (one.id,))


def _surplus(evidence: Evidence, loss: Node, kind: str, y: Shape, p: Shape, integer: bool, predictions: Edge, labels: Edge) -> Explained | None:
    labelled = len(y) + 1 if kind == "sparse" and not (len(y) > 1 and y[-1] == 1) else len(y)
    if kind == "sparse" and not integer and len(y) == 2 and y[-1] == p[-1]:
        labelled = 2
    if kind == "categorical" and integer and len(y) == 1:
        labelled = 2
    # A loss of the user's own that reads one class number for every step.
    if kind in ("custom", "metric") and integer and y == p[:-1]:
        return None
    if len(p) <= labelled or len(p) < 3 or (kind == "categorical" and integer and len(y) > 1 and y == p[:-1] and y[-1] != p[-1]):
        return None
    # A loss of the user's own may read a sequence of labels against a longer one of predictions.
    if kind == "custom" and len(y) > 1 and y[-1] not in (1, p[-1]):
        return None
    # Maps of one value for each position, without a last axis in the labels: what differs is their size.
    if kind in ("regression", "binary") and p[-1] == 1 and len(p) == len(y) + 1 > 3 and None not in y[1:] and 1 not in y[1:]:
        return None
    # One value for each step, of which the program writes down how many there are.
    if kind in ("regression", "binary") and p[-1] == 1 and len(p) == 3 == len(y) + 1 and y[-1] not in (None, 1):
        steps = evidence.origins.of(predictions)[1]
        # Or the data has as many, and a layer on the way changed them.
        whole = any(len(spec.shape or ()) > 2 and (spec.shape or ())[1] == y[-1] for _, spec in evidence.x)
        if instead(steps, y[-1]) is not None or (whole and cause_of(steps, y[-1]) is not None):
            return None
    giver = evidence.flow.node(predictions.source)
    if kind in ("regression", "binary") and len(p) == 3 and y == p[:-1] and not {1, p[-1]} & {y[-1]}:
        # One value for each step that the labels have, too.
        return UNITS.id, WrongUnits(Who.of(giver), loss.name, p, (*y, 1), steps=True), (giver.id,)
    cause = cause_of_axes(evidence, predictions)
    if cause is None:
        return None
    through, node = cause
    maps = {spec.shape[1:3] for _, spec in evidence.x if spec.shape and len(spec.shape) == 4}
    if through == "grid" and len(p) == 4 and y[1:] in ((), (1,), p[3:]) and giver.family == "convolution" and p[1:3] in maps:
        through, node = "map", giver  # as a network that segments does
    wanted = (p[0], *p[len(p) - labelled + 1 :])
    rule_id = SEQUENCES.id if through == "sequences" else FLATTEN.id
    return rule_id, SurplusAxes(through, Who.of(node), loss.name, p, y, wanted), (node.id,)


def _encoding(evidence: Evidence, loss: Node, kind: str, y: Shape, p: Shape, integer: bool, predictions: Edge, labels: Edge) -> Explained | None:
    none = classless(loss, p)
    if none is not None:
        return RANK.id, none, ()
    stats = observed_labels(evidence, labels)
    if kind == "categorical" and len(p) >= 2 and (len(y) == len(p) - 1 or (len(y) == len(p) and y[-1] == 1)) and p[-1] != 1:
        single: Literal["", "classes", "numbers"] = ""
        if stats is not None:
            single = "classes" if stats.whole and (stats.minimum or 0) >= 0 else "numbers"
        return INT_LABELS.id, SingleValues(loss.name, y, p, single), ()
    one_by_one = kind in ("binary", "regression") or (kind == "custom" and met_whole(evidence, y, p))
    if one_by_one and class_labels(evidence, labels, predictions):
        return INT_LABELS.id, SingleValues(loss.name, y, p, "classes", "values"), ()
    numbered = (kind == "sparse" and y[:-1] == p[:-1]) or (of_sequences(loss) and y[-1] == p[-1])
    if numbered and len(y) == len(p) and y[-1] is not None and y[-1] > 1:
        rows: Literal["", "one-hot", "shares", "marks", "zeros", "numbers"] = ""
        if stats is not None:
            blank = stats.minimum == stats.maximum == 0
            rows = "zeros" if blank else "one-hot" if stats.one_hot else "shares" if stats.shares else "marks" if stats.binary else "numbers"
        return ONE_HOT.id, RowsOfValues(loss.name, y, p, rows), ()
    return None


def _units(evidence: Evidence, loss: Node, kind: str, y: Shape, p: Shape, integer: bool, predictions: Edge, labels: Edge) -> Explained | None:
    if len(y) != len(p) or y[:-1] != p[:-1] or y[-1] == p[-1] or kind == "sparse":
        return None
    own = kind == "custom" or (kind == "metric" and evidence.failed is not None and evidence.failed.kind == "op")
    if own and evidence.failed is not None and (not widths_met(evidence, evidence.failed, {y[-1], p[-1]}) or counted_vectors(evidence) is not None):
        return None
    giver = evidence.flow.node(predictions.source)
    stats = observed_labels(evidence, labels)
    masks = len(y) == 4 and y[-1] == 3 and kind == "categorical" and stats is not None and not stats.one_hot and not stats.shares
    if masks:
        return MASKS.id, ColourMasks(giver.name, loss.name, y, p), (giver.id,)
    other = evidence.flow.node(labels.source)
    if other.kind in ("input", "stage", "split"):
        from_one = y[-1] == (p[-1] or 0) + 1 and encoded_from_one(evidence, evidence.carried(labels))
        listed = kind in ("binary", "categorical") and lists_classes(evidence, evidence.carried(labels), p[-1] or 0)
        pairs = zip(evidence.y, evidence.outputs, strict=False) if len(evidence.y) == len(evidence.outputs) else ()
        crossed = [i for i, ((_, label), (_, out)) in enumerate(pairs) if out.shape == y and label.shape == p]
        told = evidence.facts.get("compile")
        fits = told.outputs[crossed[0]] if len(crossed) == 1 and told is not None and len(told.outputs) == len(evidence.y) else ""
        return UNITS.id, WrongUnits(Who.of(giver), loss.name, p, y, from_one=from_one, listed=listed, other=fits), (giver.id,)
    sizes = [evidence.origins.of(edge)[-1] for edge in (labels, predictions)]
    made = tuple(filter(None, map(written, sizes)))
    return UNITS.id, WrongUnits(Who.of(giver), loss.name, p, y, Who.of(other), made), (giver.id, other.id)
