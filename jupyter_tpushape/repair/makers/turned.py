"""Candidates at a line that combines tensors: a batch of matrices transposed one by one, two vectors in pairs, windows that keep the length."""

from __future__ import annotations

import ast
import copy
import itertools

from ...examine.evidence import Evidence
from ...flow import Finding, Shape, Spec, elements, show_shape
from ...flow.syntax import assigned, called, operands
from ...rules.facts.layers import OperationRaised
from ...rules.facts.mixing import EveryPair, Interleaved
from ...rules.facts.reasons import EachRow, Lengths, PairOfVectors, Reversed
from ...rules.moved import takes_block, turned_around
from ...rules.regrouped import groups_apart, patch_side
from ..edits.expression import IT, MODULE
from ..text.source import nodes, parents, statement_of
from .edits import Made, given, gives, insert, of
from .line import Line, assigned_to, calls_at, calls_of, lines_at, lines_of, listed, reshaped, short
from .reshapes import uneven_reshape


@of(OperationRaised)
def last_two(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Each matrix of a batch transposed, where the program turns all axes around."""
    if not isinstance(fact.reason, Reversed) or evidence.framework != "keras":
        return
    for line in lines_at(evidence, fact.reason.where) or lines_of(evidence):
        for node in nodes(line.node, (ast.Attribute, ast.Call)) if line.node is not None else ():
            if ast.unparse(node) == fact.reason.text:
                yield (
                    f"Transpose each matrix of {fact.reason.name} at {line.at}: swap its last two axes",
                    [line.edit(node, f"{MODULE}.swapaxes({fact.reason.name}, -1, -2)", "keras.ops")],
                    "The batch axis then stays first.",
                )


@of(EveryPair)
def last_two_of_pair(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """The same for one of two tensors that pair the samples."""
    for edge in evidence.flow.into(finding.nodes[0]) if evidence.framework == "keras" else ():
        maker, before = evidence.flow.node(edge.source), given(evidence, evidence.flow.node(edge.source))
        if maker.op.lower() != "transpose" or not before or len(before) < 3 or edge.spec.shape != before[::-1]:
            continue
        for line in lines_at(evidence, maker.called)[:1]:
            around = {ast.unparse(node): node for node in nodes(line.scope, (ast.Call, ast.Attribute)) if node.lineno == line.raised.line}
            turned = [(node, whole) for node in around.values() if (whole := turned_around(node)) is not None]
            if len(turned) == 1:
                node, whole = turned[0]
                yield (
                    f"Transpose each matrix of {short(whole)} at {line.at}: swap its last two axes",
                    [line.edit(node, f"{MODULE}.swapaxes({line.source.of(whole)}, -1, -2)", "keras.ops")],
                    "The batch axis then stays first.",
                )


@of(OperationRaised)
def other_order(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Two inner axes of an operand exchanged, where both have their sizes in the other one, in another order."""
    line, shapes = next(iter(lines_of(evidence)), None), [shape or () for shape in fact.shapes]
    operands = line.operands() if line is not None else []
    if not isinstance(fact.reason, Lengths) or fact.reason.summed or fact.reason.joined or evidence.framework != "keras":
        return
    if line is None or len(operands) != 2 or len(shapes) != 2 or len(shapes[0]) != len(shapes[1]) or not 4 <= len(shapes[0]) < 8:
        return
    fixes = list[tuple[ast.expr, int, int, tuple[int | None, ...]]]()
    for node, mine, other in zip(operands, shapes, reversed(shapes), strict=True):
        ways = [
            order
            for order in itertools.permutations(range(1, len(mine)))
            if all(a == b or 1 in (a, b) for a, b in zip((mine[k] for k in order), other[1:], strict=True))
        ]
        moved = [at for at, axis in enumerate(ways[0], 1) if at != axis] if len(ways) == 1 else []
        if len(moved) == 2 and 1 not in (mine[moved[0]], mine[moved[1]]):
            fixes.append((node, moved[0], moved[1], (mine[0], *(mine[k] for k in ways[0]))))
    # Which of the two is turned decides what a reduction behind it sums: the one with fewer axes of more than one value.
    fixes.sort(key=lambda found: found[3].count(1), reverse=True)
    certain = len(fixes) < 2 or fixes[0][3].count(1) > fixes[1][3].count(1)
    for node, i, j, shape in fixes[:1] if certain else ():
        yield (
            f"Swap axes {i} and {j} of {short(node)} at {line.at}: {show_shape(shape)}",
            [line.edit(node, f"{MODULE}.swapaxes({IT}, {i}, {j})", "keras.ops")],
            "Its axes are then in the order of the other operand's.",
        )


@of(OperationRaised)
def every_pair(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """An axis behind the first of two vectors, so that each of its values meets each of the other's."""
    if not isinstance(fact.reason, PairOfVectors):
        return
    for line in lines_of(evidence):
        for node, shape in line.shaped():
            if shape == (fact.reason.rows,):
                yield (
                    f"Add an axis of size 1 to {short(node)} at {line.at}: {show_shape((fact.reason.rows, 1))}",
                    [line.edit(node, f"{IT}[:, None]")],
                    f"Each row is then combined with each of the {fact.reason.number} values.",
                )
                return


@of(OperationRaised)
def each_row(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """An axis in a tensor for the vectors of a table that its difference is taken from."""
    if not isinstance(fact.reason, EachRow):
        return
    spread = fact.reason.spread
    for line in lines_of(evidence):
        for node in [node for node, shape in line.shaped() if shape == fact.reason.shape][:1]:
            yield (
                f"Add an axis of size 1 to {short(node)} at {line.at}: {show_shape(spread)}",
                [line.edit(node, f"{IT}[..., None{', :' if spread[-1] != 1 else ''}]")],
                "The difference is then taken from each vector of the table.",
            )


_SQUASHES = frozenset({"tanh", "relu", "gelu", "silu", "swish", "leaky_relu", "activation"})


@of(OperationRaised)
def each_with_each(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Every position of one sequence with every position of another."""
    if not isinstance(fact.reason, Lengths) or fact.reason.summed or fact.reason.joined:
        return
    for line in lines_of(evidence)[:1]:
        sums = (isinstance(line.node, ast.BinOp) and isinstance(line.node.op, ast.Add)) or line.call("add") is not None
        pair = line.shaped()
        around = parents(line.source.tree).get(line.node) if line.node is not None else None
        squashed = isinstance(around, ast.Call) and called(around) in _SQUASHES
        softmax = any(called(one) == "softmax" for one in nodes(line.scope, ast.Call))
        if not sums or not squashed or not softmax or len(pair) != 2:
            continue
        (one, left), (other, right) = pair
        known, inner = line.shape_of_names(), [node.args[0] for node in (one, other) if isinstance(node, ast.Call) and node.args]
        if any(known.get(ast.unparse(node), ())[-1:] == (1,) for node in inner):
            continue  # the values of a vector are no positions
        if len(left) != 3 or len(right) != 3 or (left[0], left[2]) != (right[0], right[2]) or left[1] == right[1]:
            continue
        for first, second in ((one, other), (other, one)):
            yield (
                f"Add axes of size 1 at {line.at}, so that each position of {short(first)} is combined with each of {short(second)}",
                [line.edit(first, f"{IT}[:, :, None]"), line.edit(second, f"{IT}[:, None]")],
                "An attention that adds has one score for each pair of positions.",
            )


@of(OperationRaised)
def lined_up(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """A table without a batch, such as a bias by positions, with its axes in the order of the tensor that it meets."""
    for line in lines_of(evidence)[:1]:
        for (node, few), (other, many) in itertools.permutations(line.shaped(), 2):
            perm = order_to(few, many)
            if not perm and few[0] == 1 and len(few) == len(many):  # with an axis for the batch
                perm = [0, *(axis + 1 for axis in behind)] if (behind := order_to(few[1:], many)) else []
            # Transposed again, one of them would be the other itself.
            made = [(assigned_to(line, one), two) for one, two in ((node, other), (other, node))]
            again = [isinstance(one, ast.Call) and "transpose" in called(one) and ast.unparse(two) in map(ast.unparse, one.args) for one, two in made]
            if perm and not any(again) and not isinstance(node, ast.Constant):
                turned = tuple(few[axis] for axis in perm)
                yield (
                    f"Transpose {short(node)} at {line.at}: {show_shape(turned)}",
                    [line.apply(node, "transpose", tuple(perm))],
                    f"Its axes are then those of {short(other)}, without the batch.",
                )


@of(OperationRaised)
def spaced(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Axes of size 1 where a table without a batch lacks an axis between its own."""
    for line in lines_of(evidence)[:1]:
        for (operand, few), (other, many) in itertools.permutations(line.shaped(), 2):
            index, node = between(few, many), operand
            statement = statement_of(parents(line.source.tree), node)
            if isinstance(node, ast.Call) and len(node.args) == 1 and line.specs.get(ast.unparse(node.args[0]), Spec(None, "")).shape == few:
                node = node.args[0]  # a function of each of its values
            if not index or not isinstance(node, (ast.Name, ast.Attribute)):
                continue
            same = [item for item in nodes(statement, type(node)) if (spec := line.specs.get(ast.unparse(item))) is not None and spec.shape == few]
            alike = same if len(few) > 1 and node in same else [node]
            names = list(dict.fromkeys(map(short, alike)))
            sizes = iter(few)
            spread = tuple(1 if place == "None" else next(sizes) for place in index)
            again = [item for item in nodes(line.scope, type(node)) if short(item) in names and item.lineno >= line.raised.line]
            for each in (alike, again) if len(again) > len(alike) else (alike,):
                yield (
                    f"Add {'an axis' if index.count('None') == 1 else 'axes'} of size 1 to {' and '.join(names)} at {line.at if each is alike else 'each line'}: {show_shape(spread)}",
                    [line.edit(item, f"{IT}[{', '.join(index)}]") for item in each],
                    f"Its axes are then those of {short(other)}.",
                )


@of(OperationRaised)
def grouped(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """Keys and values repeated for the queries of their group."""
    for line in lines_of(evidence)[:1]:
        for (node, few), (_, many) in itertools.permutations(line.shaped(), 2):
            axis = _fewer_heads(few, many)
            if axis is None or not isinstance(node, ast.Name):
                continue
            times = (many[axis] or 0) // (few[axis] or 1)
            found = [pair for pair in _made_alike(line.scope, node.id) if line.specs.get(pair[0], Spec(few, "")).shape == few]
            if found:
                names = [name for name, _, _ in found]
                edits = []
                for then in dict.fromkeys(then for _, _, then in found):
                    alike = [name for name, _, behind in found if behind is then]
                    parts = ", ".join(f"{MODULE}.repeat({name}, {times}, axis={axis})" for name in alike)
                    edits.append(line.before(then, f"{', '.join(alike)} = {parts}", line.module()))
                yield (
                    f"Repeat {' and '.join(names)} {times} times along axis {axis} after line {found[-1][1].lineno}",
                    edits,
                    f"{times} of the {many[axis]} heads then share one of the {few[axis]}.",
                )


@of(OperationRaised)
def for_each_pair(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """A rotation's angles for both values of each pair: one after the other where the code splits halves, else side by side."""
    for line in lines_of(evidence)[:1] if evidence.framework == "keras" and isinstance(fact.reason, Lengths) else ():
        for (node, few), (_, many) in itertools.permutations(line.shaped(), 2):
            waves = [one for one in _given(line, node) if isinstance(one, ast.Call) and called(one) in ("cos", "sin")]
            angles = [made for one in waves for arg in one.args[:1] for made in _given(line, arg)]
            used = {called(one) for one in nodes(statement_of(parents(line.source.tree), node), ast.Call)}
            text = " ".join(ast.unparse(one) for one in nodes(line.source.tree, ast.FunctionDef) if one.name in used)
            halves, apart = "split(" in text or "// 2" in text, "::2" in text
            if (few[-1] or 0) * 2 == many[-1] and angles and halves != apart:
                yield (
                    f"Repeat the angles at line {angles[-1].lineno} for both values of each pair",
                    [line.edit(angles[-1], f"{MODULE}.{'tile' if halves else 'repeat'}({IT}, 2{', axis=-1' * apart})", "keras.ops")],
                    "A rotation turns two values by one angle.",
                )
                return


def rows_in_pairs(evidence: Evidence, finding: Finding) -> Made:
    """An axis behind the rows of one tensor and in front of those of another, wherever the two meet in the function."""
    for line in lines_of(evidence)[:1]:
        given = [(node, shape) for node, shape in line.shaped() if isinstance(node, ast.Subscript)]
        sizes = [shape for _, shape in given]
        off = [axis for axis, pair in enumerate(zip(*sizes, strict=False)) if len(set(pair)) > 1 and not {1, None} & set(pair)]
        if len(given) != 2 or len(sizes[0]) != len(sizes[1]) or len(off) != 1 or not off[0]:
            continue
        names = [ast.unparse(node.value) for node, _ in given]
        edits = []
        for item in nodes(line.scope, (ast.Call, ast.BinOp)):
            met = [one for one in operands(item) if isinstance(one, ast.Subscript)]
            if [ast.unparse(one.value) for one in met] == names:
                texts = [_spread(line, one, off[0], place) for place, one in enumerate(met)]
                edits += [line.edit(one, text) for one, text in zip(met, texts, strict=True) if all(texts)]
        if edits:
            yield (
                f"Compare all pairs of rows of {names[0]} and {names[1]} from {line.at} on: add an axis to both",
                edits,
                f"There are {sizes[0][off[0]]} rows of one and {sizes[1][off[0]]} of the other.",
            )


def _spread(line: Line, node: ast.Subscript, axis: int, place: int) -> str:
    parts = [line.source.of(one) for one in listed(node.slice)]
    new = ["None", ":"] if place else [":", "None"]
    if parts[:1] == ["..."]:
        parts[1:1] = new
    elif len(parts) > axis and parts[axis] == ":":
        parts[axis : axis + 1] = new
    else:
        return ""
    return f"{ast.unparse(node.value)}[{', '.join(parts)}]" if parts.count("None") == 1 else ""


def _given(line: Line, node: ast.expr) -> list[ast.expr]:
    pairs = [pair for item in nodes(line.owner(), ast.Assign) for pair in assigned(item)]
    return [made for target, made in pairs if ast.unparse(target) == ast.unparse(node)]


def _made_alike(scope: ast.AST, name: str) -> list[tuple[str, ast.stmt, ast.stmt]]:
    """The names that are made as a tensor of this name is made, by one statement or by ones that are alike but for the layer they call.

    Each with the last statement that makes it and the one behind that, of the same block.
    """
    for body in (getattr(item, "body", []) for item in ast.walk(scope)):
        held = {
            one.id: (statement, then)
            for statement, then in (itertools.pairwise(body) if isinstance(body, list) else ())
            if isinstance(statement, ast.Assign)
            for one in nodes(statement, ast.Name)
            if isinstance(one.ctx, ast.Store)
        }
        if name in held:
            mine = held[name][0]
            return [(one, *pair) for one, pair in held.items() if pair[0] is mine or _form(pair[0], one) == _form(mine, name)]
    return []


def _form(statement: ast.stmt, name: str) -> str:
    """What a statement says, whichever layer of the object it calls and whatever the name is that it gives."""
    tree = copy.deepcopy(statement)
    called_ones = [call.func for call in nodes(tree, ast.Call) if isinstance(call.func, ast.Attribute)]
    for item in nodes(tree, ast.Name):
        item.id = "it" if item.id == name else item.id
    for item in called_ones:
        item.attr = "layer" if ast.unparse(item.value) == "self" else item.attr
    return ast.unparse(tree)


def _fewer_heads(few: Shape, many: Shape) -> int | None:
    """The axis of the heads, of which one of two tensors that are alike otherwise has several times as many as the other."""
    apart = [axis for axis, pair in enumerate(zip(few, many, strict=False)) if pair[0] != pair[1]]
    if len(few) != 4 or len(many) != 4 or len(apart) != 1 or apart[0] not in (1, 2):
        return None
    one, other = few[apart[0]] or 0, many[apart[0]] or 0
    return apart[0] if 1 < one < other and other % one == 0 else None


def between(few: Shape, many: Shape) -> list[str]:
    """The index that spreads a smaller tensor over the last axes of a larger one."""
    if not 0 < len(few) < len(many) - 1 or None in few or min(size or 0 for size in few) < 2:
        return []
    ways = [way for way in itertools.combinations(range(1, len(many)), len(few)) if tuple(many[axis] for axis in way) == few]
    way = ways[0] if len(ways) == 1 else ()
    return [":" if axis in way else "None" for axis in range(way[0], len(many))] if way and way != tuple(range(len(many) - len(few), len(many))) else []


def order_to(few: Shape, many: Shape) -> list[int]:
    """The order of axes with which a smaller tensor has the last sizes of a larger one; axes of one size keep theirs. Empty where it needs none."""
    tail = many[len(many) - len(few) :]
    if not 1 < len(few) < len(many) or None in few or few == tail or sorted(map(str, few)) != sorted(map(str, tail)) or max(few) == 1:  # type: ignore[type-var]
        return []
    left, perm = list(range(len(few))), []
    for size in tail:
        axis = next(one for one in left if few[one] == size)
        left.remove(axis)
        perm.append(axis)
    return perm


@of(OperationRaised)
def same_length(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """As many results as inputs from a window that the function says is used without padding."""
    if not isinstance(fact.reason, Lengths):
        return
    for line in lines_of(evidence):
        words = [item for item in nodes(line.scope, ast.Constant) if isinstance(item.value, str) and item.value.lower() == "valid"]
        if len(words) == 1:
            new = "same" if str(words[0].value).islower() else "SAME"
            yield (
                f'Pad the window at line {words[0].lineno}: "{new}" instead of "{words[0].value}"',
                [line.edit(words[0], f'"{new}"')],
                "The result then has the length of what it is computed from.",
            )


def whole_blocks(evidence: Evidence, finding: Finding) -> Made:
    """The values of each position in a reshape that takes a block of positions together."""
    for node in evidence.flow.nodes:
        before = next((one.spec.shape for one in evidence.flow.into(node.id) if one.spec.shape), None)
        after = gives(evidence, node)
        if node.op.lower() != "reshape" or not before or not after or not takes_block(before, after):
            continue
        for line, call in calls_at(evidence, node.called, "reshape"):
            given, target = reshaped(line)
            if len(target) == len(after) and isinstance(given, (ast.Name, ast.Attribute)):
                last, size = target[-1], f"{ast.unparse(given)}.shape[-1]"
                yield (
                    f"Write {short(last)} * {size} for the size at line {call.lineno}, with the last axis in it",
                    [line.edit(last, f"{IT} * {size}")],
                    f"Each of {after[-1]} positions has {before[-1]} values.",
                )


def heads_joined(evidence: Evidence, finding: Finding) -> Made:
    """All heads of a step in one row, where a reshape keeps room for one of them."""
    shape, target = uneven_reshape(finding)
    if len(shape) != 4 or len(target) != 3 or None in shape[1:]:
        return
    front = target[1] == shape[2] != shape[1]
    heads, depth = shape[1] if front else shape[2], shape[3]
    if target[2] != depth or (not front and target[1] != shape[1]) or not heads or not depth:
        return
    for line, _ in calls_of(evidence, "reshape"):
        given, sizes = reshaped(line)
        if given is None or len(sizes) != 3:
            continue
        kept = ast.unparse(sizes[-1])
        # The class has split them somewhere, and says there how many there are.
        split = [shape.elts for shape in nodes(line.owner(), (ast.Tuple, ast.List)) if len(shape.elts) >= 4]
        said = {ast.unparse(part[-2]) for part in split if ast.unparse(part[-1]) == kept and isinstance(part[-2], ast.Attribute)}
        joined = str(heads * depth) if isinstance(sizes[-1], ast.Constant) else f"{said.pop() if len(said) == 1 else heads} * {kept}"
        edits = [line.edit(sizes[-1], joined)]
        if front:
            edits.append(line.apply(given, "transpose", (0, 2, 1, 3)))
        yield (
            f"{'Move the heads after the steps and join them' if front else 'Join the heads'} at {line.at}: {joined} values for each step",
            edits,
            f"Each step has {heads} heads of {depth} values.",
        )


@of(OperationRaised)
def in_grid(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """One row for each position of a map, in the rows and columns of the map that it meets."""
    for line in lines_of(evidence)[:1]:
        for (node, few), (other, many) in itertools.permutations(line.shaped(), 2):
            inner = many[1:-1]
            if len(few) != 3 or len(many) not in (4, 5) or None in (*inner, few[1], few[2]) or few[2] not in (1, many[-1]):
                continue
            if elements(inner) == few[1] and isinstance(other, (ast.Name, ast.Attribute)):
                rows = f"(-1, *{ast.unparse(other)}.shape[1:-1], {few[2]})"
                yield (
                    f"Reshape {short(node)} to the grid of {short(other)} at {line.at}: {show_shape((None, *inner, few[2]))}",
                    [line.edit(node, f"{MODULE}.reshape({IT}, {rows})", line.module())],
                    f"{few[1]} values are one for each of the {' × '.join(map(str, inner))} positions.",
                )


@of(Interleaved)
def groups_together(evidence: Evidence, finding: Finding, fact: Interleaved) -> Made:
    """A transpose in front of a reshape that joins axes which are apart."""
    groups, side = groups_apart(fact.before[1:], fact.after[1:], split=True), patch_side(fact.before[1:], fact.after[1:])
    order = (0, *(axis + 1 for group in groups for axis in group))
    value, how, node = IT, f"Transpose to {order}", evidence.flow.node(finding.nodes[0])
    if side:
        rows, columns, channels = (n or 0 for n in fact.before[1:])
        cut, order = (rows // side, side, columns // side, side, channels), (0, 1, 3, 2, 4, 5)
        value, how = f"{MODULE}.reshape({IT}, {(-1, *cut)})", f"Split into patches of {side} × {side}"
        if node.kind == "layer":
            edits = [insert(node.name, "Reshape", target_shape=list(cut)), insert(node.name, "Permute", dims=list(order[1:]))]
            yield f"{how} before {node.name}: add Reshape and Permute", edits, _JOINS
    if fact.parts:
        rank = len(fact.before)
        apart, order = (-1, *fact.before[1:-1], fact.parts, fact.after[-2]), (*range(rank - 1), rank, rank - 1)
        value, how = f"{MODULE}.reshape({IT}, {apart})", f"Split into {fact.parts} parts of {apart[-1]}"
    for line in lines_at(evidence, finding.location) if groups or side or fact.parts else ():
        array, _ = reshaped(line)
        if array is not None:
            edit = line.edit(array, f"{MODULE}.transpose({value}, {order})", line.module())
            yield f"{how} before the reshape of {short(array)} at {line.at}", [edit], _JOINS


_JOINS = "A reshape does not move values."
