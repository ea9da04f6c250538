"""Candidates for what code of the program's own takes of its data and of the framework: columns, steps of a sequence, the shape in build."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...examine.written_slices import shifted
from ...flow import Fact, Finding, Node
from ...flow.paths import show
from ...flow.syntax import assigned, called
from ...rules.facts.calls import Misdeclared
from ...rules.facts.layers import OperationRaised
from ...rules.facts.lines import LossCalled
from ...rules.facts.loss import GridApart
from ...rules.facts.loss_silent import SameSteps
from ...rules.facts.mixing import BatchLost, EveryPair
from ...rules.facts.own_code import DataWhole, EmbeddedTwice, LabelsRefused, NamesCrossed, WeightOfBatch
from ...rules.facts.ranges import ColumnsExchanged
from ...rules.facts.reasons_read import StepMore
from ...rules.ids import looked_up_columns
from ...rules.words import SLICES
from ..edits import Edit, RemoveLayer
from ..text.source import nodes, parents
from .edits import Made, gives, of, transform
from .entry import declaration
from .line import Line, lines_at, lines_of, listed, running, short, whole_number


@of(ColumnsExchanged)
def exchanged(evidence: Evidence, finding: Finding, fact: ColumnsExchanged) -> Made:
    """Each of two columns where the other one is looked up."""
    swap = {fact.column: fact.other, fact.other: fact.column}
    edits: dict[tuple[int, int], Edit] = {}
    for _, taken, path, column in looked_up_columns(evidence):
        if path != fact.path or column not in swap:
            continue
        found = [
            (line, item.slice.elts[1])
            for line in lines_at(evidence, taken.called)[:1]
            for item in line.around(ast.Subscript)
            if isinstance(item.slice, ast.Tuple) and len(item.slice.elts) == 2 and whole_number(item.slice.elts[1]) == column
        ]
        if len(found) != 1:
            return
        line, index = found[0]
        edits[index.lineno, index.col_offset] = line.edit(index, str(swap[column]))
    yield (
        f"Swap columns {min(swap)} and {max(swap)} where the model takes them",
        [*edits.values()],
        "The ids of each column then have a row where they are looked up.",
    )


@of(BatchLost, Misdeclared)
def of_each_sample(evidence: Evidence, finding: Finding, fact: Fact) -> Made:
    """A column in place of one sample, where an index is meant for the columns."""
    maker = getattr(fact, "maker", None) or getattr(fact, "layer", None)
    for line in lines_at(evidence, maker.called)[:1] if maker is not None else ():
        for taken in nodes(line.scope, ast.Subscript):
            index = whole_number(taken.slice)
            here = taken.lineno <= line.raised.line <= (taken.end_lineno or 0) and isinstance(taken.value, ast.Name)
            for new in (f"{index}:{index + 1}", f"{index}") if here and index is not None and index >= 0 else ():
                yield (
                    f"Take column {index} of every sample at {line.at}: {ast.unparse(taken.value)}[:, {new}]",
                    [line.edit(taken.slice, f":, {new}")],
                    f"The first axis is the batch: {ast.unparse(taken)} is one sample.",
                )


@of(EveryPair)
def unpacked_vectors(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """Vectors of all the columns that a step takes out of its data."""
    for line in lines_of(evidence)[:1]:
        for names, then in _unpacked(line):
            text = f"{', '.join(names)} = {', '.join(f'{name}[:, 0]' for name in names)}"
            yield (
                f"Use vectors instead of columns for {', '.join(names[:-1])} and {names[-1]}, before line {then.lineno}",
                [line.before(then, text)],
                "Each of them has one number per sample, on an axis of size 1.",
            )


@of(EveryPair)
def flattened_alike(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """Predictions flattened as a loss or metric flattens the labels."""
    for line in (lines_of(evidence) or lines_at(evidence, finding.location))[:1]:
        arguments = [item.arg for item in line.scope.args.args if item.arg != "self"][:2] if isinstance(line.scope, ast.FunctionDef) else []
        for statement in nodes(line.scope, ast.Assign) if len(arguments) == 2 and (1,) in {shape[1:] for shape in (fact.left, fact.right)} else ():
            target = ast.unparse(statement.targets[0])
            flat = [call for call in nodes(statement.value, ast.Call) if called(call) == "reshape" and ast.unparse(call.args[-1]) in _FLAT]
            if target not in arguments or len(flat) != 1 or ast.unparse(flat[0].args[0]) != target:
                continue
            other = arguments[1 - arguments.index(target)]
            text = f"{other} = {ast.unparse(flat[0].func)}({other}, {ast.unparse(flat[0].args[-1])})"
            yield (
                f"Flatten {other} like {target}, before line {statement.lineno}",
                [line.before(statement, text)],
                "Both then have one number per sample, on the same axis.",
            )


_FLAT = frozenset({"[-1]", "(-1,)", "-1"})


def _unpacked(line: Line) -> Iterator[tuple[list[str], ast.stmt]]:
    fed = {
        item.id
        for call in nodes(line.scope, ast.Call)
        if ast.unparse(call.func).partition(".")[0] == "self"
        for given in (*call.args, *(part.value for part in call.keywords))
        for item in nodes(given, ast.Name)
    }
    for statement, then in itertools.pairwise(getattr(line.scope, "body", [])):
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        stored = [item.id for target in targets if isinstance(target, ast.Tuple) for item in nodes(target, ast.Name)]
        read = {item.id for item in nodes(line.scope, ast.Name) if isinstance(item.ctx, ast.Load)}
        shapes = {name: line.specs[name].shape or () for name in stored if name in line.specs and name in read}
        columns = [name for name, shape in shapes.items() if len(shape) == 2 and shape[1] == 1 and shape[0] != 1 and name not in fed]
        if len(columns) > 1:
            yield columns, then


def behind_the_fed(evidence: Evidence, finding: Finding) -> Made:
    """The steps behind the first one as labels, where a step feeds all but the last one to the model and compares with all of them."""
    for line in lines_of(evidence)[:1]:
        above = parents(line.source.tree)
        fed = {item.value.id for item in nodes(line.scope, ast.Subscript) if isinstance(item.value, ast.Name) and _but_last(item.slice)}
        for name in sorted(fed):
            loads = [item for item in nodes(line.scope, ast.Name) if item.id == name and isinstance(item.ctx, ast.Load)]
            whole = [item for item in loads if not isinstance(above.get(item), (ast.Subscript, ast.Attribute)) and item.lineno >= line.raised.line]
            if whole and any(item in list(nodes(line.node or line.scope, ast.Name)) for item in whole):
                yield (
                    f"Compare with the next step of each: {name}[:, 1:] instead of {name} from line {whole[0].lineno}",
                    [line.edit(item, f"{name}[:, 1:]") for item in whole],
                    f"The model is fed {name}[:, :-1], so each of its steps predicts the step after it.",
                )


def _but_last(index: ast.expr) -> bool:
    return ast.unparse(index).replace(" ", "").strip("()") == ":,:-1"


@of(GridApart)
def other_end(evidence: Evidence, finding: Finding, fact: GridApart) -> Made:
    """The slice that goes with the one beside it."""
    for line in running(evidence) if fact.cut else ():
        for one in shifted(line.raised):
            if ast.unparse(one.cut) == fact.cut:
                said = "first" if one.other.endswith("[:, 1:]") else "last"
                yield (
                    f"Use {one.other} at line {one.whole.lineno}, the sequence without its {said} step",
                    [line.edit(one.whole, one.other)],
                    f"Each step is then compared with the next one: line {one.cut.lineno} uses {fact.cut}.",
                )


@of(OperationRaised)
def as_many_steps(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The steps of a sequence that are compared, else those that are fed, in place of all of them."""
    reason = fact.reason
    for line in running(evidence) if isinstance(reason, StepMore) else ():
        assert isinstance(reason, StepMore)
        for one in shifted(line.raised):
            if (ast.unparse(one.cut), one.whole.lineno) != (reason.cut, reason.whole_at):
                continue
            named = {ast.unparse(value): ast.unparse(target) for item in nodes(line.scope, ast.Assign) for target, value in assigned(item)}
            for text in (one.other, reason.cut):
                new = named.get(text, text)
                yield (
                    f"Use {new} instead of {ast.unparse(one.whole)} at line {one.whole.lineno}",
                    [line.edit(one.whole, new)],
                    f"It has {reason.steps - 1} of the {reason.steps} steps{'' if new == text else f': {text}'}.",
                )


@of(LossCalled)
def next_step(evidence: Evidence, finding: Finding, fact: LossCalled) -> Made:
    """Labels that begin one step later, at the line that compares them."""
    y, p = fact.labels, fact.predictions
    if len(y) < 2 or len(p) < 2 or y[1] is None or y[1] - 1 != p[1] or y[2:] not in (p[2:], p[2:-1]):
        return
    cut = next((node for node in evidence.flow.nodes if _cuts_last(evidence, node)), None)
    for line in lines_of(evidence)[:1] if cut is not None else ():
        for node, shape in line.shaped()[:2]:
            if shape == y and isinstance(node, (ast.Name, ast.Attribute)):
                yield (
                    f"Compare with the next step at {line.at}: {short(node)}[:, 1:]",
                    [line.edit(node, f"{ast.unparse(node)}[:, 1:]")],
                    f"The model leaves out the last step at {cut.called if cut is not None else line.at}.",
                )


def _cuts_last(evidence: Evidence, node: Node) -> bool:
    edges = evidence.flow.into(node.id)
    before, after = (edges[0].spec.shape if edges else None) or (), gives(evidence, node) or ()
    cut = len(before) == len(after) > 1 and None not in (before[1], after[1]) and (before[1] or 0) - 1 == after[1]
    return cut and node.op.lower() in SLICES and node.called is not None and ":-1" in node.called.text.replace(" ", "")


@of(SameSteps)
def labels_one_later(evidence: Evidence, finding: Finding, fact: SameSteps) -> Made:
    """The labels' slice begins one step later."""
    what, node, other = ("labels", finding.nodes[0], "1:") if fact.cut == ":-1" else ("input", finding.nodes[-1], ":-1")
    where = evidence.flow.node(node).called
    # Several slices of a line run from left to right.
    here = [one.id for one in evidence.flow.nodes if one.op.lower() in SLICES and one.called == where]
    for line in lines_at(evidence, where)[:1]:
        written = [item for item in line.around(ast.Subscript) if isinstance(item.slice, ast.Tuple)]
        written.sort(key=lambda item: (item.lineno, item.col_offset))
        item = written[here.index(node)] if len(here) == len(written) else None
        if item is not None and [ast.unparse(part) for part in listed(item.slice)] == [":", fact.cut]:
            new = f"{ast.unparse(item.value)}[:, {other}]"
            yield f"Use {new} as the {what} at line {item.lineno}", [line.edit(item, new)], "Each step is then compared with the next one."


@of(SameSteps)
def without_labels(evidence: Evidence, finding: Finding, fact: SameSteps) -> Made:
    """The inputs without the column that holds the labels."""
    if not fact.path or fact.cut == show(fact.path):
        return
    edits: list[Edit] = [transform(fact.path, "without_column", column=fact.column)]
    for door, want in evidence.declared or ():
        if dict(evidence.feeds).get(door) == fact.path and want.shape is not None and len(want.shape) == 2 and want.shape[1] is not None:
            edits.append(declaration(evidence, door, (want.shape[1] - 1,)))
    yield f"Remove column {fact.column}, the labels, from {show(fact.path)}", edits, "The model then cannot copy them."


@of(WeightOfBatch)
def weight_of_sample(evidence: Evidence, finding: Finding, fact: WeightOfBatch) -> Made:
    """A weight with the axes behind the batch."""
    for line in lines_of(evidence)[:1]:
        for call in [item for item in line.around(ast.Call) if called(item) == "add_weight"]:
            given = next((word.value for word in call.keywords if word.arg == "shape"), call.args[0] if call.args else None)
            if isinstance(given, (ast.Name, ast.Attribute)):
                yield (
                    f"Leave out the batch axis: shape={ast.unparse(given)}[1:] at line {given.lineno}",
                    [line.edit(given, f"{ast.unparse(given)}[1:]")],
                    "All samples then share the weight.",
                )


@of(DataWhole)
def unpacked_data(evidence: Evidence, finding: Finding, fact: DataWhole) -> Made:
    """The inputs alone under the name of the data, before the step reads it."""
    for line in running(evidence):
        step = line.scope
        if isinstance(step, ast.FunctionDef) and step.name == "train_step" and step.args.args[-1].arg == fact.name:
            body = step.body[1:] if ast.get_docstring(step) is not None else step.body
            text = f"{fact.name} = {fact.name}[0]"
            yield (
                f"Take the inputs out of {fact.name} at the beginning of train_step: {text}",
                [line.before(body[0], text)],
                f"fit passes ({', '.join(fact.parts)}).",
            )


@of(EmbeddedTwice)
def embedded_once(evidence: Evidence, finding: Finding, fact: EmbeddedTwice) -> Made:
    """The second embedding on the ids themselves."""
    yield (
        f"Remove {' and '.join((fact.first.name, *reversed(fact.between)))}: {fact.layer.name} embeds the ids itself",
        [RemoveLayer(name) for name in (fact.first.name, *reversed(fact.between))],
        "An embedding reads ids.",
    )


@of(NamesCrossed)
def own_names(evidence: Evidence, finding: Finding, fact: NamesCrossed) -> Made:
    """Each parameter under its own name."""
    for line in lines_at(evidence, finding.location)[:1]:
        pairs = {(f"self.{name}", given): name for name, given in ((fact.one, fact.other), (fact.other, fact.one))}
        kept = [
            (item.value, pairs[ast.unparse(item.targets[0]), ast.unparse(item.value)])
            for item in nodes(line.scope, ast.Assign)
            if (ast.unparse(item.targets[0]), ast.unparse(item.value)) in pairs
        ]
        if len(kept) == 2:
            yield (
                f"Store {fact.one} as self.{fact.one} and {fact.other} as self.{fact.other}",
                [line.edit(value, name) for value, name in kept],
                "Each parameter then has its own name.",
            )


@of(LabelsRefused)
def labels_cast(evidence: Evidence, finding: Finding, fact: LabelsRefused) -> Made:
    """The labels in the dtype that the metric computes in."""
    edits = [transform(path, "cast", dtype=fact.wanted) for path, spec in evidence.y if spec.dtype == fact.given]
    if edits and fact.wanted.startswith("float"):
        yield f"Cast the labels from {fact.given} to {fact.wanted}", edits, "Their values stay the same."
