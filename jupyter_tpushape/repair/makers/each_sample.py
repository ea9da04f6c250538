"""Candidates where a function of the user's own is written for one sample: sums over everything, values in pairs, a split of the first axis."""

from __future__ import annotations

import ast
import itertools

from ...examine.evidence import Evidence
from ...flow import Fact, Finding
from ...flow.syntax import called
from ...rules.facts.branches import UnlikeBranches
from ...rules.facts.layers import OperationRaised, WrongRank
from ...rules.facts.loss import LossRaised
from ...rules.facts.loss_silent import MarginOfSums, RowsLost
from ...rules.facts.mesh import ValueAsked
from ...rules.facts.mixing import EveryPair, SamplesReturn
from ...rules.facts.scores import PickedElsewhere, SharesOfSamples
from ...rules.words import STACKS
from ..edits import Edit, code
from ..edits.expression import MODULE
from ..text.arguments import argument
from ..text.source import given_to, nodes
from .edits import Made, of
from .line import calls_at, lines_at, lines_of, short, whole_number


@of(MarginOfSums)
def summed_each(evidence: Evidence, finding: Finding, fact: MarginOfSums) -> Made:
    """The same of every sum that a margin compares."""
    edits: list[Edit] = []
    pairs = list(zip(fact.totals, fact.wholes, strict=True))
    places = list(dict.fromkeys(total.called for total, _ in pairs))
    for place in places:
        calls = dict.fromkeys(call for _, call in calls_at(evidence, place, "sum", "reduce_sum"))
        lines, wholes = lines_at(evidence, place)[:1], [whole for total, whole in pairs if total.called == place]
        if len(calls) != len(wholes) or len(set(map(len, wholes))) != 1 or not lines:
            return
        for call in calls:
            axis = argument(call, "axis", ["x", "axis"])
            if whole_number(axis) != 0 if axis is not None and fact.made else axis is not None or len(call.args) != 1:
                return
            inner = str(-1 if len(wholes[0]) == 2 else tuple(range(1, len(wholes[0]))))
            edits.append(lines[0].edit(axis, inner) if axis is not None else lines[0].more(call, f"axis={inner}"))
    said = " and ".join(str(place.line) for place in places if place is not None)
    why = "Each sample then has a separate sum, and the margin is taken of each."
    yield f"Sum over the axes of each sample at line{'s' * (len(places) > 1)} {said}", edits, why


@of(SamplesReturn)
def product_of_each(evidence: Evidence, finding: Finding, fact: SamplesReturn) -> Made:
    """The product of each sample's own values, in place of one number for all samples."""
    reader = evidence.flow.node(finding.nodes[-1])
    ranks = {len(edge.spec.shape or ()) for edge in evidence.flow.into(reader.id)}
    keep = ", keepdims=True" if max(ranks, default=0) == len(fact.shape) else ""
    axes = -1 if len(fact.shape) == 2 else tuple(range(1, len(fact.shape)))
    for line, call in calls_at(evidence, finding.location, "tensordot", "vdot", "einsum"):
        given = call.args[1:] if called(call) == "einsum" else call.args[:2]
        if len(given) == 2 and reader.id != finding.nodes[0] and not any(isinstance(one, ast.Starred) for one in given):
            one, other = (ast.unparse(item) if isinstance(item, _PLAIN) else f"({ast.unparse(item)})" for item in given)
            yield (
                f"Use the product of each sample's own rows at {line.at}: sum({one} * {other}, axis={axes})",
                [line.edit(call, f"{MODULE}.sum({one} * {other}, axis={axes}{keep})", "keras.ops")],
                "There is then one value per sample.",
            )


_PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


@of(WrongRank, UnlikeBranches)
def reduced_each(evidence: Evidence, finding: Finding, fact: Fact) -> Made:
    """A reduction over the values of each sample, where one over everything gives a single number and its reader needs the samples."""
    edges = evidence.failed_inputs()
    wanted = fact.wanted if isinstance(fact, WrongRank) else max(len(edge.spec.shape or ()) for edge in edges)
    for node in [evidence.flow.node(edge.source) for edge in edges if edge.spec.shape == ()]:
        rank = max((len(edge.spec.shape or ()) for edge in evidence.flow.into(node.id)), default=0)
        if not 1 < wanted <= rank:
            continue
        axes = "-1" if rank == 2 else str(tuple(range(1, rank + 1 - wanted)) if rank - wanted > 1 else 1)
        more = ", keepdims=True" if rank == wanted else ""
        along, why = f"axis={axes}{more}", "Without axis=, it reduces over the batch too."
        if node.kind == "layer":
            yield f"Keep the samples apart in {node.name}: {along}", [code.Reduced(node.name, axes, more)], why
        for line in lines_at(evidence, node.called)[:1] if node.kind == "op" else ():
            calls = [call for call in nodes(line.source.tree, ast.Call) if call.lineno == line.raised.line and code.over_everything(call)]
            if len(calls) == 1:
                yield f"Keep the samples apart at {line.at}: {along}", [line.more(calls[0], along)], why


@of(EveryPair)
def own_pairs(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """Each value of a sample with each other of it, where ``x[:, None] - x`` is written as for a vector and ``x`` has a row for each sample."""
    few, many = sorted((fact.left, fact.right), key=len)
    if len(few) != 2 or many != (few[0], 1, few[1]):
        return
    for line in lines_at(evidence, finding.location)[:1]:
        for item in nodes(line.scope, ast.BinOp):
            if item.lineno != line.raised.line:
                continue
            for column, row in itertools.permutations((item.left, item.right)):
                whole = ast.unparse(row)
                if ast.unparse(column).replace(" ", "") == f"{whole}[:,None]" and isinstance(row, (ast.Name, ast.Attribute)):
                    yield (
                        f"Compare the {few[1]} values of each sample in pairs at {line.at}: {whole}[:, :, None] and {whole}[:, None]",
                        [line.edit(column, f"{whole}[:, :, None]"), line.edit(row, f"{whole}[:, None]")],
                        "The batch axis stays first, and no sample is combined with another one.",
                    )


@of(OperationRaised, LossRaised, RowsLost)
def split_last(evidence: Evidence, finding: Finding, fact: Fact) -> Made:
    """A split of the last axis, where one of the first axis takes apart the samples."""
    rows = {spec.shape[0] for _, spec in (*evidence.x, *evidence.y) if spec.shape}
    for line in lines_of(evidence)[:1] or lines_at(evidence, finding.location)[:1]:
        used = {item.id for item in nodes(line.node or line.scope, ast.Name)}
        for item in nodes(line.scope, ast.Assign):
            call, names = item.value, {one.id for target in item.targets for one in nodes(target, ast.Name)}
            if not isinstance(call, ast.Call) or called(call) not in ("split", "array_split") or not call.args:
                continue
            if not (names & used or call.lineno == line.raised.line):
                continue
            axis, shape = argument(call, "axis", ["x", "parts", "axis"]), line.shape(call.args[0])
            if not shape:  # a part has as many axes, and what a layer returns for each sample begins with the samples
                parts = whole_number(argument(call, "indices_or_sections", ["x", "parts"])) or 1
                around = [(name, parts) for name in sorted(names)]
                around += [(ast.unparse(name), 1) for name in nodes(call.args[0], ast.Name)] if call is line.node else []
                known = ((spec.shape, times) for name, times in around if (spec := line.specs.get(name)) is not None and spec.shape)
                shape = next(((size * times if size else None, *rest) for (size, *rest), times in known), None)
            told = isinstance(fact, RowsLost) or (shape and len(shape) > 1 and shape[0] in (None, *rows))
            if (axis is not None and whole_number(axis) != 0) or not told:
                continue
            yield (
                f"Split along the last axis at line {call.lineno}: axis=-1",
                [line.edit(axis, "-1") if axis is not None else line.more(call, "axis=-1")],
                "Axis 0 is the batch." if axis is not None else "Without axis=, the first axis is split, which is the batch.",
            )


@of(OperationRaised, LossRaised)
def picked_in_sample(evidence: Evidence, finding: Finding, fact: Fact) -> Made:
    """An index picked along the last axis, where one along the first axis compares the samples."""
    rows = {spec.shape[0] for _, spec in (*evidence.x, *evidence.y) if spec.shape}
    for line in lines_of(evidence)[:1]:
        used = {item.id for item in nodes(line.node or line.scope, ast.Name)}
        made = [item.value for item in nodes(line.scope, ast.Assign) if used & {one.id for target in item.targets for one in nodes(target, ast.Name)}]
        for call in dict.fromkeys(call for part in (line.node, *made) if part is not None for call in nodes(part, ast.Call)):
            axis = argument(call, "axis", ["x", "axis"]) if called(call) in ("argmax", "argmin") and call.args else None
            shape = line.shape(call.args[0]) if axis is not None else None
            if axis is not None and whole_number(axis) == 0 and shape and len(shape) > 1 and shape[0] in (None, *rows):
                yield (
                    f"Use axis -1 in {called(call)} at line {call.lineno}: axis 0 is the batch",
                    [line.edit(axis, "-1")],
                    "It then picks one of the values of each sample.",
                )
        looked = [
            axis
            for call in nodes(line.scope, ast.Call)
            if called(call) in ("take", "gather") and (shape := line.shape(call.args[0])) and len(shape) > 2 and shape[0] in (None, *rows)
            if (axis := argument(call, "axis", ["x", "indices", "axis"])) is not None and whole_number(axis) == 0
        ]
        if looked:
            yield (
                f"Look up along axis 1 at line {looked[0].lineno}: axis 0 is the batch",
                [line.edit(one, "1") for one in looked],
                "Each sample has these entries.",
            )


@of(ValueAsked)
def unstacked_steps(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """The steps for what takes a tensor apart along the batch."""
    for line in lines_of(evidence)[:1]:
        call = line.call("unstack", "unbind") if fact.asked == "rows" else None
        given, axis = (argument(call, name, ["x", "num", "axis"]) for name in ("x", "axis")) if call is not None else (None, None)
        shape = line.shape(given) if given is not None else None
        if call is not None and shape and len(shape) > 2 and shape[1] and whole_number(axis) in (None, 0):
            edit = line.edit(axis, "1") if axis is not None else line.more(call, "axis=1")
            yield (
                f"Take {short(call.args[0])} apart along axis 1 at {line.at}: axis 0 is the batch",
                [edit],
                f"It has {shape[1]} entries for each sample there.",
            )


@of(PickedElsewhere)
def softmax_of_classes(evidence: Evidence, finding: Finding, fact: PickedElsewhere) -> Made:
    """A softmax along the axis on which one of its values is taken."""
    for line in lines_at(evidence, finding.location)[:1]:
        for call in nodes(line.scope, ast.Call):
            axis = argument(call, "axis", ["x", "axis"]) if called(call) in ("softmax", "log_softmax") else None
            if call.lineno == line.raised.line and axis is not None and whole_number(axis) in (fact.axis, fact.axis - len(fact.shape)):
                new = -1 if fact.along == len(fact.shape) - 1 else fact.along
                yield (
                    f"Use axis {new} instead of {ast.unparse(axis)} in {called(call)} at {line.at}",
                    [line.edit(axis, str(new))],
                    "The probabilities of the classes then sum to 1.",
                )


@of(SharesOfSamples)
def softmax_of_samples(evidence: Evidence, finding: Finding, fact: SharesOfSamples) -> Made:
    """All softmaxes that a loss compares, along the last axis."""
    edits: dict[ast.expr, Edit] = {}
    for place in dict.fromkeys(one.called for one in fact.softmaxes):
        for line, call in calls_at(evidence, place, "softmax", "log_softmax"):
            axis = argument(call, "axis", ["x", "axis"])
            if axis is not None and whole_number(axis) == 0:
                edits[axis] = line.edit(axis, "-1")
    if edits:
        at = list(dict.fromkeys(str(axis.lineno) for axis in edits))
        yield (
            f"Use axis=-1 instead of axis=0 in the softmax at line{'s' * (len(at) > 1)} {' and '.join(at)}",
            list(edits.values()),
            "The values of each sample are then probabilities of classes.",
        )


_SUMMARIES = frozenset({"sum", "mean", "max", "min", "std", "var", "norm", "logsumexp", "reduce_sum", "reduce_mean", "reduce_max"})


@of(OperationRaised)
def kept_dims(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """``keepdims=True`` for the sum of a tensor along one axis."""
    for line in lines_of(evidence)[:1]:
        node = line.node
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Div, ast.Sub)):
            continue
        whole = ast.unparse(node.left)
        inside = [one for item in nodes(node.right, ast.Name) for one in given_to(line.scope, item, line.raised.line)[-1:]]
        found = [
            call
            for one in (node.right, *inside)
            for call in nodes(one, ast.Call)
            if called(call) in _SUMMARIES and call.args and ast.unparse(call.args[0]) == whole
        ]
        words = {word.arg for call in found for word in call.keywords}
        if len(found) == 1 and "axis" in words and "keepdims" not in words:
            yield (
                f"Keep the axis of the {called(found[0])} of {whole} at line {found[0].lineno}: keepdims=True",
                [line.more(found[0], "keepdims=True")],
                f"{whole} is then combined with its own values along that axis.",
            )


@of(RowsLost)
def stack_reduced(evidence: Evidence, finding: Finding, fact: RowsLost) -> Made:
    """The axis of a stack reduced again, where several predictions are stacked in front of their batch and another axis is reduced."""
    maker = evidence.flow.node(finding.nodes[0])
    readers = [evidence.flow.node(edge.target) for edge in evidence.flow.out_of(maker.id)] if maker.op in STACKS else []
    for reader in readers if len(readers) == 1 else ():
        for line, call in calls_at(evidence, reader.called, *_SUMMARIES):
            axis = line.keyword("axis")
            if axis is not None and whole_number(axis) not in (0, None):
                yield (
                    f"Use axis 0 instead of {ast.unparse(axis)} in {called(call)} at {line.at}",
                    [line.edit(axis, "0")],
                    f"The stack has one entry for each of the {fact.predictions[0]} predictions there.",
                )
