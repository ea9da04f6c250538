"""Labels that are the next steps of an input, and layers on the way to the predictions that read later steps."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..flow import Edge, Finding, Node, Who
from ..flow.paths import show
from .compared import copied_from, ends, fed_whole
from .facts.orders import StepsSeen
from .registry import check, rule
from .words import ATTENTIONS, PAIRING, SLICES

_MODEL = """
def build():
    m = keras.Sequential([keras.Input((7, 2)), L.Conv1D(4, 3, padding="%s"), L.Dense(2)]); m.compile("sgd", "mse"); return m
def data():
    series = np.random.default_rng(0).normal(size=(16, 8, 2)).astype("float32"); return series[:, :-1], series[:, 1:]
"""
SEEN = rule(
    "next-steps-seen", "A model reads the steps that it is to predict", severity="silent", source="the observed data",
    fails=_MODEL % "same", passes=_MODEL % "causal",
    doc="""Reported if the observed labels are an input one step later, and a convolution that is padded at the end, an attention without a mask or a
Bidirectional reads later steps. All other layers on the way must keep each step in its place.""",
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
        return not node.config.get("causal") and not node.config.get("masked")
    window = node.config.get("kernel_size") if node.family == "convolution" and node.config.get("padding") == "same" else None
    return node.op == "Bidirectional" or (isinstance(window, (list, tuple)) and len(window) == 1 and window[0] > 1)


def _pads(node: Node) -> list[int]:
    pads = node.config.get("padding") if node.op == "ZeroPadding1D" else None
    if node.op == "Pad":
        pads = [*(node.config.get("operand1") or ()), 0, 0][1]
    return list(pads) if isinstance(pads, (list, tuple)) and len(pads) == 2 else [0, 0]
