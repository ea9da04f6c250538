"""Candidates for arrays and functions of JAX: items that are assigned, loops, maps, gradients, sizes and indices."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...examine.heard import hear
from ...examine.heard_jax import HeardIndex
from ...flow import Finding, show_shape
from ...flow.syntax import called
from ...rules.facts.mesh import ValueAsked
from ...rules.facts.mixing import EveryPair
from ...rules.facts.stateless import GradientOfOther
from ...rules.facts.transforms import BranchesApart, CarryApart, ConvolvedFirst, GradientOf, MappedApart, OneMapped, PutApart
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import nodes, parents, statement_of, words_of
from .edits import Made, created, of
from .line import Line, assigned_to, calls_at, calls_of, lines_at, lines_of, listed, names_of, own_layer, short
from .selected import compared_around


def item_set(evidence: Evidence, finding: Finding) -> Made:
    """``x = x.at[index].set(value)`` for ``x[index] = value``; an array of NumPy's that takes tensors becomes one of JAX."""
    buffer = isinstance(finding.fact, ValueAsked)
    for line in lines_of(evidence) if evidence.backend == "jax" else ():
        every = [(item, item.targets[0]) for item in nodes(line.scope, ast.Assign) if len(item.targets) == 1]
        sets = [(item, target) for item, target in every if isinstance(target, ast.Subscript)]
        for _, at in [pair for pair in sets if pair[0].lineno == line.raised.line][:1]:
            tensor = ast.unparse(at.value)
            edits = []
            for item, target in sets if buffer else [pair for pair in sets if pair[1] is at]:
                if ast.unparse(target.value) == tensor:
                    # As it stands in the brackets: a tuple by itself has brackets of its own.
                    index = ast.unparse(target)[len(tensor) + 1 : -1]
                    edits += [line.edit(target, tensor), line.edit(item.value, f"{tensor}.at[{index}].set({IT})")]
            made = [item.value for item, target in every if ast.unparse(target) == tensor] if buffer else []
            for call in made:
                if not isinstance(call, ast.Call) or ast.unparse(call.func) not in _BUFFERS:
                    return
                edits.append(line.edit(call.func, f"{MODULE}.{called(call)}", "jax.numpy"))
            index = ast.unparse(at)[len(tensor) + 1 : -1]
            if made or not buffer:
                yield (f"Create an updated array at {line.at}: {tensor} = {tensor}.at[{index}].set(...)", edits, "The original array is unchanged.")
            return


@of(PutApart)
def put_in_shape(evidence: Evidence, finding: Finding, fact: PutApart) -> Made:
    """What is put into a place of a tensor, taken with an index where a slice of one element keeps an axis too many."""
    for line in lines_of(evidence)[:1] if fact.value.count(1) == 1 and len(fact.value) == len(fact.place) + 1 else ():
        value = line.node.args[0] if isinstance(line.node, ast.Call) and line.node.args else None
        part = dict(enumerate(listed(value.slice))).get(fact.value.index(1)) if isinstance(value, ast.Subscript) else None
        if isinstance(part, ast.Slice) and part.lower is not None:
            new = ast.unparse(part.lower)
            yield (f"Take one element at line {part.lineno}: {new} instead of {ast.unparse(part)}", [line.edit(part, new)], "A slice keeps its axis.")


@of(PutApart)
def written_in_order(evidence: Evidence, finding: Finding, fact: PutApart) -> Made:
    """What is written into a tensor with its axes in the order of that tensor's, if one order alone fits: one axis may be longer in a cache."""
    value, room = fact.value, fact.place[1:]
    orders = [
        (0, *order)
        for order in itertools.permutations(range(1, len(value)))
        if len(order) == len(room)
        and value[:1] == fact.place[:1]
        and sum(value[axis] == size for axis, size in zip(order, room, strict=True)) == len(room) - fact.inside
        and all((value[axis] or 0) <= (size or 0) for axis, size in zip(order, room, strict=True))
    ]
    for line, call in calls_of(evidence, "dynamic_update_slice", "set") if len(orders) == 1 else ():
        for part in call.args[fact.inside :][:1]:
            yield (
                f"Transpose {short(part)} at {line.at}: {show_shape(tuple(value[axis] for axis in orders[0]))}",
                [line.apply(part, "transpose", orders[0], module="keras.ops")],
                "Its axes are then in the order of that tensor's.",
            )


_BUFFERS = frozenset(f"{module}.{name}" for module in ("np", "numpy") for name in ("zeros", "ones", "empty", "full", "zeros_like"))


@of(ValueAsked)
def without_numpy(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """Tensors as they are, where the code asks for their values."""
    for line in lines_of(evidence)[:1] if fact.asked == "array" else []:
        above = parents(line.source.tree)
        calls = [call for call in nodes(line.scope, ast.Call) if called(call) == "numpy" and isinstance(call.func, ast.Attribute)]
        edits = []
        for call in calls:
            around = above[call]
            whole = around if isinstance(around, ast.Call) and called(around) in ("float", "int") else call
            edits.append(line.edit(whole, ast.unparse(call.func.value)))
        for made in {statement_of(above, call) for call in calls}:
            shown = made.value if isinstance(made, ast.Expr) else None
            if isinstance(shown, ast.Call) and called(shown) == "print":
                edits += [line.edit(shown.func, f"{MODULE}.print", "tensorflow")] * (evidence.backend == "tensorflow")
            elif (shown is not None and called(shown) != "assign") or any(isinstance(one, ast.Attribute) for one in getattr(made, "targets", ())):
                edits.clear()  # what a list or an attribute keeps of a compiled step has no value there either
                break
        if edits:
            yield "Use the tensors without .numpy()", edits, "A compiled step has no values."
        call = line.call()
        way = ast.unparse(call.func).split(".") if call is not None else []
        if call is not None and way[0] in ("np", "numpy") and len(way) == 2 and call.args:
            name, of_list = _OF_TENSORS.get(way[1], way[1]), ast.unparse(call.args[0])
            yield (
                f"Use {name} of keras.ops for {'.'.join(way)} at {line.at}",
                [line.edit(call.func, f"{MODULE}.{name}", "keras.ops"), *compared_around(line, call)],
                f"The tensors in {of_list} have no values yet, and NumPy asks for them.",
            )


_OF_TENSORS = {"array": "stack", "asarray": "stack", "concat": "concatenate"}


@of(CarryApart)
def carried(evidence: Evidence, finding: Finding, fact: CarryApart) -> Made:
    """A loop's first state with the rows of the batch, or with the one size that a step returns instead of its own."""
    owner = own_layer(evidence)
    for line in lines_of(evidence):
        held = [(short(item.targets[0]), item.value) for item in nodes(line.scope, ast.Assign) if len(item.targets) == 1]
        for name, made in [*held, *((short(one), one) for one in _handed(line.node))]:
            shape = made.args[0] if isinstance(made, ast.Call) and called(made) in ("zeros", "ones", "full") and made.args else None
            starts = name in [*map(ast.unparse, _handed(line.node)), short(made)]
            rows = next((name for name, spec in line.specs.items() if name.isidentifier() and spec.shape and spec.shape[0] == fact.after[0]), "")
            sizes = (listed(shape) or [shape]) if starts and shape is not None else []
            off = [i for i, (a, b) in enumerate(zip(fact.before, fact.after, strict=False)) if a != b]
            if len(sizes) == len(fact.before) == len(fact.after) and len(off) == 1:
                size = fact.after[off[0]]
                names = names_of(line, owner, size)
                new = f"{rows}.shape[0]" if off == [0] and rows else names[0] if len(names) == 1 else str(size)
                yield (
                    f"Create {name} with size {new} at axis {off[0]}, at line {sizes[0].lineno}",
                    [line.edit(sizes[off[0]], new)],
                    f"A step returns {show_shape(fact.after)}.",
                )
            if fact.after[1:] == fact.before and shape is not None and len(sizes) == len(fact.before) and rows:
                parts = ", ".join([f"{rows}.shape[0]", *map(ast.unparse, sizes)])
                yield (f"Create {name} with as many rows as {rows}: ({parts})", [line.edit(shape, f"({parts})")], "")
        names = names_of(line, owner, fact.after[-1]) if fact.before[:-1] == fact.after[:-1] else []
        if owner is not None and len(names) == 1 and fact.before[-1]:
            yield created(owner, names[0][5:], fact.before[-1], "", f"A step returns {show_shape(fact.after)}.")


def _handed(node: ast.AST | None) -> list[ast.expr]:
    call = node.value if isinstance(node, ast.Subscript) else node
    return words_of(call) if isinstance(call, ast.Call) else []


_GRADIENTS = frozenset({"grad", "value_and_grad"})


_WHOLE = ("int", "uint", "bool")
_FILLED = frozenset({"zeros", "ones", "zeros_like", "ones_like", "full_like", "full", "arange", "array", "asarray"})


def _by_default(line: Line, node: ast.expr) -> bool:
    made = [item.value for item in nodes(line.scope, ast.Assign) if ast.unparse(item.targets[0]) == ast.unparse(node)]
    value = made[-1] if made else node
    if not isinstance(value, ast.Call) or called(value) not in _FILLED:
        return False
    said = [str(one.value) for one in nodes(value, ast.Constant)] + [one.attr for one in nodes(value, ast.Attribute)]
    return not any(one.startswith(_WHOLE) for one in (*said, *(one.id for one in nodes(value, ast.Name))))


def _computed(line: Line, name: str) -> bool:
    place = name.rpartition("[")[2].rstrip("]")
    names = {ast.unparse(one) for one in line.node.args} if isinstance(line.node, ast.Call) else set()
    bodies: list[ast.FunctionDef | ast.Lambda] = [one for one in nodes(line.source.tree, ast.FunctionDef) if one.name in names]
    kept = [one.value for one in nodes(line.scope, ast.Assign) if ast.unparse(one.targets[0]) in names]
    bodies += [one for one in (*kept, *(line.node.args if isinstance(line.node, ast.Call) else ())) if isinstance(one, ast.Lambda)]
    for body in bodies:
        states = [one.arg for one in body.args.args]
        for item in nodes(body, ast.Assign):
            target = item.targets[0]
            if ast.unparse(item.value) in states[:2] and isinstance(target, ast.Tuple) and place.isdigit() and int(place) < len(target.elts):
                states = [ast.unparse(target.elts[int(place)])]
        used = [side for one in nodes(body, ast.BinOp) for side in (one.left, one.right)]
        if any(isinstance(one, ast.Name) and one.id in states for one in used):
            return True
    return False


@of(CarryApart)
def carried_dtype(evidence: Evidence, finding: Finding, fact: CarryApart) -> Made:
    """A loop's first state in the dtype that a step returns."""
    if fact.shapes or not fact.becomes:
        return
    for line in lines_of(evidence):
        for node in line.operands():
            spec = line.spec(node)
            if fact.was.startswith(_WHOLE) and not fact.becomes.startswith(_WHOLE) and not (_by_default(line, node) or _computed(line, fact.name)):
                continue  # whole numbers that the program means, such as ids
            known = spec.dtype == fact.was if spec is not None and spec.dtype else isinstance(node, ast.Call)
            if known and not isinstance(node, (ast.Constant, ast.Lambda)):
                yield (
                    f"Initialize {short(node)} as {fact.becomes} at {line.at}",
                    [line.cast(node, fact.becomes, "keras.ops")],
                    "Each iteration returns that dtype.",
                )


@of(BranchesApart)
def branch_dtype(evidence: Evidence, finding: Finding, fact: BranchesApart) -> Made:
    """What one branch of a condition returns in the dtype of the other."""
    if fact.first != fact.second or fact.dtypes[0] == fact.dtypes[1]:
        return
    for line, call in calls_of(evidence, "cond"):
        given = {spec.dtype for node in call.args[3:] if (spec := line.spec(node)) is not None}
        floats = [dtype for dtype in fact.dtypes if not dtype.startswith(_WHOLE)]
        # Where that is not known, the one that mixed precision computes in.
        kept = [dtype for dtype in floats if dtype in given] or [dtype for dtype in floats if dtype != "float32"] or floats
        for branch, dtype in zip(call.args[1:3], fact.dtypes, strict=False) if len(kept) == 1 else ():
            value = _returned(line, branch) if dtype != kept[0] else None
            if value is not None:
                yield (
                    f"Return {kept[0]} from this branch at line {value.lineno}, as from the other",
                    [line.cast(value, kept[0], "keras.ops")],
                    "Both branches must return the same dtype.",
                )


def _returned(line: Line, branch: ast.expr) -> ast.expr | None:
    if isinstance(branch, ast.Lambda):
        return branch.body
    named = [item for item in nodes(line.scope, ast.FunctionDef) if item.name == ast.unparse(branch)]
    values = [item.value for item in nodes(named[0], ast.Return)] if len(named) == 1 else []
    return values[0] if len(values) == 1 else None


def axis_of_each(evidence: Evidence, finding: Finding) -> Made:
    """An entry of ``in_axes`` for the last arguments too: the batch, else None."""
    for line in lines_of(evidence)[:1]:
        shapes = line.shape_of_names()
        for outer, call, axes, _ in mapped_calls(line):
            rows = [shapes.get(ast.unparse(one), ())[:1] for one in outer.args]
            if 0 < len(axes) < len(rows) and outer.lineno == line.raised.line:
                more = ["0" if one and one == rows[0] else "None" for one in rows[len(axes) :]]
                new = f"({', '.join([*map(line.source.of, axes), *more])})"
                yield (
                    f"Set in_axes={new} at line {call.lineno}, one entry for each argument",
                    [line.edit(argument(call, "in_axes", ["fun", "in_axes"]) or call, new)],
                    "None passes an argument as a whole each time.",
                )


@of(MappedApart)
def not_mapped(evidence: Evidence, finding: Finding, fact: MappedApart) -> Made:
    """``in_axes`` with None for what is the same in each turn."""
    yield from _same_in_each(evidence, fact)
    yield from _other_axes(evidence, fact)
    # The batch is what is mapped: an axis of unknown size, else the rows of the data.
    rows = {spec.shape[0] for _, spec in evidence.x if spec.shape}
    axes = [axis if size is None or size in rows else None for size, axis, _ in fact.axes]
    if all(axis is None for axis in axes) or None not in axes:
        return
    rest = [None if mine is not None else axis for mine, (_, axis, _) in zip(axes, fact.axes, strict=True)]
    for line in lines_of(evidence):
        for call in _calls(line, {"vmap"}):
            for what, mapped, over in (
                (("the batch only", axes, "row"), ("all but the batch", rest, "turn")) if len(call.args) == 1 and not call.keywords else ()
            ):
                yield (
                    f"Map over {what}: in_axes={_tuple(mapped)} at line {call.lineno}",
                    [line.edit(call.args[0], f"{IT}, in_axes={_tuple(mapped)}")],
                    f"The other arguments are the same for every {over}.",
                )


def _same_in_each(evidence: Evidence, fact: MappedApart) -> Made:
    apart = {name.partition("[")[0] for _, _, name in fact.axes if name}
    for line in lines_of(evidence) if len(apart) == 1 and any(not name for *_, name in fact.axes) else []:
        for outer, call, _, names in mapped_calls(line):
            plain = len(call.args) == 1 and not call.keywords and outer.lineno <= line.raised.line <= (outer.end_lineno or 0)
            if plain and len(names) == len(outer.args) > 2 and apart <= set(names):
                axes = _tuple([None if name in apart else 0 for name in names])
                yield (
                    f"Pass {apart.copy().pop()} as a whole each time: in_axes={axes} at line {call.lineno}",
                    [line.edit(call.args[0], f"{IT}, in_axes={axes}")],
                    "The other arguments are mapped over their first axis.",
                )


def _other_axes(evidence: Evidence, fact: MappedApart) -> Made:
    for line, (outer, _, axes, names) in ((at, one) for at in lines_of(evidence) for one in mapped_calls(at)):
        if (
            not outer.lineno <= line.raised.line <= (outer.end_lineno or 0)
            or not len(names) == len(axes) == len(outer.args)
            or not {name for *_, name in fact.axes} <= {"", *names}
        ):
            continue
        sizes = {name: size for size, _, name in fact.axes}
        wrong = [name for name in names if name in sizes] if "" in sizes else names if len(names) == 2 else []
        for name in wrong:
            place = names.index(name)
            shape = line.shape(outer.args[place]) or ()
            fit = [axis for axis, size in enumerate(shape) if size in {n for other, n in sizes.items() if other != name}]
            new = fit[0] if len(fit) == 1 else None
            if new is not None or len(names) > 2:
                yield (
                    f"Map over axis {new} of {name} at line {axes[place].lineno}" if fit else f"Pass {name} as a whole each time at line {axes[place].lineno}",
                    [line.edit(axes[place], str(new))],
                    "It has the size of the other mapped axes." if fit else "The other arguments are mapped over their axes.",
                )


@of(EveryPair)
def batch_of_both(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """The first axis in ``in_axes`` for an argument that is not mapped."""
    for line in lines_at(evidence, finding.location)[:1]:
        for _, _, axes, names in mapped_calls(line) if fact.operation.op == "MatMul" else ():
            for axis, name in zip(axes, names, strict=False):
                if isinstance(axis, ast.Constant) and axis.value is None:
                    yield (f"Map over the batch of {name} at line {axis.lineno}", [line.edit(axis, "0")], "Each sample is then combined with its own values.")


def mapped_calls(line: Line) -> Iterator[tuple[ast.Call, ast.Call, list[ast.expr], list[str]]]:
    """Calls of what vmap makes, the call of vmap, its written axes, and the names of what the mapped function takes."""
    tree = line.source.tree
    held = {ast.unparse(item.targets[0]): item.value for item in nodes(tree, ast.Assign)}
    for outer in nodes(tree, ast.Call):
        call = held.get(ast.unparse(outer.func), outer.func)
        if isinstance(call, ast.Call) and called(call) == "vmap" and call.args:
            function = call.args[0]
            while isinstance(function, ast.Call) and called(function) == "vmap" and function.args:
                function = function.args[0]
            function = lent if isinstance(lent := held.get(ast.unparse(function)), ast.Lambda) else function
            name = getattr(function, "attr", getattr(function, "id", ""))
            known = [function] if isinstance(function, ast.Lambda) else [one for one in nodes(tree, ast.FunctionDef) if one.name == name]
            for made in known[:1]:
                yield (outer, call, listed(argument(call, "in_axes", ["fun", "in_axes"])), [one.arg for one in made.args.args if one.arg != "self"])


@of(GradientOf)
def aux(evidence: Evidence, finding: Finding, fact: GradientOf) -> Made:
    """``has_aux=True`` where the function returns more than the loss."""
    if not fact.several:
        return
    for line in lines_of(evidence):
        if fact.paired:
            yield from _paired(line)
            continue
        for call in _calls(line, _GRADIENTS):
            if len(call.args) == 1 and all(word.arg != "has_aux" for word in call.keywords):
                taken = _taken(line, call)
                more = f", and take {ast.unparse(taken[1])} apart" if taken is not None else ""
                yield (
                    f"Set has_aux=True at line {call.lineno}: the function returns more than the loss{more}",
                    [line.edit(call.args[0], f"{IT}, has_aux=True"), *([line.edit(*taken[:1], ast.unparse(taken[1]))] if taken else [])],
                    "The gradient is that of the first value.",
                )


def _taken(line: Line, call: ast.Call) -> tuple[ast.expr, ast.Tuple] | None:
    """The one name that holds what a function returns, and the names that its parts have where it returns them, if the step holds these, too."""
    statement = statement_of(parents(line.source.tree), call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and called(call) == "value_and_grad" else None
    first = target.elts[0] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
    made = [item for item in nodes(line.owner(), ast.FunctionDef) if item.name == ast.unparse(call.args[0]).rpartition(".")[2]]
    returned = [item.value for item in nodes(made[0], ast.Return)] if len(made) == 1 else []
    parts = returned[0] if len(returned) == 1 else None
    if not isinstance(first, ast.Name) or not isinstance(parts, ast.Tuple) or not isinstance(parts.elts[0], ast.Name):
        return None
    held = {item.id for item in nodes(line.scope, ast.Name) if isinstance(item.ctx, ast.Store)}
    names = {item.id for one in parts.elts[1:] for item in nodes(one, ast.Name)}
    plain = all(isinstance(item, (ast.Name, ast.Tuple, ast.expr_context)) for one in parts.elts for item in ast.walk(one))
    renamed = ast.Tuple([first, *parts.elts[1:]], ast.Load())
    return (first, renamed) if plain and names <= held and first.id not in names else None


@of(GradientOf)
def summed(evidence: Evidence, finding: Finding, fact: GradientOf) -> Made:
    """One number of the values that a function returns."""
    if fact.several or not fact.shape:
        return
    for line in lines_of(evidence) if all(size == 1 for size in fact.shape[1:]) else ():
        outer = line.node
        if not isinstance(outer, ast.Call) or not isinstance(outer.func, ast.Call) or called(outer.func) != "grad" or len(outer.args) != 1:
            continue
        spec = line.spec(outer.args[0])
        inner = outer.func.args
        if len(inner) != 1 or outer.func.keywords or spec is None or not spec.shape or spec.shape[0] != fact.shape[0]:
            continue
        function = line.source.of(inner[0])
        applied = f"({function})(values)" if isinstance(inner[0], ast.Lambda) else f"{function}(values)"
        yield (
            f"Sum over the samples before differentiating at {line.at}",
            [line.edit(inner[0], f"lambda values: {MODULE}.sum({applied})", "keras.ops")],
            "A sample's value depends on that sample alone, so the gradient of the sum has the derivative of each.",
        )
        return
    for line in lines_of(evidence) if any(size != 1 for size in fact.shape) else ():
        by = line.spec(line.node.args[0]) if isinstance(line.node, ast.Call) and line.node.args else None
        if by is not None and by.shape and by.shape[0] == fact.shape[0]:
            return  # a derivative by the samples: a mean would divide it by their number
        for call in _calls(line, _GRADIENTS):
            loss = returned_loss(line, call) if call.args else None
            if loss is not None:
                yield (
                    f"Take the mean over the samples at line {loss.lineno}",
                    [line.edit(loss, f"{MODULE}.mean({IT})", line.module())],
                    "The gradient is that of a single number.",
                )


def gradients(line: Line) -> list[ast.Call]:
    """The calls of functions that differentiate others, of the expression that raised."""
    return _calls(line, _GRADIENTS)


def returned_loss(line: Line, call: ast.Call) -> ast.expr | None:
    """What the function to differentiate returns as its loss, if it returns in one place."""
    given = call.args[0]
    name = ast.unparse(given).rpartition(".")[2]
    made = [item for item in nodes(line.source.tree, ast.FunctionDef) if item.name == name]
    if isinstance(given, ast.Lambda):
        value: ast.expr | None = given.body
    else:
        returned = [item.value for item in nodes(made[0], ast.Return)] if len(made) == 1 else []
        value = returned[0] if len(returned) == 1 else None
    return value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value


@of(GradientOfOther)
def by_weights(evidence: Evidence, finding: Finding, fact: GradientOfOther) -> Made:
    """The position of the weights among the arguments of the function that is differentiated."""
    for line, applied in calls_at(evidence, finding.location, "stateless_apply"):
        weights = ast.unparse(applied.args[2]) if len(applied.args) == 3 else ""
        for call in nodes(line.scope, ast.Call):
            made = assigned_to(line, call.func)
            given = [ast.unparse(one) for one in call.args]
            if not isinstance(made, ast.Call) or called(made) not in _GRADIENTS or weights not in given or len(made.args) != 1:
                continue
            at, said = given.index(weights), argument(made, "argnums", [])
            yield (
                f"Use argnums={at} at line {made.lineno}: differentiate by {weights}",
                [line.edit(made.args[0], f"{IT}, argnums={at}") if said is None else line.edit(said, str(at))],
                f"It is argument {at} of the function, counted from 0.",
            )


def _paired(line: Line) -> Made:
    names = {ast.unparse(one.args[0]).rpartition(".")[2] for one in _calls(line, _GRADIENTS) if one.args}
    functions = [one for one in nodes(line.source.tree, ast.FunctionDef) if one.name in names]
    given = [one.value for function in functions for one in nodes(function, ast.Return)]
    taken = [one.targets[0].elts[0] for one in nodes(line.scope, ast.Assign) if one.value is line.node and isinstance(one.targets[0], ast.Tuple)]
    # The call may take a pair already.
    wrong = [*given, *(one for one in taken if not (isinstance(one, ast.Tuple) and len(one.elts) == 2 and isinstance(one.elts[1], ast.Tuple)))]
    if len(given) == len(taken) == 1 and all(isinstance(one, ast.Tuple) and len(one.elts) > 2 for one in wrong):
        edits = []
        for one in wrong:
            first, *rest = map(ast.unparse, one.elts)
            text = f"{first}, ({', '.join(rest)})"
            edits.append(line.edit(one, f"({text})" if one in taken else text))
        yield f"Return the loss and a tuple of the rest at line {given[0].lineno}", edits, "has_aux=True expects a pair."


@of(ConvolvedFirst)
def channels_named(evidence: Evidence, finding: Finding, fact: ConvolvedFirst) -> Made:
    """The axes of maps and kernel by their names, where a convolution is not told them."""
    for line, call in calls_of(evidence, "conv_general_dilated"):
        if line.keyword("dimension_numbers") is None and len(call.args) < 7:
            order = ", ".join(f'"{axes}"' for axes in fact.order)
            yield (
                f"Set dimension_numbers=({order}) at {line.at}",
                [line.more(call, f"dimension_numbers=({order})")],
                "Batch first and channels last, as in Keras.",
            )


def whole_index(evidence: Evidence, finding: Finding) -> Made:
    """The indices of a lookup as whole numbers."""
    for line in lines_of(evidence) if hear(evidence.failure, HeardIndex) is not None else ():
        node = line.node
        index = node.slice if isinstance(node, ast.Subscript) else None
        if isinstance(node, ast.Call) and called(node) in ("take", "take_along_axis") and len(node.args) > 1:
            index = node.args[1]
        if index is not None and not isinstance(index, (ast.Slice, ast.Tuple, ast.Constant)):
            yield (f"Cast {short(index)} to int32 at {line.at}", [line.cast(index, "int32", "keras.ops")], "Indices are integers.")


def _calls(line: Line, names: frozenset[str] | set[str]) -> list[ast.Call]:
    """The calls of these functions in the expression that raised, and where the function that it calls was made in the lines before."""
    made = assigned_to(line, line.node.func) if isinstance(line.node, ast.Call) else None
    if isinstance(made, ast.Call):
        # It may be wrapped in another transform.
        wrapped = [one for item in made.args if isinstance(item, ast.Name) and isinstance(one := assigned_to(line, item), ast.Call)]
        return [call for call in (*nodes(made, ast.Call), *wrapped) if called(call) in names]
    return [call for call in nodes(line.node, ast.Call) if called(call) in names] if line.node is not None else []


def _tuple(axes: list[int | None]) -> str:
    return f"({', '.join(map(str, axes))}{',' if len(axes) == 1 else ''})"


@of(OneMapped)
def one_row(evidence: Evidence, finding: Finding, fact: OneMapped) -> Made:
    """A batch of one sample for a layer inside a mapped function."""
    for line in lines_of(evidence)[:1]:
        call = line.node
        if not isinstance(call, ast.Call) or fact.wanted != len(fact.shape) + 1:
            continue
        mapped = call.func
        if isinstance(mapped, ast.Call) and called(mapped) == "vmap" and len(mapped.args) == 1 and not mapped.keywords:
            layer = mapped.args[0]
            if isinstance(layer, (ast.Name, ast.Attribute)) and len(call.args) == 1:
                new = f"{line.source.of(layer)}({line.source.of(call.args[0])})"
                yield f"Call {short(layer)} on the whole batch at {line.at}", [line.edit(call, new)], "It takes all samples at once."
        elif len(call.args) > 0:
            of = line.source.of
            rest = "".join(f", {of(one)}" for one in call.args[1:]) + "".join(f", {of(one)}" for one in call.keywords)
            sample = of(call.args[0]) if isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Call)) else f"({of(call.args[0])})"
            yield (
                f"Call {short(call.func)} on a batch of one sample at {line.at}: {sample}[None]",
                [line.edit(call, f"{of(call.func)}({sample}[None]{rest})[0]")],
                "A layer expects a batch.",
            )
