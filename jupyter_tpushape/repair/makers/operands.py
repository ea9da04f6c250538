"""Candidates at the operands of the line that raised: the letters of an einsum, a tensor made with another one's shape, a variable as a tensor."""

from __future__ import annotations

import ast
import itertools

from ...examine.evidence import Evidence
from ...flow import Finding, elements, show_shape
from ...flow.syntax import called, shape_read
from ...rules.facts.calls import VariableReturned
from ...rules.facts.contracts import SymbolicQuestion
from ...rules.facts.layers import OperationRaised, WrongCount, WrongMask
from ...rules.facts.mesh import FirstRow, GradientsSwapped, ValueAsked, VariableGiven
from ...rules.facts.reasons import NoAxis
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import nodes, words_of
from .edits import Made, created, of
from .entry import declare_known
from .line import Line, assigned_to, calls_at, calls_of, defaults, lines_at, lines_of, listed, own_layer, reshaped, short, whole_number
from .read_sizes import index_of

_REDUCES = frozenset({"sum", "mean", "max", "min", "prod", "std", "var"})
_MAKES = frozenset({"normal", "uniform", "truncated_normal", "zeros", "ones"})


def shape_of_other(evidence: Evidence, finding: Finding) -> Made:
    """Random numbers, zeros or ones made with the shape of the tensor that they meet."""
    for line in lines_of(evidence):
        operands = line.shaped()
        for (node, few), (other, many) in itertools.permutations(operands, 2):
            names = [item for item in nodes(other, ast.Name) if (spec := line.specs.get(item.id)) is not None and spec.shape == many]
            shape = _shape_given(line, node)
            if shape is None or not names or len(few) >= len(many) or many[: len(few)] != few or len(shape.elts) != len(few):
                continue
            yield (
                f"Create {short(node)} with the shape of {names[0].id} at line {shape.lineno}",
                [line.edit(shape, f"{MODULE}.shape({names[0].id})", line.module())],
                f"It then has one element per element of {names[0].id}.",
            )


def _shape_given(line: Line, node: ast.expr) -> ast.Tuple | ast.List | None:
    if not isinstance(node, ast.Name):
        return None
    for item in nodes(line.scope, ast.Assign):
        made = item.value
        if [ast.unparse(target) for target in item.targets] != [node.id] or not isinstance(made, ast.Call) or called(made) not in _MAKES:
            continue
        if called(made) == "uniform" and _mixes(line.scope, node.id):
            continue  # one for each sample, by which two tensors are mixed
        given = argument(made, "shape", ["shape"])
        return given if isinstance(given, (ast.Tuple, ast.List)) else None
    return None


def _mixes(scope: ast.AST, name: str) -> bool:
    return any(ast.unparse(item) in (f"1 - {name}", f"1.0 - {name}") for item in nodes(scope, ast.BinOp))


def resized(evidence: Evidence, finding: Finding) -> Made:
    """Maps that came back a little smaller than those of the way down, brought to their size before they are joined."""
    node = evidence.failed
    unpadded = getattr(getattr(finding.fact, "cause", None), "kind", "") == "unpadded"
    for line in lines_of(evidence) if node is not None and evidence.framework == "keras" else []:
        shapes = [(item, spec.shape or ()) for item in line.operands() if (spec := line.spec(item)) is not None]
        maps = [(item, shape) for item, shape in shapes if len(shape) == 4]
        if len(maps) != 2 or None in (*maps[0][1][1:3], *maps[1][1][1:3]):
            continue
        (small, few), (large, many) = sorted(maps, key=lambda pair: [size or 0 for size in pair[1][1:3]])
        differ = [(a or 0, b or 0) for a, b in zip(few[1:3], many[1:3], strict=True) if a != b]
        # A size that a reshape writes was never halved.
        written = any(one.giver is not None and one.giver.op.lower() == "reshape" and one.spec.shape == few for one in evidence.given)
        # Neither was what comes from the data as it is.
        computed = any(one.giver is not None and one.giver.kind in ("layer", "op") and one.spec.shape == few for one in evidence.given)
        # Halving and doubling loses less than the window that it is done with.
        if (
            written
            or not computed
            or not differ
            or any(not 0 < b - a < b / 4 or not any(a == b >> n << n for n in range(1, 8)) for a, b in differ)
            or not isinstance(large, (ast.Name, ast.Attribute, ast.Subscript))
        ):
            continue
        yield (
            f"Resize {short(small)} to the size of {short(large)} at {line.at}",
            [line.edit(small, f"{MODULE}.image.resize({IT}, {MODULE}.shape({ast.unparse(large)})[1:3])", "keras.ops")],
            "Windows without padding make a map smaller." if unpadded else "An odd size that is halved and doubled again becomes smaller.",
        )


@of(WrongMask)
def size_of_query(evidence: Evidence, finding: Finding, fact: WrongMask) -> Made:
    """A mask whose sizes were read from another tensor than the query or the value."""
    made = (fact.shape or ())[-2:]
    for line in lines_of(evidence):
        shapes = line.shape_of_names()
        edits, said = [], []
        for node in nodes(line.scope, ast.Subscript):
            read, axis = shape_read(node.value), index_of(node)
            name = ast.unparse(read) if read is not None else ""
            size = shapes[name][axis] if axis is not None and name in shapes and -len(shapes[name]) <= axis < len(shapes[name]) else None
            others = [operand.id for operand in line.operands() if isinstance(operand, ast.Name) and operand.id in shapes]
            want = fact.wanted[-1]
            instead = next((one for one in others if axis is not None and axis < len(shapes[one]) and shapes[one][axis] == want), None)
            if read is not None and size is not None and size in made and size not in fact.wanted[1:] and instead:
                edits.append(line.edit(read, instead))
                said.append(f"{instead} instead of {name}")
        if edits:
            yield (f"Create the mask for the size of {', '.join(dict.fromkeys(said))}", edits, "It then has one entry for each pair of steps.")


_FILLED = ("ones", "zeros", "full", "fill", "tri", "eye", "arange", "range")


@of(WrongMask)
def mask_of_written_size(evidence: Evidence, finding: Finding, fact: WrongMask) -> Made:
    """A square mask of a written size."""
    made, steps = (fact.shape or ())[-2:], fact.wanted[1]
    if len(made) != 2 or made[0] != made[1] or not steps or fact.wanted[2] != steps:
        return
    for line in (lines_of(evidence) or lines_at(evidence, finding.location))[:1]:
        shapes = line.shape_of_names()
        x = next((one.id for one in line.operands() if isinstance(one, ast.Name) and shapes.get(one.id, ())[1:2] == (steps,)), "")
        sizes = [
            size
            for call in nodes(line.scope, ast.Call)
            if x or called(call) in _FILLED
            for word in words_of(call)
            for size in (word.elts if isinstance(word, (ast.Tuple, ast.List)) else [word])
            if isinstance(size, (ast.Name, ast.Attribute, ast.Constant)) and line.number(size) == made[0]
        ]
        if sizes and not x:
            yield (f"Create the mask for {steps} steps", [line.edit(size, str(steps)) for size in sizes], f"The sequences have {steps} steps.")
        if x and sizes:
            yield (
                f"Create the mask for the steps of {x} instead of {short(sizes[0])}",
                [line.edit(size, f"{MODULE}.shape({x})[1]", line.module()) for size in sizes],
                "It then has one entry for each pair of steps.",
            )
        mask = next((word.value for call in [line.node] if isinstance(call, ast.Call) for word in call.keywords if word.arg == "attention_mask"), None)
        # An array is cut by numbers alone.
        for end in (f"{MODULE}.shape({x})[1]", f"{x}.shape[1]") if x and mask is not None and (made[0] or 0) > steps else ():
            assert mask is not None
            yield (
                f"Crop the mask to the steps of {x}: the first {steps} rows and columns",
                [line.edit(mask, f"{ast.unparse(mask)}[..., :{end}, :{end}]", line.module() if MODULE in end else "")],
                f"The mask is for {made[0]} steps.",
            )
        owner = own_layer(evidence)
        arguments = {**defaults(line), **owner.config} if owner is not None else {}
        keys = [key for key, value in arguments.items() if type(value) is int and value == made[0]]
        if owner is not None and len(keys) == 1:
            yield created(owner, keys[0], steps, "", f"The sequences have {steps} steps.")


@of(SymbolicQuestion)
def counted_by_reshape(evidence: Evidence, finding: Finding, fact: SymbolicQuestion) -> Made:
    """-1 for the one size of a reshape that is not known while the model is made."""
    if fact.of != "size":
        return
    for line in lines_of(evidence) or lines_at(evidence, finding.location):
        call = line.node
        if isinstance(call, ast.Call) and called(call) == "prod" and len(call.args) == 1 and ast.unparse(call.args[0]).endswith("shape"):
            shape = f"{ast.unparse(call.args[0])}[1:]"
            yield f"Leave out the batch axis: {shape} at {line.at}", [line.edit(call.args[0], shape)], "Each sample has that many values."
        target = call.args[-1] if isinstance(call, ast.Call) and called(call) == "reshape" and call.args else None
        if not isinstance(target, (ast.Tuple, ast.List)) or any(ast.unparse(item) == "-1" for item in target.elts):
            continue
        first = target.elts[0] if target.elts else None
        if isinstance(first, ast.Subscript) and "shape" in ast.unparse(first.value):
            title, counted = (f"Let the reshape infer the batch size: -1 instead of {short(first)} at {line.at}", line.edit(first, "-1"))
            yield title, [counted], "The batch size is unknown while the model is built."
            for other, edits, why in declare_known(evidence, finding):
                yield f"{title}; {other[:1].lower()}{other[1:]}", [counted, *edits], why


@of(FirstRow)
def unpacked_batch(evidence: Evidence, finding: Finding, fact: FirstRow) -> Made:
    """The inputs of a batch as Keras unpacks it, whatever came with them."""
    for line in lines_at(evidence, finding.location)[:1]:
        for node in nodes(line.scope, ast.Subscript):
            if ast.unparse(node) == f"{fact.name}[0]":
                yield (
                    f"Unpack the batch at line {node.lineno}: keras.utils.unpack_x_y_sample_weight({fact.name})[0]",
                    [line.edit(node.value, f"{MODULE}.unpack_x_y_sample_weight({IT})", "keras.utils")],
                    "Without labels, fit passes the inputs as they are, not as a tuple.",
                )


_APPLIED = ("optimizer_variables", "grads", "trainable_variables")


def gradients_in_order(evidence: Evidence, finding: Finding) -> Made:
    """The gradients and the weights in each other's place."""
    for line, call in calls_at(evidence, finding.location, "stateless_apply"):
        order = finding.fact.order if isinstance(finding.fact, GradientsSwapped) else ()
        written = [argument(call, name, [*_APPLIED]) for name in _APPLIED]
        passed = [one for one in written if one is not None]
        if order and len(passed) == 3:
            given = dict(zip(order, passed, strict=True))
            right = [given[name] for name in sorted(order, key=_APPLIED.index)]
            yield (
                f"Pass {', '.join(map(short, right))} to stateless_apply at {line.at}",
                [line.edit(old, line.source.of(new)) for old, new in zip(passed, right, strict=True) if old is not new],
                "The optimizer's variables come first, and the gradients second.",
            )
        elif len(call.args) == 3:
            first, grads, weights = call.args
            if not isinstance(finding.fact, GradientsSwapped):
                yield (f"Swap {short(first)} and {short(grads)} at {line.at}", line.swap(first, grads), "The optimizer's variables come first.")
            yield (f"Swap {short(grads)} and {short(weights)} at {line.at}", line.swap(grads, weights), "The gradients come before the weights.")


@of(WrongCount)
def flat_samples(evidence: Evidence, finding: Finding, fact: WrongCount) -> Made:
    """As many rows as there are samples, in a reshape whose written size is not that of a sample."""
    if len(fact.target) != 2 or fact.target[0] != -1 or len(fact.given) < 2 or not fact.given[0]:
        return
    for line in lines_of(evidence):
        given, sizes = reshaped(line)
        if len(sizes) == 2 and isinstance(given, (ast.Name, ast.Attribute)):
            rows = f"{ast.unparse(given)}.shape[0]"
            yield (
                f"Flatten each sample: ({rows}, -1) instead of ({', '.join(map(short, sizes))}) at {line.at}",
                [line.edit(sizes[0], rows), line.edit(sizes[1], "-1")],
                f"A sample has {elements(fact.given[1:])} values.",
            )


@of(OperationRaised)
def axes_there(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """A reduction over the axes that the tensor has."""
    if not isinstance(fact.reason, NoAxis):
        return
    rank = len(fact.reason.shape)
    for line, call in calls_of(evidence):
        if called(call).removeprefix("reduce_") not in _REDUCES or not call.args:
            continue
        given = line.keyword("axis") or next(iter(call.args[1:2]), None)
        items = given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given]
        try:
            axes = [int(ast.literal_eval(item)) for item in items if item is not None]
        except (ValueError, TypeError):
            continue
        left = [axis for axis in axes if -rank <= axis < rank and axis % rank != 0]
        kept = line.keyword("keepdims")
        if left and given is not None:
            new = str(left[0] if len(left) == 1 else tuple(left))
            yield f"Use axis={new} at {line.at}", [line.edit(given, new)], f"The tensor has {rank} dimensions."
        elif axes and kept is None:
            yield (
                f"Remove {called(call)} at {line.at}: there is one value per sample already",
                [line.edit(call, ast.unparse(call.args[0]))],
                f"The axes that it names do not exist in {show_shape(fact.reason.shape)}.",
            )
    for line in lines_of(evidence)[:1]:
        for item in nodes(line.node, ast.Subscript) if line.node is not None else ():
            parts = listed(item.slice) or []
            picked = [one for one in parts if not isinstance(one, ast.Slice)]
            if len(parts) == rank + 1 and len(picked) == 1 and whole_number(picked[0]) is not None:
                yield (
                    f"Remove the index of {short(item.value)} at {line.at}",
                    [line.edit(item, ast.unparse(item.value))],
                    f"It has {rank} dimensions already.",
                )


_SIZED = frozenset({"tile", "reshape", "broadcast_to", "zeros", "ones", "full", "normal", "uniform"})
JOINS = frozenset({"concat", "concatenate"})
_PACKS = frozenset({"stack", "array", "asarray", "convert_to_tensor", "constant"})


@of(ValueAsked)
def plain_sizes(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """Sizes as the list that they were written in, and not as a tensor made of it."""
    if fact.asked != "index":
        return
    for line, call in calls_of(evidence, *_SIZED):
        for item in words_of(call):
            made = assigned_to(line, item)
            sizes = _sizes_of(made) if isinstance(made, ast.Call) else None
            if sizes:
                text = f"[{', '.join(map(ast.unparse, sizes))}]"
                yield (
                    f"Pass the sizes as a list at line {made.lineno}: {text}",
                    [line.edit(made, text)],
                    "A shape is known when the program is compiled, but the values of a tensor are not.",
                )


def _sizes_of(node: ast.expr) -> list[ast.expr] | None:
    if isinstance(node, (ast.List, ast.Tuple)):
        return None if any(isinstance(item, ast.Starred) for item in node.elts) else list(node.elts)
    if not isinstance(node, ast.Call) or not node.args:
        return None
    first, name = node.args[0], called(node)
    if name in _PACKS:
        return _sizes_of(first)
    if name in JOINS and isinstance(first, (ast.List, ast.Tuple)):
        parts = [_sizes_of(item) for item in first.elts]
        return None if None in parts else [size for part in parts for size in part or ()]
    while isinstance(first, ast.Call) and called(first) in _PACKS and first.args:
        first = first.args[0]
    return [first] if name == "expand_dims" else None


def weighted(evidence: Evidence, finding: Finding) -> Made:
    """Vectors times a matrix of weights."""
    for line in lines_of(evidence)[:1]:
        node, operands = line.node, line.operands()
        shapes = [line.shape(item) for item in operands]
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult) or not all(shapes):
            continue
        for (vectors, many), (weights, matrix) in (zip(operands, shapes, strict=True), zip(operands[::-1], shapes[::-1], strict=True)):
            if not many or not matrix or len(matrix) != 2 or len(many) < 2 or many[-1] != matrix[0] or many[-1] == matrix[-1]:
                continue
            yield (
                f"Use matmul at {line.at}: multiply {short(vectors)} by the matrix {short(weights)}",
                [line.edit(node, f"{MODULE}.matmul({ast.unparse(vectors)}, {ast.unparse(weights)})", line.module())],
                f"{show_shape(many)} times {show_shape(matrix)} gives {show_shape((*many[:-1], matrix[-1]))}.",
            )
            yield (
                f"Add an axis of size 1 to {short(vectors)} at {line.at}: {show_shape((*many, 1))}",
                [line.edit(vectors, f"{IT}[..., None]")],
                f"Each value is then multiplied by its row of {short(weights)}.",
            )


@of(VariableGiven)
def variables(evidence: Evidence, finding: Finding, fact: VariableGiven) -> Made:
    """A variable of Keras as a tensor, wherever the function hands it to one of JAX's or asks it for what a tensor has."""
    for line in lines_of(evidence) if not fact.inside else ():
        used = [node for node in nodes(line.scope, (ast.Attribute, ast.Name)) if ast.unparse(node) in fact.names and _is_read(line, node)]
        if used:
            names = ", ".join(dict.fromkeys(ast.unparse(node) for node in used))
            yield (
                f"Convert {names} to a tensor: keras.ops.convert_to_tensor({next(iter(fact.names))})",
                [line.edit(node, f"{MODULE}.convert_to_tensor({IT})", "keras.ops") for node in used],
                "JAX functions expect arrays, and a Keras variable is not an array.",
            )


def _is_read(line: Line, node: ast.expr) -> bool:
    """Whether a variable is an argument of a function of JAX's, or is asked for an attribute that variables have not."""
    for call in nodes(line.scope, ast.Call):
        root = ast.unparse(call.func).split(".")[0]
        given = words_of(call)
        # Some functions of keras.ops hand it on as it is: the one that raised is one of them.
        if (root in ("jnp", "jax", "lax", "nn", "np") or call is line.node) and any(node is item for item in given):
            return True
    owners = [item.value for item in nodes(line.scope, ast.Attribute) if item.attr in ("T", "at", "reshape", "astype", "sum", "mean", "transpose")]
    return any(node is owner for owner in owners)


@of(VariableReturned)
def returned_tensor(evidence: Evidence, finding: Finding, fact: VariableReturned) -> Made:
    """The value of the variable that a metric returns."""
    for line in lines_at(evidence, finding.location)[:1]:
        given = [item.value for item in nodes(line.scope, ast.Return) if isinstance(item.value, ast.Attribute)]
        if given:
            yield (
                f"Convert the result to a tensor at line {given[0].lineno}: keras.ops.convert_to_tensor({ast.unparse(given[0])})",
                [line.edit(node, f"{MODULE}.convert_to_tensor({IT})", "keras.ops") for node in given],
                "A step returns the results of its metrics, and a variable is not a tensor.",
            )
