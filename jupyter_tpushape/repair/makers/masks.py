"""Candidates for masks that do not fit the tensor that carries them."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ...examine.evidence import Evidence
from ...flow import Finding, Node
from ...flow.observed import around
from ...flow.syntax import called, is_new_axis
from ...rules.facts.layers import MaskAlone, OperationRaised
from ...rules.facts.masks import MaskAdded, MaskApart, MaskInverted, MaskUnseen
from ...rules.facts.orders import StepsSeen
from ..edits.expression import IT
from ..text.source import class_of, is_atom, method_of, nodes, words_of
from .edits import Made, of
from .line import Line, lines_at, lines_of, listed, short, whole_number


@of(MaskApart)
def ended(evidence: Evidence, finding: Finding, fact: MaskApart) -> Made:
    """The mask of the output of a layer of the program's own."""
    node = next((one for one in evidence.flow.nodes if fact.passes is not None and one.name == fact.passes.name), None)
    for line in lines_at(evidence, node.location or node.called)[:1] if node is not None else ():
        cls = class_of(line.source.tree, node.op) if node is not None else None
        call, own = method_of(cls, "call"), method_of(cls, "compute_mask")
        if node is None or call is None or len(call.args.args) < 2:
            continue
        new, why = _of_output(call, "mask"), f"The output of {node.name} has other steps than its input."
        before, after = around(evidence.flow, node)
        if not new and {*map(len, before)} & {*map(len, after)}:
            continue  # which of the steps are left is not said
        returned = [item.value for item in nodes(own, ast.Return) if item.value is not None] if own is not None else []
        if own is not None and len(returned) == 1 and isinstance(returned[0], ast.Name):
            new = _of_output(call, returned[0].id) or "None"
            yield f"Return {new} from compute_mask at line {returned[0].lineno}", [line.edit(returned[0], new)], why
        elif own is None:
            indent = " " * call.col_offset
            text = f"def compute_mask(self, {call.args.args[1].arg}, mask=None):\n{indent}    return {new or 'None'}\n"
            yield (f"Add compute_mask to {node.op}, which returns {new or 'None'}", [line.before(call, text)], why)


def _of_output(call: ast.FunctionDef, mask: str) -> str:
    given, made = call.args.args[1].arg, [item.value for item in nodes(call, ast.Return)]
    index = made[0] if len(made) == 1 and isinstance(made[0], ast.Subscript) else None
    parts = listed(index.slice) if index is not None and ast.unparse(index.value) == given else []
    if len(parts) < 2 or not all(isinstance(one, ast.Slice) for one in parts[:2]) or ast.unparse(parts[0]) != ":":
        return ""
    return f"{mask}[:, {ast.unparse(parts[1])}]"


@of(MaskAlone)
def of_the_values(evidence: Evidence, finding: Finding, fact: MaskAlone) -> Made:
    """The mask as that of the values, or of the query, whichever has as many steps."""
    node, size = evidence.failed, (fact.shape or (None, None))[-1]
    steps = [(one.spec.shape or (None, None))[1] for one in evidence.given if one.label != "mask" and len(one.spec.shape or ()) > 2]
    for line in lines_at(evidence, node.called)[:1] if node is not None and len(steps) > 1 else ():
        masks = [word.value for call in line.around(ast.Call) for word in call.keywords if word.arg == "mask"]
        for mask in masks if len(masks) == 1 else ():
            if size in (steps[1], None):
                edit = line.edit(mask, f"[None, {IT}]")
                yield (f"Pass the mask as that of the values at line {mask.lineno}", [edit], "Hidden steps of the values then get no attention.")
            if size in (steps[0], None):
                edit = line.edit(mask, f"[{IT}, None]")
                yield f"Pass the mask as that of the query at line {mask.lineno}", [edit], "Hidden steps of the query then give zeros."


@of(MaskInverted)
def turned_round(evidence: Evidence, finding: Finding, fact: MaskInverted) -> Made:
    """The comparison with its opposite."""
    if fact.mask is None:
        yield from _other_triangle(evidence, finding, fact)
        return
    for line in lines_at(evidence, fact.mask.called)[:1] if not fact.added or _only_hides(evidence, finding.nodes[1]) else ():
        for node in line.around((ast.Compare, ast.Call)):
            new = _opposite(line, node)
            if new:
                yield (
                    f"Use {new} for the mask at line {node.lineno}",
                    [line.edit(node, new)],
                    "Only the padding is then hidden." if fact.added else "The mask is then true at the steps that count.",
                )


_LEADS = frozenset({"Cast", "Slice", "Reshape", "BroadcastTo", "ExpandDims", "Mul", "Sub", "AddV2", "SelectV2", "LogicalNot"})


def _only_hides(evidence: Evidence, mask: str) -> bool:
    ends = {softmax for softmax, one, equal in evidence.facts["hidden"] if one == mask and equal}
    pending = [mask]
    for name in pending:
        after = [edge.target for edge in evidence.flow.out_of(name) if edge.target not in ends]
        if any(evidence.flow.node(one).op not in _LEADS for one in after):
            return False
        pending += [one for one in after if one not in pending]
    return True


def _opposite(line: Line, node: ast.Compare | ast.Call) -> str:
    text = line.source.of(node)
    if isinstance(node, ast.Call):
        name, other = called(node), {"equal": "not_equal", "not_equal": "equal"}.get(called(node), "")
        whole = ast.unparse(node.func)
        return f"{whole.removesuffix(name)}{other}{text[len(line.source.of(node.func)) :]}" if other else ""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Eq, ast.NotEq)):
        return ""
    sign = "!=" if isinstance(node.ops[0], ast.Eq) else "=="
    return f"{line.source.of(node.left)} {sign} {line.source.of(node.comparators[0])}"


def triangle_of_cache(line: Line, call: ast.Call, size: ast.expr, new: str) -> Made:
    """A triangle over more keys than queries, moved by what stands in front of them: keys that are kept from before."""
    joined = [
        made
        for item in nodes(line.scope, ast.Assign)
        for targets in [{ast.unparse(one) for target in item.targets for one in listed(target) or [target]}]
        for made in nodes(item.value, ast.Call)
        if called(made) in ("concatenate", "concat") and made.args and (parts := listed(made.args[0])) and ast.unparse(parts[-1]) in targets
    ]
    old, text = ast.unparse(size), line.source.of(call)
    if joined and text.count(old) and len(call.args) == 1 and not call.keywords and call.lineno == size.lineno == call.end_lineno:
        start = size.col_offset - call.col_offset
        inside = f"{text[:start]}{new}{text[start + len(old) : -1]}"
        yield (
            f"Build the mask of {new} keys, moved by {new} - {old}, at line {call.lineno}",
            [line.edit(call, f"{inside}, k={new} - {old})")],
            f"Each step then sees all that line {joined[0].lineno} puts first, itself, and the steps before it.",
        )


def _other_triangle(evidence: Evidence, finding: Finding, fact: MaskInverted) -> Made:
    for line in lines_at(evidence, finding.location)[:1]:
        why = "Each step then sees itself and the steps before it."
        calls = [node for node in nodes(line.source.tree, ast.Call) if called(node) in ("band_part", "triu")]
        bands = [node for node in calls if [whole_number(one) for one in node.args[1:]] == [0, -1]]
        upper = [node for node in calls if called(node) == "triu" and len(node.args) == 1 and not node.keywords]
        if fact.itself and len(calls) == 1:
            for node in bands:
                below, above = node.args[1:]
                yield f"Keep the lower triangle at line {node.lineno}", [line.edit(below, "-1"), line.edit(above, "0")], why
            for node in upper:
                func = ast.unparse(node.func)
                yield f"Keep the lower triangle at line {node.lineno}", [line.edit(node.func, f"{func[:-4]}tril")], why
        for item in line.around(ast.BinOp) if fact.added else ():
            for mask, by in ((item.left, item.right), (item.right, item.left)):
                if isinstance(item.op, ast.Mult) and isinstance(mask, (ast.Name, ast.Attribute)) and ast.unparse(by)[0] == "-":
                    new = f"(1 - {ast.unparse(mask)})"
                    yield f"Mask the later steps at line {item.lineno}: {new}", [line.edit(mask, new)], why
        for call in line.around(ast.Call):
            mask = next((word.value for word in call.keywords if word.arg == "attention_mask"), None)
            if mask is not None and not fact.itself:
                cast = line.cast(mask, "int32")
                edit = line.edit(mask, f"{cast.replace} == 0", module=line.module())
                yield f"Use the opposite of {ast.unparse(mask)} as the mask at line {mask.lineno}", [edit], why


@of(MaskUnseen)
def along_keys(evidence: Evidence, finding: Finding, fact: MaskUnseen) -> Made:
    """The new axis of a mask before the last one, where the line adds it at the end."""
    node = _maker(evidence, finding, lambda one: len(evidence.flow.into(one.id)[0].spec.shape or ()) < len(fact.shape))
    for line in lines_at(evidence, node.called)[:1]:
        for item in line.around((ast.Subscript, ast.Call)):
            edit = None
            if isinstance(item, ast.Subscript):
                parts = listed(item.slice)
                if len(parts) > 1 and is_new_axis(parts[-1]):
                    last = [parts[-1], parts[-2]] if isinstance(parts[-2], ast.Slice) else [*parts[-2:], ast.Slice()]
                    index = ", ".join(map(ast.unparse, [*parts[:-2], *last]))
                    edit = line.edit(item, f"{_closed(line, item.value)}[{index}]")
            elif called(item) == "expand_dims":
                axis = next((one for one in words_of(item)[1:] if whole_number(one) in (-1, len(fact.shape) - 1)), None)
                edit = line.edit(axis, "-2") if axis is not None else None
            if edit is not None:
                yield (f"Put the new axis of the mask before the last one at line {item.lineno}", [edit], "It then has one value for each key.")


@of(MaskAdded)
def far_below(evidence: Evidence, finding: Finding, fact: MaskAdded) -> Made:
    """A number that hides a step: the number of the line, its sign, or the mask that it is multiplied with."""
    node = evidence.flow.node(finding.nodes[1]) if fact.chosen else _maker(evidence, finding, lambda one: one.op == "Mul")
    # The line may be right for other masks.
    alone = fact.kind == "small" or len([one for one in evidence.flow.nodes if (one.op, one.called) == (node.op, node.called)]) == 1
    for line in lines_at(evidence, node.called)[:1] if alone else ():
        for item in line.around(ast.Call if fact.chosen else ast.BinOp):
            sides = item.args[1:] if fact.chosen else [item.left, item.right] if isinstance(item.op, ast.Mult) else []
            numbers = [one for one in sides if _decimal(one) is not None]
            if len(sides) != 2 or len(numbers) != 1:
                continue
            number, other = numbers[0], sides[sides.index(numbers[0]) - 1]
            written = new = line.source.of(number)
            below, edits = (_decimal(number) or 0) < 0, []
            if fact.kind == "small":
                new = "-1e9" if fact.chosen or below is (fact.hidden < fact.kept) else "1e9"
            elif fact.chosen:
                edits = [line.edit(number, line.source.of(other)), line.edit(other, written)]
            else:
                turns = abs(fact.kept) > abs(fact.hidden)
                inner = other.right if isinstance(other, ast.BinOp) and isinstance(other.op, ast.Sub) and _decimal(other.left) == 1 else None
                edits = [line.edit(other, _closed(line, inner) if inner else f"(1.0 - {_closed(line, other)})")] if turns else []
                if fact.kind == "lost" or not turns:
                    new = written.lstrip("- ") if below else f"-{written}"
            if fact.sure or fact.chosen:
                edits += [line.edit(number, new)] if new != written else []
                yield (f"Give the padding about -1e9 at line {item.lineno}", edits, "It then gets no weight.")


def _maker(evidence: Evidence, finding: Finding, is_it: Callable[[Node], bool]) -> Node:
    node = evidence.flow.node(next(one.source for one in evidence.flow.edges if one.id == finding.edges[0]))
    while len(given := evidence.flow.into(node.id)) == 1 and not is_it(node):
        node = evidence.flow.node(given[0].source)
    return node


def _closed(line: Line, node: ast.expr) -> str:
    text = line.source.of(node)
    return text if is_atom(node) else f"({text})"


def _decimal(node: ast.expr) -> float | None:
    try:
        return float(ast.literal_eval(node))
    except (ValueError, TypeError):
        return None


@of(OperationRaised)
def for_every_query(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """An axis for the queries in a value of each position, where that meets a table of each position by each other one, such as a causal mask."""
    rows = {spec.shape[0] for _, spec in evidence.x if spec.shape}
    for line in lines_of(evidence)[:1]:
        pair = line.shaped()
        for (table, square), (node, shape) in (pair, pair[::-1]) if len(pair) == 2 else ():
            if len(square) != 2 or len(shape) != 2 or square[0] != square[1] or square[1] != shape[1] or shape[0] == square[0] or shape[0] not in rows | {None}:
                continue
            masks = all((spec := line.spec(one)) is not None and spec.dtype == "bool" for one in (table, node))
            for axis, index, what in ((1, ":, None, :", "every query has the same keys"), (2, ":, :, None", "every key has the same queries")):
                yield (
                    f"Add an axis of size 1 to {short(node)} at {line.at}: ({', '.join(map(_size, (*shape[:axis], 1, *shape[axis:])))})",
                    [line.edit(node, f"{IT}[{index}]", choice="" if masks else "axis")],
                    f"Each sample then has its own {_size(square[0])} × {_size(square[1])} table, in which {what}.",
                )
                if masks:
                    break


def _size(size: int | None) -> str:
    return "?" if size is None else str(size)


@of(StepsSeen)
def at_the_diagonal(evidence: Evidence, finding: Finding, fact: StepsSeen) -> Made:
    """A triangle that ends at its diagonal, for a mask that shows the next step as well."""
    for node in (evidence.flow.node(one) for one in finding.nodes[:-1]):
        for line in lines_at(evidence, node.called)[:1] if node.config.get("ahead") else ():
            cuts = [call for call in nodes(line.scope, ast.Call) if called(call) in ("tril", "tri")]
            words = [word for call in cuts for word in call.keywords if word.arg == "k" and whole_number(word.value) == 1]
            if len(cuts) == len(words) == 1:
                yield (
                    f"Let the triangle end at its diagonal at line {cuts[0].lineno}: k=0",
                    [line.edit(words[0].value, "0")],
                    "Each step then reads itself and those before it.",
                )
                return
