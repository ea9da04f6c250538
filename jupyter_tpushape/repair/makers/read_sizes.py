"""Candidates for sizes that the user's code reads off a shape: another axis of it, or the shape of another tensor."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding, Node, Shape, elements
from ...flow.syntax import called, loaded, samples_counted, shape_read
from ...rules.facts.contracts import ShapesInBuild
from ...rules.facts.layers import OperationRaised, WrongCount
from ...rules.facts.lines import LossCalled, SizeMissing
from ...rules.facts.loss import LossRaised
from ...rules.facts.loss_silent import StepsTold
from ...rules.facts.other_axes import SamplesInOrder
from ...rules.facts.reasons import Lengths, Uneven
from ..edits.expression import MODULE
from ..text.arguments import argument
from ..text.source import class_of, method_of, nodes
from .edits import Made, of, transform
from .line import Line, assigned_to, calls_at, calls_of, lines_at, lines_of, listed, own_layer, reshaped, running, short, whole_number
from .operations import through
from .turned import between

# What makes a table of sizes alone.
_TABLES = frozenset({"ones", "zeros", "full", "eye", "tri", "arange", "range", "linspace", "fill"})


@of(OperationRaised)
def shape_index(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Another axis of the shape that ``build`` reads."""
    reason, owner = fact.reason, own_layer(evidence)
    pairs = [*fact.apart, *([(reason.right, reason.left)] if isinstance(reason, Lengths) else [])]
    # What the operation was given, and what the layer was.
    whole_input = through(evidence, owner)[0] if owner is not None else None
    tried = [one for one in (*fact.shapes[:1], whole_input) if one]
    for shape, (old, new) in itertools.product(tried, dict.fromkeys((*pairs, *((b, a) for a, b in pairs)))):
        # By default the last axis; another one only where no other axis has that size.
        at = -1 if shape and new == shape[-1] else shape.index(new) if shape and shape[1:].count(new) == 1 else 0
        if not shape or not at or old == new:
            continue
        for line, owner, build, whole in _builds(evidence):
            # The shapes of several inputs are taken apart first.
            parts = [item.targets[0] for item in nodes(build, ast.Assign) if ast.unparse(item.value) == whole]
            taken = [ast.unparse(name) for part in parts if isinstance(part, ast.Tuple) for name in nodes(part, ast.Name)]
            read = [
                node
                for node in nodes(build, ast.Subscript)
                if ast.unparse(node.value) in (whole, f"{whole}[0]", *taken) and index_of(node) in _places(shape, old)
            ]
            if len(read) > 1:  # those of the weight that the expression works on
                used = {ast.unparse(node) for node in nodes(line.node or line.scope, ast.Attribute)}
                made = [item for item in nodes(build, ast.Assign) if ast.unparse(item.targets[0]) in used]
                read = [node for node in read if any(node in nodes(item, ast.Subscript) for item in made)]
                operands = {ast.unparse(node) for node in line.operands()}
                whole_ones = [item for item in made if ast.unparse(item.targets[0]) in operands]
                if len(read) > 1 and len(whole_ones) == 1:  # the one that is an operand by itself
                    read = [node for node in read if node in list(nodes(whole_ones[0], ast.Subscript))]
            wide = []
            if not read:  # the shape of another input was read
                shapes = dict(zip(taken, [line.specs[name].shape for name in _apart(line) if name in line.specs], strict=False))
                wide = [name for name, its in shapes.items() if its and its[-1] == new]
                read = [node for node in nodes(build, ast.Subscript) if (its := shapes.get(ast.unparse(node.value))) and index_of(node) in _places(its, old)]
            alike = [
                size
                for item in nodes(build, ast.Assign)
                for size in listed(argument(item.value, "shape", ["shape"]) if isinstance(item.value, ast.Call) else None)[:1]
                if len(read) == 1 and ast.unparse(size) == ast.unparse(read[0])
            ]
            if len(read) == 1:
                other = f"{wide[0] if len(wide) == 1 else ast.unparse(read[0].value)}[{at}]"
                yield (
                    f"Use {'the last axis' if at == -1 else f'axis {at}'} in {owner.op}.build: {other} instead of {ast.unparse(read[0])}",
                    [line.edit(read[0], other)],
                    f"The weight then has one value per {'feature' if at == -1 else 'step'}: {new}.",
                )
            if len(alike) > 1:
                yield (
                    f"Use {other} instead of {ast.unparse(read[0])} for the {len(alike)} weights that {owner.op}.build creates with it",
                    [line.edit(size, other) for size in alike],
                    f"Each weight then has one value per {'feature' if at == -1 else 'step'}: {new}.",
                )


@of(OperationRaised)
def other_shape(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The shape of another of several inputs, where ``build`` reads an axis of one by its number and a weight does not fit."""
    pairs = [*fact.apart, *([(fact.reason.left, fact.reason.right)] if isinstance(fact.reason, Lengths) else [])]
    for line, owner, build, whole in _builds(evidence):
        inputs = [line.specs[name].shape for name in _apart(line) if name in line.specs]
        for node in nodes(build, ast.Subscript):
            place, at = node.value, index_of(node)
            which = index_of(place) if isinstance(place, ast.Subscript) and ast.unparse(place.value) == whole else None
            if at is None or which is None or not 0 <= which < len(inputs):
                continue
            read = _size_at(inputs[which], at)
            wanted = {b if a == read else a for a, b in pairs if read in (a, b)}
            others = [i for i, shape in enumerate(inputs) if i != which and _size_at(shape, at) in wanted]
            if len(others) == 1:
                new = f"{whole}[{others[0]}][{at}]"
                yield (
                    f"Use the shape of input {others[0] + 1} in {owner.op}.build: {new} instead of {ast.unparse(node)}",
                    [line.edit(node, new)],
                    f"The weight is multiplied with input {others[0] + 1}.",
                )


def _size_at(shape: Shape | None, at: int) -> int | None:
    return shape[at] if shape and -len(shape) <= at < len(shape) else None


@of(ShapesInBuild)
def first_shape(evidence: Evidence, finding: Finding, fact: ShapesInBuild) -> Made:
    """The first of several shapes, where ``build`` reads an axis of the list that holds them."""
    made = [(line, method_of(class_of(line.source.tree, fact.layer.op), fact.method)) for line in lines_at(evidence, fact.layer.called)[:1]]
    others = [(line, item, item.args.args[1].arg) for line, item in made if item is not None and len(item.args.args) > 1]
    for line, build, whole in [(line, build, whole) for line, _, build, whole in _builds(evidence)] if fact.method == "build" else others:
        read = [node for node in nodes(build, ast.Subscript) if ast.unparse(node.value) == whole and index_of(node) is not None]
        for which in range(len(fact.shapes)) if read else ():
            new = f"{fact.layer.op}.{fact.method}: {whole}[{which}][{index_of(read[0])}]"
            yield (
                f"Use the shape of input {which + 1} in {new} instead of {ast.unparse(read[0])}",
                [line.edit(node, f"{whole}[{which}][{index_of(node)}]") for node in read],
                f"{fact.method} receives one shape for each input of the layer.",
            )


def read_axis(evidence: Evidence, finding: Finding) -> Made:
    """Another axis of a shape that the function reads."""
    line = next(iter(lines_of(evidence)), None)
    fact = finding.fact
    pairs: list[tuple[int, int]] = []
    if isinstance(fact, OperationRaised):
        pairs = [*fact.apart]
    elif isinstance(fact, (LossRaised, LossCalled)) and fact.labels and fact.predictions:
        # As many labels as something else has entries.
        pairs = [(fact.labels[0] or 0, fact.predictions[0] or 0)]
    shapes = [shape for _, shape in line.shaped()] if line is not None and isinstance(fact, OperationRaised) else []
    if len(shapes) == 2 and any(between(*two) for two in (shapes, shapes[::-1])):
        return  # the sizes are there in order, and what lacks an axis is the table
    for node in nodes(line.scope, ast.Subscript) if line is not None and pairs else ():
        assert line is not None
        at, owner = index_of(node), shape_read(node.value)
        spec = line.specs.get(ast.unparse(owner)) if owner is not None else None
        if spec is None or at is None or spec.shape is None or not -len(spec.shape) <= at < len(spec.shape):
            continue
        for pair in dict.fromkeys(pairs):
            read = spec.shape[at]
            if at == 0 and any(given.shape and given.shape[0] == read for _, given in evidence.x):
                continue  # as many as there are samples, and not features
            if read not in pair or pair[0] == pair[1]:
                continue
            wanted = pair[1] if read == pair[0] else pair[0]
            places = [place for place, size in enumerate(spec.shape) if size == wanted]
            if isinstance(fact, (LossRaised, LossCalled)):
                places = [place for place in places if place == 0]  # as many labels as samples
            if len(places) == 1:
                # Counted from the end where the program does.
                place = places[0] - len(spec.shape) if at < 0 and places[0] else places[0]
                new = f"{ast.unparse(node.value)}[{place}]"
                yield (
                    f"Use axis {place} at line {node.lineno}: {new} instead of {ast.unparse(node)}",
                    [line.edit(node, new)],
                    f"Axis {at} has size {read}, but axis {place} has size {wanted}, like the other operand.",
                )


def _apart(line: Line) -> list[str]:
    """The names that a function gives to its several inputs, in the order of the nest that ``build`` gets the shapes of."""
    first = [arg.arg for arg in line.scope.args.args if arg.arg != "self"][:1] if isinstance(line.scope, ast.FunctionDef) else []
    taken = [item.targets[0] for item in nodes(line.scope, ast.Assign) if [ast.unparse(item.value)] == first]
    return [ast.unparse(name) for name in listed(taken[0])] if taken else []


def index_of(node: ast.Subscript) -> int | None:
    return whole_number(node.slice)


def _places(shape: Shape, size: int) -> set[int]:
    return {i - back for i, n in enumerate(shape) if n == size for back in (0, len(shape))}


def _builds(evidence: Evidence) -> Iterator[tuple[Line, Node, ast.FunctionDef, str]]:
    line, owner = next(iter(lines_of(evidence)), None), own_layer(evidence)
    if line is not None and owner is not None:
        classes = [cls for cls in nodes(line.source.tree, ast.ClassDef) if cls.name == owner.op]
        for build in (method_of(cls, "build") for cls in classes):
            if build is not None and len(build.args.args) > 1:
                yield line, owner, build, build.args.args[1].arg


def read_off_other(evidence: Evidence, finding: Finding) -> Made:
    """The same axis of another tensor, where the function reads a size off one and the size that fits is the other's."""
    line = next(iter(lines_of(evidence)), None)
    if line is None or not isinstance(finding.fact, OperationRaised):
        return
    here = [ast.unparse(node) for node in line.operands()]
    one, other = finding.fact.shapes if len(finding.fact.shapes) == 2 else ((), ())
    rows = [(one[0], other[0])] if one and other and len(one) == len(other) else []
    for node in nodes(line.scope, ast.Subscript):
        at, owner = index_of(node), shape_read(node.value)
        spec = line.specs.get(ast.unparse(owner)) if owner is not None else None
        read = _size_at(spec.shape, at) if spec is not None and at is not None else None
        if owner is None or at is None or read is None:
            continue
        for pair in dict.fromkeys((*finding.fact.apart, *(rows if at == 0 else ()))):
            wanted = pair[1] if read == pair[0] else pair[0] if read == pair[1] else None
            if wanted in (None, read):
                continue
            names = [name for name, its in line.specs.items() if name != ast.unparse(owner) and _size_at(its.shape, at) == wanted]
            # What is read for another tensor than the one that it has to fit would be a third.
            names = [name for name in names if name in here and name.isidentifier()]
            if len(names) == 1:
                new = ast.unparse(node).replace(ast.unparse(owner), names[0], 1)
                # A name that other lines read too keeps its value.
                kept = [ast.unparse(item.targets[0]) for item in nodes(line.scope, ast.Assign) if item.value is node]
                reads = [one for one in nodes(line.scope, ast.Name) if [one.id] == kept and isinstance(one.ctx, ast.Load)]
                inside = [one for one in nodes(line.node, ast.Name) if one in reads] if line.node is not None else []
                places: list[ast.expr] = [*inside] if inside and len(inside) < len(reads) else [node]
                yield (
                    f"Use the size of {names[0]} at line {places[0].lineno}: {new} instead of {ast.unparse(places[0])}",
                    [line.edit(one, new) for one in places],
                    f"Axis {at} of {ast.unparse(owner)} has size {read}, but that of {names[0]} has size {wanted}.",
                )


@of(OperationRaised)
def other_name(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Another size of the function, where a table such as a mask is made with the one that does not fit."""
    for line in lines_of(evidence)[:1]:
        for (node, shape), (_, other) in itertools.permutations(line.shaped(), 2):
            apart = {pair for pair in zip(reversed(shape), reversed(other), strict=False) if pair[0] != pair[1] and 1 not in pair}
            old, new = apart.pop() if len(apart) == 1 else (None, None)
            # A size that is read off a tensor, and no number of the layer that happens to be as large.
            right = [name for name, value in line.numbers.items() if value == new and _off_shape(line, name)]
            if old is not None and len(right) == 1:
                for call in (item for item in nodes(assigned_to(line, node), ast.Call) if called(item) in _TABLES):
                    wrong = [item for item in nodes(call, ast.Name) if line.numbers.get(item.id) == old]
                    if wrong and len({item.id for item in wrong}) == 1:
                        yield (
                            f"Use {right[0]} ({new}) instead of {wrong[0].id} ({old}) in {short(call)} at line {call.lineno}",
                            [line.edit(item, right[0]) for item in wrong],
                            "The other operand has that size.",
                        )


@of(OperationRaised)
def other_attribute(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Another size that the object keeps, for a function of the program's own that makes a table."""
    for line in running(evidence) if isinstance(fact.reason, Lengths) else ():
        assert isinstance(fact.reason, Lengths)
        own = {item.name for item in nodes(line.source.tree, ast.FunctionDef)}
        given = [one for call in nodes(line.scope, ast.Call) if called(call) in own for one in call.args]
        for node, (old, new) in itertools.product(given, itertools.permutations((fact.reason.left, fact.reason.right))):
            held = line.number(node) if isinstance(node, ast.Attribute) else None
            right = [name for name, value in line.numbers.items() if held and value * old == held * new and name.startswith("self.")]
            if len(right) == 1:
                yield (
                    f"Use {right[0]} instead of {ast.unparse(node)} at line {node.lineno}",
                    [line.edit(node, right[0])],
                    f"The size is then {new} instead of {old}.",
                )


def _off_shape(line: Line, name: str) -> bool:
    for item in nodes(line.scope, ast.Assign):
        held = [one.id for target in item.targets for one in nodes(target, ast.Name)]
        value = item.value.value if isinstance(item.value, ast.Subscript) else item.value
        if name in held and shape_read(value) is not None:
            return True
    return False


def length_of_own(evidence: Evidence, finding: Finding) -> Made:
    """The length of the tensor that is reshaped, where the length of another one was read."""
    reason = getattr(finding.fact, "reason", finding.fact)
    target = reason.target if isinstance(reason, (WrongCount, Uneven)) else ()
    shape = reason.given if isinstance(reason, WrongCount) else reason.shape if isinstance(reason, Uneven) else ()
    for line, _ in calls_of(evidence, "reshape") if target else ():
        given, written = reshaped(line)
        names = [name.id for name in nodes(given, ast.Name) if name.id in line.specs] if given is not None else []
        # Other reshapes may have the same target, by the name of a tuple.
        held = listed(assigned_to(line, written[0])) if len(written) == 1 else []
        sizes = held or written
        if len(names) != 1 or len(sizes) != len(target):
            continue
        own = line.specs[names[0]].shape or ()
        # A number of the module is no length that the function read.
        bound = {one.arg for one in nodes(line.scope, ast.arg)} | {one.id for one in nodes(line.scope, ast.Name) if isinstance(one.ctx, ast.Store)}
        for axis in range(1, min(len(own), len(sizes), len(shape))):
            size = sizes[axis]
            if not bound & {one.id for one in nodes(size, ast.Name)}:
                continue
            wanted = (*target[1:axis], own[axis] or 0, *target[axis + 1 :])
            if isinstance(size, ast.Constant) or own[axis] != shape[axis] or elements(wanted) != elements(shape[1:]) or target[0] not in (None, shape[0]):
                continue
            # What is made of the same tensor in the same way has the same fault.
            calls = [(array, ends) for one in nodes(line.scope, ast.Call) for array, ends in [reshaped(line, one)] if array is not None]
            alike = [(array, ends) for array, ends in calls if [*map(ast.unparse, ends)] == [*map(ast.unparse, written)]]
            new = f"{MODULE}.shape({names[0]})[{axis}]"
            new = f"({', '.join(new if one is size else ast.unparse(one) for one in held)})" if held else new
            yield (
                f"Use the size of {names[0]} at {line.at}: shape({names[0]})[{axis}] instead of {ast.unparse(size)}",
                [line.edit(ends[0 if held else axis], new, line.module()) for array, ends in alike if names[0] in {one.id for one in nodes(array, ast.Name)}],
                f"{names[0]} has {own[axis]} steps, but {ast.unparse(size)} is {target[axis]}.",
            )


@of(SizeMissing)
def one_feature(evidence: Evidence, finding: Finding, fact: SizeMissing) -> Made:
    """A last axis of size 1 for the data, where it is the array, and that size for the one that is read."""
    paths = [path for path, spec in evidence.x if spec.shape and spec.shape[1:] == fact.shape[1:]]
    if fact.axis != len(fact.shape) or len(paths) != 1 or len(evidence.x) != 1:
        return
    for line in lines_of(evidence)[:1]:
        for node in line.around(ast.Subscript):
            if ast.unparse(node) == f"{fact.name}.shape[{fact.axis}]":
                yield (
                    f"Add a last axis of size 1 to the data, and use 1 for its size at line {node.lineno}",
                    [transform(paths[0], "expand_dims", axis=fact.axis), line.edit(node, "1")],
                    "Each value is then one feature.",
                )


_CTC = ["target", "output", "target_length", "output_length"]


@of(StepsTold)
def steps_of_logits(evidence: Evidence, finding: Finding, fact: StepsTold) -> Made:
    """The steps of the logits for the length that a CTC loss is told."""
    for line, call in calls_at(evidence, finding.location, "ctc_loss"):
        length, logits = argument(call, "output_length", _CTC), argument(call, "output", _CTC)
        made = assigned_to(line, length) if isinstance(length, ast.Name) else length
        if made is None or logits is None:
            continue
        name = line.source.of(logits)
        reads = [one for one in nodes(made, ast.Subscript) if shape_read(one.value) is not None and index_of(one) != 0]
        edits = [line.edit(one, f"{ast.unparse(one.value.func)}({name})[1]" if isinstance(one.value, ast.Call) else f"{name}.shape[1]") for one in reads]
        edits = edits or [line.edit(one, f"{name}.shape[1]") for one in nodes(made, ast.Constant) if one.value == fact.told]
        if len(edits) == 1:
            yield f"Take the length from axis 1 of {name} for {line.at}", edits, "The steps of the logits are on axis 1."


@of(OperationRaised)
def counted_along_steps(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Positions that are counted along the steps, and not along the batch."""
    for line in lines_of(evidence)[:1]:
        read = loaded(line.node) if line.node is not None else set()
        own = set(ast.walk(line.node)) if line.node is not None else set()
        counted = samples_counted(line.scope)
        edits = [line.edit(one.slice, "1") for made, one in counted if made in own or (isinstance(made, ast.Assign) and ast.unparse(made.targets[0]) in read)]
        if edits and any(len(shape or ()) > 2 for shape in fact.shapes):
            yield "Count the positions along axis 1, the steps", edits, "Axis 0 is the batch, and samples have no positions."


@of(SamplesInOrder)
def positions_of_steps(evidence: Evidence, finding: Finding, fact: SamplesInOrder) -> Made:
    """Positions counted along the steps, and the same for every sample."""
    for line in lines_at(evidence, finding.location)[:1] if fact.counted and len(fact.shape) == 3 and fact.shape[1] == 1 else ():
        counts = [call.args[0] for call in nodes(line.scope, ast.Call) if called(call) in ("arange", "range") and len(call.args) == 1]
        rows = [one for one in counts if isinstance(one, ast.Subscript) and ast.unparse(one.slice) == "0" and "shape" in ast.unparse(one.value)]
        ones = [one for one in nodes(line.scope, ast.Subscript) if ast.unparse(one.slice).strip("()") in (":, None, :", ":, None")]
        if len(counts) == len(rows) == len(ones) == 1:
            index, table = rows[0].slice, ones[0].value
            edits, text = [], line.source.of(table)
            if index in [*ast.walk(table)]:
                start = line.source.start(table)
                text = text[: line.source.start(index) - start] + "1" + text[line.source.end(index) - start :]
            else:
                edits.append(line.edit(index, "1"))
            edits.append(line.edit(ones[0], f"{text}[None]"))
            yield (
                f"Count the positions along the steps at line {rows[0].lineno}: {ast.unparse(rows[0].value)}[1]",
                edits,
                "Each step then has the same position in every sample.",
            )
