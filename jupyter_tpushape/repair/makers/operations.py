"""Candidates in the code of layers and in what runs on the host: batch sizes written down, masks, text."""

from __future__ import annotations

import math
from typing import Any

from ...flow import Edit, Finding, Node, Shape, elements
from ...rules.evidence import Evidence
from .edits import Made, failing, given, owner_of, upstream


def mask_shape(evidence: Evidence, finding: Finding) -> Made:
    """A mask of query steps by value steps."""
    if finding.expected is None or not finding.expected.axes or not finding.found:
        return
    target = [int(n) for n in finding.expected.axes[1:] if n.isdigit()]
    _node, _ = failing(evidence)
    edge = next((edge for edge in evidence.failed_inputs() if edge.label == "attention_mask"), None)
    if edge is None or len(target) != 2:
        return
    source = evidence.flow.node(edge.source)
    inputs = [item for item in evidence.flow.nodes if item.kind == "input"]
    index = next((i for i, item in enumerate(inputs) if item.id == source.id), None)
    if index is None or index >= len(evidence.x):
        return
    path = evidence.x[index][0]
    key: Any = int(path.split("[")[1].rstrip("]")) if "[" in path else path
    edits = [
        Edit("data-transform", "x", {"op": "pad_axis", "axis": axis + 1, "size": size, "value": 1, "key": key})
        for axis, size in enumerate(target)
    ]
    edits.append(Edit("input-shape", source.name, {"index": index, "shape": target}))
    yield (
        f"Make the mask {tuple(target)} a sample: query steps by value steps",
        edits,
        "added steps are visible; mask them where they should not be",
    )


def host_layer(evidence: Evidence, finding: Finding) -> Made:
    """A text layer at the model's door moves into the pipeline."""
    from .entry import static_batch

    for node in evidence.flow.nodes:
        if node.kind == "input" and any(edge.spec.dtype == "string" for edge in evidence.flow.into(node.id)):
            for edge in evidence.flow.out_of(node.id):
                layer = evidence.flow.node(edge.target)
                if layer.kind != "layer":
                    continue
                move = Edit("data-transform", layer.name, {"op": "host-layer"})
                for title, edits, reason in static_batch(evidence, finding):
                    yield (
                        f"Run {layer.name} in the pipeline, on the host; {title[:1].lower()}{title[1:]}",
                        [move, *edits],
                        "text never reaches the TPU; " + reason,
                    )
                yield f"Run {layer.name} in the pipeline, on the host", [move], "text never reaches the TPU"


def free_rows(evidence: Evidence, node: Node, shape: Shape | None) -> Made:
    """-1 for the first number of a reshape in the user's own code, where the rest divides what is there."""
    target, size = node.config.get("operand1"), elements(shape)
    owner = owner_of(evidence, node)
    if not target or size is None or owner is None or len(target) < 2:
        return
    rest = math.prod(n for n in target[1:])
    if rest > 0 and size % rest == 0 and target[0] > 0:
        edit = Edit("replace-op", owner.name, {"find": target[0], "replace": -1, "line": node.called.line if node.called else 0})
        yield (
            f"Let TensorFlow count the rows: -1 for {target[0]} in {owner.name}",
            [edit],
            "works for every batch size, on every number of replicas",
        )


def leave_out(evidence: Evidence, finding: Finding) -> Made:
    """Without a layer of the user's own that turns the batch axis into something else."""
    for start in finding.nodes:
        node = evidence.flow.node(start)
        for item in [node, *upstream(evidence, node)]:
            owner = item if item.kind == "layer" else owner_of(evidence, item)
            if owner is None or not (owner.op == "Lambda" or any(inner.parent == owner.id for inner in evidence.flow.nodes)):
                continue
            before = given(evidence, owner)
            after = next((edge.spec.shape for edge in evidence.flow.out_of(owner.id)), None)
            if before and (not after or before[0] != after[0]):
                yield (
                    f"Leave {owner.name} out: it does not keep the batch axis",
                    [Edit("replace-layer", owner.name, {"layer": "Identity", "keep": [], "config": {}})],
                    "the model holds without it; what it was meant for must then be done along another axis",
                )
                return


def free_batch(evidence: Evidence, finding: Finding) -> Made:
    """-1 for a batch size that is written into the code."""
    node = evidence.flow.node(finding.nodes[0])
    batch = finding.found.text.split()[0] if finding.found else ""
    owner = node
    while owner.parent:
        owner = evidence.flow.node(owner.parent)
    if batch.isdigit():
        yield (
            f"Let TensorFlow count the rows: -1 for {batch}",
            [Edit("replace-op", owner.name, {"find": int(batch), "replace": -1, "line": node.called.line if node.called else 0})],
            "works for every batch size",
        )
