"""Candidates inside the program's own classes and their names, at the models that it takes whole, and at layers that it calls on tensors of other sizes."""

from __future__ import annotations

import ast
import difflib
import inspect
import sys
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding, Node
from ...flow.syntax import called
from ...rules.compared import kind_of
from ...rules.facts.branches import UnlikeBranches
from ...rules.facts.layers import LayerRaised, OperationRaised, WrongRank
from ...rules.facts.loss import WrongUnits
from ..edits.expression import MODULE
from ..text.arguments import argument, defaults_of
from ..text.source import class_of, method_of, nodes, parents, words_of
from .edits import Fix, Made, of, samples_alone
from .ends import loss_node
from .forms import words_said
from .line import Line, lines_at, lines_of, listed, makers_of, own_layer, short


@of(OperationRaised)
def of_this_turn(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """What a loop goes through, in place of a size that is the same in each turn of it, for a layer of the program's own that it creates."""
    owner, sizes = own_layer(evidence), {size for pair in fact.apart for size in pair}
    keys = [key for key, value in owner.config.items() if type(value) is int and value in sizes] if owner is not None else []
    if owner is None or len(keys) != 1:
        return
    for line in lines_at(evidence, owner.location)[:1]:
        init = method_of(class_of(line.source.tree, owner.op), "__init__")
        order = [one.arg for one in init.args.args[1:]] if init is not None else []
        for call in makers_of(line, owner)[:1]:
            given = argument(call, keys[0], order)
            loops = [one for one in line.around(ast.For, line.scope) if one.lineno <= call.lineno <= (one.end_lineno or 0)]
            turns = [one.id for loop in loops for one in nodes(loop.target, ast.Name) if one.id != "_"]
            if given is None or {one.id for one in nodes(given, ast.Name)} & {*turns}:
                continue
            for name in turns[:4]:
                yield (
                    f"Create {owner.op} with {keys[0]}={name} at line {call.lineno}, instead of {short(given)}",
                    [line.edit(given, name)],
                    "Each turn of the loop then has its own size.",
                )


@of(OperationRaised)
def made_for_as_many(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The number that a metric or loss of the program's own is created with."""
    for line in lines_of(evidence)[:1]:
        owner = line.owner()
        init = method_of(owner, "__init__")
        if not isinstance(owner, ast.ClassDef) or init is None:
            continue
        order = [item.arg for item in init.args.args[1:]]
        picks = {name.removeprefix("self.") for name in _picks(owner)}
        defaults = {name: line.number(value) for name, value in defaults_of(init.args)}
        for call in nodes(line.source.tree, ast.Call):
            if called(call) != owner.name or any(isinstance(item, ast.Starred) for item in call.args):
                continue
            given = {name: argument(call, name, order) for name in [*order, *defaults]}
            for old, new in [pair for one, other in fact.apart for pair in ((one, other), (other, one))]:
                for name, value in given.items():
                    if name in picks or new in samples_alone(evidence):
                        continue
                    if (line.number(value) if value is not None else defaults.get(name)) != old or not new:
                        continue
                    edit = line.edit(value, str(new)) if value is not None else line.more(call, f"{name}={new}")
                    yield f"Create {owner.name} with {name}={new}", [edit], f"It was created for {old}, but receives {new} values."


def _picks(owner: ast.ClassDef) -> set[str]:
    calls = [call for call in nodes(owner, ast.Call) if called(call) in ("top_k", "in_top_k")]
    return {ast.unparse(one) for call in calls for word in words_of(call)[1:] for one in nodes(word, (ast.Name, ast.Attribute))}


@of(WrongRank)
def summed_attention(evidence: Evidence, finding: Finding, fact: WrongRank) -> Made:
    """The sum over the steps that an attention of the program's own weights and returns one by one."""
    if not fact.shape or len(fact.shape) <= fact.wanted:
        return
    for line in lines_at(evidence, finding.location)[:1]:
        for owner in nodes(line.source.tree, ast.ClassDef):
            roots = {ast.unparse(call.func).split(".")[0] for call in nodes(owner, ast.Call)}
            for result, axis in _weighted(owner):
                module = "tensorflow" if "tf" in roots else line.module()
                total = f"{MODULE}.{'reduce_sum' if module == 'tensorflow' else 'sum'}({ast.unparse(result)}, axis={axis})"
                yield (
                    f"Sum over the steps in {owner.name}: reduce_sum({ast.unparse(result)}, axis={axis})",
                    [line.edit(result, total, module)],
                    "The weights of its softmax add up to 1 over the steps, so their sum is one vector.",
                )


def _weighted(owner: ast.ClassDef) -> Iterator[tuple[ast.BinOp, int]]:
    for method in nodes(owner, ast.FunctionDef):
        held = {
            target.id: made.value for made in nodes(method, ast.Assign) for target in made.targets if method.name == "call" and isinstance(target, ast.Name)
        }
        for back in nodes(method, ast.Return) if method.name == "call" else ():
            result = held.get(back.value.id) if isinstance(back.value, ast.Name) else back.value
            if not isinstance(result, ast.BinOp) or not isinstance(result.op, ast.Mult):
                continue
            for side in (result.left, result.right):
                made = held.get(side.id) if isinstance(side, ast.Name) else side
                axis = argument(made, "axis", ["x", "axis"]) if isinstance(made, ast.Call) and called(made) == "softmax" else None
                if isinstance(axis, ast.Constant) and isinstance(axis.value, int) and axis.value > 0:
                    yield result, axis.value


@of(WrongRank)
def without_top(evidence: Evidence, finding: Finding, fact: WrongRank) -> Made:
    """A whole model of keras.applications without its classifier."""
    for line, call, maker in _applications(evidence, finding) if len(fact.shape or ()) == 2 and fact.wanted > 2 else ():
        top = argument(call, "include_top", [*maker.parameters])
        if top is None or top not in call.args:
            yield (
                f"Create {called(call)} without its classifier: include_top=False",
                [line.edit(call, _recalled(call, "include_top=False"), choice="include_top")],
                "Its last map then reaches the layers that are added to it.",
            )


@of(WrongUnits)
def as_many_classes(evidence: Evidence, finding: Finding, fact: WrongUnits) -> Made:
    """A whole model of keras.applications with as many classes as a label has values."""
    loss = loss_node(evidence, finding)
    activation = {"binary": "sigmoid", "categorical": "softmax"}.get(kind_of(loss) if loss is not None else "")
    logits = loss is not None and bool(loss.config.get("from_logits"))
    for line, call, maker in _applications(evidence, finding):
        classes = argument(call, "classes", [*maker.parameters])
        written = line.number(classes) if classes is not None else maker.parameters["classes"].default
        if written == fact.predictions[-1] and (classes is None or classes not in call.args):
            words = [f"classes={fact.labels[-1]}"]
            head, given = None if logits else activation, maker.parameters.get("classifier_activation")
            if given is not None and given.default != head:
                words.append(f"classifier_activation={head!r}")
            yield (
                f"Create {called(call)} with {', '.join(words)}",
                [line.edit(call, _recalled(call, *words), choice="classes")],
                f"Its classifier has {written} classes by default." if classes is None else "A label has as many values.",
            )


def _applications(evidence: Evidence, finding: Finding) -> Iterator[tuple[Line, ast.Call, inspect.Signature]]:
    package = getattr(sys.modules.get(evidence.framework), "applications", None)
    for line in lines_at(evidence, finding.location)[:1]:
        for call in nodes(line.source.tree, ast.Call):
            maker = getattr(package, called(call), None)
            if inspect.isfunction(maker) and "include_top" in inspect.signature(maker).parameters and all(word.arg for word in call.keywords):
                yield line, call, inspect.signature(maker)


def _recalled(call: ast.Call, *words: str) -> str:
    kept = [f"{word.arg}={ast.unparse(word.value)}" for word in call.keywords if word.arg not in ("classes", "classifier_activation")]
    kept = [word for word in kept if not word.startswith("include_top=") or "include_top=False" not in words]
    return f"{ast.unparse(call.func)}({', '.join([*map(ast.unparse, call.args), *kept, *words])})"


@of(OperationRaised)
def exchanged(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """What two layers of a class of the user's own were created with, each with what the other has."""
    owner = own_layer(evidence)
    for line in lines_at(evidence, owner.location)[:1] if owner is not None else ():
        mine = makers_of(line, owner) if owner is not None else []
        for other in nodes(line.scope, ast.Call) if len(mine) == 1 else ():
            if other is mine[0] or called(other) != called(mine[0]):
                continue
            apart = [(a, b) for a, b in zip(mine[0].args, other.args, strict=False) if ast.unparse(a) != ast.unparse(b)]
            one, its = next(iter(apart), (None, None))
            if isinstance(one, ast.Name) and isinstance(its, ast.Name):
                yield (
                    f"Swap {one.id} and {its.id} in the calls of {called(other)} at lines {mine[0].lineno} and {other.lineno}",
                    line.swap(one, its),
                    f"{called(other)} is created with {one.id} first, whose sizes do not fit there.",
                )


def results_exchanged(evidence: Evidence, finding: Finding) -> Made:
    """The two results of a layer or function of the user's own in the other order."""
    node = evidence.failed
    if not isinstance(finding.fact, (OperationRaised, UnlikeBranches)):
        return
    for line in lines_of(evidence)[:1] or (lines_at(evidence, node.called or node.location)[:1] if node is not None else []):
        read = {item.id for item in nodes(line.node or line.scope, ast.Name)}
        for item in nodes(line.scope, ast.Assign):
            names = [one.id for one in listed(item.targets[0]) if isinstance(one, ast.Name)]
            if len(names) != 2 or not read & {*names} or not isinstance(item.value, ast.Call):
                continue
            made = item.value.func
            name = called(made) if isinstance(made, ast.Call) else called(item.value)
            for scope in (one for one in nodes(line.source.tree, (ast.ClassDef, ast.FunctionDef)) if one.name == name):
                body = method_of(scope, "call") if isinstance(scope, ast.ClassDef) else scope
                given = [one.value for one in nodes(body, ast.Return) if len(listed(one.value)) == 2] if body is not None else []
                if len(given) == 1:
                    first, second = listed(given[0])
                    if isinstance(scope, ast.ClassDef) and isinstance(made, ast.Call):
                        yield from _result_as_wide(
                            line, finding.fact, scope, made, [one for name, one in zip(names, (first, second), strict=True) if name in read]
                        )
                    yield (
                        f"Return {short(second)} before {short(first)} in {name} at line {given[0].lineno}",
                        list(line.swap(first, second)),
                        f"They are used as {names[0]} and {names[1]}, in this order.",
                    )


def _result_as_wide(line: Line, fact: OperationRaised | UnlikeBranches, owner: ast.ClassDef, made: ast.Call, read: list[ast.expr]) -> Made:
    """The units of the layer that gives a result, by the one argument of the class that has the size of what the result meets."""
    shapes = fact.shapes if isinstance(fact, OperationRaised) else [one.shape for one in fact.branches]
    sizes, init = {shape[-1] for shape in shapes if shape}, method_of(owner, "__init__")
    names = [item.arg for item in init.args.args[1:]] if init is not None else []
    numbers = {name: line.number(value) for name in names if (value := argument(made, name, names)) is not None}
    for item in nodes(init, ast.Assign) if init is not None else ():
        for target, layer in zip(listed(item.targets[0]) or item.targets, listed(item.value) or [item.value], strict=False):
            units = argument(layer, "units", ["units"]) if isinstance(layer, ast.Call) and called(layer) == "Dense" else None
            held = any(isinstance(one, ast.Call) and ast.unparse(one.func) == ast.unparse(target) for one in read)
            wanted = [name for name, number in numbers.items() if isinstance(units, ast.Name) and {number, numbers.get(units.id)} == sizes]
            if units is not None and held and len(wanted) == 1 and len(sizes) == 2:
                yield (
                    f"Create {short(target)} with {wanted[0]} units instead of {short(units)} at line {units.lineno}",
                    [line.edit(units, wanted[0])],
                    f"{wanted[0]} is {numbers[wanted[0]]}, the size of what the result is combined with.",
                )


_WHY = "The weights of {} were created for another size."


def another_instance(evidence: Evidence, finding: Finding) -> Made:
    """A layer of its own where one that has its weights already is called again."""
    node = own_layer(evidence) or evidence.failed
    times = node.config.get("call") if node is not None else None
    if node is None or not isinstance(times, int) or times < 2:
        return
    for line in lines_at(evidence, node.location)[:1]:
        made = makers_of(line, node)
        held = [item for item in nodes(line.scope, ast.Assign) if len(made) == 1 and item.value is made[0] and len(item.targets) == 1]
        if len(held) == 1 and isinstance(held[0].targets[0], ast.Name):
            yield from _of_name(line, node, held[0], held[0].targets[0].id, times)
        elif len(held) == 1 and isinstance(held[0].targets[0], ast.Attribute):
            yield from _of_attribute(line, node, held[0], held[0].targets[0], times)


def _of_name(line: Line, node: Node, held: ast.Assign, name: str, times: int) -> Made:
    uses = [item for item in nodes(line.scope, ast.Name) if isinstance(item.ctx, ast.Load) and item.id == name]
    uses.sort(key=lambda item: (item.lineno, item.col_offset))
    above = parents(line.source.tree)
    if len(uses) == 1 and (loop := _loop(above, uses[0], held)) is not None:
        yield _in_each_turn(line, node, held, name, uses[0], loop)
    elif times <= len(uses):
        use = uses[times - 1]
        around = above[use]
        if isinstance(around, (ast.List, ast.Tuple)) or (isinstance(around, ast.Call) and around.func is use):
            yield (
                f"Create another {node.op} at line {use.lineno} instead of using {name} again",
                [line.edit(use, line.source.of(held.value))],
                _WHY.format(name),
            )


def _loop(above: dict[ast.AST, ast.AST], use: ast.Name, held: ast.Assign) -> ast.For | None:
    at = above.get(use)
    if not isinstance(at, ast.Call) or at.func is not use:
        return None
    while at is not None and not isinstance(at, ast.For):
        at = above.get(at)
    inside = {id(item) for item in ast.walk(at)} if at is not None else set()
    return at if isinstance(at, ast.For) and id(held) not in inside else None


def _in_each_turn(line: Line, node: Node, held: ast.Assign, name: str, use: ast.Name, loop: ast.For) -> Fix:
    """The layer created in each turn of the loop, with what the loop goes through where it was created with the first of it."""
    text = line.source.of(held.value)
    if isinstance(loop.target, ast.Name):
        first = f"{line.source.of(loop.iter)}[0]"
        text = text.replace(first, loop.target.id)
    return (
        f"Create a {node.op} in each turn of the loop at line {use.lineno} instead of {name} before it",
        [line.edit(use, text), line.removed(held)],
        _WHY.format(name),
    )


def _of_attribute(line: Line, node: Node, held: ast.Assign, target: ast.Attribute, times: int) -> Made:
    name, owner = ast.unparse(target), line.owner()
    uses = [item for item in nodes(owner, ast.Call) if ast.unparse(item.func) == name]
    uses.sort(key=lambda item: (item.lineno, item.col_offset))
    # What is inside of another call runs first.
    known = {ast.unparse(item) for item in nodes(owner, ast.Attribute)}
    if not isinstance(owner, ast.ClassDef) or not 2 <= times <= len(uses) or len({one.lineno for one in uses}) < len(uses):
        return
    if any(_alike(item, held) and _reads(owner, item) == 0 for item in nodes(owner, ast.Assign)):
        return  # one that nothing calls is meant
    other = next(f"{name}_{number}" for number in range(times, 99) if f"{name}_{number}" not in known)
    edits = [line.before(held, f"{other} = {line.source.of(held.value)}"), line.edit(uses[times - 1].func, other)]
    yield f"Create another {node.op} for line {uses[times - 1].lineno} instead of using {name} again", list(edits), _WHY.format(name)


def _alike(item: ast.Assign, held: ast.Assign) -> bool:
    made, own = item.value, held.value
    return item is not held and isinstance(made, ast.Call) and isinstance(own, ast.Call) and ast.unparse(made.func) == ast.unparse(own.func)


def _reads(owner: ast.ClassDef, item: ast.Assign) -> int:
    names = {ast.unparse(target) for target in item.targets}
    return sum(isinstance(node.ctx, ast.Load) and ast.unparse(node) in names for node in nodes(owner, ast.Attribute))


@of(LayerRaised)
def own_names(evidence: Evidence, finding: Finding, fact: LayerRaised) -> Made:
    """``self.name`` where a method has ``name``, and the class has the other."""
    said = words_said(evidence)
    for line in lines_of(evidence)[:1] if {"attribute", "name"} & said else ():
        owner = line.owner()
        kept = {node.attr for node in nodes(owner, ast.Attribute) if isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"}
        read = line.node
        if isinstance(read, ast.Name) and read.id in kept and read.id in said:
            yield _as_own(line, read)
        local = [
            node
            for method in nodes(owner, ast.FunctionDef)
            if method.name in ("__init__", "build")
            for node in nodes(method, ast.Name)
            if isinstance(node.ctx, ast.Store) and isinstance(read, ast.Attribute) and node.id == read.attr
        ]
        if not isinstance(read, ast.Attribute) or ast.unparse(read.value) != "self" or read.attr in kept:
            continue
        if len(local) == 1:
            yield _as_own(line, local[0])
        near = difflib.get_close_matches(read.attr, sorted(kept), 2, 0.8)
        if len(near) == 1:
            edits = [line.edit(one, f"self.{near[0]}") for one in nodes(owner, ast.Attribute) if ast.unparse(one) == ast.unparse(read)]
            yield f"Use self.{near[0]} instead of self.{read.attr}", edits, "Of all attributes that the class sets it is most like the one that is read."


def _as_own(line: Line, name: ast.Name) -> Fix:
    return (f"Use self.{name.id} instead of {name.id} at line {name.lineno}", [line.edit(name, f"self.{name.id}")], "Methods share only attributes.")


@of(LayerRaised)
def shapes_by_name(evidence: Evidence, finding: Finding, fact: LayerRaised) -> Made:
    """The shapes that ``build`` or ``compute_output_shape`` takes, named after what ``call`` takes."""
    said, node = words_said(evidence), evidence.failed
    for line in lines_at(evidence, node.called or node.location)[:1] if node is not None and "foo_shape" in said else ():
        call, *methods = (method_of(class_of(line.source.tree, fact.layer.op), name) for name in ("call", "build", "compute_output_shape") if name in said)
        for method in methods:
            if call is not None and method is not None:
                names = {one.arg: f"{to.arg}_shape" for one, to in zip(method.args.args[1:], call.args.args[1:], strict=False)}
                read = [(one, getattr(one, "arg", "") or getattr(one, "id", "")) for one in nodes(method, (ast.arg, ast.Name))]
                yield (
                    f"Name the arguments of {method.name} {', '.join(names.values())} at line {method.lineno}",
                    [line.edit(one, names[name]) for one, name in read if name in names],
                    "Keras matches them with the arguments of call.",
                )
