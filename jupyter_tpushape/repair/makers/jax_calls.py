"""Candidates for calls of JAX that are given too little or in another order: steps of loops, starts and sizes for each axis, an index for each sample."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Any

from ...examine.evidence import Evidence
from ...flow import Finding, elements, show_shape
from ...flow.syntax import Function, called
from ...rules.facts.layers import OperationRaised, UnknownAxis
from ...rules.facts.loss_silent import PairsPredicted
from ...rules.facts.mesh import ValueAsked
from ...rules.facts.mixing import EveryPair
from ...rules.facts.reasons import Lengths
from ...rules.facts.transforms import BranchesApart, CarryApart, GradientOf
from ..edits.expression import IT, MODULE
from ..text.source import given_to, nodes
from .edits import Made, created, of
from .jax_arrays import gradients, mapped_calls, returned_loss
from .line import Line, calls_of, lines_at, lines_of, listed, own_layer, running, short

_MAPS = frozenset({"map", "tree_map"})


def swapped_step(evidence: Evidence, finding: Finding) -> Made:
    """The parameters of a loop's step in the order in which the loop passes them."""
    if isinstance(finding.fact, CarryApart) and not finding.fact.shapes:
        return  # No order of the parameters changes the dtype of a state.
    for line in running(evidence):
        for body in _bodies(line):
            if _in_order(body, _loop(line, body)):
                continue
            one, other = body.args.args
            start, text = line.source.start(body), line.source.of(body)
            first, second = (slice(line.source.start(item) - start, line.source.end(item) - start) for item in (one, other))
            new = text[: first.start] + text[second] + text[first.stop : second.start] + text[first] + text[second.stop :]
            name = getattr(body, "name", "the step")
            yield (
                f"Swap the parameters of {name} at line {body.lineno}: {other.arg}, {one.arg}",
                [line.edit(body, new)],
                "The loop passes what it carries first, and what belongs to the step second."
                if _loop(line, body) == "scan"
                else "The loop passes the number of the step first.",
            )
            return


def _bodies(line: Line) -> Iterator[ast.FunctionDef | ast.Lambda]:
    own = line.scope
    names = {ast.unparse(item) for call in line.around(ast.Call) for item in call.args if isinstance(item, ast.Name)}
    defined = [item for item in nodes(line.source.tree, (ast.FunctionDef, ast.Lambda)) if item is own or getattr(item, "name", "") in names]
    for body in defined:
        if isinstance(body, (ast.FunctionDef, ast.Lambda)) and len(body.args.args) == 2 and not body.args.defaults and _loop(line, body):
            yield body


def _in_order(body: ast.FunctionDef | ast.Lambda, loop: str) -> bool:
    first, second = (_held(body, item.arg) for item in body.args.args)
    state, other = (first, second) if loop == "scan" else (second, first)
    ends = [item.value for item in nodes(body, ast.Return) if item.value is not None]
    if not ends:
        return False
    whole = ends[-1]
    carried = whole.elts[0] if loop == "scan" and isinstance(whole, ast.Tuple) and whole.elts else whole
    names = {item.id for item in nodes(carried, ast.Name)}
    return bool(names & state) and not names & other


def _held(body: ast.FunctionDef | ast.Lambda, name: str) -> set[str]:
    taken = [item.targets[0] for item in nodes(body, ast.Assign) if ast.unparse(item.value) == name]
    return {name} | {item.id for target in taken if isinstance(target, ast.Tuple) for item in target.elts if isinstance(item, ast.Name)}


def loops_of(line: Line, body: ast.AST) -> Iterator[ast.Call]:
    """The loops of JAX whose body a function is."""
    for call in nodes(line.source.tree, ast.Call):
        place = {"scan": 0, "fori_loop": 2}.get(called(call), 9)
        given = call.args[place] if len(call.args) > place else None
        if given is body or (isinstance(given, ast.Name) and isinstance(body, Function) and given.id == getattr(body, "name", "")):
            yield call


def _loop(line: Line, body: ast.AST) -> str:
    return next(map(called, loops_of(line, body)), "")


@of(OperationRaised)
def other_contracted(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """The one other axis of a matrix, where a product by numbers of axes sums over an axis of another size than what it meets."""
    reason, shapes = fact.reason, [one.spec.shape or () for one in evidence.given]
    if not isinstance(reason, Lengths) or not reason.summed or len(shapes) != 2:
        return
    for line, call in calls_of(evidence, "dot_general"):
        numbers = line.keyword("dimension_numbers") or (call.args[2] if len(call.args) > 2 else None)
        pair = [listed(one) for one in listed(listed(numbers)[0])] if numbers is not None and listed(numbers) else []
        if len(pair) == 2 and len(pair[0]) == len(pair[1]) == 1 and len(shapes[1]) == 2:
            at, meets = pair[1][0], reason.left
            other = 1 - reason.summed[1] % 2
            if isinstance(at, ast.Constant) and shapes[1][other] == meets:
                yield (f"Sum over axis {other} of {short(call.args[1])} at line {at.lineno}", [line.edit(at, str(other))], f"Its size is {meets}.")


def start_of_each_axis(evidence: Evidence, finding: Finding) -> Made:
    """A zero for the axis that has no start, where a slice is written or read at fewer places than the tensor has axes."""
    for line in lines_of(evidence):
        call = line.call("dynamic_update_slice", "dynamic_slice", "slice_update", "slice")
        place = 1 if call is not None and "update" not in called(call) else 2
        starts = listed(call.args[place]) if call is not None and len(call.args) > place else []
        shapes = [edge.spec.shape or () for edge in evidence.given]
        sizes = listed(call.args[2]) if call is not None and place == 1 and len(call.args) > 2 else []
        if call is not None and shapes and len(sizes) == len(starts) - 1 == len(shapes[0]) - 1:
            # The axis that begins with its first entry is meant whole: that of the samples first.
            for axis in [axis for axis, one in enumerate(starts) if ast.unparse(one) == "0"][:1]:
                new = [*map(line.source.of, sizes[:axis]), f"{line.source.of(call.args[0])}.shape[{axis}]", *map(line.source.of, sizes[axis:])]
                yield (
                    f"Give a size for each axis at {line.at}: ({', '.join(new)})",
                    [line.edit(call.args[2], f"({', '.join(new)})")],
                    f"The tensor has {len(shapes[0])} axes.",
                )
        if call is None or not starts or not shapes or len(starts) != len(shapes[0]) - 1:
            continue
        # Only along an axis of which a part is taken is there another place than the first.
        whole = shapes[1] if place == 2 and len(shapes) > 1 else ()
        parts = [axis for axis, (size, part) in enumerate(zip(shapes[0], whole, strict=False)) if size != part]
        for at in range(len(starts), -1, -1):
            new = [*map(line.source.of, starts[:at]), "0", *map(line.source.of, starts[at:])]
            moved = [axis for axis, text in enumerate(new) if text != "0"]
            if set(moved) <= set(parts or moved):
                yield (
                    f"Give a start for each axis at {line.at}: ({', '.join(new)})",
                    [line.edit(call.args[place], f"({', '.join(new)})")],
                    f"The tensor has {len(shapes[0])} axes.",
                )
                return
        return


def split_as_there(evidence: Evidence, finding: Finding) -> Made:
    """The last axis of what is put into a tensor, split as the tensor's last ones."""
    for line in lines_of(evidence)[:1]:
        call = line.call("dynamic_update_slice", "slice_update", "set")
        at = [item.value for item in nodes(call.func, ast.Attribute) if item.attr == "at"] if call is not None else []
        given = [*at, *(call.args if call is not None else ())]
        if len(given) < 2:
            continue
        there, value = given[0], given[2 if called(call) == "slice_update" and given[2:] else 1]
        shapes = line.shape_of_names()
        many, few = (shapes.get(ast.unparse(one), ()) for one in (there, value))
        last = many[len(few) - 1 :]
        if 1 < len(few) < len(many) and few[-1] == elements(last):
            tail = f"*{ast.unparse(there)}.shape[{-len(last)}:]"
            yield (
                f"Split the last axis of {short(value)} at {line.at} into {show_shape(last)}, as in {short(there)}",
                [line.edit(value, f"{MODULE}.reshape({IT}, (*{ast.unparse(value)}.shape[:-1], {tail}))", line.module())],
                f"{few[-1]} = {' × '.join(map(str, last))}.",
            )


def segments_of_each(evidence: Evidence, finding: Finding) -> Made:
    """The segments of each sample, where a sum of segments takes what has a row of them for each sample."""
    for line in lines_of(evidence)[:1]:
        call, shapes = line.call(), line.shape_of_names()
        pair = [ast.unparse(one) for one in call.args[:2]] if call is not None and called(call).startswith("segment_") else []
        rows, ids = (shapes.get(one, ()) for one in pair) if len(pair) == 2 else ((), ())
        if call is not None and all(map(str.isidentifier, pair)) and len(ids) == 2 and rows[:2] == ids:
            names = ", ".join(pair)
            yield (
                f"Apply {called(call)} to each sample at {line.at}: jax.vmap",
                [line.edit(call, f"{MODULE}.vmap(lambda {names}: {IT})({names})", "jax")],
                "The ids of segments are those along the first axis, which is the batch.",
            )


@of(OperationRaised)
def pair_of_each_axis(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """No padding for the samples and the channels, where a padding is given for fewer axes than there are."""
    for line, call in calls_of(evidence, "pad"):
        pairs = listed(call.args[1]) if len(call.args) > 1 else []
        shape = (fact.shapes or ((),))[0] or ()
        texts = [line.source.of(pair) for pair in pairs]
        none = [all(ast.unparse(one) == "0" for one in listed(pair)) for pair in pairs]
        lacks = len(shape) - len(pairs)
        if not pairs or not all(map(listed, pairs)) or not ((lacks == 1 and none[0] != none[-1]) or (lacks == 2 and not (none[0] or none[-1]))):
            continue
        new = [*["(0, 0)"] * (not none[0]), *texts, *["(0, 0)"] * (not none[-1])]
        yield (
            f"Give a pair for each axis at {line.at}: ({', '.join(new)})",
            [line.edit(call.args[1], f"({', '.join(new)})")],
            f"The tensor has {len(shape)} axes. Neither samples nor channels are padded.",
        )


@of(BranchesApart)
def width_of_branch(evidence: Evidence, finding: Finding, fact: BranchesApart) -> Made:
    """The size that a layer of the program's own was made with."""
    owner, sides = own_layer(evidence), (fact.first, fact.second)
    if owner is None or len(fact.first) != len(fact.second) or fact.first[:-1] != fact.second[:-1]:
        return
    arrives = {one.spec.shape for one in evidence.given}
    for mine, other in (sides, sides[::-1]):
        keys = [key for key, value in owner.config.items() if type(value) is int and value == mine[-1]]
        if len(keys) == 1 and other[-1] and other in arrives:
            yield created(owner, keys[0], other[-1], "", "The other branch returns what arrives, and both must return the same shape.")


def size_of_each_axis(evidence: Evidence, finding: Finding) -> Made:
    """The sizes of the samples and the channels around the size of a picture."""
    for line in lines_of(evidence):
        call = line.call("resize", "scale_and_translate")
        shapes = [edge.spec.shape or () for edge in evidence.given]
        if call is None or len(call.args) < 2 or not shapes or len(shapes[0]) != 4 or not ast.unparse(call.func).endswith("image.resize"):
            continue
        it, size = line.source.of(call.args[0]), call.args[1]
        inner = ", ".join(map(line.source.of, listed(size))) if listed(size) else f"*{line.source.of(size)}"
        yield (
            f"Give a size for each axis at {line.at}",
            [line.edit(size, f"({it}.shape[0], {inner}, {it}.shape[-1])")],
            "jax.image.resize resizes all axes, those of the samples and the channels too.",
        )
        return


def branch_of_each_sample(evidence: Evidence, finding: Finding) -> Made:
    """A switch for each sample, where there is an index for each."""
    for line in lines_of(evidence):
        call = line.call("switch")
        if call is None or len(call.args) < 3 or call.keywords:
            continue
        given = [line.source.of(one) for one in (call.args[0], *call.args[2:])]
        names = ["index", *(f"row_{i}" if i else "row" for i in range(len(given) - 1))]
        inner = f"{line.source.of(call.func)}({names[0]}, {line.source.of(call.args[1])}, {', '.join(names[1:])})"
        yield (
            f"Choose a branch for each sample at {line.at}: jax.vmap",
            [line.edit(call, f"{MODULE}.vmap(lambda {', '.join(names)}: {inner})({', '.join(given)})", "jax")],
            "Each sample then has one index.",
        )
        return


def behind_the_samples(evidence: Evidence, finding: Finding) -> Made:
    """The places of every sample, where an update of an array is addressed along the samples."""
    for line in running(evidence):
        for item in line.around(ast.Subscript, line.scope):
            if isinstance(item.value, ast.Attribute) and item.value.attr == "at" and not isinstance(item.slice, (ast.Tuple, ast.Slice)):
                yield (
                    f"Select the places of each sample at line {item.lineno}: .at[:, {ast.unparse(item.slice)}]",
                    [line.edit(item, f"{line.source.of(item.value)}[:, {line.source.of(item.slice)}]")],
                    "The first axis is that of the samples.",
                )
                return


def kind_of_other(evidence: Evidence, finding: Finding) -> Made:
    """A list for a tuple, or a tuple for a list, where several trees are mapped that must be of one kind."""
    for line in lines_of(evidence):
        call = line.call()
        if call is None or called(call) not in _MAPS:
            continue
        scope = max(line.around(ast.FunctionDef), key=lambda item: item.lineno, default=line.scope)
        for given, made in ((one, value) for one in call.args[1:] for value in given_to(scope, one, call.lineno + 1) or [one]):
            new = _other_kind(line, made)
            if new:
                kind = "list" if new.startswith(("[", "list")) else "tuple"
                yield (
                    f"Make {ast.unparse(given) if isinstance(given, ast.Name) else 'it'} a {kind} at line {made.lineno}",
                    [line.edit(made, new)],
                    "All trees that are mapped together must be of one kind.",
                )
        return


def _other_kind(line: Line, made: ast.expr) -> str:
    if isinstance(made, ast.ListComp):
        return f"tuple({line.source.of(made)[1:-1]})"
    if not isinstance(made, ast.Call) or called(made) not in ("tuple", "list") or len(made.args) != 1:
        return ""
    text, other = line.source.of(made.args[0]), "list" if called(made) == "tuple" else "tuple"
    if isinstance(made.args[0], ast.GeneratorExp) and other == "list":
        # The brackets of the call may be those of the generator, too.
        return f"[{text[1:-1] if text.startswith('(') and text.endswith(')') and _closed(text[1:-1]) else text}]"
    return f"{other}({text})" if not isinstance(made.args[0], ast.GeneratorExp) else f"{other}{text if text.startswith('(') else f'({text})'}"


def _closed(text: str) -> bool:
    depth = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return False
    return depth == 0


def truth_of_training(evidence: Evidence, finding: Finding) -> Made:
    """``bool(training)`` as the condition of a branch: without a value it is not training."""
    for line in lines_of(evidence):
        call = line.call("cond")
        if call is not None and call.args and isinstance(call.args[0], ast.Name) and call.args[0].id == "training":
            yield (f"Use bool(training) at {line.at}", [line.edit(call.args[0], f"bool({IT})")], "training is None unless somebody passes it.")
            return


@of(GradientOf)
def one_value(evidence: Evidence, finding: Finding, fact: GradientOf) -> Made:
    """The value itself, of a function to differentiate that returns an array of one."""
    if fact.several or not fact.shape or any(size != 1 for size in fact.shape):
        return
    for line in lines_of(evidence):
        for call in gradients(line):
            value = returned_loss(line, call) if call.args else None
            if value is not None:
                index = ", ".join("0" for _ in fact.shape)
                yield (
                    f"Return the only value, [{index}], at line {value.lineno}",
                    [line.edit(value, f"{IT}[{index}]")],
                    "The gradient is that of a single number.",
                )
                return


@of(ValueAsked)
def in_jax_numpy(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """The function of ``jax.numpy`` with the same name."""
    numpy = sys.modules.get("jax.numpy")
    for line in lines_of(evidence)[:1] if fact.asked == "array" and evidence.backend == "jax" and numpy is not None else ():
        for call in nodes(line.node, ast.Call) if line.node is not None else ():
            way = ast.unparse(call.func).split(".")
            if way[0] not in ("np", "numpy") or len(way) < 2 or called(call) in ("array", "asarray"):
                continue
            found: Any = numpy
            for name in way[1:]:
                found = getattr(found, name, None)
            if callable(found):
                name = ".".join(way[1:])
                yield (
                    f"Use jax.numpy: {'.'.join(way)} → jnp.{name} at line {call.lineno}",
                    [line.edit(call.func, f"{MODULE}.{name}", "jax.numpy")],
                    "It takes the same arguments, and tensors without values.",
                )
                return


def mapped_as_well(evidence: Evidence, finding: Finding) -> Made:
    """The axis of the batch for what a vmap does not map."""
    fact = finding.fact
    doubled = fact.doubled if isinstance(fact, UnknownAxis) else fact.operation if isinstance(fact, (PairsPredicted, EveryPair)) else None
    for line in lines_at(evidence, doubled.called)[:1] if doubled is not None else ():
        inside = list(ast.walk(line.owner()))
        for axis in (one for outer, _, axes, _ in mapped_calls(line) if outer in inside for one in axes if ast.unparse(one) == "None"):
            yield (
                f"Map over axis 0 in place of None in in_axes at line {axis.lineno}",
                [line.edit(axis, "0", choice="axis")],
                "Each sample is then combined with its own part of the other tensor.",
            )
