"""Candidates in functions of a pipeline whose values do not fit: a crop larger than its picture, classes from 1 in a table, frames of an axis of size 1."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.paths import flatten
from ...flow.syntax import called
from ...rules.facts.mapped import AxisEmptied, CropBeyond, RowMissing
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, of
from .line import Line, lines_at, listed, short

# Functions that cut the last axis into frames.
_FRAMES = ("stft", "frame", "mdct")


def _calls(evidence: Evidence, *names: str) -> Iterator[tuple[Line, ast.Call]]:
    """The calls of something of these names in the functions of the pipeline."""
    for stage in evidence.stages:
        for line in lines_at(evidence, stage.location)[:1] if stage.op == "map" and stage.function else ():
            yield from ((line, call) for call in nodes(line.scope, ast.Call) if called(call) in names)


@of(CropBeyond)
def padded_picture(evidence: Evidence, finding: Finding, fact: CropBeyond) -> Made:
    """The picture with a margin, where all pictures have one size."""
    shapes = {leaf.shape for stage in evidence.stages for _, leaf in flatten(stage.spec)}
    calls = list(_calls(evidence, "random_crop"))
    for line, call in calls if len(calls) == 1 and fact.given in shapes and len(fact.wanted) == 3 else ():
        value, size = argument(call, "value", ["value", "size"]), argument(call, "size", ["value", "size"])
        sizes = listed(size)
        if value is not None and len(sizes) == 3:
            pairs = zip(sizes, fact.given, fact.wanted, strict=True)
            height, width, _ = (line.source.of(one) if (want or 0) > (have or 0) else str(have) for one, have, want in pairs)
            yield (
                f"Pad {short(value)} to the size of the crop at line {call.lineno}: tf.image.resize_with_crop_or_pad",
                [line.edit(value, f"{MODULE}.image.resize_with_crop_or_pad({IT}, {height}, {width})", "tensorflow")],
                "Keeps every pixel, with a black margin. Use tf.image.resize instead if the objects may become larger.",
            )


@of(RowMissing)
def counted_from_0(evidence: Evidence, finding: Finding, fact: RowMissing) -> Made:
    """Classes from 1 that are counted from 0 where the function begins, for the table and for the loss."""
    calls = list(_calls(evidence, "gather"))
    for line, call in calls if len(calls) == 1 and fact.counted else ():
        indices = argument(call, "indices", ["params", "indices"])
        if not isinstance(line.scope, ast.FunctionDef) or indices is None:
            continue
        own = [item.arg for item in line.scope.args.args]
        read = {item.id for item in nodes(indices, ast.Name)} & set(own)
        first = next((item for item in line.scope.body if not isinstance(item, ast.Expr)), None)
        if len(read) == 1 and first is not None:
            (name,) = read
            yield (
                f"Number the classes in {name} from 0 in {line.scope.name}: {name} - 1",
                [line.before(first, f"{name} = {name} - 1")],
                "Use this if your labels start at 1.",
            )


@of(AxisEmptied)
def squeezed_series(evidence: Evidence, finding: Finding, fact: AxisEmptied) -> Made:
    """A series without its last axis of size 1, where it is cut into frames."""
    for line, call in _calls(evidence, *_FRAMES) if fact.alone else ():
        given = call.args[0] if call.args else argument(call, "signals", ["signals"])
        own = [item.arg for item in line.scope.args.args] if isinstance(line.scope, (ast.FunctionDef, ast.Lambda)) else []
        if isinstance(given, ast.Name) and given.id in own:
            yield (
                f"Squeeze the last axis of {given.id} (size 1) in {called(call)} at line {call.lineno}",
                [line.edit(given, f"{MODULE}.squeeze({IT}, axis=-1)", "tensorflow")],
                f"{called(call)} works along the last axis, which then has the samples of the signal.",
            )
