"""Candidates for sequences: of frames, and of other lengths."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...examine.heard import hear
from ...examine.heard_contracts import HeardFewAxes
from ...flow import Edge, Finding, Node, elements
from ...flow.observed import passes
from ...flow.syntax import called
from ...rules.compared import copied_from
from ...rules.facts.branches import UnlikeBranches
from ...rules.facts.layers import WrongCount, WrongRank
from ...rules.facts.loss import GridApart
from ...rules.facts.orders import StepsSeen
from ...rules.facts.other_axes import StepRank
from ...rules.facts.reasons import Uneven
from ...rules.upstream import ancestors, maker_of
from ...rules.words import axes_of, placed
from ...trace.axes import RECURRENT, recurs
from ..edits import Edit, UnwrapLayer, WrapLayer
from ..text.arguments import argument
from ..text.source import class_of, method_of, nodes
from .edits import Made, append, configure, failing, given, insert, last_step_of, of, received, sequence_of, upstream, way_to
from .ends import ends_of, label_path
from .line import Line, lines_at, listed, short


def steps_inside(evidence: Evidence, finding: Finding) -> Made:
    """The steps of a recurrent layer that returns only its last one."""
    node = evidence.failed
    if node is None or hear(node.failure, HeardFewAxes) is None:
        return
    for above in upstream(evidence, node):
        if recurs(above) and not above.config.get("return_sequences") and len(given(evidence, above) or ()) == 3:
            yield sequence_of(above, f"{above.name} returns only its last step.")
        if recurs(above) or not passes(evidence.flow, above):
            return


def repeated_summary(evidence: Evidence, finding: Finding) -> Made:
    """The last output of a recurrent layer for each step of the branch that it is joined with."""
    edges = received(evidence)
    shapes = [edge.spec.shape or () for edge in edges]
    if (
        not isinstance(finding.fact, UnlikeBranches)
        or len(edges) != 2
        or any(len(shape) != 3 for shape in shapes)
        or shapes[0][1] == shapes[1][1]
        or len({evidence.flow.node(edge.source).name for edge in edges}) == 1
    ):
        return  # one layer that reads both has no sequence that is a summary of the other
    for edge, other in zip(edges, reversed(shapes), strict=True):
        node = evidence.flow.node(edge.source)
        if _all_steps(node) and other[1]:
            yield from _repeated(node, other[1], "The branches have sequences of different lengths.")


def _other_steps(evidence: Evidence, finding: Finding) -> tuple[Node | None, list[Node], tuple[int, int]]:
    fact = finding.fact
    _, predictions = ends_of(evidence, finding)
    if not isinstance(fact, GridApart) or fact.made or predictions is None or len(fact.labels) != 3 or fact.axis != 1 or None in fact.labels[1:]:
        return None, [], (0, 0)
    head = evidence.flow.node(predictions.source)
    return head, [node for node in way_to(evidence, head) if _all_steps(node)], (fact.labels[1] or 0, fact.labels[2] or 0)


def counted_by_head(evidence: Evidence, finding: Finding) -> Made:
    """The last step alone, where the head already has one value for each step of the labels."""
    head, recurrent, (steps, values) = _other_steps(evidence, finding)
    if head is not None and recurrent and values == 1 and head.config.get("units") == steps:
        yield last_step_of(recurrent[0], f"{head.name} then returns {steps} values per sample, one for each step of a label.")


def counted_by_reshape(evidence: Evidence, finding: Finding) -> Made:
    """The last step alone, where a reshape has room for one."""
    told = finding.fact if isinstance(finding.fact, WrongCount) else getattr(finding.fact, "reason", None)
    steps = told.steps if isinstance(told, (WrongCount, Uneven)) else None
    node = next((node for node in evidence.flow.nodes if steps is not None and node.name == steps.name), None)
    if node is not None:
        yield last_step_of(node, "The reshape then has as many values as its target.")


def decoded(evidence: Evidence, finding: Finding) -> Made:
    """An encoder and a decoder, where recurrent layers in a row return a step for each input and the labels have other steps."""
    _, recurrent, (steps, _) = _other_steps(evidence, finding)
    if len(recurrent) > 1:
        yield from _repeated(recurrent[1], steps, f"{recurrent[0].name} then has one step for each label.")


def horizon(evidence: Evidence, finding: Finding) -> Made:
    """All steps of the labels at once from the last output of the only recurrent layer."""
    head, recurrent, (steps, values) = _other_steps(evidence, finding)
    below = next((evidence.flow.node(edge.source) for edge in evidence.flow.into(head.id)), None) if head is not None else None
    if head is not None and len(recurrent) == 1 and below is not None and below.name == recurrent[0].name and head.config.get("units") == values:
        reader = recurrent[0]
        yield (
            f"Predict the {steps} steps at once from the last output of {reader.name}: return_sequences=False, {steps * values} units and a Reshape",
            [
                configure(reader.name, return_sequences=False),
                configure(head.name, units=steps * values),
                append(head.name, "Reshape", target_shape=[steps, values]),
            ],
            "The labels have other steps than the input, so there is no step of the input for each of them.",
        )


def repeated_code(evidence: Evidence, finding: Finding) -> Made:
    """An encoder and a decoder, which reads the code, or the encoder's last output, at each step of the labels."""
    node, shape = failing(evidence)
    labels = [spec.shape for _, spec in evidence.y if spec.shape and len(spec.shape) in (2, 3)]
    steps = labels[0][1] if len(labels) == 1 and len(labels[0]) == 3 else None
    if not recurs(node) or not node.config.get("return_sequences") or len(shape or ()) != 2 or not steps:
        return
    coded = False
    for above in upstream(evidence, node):
        if recurs(above):
            # As many steps as the encoder has need no repeating: it can return each of them.
            read = given(evidence, above)
            if coded or (read and len(read) == 3 and read[1] not in (steps, None)):
                title = f"Repeat the {'code' if coded else f'output of {above.name}'} for each of the {steps} steps: RepeatVector({steps}) before {node.name}"
                yield title, [insert(node.name, "RepeatVector", n=steps)], f"{node.name} then returns one step for each label."
            return
        coded = coded or bool(above.weights) or above.family == "own"


def _all_steps(node: Node) -> bool:
    return node.kind == "layer" and bool(node.config.get("return_sequences"))


def _repeated(node: Node, steps: int, why: str) -> Made:
    yield (
        f"Repeat the last output of {node.name} {steps} times: return_sequences=False and RepeatVector({steps})",
        [configure(node.name, return_sequences=False), append(node.name, "RepeatVector", n=steps)],
        why,
    )


def each_frame(evidence: Evidence, finding: Finding) -> Made:
    """What reads one frame, shared over a sequence of frames."""
    node, shape = failing(evidence)
    wanted = len(axes_of(node.op))
    if wanted < 4 or not shape or len(shape) != wanted + 1 or shape[1] == 1:
        return
    target = _model_of_frames(evidence, node)
    yield (
        f"Apply {target.name} to each frame: TimeDistributed({target.name})",
        [WrapLayer(target.name, "TimeDistributed")],
        f"It expects one frame, but a sample has {shape[1] if shape[1] is not None else 'several'}.",
    )


def each_sequence(evidence: Evidence, finding: Finding) -> Made:
    """What reads one sequence, over the sequences of a sample."""
    node, shape = failing(evidence)
    if not recurs(node) or not shape or len(shape) != 4 or _all_steps(node) or any(len(axes_of(above.op)) > 3 for above in upstream(evidence, node)):
        return
    yield (
        f"Apply {node.name} to each sequence: TimeDistributed({node.name})",
        [WrapLayer(node.name, "TimeDistributed")],
        f"It expects one sequence, but a sample has {shape[1] if shape[1] is not None else 'several'}.",
    )


@of(StepRank)
def whole_sequence(evidence: Evidence, finding: Finding, fact: StepRank) -> Made:
    """What takes the whole sequence by itself, without the layer that gives it one step at a time."""
    if len(fact.shape) == len(fact.wanted):
        yield (
            f"Remove TimeDistributed from {fact.layer.name}, and keep the {fact.inner}",
            [UnwrapLayer(fact.layer.name)],
            f"{fact.inner} takes all steps at once: ({', '.join(fact.wanted)}).",
        )


_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt}


@of(WrongRank)
def loop_condition(evidence: Evidence, finding: Finding, fact: WrongRank) -> Made:
    """The number in the condition by which a loop creates recurrent layers."""
    node, _ = failing(evidence)
    above = next((item for item in upstream(evidence, node) if recurs(item)), None)
    if above is None or not recurs(node) or above.config.get("return_sequences"):
        return
    for line in lines_at(evidence, above.location)[:1]:
        for call in line.around(ast.Call):
            condition = argument(call, "return_sequences", [])
            if not isinstance(condition, ast.Compare):
                continue
            opposite = _OPPOSITE.get(type(condition.ops[0]))
            if opposite is not None and len(condition.ops) == 1:
                new = ast.unparse(ast.Compare(condition.left, [opposite()], condition.comparators))
                yield (
                    f"Set return_sequences={new} at line {condition.lineno}: the other way around",
                    [line.edit(condition, new)],
                    "All but the last layer then return their steps.",
                )
            for one in nodes(condition, ast.Constant):
                for number in (one.value - 1, one.value + 1) if type(one.value) is int else ():
                    yield (
                        f"Use {number} instead of {one.value} in return_sequences={short(condition)} at line {one.lineno}",
                        [line.edit(one, str(number))],
                        "Every layer that another recurrent layer reads then returns its steps.",
                    )


def _model_of_frames(evidence: Evidence, node: Node) -> Node:
    shape, found = given(evidence, node), node
    while node.parent:
        node = evidence.flow.node(node.parent)
        if node.kind == "layer" and given(evidence, node) in (shape, None):
            found = node
    return found


def flat_frames(evidence: Evidence, finding: Finding) -> Made:
    """Frames flattened one by one in front of a recurrent layer, and not together with time."""
    node, shape = failing(evidence)
    if node.op not in RECURRENT or not shape or len(shape) != 2:
        return
    above = next(iter(upstream(evidence, node)), None)
    before = given(evidence, above) if above is not None else None
    if above is not None and above.op == "Flatten" and before and len(before) > 3:
        yield (
            f"Flatten each frame separately: TimeDistributed({above.name})",
            [WrapLayer(above.name, "TimeDistributed")],
            f"{node.name} expects one vector for each of the {before[1] or ''} steps.".replace("  ", " "),
        )


def without_token(evidence: Evidence, finding: Finding) -> Made:
    """The steps without the one that was put in front of them."""
    fact = finding.fact
    if isinstance(fact, WrongCount):
        node, edges = evidence.failed, evidence.failed_inputs()
        edge, rank, wanted = (edges[0] if len(edges) == 1 else None), len(fact.given) + 1, elements(fact.target)
    elif isinstance(fact, GridApart):
        _, edge = ends_of(evidence, finding)
        node, rank, wanted = None, len(fact.predictions), elements((*fact.labels[1:2], *fact.predictions[2:]))
        if copied_from(evidence, label_path(evidence, finding)):
            return  # its labels are then the steps that each prediction has read
    else:
        return
    shape = edge.spec.shape if edge is not None else None
    if edge is None or not shape or len(shape) != 3 or rank != 3 or None in shape[1:] or (node is not None and node.kind != "layer"):
        return
    steps, width = shape[1] or 0, shape[2] or 0
    maker = maker_of(evidence, edge, 1)
    crop = _added_step(evidence, maker, steps) if _mixes_steps(evidence, edge, maker) else None
    if crop is None or wanted != (steps - 1) * width:
        return
    which = "first" if crop[0] else "last"
    target = node or evidence.flow.node(edge.source)
    place, put = ("before", insert) if node is not None else ("after", append)
    yield (
        f"Drop the {which} of the {steps} steps {place} {target.name}: Cropping1D({tuple(crop)})",
        [put(target.name, "Cropping1D", cropping=crop)],
        f"{maker.name} concatenated it with the other {steps - 1}{placed(maker)}.",
    )


def _mixes_steps(evidence: Evidence, edge: Edge, maker: Node) -> bool:
    """Whether the other steps have seen the one that was added: without that it would be added for nothing."""
    earlier = {node.id for node in ancestors(evidence, maker.id)}
    between = [evidence.flow.node(edge.source), *ancestors(evidence, edge.source)]
    return any(node.family in ("attention", "recurrent", "convolution") for node in between if node.id not in earlier)


def _added_step(evidence: Evidence, maker: Node, steps: int) -> list[int] | None:
    parts = [one.spec.shape[1] for one in evidence.flow.into(maker.id) if one.spec.shape and len(one.spec.shape) == 3]
    if maker.op.lower().startswith("concat"):  # a token that is a weight comes from no node
        return [1, 0] if parts in ([steps - 1], [1, steps - 1]) else [0, 1] if parts == [steps - 1, 1] else None
    # A layer of the user's own whose call was not looked into: what its code joins with what it is given.
    for line in lines_at(evidence, maker.location)[:1] if parts == [steps - 1] else ():
        call = method_of(class_of(line.source.tree, maker.op), "call")
        taken = call.args.args[1].arg if call is not None and len(call.args.args) > 1 else ""
        for joined in (item for item in nodes(call, ast.Call) if called(item) in ("concat", "concatenate")) if call is not None else ():
            pair = [ast.unparse(item) for item in listed(joined.args[0])] if joined.args else []
            if len(pair) == 2 and pair.count(taken) == 1:
                return [1, 0] if pair[1] == taken else [0, 1]
    return None


@of(StepsSeen)
def past_alone(evidence: Evidence, finding: Finding, fact: StepsSeen) -> Made:
    """Every layer that reads later steps as one that reads none."""
    edits: dict[object, Edit | None] = {}
    for node in (evidence.flow.node(one) for one in finding.nodes[:-1]):
        if "kernel_size" in node.config:
            edits[node.name] = configure(node.name, padding="causal")
        elif node.op == "Bidirectional":
            edits[node.name] = UnwrapLayer(node.name)
        else:
            edits[node.called] = next((edit for line in lines_at(evidence, node.called) if (edit := _to_past(line, node)) is not None), None)
    made = [edit for edit in edits.values() if edit is not None]
    if len(made) == len(edits):
        yield "Use only this step and those before it", made, "The predictions then do not depend on the labels."


def _to_past(line: Line, node: Node) -> Edit | None:
    call = line.node
    if not isinstance(call, ast.Call):
        return None
    if "Pad" not in node.op:
        several = len(call.args) + len(call.keywords) > 1 or any(map(listed, call.args))
        return line.more(call, "use_causal_mask=True") if several and called(call) != node.op else None
    for pair in nodes(call, (ast.List, ast.Tuple)):
        both = [ast.unparse(one) for one in listed(pair)]
        if len(both) == 2 and both[0] == "0" != both[1] and "[" not in both[1]:
            return line.edit(pair, f"[{both[1]}, 0]")
    return None
