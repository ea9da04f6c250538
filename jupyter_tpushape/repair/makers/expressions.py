"""Candidates at the line of the user's own that raised: a cast, an axis more or less, the rows counted, another dtype."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...examine.heard import HeardDtype, hear
from ...examine.heard_contracts import HeardDtypes, HeardNoAxis
from ...flow import Finding, Spec
from ...flow.syntax import called, is_new_axis, loaded
from ...rules.facts.calls import SummedLoss, VectorLoss
from ...rules.facts.layers import OperationRaised
from ...rules.facts.lines import LogicalOperand, LogicalProduct
from ...rules.facts.loss import IndexInRow, LossVector
from ...rules.facts.mixing import BatchLost, EveryPair
from ...rules.facts.reasons import Columns, StackedAhead
from ...rules.words import STACKS
from ...rules.words import listed as in_words
from ..edits import Loss
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, of
from .ends import snake
from .line import Line, calls_at, calls_of, columns_read, lines_at, lines_of, listed, short, whole_number
from .other_axes import REDUCTIONS

# -- axes


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


@of(OperationRaised)
def own_column(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """One column of labels, where a function reads columns of them everywhere but at one place."""
    for line in lines_of(evidence)[:1] if evidence.where in ("loss", "metric") else ():
        for node, other in itertools.permutations(line.operands(), 2):
            shape, read = line.shape(node), columns_read(line, node)
            if not shape or len(shape) != 2 or not shape[1] or not read or line.shape(other) != shape[:1]:
                continue
            unread = {*range(shape[1])} - read
            meant = sorted((read if len(read) == 1 else set()) | (unread if len(unread) == 1 else set()))
            for column in meant:
                new, name = f"{ast.unparse(node)}[:, {column}]", ast.unparse(node)
                why = f"The function reads {name} by its columns elsewhere, and {short(other)} has one value for each sample."
                yield (f"Use {new} instead of {name} at line {node.lineno}", [line.edit(node, new, choice="column" if len(meant) > 1 else "")], why)


@of(IndexInRow)
def squeezed_indices(evidence: Evidence, finding: Finding, fact: IndexInRow) -> Made:
    """Class indices without their last axis of size 1."""
    for line, call in calls_of(evidence, "sparse_softmax_cross_entropy_with_logits"):
        node = argument(call, "labels", ["labels", "logits"])
        if node is not None:
            yield (
                f"Squeeze the last axis (size 1) of {short(node)} at {line.at}",
                [line.apply(node, "squeeze", -1)],
                "The function expects one class index for each row of logits.",
            )


def unindexed(evidence: Evidence, finding: Finding) -> Made:
    """A tensor of the loss without the index 0 of an axis of size 1."""
    for line in lines_of(evidence)[:1] if hear(evidence.failure, HeardNoAxis) is not None else ():
        item = line.node
        if not isinstance(item, ast.Subscript):
            continue
        index, shape = listed(item.slice), line.shape(item.value)
        if shape is not None and len(index) == len(shape) + 1 and whole_number(index[-1]) == 0 and not any(map(is_new_axis, index)):
            rest = ", ".join(map(ast.unparse, index[:-1]))
            yield (
                f"Leave out the last index at {line.at}: [{rest}]",
                [line.edit(item.slice, rest)],
                "Keras drops a last axis of size 1 where labels and predictions differ by it.",
            )


@of(EveryPair)
def unpaired(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """One number a sample with as many axes as what it meets."""
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
            # The line may read it again, as in t * x + (1 - t) * y.
            again = [one for one in nodes(line.scope, ast.Name) if one.lineno == node.lineno and ast.unparse(one) == ast.unparse(node)]
            yield (
                f"Squeeze {'the axis' if len(long) - len(few) == 1 else f'{len(long) - len(few)} axes'} of size 1 of {short(node)} at {line.at}",
                [line.edit(one, f"{IT}[{index}]") for one in again or [node]],
                f"The other operand has rank {len(few)}, so each sample is then combined with its own value.",
            )


def positions_as_steps(evidence: Evidence, finding: Finding) -> Made:
    """A map in an attention over sequences."""
    node = evidence.failed
    if node is None or node.family != "attention":
        return
    shapes = [edge.spec.shape for edge in evidence.operands()]
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


@of(SummedLoss)
def averaged_loss(evidence: Evidence, finding: Finding, fact: SummedLoss) -> Made:
    """The mean over the samples of the sum of each sample."""
    axes = "axis=-1" if len(fact.shape) == 2 else f"axis={tuple(range(1, len(fact.shape)))}"
    found = [(line, call) for line, call in calls_at(evidence, finding.location, "sum", "reduce_sum") if not call.keywords]
    for line, call in found if len(found) == 1 else ():
        text, name, mean = line.source.of(call), called(call), called(call).replace("sum", "mean")
        method = not call.args and isinstance(call.func, ast.Attribute)
        if len(call.args) > 1 or "#" in text:
            return
        each = f"{text[:-1].rstrip().rstrip(',')}{'' if method else ', '}{axes})"
        averages = f"{each}.{mean}()" if method else f"{line.source.of(call.func)[: -len(name)]}{mean}({each})"
        flat = f"{line.source.of(call.func)[: -len(name)]}{mean}{text[len(line.source.of(call.func)) :]}"
        yield (
            f"Take the mean over the samples at {line.at}",
            [line.edit(call, averages if len(fact.shape) > 1 else flat)],
            "The added loss then does not depend on the batch size, and neither does the compiled loss.",
        )


@of(LossVector)
def reduced_loss(evidence: Evidence, finding: Finding, fact: LossVector) -> Made:
    """The mean of a loss with a value for each sample: the loss's own, or of what ``compute_loss`` returns."""
    why = "The gradient is that of a single number."
    loss = evidence.flow.node(finding.nodes[0]) if fact.reduction else None
    if loss is not None:
        name = snake(loss.op)
        yield (f"Let {loss.name} return the mean over the batch", [Loss(loss.id, name, {"reduction": "sum_over_batch_size"}, name)], why)
    for line in lines_at(evidence, evidence.facts.get("own_loss"))[:1] if loss is None else ():
        given = [item.value for item in nodes(line.scope, ast.Return) if item.value is not None]
        if len(given) == 1:
            mean = "reduce_mean" if line.module() == "tensorflow" else "mean"
            yield f"Return the mean at line {given[0].lineno}", [line.apply(given[0], mean)], why


def stacked(evidence: Evidence, finding: Finding) -> Made:
    """Predictions of several steps stacked behind the batch axis, and not in front of it."""
    # An operation of another backend may bear another name: what lost the batch is known by its line.
    lost = [finding.location] if isinstance(finding.fact, BatchLost) else []
    told = getattr(finding.fact, "reason", None)
    place, lost = (told.axis, [*lost, told.stack.called]) if isinstance(told, StackedAhead) else (1, lost)
    packed = [node.called for node in map(evidence.flow.node, finding.nodes) if node.op in STACKS]
    for line in (line for at in dict.fromkeys([*lost, *packed]) for line in lines_at(evidence, at)):
        call = line.node
        axis = line.keyword("axis")
        if isinstance(call, ast.Call) and called(call) == "stack" and len(call.args) == 1 and (axis is None or line.number(axis) == 0):
            made: set[str] = set()
            for item in nodes(line.scope, ast.Assign):
                if call in ast.walk(item.value) or loaded(item.value) & made:
                    made |= {ast.unparse(one) for one in item.targets}
            later = [one for one in nodes(line.scope, ast.Call) if called(one).startswith(REDUCTIONS) and one.args and loaded(one.args[0]) & made]
            moved = [over for one in later if (over := argument(one, "axis", ["x", "axis"])) is not None and whole_number(over) == 0]
            yield (
                f"Stack along axis {place} at {line.at}, because axis 0 is the batch",
                [
                    line.edit(call.args[0], f"{IT}, axis={place}") if axis is None else line.edit(axis, f"{place}"),
                    *(line.edit(one, f"{place}") for one in moved),
                ],
                "The values of each sample then stay together.",
            )


def cast(evidence: Evidence, finding: Finding) -> Made:
    """One operand in the dtype of another, or in the one that the function takes."""
    said, lines = hear(evidence.failure, HeardDtype), lines_of(evidence)
    if said is None:
        return
    if said.wanted:
        for line in lines:
            yield from _as_wanted(line, said)
        return
    pairs = [(line, *pair) for line in lines for pair in _pairs(line, line.operands())]
    for line, node, other in sorted(pairs, key=lambda pair: _weight(pair[0].spec(pair[2])), reverse=True):
        yield (
            f"Cast {short(node)} to the dtype of {short(other)} at {line.at}",
            [line.edit(node, f"{MODULE}.cast({IT}, {ast.unparse(other)}.dtype)", line.module())],
            "Both operands then have the same dtype.",
        )
    # Several operands of one dtype beside one of another.
    for line, other in {(id(line), ast.unparse(other)): (line, other) for line, _, other in pairs}.values():
        names = {ast.unparse(node): node for one, node, its in pairs if one is line and ast.unparse(its) == ast.unparse(other) and isinstance(node, ast.Name)}
        apart = {spec.dtype for node in names.values() if (spec := line.spec(node)) is not None}
        if len(names) > 1 and len(apart) == 1 and all(line.spec(node) is not None for node in names.values()):
            yield (
                f"Cast {in_words(tuple(sorted(names)))} to the dtype of {short(other)} at {line.at}",
                [line.edit(node, f"{MODULE}.cast({IT}, {ast.unparse(other)}.dtype)", line.module()) for node in names.values()],
                "All operands then have the same dtype.",
            )
    told = hear(evidence.failure, HeardDtypes)
    for mine, wanted in [(told.first, told.second), (told.second, told.first)] if told is not None and not pairs else []:
        for line in lines if wanted.startswith(_FLOATS) and mine.startswith(("int", "uint", "bool")) else ():
            for node in line.operands():
                if (spec := line.spec(node)) is not None and spec.dtype == mine:
                    yield (
                        f"Cast {short(node)} to {wanted} at {line.at}",
                        [line.edit(node, f'{MODULE}.cast({IT}, "{wanted}")', line.module())],
                        "Both operands then have the same dtype.",
                    )
    if told is not None and not pairs:
        yield from _as_beside(lines, told)
    for line in lines:
        yield from _beside_number(line, line.operands())


def _as_beside(lines: list[Line], told: HeardDtypes) -> Made:
    """The operands of one dtype in the dtype of a tensor of the function, where those beside them have no name of their own, as in a list."""
    both = sorted((Spec((), told.first), Spec((), told.second)), key=_weight)
    for line in lines if all(map(_floats, both)) else ():
        like = next((name for name, spec in line.specs.items() if spec.dtype == both[1].dtype), "")
        given = [node for node in line.operands() if (spec := line.spec(node)) is not None and spec.dtype == both[0].dtype]
        if like and given:
            yield (
                f"Cast {in_words(tuple(map(short, given)))} to the dtype of {like} at {line.at}",
                [line.edit(node, f"{MODULE}.cast({IT}, {like}.dtype)", line.module()) for node in given],
                "All operands then have the same dtype.",
            )


@of(LogicalOperand)
def as_number(evidence: Evidence, finding: Finding, fact: LogicalOperand) -> Made:
    """True and false as 1 and 0, in the dtype of the other operand, or of the only floats of the function."""
    for line in lines_of(evidence)[:1]:
        named = [node for node in line.operands() if ast.unparse(node) == fact.operand]
        its = [spec.dtype for node in line.operands() if node not in named and (spec := line.spec(node)) is not None and spec.dtype != "bool"]
        floats = {spec.dtype for spec in line.specs.values() if _floats(spec)}
        dtype = its[0] if its else floats.pop() if len(floats) == 1 else "float32"
        for node in named[:1]:
            yield f"Cast {short(node)} to {dtype} at {line.at}", [line.cast(node, dtype)], "True becomes 1, and false becomes 0."


@of(LogicalProduct)
def counted(evidence: Evidence, finding: Finding, fact: LogicalProduct) -> Made:
    """The bools of a product as numbers of the other side's dtype."""
    for line in lines_at(evidence, fact.node.called)[:1]:
        found = [(one.left, one.right) for one in line.around(ast.BinOp) if isinstance(one.op, ast.Mult)]
        # What is multiplied in its place must be the numbers.
        found += [(one.target, one.value) for one in line.around(ast.AugAssign) if isinstance(one.op, ast.Mult) and not fact.side]
        for sides in found if len(found) == 1 else ():
            bools, numbers = sides[1 - fact.side], sides[fact.side]
            yield (
                f"Cast {short(bools)} to {fact.dtype} at line {bools.lineno}",
                [line.cast(bools, fact.dtype)],
                f"Each number of {short(numbers)} is then kept, or becomes 0.",
            )


def _as_wanted(line: Line, said: HeardDtype) -> Made:
    word = line.keyword(said.argument)
    for node in [word] if word is not None else line.operands():
        spec = line.spec(node)
        if isinstance(node, ast.Constant) or (spec is not None and spec.dtype in said.wanted):
            continue
        yield (f"Cast {short(node)} to {said.wanted[0]} at {line.at}", [line.cast(node, said.wanted[0])], f"The function expects {' or '.join(said.wanted)}.")


def _beside_number(line: Line, operands: list[ast.expr]) -> Made:
    tensors = [node for node in operands if not _is_number(line, node)]
    floats = {spec.dtype for spec in line.specs.values() if _floats(spec)}
    if len(operands) == 2 and len(tensors) == 1 and isinstance(line.node, ast.BinOp):
        dtype = floats.pop() if len(floats) == 1 else "float32"
        yield f"Cast {short(tensors[0])} to {dtype} at {line.at}", [line.cast(tensors[0], dtype)], "The other operand is a float."


def _is_number(line: Line, node: ast.expr) -> bool:
    names = [ast.unparse(item) for item in nodes(node, (ast.Name, ast.Attribute))]
    return not any(name in line.specs for name in names) and not list(nodes(node, ast.Call))


def _pairs(line: Line, operands: list[ast.expr]) -> Iterator[tuple[ast.expr, ast.expr]]:
    for node in operands:
        for operand in operands:
            # An operand that is computed in place has the dtype of what it is computed from.
            for other in [operand, *(name for name in nodes(operand, ast.Name) if name is not operand)] if operand is not node else []:
                mine, its = line.spec(node), line.specs.get(ast.unparse(other))
                # Never a float to a whole number: what stands behind its point would be lost, and every gradient with it.
                if its is None or not _floats(its) or isinstance(node, ast.Constant) or (mine is not None and mine.dtype == its.dtype):
                    continue
                yield node, other


def _weight(spec: Spec | None) -> int:
    if spec is None:
        return 1
    return 2 if spec.dtype in ("float16", "bfloat16") else 0 if spec.dtype == "float64" else 1


def _floats(spec: Spec) -> bool:
    return spec.dtype.startswith(_FLOATS)


_FLOATS = ("float", "bfloat")
