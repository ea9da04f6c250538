"""Candidates for results whose size depends on values, such as slices, counts and numbers, and for sizes that the data leaves unknown."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

import msgspec

from ...examine.evidence import Evidence
from ...examine.given_names import names_given
from ...flow import Finding, KeyPath, Shape, syntax
from ...flow.paths import flatten
from ...flow.syntax import called, loaded
from ...rules.facts.entry import RankUnknown
from ...rules.facts.layers import OperationRaised
from ...rules.facts.mesh import ValueAsked
from ...rules.facts.reasons import Lengths
from ...rules.fixed_rows import same_sizes
from ...rules.words import listed
from ..edits import Edit, UnwrapLayer
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import class_of, nodes
from .edits import Made, configure, of, shapes_set
from .line import Line, assigned_to, calls_at, lines_at, lines_of

_OF_SEGMENTS = ["data", "segment_ids", "num_segments"]
_SEGMENTS = ("segment_sum", "segment_max", "segment_min", "segment_prod")


@of(ValueAsked)
def taken(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """``take`` of a known number of elements, from where a slice starts."""
    for line in lines_of(evidence) if fact.asked == "slice" else []:
        node = line.node
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
            continue
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not all(isinstance(part, ast.Slice) and part.step is None for part in parts):
            continue
        new, kept = line.source.of(node.value), []
        sized = [_sized(part, line) for part in parts if isinstance(part, ast.Slice)]
        if not any(sized):
            continue
        for axis, (part, bounds) in enumerate(zip(parts, sized, strict=True)):
            kept.append(":" if bounds else line.source.of(part))
            if bounds:
                new = f"{MODULE}.take({new}, {bounds[0]} + {MODULE}.arange({bounds[1]}), axis={axis})"
        if any(part != ":" for part in kept):
            new = f"{new}[{', '.join(kept)}]"
        sizes = " and ".join(bounds[1] for bounds in sized if bounds)
        yield (
            f"Take {sizes} elements from the start of the slice at {line.at}",
            [line.edit(node, new, "keras.ops")],
            "The number of elements is known, and only where they start depends on values.",
        )


def _sized(part: ast.Slice, line: Line) -> tuple[str, str] | None:
    if part.lower is None or part.upper is None or part.step is not None:
        return None
    size = difference(part.upper, part.lower)
    tensors = {name for name, spec in line.specs.items() if spec.shape is not None}
    if not size or any(ast.unparse(one) in tensors for one in nodes(syntax.parse(size), (ast.Name, ast.Attribute))):
        return None
    return line.source.of(part.lower), size


@of(ValueAsked)
def written_at(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """Indices of a known number for a slice that is written, ``x.at[start : start + size].set(...)``."""
    for line in lines_of(evidence) if fact.asked == "slice" else []:
        # What JAX writes is the method of what the brackets give.
        places = [
            item
            for item in (nodes(line.node, ast.Subscript) if isinstance(line.node, ast.Call) else ())
            if isinstance(item.value, ast.Attribute) and item.value.attr == "at"
        ]
        for place in places[:1]:
            parts = place.slice.elts if isinstance(place.slice, ast.Tuple) else [place.slice]
            sized = [(part, bounds) for part in parts if isinstance(part, ast.Slice) and (bounds := _sized(part, line)) is not None]
            # Two tensors of indices are paired, and make no rectangle.
            if len(sized) != 1 or not all(isinstance(part, ast.Slice) for part in parts):
                continue
            (part, (start, size)) = sized[0]
            index = ", ".join(f"{start} + {MODULE}.arange({size})" if one is part else line.source.of(one) for one in parts)
            yield (
                f"Write {size} elements from the start of the slice at line {place.lineno}",
                [line.edit(place, f"{line.source.of(place.value)}[{index}]", "keras.ops")],
                "The number of elements is known, and only where they start depends on values.",
            )


def difference(more: ast.expr, less: ast.expr) -> str:
    """``more - less`` of two sums of products, with what they share left out."""
    terms = _terms(more)
    for factors, number in _terms(less).items():
        terms[factors] = terms.get(factors, 0) - number
    parts = []
    for factors, number in terms.items():
        if number:
            text = "*".join([*([str(abs(number))] if abs(number) != 1 or not factors else []), *factors])
            parts.append((number > 0, text))
    parts.sort(reverse=True)  # what is added comes first
    text = "".join(f"{' + ' if plus else ' - '}{part}" for plus, part in parts).removeprefix(" + ")
    return ast.unparse(syntax.parse(text.strip())) if text and parts[0][0] else ""


def _terms(node: ast.expr) -> dict[tuple[str, ...], int]:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return {(): node.value}
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        sign, found = 1 if isinstance(node.op, ast.Add) else -1, _terms(node.left)
        for factors, number in _terms(node.right).items():
            found[factors] = found.get(factors, 0) + sign * number
        return found
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        found = {}
        for one, many in _terms(node.left).items():
            for other, more in _terms(node.right).items():
                both = tuple(sorted((*one, *other)))
                found[both] = found.get(both, 0) + many * more
        return found
    return {(ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({ast.unparse(node)})",): 1}


@of(ValueAsked)
def counted(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """The size of an axis for ``arange`` up to a number that only the data has."""
    for line in lines_of(evidence) if fact.asked == "size" else []:
        call = line.call("arange")
        if call is None or len(call.args) != 1:
            continue
        # Where more is cut to the same number, all of it goes that far.
        uses = [item for item in nodes(line.scope, ast.Name) if item.id == ast.unparse(call.args[0]) and isinstance(item.ctx, ast.Load)]
        count = assigned_to(line, call.args[0]) if len(uses) > 1 else call.args[0]
        for size in _sizes(line, assigned_to(line, call.args[0])):
            yield (
                f"Count to {size} at line {count.lineno}",
                [line.edit(count, size, choice="size")],
                "The size of a tensor in a compiled step is fixed; a mask leaves out the rest.",
            )


@of(ValueAsked)
def all_turns(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """All positions for a loop up to a length that only the data has, where the loop compares each with it."""
    for line, loop in ((at, one) for at in lines_of(evidence) for one in at.around(ast.For) if fact.asked in ("index", "number")):
        call = loop.iter
        if not isinstance(call, ast.Call) or called(call) != "range" or len(call.args) > 1 or call.lineno != line.raised.line:
            continue
        turn, length = ast.unparse(loop.target), loaded(call.args[0]) | loaded(assigned_to(line, call.args[0]))
        if not any(turn in (names := loaded(one)) and names & length & {*line.specs} for one in nodes(loop, ast.Compare)):
            continue
        for item in nodes(loop, ast.Subscript):
            at = [ast.unparse(part) for part in (item.slice.elts if isinstance(item.slice, ast.Tuple) else [item.slice])]
            if turn in at and isinstance(item.value, (ast.Name, ast.Attribute)):
                size = f"{ast.unparse(item.value)}.shape[{at.index(turn)}]"
                yield (
                    f"Count to {size} at line {call.lineno}",
                    [line.edit(call.args[0], size)],
                    "The size of a tensor in a compiled step is fixed; a mask leaves out the rest.",
                )
                return


def _sizes(line: Line, count: ast.expr) -> Iterator[str]:
    shapes, read = line.shape_of_names(), loaded(count)
    read |= {one for item in nodes(line.scope, ast.Assign) if ast.unparse(item.targets[0]) in read for one in loaded(item.value)}
    names = [name for name, shape in shapes.items() if name.isidentifier() and len(shape) > 1]
    names = [name for name in names if name in read] or names
    found = {shapes[name][axis]: f"{name}.shape[{axis}]" for name in reversed(names) for axis in reversed(range(1, len(shapes[name])))}
    yield from reversed(found.values())


@of(ValueAsked)
def segments(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """As many segments as there are rows, of which each has one at least."""
    for line in lines_of(evidence) if fact.asked in ("size", "number", "argument") else []:
        call = line.call(*_SEGMENTS)
        ids = argument(call, "segment_ids", _OF_SEGMENTS) if call is not None else None
        count = argument(call, "num_segments", _OF_SEGMENTS) if call is not None else None
        count = assigned_to(line, count) if count is not None else None
        # A number that is given comes from the largest id.
        if call is None or ids is None or (count is not None and not any(called(one) == "max" for one in nodes(count, ast.Call))):
            continue
        table = _table(argument(call, "data", ["data"]))
        of = table or (ast.unparse(ids) if isinstance(ids, (ast.Name, ast.Attribute)) else "")
        if of:
            size = f"{of}.shape[0]"
            yield (
                f"Set num_segments={size} at line {(count or call).lineno}{'' if table else ', which is enough for ids that count from 0'}",
                [line.edit(count, size) if count is not None else line.more(call, f"num_segments={size}")],
                f"The ids then count the rows of {table}." if table else "Each segment has at least one row, and segments without rows are empty.",
            )


@of(OperationRaised)
def segments_of_other(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """As many segments as the tensor has rows with which the sums are combined."""
    for line in lines_of(evidence)[:1] if isinstance(fact.reason, Lengths) else ():
        for (_, shape), (other, wanted) in itertools.permutations(line.shaped(), 2):
            off = [i for i, (a, b) in enumerate(zip(shape, wanted, strict=False)) if a != b and i < len(shape) - 1]
            if len(shape) != len(wanted) or len(off) != 1 or not isinstance(other, ast.Name):
                continue
            for call in nodes(line.scope, ast.Call):
                count = argument(call, "num_segments", _OF_SEGMENTS) if called(call) in _SEGMENTS else None
                if count is None or line.number(count) != shape[off[0]]:
                    continue
                name = _there(line, call, other.id, off[0], wanted[off[0]])
                if name:
                    yield (
                        f"Set num_segments to the number of rows of {name}, {wanted[off[0]]}, at line {call.lineno}",
                        [line.edit(count, f"{MODULE}.shape({name})[{off[0]}]", line.module())],
                        f"The call asks for {shape[off[0]]} segments.",
                    )


def _there(line: Line, call: ast.Call, name: str, axis: int, size: int | None) -> str:
    scope, shapes = line.scope, line.shape_of_names()
    inputs = [one.arg for one in scope.args.args] if isinstance(scope, ast.FunctionDef) else []
    before = {one.id for one in nodes(scope, ast.Name) if isinstance(one.ctx, ast.Store) and one.lineno < call.lineno}
    fits = [one for one in (name, *inputs) if one in before or one in inputs]
    return next((one for one in fits if len(shapes.get(one, ())) > axis and shapes[one][axis] == size), "")


def _table(data: ast.expr | None) -> str:
    if isinstance(data, ast.Subscript) and isinstance(data.slice, (ast.Name, ast.Attribute)):
        return ast.unparse(data.value) if isinstance(data.value, (ast.Name, ast.Attribute)) else ""
    if isinstance(data, ast.Call) and called(data) == "take" and data.args and isinstance(data.args[0], (ast.Name, ast.Attribute)):
        axis = argument(data, "axis", ["a", "indices", "axis"])
        return ast.unparse(data.args[0]) if isinstance(axis, ast.Constant) and axis.value == 0 else ""
    return ""


@of(ValueAsked)
def distinct(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """As many distinct values as there are elements."""
    for line in lines_of(evidence) if fact.asked == "size" else []:
        call = line.call("unique")
        asked = [ast.unparse(one) for name in ("inverse", "counts") if (one := line.keyword(f"return_{name}")) is not None]
        if call is None or not call.args or line.keyword("size") is not None or asked != ["True"]:
            continue
        if line.keyword("return_counts") is not None and not _shares(line, call):
            continue
        if isinstance(call.args[0], (ast.Name, ast.Attribute)) and ast.unparse(call.func).startswith(("jnp.", "jax.")):
            made, picked = assigned_to(line, call.args[0]), ""
            if isinstance(made, ast.Call) and called(made) in ("argmax", "argmin") and made.args and isinstance(made.args[0], ast.Name):
                axis = argument(made, "axis", ["x", "axis"])
                picked = f"{made.args[0].id}.shape[{ast.unparse(axis)}]" if isinstance(axis, (ast.Constant, ast.UnaryOp)) else ""
            size = picked or f"{ast.unparse(call.args[0])}.size"
            yield (
                f"Set size={size} at {line.at}: there are no more distinct values",
                [line.more(call, f"size={size}")],
                "The rest repeats the smallest value, and no element refers to it.",
            )


# What zeros among the counts would change.
_CHANGED = re.compile(r"\b(len|mean|min|argmin|std|var|prod|median|sort|argsort|shape|size)\b|\blog\([^+]*\)")


def _shares(line: Line, call: ast.Call) -> bool:
    text = next((ast.unparse(one.targets[0]) for one in nodes(line.scope, ast.Assign) if one.value is call), "")
    names = {text.removeprefix("(_, ").removesuffix(")")}
    for item in nodes(line.scope, ast.Assign):
        names |= {ast.unparse(item.targets[0])} if names & loaded(item.value) else set()
    used = [ast.unparse(one) for one in nodes(line.scope, (ast.Call, ast.Attribute)) if names & loaded(one) and one is not call]
    return text.startswith("(_, ") and not any(map(_CHANGED.search, used))


@of(ValueAsked)
def classes(evidence: Evidence, finding: Finding, fact: ValueAsked) -> Made:
    """The number of classes for ``bincount``, from the tensor that has a value for each."""
    for line in lines_of(evidence) if fact.asked == "size" else []:
        call = line.call("bincount")
        if call is None or len(call.args) != 1 or any(word.arg != "minlength" for word in call.keywords):
            continue
        root = ast.unparse(call.func).split(".")[0]
        for name, shape in line.shape_of_names().items():
            size = f"{name}.shape[-1]"
            if not name.isidentifier() or len(shape) < 2 or shape[-1] is None or shape[-1] < 2:
                continue
            if root in ("jnp", "jax"):
                edit = line.edit(call, f"{ast.unparse(call)[:-1]}, length={size})", choice="size")
            else:
                edit = line.edit(call, f"{MODULE}.sum({MODULE}.one_hot({line.source.of(call.args[0])}, {size}), axis=0)", "keras.ops", "size")
            yield f"Count {size} classes at {line.at}", [edit], "The result then has a known size: one count for each class."


# What works on the last axis alone gives each step the same as it gives to all of them.
_BY_STEP = frozenset({"Dense", "EinsumDense", "Activation", "ReLU", "LeakyReLU", "ELU", "Dropout", "LayerNormalization", "RMSNormalization"})


def not_unrolled(evidence: Evidence, finding: Finding) -> Made:
    """A recurrent layer as a loop, which needs no number of steps."""
    node = evidence.flow.node(finding.nodes[0]) if finding.nodes else None
    if node is not None and node.config.get("unroll"):
        yield f"Set unroll=False in {node.name}", [configure(node.name, unroll=False)], "A loop runs for any number of steps."


def unwrapped(evidence: Evidence, finding: Finding) -> Made:
    """What is applied to each step, without the layer around it."""
    nodes = [evidence.flow.node(id_) for id_ in finding.nodes]
    if nodes and all(node.op == "TimeDistributed" and node.config.get("layer") in _BY_STEP for node in nodes):
        names = listed(tuple(node.name for node in nodes))
        title = f"Remove TimeDistributed from {names}, and keep the layer inside"
        yield title, [UnwrapLayer(node.name) for node in nodes], "It works on each step alike, so the result is the same for all steps."


def declared_sizes(evidence: Evidence, finding: Finding) -> Made:
    """The sizes of the batches in the pipeline, where all that were drawn have the same."""
    sample = evidence.sample
    shapes: dict[KeyPath, Shape] = {}
    for role in ("x", "y", "weight") if sample is not None else ():
        for path, leaf in flatten(getattr(sample, role), role):
            if not leaf.shape or not leaf.concrete or None not in leaf.shape[1:] or not same_sizes(evidence, path):
                continue
            shapes[path] = (leaf.shape[0], *leaf.concrete[1:])
    yield from shapes_set(shapes, "All batches that were drawn have this shape; any other raises an error.")


@of(RankUnknown)
def squeezed_axis(evidence: Evidence, finding: Finding, fact: RankUnknown) -> Made:
    """The axes of size 1 that a squeeze takes out, named."""
    alike = list(_squeezes(evidence))
    if len(alike) > 1:
        yield (
            f"Pass axis= to squeeze at {' and '.join(dict.fromkeys(line.at for line, _, _ in alike))}",
            [line.more(call, f"axis={axis}") for line, call, axis in alike],
            "The batch axis then stays, whatever its size.",
        )
        return
    ones = [axis for axis, size in enumerate(fact.shape) if size == 1]
    axis = _written(fact.shape)
    for line, call in calls_at(evidence, fact.line or finding.location, "squeeze"):
        if ones and line.keyword("axis") is None and len(call.args) == 1:
            yield (f"Pass axis={axis} to squeeze at {line.at}", [line.more(call, f"axis={axis}")], "The batch axis then stays, whatever its size.")


def _written(shape: Shape) -> str:
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    return "-1" if ones == [len(shape) - 1] else str(ones[0]) if len(ones) == 1 else f"({', '.join(map(str, ones))})"


def _squeezes(evidence: Evidence) -> Iterator[tuple[Line, ast.Call, str]]:
    """Every squeeze that takes all axes of size 1 out of a batch: each loses the batch axis where one sample is left."""
    seen = set()
    for node in evidence.flow.nodes:
        shape = next((edge.spec.shape for edge in evidence.flow.into(node.id)), None)
        if node.op.lower() != "squeeze" or not shape or 1 not in shape[1:] or node.called is None:
            continue
        for line, call in calls_at(evidence, node.called, "squeeze"):
            if line.keyword("axis") is None and len(call.args) == 1 and (call.lineno, call.col_offset) not in seen:
                seen.add((call.lineno, call.col_offset))
                yield line, call, _written((None, *shape[1:]))


def odd_signal(evidence: Evidence, finding: Finding) -> Made:
    """The length of the signal for an inverse of its half spectrum, which gives an even one by itself."""
    flow, sizes = evidence.flow, [[n or 0 for n in edge.spec.shape or ()] for edge in evidence.operands()]
    off = [(axis, min(pair), max(pair)) for axis, pair in enumerate(zip(*sizes, strict=False)) if len(set(pair)) == 2 and min(pair) > 1]
    if len(off) != 1 or off[0][2] != off[0][1] + 1 or off[0][2] % 2 == 0:
        return
    axis, even, odd = off[0]
    edits: dict[tuple[int, int], Edit] = {}
    for node, line, call in _inverses(evidence, even):
        size = str(odd)
        taken = [one.arg for one in line.scope.args.args if one.arg != "self"][:1] if isinstance(line.scope, ast.FunctionDef) else []
        given = [edge.spec.shape or () for edge in flow.edges if node in (edge.target, flow.node(edge.target).parent) and flow.node(edge.source).parent != node]
        kept = not any(name in names_given(one) for one in nodes(line.scope, ast.Assign) for name in taken)
        if taken and kept and given and given[0][axis : axis + 1] == (odd,):
            size = f"{taken[0]}.shape[{axis}]"
        plain = ast.unparse(call.func).split(".")[0] in ("jnp", "jax", "np")
        if len(call.args) == 1 and not {"n", "fft_length"} & {word.arg for word in call.keywords}:
            more = f"n={size}" if plain else f"fft_length=[{size}]" if "signal" in ast.unparse(call.func) else f"fft_length={size}"
            edits[call.lineno, call.col_offset] = line.more(call, more)
    if edits:
        places = listed(tuple(dict.fromkeys(f"line {at[0]}" for at in edits)))
        yield f"Pass the length {odd} to irfft at {places}", list(edits.values()), "A spectrum fits two lengths, and irfft takes the even one."


def _inverses(evidence: Evidence, size: int) -> Iterator[tuple[str, Line, ast.Call]]:
    """The calls of irfft that gave an axis this size, each with the layer around it."""
    flow = evidence.flow
    for node in flow.nodes:
        if any(size in (edge.spec.shape or ()) for edge in flow.out_of(node.id)):
            yield from ((node.parent or "", line, call) for line, call in calls_at(evidence, node.called, "irfft"))
    for node in (flow.node(edge.source) for edge in evidence.operands()):
        for line in lines_at(evidence, node.location)[:1] if node.kind == "layer" else ():
            cls = class_of(line.source.tree, node.op)
            for call in nodes(cls, ast.Call) if cls is not None else ():
                if called(call) == "irfft" and node.location is not None:
                    yield from ((node.id, *one) for one in calls_at(evidence, msgspec.structs.replace(node.location, line=call.lineno), "irfft"))


@of(OperationRaised)
def half_spectrum(evidence: Evidence, finding: Finding, fact: OperationRaised) -> Made:
    """One more than half of the signal for weights that meet its half spectrum."""
    sizes = {edge.spec.shape for edge in evidence.flow.edges if evidence.flow.node(edge.source).op == "Rfft"}
    off = [max(pair) for pair in fact.apart if abs(pair[0] - pair[1]) == 1]
    for line in lines_of(evidence)[:1] if len(off) == 1 else ():
        halves = [one for one in nodes(line.owner(), ast.BinOp) if isinstance(one.op, ast.FloorDiv) and ast.unparse(one.right) == "2"]
        if len(halves) == 1 and any(off[0] in (shape or ()) for shape in sizes):
            yield f"Add 1 to {ast.unparse(halves[0])} at line {halves[0].lineno}", [line.edit(halves[0], f"{IT} + 1")], "rfft of n values gives n // 2 + 1."
