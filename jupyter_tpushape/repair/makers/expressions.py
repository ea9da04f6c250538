"""Candidates at the line of the user's own that raised: a cast, an axis more or less, the rows counted, another module's function."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding, Shape
from ...rules.facts.calls import VectorLoss
from ...rules.facts.layers import OperationRaised, WrongMask
from ...rules.facts.loss import IndexInRow, LossVector
from ...rules.facts.mixing import BatchLost, EveryPair
from ...rules.facts.reasons import Columns
from ...rules.words import STACKS
from ..edits import Loss
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import called, nodes, parents
from .edits import Made, of
from .ends import snake
from .line import Line, assigned_to, calls_of, lines_at, lines_of, short
from .written import summed_axes

# -- axes ----------------------------------------------------------------------------------------------


def axes(evidence: Evidence, finding: Finding) -> Made:
    """An axis of size 1 more, or less, at one operand."""
    if isinstance(finding.fact, WrongMask):
        for line in lines_of(evidence) or lines_at(evidence, finding.location):
            yield from _mask(line, finding.fact.shape)
        return
    # Sizes that layers give were meant to be the same; the operands of such a product are where they belong.
    given = isinstance(finding.fact, OperationRaised) and summed_axes(evidence, finding.fact) is not None
    for line in lines_of(evidence):
        yield from _axes(line, not given)


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
        if 0 < len(shape) == most - 1:
            if _hides(line, node) and len(shape) > 1:
                # What is hidden from a softmax stands along its axis, the last one.
                yield (
                    f"Add an axis of size 1 to {short(node)} at {line.at}: {_shown(shape, 1)}",
                    [line.edit(node, f"{IT}[{_index(1, len(shape))}]")],
                    "The mask covers the keys and is the same for every query.",
                )
                continue
            # Behind first: what has one number a row meets rows of many.
            places = {_shown(shape, axis): axis for axis in range(1, len(shape) + 1) if _meets(shape, axis, operands)}
            for axis in sorted(places.values(), reverse=True):
                yield (
                    f"Add an axis of size 1 to {short(node)} at {line.at}: {_shown(shape, axis)}",
                    [line.edit(node, f"{IT}[{_index(axis, len(shape))}]", choice="axis")],
                    f"The other operand has rank {most}.",
                )
    for node, shape in operands:
        row = next((other for _, other in operands if len(other) == most and other is not shape), ())
        if (
            len(shape) == most > 1
            and shape[0] not in (None, 1)
            and shape[:1] != row[:1]
            and all(n == 1 for n in shape[1:])
            and row[-1:] == shape[:1]
        ):
            yield (
                f"Squeeze the axes of size 1 of {short(node)} at {line.at}: ({shape[0]},)",
                [line.edit(node, f"{MODULE}.reshape({IT}, (-1,))", line.module())],
                "One vector, the same for every sample.",
            )
    for node, shape in operands:
        # What is the same for every sample begins with the first of the inner axes.
        inner = [other[-len(shape) + 1 :] for _, other in operands if len(other) == len(shape) and other is not shape]
        if (
            len(shape) > 2
            and shape[-1] == 1
            and shape[:-1] in inner
            and not any(other[0] == shape[0] for _, other in operands if other is not shape)
        ):
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
    """The names of tensors in an expression."""
    return {item.id for item in nodes(node, ast.Name) if item.id in line.specs}


def _sizes(shape: Shape) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"


def _ends(shape: Shape, last: Shape) -> bool:
    """Whether the last axes of a shape are these, or are of size 1 there."""
    return all(one in (size, 1, None) or size in (1, None) for size, one in zip(reversed(shape), reversed(last), strict=False))


def _ones(shape: Shape, rank: int) -> str:
    sizes = ["?" if size is None else str(size) for size in shape]
    return f"({', '.join([sizes[0], *['1'] * (rank - len(shape)), *sizes[1:]])})"


@of(OperationRaised)
def columns(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Vectors in place of columns, all that a function was given."""
    if not isinstance(fact.reason, Columns):
        return
    for line in lines_of(evidence)[:1]:
        given = [node for node in line.operands() if line.shape(node) == fact.reason.shape]
        if given:
            names = " and ".join(map(short, given))
            yield (
                f"Squeeze the axis of size 1 of {names} at {line.at}",
                [line.apply(node, "squeeze", -1) for node in given],
                "The function then receives one number for each sample.",
            )


@of(IndexInRow)
def squeezed_indices(evidence: Evidence, finding: Finding, fact: IndexInRow) -> Made:
    """Class indices without their last axis of size 1, where a function reads them."""
    for line, call in calls_of(evidence, "sparse_softmax_cross_entropy_with_logits"):
        node = argument(call, "labels", ["labels", "logits"])
        if node is not None:
            yield (
                f"Squeeze the last axis (size 1) of {short(node)} at {line.at}",
                [line.apply(node, "squeeze", -1)],
                "The function expects one class index for each row of logits.",
            )


@of(EveryPair)
def unpaired(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """One number a sample with as many axes as what it meets, where axes of size 1 too many made it meet every sample."""
    raised = evidence.raised
    if raised is None:
        return
    (few, long), known = sorted((fact.left, fact.right), key=len), dict(raised.tensors)
    for line in lines_at(evidence, finding.location):
        for node in line.operands():
            spec = known.get(ast.unparse(node))
            if spec is None or spec.shape != long or any(size != 1 for size in long[1:]):
                continue
            index = ", ".join([*[":"] * len(few), *["0"] * (len(long) - len(few))])
            yield (
                f"Squeeze {'the axis' if len(long) - len(few) == 1 else f'{len(long) - len(few)} axes'} of size 1 of {short(node)} at {line.at}",
                [line.edit(node, f"{IT}[{index}]")],
                f"The other operand has rank {len(few)}, so each sample is then combined with its own value.",
            )


def _hides(line: Line, node: ast.expr) -> bool:
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


_REDUCTIONS = frozenset({"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "sum", "mean", "max", "min", "amax", "amin"})


def _reduced(line: Line, operands: list[tuple[ast.expr, Shape]], most: int) -> Made:
    """A reduction over everything, where the other operand still has its samples."""
    for node, shape in operands:
        call = _assigned(line, node) if shape == () and most > 1 else None
        if call is not None and called(call) in _REDUCTIONS and len(call.args) == 1 and not call.keywords:
            yield (
                f"Keep one value per sample: {called(call)}(..., axis=-1, keepdims=True) at line {call.lineno}",
                [line.edit(call.args[0], f"{IT}, axis=-1, keepdims=True")],
                "Without axis=, it reduces over the batch too.",
            )


def _assigned(line: Line, node: ast.expr) -> ast.Call | None:
    """The call that gave a name its value above the line, or the operand itself."""
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
    if left[-2] is not None and left[-2] == right[-2] and left[-1] != right[-1] and not named and not ordered:
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
    """The order of axes in which the last two stand in each other's place."""
    return [*range(rank - 2), rank - 1, rank - 2]


def _mask(line: Line, shape: Shape | None) -> Made:
    """A padding mask is one of value steps, the same for every query step."""
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


def positions_as_steps(evidence: Evidence, finding: Finding) -> Made:
    """A map in an attention over sequences: its positions become the steps."""
    node = evidence.failed
    if node is None or node.family != "attention":
        return
    shapes = [edge.spec.shape for edge in evidence.failed_inputs()]
    for line in lines_at(evidence, node.called or node.location):
        # Where it is made alone is known, it may be called there too.
        calls = isinstance(line.node, ast.Call) and (node.called is not None or isinstance(line.node.func, ast.Call))
        given = line.node.args if calls and isinstance(line.node, ast.Call) else []
        for one, shape in zip(given, shapes, strict=False):
            if shape is None or len(shape) != 4 or None in shape[1:] or isinstance(one, (ast.List, ast.Tuple, ast.Starred)):
                continue
            steps = int(shape[1] or 0) * int(shape[2] or 0)
            yield (
                f"Treat the positions of {short(one)} as steps at {line.at}: reshape to {steps} × {shape[3]}",
                [line.apply(one, "reshape", f"(-1, {steps}, {shape[3]})")],
                "Attention expects (batch, steps, features).",
            )


def itself(evidence: Evidence, finding: Finding) -> Made:
    """The query as its own value, in an attention that was given one tensor."""
    node = evidence.failed
    for line in lines_of(evidence):
        call = line.node
        if node is None or not node.op.endswith("Attention") or not isinstance(call, ast.Call) or len(call.args) != 1:
            continue
        given = call.args[0]
        listed = isinstance(given, (ast.List, ast.Tuple))
        if (listed and len(given.elts) != 1) or any(word.arg in ("value", "key") for word in call.keywords):  # type: ignore[attr-defined]
            continue
        one = given.elts[0] if listed else given  # type: ignore[attr-defined]
        yield (
            f"Use self-attention: pass {short(one)}, {short(one)} at {line.at}",
            [line.edit(one, f"{IT}, {IT}")],
            "An attention layer takes a query and a value.",
        )


def scalar_loss(evidence: Evidence, finding: Finding) -> Made:
    """The mean of what a layer adds to the loss, where that is one number a sample."""
    lines = lines_at(evidence, finding.location)
    found = [line.node for line in lines if isinstance(line.node, ast.Call) and called(line.node) == "add_loss"]
    if lines and not found and isinstance(finding.fact, VectorLoss):
        # The line is the one that made the layer.
        for cls in nodes(lines[0].source.tree, ast.ClassDef):
            if cls.name == finding.fact.layer.op:
                found = [call for call in nodes(cls, ast.Call) if called(call) == "add_loss"]
    if len(found) == 1 and len(found[0].args) == 1:
        line, given = lines[0], found[0].args[0]
        mean = "reduce_mean" if line.module() == "tensorflow" else "mean"
        yield (
            f"Take the mean over the samples at line {given.lineno}",
            [line.apply(given, mean)],
            "A loss must be a scalar, and the compiled loss is a mean too.",
        )


@of(LossVector)
def reduced_loss(evidence: Evidence, finding: Finding, fact: LossVector) -> Made:
    """The mean of a loss with a value for each sample: the loss's own, or of what ``compute_loss`` returns."""
    why = "The gradient is that of a single number."
    loss = evidence.flow.node(finding.nodes[0]) if fact.reduction else None
    if loss is not None:
        name = snake(loss.op)
        yield (
            f"Let {loss.name} return the mean over the batch",
            [Loss(loss.id, name, {"reduction": "sum_over_batch_size"}, name)],
            why,
        )
    for line in lines_at(evidence, evidence.facts.get("own_loss"))[:1] if loss is None else ():
        given = [item.value for item in nodes(line.scope, ast.Return) if item.value is not None]
        if len(given) == 1:
            mean = "reduce_mean" if line.module() == "tensorflow" else "mean"
            yield f"Return the mean at line {given[0].lineno}", [line.apply(given[0], mean)], why


def stacked(evidence: Evidence, finding: Finding) -> Made:
    """Predictions of several steps stacked behind the batch axis, and not in front of it."""
    # An operation of another backend may bear another name: what lost the batch is known by its line.
    lost = [finding.location] if isinstance(finding.fact, BatchLost) else []
    packed = [node.called for node in map(evidence.flow.node, finding.nodes) if node.op in STACKS]
    for line in (line for place in dict.fromkeys([*lost, *packed]) for line in lines_at(evidence, place)):
        call = line.node
        if isinstance(call, ast.Call) and called(call) == "stack" and len(call.args) == 1 and line.keyword("axis") is None:
            yield (
                f"Stack along axis 1 at {line.at}, because axis 0 is the batch",
                [line.edit(call.args[0], f"{IT}, axis=1")],
                "The time steps of each sample stay together.",
            )
