"""Candidates where samples meet other samples: an operand with an axis more or less, a sum or a lookup over all of them."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Edge, Fact, Finding, elements, show_shape
from ...flow.syntax import called
from ...rules.facts.calls import Misdeclared
from ...rules.facts.layers import OperationRaised
from ...rules.facts.lines import LossCalled
from ...rules.facts.loss import LossRaised
from ...rules.facts.loss_silent import DistanceOverBatch, PairsPredicted, RowsLost
from ...rules.facts.mixing import BatchLost, EveryIndex, EveryPair, NormedOverBatch, RowsMultiplied, SamplesPicked, SamplesReturn, SamplesSummed
from ...rules.facts.reasons import LacksAxis
from ...rules.mixing import above
from ...rules.upstream import unrelated
from ...rules.words import PAIRING, count, listed
from ..edits.code import REDUCTIONS, over_everything
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, given, of
from .line import Line, calls_at, lines_at, lines_of, short, size_of, whole_number


@of(SamplesSummed)
def summed_inside(evidence: Evidence, finding: Finding, fact: SamplesSummed) -> Made:
    """A sum over the axes of a sample, not over the samples."""
    names = ("reduce_max", "max", "amax") if fact.largest else ("reduce_sum", "sum")
    for line, call in calls_at(evidence, finding.location, *names):
        # A method of the tensor takes none.
        if line.keyword("axis") is None and (len(call.args) == 1 or (isinstance(call.func, ast.Attribute) and not call.args)):
            axes = "-1" if len(fact.whole) == 2 else str(tuple(range(1, len(fact.whole))))
            yield (
                f"{'Take the maximum' if fact.largest else 'Sum'} over {'axis' if axes == '-1' else 'the axes'} {axes} at {line.at}",
                [line.more(call, f"axis={axes}")],
                f"Each sample then has a separate {'maximum' if fact.largest else 'sum'}.",
            )


@of(RowsMultiplied)
def turned_second(evidence: Evidence, finding: Finding, fact: RowsMultiplied) -> Made:
    """The second matrix transposed, where the line has one product."""
    for line in lines_at(evidence, finding.location):
        products = [item.right for item in line.around(ast.BinOp) if isinstance(item.op, ast.MatMult)]
        products += [item.args[1] for item in line.around(ast.Call) if called(item) == "matmul" and len(item.args) == 2]
        if len(products) == 1:
            yield (
                f"Transpose {short(products[0])} in the product at {line.at}",
                [line.apply(products[0], "transpose")],
                "Each sample is then compared with every other.",
            )


def summed_alike(evidence: Evidence, finding: Finding) -> Made:
    """A sum over the axes of a sample, where a term of a loss that is one is added."""
    for line, pair in _terms(evidence, finding):
        for (whole, edge), (_, other) in itertools.permutations(pair):
            shape, few = edge.spec.shape or (), other.spec.shape or ()
            more = len(shape) - len(few)
            if more < 1 or not few or shape[: len(few)] != few or not _is_sum(evidence, other.source) or not unrelated(evidence, edge, other):
                continue
            axes = "-1" if more == 1 else str(tuple(range(len(few), len(shape))))
            yield (
                f"Sum {short(whole)} over {'axis' if more == 1 else 'the axes'} {axes} at {line.at}",
                [line.apply(whole, "sum" if line.module() != "tensorflow" else "reduce_sum", f"axis={axes}")],
                "The other term is a sum over the values of each sample, too.",
            )


def _terms(evidence: Evidence, finding: Finding) -> Iterator[tuple[Line, list[tuple[ast.expr, Edge]]]]:
    if isinstance(finding.fact, OperationRaised) and evidence.where == "loss":
        lines, edges, op = lines_of(evidence)[:1], evidence.failed_inputs(), finding.fact.operation
    elif isinstance(finding.fact, EveryPair):
        node = evidence.flow.node(finding.nodes[0])
        inside = [item.kind for item in above(evidence, node)]
        lines, edges, op = lines_at(evidence, finding.location), evidence.flow.into(node.id), node.op
        if "layer" in inside or not ("loss" in inside or "compute_loss" in (evidence.facts.get("overrides") or ())):
            return
    else:
        return
    kinds = {"AddV2": ast.Add, "Sub": ast.Sub}
    for line in lines:
        if op in kinds and isinstance(line.node, ast.BinOp) and isinstance(line.node.op, kinds[op]) and len(edges) == 2:
            yield line, [(line.node.left, edges[0]), (line.node.right, edges[1])]
            return


def _is_sum(evidence: Evidence, name: str) -> bool:
    pending, seen = [name], set[str]()
    while pending:
        node = evidence.flow.node(pending.pop())
        if node.id in seen:
            continue
        seen.add(node.id)
        if node.op in ("Sum", "ReduceSum"):
            return True
        if node.op in ("AddV2", "Add", "Sub", "Mul", "Neg", "Negative", "Cast", "Identity"):
            pending += [edge.source for edge in evidence.flow.into(node.id)]
    return False


def reduced_whole(evidence: Evidence, finding: Finding) -> Made:
    """A reduction over the axes of a sample, where the program gives none and a single number is left of the batch."""
    fact = finding.fact
    if isinstance(fact, Misdeclared) and not fact.returned:
        rank = len(fact.declared)
    elif isinstance(fact, BatchLost) and not fact.shape and evidence.y:
        rank = len(evidence.y[0][1].shape or ())
    else:
        return
    start = finding.nodes[0]
    inside = [node for node in evidence.flow.nodes if start in (node.id, node.parent) and node.called is not None]
    for node in inside:
        shape = given(evidence, node) or ()
        made = {edge.spec.shape for edge in evidence.flow.out_of(node.id)}
        for line in lines_at(evidence, node.called) if len(shape) > 1 and made == {()} else ():
            call = line.node
            if isinstance(call, ast.Call) and over_everything(call):
                axes = "-1" if len(shape) == 2 else str(tuple(range(1, len(shape))))
                keep = ", keepdims=True" if len(shape) == rank else ""
                yield (
                    f"Keep the samples apart at {line.at}: axis={axes}{keep}",
                    [line.more(call, f"axis={axes}{keep}")],
                    "Without an axis, all samples become one number.",
                )


@of(Misdeclared)
def kept_axis(evidence: Evidence, finding: Finding, fact: Misdeclared) -> Made:
    """A reduction that keeps its axis, where the program declares a value for each sample on an axis of its own."""
    if fact.declared[-1:] != (1,) or fact.declared[1:-1] != fact.returned[1:] or not fact.returned:
        return
    inside = [node for node in evidence.flow.nodes if finding.nodes[0] in (node.id, node.parent) and node.called is not None]
    for node in reversed(inside):
        shape = given(evidence, node) or ()
        made = {len(edge.spec.shape or ()) for edge in evidence.flow.out_of(node.id)}
        for line in lines_at(evidence, node.called) if len(shape) == len(fact.declared) and made == {len(fact.returned)} else ():
            call, axis = line.node, line.keyword("axis")
            last = whole_number(axis) in (-1, len(shape) - 1) if axis is not None else False
            if isinstance(call, ast.Call) and called(call) in REDUCTIONS and last and line.keyword("keepdims") is None:
                yield (
                    f"Pass keepdims=True to {called(call)} at {line.at}: {show_shape(fact.declared)}",
                    [line.more(call, "keepdims=True")],
                    "The layer then returns the shape that it declares.",
                )


def inner_axis(evidence: Evidence, finding: Finding) -> Made:
    """A sum over an axis of each sample, where the program names the axis of the samples."""
    fact = finding.fact
    if not isinstance(fact, (SamplesReturn, RowsLost, NormedOverBatch, DistanceOverBatch)):
        return
    if isinstance(fact, RowsLost) and fact.maker.kind == "layer":
        return  # its axis is an argument of the layer
    where = fact.maker.called if isinstance(fact, RowsLost) else finding.location
    for line in lines_at(evidence, where):
        call = line.call() if isinstance(fact, DistanceOverBatch) else None
        axis = line.keyword("axis") if call is None else argument(call, "axis", ["x", "axis"])
        if size_of(axis) == 0 and axis is not None and isinstance(line.node, ast.Call):
            narrow = isinstance(fact, RowsLost) and len(fact.labels) == len(fact.predictions) + 1
            divides = isinstance(fact, NormedOverBatch) and "normalize" not in called(line.node)
            keep = (narrow or divides) and line.keyword("keepdims") is None
            yield (f"Use axis -1 in {called(line.node)} at {line.at}: axis 0 is the batch", [line.edit(axis, "-1, keepdims=True" if keep else "-1")], _EACH)
        elif isinstance(fact, SamplesReturn) and len(fact.shape) == 4 and axis is not None and ast.unparse(axis)[1:-1] == "0, 1":
            yield f"Use the axes 1 and 2 at {line.at}: axis 0 is the batch", [line.edit(axis, "(1, 2)")], _EACH


_EACH = "Each sample is then processed separately."


def inside_samples(evidence: Evidence, finding: Finding) -> Made:
    """An index of every sample in place of the index of a sample."""
    if not isinstance(finding.fact, (SamplesPicked, BatchLost, RowsLost)):
        return
    for line in lines_at(evidence, finding.location)[:1]:
        tensors = {arg.arg for item in line.around((ast.FunctionDef, ast.Lambda)) for arg in item.args.args}
        tensors |= {target.id for item in nodes(line.scope, ast.Assign) for target in item.targets if isinstance(target, ast.Name)}
        whole = isinstance(finding.fact, SamplesPicked)
        picks = [item for item in nodes(line.scope if whole else line.source.tree, ast.Subscript) if whole or item.lineno == line.raised.line]
        picks = [item for item in picks if isinstance(item.value, ast.Name) and item.value.id in tensors and whole_number(item.slice) is not None]
        if picks:
            shown = ", ".join([ast.unparse(item) for item in picks[:2]] + ["..."] * (len(picks) > 2))
            yield (
                f"Select from every sample instead of one at {line.at}: [:, {ast.unparse(picks[0].slice)}] in {shown}",
                [line.edit(item, f"{ast.unparse(item.value)}[:, {ast.unparse(item.slice)}]") for item in picks],
                "The first axis is the batch; the colon keeps all samples.",
            )


@of(PairsPredicted)
def own_row(evidence: Evidence, finding: Finding, fact: PairsPredicted) -> Made:
    """The product of each sample's own rows, where a product of matrices has one value for every pair of samples."""
    if fact.labels[1:] not in ((), (1,)):
        return
    for line in lines_at(evidence, finding.location):
        products = [(item, item.left, item.right) for item in line.around(ast.BinOp) if isinstance(item.op, ast.MatMult)]
        products += [(item, *item.args) for item in line.around(ast.Call) if called(item) in ("matmul", "dot") and len(item.args) == 2]
        for product, one, other in products[:1] if len(products) == 1 else []:
            turned = _turned(other)
            if turned is not None:
                keep = ", keepdims=True" if len(fact.labels) == 2 else ""
                left, right = (ast.unparse(item) if isinstance(item, _PLAIN) else f"({ast.unparse(item)})" for item in (one, turned))
                yield (
                    f"Use the product of each sample's own rows at {line.at}: sum({left} * {right}, axis=-1)",
                    [line.edit(product, f"{MODULE}.sum({left} * {right}, axis=-1{keep})", "keras.ops")],
                    "There is then one value per sample.",
                )


_PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def _turned(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return node.value
    transposes = isinstance(node, ast.Call) and called(node) in ("transpose", "matrix_transpose", "swapaxes") and node.args
    return node.args[0] if isinstance(node, ast.Call) and transposes else None


@of(EveryPair)
def unpaired_axis(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """An operand without the axis of size 1 for which each sample met every other one."""
    for line in lines_at(evidence, finding.location):
        operands = line.operands()
        shapes = [edge.spec.shape or () for edge in evidence.flow.into(finding.nodes[0])]
        shapes = shapes if len(operands) == len(shapes) == 3 else [fact.left, fact.right]
        if not isinstance(line.node, (ast.BinOp, ast.Call)) or len(operands) != len(shapes):
            continue
        pair = sorted(zip(operands, shapes, strict=True), key=lambda item: len(item[1]))
        if len(pair) > 2 and len(pair[1][1]) == len(pair[2][1]):
            continue  # two of them have the axis
        (_, few), (node, many) = pair[0], pair[-1]
        axes = [axis for axis in range(1, len(many)) if many[axis] == 1 and fits_without(many, axis, few)]
        if len({(*many[:axis], *many[axis + 1 :]) for axis in axes}) == 1:
            axes = axes[:1]  # one is as good as another
        if len(axes) == 1:
            yield from _squeezed(line, node, axes[0])


@of(OperationRaised)
def spare_axis(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """An operand without the axis of size 1 that the other one lacks."""
    axis = fact.reason.spare if isinstance(fact.reason, LacksAxis) else None
    for line in lines_of(evidence)[:1] if axis is not None else ():
        for node in [node for node, shape in line.shaped() if isinstance(fact.reason, LacksAxis) and shape == fact.reason.long][:1]:
            yield from _squeezed(line, node, axis or 0)


def _squeezed(line: Line, node: ast.expr, axis: int) -> Made:
    made = _made_once(line, node)
    if made is not None:
        yield (
            f"Squeeze axis {axis} of {short(node)} where line {made.lineno} makes it",
            [line.apply(made, "squeeze", axis)],
            "Each sample is then combined with its own value, wherever the function reads it.",
        )
    yield (f"Squeeze axis {axis} of {short(node)} at {line.at}", [line.apply(node, "squeeze", axis)], "Each sample is then combined with its own value.")


def fits_without(many: tuple[int | None, ...], axis: int, few: tuple[int | None, ...]) -> bool:
    """Whether a tensor without an axis has the shape of another, but for axes of size 1 of either."""
    rest = (*many[:axis], *many[axis + 1 :])
    return len(rest) == len(few) and rest[0] == few[0] and all(a == b or 1 in (a, b) for a, b in zip(rest, few, strict=True))


def _made_once(line: Line, node: ast.expr) -> ast.expr | None:
    if not isinstance(node, ast.Name):
        return None
    uses = [item for item in nodes(line.scope, ast.Name) if item.id == node.id]
    reads = [item for item in uses if isinstance(item.ctx, ast.Load)]
    made = [item.value for item in nodes(line.scope, ast.Assign) if [ast.unparse(target) for target in item.targets] == [node.id]]
    return made[0] if len(made) == 1 == len(uses) - len(reads) and len(reads) > 1 and made[0].lineno < line.raised.line else None


@of(EveryPair)
def axes_after_batch(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """An operand with axes of size 1 after its batch axis."""
    if not fact.chance:
        return
    few, many = sorted((fact.left, fact.right), key=len)
    index = ", ".join([":", *["None"] * (len(many) - len(few)), *[":"] * (len(few) - 1)])
    axes, why = f"{count(len(many) - len(few), 'axis', 'axes')} of size 1", "Each sample is then combined with its own values."
    for line in lines_at(evidence, finding.location)[:1]:
        # The operators of the line and the operations that ran there, in the same order.
        ran = [node for node in evidence.flow.nodes if node.kind == "op" and node.op in PAIRING and node.called == fact.operation.called]
        # A lambda is no statement.
        written = list(_in_order((line.around(ast.stmt, line.scope) or [line.scope])[-1]))
        found = []
        for item, node in zip(written, ran, strict=True) if len(written) == len(ran) else ():
            shapes = [edge.spec.shape for edge in evidence.flow.into(node.id)]
            if sorted(shapes, key=lambda shape: len(shape or ())) == [few, many]:
                found.append(item.left if shapes[0] == few else item.right)
        if found:
            names = listed(tuple(map(short, found)))
            yield f"Add {axes} to {names} after the batch axis at {line.at}", [line.edit(one, f"{IT}[{index}]") for one in found], why
            return
    for line in lines_at(evidence, finding.location):
        if isinstance(line.node, ast.BinOp):
            (one, _), _ = sorted(zip(line.operands(), (fact.left, fact.right), strict=True), key=lambda item: len(item[1]))
            yield f"Add {axes} to {short(one)} after its batch axis at {line.at}", [line.edit(one, f"{IT}[{index}]")], why


def _in_order(node: ast.AST) -> Iterator[ast.BinOp]:
    for part in ast.iter_child_nodes(node):
        yield from _in_order(part)
    if isinstance(node, ast.BinOp):
        yield node


@of(EveryPair)
def axes_where_made(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """One number a sample with as many axes as what it meets."""
    few, long = sorted((fact.left, fact.right), key=len)
    if len(few) != 1 or len(long) < 3 or fact.chance:
        return
    more = len(long) - 1
    for line in lines_at(evidence, finding.location)[:1]:
        read = {item.id for one in line.around(ast.stmt, line.scope)[-1:] for item in nodes(one, ast.Name)}
        made = {ast.unparse(item.targets[0]): item for item in nodes(line.scope, ast.Assign) if item.lineno < line.raised.line}
        for name, item in made.items():
            if name in read:
                yield (
                    f"Add {more} axes of size 1 to {name} after its batch axis at line {item.lineno}",
                    [line.edit(item.value, f"{IT}[{', '.join([':', *['None'] * more])}]")],
                    "Each sample is then combined with its own value.",
                )


@of(EveryIndex)
def own_index(evidence: Evidence, finding: Finding, fact: EveryIndex) -> Made:
    """One index for each row of a gather."""
    for line, call in calls_at(evidence, finding.location, "gather"):
        said = line.keyword("batch_dims")
        if said is None or size_of(said) == 0:
            yield (
                f"Look up each row at its own index at {line.at}: batch_dims=1",
                [line.more(call, "batch_dims=1") if said is None else line.edit(said, "1")],
                "Each sample then has one value.",
            )
            indices, last = argument(call, "indices", ["params", "indices"]), [*call.args, *(one.value for one in call.keywords)][-1]
            if len(fact.indices) == 1 and indices not in (None, last):
                # For code that reads the axis of the lookup.
                yield (
                    f"Look up each row at its own index at {line.at}, and keep the axis: batch_dims=1",
                    [line.edit(indices, f"{IT}[:, None]"), line.edit(last, f"{IT}, batch_dims=1") if said is None else line.edit(said, "1")],
                    "Each sample then has one value.",
                )


@of(EveryIndex)
def own_index_along(evidence: Evidence, finding: Finding, fact: EveryIndex) -> Made:
    """The same with ``take`` or ``[:, indices]``: the index of a row has its axes, so it is looked up in that row alone."""
    behind = len(fact.values) - len(fact.indices)
    if len(fact.indices) == 1 and len(fact.values) == 2:
        yield from _one_each(evidence, finding, fact)
    for line in lines_at(evidence, finding.location) if len(fact.indices) == 2 and behind >= 0 else []:
        for node, values, indices in _lookups(line, len(fact.values)):
            plain = isinstance(indices, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
            text = ast.unparse(indices) if plain or not behind else f"({ast.unparse(indices)})"
            own = f"{text}[{', '.join(['...', *['None'] * behind])}]" if behind else text
            given = f"({ast.unparse(values)}, {own}, axis=1)"
            edit = (
                line.edit(node, f"{ast.unparse(node.func)}_along_axis{given}")
                if isinstance(node, ast.Call)
                else line.edit(node, f"{MODULE}.take_along_axis{given}", "keras.ops")
            )
            yield (
                f"Look up each row at its own indices at {line.at}: take_along_axis",
                [edit],
                f"Each sample then has {show_shape((*fact.indices, *fact.values[2:])[1:])}.",
            )


def _one_each(evidence: Evidence, finding: Finding, fact: EveryIndex) -> Made:
    for line in lines_at(evidence, finding.location):
        for node, values, indices in _lookups(line, len(fact.values)):
            if isinstance(indices, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
                new = f"{MODULE}.take_along_axis({ast.unparse(values)}, {ast.unparse(indices)}[:, None], axis=1)[:, 0]"
                yield (
                    f"Look up each row at its own index at {line.at}: take_along_axis",
                    [line.edit(node, new, "keras.ops")],
                    "Each sample then has one value.",
                )


def _lookups(line: Line, rank: int) -> Iterator[tuple[ast.expr, ast.expr, ast.expr]]:
    node = line.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and called(node) == "take" and len(node.args) > 1:
        axis = argument(node, "axis", ["x", "indices", "axis"])
        if axis is not None and (ast.unparse(axis) == "1" or (ast.unparse(axis) == "-1" and rank == 2)):
            yield node, node.args[0], node.args[1]
    for item in line.around(ast.Subscript) if not isinstance(node, ast.Call) or called(node) != "take" else ():
        parts = item.slice.elts if isinstance(item.slice, ast.Tuple) else []
        if len(parts) == 2 and ast.unparse(parts[0]) == ":" and not isinstance(parts[1], (ast.Slice, ast.Constant, ast.UnaryOp)):
            yield item, item.value, parts[1]


@of(LossCalled, LossRaised)
def both_views(evidence: Evidence, finding: Finding, fact: Fact) -> Made:
    """For each sample of two stacked views the place of its other view."""
    labels, predictions = (fact.labels, fact.predictions) if isinstance(fact, (LossCalled, LossRaised)) else (None, None)
    if not labels or not predictions or len(labels) != 1 or len(predictions) != 2 or None in (*labels, *predictions):
        return
    (count,), (rows, columns) = labels, predictions
    for line in lines_of(evidence)[:1] if rows == columns == 2 * (count or 0) else []:
        read = {one.id for one in nodes(line.node, ast.Name)} if line.node is not None else set()
        made: list[ast.expr] = [item.value for item in nodes(line.scope, ast.Assign) if ast.unparse(item.targets[0]) in read]
        if isinstance(line.node, ast.Call):
            made += line.node.args
        # Where each sample is kept from itself, its own place is no label.
        masked = any(called(item) == "eye" for item in nodes(line.scope, ast.Call))
        for value in made:
            first = value.left if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add) else value
            if not isinstance(first, ast.Call) or called(first) not in _COUNTS or len(first.args) != 1:
                continue
            more = ast.unparse(first.args[0])
            if ast.unparse(value.right) != more if isinstance(value, ast.BinOp) else not masked:
                continue
            own = ast.unparse(first)
            both, ops = f"[{own} + {more}, {own}]", called(first) == "arange"
            if not ops and not isinstance(first.func, ast.Attribute):
                continue
            text = f"{MODULE}.concatenate({both})" if ops else f"{ast.unparse(first.func.value)}.concat({both}, 0)"  # type: ignore[attr-defined]
            yield (
                f"Use the other view of each sample as its label at line {value.lineno}: {text.replace(f'{MODULE}.', '')}",
                [line.edit(value, text, *(("keras.ops",) if ops else ()))],
                "The other view of each sample is in the other half.",
            )


_COUNTS = frozenset({"arange", "range"})


@of(EveryPair)
def unflattened(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """An operand as it was before it alone was flattened."""
    few, many = sorted((fact.left, fact.right), key=len)
    if len(few) != 1 or few[0] != elements(many):
        return
    for line in lines_at(evidence, finding.location):
        used = {item.id for item in nodes(line.node or line.scope, ast.Name)}
        for statement in nodes(line.scope, ast.Assign):
            made, names = statement.value, [item.id for item in statement.targets if isinstance(item, ast.Name)]
            flat = isinstance(made, ast.Call) and called(made) in ("reshape", "flatten", "ravel") and statement.lineno < line.raised.line
            if not flat or not isinstance(made, ast.Call) or not made.args or not used & set(names):
                continue
            if called(made) != "reshape" or ast.unparse(made.args[-1]).strip("[](),") == "-1":
                before = ast.unparse(made.args[0])
                removed = line.removed(statement)
                yield (
                    f"Keep the shape of {names[0]}: remove the reshape at line {statement.lineno}",
                    [removed if before == names[0] else line.edit(made, before)],
                    f"The other operand keeps its shape, {show_shape(many)}.",
                )
