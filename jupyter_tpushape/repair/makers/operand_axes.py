"""Candidates that change the axes of an operand: one of size 1 more or less, two exchanged."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding, Shape, Who, show_shape
from ...flow.syntax import called, is_new_axis
from ...rules.facts.layers import OperationRaised, WrongMask
from ...rules.facts.reasons import AxisDropped, ClassIndices, InARow, LacksAxis, SamplesReduced
from ...rules.facts.reasons_read import CountsSamples
from ...rules.reasons import product_of_rows
from ..edits.code import over_everything
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import nodes, parents
from .edits import Made, of
from .line import Line, assigned_to, calls_of, columns_read, lines_at, lines_of, listed, own_layer, short, whole_number
from .weights import shapes_of_weights
from .written import summed_axes

# -- axes


def axes(evidence: Evidence, finding: Finding) -> Made:
    """An axis of size 1 more, or less, at one operand."""
    if isinstance(finding.fact, WrongMask):
        for line in lines_of(evidence) or lines_at(evidence, finding.location):
            yield from _mask(line, finding.fact.shape)
        return
    reason = finding.fact.reason if isinstance(finding.fact, OperationRaised) else None
    if isinstance(reason, (AxisDropped, ClassIndices, CountsSamples)):
        return  # which axis is missing is known, or none is: the size is wrong
    if isinstance(reason, InARow):
        for line in lines_of(evidence):
            ops = {one.giver.op.lower() for one in evidence.given if one.giver is not None and one.spec.shape == reason.other}
            made = [node for node in line.operands() if called(node) in ops]
            for node in [node for node, shape in line.shaped() if shape == reason.other] or made:
                flat = line.edit(node, f"{MODULE}.reshape({IT}, (-1,))", line.module())
                yield f"Flatten {short(node)} at {line.at}, too: {_sizes(reason.row)}", [flat], "The other operand is flattened."
        return
    for line in lines_of(evidence)[:1]:
        alike = list(_summed_alike(line))
        if alike:
            yield from alike
            return
    # Sizes that layers give were meant to be the same; the operands of such a product are where they belong.
    given = isinstance(finding.fact, OperationRaised) and summed_axes(evidence, finding.fact) is not None
    for line in lines_of(evidence):
        yield from _axes(line, not given)


@of(OperationRaised)
def column_of_each(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The vector of each sample as a column, for a product before the operation that raised."""
    node = evidence.given[0].giver if evidence.given else None
    for line in lines_at(evidence, node.called if node is not None else None)[:1] if product_of_rows(evidence, node) else ():
        for call in (one for one in line.around(ast.Call) if called(one) == "matmul" and len(one.args) == 2):
            new = f"{short(call.args[1])} as a column at {line.at}: (batch, {(fact.shapes[0] or ())[-1]}, 1)"
            yield f"Use {new}", [line.edit(call.args[1], f"{IT}[:, :, None]")], "Each matrix is then multiplied by the vector of its sample."


@of(OperationRaised)
def for_each_step(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """One vector a sample for each of the steps whose features it is joined with."""
    reason = fact.reason
    if not isinstance(reason, LacksAxis) or not reason.joins or len(reason.short) != 2:
        return
    for line, call in calls_of(evidence, "concat", "concatenate"):
        axis = whole_number(argument(call, "axis", ["values", "axis"]))
        holder = next((one for one in reversed(line.around(ast.stmt, line.scope)) if one is not line.scope), None)
        names = [next((one for one, shape in line.shaped() if shape == wanted and isinstance(one, ast.Name)), None) for wanted in (reason.short, reason.long)]
        if axis in (-1, len(reason.long) - 1) and holder is not None and None not in names:
            few, many = map(ast.unparse, filter(None, names))
            text = f"{few} = {MODULE}.repeat({few}[:, None], {MODULE}.shape({many})[1], axis=1)"
            yield (
                f"Repeat {few} for each of the steps of {many}, before line {holder.lineno}",
                [line.before(holder, text, line.module())],
                "Every step is then joined with the same vector.",
            )


def _summed_alike(line: Line) -> Made:
    """The sum over the last axis for both of two operands of which one is summed, where the samples' mean is taken right behind."""
    up = parents(line.source.tree)
    outer = up.get(line.node) if isinstance(line.node, ast.BinOp) and isinstance(line.node.op, (ast.Add, ast.Sub)) else None
    averaged = isinstance(outer, ast.Call) and called(outer) in ("reduce_mean", "mean") and len(outer.args) == 1 and not outer.keywords
    pairs = line.shaped() if averaged else []
    for (less, few), (more, many) in (pairs, pairs[::-1]) if len(pairs) == 2 else ():
        total = assigned_to(line, less)
        sums = isinstance(total, ast.Call) and called(total) in ("reduce_sum", "sum") and len(total.args) + len(total.keywords) == 2
        if sums and few and many[:-1] == few and many[-1] not in (None, 1):
            name = called(total)
            yield (
                f"Sum {short(more)} over its last axis at {line.at}, as {short(less)} is",
                [line.apply(more, name if line.module() == "tensorflow" else "sum", -1)],
                "Each sample then has one value on both sides, before the mean is taken.",
            )


def _put_in(line: Line, shape: Shape) -> set[int]:
    """Where the function puts an axis of size 1 into other tensors of a shape: what goes with them needs it there too."""
    found, shapes = set(), line.shape_of_names()
    for item in (one for one in nodes(line.scope, ast.Subscript) if shapes.get(ast.unparse(one.value)) == shape):
        parts = listed(item.slice) or [item.slice]
        ones = [i for i, part in enumerate(parts) if is_new_axis(part)]
        if len(ones) == 1:
            rest = any(isinstance(part, ast.Constant) and part.value is ... for part in parts[: ones[0]])
            found.add(len(shape) - (len(parts) - 1 - ones[0]) if rest else ones[0])
    return found


def _multiplies_labels(line: Line, node: ast.expr, shape: Shape) -> bool:
    """Whether a loss multiplies its labels, several for each sample, with something: one of them was to be the factor of one value."""
    product = isinstance(line.node, ast.BinOp) and isinstance(line.node.op, ast.Mult)
    if line.evidence.where != "loss" or not product or len(shape) < 2 or shape[-1] in (None, 1) or not isinstance(line.scope, ast.FunctionDef):
        return False
    names = [one.arg for one in line.scope.args.args if one.arg not in ("self", "cls")]
    labels = names[0] if len(names) > 1 else ""
    compared = any(isinstance(item, ast.Compare) for item in ast.walk(node))
    return not compared and any(isinstance(item, ast.Name) and item.id == labels for item in ast.walk(node))


def _axes(line: Line, turn: bool) -> Made:
    operands = [(node, spec.shape) for node in line.operands() if (spec := line.spec(node)) is not None and spec.shape is not None]
    most = max((len(shape) for _, shape in operands), default=0)
    for node, shape in operands:
        # What does not begin with the samples of the other operands would meet them crosswise.
        rows = {other[0] for _, other in operands if other and len(other) == most}
        if not (shape and (shape[0] in rows or shape[0] is None)):
            continue
        if len(shape) < most - 1 and any(_ends(other, shape[1:]) for _, other in operands if len(other) == most):
            between = ", ".join([":", *["None"] * (most - len(shape)), *[":"] * (len(shape) - 1)])
            alike = _met_again(line, node)
            yield (
                f"Add axes of size 1 to {' and '.join(map(short, (node, *alike)))} after the batch axis at {line.at}: {_ones(shape, most)}",
                [line.edit(one, f"{IT}[{between}]") for one in (node, *alike)],
                f"The other operand has rank {most}.",
            )
        if len(shape) == 1 and any(columns_read(line, other) for other, row in operands if len(row) == most == 2):
            continue  # columns of several meanings are not all compared with one value
        if 0 < len(shape) == most - 1:
            if hides(line, node) and len(shape) > 1:
                # What is hidden from a softmax stands along its axis, the last one.
                yield (
                    f"Add an axis of size 1 to {short(node)} at {line.at}: {_shown(shape, 1)}",
                    [line.edit(node, f"{IT}[{_index(1, len(shape))}]")],
                    "The mask covers the keys and is the same for every query.",
                )
                continue
            call = line.call("take_along_axis")
            along = whole_number(argument(call, "axis", ["x", "indices", "axis"])) if call is not None and node in call.args[1:2] else None
            if call is not None and along in (len(shape) - 1, -2):
                # The same position for all values of the last axis.
                yield (
                    f"Add a last axis of size 1 to {short(node)} at {line.at}: {_shown(shape, len(shape))}",
                    [line.edit(node, f"{IT}[..., None]")],
                    f"{short(call.args[0])} has {most} axes, and the indices need as many.",
                )
                continue
            # Behind first: what has one number a row meets rows of many.
            places = {_shown(shape, axis): axis for axis in range(1, len(shape) + 1) if _meets(shape, axis, operands)}
            told = _put_in(line, shape) & set(places.values())
            for axis in sorted(told if len(told) == 1 else places.values(), reverse=True):
                if axis == len(shape) and _multiplies_labels(line, node, shape) and all(other[-1] != 1 for _, other in operands if len(other) == most):
                    continue
                yield (
                    f"Add an axis of size 1 to {short(node)} at {line.at}: {_shown(shape, axis)}",
                    [line.edit(node, f"{IT}[{_index(axis, len(shape))}]", choice="" if len(told) == 1 else "axis")],
                    f"The other operand has rank {most}.",
                )
    for node, shape in operands:
        row = next((other for _, other in operands if len(other) == most and other is not shape), ())
        if len(shape) == most > 1 and shape[0] not in (None, 1) and shape[:1] != row[:1] and all(n == 1 for n in shape[1:]) and row[-1:] == shape[:1]:
            yield (
                f"Squeeze the axes of size 1 of {short(node)} at {line.at}: ({shape[0]},)",
                [line.edit(node, f"{MODULE}.reshape({IT}, (-1,))", line.module())],
                "One vector, the same for every sample.",
            )
    for node, shape in operands:
        # What is the same for every sample begins with the first of the inner axes.
        inner = [other[-len(shape) + 1 :] for _, other in operands if len(other) == len(shape) and other is not shape]
        if len(shape) > 2 and shape[-1] == 1 and shape[:-1] in inner and not any(other[0] == shape[0] for _, other in operands if other is not shape):
            yield (
                f"Drop the last axis (size 1) of {short(node)} at {line.at}: {_sizes(shape[:-1])}",
                [line.edit(node, f"{IT}[..., 0]")],
                "It is the same for every sample, and then lines up with the axes of a sample.",
            )
    yield from _reduced(line, operands, most)
    if turn:
        yield from _turned(line)
    for node, shape in operands:
        ones = [axis for axis, size in enumerate(shape) if size == 1 and axis > 0]
        if len(shape) == most and ones and any(len(other) < most for _, other in operands):
            for axis in reversed(ones):
                yield (
                    f"Squeeze axis {axis} (size 1) of {short(node)} at {line.at}",
                    [line.apply(node, "squeeze", axis, choice="axis")],
                    f"The other operand has rank {most - 1}.",
                )


def _meets(shape: Shape, axis: int, operands: list[tuple[ast.expr, Shape]]) -> bool:
    """Whether one more axis lets an inner axis meet one of its size: else each of its values would meet each of the other's."""
    sizes = (*shape[:axis], 1, *shape[axis:])
    others = [other for _, other in operands if other is not shape and len(other) == len(sizes)]
    inner = [n for n in shape[1:] if n != 1]
    return not inner or not others or any(a == b and a != 1 for other in others for a, b in zip(sizes[1:], other[1:], strict=True))


def _met_again(line: Line, node: ast.expr) -> list[ast.expr]:
    """What else a statement makes of a tensor alone and combines with the same other tensor: ``1 - w`` in ``w * a + (1 - w) * f(a)``."""
    if not isinstance(line.node, ast.BinOp) or not isinstance(node, ast.Name):
        return []
    mine, other = (line.node.left, line.node.right) if line.node.left is node else (line.node.right, line.node.left)
    theirs = _tensors(line, other)
    statement = parents(line.source.tree)
    around: ast.AST = line.node
    while isinstance(statement.get(around), ast.BinOp):
        around = statement[around]
    found = []
    for item in nodes(around, ast.BinOp):
        for one, rest in ((item.left, item.right), (item.right, item.left)):
            meets = one is not mine and type(item.op) is type(line.node.op) and _tensors(line, one) == {node.id}
            if meets and theirs and theirs <= _tensors(line, rest) and node.id not in _tensors(line, rest):
                found.append(one)
    return found


def _tensors(line: Line, node: ast.expr) -> set[str]:
    return {item.id for item in nodes(node, ast.Name) if item.id in line.specs}


def _sizes(shape: Shape) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"


def _ends(shape: Shape, last: Shape) -> bool:
    return all(one in (size, 1, None) or size in (1, None) for size, one in zip(reversed(shape), reversed(last), strict=False))


def _ones(shape: Shape, rank: int) -> str:
    sizes = ["?" if size is None else str(size) for size in shape]
    return f"({', '.join([sizes[0], *['1'] * (rank - len(shape)), *sizes[1:]])})"


def hides(line: Line, node: ast.expr) -> bool:
    """Whether an operand is a mask times a large negative number, as one adds it in front of a softmax, or chooses such a number."""
    call = line.call("where")
    chosen = call.args[1:] if call is not None and call.args[:1] == [node] else []
    negative = [item.operand for part in chosen or [node] for item in nodes(part, ast.UnaryOp) if isinstance(item.op, ast.USub)]
    large = [item for item in negative if isinstance(item, ast.Constant) and isinstance(item.value, (int, float)) and item.value >= 1e3]
    return (
        bool(large)
        or any(ast.unparse(item).endswith((".inf", "('inf')")) for item in negative)
        or any(ast.unparse(part).endswith((".min", "('-inf')")) for part in chosen)
    )


def _reduced(line: Line, operands: list[tuple[ast.expr, Shape]], most: int) -> Made:
    for node, shape in operands:
        call = _assigned(line, node) if shape == () and most > 1 else None
        if call is not None and over_everything(call) and not call.keywords:
            yield (
                f"Keep one value per sample: {called(call)}(..., axis=-1, keepdims=True) at line {call.lineno}",
                [line.edit(call.args[0], f"{IT}, axis=-1, keepdims=True")],
                "Without axis=, it reduces over the batch too.",
            )


def _assigned(line: Line, node: ast.expr) -> ast.Call | None:
    if isinstance(node, ast.Call):
        return node
    found = [
        item.value
        for item in nodes(line.scope, ast.Assign)
        if item.lineno < line.raised.line and [ast.unparse(target) for target in item.targets] == [ast.unparse(node)]
    ]
    return found[-1] if found and isinstance(found[-1], ast.Call) else None


def _turned(line: Line) -> Made:
    """A product of matrices whose inner sizes meet the other way round, or when the second one is transposed."""
    operands = line.operands()[:2]
    shapes = [line.shape(node) for node in operands]
    matmul = isinstance(line.node, ast.BinOp) and isinstance(line.node.op, ast.MatMult)
    product = matmul or (isinstance(line.node, ast.Call) and called(line.node) == "matmul")
    if not product or len(operands) < 2 or any(shape is None or len(shape) < 2 for shape in shapes):
        return
    around = own_layer(line.evidence)
    if around is not None and around.config.get("call"):
        return  # the layer was called before, and the product was right
    (one, two), (left, right) = operands, shapes
    assert left is not None and right is not None
    named = [word for word in getattr(line.node, "keywords", []) if word.arg in ("transpose_a", "transpose_b")]
    given = [word for word in named if not (isinstance(word.value, ast.Constant) and not word.value.value)]
    off = next((word for word in named if word not in given and word.arg == "transpose_b"), None)
    if given and left[-1] == right[-2] and isinstance(line.node, ast.Call):
        plain = ast.Call(line.node.func, line.node.args, [word for word in line.node.keywords if word not in given])
        yield (
            f"Remove the transposition from the product at {line.at}: {' and '.join(str(word.arg) for word in given)}",
            [line.edit(line.node, ast.unparse(plain))],
            f"The last axis of {short(one)} ({left[-1]}) matches the first of {short(two)} as it is.",
        )
        return
    if left[-1] != right[-2] and right[-1] == left[-2] and left[-1] != right[-1]:
        yield (
            f"Swap the operands at {line.at}: multiply {short(two)} by {short(one)}",
            line.swap(one, two),
            f"{short(two)} has as many columns as {short(one)} has rows.",
        )
    in_call = line.module() == "tensorflow" and isinstance(line.node, ast.Call)
    # Axes that the program has just written in this order are meant so.
    made = assigned_to(line, one)
    ordered = isinstance(made, ast.Call) and called(made) == "reshape"
    # The rows of a weight that are read off a shape are at fault themselves.
    inside = {ast.unparse(item) for item in ast.walk(two)}
    its_own = any(isinstance(sizes[0], ast.Subscript) for name, sizes in shapes_of_weights(line).items() if name in inside)
    if left[-2] is not None and left[-2] == right[-2] and left[-1] != right[-1] and not named and not ordered and not its_own:
        yield (
            f"Transpose {short(one)} in the product at {line.at}",
            [
                line.more(line.node, "transpose_a=True")
                if in_call and isinstance(line.node, ast.Call)
                else line.edit(one, f"{MODULE}.transpose({IT}, {tuple(_last_exchanged(len(left)))})", line.module())
            ],
            f"The first axis of {short(one)} ({left[-2]}) then matches that of {short(two)} ({right[-2]}).",
        )
    if left[-1] is None or left[-1] != right[-1]:
        return
    order = _last_exchanged(len(right))
    new = f"{IT}, transpose_b=True" if in_call else f"{MODULE}.transpose({IT}, {tuple(order)})"
    edit = line.edit(off.value, "True") if off is not None else line.edit(two, new, "" if in_call else line.module())
    yield (
        f"Transpose {short(two)} in the product at {line.at}",
        [edit],
        f"The last axis of {short(one)} ({left[-1]}) then matches that of {short(two)} ({right[-1]}).",
    )


def _last_exchanged(rank: int) -> list[int]:
    return [*range(rank - 2), rank - 1, rank - 2]


def _mask(line: Line, shape: Shape | None) -> Made:
    node = line.keyword("attention_mask")
    if node is not None and shape is not None and len(shape) == 2:
        yield (
            f"Use {short(node)}[:, None, :] at {line.at}",
            [line.edit(node, f"{IT}[:, None, :]")],
            "The mask covers the value steps and is the same for every query step.",
        )


def _index(axis: int, rank: int) -> str:
    return ", ".join(["..."] if axis == rank else [":"] * axis) + ", None" + ("" if axis == rank else ", :" * (rank - axis))


def _shown(shape: Shape, axis: int) -> str:
    sizes = ["?" if size is None else str(size) for size in shape]
    return f"({', '.join([*sizes[:axis], '1', *sizes[axis:]])})"


@of(OperationRaised)
def samples_kept(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Another axis for a reduction over the samples, upstream of what then lacks them."""
    reduced = fact.reason
    node = next((one for one in evidence.flow.nodes if isinstance(reduced, SamplesReduced) and Who.of(one) == reduced.node), None)
    if node is None or not isinstance(reduced, SamplesReduced):
        return
    # A class is one of the last axis; the steps or pixels that are summed up stand in front of it.
    others: list[int | tuple[int, ...]] = [*range(1, len(reduced.shape))]
    if reduced.node.op.lower().startswith("arg"):
        others.reverse()
    elif evidence.raised is None and len(others) > 1:
        others = [tuple(range(1, len(reduced.shape)))]
    name = reduced.node.op.lower()
    for line in lines_at(evidence, node.called):
        calls = [call for call in line.around(ast.Call) if called(call) in (name, f"reduce_{name}", f"a{name}")]
        axes = [argument(call, "axis", ["x", "axis"]) for call in calls]
        for call, axis in zip(calls, axes, strict=True):
            if axis is None or whole_number(axis) != 0 or len(calls) != 1:
                continue
            for other in others:
                yield (f"Use axis {other} in {short(call)} at {line.at}", [line.edit(axis, str(other))], "Axis 0 are the samples.")
            return


def squeezed_of_one(evidence: Evidence, finding: Finding) -> Made:
    """The one axis of size 1 in place of an axis that a squeeze cannot take out."""
    for line, call in calls_of(evidence, "squeeze"):
        axis = argument(call, "axis", ["x", "axis"])
        shape = line.shape(call.args[0]) if call.args else None
        ones = [at for at, size in enumerate(shape or ()) if size == 1 and at]
        number = whole_number(axis) if axis is not None else None
        if axis is not None and shape and number is not None and len(ones) == 1 and number % len(shape) not in ones:
            yield (
                f"Squeeze axis {ones[0]} instead of {number} at {line.at}",
                [line.edit(axis, str(ones[0]))],
                f"{short(call.args[0])} is {show_shape(shape)}: that axis has size 1.",
            )
