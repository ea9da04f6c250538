"""Candidates inside the model: around the layer that raised."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import math
from typing import Any

from ...examine.evidence import Evidence
from ...flow import Finding, Node, show_shape
from ...flow.observed import passes
from ...rules.facts.calls import CodedIds, MadeAnew
from ...rules.facts.layers import UnknownAxis, WrongParts, WrongRank, WrongWidth
from ...rules.facts.mixing import AttentionOverBatch
from ...rules.upstream import takes_one, without_steps
from ...rules.words import ATTENTIONS, axes_of
from ...trace.axes import RECURRENT, recurs
from ...trace.locations import file_of
from ..edits import ExchangeLayers, LayerConfig, MadeOnce, RemoveLayer, ReplaceLayer
from ..edits.expression import IT
from ..text.source import nodes
from .edits import (
    Made,
    append,
    at,
    configure,
    failing,
    flattened,
    given,
    insert,
    insert_at_call,
    known,
    last_step_of,
    of,
    pooling,
    received,
    sequence_of,
    setting,
    upstream,
    way_to,
)
from .line import is_own, lines_at


def sequences_upstream(evidence: Evidence, finding: Finding) -> Made:
    """A recurrent layer behind another one."""
    node, shape = failing(evidence)
    own = ""
    for above in upstream(evidence, node) if shape is not None else ():
        rank = len(given(evidence, above) or ())
        only = f"{above.name} returns only its last step."
        if own and recurs(above) and rank == 3:
            if not above.config.get("return_sequences") and all(len(e.spec.shape or ()) == 2 for e in evidence.flow.out_of(above.id)):
                yield sequence_of(above, f"{own} can process a sequence, but {only}")
            return
        if recurs(above) and rank == len(shape or ()) + 1:
            yield sequence_of(above, f"{only} The next layer expects a sequence.")
            if node.op in RECURRENT and node.config.get("return_sequences"):
                yield (
                    f"Return the whole sequence from {above.name} and only the last step from {node.name}",
                    [configure(above.name, return_sequences=True), configure(node.name, return_sequences=False)],
                    "The two settings are the wrong way around.",
                )
            return
        if above.op == "Flatten" and node.op != "Dense":
            before = given(evidence, above)
            if before and rank == (len(axes_of(node.op)) or 3) and known(before[1:]):
                if [edge.target for edge in evidence.flow.out_of(above.id)] == [node.id]:
                    yield f"Remove {above.name}", [RemoveLayer(above.name)], f"{node.name} works on the axes that {above.name} folds."
                yield (
                    f"Restore the axes before {node.name}: add Reshape({before[1:]})",
                    [insert(node.name, "Reshape", target_shape=list(before[1:]))],
                    f"{above.name} removed them.",
                )
            return
        if above.family == "own" or takes_one(evidence.flow, above):
            own = above.name
        elif not passes(evidence.flow, above):
            return


def steps_for_attention(evidence: Evidence, finding: Finding) -> Made:
    """Steps for an attention that got none."""
    fact = finding.fact
    if isinstance(fact, WrongRank) and fact.attention:
        node = next(item for item in evidence.flow.nodes if item.name == fact.attention)
    elif isinstance(fact, AttentionOverBatch):
        node = next(item for item in evidence.flow.nodes if item.name == fact.layer.name)
    elif isinstance(fact, WrongParts) and evidence.failed is not None:
        node = evidence.failed
    else:
        return
    givers = {giver.id: giver for giver in without_steps(evidence.flow, node)}
    above = [givers[name] for name in sorted(givers)]
    pooled = [one for one in above if one.op.startswith("Global") and len(given(evidence, one) or ()) == 3]
    if pooled and pooled == above:
        names = " and ".join(one.name for one in pooled)
        yield f"Leave out {names}", [RemoveLayer(one.name) for one in pooled], f"{node.name} then attends to each step."
    if not above or not all(recurs(one) and not one.config.get("return_sequences") for one in above):
        return
    names = " and ".join(one.name for one in above)
    whole = [configure(one.name, return_sequences=True) for one in above]
    yield f"Return the whole sequence: set return_sequences=True on {names}", whole, "Attention needs a sequence of steps."
    yield (
        f"Set return_sequences=True on {names}, and pool after {node.name}: GlobalAveragePooling1D",
        [*whole, append(node.name, "GlobalAveragePooling1D")],
        "Attention needs a sequence of steps, and the layer after it needs one vector per sample.",
    )


def end_sequence(evidence: Evidence, finding: Finding) -> Made:
    """A layer that reads one frame or vector behind one that returns a sequence of them."""
    node, shape = failing(evidence)
    fact = finding.fact
    wanted = fact.wanted if isinstance(fact, WrongRank) and fact.bound != "min" else len(axes_of(node.op))
    for above in upstream(evidence, node):
        if recurs(above) and above.config.get("return_sequences") and shape and len(shape) == wanted + 1:
            yield last_step_of(above, f"{node.name} expects a single step.")
        if not passes(evidence.flow, above):
            return


def state_units(evidence: Evidence, finding: Finding) -> Made:
    """A recurrent layer as wide as the state that it is started with."""
    node = evidence.failed
    if node is None or node.op not in RECURRENT or not isinstance(node.config.get("units"), int):
        return
    widths = {edge.spec.shape[-1] for edge in received(evidence) if edge.spec.shape and len(edge.spec.shape) == 2}
    if len(widths) == 1 and (width := widths.pop()) and width != node.config["units"]:
        title, _, why = setting(node, "units", width, ", the size of its initial state", "A state has one value per unit.")
        # The encoder may have its units by the same name.
        yield title, [LayerConfig(node.name, {"units": width}, alone=True)], why


def states_too(evidence: Evidence, finding: Finding) -> Made:
    """A recurrent layer that gives its states beside its output, to a layer that takes one tensor."""
    edges = evidence.operands()
    givers = {edge.source for edge in edges}
    giver = evidence.flow.node(givers.pop()) if len(givers) == 1 and len(edges) > 1 else None
    states = giver is not None and (giver.config.get("return_state") or giver.op == "Bidirectional")
    if giver is not None and giver.op in RECURRENT and states:
        yield (
            f"Return only the output of {giver.name}: set return_state=False",
            [configure(giver.name, return_state=False)],
            f"It returns {len(edges)} tensors: its output and its states.",
        )


def attention_width(evidence: Evidence, finding: Finding) -> Made:
    """A query as wide as the keys it is compared with."""
    node, _ = failing(evidence)
    shapes = [edge.spec.shape for edge in evidence.failed_inputs() if edge.label not in ("mask", "attention_mask")]
    if node.op in ("Attention", "AdditiveAttention") and len(shapes) > 1 and all(shapes):
        query, key = shapes[0], shapes[-1]
        if query and key and query[-1] != key[-1] and key[-1]:
            yield (
                f"Project the query to {key[-1]}: add Dense({key[-1]}) before {node.name}",
                [at(node, 0, "Dense", units=key[-1])],
                "Query and key need the same last dimension; adds trainable weights.",
            )


def embed_ids(evidence: Evidence, finding: Finding) -> Made:
    """Ids go straight into a layer that reads a sequence of vectors."""
    yield from _embed_words(evidence)
    if evidence.failed is None or len(evidence.x) != 1:
        return
    (_, spec), *_ = evidence.x
    tops = [stats.maximum for path, stats in (getattr(evidence.sample, "stats", None) or {}).items() if path[0] == "x" and stats]
    ids = int(max((top for top in tops if top is not None), default=-1))
    if not spec.dtype.startswith(("int", "uint")) or spec.shape is None or len(spec.shape) != 2 or ids < 0:
        return
    for node in way_to(evidence, evidence.failed):
        edges = [edge for edge in evidence.flow.into(node.id) if edge.label != "mask"]
        reads = len(axes_of(node.op)) == 3 or node.op in ATTENTIONS
        if not reads or not edges or any(evidence.flow.node(edge.source).kind != "input" for edge in edges):
            continue
        edit, source = insert(node.name, "Embedding", input_dim=ids + 1, output_dim=8), evidence.flow.node(edges[0].source)
        several = node.op in ATTENTIONS or len(evidence.flow.out_of(source.id)) > 1
        if several:
            edit = dataclasses.replace(edit, target=source.name, position="after", readers="all")
        yield (
            f"Convert the ids to vectors: add Embedding({ids + 1}, 8) {f'after {source.name}' if several else f'before {node.name}'}",
            [edit],
            f"The data has ids up to {ids}; the whole vocabulary may be larger.",
        )
        return


def _embed_words(evidence: Evidence) -> Made:
    node = evidence.failed
    for edge in evidence.failed_inputs() if node is not None and len(axes_of(node.op)) == 3 else ():
        giver = evidence.flow.node(edge.source)
        size = giver.config.get("max_tokens") or giver.config.get("num_bins")
        if node is not None and type(size) is int and edge.spec.dtype.startswith("int") and len(edge.spec.shape or ()) == 2:
            yield (
                f"Convert the ids to vectors: add Embedding({size}, 8) before {node.name}",
                [insert(node.name, "Embedding", input_dim=size, output_dim=8)],
                f"{giver.name} returns ids, and arithmetic on ids has no meaning.",
            )


def other_order(evidence: Evidence, finding: Finding) -> Made:
    """Two neighbours of a list that stand the other way round."""
    node = evidence.failed
    if node is None or node.kind != "layer":
        return
    above = next((evidence.flow.node(edge.source) for edge in evidence.flow.into(node.id) if edge.label != "mask"), None)
    below = next((evidence.flow.node(edge.target) for edge in evidence.flow.out_of(node.id)), None)
    early = above is not None and (above.op == "Flatten" or above.op.startswith("Global")) and len(axes_of(node.op)) > 2
    for first, second in ((above if early else None, node), (node, below if below is not None and below.op == "Embedding" else None)):
        if first is not None and second is not None:
            yield (
                f"Move {second.name} before {first.name}: they are in the wrong order",
                [ExchangeLayers(first.name, exchange=second.name)],
                "Adds and removes nothing.",
            )


def without_time(evidence: Evidence, finding: Finding) -> Made:
    """The inner layer by itself where there is no time axis left to share it over, and the labels have none, or no layer took it away."""
    node = evidence.failed
    last = any(recurs(above) and not above.config.get("return_sequences") for above in (upstream(evidence, node) if node is not None else ()))
    if evidence.y or not last:
        yield from inner_alone(evidence, finding)


def inner_alone(evidence: Evidence, finding: Finding) -> Made:
    """The inner layer by itself."""
    node = evidence.failed
    shape = given(evidence, node) if node is not None else None
    if node is None or node.op != "TimeDistributed" or not shape or len(shape) != 2 or node.config.get("layer") != "Dense":
        return
    config = {key: node.config[key] for key in ("units", "activation") if node.config.get(key) is not None}
    yield (
        f"Replace {node.name} with {node.config['layer']}, without TimeDistributed",
        [ReplaceLayer(node.name, "Dense", config=config)],
        "There is only one vector per sample here.",
    )


def pooled_once(evidence: Evidence, finding: Finding) -> Made:
    """Without a global pooling of what has one vector per sample already, or without what flattened the positions that it pools."""
    node = evidence.failed
    shape = next((edge.spec.shape for edge in evidence.failed_inputs()), None)
    if node is not None and node.op.startswith("Global") and shape and len(shape) == 2:
        for above in itertools.islice(upstream(evidence, node), 1):
            if above.op == "Flatten" and len(given(evidence, above) or ()) == len(axes_of(node.op)):
                yield (f"Remove {above.name}", [RemoveLayer(above.name)], f"{node.name} pools over the positions that {above.name} takes away.")
        yield (f"Remove {node.name}: its input has one vector per sample already", [RemoveLayer(node.name)], "No positions are left to pool over.")


def reshape_upstream(evidence: Evidence, finding: Finding) -> Made:
    """A reshape right above gives one axis too few."""
    node, shape = failing(evidence)
    for above in upstream(evidence, node):
        if above.op == "Reshape" and shape and len(shape) == len(axes_of(node.op)) - 1 and shape[1]:
            side = math.isqrt(shape[1])
            if side > 1 and side * side == shape[1] and known(shape[1:]):
                made = [side, side, *[int(n or 0) for n in shape[2:]]]
                yield (f"Reshape to {tuple(made)} in {above.name}", [configure(above.name, target_shape=made)], f"{shape[1]} positions are {side} × {side}.")
        if not passes(evidence.flow, above):
            return


def other_dimension(evidence: Evidence, finding: Finding) -> Made:
    """Convolutions and poolings of another dimension, for the whole stack of them."""
    node = evidence.failed or evidence.flow.node(finding.nodes[0])
    shape = given(evidence, node)
    if shape is None or not axes_of(node.op):
        return
    wanted = len(axes_of(node.op))
    have = len(shape)
    old, new = f"{wanted - 2}D", f"{have - 2}D"
    if have == wanted or have - 2 not in (1, 2, 3) or old not in node.op:
        return
    chain = [item for item in evidence.flow.nodes if item.kind == "layer" and old in item.op and "LSTM" not in item.op]
    edits = [ReplaceLayer(item.name, item.op.replace(old, new), keep=_KEEP, config=_dimension(item, have - 2)) for item in chain]
    if edits:
        every = f"{node.op} with {node.op.replace(old, new)}" + (f", and {len(edits) - 1} more like it" if len(edits) > 1 else "")
        yield f"Replace {every}", edits, f"The data has {have - 2} spatial axes."


def higher_dimension(evidence: Evidence, finding: Finding) -> Made:
    """The data has more axes than the layers slide over."""
    node, shape = failing(evidence)
    if shape is not None and axes_of(node.op) and len(shape) > len(axes_of(node.op)):
        yield from other_dimension(evidence, finding)


_KEEP = ["filters", "activation", "use_bias", "rate", "padding", "data_format"]


def _dimension(node: Node, rank: int) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for key in ("kernel_size", "strides", "pool_size", "dilation_rate", "size", "padding", "cropping"):
        value = node.config.get(key)
        if isinstance(value, list) and value and isinstance(value[0], int):
            changed[key] = [value[0]] * rank
        elif isinstance(value, int) and not isinstance(value, bool):
            changed[key] = [value] * rank
    return changed


# A projection with more weights than a large layer has is no mend: the sizes are wrong further up.
_MOST_WEIGHTS = 2**24


def project_before(evidence: Evidence, finding: Finding) -> Made:
    """A Dense that brings the width to what the weights were made for."""
    node, _ = failing(evidence)
    wanted = finding.fact.wanted if isinstance(finding.fact, WrongWidth) else None
    if wanted is None:
        kernel = next((weight.shape for weight in node.weights if weight.name == "kernel"), None)
        wanted = kernel[-2] if kernel and len(kernel) > 1 else None
    width = next((edge.spec.shape[-1] for edge in evidence.failed_inputs() if edge.spec.shape), None) or 1
    for line in lines_at(evidence, node.called)[:1]:
        names = {f"{ast.unparse(call.func)}.build" for call in line.around(ast.Call)}
        built = [call for call in nodes(line.owner(), ast.Call) if ast.unparse(call.func) in names and len(call.args) == 1]
        for call in built:
            edit = line.edit(call.args[0], f"(*{IT}[:-1], {width})")
            yield f"Build {node.name} for {width} values at line {call.lineno}", [edit], "It is called on as many."
        if built:
            return
    if wanted and wanted * width <= _MOST_WEIGHTS:
        yield (
            f"Project to {wanted} before {node.name}: add Dense({wanted})",
            [insert_at_call(node, "Dense", units=wanted)],
            "Adds trainable weights. If a tensor of the right size exists, pass that instead.",
        )


def flatten_upstream(evidence: Evidence, finding: Finding) -> Made:
    """A Flatten where the first Dense works on the last of several axes, in a step whose numbers do not fit further on."""
    flow, node = evidence.flow, evidence.failed
    if node is None:
        return
    way, pending = [], [node.id]
    while pending:
        name = pending.pop(0)
        if name not in way:
            way.append(name)
            pending += [edge.source for edge in flow.into(name)]
    for item in (flow.node(name) for name in reversed(way)):
        shape = given(evidence, item)
        before = [flow.node(edge.source) for edge in flow.into(item.id)]
        if item.op == "Dense" and shape is not None and len(shape) > 2 and known(shape[1:]) and all(one.kind == "input" for one in before):
            yield (
                f"Add Flatten before {item.name}: one vector per sample",
                [insert(item.name, "Flatten")],
                f"It uses only the last of {len(shape)} axes, so every later tensor keeps {show_shape(shape[1:-1])}.",
            )


def pool_unknown(evidence: Evidence, finding: Finding) -> Made:
    """A global pooling in place of a Flatten over unknown axes."""
    node, _ = failing(evidence)
    if isinstance(finding.fact, UnknownAxis) and finding.fact.shared:
        shared = list(finding.fact.shared)
        yield setting(node, "shared_axes", shared, "", "One weight for each channel fits an input of any size.")
        return
    if isinstance(finding.fact, UnknownAxis) and finding.fact.doubled is not None:
        return
    if isinstance(finding.fact, UnknownAxis) and finding.fact.axis != -1:
        yield f"Normalize over the channels: axis=-1 in {node.name}", [configure(node.name, axis=-1)], "The last axis has a known size."
        return
    for item in way_to(evidence, node):
        pool = pooling(given(evidence, item) or ())
        if item.op == "Flatten" and pool:
            title = f"Pool instead of flattening: {pool} instead of {item.name}"
            yield title, [ReplaceLayer(item.name, pool)], "Works for any spatial size."
            return


@of(CodedIds)
def word_numbers(evidence: Evidence, finding: Finding, fact: CodedIds) -> Made:
    """The numbers of words from the layer that made a code of them."""
    if evidence.flow.node(finding.nodes[0]).op in ("TextVectorization", "StringLookup", "IntegerLookup"):
        yield (
            f"Output word ids: set output_mode='int' on {fact.coder.name}",
            [configure(fact.coder.name, output_mode="int")],
            "The ids are in the order of the words.",
        )


def general(evidence: Evidence, finding: Finding) -> Made:
    """Where only the failing layer and its input are known."""
    node = evidence.failed
    if node is None or node.kind != "layer" or node.op == "builder" or is_own(evidence, node):
        # What a layer of the user's own means by its axes is not known.
        return
    shape = given(evidence, node) or ()
    if len(shape) > 2 and known(shape[1:]):
        yield flattened(node.name)
        if pooling(shape):
            why = "Keeps one value per channel; needs few weights after it."
            yield f"Add pooling before {node.name}", [insert(node.name, pooling(shape))], why
    if len(shape) == 2 and known(shape[1:]):
        edit = insert(node.name, "Reshape", target_shape=[shape[1] or 1, 1])
        yield f"Add a last axis before {node.name}", [edit], "An axis of size 1 does not add values."


def made_once(evidence: Evidence, finding: Finding) -> Made:
    """What is made at each run, made with the object that it belongs to."""
    file = file_of(finding.location) if finding.location is not None else ""
    if isinstance(finding.fact, MadeAnew) and finding.location is not None and file:
        yield (
            f"Create the {finding.fact.cls} once, in __init__ or build",
            [MadeOnce("model", file, finding.location.line, finding.fact.cls)],
            "Keras then tracks and trains its variables.",
        )
