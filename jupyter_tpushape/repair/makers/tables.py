"""Candidates for tables that the program holds, and for parts that it joins or uses whole: the size that the other operand has."""

from __future__ import annotations

import ast
import itertools

from ...examine.counted import counted
from ...examine.evidence import Evidence
from ...examine.written_slices import unindexed
from ...flow import Finding, Shape, show_shape
from ...flow.syntax import called
from ...rules.facts.contracts import WeightApart
from ...rules.facts.held import AdaptedApart, ScalarSum
from ...rules.facts.layers import OperationRaised, WrongMask
from ...rules.facts.reasons import ClassesSummed, Lengths
from ...rules.facts.reasons_read import CountsSamples, Unindexed
from ..edits.expression import IT
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, of, setting
from .line import Line, assigned_to, lines_at, lines_of, listed, short, whole_number
from .operands import JOINS


@of(AdaptedApart)
def adapted_to_inputs(evidence: Evidence, finding: Finding, fact: AdaptedApart) -> Made:
    """The columns of a table that the text takes elsewhere."""
    node = next((one for one in evidence.flow.nodes if one.name == fact.layer.name), None)
    for line in lines_at(evidence, node.location if node is not None else None)[:1]:
        for call in nodes(line.source.tree, ast.Call):
            if not (isinstance(call.func, ast.Attribute) and call.func.attr == "adapt" and len(call.args) == 1):
                continue
            for whole in nodes(call.args[0], ast.Name):
                parts = [one for one in nodes(line.source.tree, ast.Subscript) if ast.unparse(one.value) == whole.id and _columns(one)]
                for part in dict.fromkeys(map(ast.unparse, parts)):
                    yield (
                        f"Call adapt of {fact.layer.name} with {part} at line {call.lineno}",
                        [line.edit(whole, part)],
                        f"{whole.id} has {fact.adapted} columns, and the model receives {fact.given[-1]}.",
                    )


def _columns(part: ast.Subscript) -> bool:
    index = part.slice.elts if isinstance(part.slice, ast.Tuple) else []
    return len(index) == 2 and all(isinstance(one, ast.Slice) for one in index) and not [*nodes(part.slice, ast.Name)]


@of(OperationRaised)
def once_for_each_half(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Cosines and sines of rotary positions, one for each pair of features, for both features of a pair, as the program's rotation pairs them."""
    for line in lines_of(evidence)[:1]:
        sides = sorted(line.shaped(), key=lambda side: side[1][-1] or 0)
        sizes = [shape[-1] or 0 for _, shape in sides]
        if fact.operation != "Mul" or len(sides) != 2 or sizes[1] != 2 * sizes[0] or not isinstance(sides[0][0], ast.Name):
            continue
        held = {name: shape for name, shape in line.shape_of_names().items() if shape == sides[0][1] and name.isidentifier()}
        joined = [call for call in nodes(line.source.tree, ast.Call) if called(call) in (*JOINS, "stack") and call.args and _turns(call.args[0])]
        names = [name for name in held if any(one.id == name for item in line.around(ast.stmt, line.scope)[-1:] for one in nodes(item, ast.Name))]
        if len(joined) != 1 or not names or len(line.around(ast.stmt, line.scope)) < 2:
            continue
        how = "{module}.repeat(one, 2, axis=-1)" if called(joined[0]) == "stack" else "{module}.concatenate([one, one], axis=-1)"
        text = f"{', '.join(names)} = ({how} for one in ({', '.join(names)}))" if len(names) > 1 else f"{names[0]} = {how.replace('one', names[0])}"
        yield (
            f"Repeat {' and '.join(names)} for both features of a pair before {line.at}",
            [line.before(line.around(ast.stmt, line.scope)[-1], text, line.module())],
            f"The rotation at line {joined[0].lineno} pairs the features, and both of a pair have one angle.",
        )


def _turns(parts: ast.expr) -> bool:
    """Whether the first of two parts is the negative of one."""
    both = listed(parts)
    return len(both) == 2 and isinstance(both[0], ast.UnaryOp) and isinstance(both[0].op, ast.USub)


def table_start(evidence: Evidence, finding: Finding) -> Made:
    """The first rows of a table that the program holds for the longest sequence."""
    # A mask goes with the steps of what it is given beside, which are on another axis there.
    for line in [] if isinstance(finding.fact, WrongMask) else lines_of(evidence):
        operands = line.shaped()
        for (table, larger), (other, shape) in itertools.permutations(operands, 2):
            names = [item for item in nodes(table, (ast.Name, ast.Attribute)) if _held(line, ast.unparse(item), larger)]
            if not names or not isinstance(other, (ast.Name, ast.Attribute)) or len(larger) > len(shape):
                continue
            few = shape[len(shape) - len(larger) :]
            differ = [axis for axis, (a, b) in enumerate(zip(larger, few, strict=True)) if a != b and 1 not in (a, b)]
            if differ and differ[0] < len(larger) - 2 and len({*larger[-2:], *few[-2:]}) == 1:
                continue  # before the pairs of positions there are heads or windows, of which none is too many
            # Each of these is longer in the table, and what is cut off is what the sequence does not reach.
            # The last axis alone holds features, of which none is too many.
            if not set(differ) - {len(larger) - 1} or any(few[axis] is None or (larger[axis] or 0) < (few[axis] or 0) for axis in differ):
                continue
            size = [f"{ast.unparse(other)}.shape[{axis - len(larger)}]" for axis in range(len(larger))]
            cut = [f":{size[axis]}" if axis in differ else ":" for axis in range(differ[-1] + 1)]
            yield (
                f"Use only the first {' by '.join(str(few[axis]) for axis in differ)} of {short(names[0])} at {line.at}",
                [line.edit(names[0], f"{IT}[{', '.join(cut)}]")],
                "The table has as many rows as the longest input, but this input is shorter.",
            )


def _held(line: Line, name: str, shape: Shape) -> bool:
    """Whether an attribute or global of the program holds a table of this shape: it is no result of the data."""
    spec = line.specs.get(name)
    return spec is not None and spec.shape == shape and ("." in name or name.isupper())


@of(OperationRaised)
def joined_below(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Parts joined one below the other in place of side by side, or the reverse."""
    for line in lines_of(evidence)[:1]:
        sizes = sorted((shape for shape in fact.shapes if shape), key=lambda shape: sum(size or 0 for size in shape))
        if len(sizes) != 2 or len(sizes[0]) != len(sizes[1]):
            continue
        apart = {(few, many) for few, many in zip(*sizes, strict=True) if few != many}
        for join in nodes(line.scope, ast.Call):
            parts = join.args[0] if called(join) in JOINS and join.args else None
            axis = argument(join, "axis", ["values", "axis"])
            written, shapes = whole_number(axis), {line.shape(part) for part in listed(parts)}
            shape = next(iter(shapes), None)
            if axis is None or written is None or len(shapes) != 1 or not shape or not -len(shape) <= written < len(shape):
                continue
            for new in range(len(shape)):
                if new != written % len(shape) and apart == {(shape[new], (shape[new] or 0) * len(listed(parts)))}:
                    yield (
                        f"Concatenate along axis {new} at line {axis.lineno}",
                        [line.edit(axis, str(new))],
                        f"The other operand has the size of all the parts together, {(shape[new] or 0) * len(listed(parts))}.",
                    )


def joined_along(evidence: Evidence, finding: Finding) -> Made:
    """Parts joined along the axis that gives them the shape of the tensor that they meet."""
    for line in lines_of(evidence):
        operands = line.shaped()
        for (node, shape), (other, wanted) in itertools.permutations(operands, 2):
            made = assigned_to(line, node)
            parts = made.args[0] if isinstance(made, ast.Call) and called(made) in JOINS and made.args else None
            axis = argument(made, "axis", ["values", "axis"]) if isinstance(made, ast.Call) else None
            if not isinstance(parts, (ast.List, ast.Tuple)) or not isinstance(axis, ast.Constant) or not isinstance(axis.value, int):
                continue
            new = _turned(shape, axis.value, len(parts.elts), wanted)
            if new is not None:
                yield (
                    f"Concatenate along axis {new} at line {axis.lineno}: {short(node)} then has the shape of {short(other)}",
                    [line.edit(axis, str(new))],
                    "",
                )


def _turned(shape: Shape, axis: int, parts: int, wanted: Shape) -> int | None:
    if len(shape) != len(wanted) or None in (*shape, *wanted) or not -len(shape) <= axis < len(shape) or (shape[axis] or 0) % parts:
        return None
    one = [size or 0 for size in shape]
    one[axis] //= parts
    fits = [k for k in range(len(one)) if k != axis % len(one) and tuple(size * parts if i == k else size for i, size in enumerate(one)) == wanted]
    return fits[0] if fits else None


@of(WeightApart)
def size_of_table(evidence: Evidence, finding: Finding, fact: WeightApart) -> Made:
    """The size of an embedding's table as that of the array that it is given."""
    if fact.owner is None or fact.owner.op != "Embedding" or len(fact.given) != 2:
        return
    for size, have, wanted in zip(("input_dim", "output_dim"), fact.wanted, fact.given, strict=True):
        # An id without a row is no better than an array that does not fit.
        ids = [one.maximum or 0 for one in (getattr(evidence.sample, "stats", None) or {}).values() if one is not None and one.whole]
        if have != wanted and not (size == "input_dim" and any((wanted or 0) <= highest < (have or 0) for highest in ids)):
            yield setting(fact.owner, size, wanted, ", the size of the array", "The array then fits the table.")


@of(WeightApart)
def axes_of_weight(evidence: Evidence, finding: Finding, fact: WeightApart) -> Made:
    """An array with its axes in the order of a layer's weight."""
    order = (*range(2, len(fact.given)), 1, 0)
    if len(fact.given) < 2 or tuple(fact.given[axis] for axis in order) != fact.wanted:
        return
    turned = f"{IT}.T" if len(order) == 2 else f"{IT}.transpose({', '.join(map(str, order))})"
    for line in lines_of(evidence)[:1]:
        call = line.call("set_weights", "assign")
        for item in call.args if call is not None else ():
            for array in item.elts if isinstance(item, (ast.List, ast.Tuple)) else [item]:
                yield (
                    f"Transpose {short(array)} at {line.at}: {show_shape(fact.wanted)}",
                    [line.edit(array, turned)],
                    "The inputs of this weight come before its outputs.",
                )


def _shaped_metric(evidence: Evidence, fact: ScalarSum) -> Made:
    for line in lines_of(evidence)[:1]:
        names = [_assigned(call) for call in nodes(line.scope, ast.Call)]
        made = [item for item in nodes(line.owner(), ast.Assign) if ast.unparse(item.targets[0]) in names and called(item.value) == "add_weight"]
        plain = [item for item in made if isinstance(item.value, ast.Call) and argument(item.value, "shape", []) is None]
        held = {value: key for key, value in line.numbers.items() if key.startswith("self.")}
        shape = ", ".join(held.get(size or 0, str(size)) for size in fact.given or ())
        here = [item for item in plain if ast.unparse(item.targets[0]) == _assigned(line.node)]
        for chosen in (plain, here) if len(plain) > len(here) else (here,):
            if chosen:
                yield (
                    f"Create {' and '.join(ast.unparse(item.targets[0]) for item in chosen)} with shape {show_shape(fact.given)}",
                    [line.more(item.value, f"shape=({shape},)") for item in chosen],
                    "Each value then has its own entry.",
                )


def _whole_sum(evidence: Evidence, fact: ScalarSum) -> Made:
    for line in lines_of(evidence)[:1] if fact.given == (1,) else []:
        sums = [call for call in nodes(line.node or line.scope, ast.Call) if called(call) in ("sum", "reduce_sum")]
        axes = [word for call in sums for word in call.keywords if word.arg == "axis" and ast.unparse(word.value) == "0"]
        if len(sums) == len(axes) == 1:
            yield (f"Sum over all axes at {line.at}", [line.edit(axes[0].value, "None")], "Each prediction is a single number, so the sum is one too.")


def _assigned(node: ast.AST | None) -> str:
    method = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    return ast.unparse(method.value) if method is not None and method.attr in ("assign", "assign_add", "assign_sub") else ""


@of(ScalarSum)
def summed_metric(evidence: Evidence, finding: Finding, fact: ScalarSum) -> Made:
    """One number of all samples for a variable that is a number."""
    if not fact.given or (fact.wanted and fact.given[1:] != fact.wanted):
        return
    if not fact.samples:
        yield from _whole_sum(evidence, fact)
        yield from _shaped_metric(evidence, fact)
        return
    for line in lines_of(evidence)[:1]:
        call = line.node
        if isinstance(call, ast.Call) and called(call) == "assign_add" and len(call.args) == 1:
            total = "reduce_sum" if line.module() == "tensorflow" else "sum"
            value, each = call.args[0], "axis=0" if fact.wanted else ""
            over = None
            if each and isinstance(value, ast.Call) and called(value) == total and value.args and argument(value, "axis", []) is not None:
                over = line.edit(value, f"{ast.unparse(value.func)}({line.source.of(value.args[0])}, {each})")
            yield (
                f"Add the sum over the samples at {line.at}",
                [over or line.apply(value, total, *filter(None, [each]))],
                f"The variable {'has no axis for them' if fact.wanted else 'is a single number'}.",
            )


@of(OperationRaised)
def summed_samples(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Reductions over the classes as ones over the samples, wherever the method has one of such a tensor."""
    line = next(iter(lines_of(evidence)), None)
    if line is None or not isinstance(fact.reason, ClassesSummed):
        return
    here = [item for item in line.operands() if isinstance(item, ast.Call)]
    for call in here:
        axis = argument(call, "axis", [])
        if axis is None or ast.unparse(axis) not in ("-1", "1"):
            continue
        alike = [one for one in nodes(line.scope, ast.Call) if called(one) == called(call) and one.args and one is not call]
        more = [argument(one, "axis", []) for one in alike if line.shape(one.args[0]) == fact.reason.whole]
        every = [axis, *(one for one in more if one is not None and ast.unparse(one) == ast.unparse(axis))]
        yield (
            f"Use axis 0 in {called(call)} at {line.at}: the sum over the samples",
            [line.edit(one, "0") for one in every],
            "Each class keeps its own value.",
        )


def held_size(evidence: Evidence, finding: Finding) -> Made:
    """A size that is written where the module makes a table, in place of the one that meets the table on the line that raised."""
    reason = finding.fact.reason if isinstance(finding.fact, OperationRaised) else None
    if not isinstance(reason, Lengths) or (reason.first and reason.second):
        return
    old, new = (reason.right, reason.left) if reason.first else (reason.left, reason.right)
    for line in lines_of(evidence)[:1]:
        used = {item.id for item in nodes(line.node or line.scope, ast.Name)}
        made = [item for item in line.source.tree.body if isinstance(item, ast.Assign)]
        for table in [item for item in made if any(isinstance(one, ast.Name) and one.id in used for one in item.targets)]:
            written = [item for item in nodes(table.value, ast.Constant) if type(item.value) is int and item.value == old]
            if len(written) == 1 and isinstance(table.value, (ast.Call, ast.BinOp)):
                yield (
                    f"Replace {old} with {new} at line {written[0].lineno}",
                    [line.edit(written[0], str(new))],
                    f"{ast.unparse(table.targets[0])} is combined with a tensor of this size.",
                )


@of(OperationRaised)
def other_axis(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The axis of the same tensor that has as many entries as the other operand needs."""
    reason = fact.reason
    if not isinstance(reason, CountsSamples):
        return
    for line in lines_of(evidence)[:1]:
        for found in counted(line.raised, reason.batch, reason.wanted):
            yield (
                f"Use axis {found.axis} at line {found.node.lineno}: {found.new} instead of {ast.unparse(found.node)}",
                [line.edit(found.node, found.new)],
                "Axis 0 is the batch: its size changes from batch to batch.",
            )
            return


@of(OperationRaised)
def one_entry(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The entry that another line reads."""
    reason = fact.reason
    for line in lines_of(evidence)[:1] if isinstance(reason, Unindexed) else ():
        for node, entry in unindexed(line.raised, lambda text: isinstance(reason, Unindexed) and text == reason.name):
            new = entry.of(ast.unparse(node))
            yield (
                f"Use {new} instead of {ast.unparse(node)} at line {node.lineno}",
                [line.edit(node, new)],
                f"Line {entry.line} reads {entry.of(entry.array)} in the same way.",
            )


_WAVES = frozenset({"cos", "sin"})


@of(OperationRaised)
def each_pair(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Every second place where a table of cosines and sines has an angle for each value, and is multiplied by half of the values."""
    if fact.operation != "Mul" or len(fact.shapes) != 2:
        return
    first, second = ((shape or (None,))[-1] for shape in fact.shapes)
    if not first or not second or max(first, second) != 2 * min(first, second):
        return
    for line in lines_of(evidence)[:1]:
        for call in _counts(line):
            stop = call.args[-1]
            rest = "".join(f", {word.arg}={line.source.of(word.value)}" for word in call.keywords)
            new = f"{ast.unparse(call.func)}(0, {line.source.of(stop)}, 2{rest})"
            yield (
                f"Count in steps of 2 at line {call.lineno}: {new}",
                [line.edit(call, new)],
                "One angle turns a pair of values, so there are half as many angles as values.",
            )


def _counts(line: Line) -> list[ast.Call]:
    """The counts from 0 on, one by one, in a function or a class of the file that computes cosines and sines."""
    found: dict[int, ast.Call] = {}
    for scope in nodes(line.source.tree, (ast.FunctionDef, ast.ClassDef)):
        calls = list(nodes(scope, ast.Call))
        if {called(one) for one in calls} >= _WAVES:
            found.update((id(one), one) for one in calls if called(one) == "arange" and _from_zero(one))
    return [*found.values()][:4]


def _from_zero(call: ast.Call) -> bool:
    start = call.args[0] if len(call.args) == 2 else None
    zero = isinstance(start, ast.Constant) and start.value in (0, 0.0)
    return (len(call.args) == 1 or zero) and all(word.arg == "dtype" for word in call.keywords)
