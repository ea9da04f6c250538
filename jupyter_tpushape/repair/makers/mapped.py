"""Candidates where a function of the data's pipeline raised: which rows it is handed, what it is called with, the shapes that it writes."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

from ...examine.evidence import Evidence
from ...examine.heard import HeardReshape, hear
from ...flow import Fact, Finding, elements, show_shape
from ...flow.paths import flatten
from ...flow.syntax import Function, called
from ...rules.facts.data import DataRaised, MappedParts, MappedValue, PipelineShapes, ShortWindows, Unbatchable, Unfilled, WindowsAsDatasets
from ...rules.facts.loss_silent import NoLabels
from ...rules.facts.orders import MovedApart, OrdersApart
from ...trace.raised import frames_of, raised_by
from ..edits import Edit
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.names import Names
from ..text.source import Source, enclosing, nodes, parents, words_of
from .edits import Made, of
from .line import Line, lines_at, lines_of, reshaped, short

_PARTS = ("x", "y", "weight")
_ONE_HOT = ("one_hot", "to_categorical")


def _stages(evidence: Evidence) -> Iterator[tuple[Line, ast.Call]]:
    """The call of the pipeline that was running, such as ``ds.map(f)``: the innermost line that calls a stage."""
    for _, place in frames_of(evidence.failure) if isinstance(evidence.failure, BaseException) else ():
        for line in lines_of(evidence, raised_by(place)):
            call = line.call("map")
            if call is not None and isinstance(call.func, ast.Attribute) and call.args:
                yield line, call
                return
    # Raised while the pipeline ran, where no line was running.
    for stage in evidence.stages if getattr(evidence.sample, "error", None) is not None else ():
        for line in lines_at(evidence, stage.location)[:1] if stage.op == "map" and stage.function else ():
            for call in nodes(line.source.tree, ast.Call):
                if called(call) == "map" and isinstance(call.func, ast.Attribute) and call.args and ast.unparse(call.args[0]) == stage.function:
                    yield line, call


def _suffix(source: Source, call: ast.Call) -> str:
    assert isinstance(call.func, ast.Attribute)
    return source.text[source.end(call.func.value) : source.end(call)]


def _behind(call: ast.Call) -> list[ast.Call]:
    found = []
    node: ast.AST = call
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
        if isinstance(node, ast.Call):
            found.append(node)
    return found


@of(DataRaised, Unfilled, PipelineShapes, Unbatchable)
def other_side_of_batch(evidence: Evidence, finding: Finding, fact: Fact) -> Made:
    """``batch`` on the other side of the function that raised: it is written for one sample, or for a whole batch.

    What gives samples of different lengths is called on batches only if it reads text, which is filled up to one length there.
    """
    if isinstance(fact, Unbatchable) and not any(_reads_text(evidence, stage) for stage in evidence.stages if stage.op == "map"):
        return
    for line, call in _stages(evidence):
        source, name = line.source, short(call.args[0]) if not isinstance(call.args[0], ast.Lambda) else "the lambda"
        above = parents(source.tree)
        before = [stage for stage in _behind(call) if called(stage) == "batch"]
        if before:
            batch = before[0]
            assert isinstance(batch.func, ast.Attribute)
            between = [stage for stage in _behind(call) if source.end(stage) > source.end(batch)]
            text = source.of(batch.func.value) + "".join(_suffix(source, stage) for stage in (*reversed(between), call, batch))
            edits: list[Edit] = [line.edit(call, text)]
        else:
            edits = _moved(line, call)
        if edits:
            yield (f"Move batch() after map(): {name} takes one sample", edits, "It is then called on each sample, before samples are batched.")
        outer: ast.AST = call
        while isinstance(above.get(outer), (ast.Attribute, ast.Call)):
            outer = above[outer]
            if isinstance(outer, ast.Call) and called(outer) == "batch" and isinstance(outer.func, ast.Attribute):
                assert isinstance(call.func, ast.Attribute)
                between = [stage for stage in _behind(outer) if source.end(stage) > source.end(call)]
                text = source.of(call.func.value) + "".join(_suffix(source, stage) for stage in (outer, call, *reversed(between)))
                yield (f"Move batch() before map(): {name} takes a batch", [line.edit(outer, text)], "It is then called on a batch, and not on each sample.")
                break
        if not any(called(one) in ("batch", "padded_batch") for one in nodes(line.scope, ast.Call)) and isinstance(call.func, ast.Attribute):
            end = source.of(call.func.value)
            yield (
                f"Add batch(32) before map(): {name} takes a batch",
                [line.edit(call, f"{end}.batch(32){_suffix(source, call)}")],
                "The pipeline has no batch(). Choose a batch size that suits your training.",
            )


def _reads_text(evidence: Evidence, stage: Any) -> bool:
    given = [one.spec for one in evidence.stages if one.name in stage.inputs]
    return any(leaf is not None and leaf.dtype == "string" for spec in given for _, leaf in flatten(spec))


def _moved(line: Line, call: ast.Call) -> list[Edit]:
    source = line.source
    assert isinstance(call.func, ast.Attribute)
    start = call.func.value
    while isinstance(start, ast.Call) and isinstance(start.func, ast.Attribute):
        start = start.func.value
    found = [
        item
        for item in nodes(enclosing(parents(source.tree), call), ast.Assign)
        if item.lineno < call.lineno
        and [ast.unparse(target) for target in item.targets] == [ast.unparse(start)]
        and isinstance(item.value, ast.Call)
        and any(called(stage) == "batch" for stage in (item.value, *_behind(item.value)))
    ]
    if len(found) != 1 or not isinstance(found[0].value, ast.Call):
        return []
    made = found[0].value
    batch = next(stage for stage in (made, *_behind(made)) if called(stage) == "batch")
    if not isinstance(batch.func, ast.Attribute):
        return []
    behind = line.edit(call, f"{IT}{_suffix(source, batch)}")
    rest = source.of(batch.func.value)
    if batch is made and rest == ast.unparse(start):
        return [line.removed(found[0]), behind]
    return [line.edit(batch, rest), behind]


@of(Unbatchable)
def one_shape(evidence: Evidence, finding: Finding, fact: Unbatchable) -> Made:
    """Pictures of the size that the model declares before they are batched."""
    declared = [want.shape for _, want in evidence.declared or [] if want.shape and len(want.shape) == len(fact.first) + 1]
    size = next((shape[1:3] for shape in declared if fact.picture and None not in shape[1:3]), None)
    each = next((stage.spec[1:] for stage in evidence.stages if stage.op == "batch" and isinstance(stage.spec, tuple)), ())
    if any(None in (leaf.shape or (None,))[1:] for leaf in each if hasattr(leaf, "shape")):
        return  # labels of the same sizes, which must be resized or masked as well
    places = [stage.location for stage in evidence.stages if stage.location is not None]
    for line in lines_at(evidence, places[0])[:1] if places else ():
        every = list(nodes(line.source.tree, ast.Call))
        calls = [call for call in every if called(call) == "batch" and isinstance(call.func, ast.Attribute)]
        if any(called(call) == "window" for call in every):
            return  # a window that is short is not to be filled
        for call in calls if len(calls) == 1 else ():
            before, suffix = line.source.text[line.source.start(call) : line.source.end(call.func.value)], _suffix(line.source, call)
            if size is not None:
                yield (
                    f"Resize the images to {show_shape(size)} before batch() at line {call.lineno}",
                    [line.edit(call, f"{before}.map(lambda x, y: ({MODULE}.image.resize(x, {size}), y)){suffix}", "tensorflow")],
                    "All images of a batch then have the size that the model declares.",
                )
            elif not fact.picture and fact.first[1:] == fact.second[1:]:
                yield (
                    f"Pad the samples of a batch to its longest one: padded_batch at line {call.lineno}",
                    [line.edit(call, f"{before}.padded_{suffix.lstrip('.')}")],
                    "It fills the rest with 0.",
                )


@of(MappedParts)
def as_many_parts(evidence: Evidence, finding: Finding, fact: MappedParts) -> Made:
    """A function of the inputs alone, called with the inputs alone."""
    for line, call in _stages(evidence):
        function = call.args[0]
        names = _PARTS[: fact.given]
        if fact.takes != 1 or not 1 < fact.given <= len(_PARTS):
            continue
        new = f"{line.source.of(function)}(x)" if not isinstance(function, ast.Lambda) else line.source.of(function.body)
        if isinstance(function, ast.Lambda):
            first = function.args.args[0].arg
            names = (first, *(name if name != first else "labels" for name in _PARTS[1:]))[: fact.given]
        rest = ", ".join(names[1:])
        yield (
            f"Call {short(function) if not isinstance(function, ast.Lambda) else 'the lambda'} on the inputs alone at {line.at}",
            [line.edit(function, f"lambda {', '.join(names)}: ({new}, {rest})")],
            "Each element has inputs and labels; the labels stay as they are.",
        )


@of(DataRaised, Unfilled)
def as_declared(evidence: Evidence, finding: Finding, fact: Fact) -> Made:
    """A reshape of the data to what the model's input declares."""
    rows = dict.fromkeys(tuple(spec.shape[1:]) for _, spec in evidence.declared or [] if spec.shape and None not in spec.shape[1:])
    for line in lines_of(evidence)[:1]:
        given, sizes = reshaped(line)
        said = hear(evidence.failure, HeardReshape)
        have = (said.have if said is not None else _size(line, given)) or 0
        for row in rows if have and sizes else ():
            times, rest = divmod(have, elements(row) or 1)
            target = row if times == 1 else (-1, *row)
            if not rest and [line.number(size) for size in sizes] != list(target):
                written = f"({', '.join(_written(line, sizes, target))}{',' if len(target) == 1 else ''})"
                yield (
                    f"Reshape to {show_shape(target)} at {line.at}, as the model's input declares",
                    [_resized(line, sizes, written)],
                    f"{have:,} values make {'one sample' if times == 1 else f'{times} samples'} of {show_shape(row)}.",
                )


def _size(line: Line, given: ast.expr | None) -> int | None:
    shape = line.shape(given) if given is not None else None
    return math.prod(int(n) for n in shape if n is not None) if shape and None not in shape else None


def _written(line: Line, sizes: list[ast.expr], target: tuple[int | None, ...]) -> list[str]:
    values, new = [line.number(size) for size in sizes], [str(n) for n in target]
    count = len(sizes)
    if count <= len(target) and values == list(target[:count]):
        new[:count] = [line.source.of(size) for size in sizes]
    elif count <= len(target) and values == list(target[-count:]):
        new[-count:] = [line.source.of(size) for size in sizes]
    return new


def _resized(line: Line, sizes: list[ast.expr], written: str) -> Edit:
    call, above = line.node, parents(line.source.tree)
    holder = above.get(sizes[0])
    if isinstance(holder, (ast.Tuple, ast.List)):
        return line.edit(holder, written)
    assert isinstance(call, ast.Call)
    kept = [ast.unparse(item) for item in call.args if item not in sizes]
    return line.edit(call, f"{ast.unparse(call.func)}({', '.join([*kept, written])})")


@of(DataRaised)
def coded_already(evidence: Evidence, finding: Finding, fact: DataRaised) -> Made:
    """Labels without the one-hot encoding, where they are one-hot vectors of as many classes already."""
    for line in lines_of(evidence)[:1]:
        call = line.call(*_ONE_HOT)
        given = call.args[0] if call is not None and call.args else None
        shape = line.shape(given) if given is not None else None
        if call is not None and given is not None and shape and len(call.args) > 1 and shape[-1] == line.number(call.args[1]):
            yield (
                f"Remove {called(call)}() at {line.at}: {short(given)} is one-hot already",
                [line.without(call, given)],
                f"It has {shape[-1]} values, one for each class.",
            )


@of(DataRaised)
def with_channels(evidence: Evidence, finding: Finding, fact: DataRaised) -> Made:
    """An axis of size 1 behind those of an image that has no channels."""
    for line in lines_of(evidence):
        given = line.node.args[0] if isinstance(line.node, ast.Call) and line.node.args else None
        shape = line.shape(given) if given is not None else None
        if given is not None and shape is not None and len(shape) in (2, 3) and not isinstance(given, (ast.List, ast.Tuple)):
            yield (
                f"Add the axis of channels to {short(given)} at {line.at}: {show_shape((*shape, 1))}",
                [line.edit(given, f"{IT}[..., None]")],
                "An image has height, width and channels.",
            )


@of(DataRaised)
def left_as_it_is(evidence: Evidence, finding: Finding, fact: DataRaised) -> Made:
    """No conversion of what has the shape already that the model's input declares. A call with more arguments does more than convert."""
    rows = {tuple(spec.shape[1:]) for _, spec in evidence.declared or [] if spec.shape}
    for line in lines_of(evidence):
        call = line.node
        given = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 and not call.keywords else None
        shape = line.shape(given) if given is not None else None
        if isinstance(call, ast.Call) and given is not None and shape in rows:
            yield (
                f"Remove {called(call)}() at {line.at}: {short(given)} is {show_shape(shape)} already",
                [line.without(call, given)],
                "This is the shape that the model's input declares.",
            )


@of(DataRaised, Unbatchable)
def whole_windows(evidence: Evidence, finding: Finding, fact: Fact) -> Made:
    """Each window in one batch, where a function makes smaller batches of it, and a rest."""
    for stage in evidence.stages:
        for line in lines_at(evidence, stage.location)[:1] if stage.op == "flat_map" else ():
            sizes = {ast.unparse(call.args[0]): call for call in nodes(line.source.tree, ast.Call) if called(call) == "window" and call.args}
            for made in [item.body for item in nodes(line.source.tree, ast.Lambda) if len(sizes) == 1]:
                (size,) = sizes
                if isinstance(made, ast.Call) and called(made) == "batch" and made.args and ast.unparse(made.args[0]) != size:
                    yield (
                        f"Batch each window as a whole at line {made.lineno}: batch({size})",
                        [line.edit(made.args[0], size)],
                        "Each window is then one element.",
                    )


@of(WindowsAsDatasets)
def batched_windows(evidence: Evidence, finding: Finding, fact: WindowsAsDatasets) -> Made:
    """Each window batched to one tensor, right behind ``window``."""
    for line, call in _stages(evidence):
        scope = enclosing(parents(line.source.tree), call)
        for window in nodes(scope, ast.Call):
            size = argument(window, "size", ["size"])
            if called(window) == "window" and isinstance(window.func, ast.Attribute) and size is not None:
                new = f"{IT}.flat_map(lambda w: w.batch({line.source.of(size)}))"
                yield (
                    f"Batch each window to one tensor at line {window.lineno}: flat_map(lambda w: w.batch({line.source.of(size)}))",
                    [line.edit(window, new)],
                    "The next function then gets tensors. Use drop_remainder=True in window(), so that all have one length.",
                )


@of(ShortWindows)
def full_windows(evidence: Evidence, finding: Finding, fact: ShortWindows) -> Made:
    """``window`` without the shorter ones at the end."""
    for line in lines_at(evidence, finding.location)[:1]:
        for call in nodes(line.source.tree, ast.Call):
            if called(call) == "window":
                given = argument(call, "drop_remainder", ["size", "shift", "stride", "drop_remainder"])
                whole = f"{line.source.of(call)[:-1].rstrip(', ')}, drop_remainder=True)"
                yield (
                    f"Drop the shorter windows at line {call.lineno}",
                    [line.edit(given or call, "True" if given else whole)],
                    f"Every window then has {fact.size} elements.",
                )


@of(MappedValue)
def looked_up_in_tensor(evidence: Evidence, finding: Finding, fact: MappedValue) -> Made:
    """``tf.gather`` from the values of a dict whose keys count up from 0, or from a list."""
    frames = frames_of(evidence.failure) if isinstance(evidence.failure, BaseException) else []
    for line in lines_of(evidence)[:1] if frames else ():
        names = Names(line.source, frames[0][0].f_globals)
        for node in nodes(line.scope, ast.Subscript):
            held, known = names.value(node.value), line.specs.get(ast.unparse(node.slice))
            if known is None or not isinstance(held, (dict, list, tuple)):
                continue
            if isinstance(held, dict) and sorted(held, key=str) != sorted(range(len(held)), key=str):
                continue
            table = line.source.of(node.value)
            values = f"[{table}[i] for i in range(len({table}))]" if isinstance(held, dict) else table
            yield (
                f"Use tf.gather instead of {short(node)} at line {node.lineno}",
                [line.edit(node, f"{MODULE}.gather({values}, {line.source.of(node.slice)})", "tensorflow")],
                "A tensor cannot be the key of a dict or the index of a list.",
            )


@of(MappedValue)
def one_hot_row(evidence: Evidence, finding: Finding, fact: MappedValue) -> Made:
    """``tf.one_hot`` for a row of an identity matrix, which NumPy cannot pick by a tensor."""
    for line in lines_of(evidence)[:1]:
        for node in nodes(line.scope, ast.Subscript):
            made = node.value
            if isinstance(made, ast.Call) and called(made) in ("eye", "identity") and made.args:
                new = f"{MODULE}.one_hot({line.source.of(node.slice)}, {line.source.of(made.args[0])})"
                yield (
                    f"Use tf.one_hot instead of {short(node)} at line {node.lineno}",
                    [line.edit(node, new, "tensorflow")],
                    "It makes the same vector from a tensor.",
                )


@of(MappedValue)
def run_in_python(evidence: Evidence, finding: Finding, fact: MappedValue) -> Made:
    """The function as it is written, run by Python on the values of each element."""
    declared = dict.fromkeys(spec.dtype for _, spec in evidence.declared or [])
    for line, call in _stages(evidence):
        function, names = call.args[0], _parameters(line, call.args[0])
        if not 0 < len(names) <= len(_PARTS):
            continue
        rest = [f"{name}.dtype" for name in names[1:]]
        for first in (f"{names[0]}.dtype", *(f'"{dtype}"' for dtype in declared)):
            given = ", ".join(names)
            returned = f"[{', '.join([first, *rest])}]" if rest else first
            new = f"lambda {given}: {MODULE}.py_function({IT}, [{given}], {returned})"
            yield (
                f"Run {short(function) if not isinstance(function, ast.Lambda) else 'the lambda'} in Python with tf.py_function at {line.at}",
                [line.edit(function, new, "tensorflow")],
                "Slower than functions of TensorFlow. What it returns has no shape until the pipeline sets one.",
            )


def _parameters(line: Line, function: ast.expr) -> list[str]:
    if isinstance(function, ast.Lambda):
        return [item.arg for item in function.args.args]
    found = [item for item in nodes(line.source.tree, ast.FunctionDef) if item.name == ast.unparse(function)]
    return [item.arg for item in found[0].args.args] if len(found) == 1 else []


@of(PipelineShapes)
def written_size(evidence: Evidence, finding: Finding, fact: PipelineShapes) -> Made:
    """A size that a mapped function has written down."""
    first, second = fact.first, fact.second
    line = next(iter(lines_of(evidence)), None)
    if line is None or not first or not second:
        return
    summed = [(first[-1], second[-2])] if fact.product and len(second) > 1 else list(zip(first[::-1], second[::-1], strict=False))
    for one, other in summed:
        for old, new in ((other, one), (one, other)):
            calls = [call for call in nodes(line.scope, ast.Call) if called(call) not in ("range", "reshape")]
            given = [item for call in calls for item in words_of(call)]
            written = [item for item in given if isinstance(item, ast.Constant) and type(item.value) is int and item.value == old]
            if old != new and old and new and min(old, new) > 1 and len(written) == 1:
                yield (f"Replace {old} with {new} at line {written[0].lineno}", [line.edit(written[0], str(new))], "This is the size of the other tensor.")


@of(NoLabels)
def returned_too(evidence: Evidence, finding: Finding, fact: NoLabels) -> Made:
    """The labels beside what a function of the pipeline returns."""
    for line in lines_at(evidence, finding.location)[:1] if fact.dropped else ():
        arguments = [one.arg for one in line.scope.args.args] if isinstance(line.scope, Function) else []
        read = {item.id for item in nodes(line.scope, ast.Name) if isinstance(item.ctx, ast.Load)}
        given = [line.scope.body] if isinstance(line.scope, ast.Lambda) else [item.value for item in nodes(line.scope, ast.Return)]
        if len(arguments) == 2 and arguments[1] not in read and len(given) == 1 and given[0] is not None:
            text = f"{line.source.of(given[0])}, {arguments[1]}"
            yield (
                f"Return {arguments[1]} as well in {fact.dropped} at line {given[0].lineno}",
                [line.edit(given[0], f"({text})" if isinstance(line.scope, ast.Lambda) else text)],
                f"fit needs {arguments[1]}, and {fact.dropped} drops it.",
            )


@of(MovedApart, OrdersApart)
def drawn_once(evidence: Evidence, finding: Finding, fact: Fact) -> Made:
    """One order, or one seed, for both that a function of a pipeline draws apart."""
    for line in lines_at(evidence, finding.location)[:1]:
        calls = [item for item in nodes(line.scope, ast.Call) if isinstance(item.func, ast.Attribute) and item.args and not item.keywords]
        calls.sort(key=lambda item: (item.lineno, item.col_offset))
        random = [item for item in calls if ast.unparse(item.func).startswith(("tf.random.shuffle", "tf.image.random_flip", "tf.image.random_crop"))]
        flips = [item for item in calls if called(item) in ("flip_left_right", "flip_up_down")]
        if len(random) == 2 and called(random[0]) == called(random[1]) and isinstance(line.scope, ast.FunctionDef):
            drawn, new = ("seed = tf.random.uniform([2], maxval=2**31 - 1, dtype=tf.int32)", f"tf.image.stateless_{called(random[0])}(%s, seed=seed)")
            if (text := ast.unparse(random[0])) == ast.unparse(random[1]):
                drawn, new = f"order = {text}", "order"
            elif called(random[0]) == "shuffle":
                drawn, new = f"order = tf.random.shuffle(tf.range(tf.shape({ast.unparse(random[0].args[0])})[0]))", "tf.gather(%s, order)"
            first = next(item for item in line.scope.body if random[0].lineno <= (item.end_lineno or 0))
            edits = [line.edit(item, new.replace("%s", ", ".join(map(ast.unparse, item.args)))) for item in random]
            yield "Use the same random numbers for both", [line.before(first, drawn), *edits], "x and y then move alike."
        elif not random and len(flips) == 2 and isinstance(fact, MovedApart):
            func = ast.unparse(flips[1].func).replace(called(flips[1]), called(flips[0]))
            yield f"Use {called(flips[0])} for both", [line.edit(flips[1].func, func)], "x and y then move alike."
