"""Sequences joined step by step in opposite orders, states handed on in each other's place, and predictions of the next step that are compared with the steps fed, or see them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Flow, KeyPath, Node, Who
from ..flow.paths import show
from ..trace.axes import recurs
from .compared import copied_from, ends, fed_whole, seen_at
from .facts.loss_silent import SameSteps
from .facts.orders import StepsReversed, StepsSeen
from .facts.states import StatesExchanged
from .registry import check, rule
from .upstream import ancestors
from .words import ATTENTIONS, MERGES, PAIRING, SLICES

_MODEL = """
def build():
    i = keras.Input((7, 3))
    f, b = L.LSTM(4, return_sequences=True)(i), L.LSTM(4, return_sequences=True, go_backwards=True)(i)
    {}
    m = keras.Model(i, L.Dense(1)(L.Concatenate()([f, b]))); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 7, 3), "float32"), np.zeros((8, 7, 1), "float32")
"""
REVERSED = rule(
    "steps-reversed", "Sequences are joined in opposite orders", severity="silent",
    source="keras/src/layers/rnn/rnn.py: go_backwards processes the input sequence backwards and returns the reversed sequence",
    fails=_MODEL.format(""), passes=_MODEL.format("b = b[:, ::-1]"),
    doc="""Reported if a layer joins two sequences of one input step by step, and a recurrent layer with `go_backwards=True` gave one of them. Not reported if an
operation in the user's code is between the two, because it may reverse the steps.""",
)  # fmt: skip

# What gives its steps in the order in which it got them, if it keeps their number.
_IN_ORDER = frozenset({"convolution", "dense", "recurrent", "normalization", "activation", "embedding", "other"})

# For each input of the program: the layers that reversed its steps on the way.
_Turned = dict[str, tuple[str, ...]]


@check(order=47)
def steps_reversed(evidence: Evidence) -> Iterator[Finding]:
    """The places where an odd number of reversals meets an even one."""
    flow = evidence.flow
    if evidence.where or not any(_reverses(node) for node in flow.nodes):
        return
    known: dict[str, _Turned | None] = {}
    for node in flow.nodes:
        edges = [edge for edge in flow.into(node.id) if edge.label != "mask"]
        if node.kind not in ("layer", "op") or len(edges) < 2 or not _step_by_step(flow, node, edges) or not _read_in_order(flow, node):
            continue
        came = [_turned(flow, edge, known) for edge in edges]
        odd = {(source, layers) for one in came for source, layers in (one or {}).items() if len(layers) % 2}
        even = {source for one in came for source, layers in (one or {}).items() if len(layers) % 2 == 0}
        layer = next((layers[-1] for source, layers in sorted(odd) if source in even), None)
        if layer is not None:
            fact = StepsReversed(Who.of(flow.node(layer)), Who.of(node))
            yield Finding.of(REVERSED.id, "silent", fact, (node.id, layer), location=node.called)


def _reverses(node: Node) -> bool:
    return bool(node.config.get("go_backwards")) and bool(node.config.get("return_sequences"))


def _turned(flow: Flow, edge: Edge, known: dict[str, _Turned | None]) -> _Turned | None:
    node = flow.node(edge.source)
    if len(edge.spec.shape or ()) < 3:
        return None
    if node.kind == "input":
        return {node.id: ()}
    if node.id in known:
        return known[node.id]
    known[node.id] = None
    edges = [one for one in flow.into(node.id) if one.label != "mask" and "state" not in one.label]
    if node.kind == "layer" and edges and _step_by_step(flow, node, edges) and (len(edges) > 1 or node.family in _IN_ORDER):
        came = [_turned(flow, one, known) for one in edges]
        sure = [one for one in came if one is not None]
        if len(sure) == len(came) and all(one == sure[0] for one in sure):
            known[node.id] = {source: (*layers, node.id) for source, layers in sure[0].items()} if _reverses(node) else sure[0]
    return known[node.id]


def _read_in_order(flow: Flow, node: Node) -> bool:
    """Whether anything works on single steps of a result: a pooling over all steps does not, nor does one that takes a step out."""
    for edge in flow.edges:
        taker = flow.node(edge.target) if edge.source == node.id else None
        if taker is None or edge.label == "mask":
            continue
        given = [one.spec.shape or () for one in flow.edges if one.source == taker.id]
        if taker.kind in ("output", "loss", "metric") or taker.family == "recurrent":
            return True
        if given and given[0] == edge.spec.shape and taker.family == "other" and not taker.weights:
            if _read_in_order(flow, taker):
                return True
        elif given and len(given[0]) >= 3 and given[0][1] != 1:
            return True
    return False


def _step_by_step(flow: Flow, node: Node, edges: list[Edge]) -> bool:
    """Whether a node gives one step for each step of all that it gets: it adds them, or joins their features."""
    shapes = [edge.spec.shape or () for edge in edges]
    given = next((edge.spec.shape or () for edge in flow.edges if edge.source == node.id), ())
    if any(len(shape) < 3 or shape[1] in (None, 1) or shape[1] != given[1] for shape in (given, *shapes)):
        return False
    lasts = [shape[-1] or 0 for shape in shapes]
    return len(shapes) == 1 or (len({len(shape) for shape in (*shapes, given)}) == 1 and given[-1] in (max(lasts), sum(lasts)))


_NET = """
class Net(keras.Model):
    def __init__(self):
        super().__init__(); self.embed, self.walk, self.head = L.Embedding(9, 4), L.GRU(4, return_sequences=True), L.Dense(9)
    def call(self, x):
        return self.head(self.walk(self.embed(x[:, :-1])))
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        labels = x[:, %s]
        return keras.losses.sparse_categorical_crossentropy(labels, y_pred, from_logits=True)[0, 0]
def build():
    m = Net(); m.compile("sgd"); return m
def data():
    return np.zeros((8, 6), "int32"), np.zeros((8, 6), "int32")
"""
SAME = rule(
    "same-steps", "A model is compared with the steps that it is fed", severity="silent", source="teacher forcing: each step is compared with the next one",
    fails=_NET % ":-1", passes=_NET % "1:",
    doc="""Reported if a model embeds all steps but the last of a sequence, or all but the first, and a loss compares its predictions with the very same slice.
A model that reproduces a whole sequence is not reported, nor one whose ids are masked or changed before they are embedded. Reported, too:
labels with the values that a decoder, or an attention with a causal mask, reads step by step, of the last step of windows, or of a column of a table.""",
)  # fmt: skip


@check(order=45)
def same_steps(evidence: Evidence) -> Iterator[Finding]:
    """The first loss of this kind."""
    for loss in evidence.flow.nodes if not evidence.where else ():
        for labels, predictions in _compared(evidence, loss):
            found = next(_both(evidence, labels, predictions), None)
            if found is not None:
                same, fed = found
                fact = SameSteps(loss.name, Who.of(fed), Who.of(same), _cut(same))
                yield Finding.of(SAME.id, "silent", fact, (same.id, fed.id, loss.id), (labels.id,), same.called)
                return
            for text, path, column in _given(evidence, loss, labels, predictions) if loss.kind == "loss" else ():
                fact = SameSteps(loss.name, Who.of(loss), Who.of(loss), text, path, column)
                yield Finding.of(SAME.id, "silent", fact, (loss.id,), (labels.id,))
                return


def _given(evidence: Evidence, loss: Node, labels: Edge, predictions: Edge) -> Iterator[tuple[str, KeyPath, int]]:
    """The part of the inputs that has the values of the labels: what a decoder embeds step by step, the last step of each window, or a column."""
    path, above = evidence.carried(labels), [evidence.flow.node(predictions.source), *ancestors(evidence, predictions.source, 3)]
    read = {fed_whole(evidence, edge) for node in above if node.family == "embedding" for edge in evidence.flow.into(node.id)}
    decodes = any((recurs(node) and node.config.get("return_sequences")) or node.config.get("causal") for node in above)
    decodes, given = decodes and not shifts(evidence, loss), seen_at(evidence, path)
    # Fewer values may be equal to others by chance.
    for at, _ in evidence.x if given and all(one.dtype.kind in "biuf" and len(np.unique(one)) > 7 for one in given) else ():
        pairs = zip(seen_at(evidence, at), given, strict=False)
        last = [x.ndim == 3 and x.shape[1] > 1 and y.size == len(y) == len(x) and (x[:, -1] == y.reshape(-1, 1)).all(0) for x, y in pairs]
        if decodes and at in read and copied_from(evidence, path) == show(at):
            yield show(at), (), 0
        elif np.logical_and.reduce(last).any():
            yield f"{show(at)}[:, -1]", (), 0
    _, counts = np.unique(np.concatenate([y.reshape(-1) for y in given]), return_counts=True) if given and given[0].dtype.kind in "biuf" else ((), np.zeros(1))
    told = len(counts) > 1 and counts.sum() > 31
    # Class numbers beside pictures are often an input on purpose, as of a margin; one of many columns is not. Positions of ids and of masks
    # may be equal to classes by chance, measurements are not.
    columns = len(evidence.x) > 2 and all(spec.shape is not None and spec.shape[1:] in ((), (1,)) for _, spec in evidence.x)
    for at, _ in evidence.x if told and all(y.size == len(y) for y in given) else ():
        tables = [x.reshape(len(x), -1) for x in seen_at(evidence, at) if x.ndim < 3]
        if len(tables) == len(given) and (columns or (tables[0].shape[1] > 1 and tables[0].dtype.kind == "f")):
            alike = np.logical_and.reduce([(x == y.reshape(-1, 1)).all(0) for x, y in zip(tables, given, strict=True)])
            yield from ((f"{show(at)}[:, {column}]" if len(alike) > 1 else show(at), at, int(column)) for column in np.flatnonzero(alike))


def _compared(evidence: Evidence, loss: Node) -> Iterator[tuple[Edge, Edge]]:
    if loss.kind == "loss":
        labels, predictions = ends(evidence, loss)
        if labels is not None and predictions is not None:
            yield labels, predictions
    elif loss.kind == "op" and "crossentropy" in loss.op.lower().replace("_", ""):
        edges = evidence.flow.into(loss.id)
        yield from itertools.permutations(edges, 2) if len(edges) == 2 else ()


def _both(evidence: Evidence, labels: Edge, predictions: Edge) -> Iterator[tuple[Node, Node]]:
    """The slices of labels and of what is embedded for the predictions that take the same steps of one sequence."""
    compared = list(_cuts(evidence, labels))
    for layer in ancestors(evidence, predictions.source) if compared else ():
        for edge in evidence.flow.into(layer.id) if layer.family == "embedding" else ():
            for fed in _cuts(evidence, edge, plain=True):
                yield from ((one, fed) for one in compared if _alike(evidence, one, fed))


def _cuts(evidence: Evidence, edge: Edge, *, plain: bool = False) -> Iterator[Node]:
    node = evidence.flow.node(edge.source)
    for _ in range(4):
        if node.kind != "op":
            return
        if node.op.lower() in SLICES and _cut(node):
            yield node
            return
        given = evidence.flow.into(node.id)
        if len(given) != 1 or (plain and node.op.lower() not in ("cast", "convertelementtype", "convert_element_type")):
            return
        node = evidence.flow.node(given[0].source)


def _cut(node: Node) -> str:
    text = node.called.text.replace(" ", "") if node.called is not None else ""
    found = [cut for cut in (":-1", "1:") if f"[:,{cut}]" in text]
    return found[0] if len(found) == 1 else ""


def _alike(evidence: Evidence, one: Node, other: Node) -> bool:
    sources = [{edge.source for edge in evidence.flow.into(node.id)} for node in (one, other)]
    return sources[0] == sources[1] and _cut(one) == _cut(other)


_CODER = """
def build():
    a, b = keras.Input((5, 3)), keras.Input((4, 3))
    out, h, c = L.LSTM(4, return_state=True)(a)
    y = L.LSTM(4)(b, initial_state=[%s])
    m = keras.Model([a, b], L.Dense(1)(y)); m.compile("sgd", "mse"); return m
def data():
    x = (np.ones((8, 5, 3), "float32"), np.ones((8, 4, 3), "float32"))
    return tf.data.Dataset.from_tensor_slices((x, np.zeros((8, 1), "float32"))).batch(4)
"""
EXCHANGED = rule(
    "states-exchanged", "The two states of an LSTM are exchanged", severity="silent",
    source="keras.layers.LSTM: return_state gives the output, h and c; initial_state takes [h, c]; Bidirectional gives h and c of each direction in turn",
    fails=_CODER % "c, h", passes=_CODER % "h, c",
    doc="""Reported if the first initial state of an LSTM is a second state (c) of another one, or if the second one is a first state (h). The states
of several layers or directions may have been joined before. States that went through a layer with weights are not reported.""",
)  # fmt: skip


@check(order=46)
def states_exchanged(evidence: Evidence) -> Iterator[Finding]:
    """LSTM layers that start with states of another LSTM in the wrong order."""
    for node in evidence.flow.nodes if not evidence.where else ():
        edges = evidence.flow.into(node.id)
        states = [edge for edge in edges if edge.label == "initial_state"] or [edge for edge in edges if not edge.label][1:]
        if node.op not in ("LSTM", "Bidirectional") or len(states) not in (2, 4):
            continue
        came = [_kinds(evidence, edge) for edge in states]
        if not any(kind != at % 2 for at, found in enumerate(came) for _, kind, _ in found):
            continue
        givers = dict.fromkeys(giver for found in came for giver, _, _ in found)
        giver = evidence.flow.node(next(iter(givers)))
        places = tuple(tuple(place for _, _, place in found) for found in came)
        fact = StatesExchanged(Who.of(node), Who.of(giver), places, len(givers) == 1 and giver.op == "Bidirectional")
        yield Finding.of(EXCHANGED.id, "silent", fact, (node.id, giver.id), tuple(edge.id for edge in states), node.called)


def _kinds(evidence: Evidence, edge: Edge) -> list[tuple[str, int, int]]:
    node, place = evidence.flow.node(edge.source), evidence.facts.get("places", {}).get(edge.id, 0)
    results = len({evidence.facts.get("places", {}).get(one.id, 0) for one in evidence.flow.out_of(node.id)})
    two_ways = node.op == "Bidirectional" and (place > 2 or results > 3)
    if place and (node.op == "LSTM" or two_ways):
        return [(node.id, (place - 1) % 2, place)]
    if node.op in MERGES or node.op in ("ConcatV2", "concat"):
        return [found for one in evidence.flow.into(node.id) if one.label != "mask" for found in _kinds(evidence, one)]
    return []


_MODEL = """
def build():
    m = keras.Sequential([keras.Input((7, 2)), L.Conv1D(4, 3, padding="%s"), L.Dense(2)]); m.compile("sgd", "mse"); return m
def data():
    series = np.random.default_rng(0).normal(size=(16, 8, 2)).astype("float32"); return series[:, :-1], series[:, 1:]
"""
SEEN = rule(
    "next-steps-seen", "A model reads the steps that it is to predict", severity="silent", source="the observed data",
    fails=_MODEL % "same", passes=_MODEL % "causal",
    doc="""Reported if the observed labels are an input one step later, and a layer on the way reads later steps. This is a convolution that is padded at
the end, a Bidirectional, or an attention without a mask. A mask that shows the next step is reported as well. All other layers on the way must keep each step in its place.""",
)  # fmt: skip

_ELEMENTWISE = {op.lower() for op in PAIRING} | {"cast", "convert_element_type", "identity", "relu", "tanh", "sigmoid", "max", "div"}


@check(order=45)
def next_steps_seen(evidence: Evidence) -> Iterator[Finding]:
    """Losses that compare the next steps of an input with what has read them."""
    flow = evidence.flow
    able = not evidence.where and any(_reads_later(node) or _pads(node)[1] for node in flow.nodes)
    for loss in flow.nodes if able else ():
        labels, predictions = ends(evidence, loss) if loss.kind == "loss" else (None, None)
        shape = (predictions.spec.shape if predictions is not None else None) or ()
        if labels is None or predictions is None or len(shape) not in (2, 3) or (shape[1] or 0) < 3 or shifts(evidence, loss):
            continue
        leaf = copied_from(evidence, evidence.carried(labels), ahead=True)
        way = _way(evidence, predictions, shape[1], leaf)[0] if leaf else ()
        readers = [node for node, edge in way if _way(evidence, edge, shape[1], leaf)[1]]
        if readers:
            fact = StepsSeen(leaf, tuple(dict.fromkeys(map(Who.of, readers))))
            yield Finding.of(SEEN.id, "silent", fact, (*(node.id for node in readers), loss.id), location=readers[0].called)


def shifts(evidence: Evidence, loss: Node) -> bool:
    """Whether a custom loss slices what it compares, which may be to shift the steps."""
    return any(one.parent == loss.id and one.op.lower() in SLICES for one in evidence.flow.nodes)


def _way(evidence: Evidence, end: Edge, steps: int | None, leaf: str) -> tuple[list[tuple[Node, Edge]], bool]:
    """What reads later steps upstream of a tensor, each with what it is given, and whether an input arrives there step by step."""
    flow, readers, arrives, pending, seen = evidence.flow, list[tuple[Node, Edge]](), False, [end], set[str]()
    for edge in pending:
        at = fed_whole(evidence, edge)
        arrives |= at is not None and show(at) == leaf
        node = flow.node(edge.source)
        if at is not None or edge.id in seen or not _in_place(node):
            continue
        seen.add(edge.id)
        into = [one for one in flow.into(node.id) if "mask" not in one.label and one.label != "initial_state"]
        for given in into:
            sizes, padded = given.spec.shape or (), flow.node(given.source)
            if len(sizes) < 3 and fed_whole(evidence, given) is None:
                continue
            if sizes[1:2] == (steps,):
                # Of its query, an attention reads one step for each of the result.
                asks = node.op in ATTENTIONS and len(into) > 1 and (given.label == "query" or given is into[0])
                readers += [(node, given)] if _reads_later(node) and not asks else []
                pending.append(given)
            elif node.family == "convolution" and sizes[1:2] == ((steps or 0) + sum(_pads(padded)),):
                before = flow.into(padded.id)
                readers += [(padded, one) for one in before if _pads(padded)[1]]
                pending += before
    return readers, arrives


def _in_place(node: Node) -> bool:
    """Whether a step of the result is computed from the same step of what is given, and perhaps from others."""
    if node.kind == "layer":
        return node.family not in ("shape", "own") and node.op not in ("Dot", "Lambda") and not node.config.get("go_backwards")
    return node.kind == "op" and node.op.lower() in _ELEMENTWISE


def _reads_later(node: Node) -> bool:
    if node.op in ATTENTIONS:
        return not node.config.get("causal") and (not node.config.get("masked") or bool(node.config.get("ahead")))
    window = node.config.get("kernel_size") if node.family == "convolution" and node.config.get("padding") == "same" else None
    return node.op == "Bidirectional" or (isinstance(window, (list, tuple)) and len(window) == 1 and window[0] > 1)


def _pads(node: Node) -> list[int]:
    pads = node.config.get("padding") if node.op == "ZeroPadding1D" else None
    if node.op == "Pad":
        pads = [*(node.config.get("operand1") or ()), 0, 0][1]
    return list(pads) if isinstance(pads, (list, tuple)) and len(pads) == 2 else [0, 0]
