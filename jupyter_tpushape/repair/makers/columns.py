"""Candidates for what a training step takes out of its data: vectors in place of columns, the next steps of a sequence as labels."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.mixing import EveryPair
from ...rules.facts.ranges import ColumnsExchanged
from ...rules.ids import looked_up_columns
from ..edits import Edit
from ..text.source import nodes, parents
from .edits import Made, of
from .line import Line, lines_at, lines_of, whole_number


@of(ColumnsExchanged)
def exchanged(evidence: Evidence, finding: Finding, fact: ColumnsExchanged) -> Made:
    """Each of two columns where the other one is looked up."""
    swap = {fact.column: fact.other, fact.other: fact.column}
    edits: dict[tuple[int, int], Edit] = {}
    for _, taken, path, column in looked_up_columns(evidence):
        if path != fact.path or column not in swap:
            continue
        found = [
            (line, item.slice.elts[1])
            for line in lines_at(evidence, taken.called)[:1]
            for item in line.around(ast.Subscript)
            if isinstance(item.slice, ast.Tuple) and len(item.slice.elts) == 2 and whole_number(item.slice.elts[1]) == column
        ]
        if len(found) != 1:
            return
        line, index = found[0]
        edits[index.lineno, index.col_offset] = line.edit(index, str(swap[column]))
    yield (
        f"Swap columns {min(swap)} and {max(swap)} where the model takes them",
        [*edits.values()],
        "The ids of each column then have a row where they are looked up.",
    )


@of(EveryPair)
def unpacked_vectors(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """Vectors of all the columns that a step takes out of its data, none of which it gives to a layer."""
    for line in lines_of(evidence)[:1]:
        for names, then in _unpacked(line):
            text = f"{', '.join(names)} = {', '.join(f'{name}[:, 0]' for name in names)}"
            yield (
                f"Use vectors instead of columns for {', '.join(names[:-1])} and {names[-1]}, before line {then.lineno}",
                [line.before(then, text)],
                "Each of them has one number per sample, on an axis of size 1.",
            )


@of(EveryPair)
def flattened_alike(evidence: Evidence, finding: Finding, fact: EveryPair) -> Made:
    """Predictions flattened as a loss or metric flattens the labels, where both have one number for each sample."""
    for line in (lines_of(evidence) or lines_at(evidence, finding.location))[:1]:
        arguments = [item.arg for item in line.scope.args.args if item.arg != "self"][:2] if isinstance(line.scope, ast.FunctionDef) else []
        for statement in (
            nodes(line.scope, ast.Assign) if len(arguments) == 2 and (1,) in {shape[1:] for shape in (fact.left, fact.right)} else ()
        ):
            target = ast.unparse(statement.targets[0])
            flat = [call for call in nodes(statement.value, ast.Call) if called(call) == "reshape" and ast.unparse(call.args[-1]) in _FLAT]
            if target not in arguments or len(flat) != 1 or ast.unparse(flat[0].args[0]) != target:
                continue
            other = arguments[1 - arguments.index(target)]
            text = f"{other} = {ast.unparse(flat[0].func)}({other}, {ast.unparse(flat[0].args[-1])})"
            yield (
                f"Flatten {other} like {target}, before line {statement.lineno}",
                [line.before(statement, text)],
                "Both then have one number per sample, on the same axis.",
            )


_FLAT = frozenset({"[-1]", "(-1,)", "-1"})


def _unpacked(line: Line) -> Iterator[tuple[list[str], ast.stmt]]:
    """The columns among the names that a statement of the function unpacks, where there are several, and the statement behind it."""
    fed = {
        item.id
        for call in nodes(line.scope, ast.Call)
        if ast.unparse(call.func).partition(".")[0] == "self"
        for given in (*call.args, *(part.value for part in call.keywords))
        for item in nodes(given, ast.Name)
    }
    for statement, then in itertools.pairwise(getattr(line.scope, "body", [])):
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        stored = [item.id for target in targets if isinstance(target, ast.Tuple) for item in nodes(target, ast.Name)]
        read = {item.id for item in nodes(line.scope, ast.Name) if isinstance(item.ctx, ast.Load)}
        shapes = {name: line.specs[name].shape or () for name in stored if name in line.specs and name in read}
        columns = [name for name, shape in shapes.items() if len(shape) == 2 and shape[1] == 1 and shape[0] != 1 and name not in fed]
        if len(columns) > 1:
            yield columns, then


def behind_the_fed(evidence: Evidence, finding: Finding) -> Made:
    """The steps behind the first one as labels, where a step feeds all but the last one to the model and compares with all of them."""
    for line in lines_of(evidence)[:1]:
        above = parents(line.source.tree)
        fed = {item.value.id for item in nodes(line.scope, ast.Subscript) if isinstance(item.value, ast.Name) and _but_last(item.slice)}
        for name in sorted(fed):
            loads = [item for item in nodes(line.scope, ast.Name) if item.id == name and isinstance(item.ctx, ast.Load)]
            whole = [
                item
                for item in loads
                if not isinstance(above.get(item), (ast.Subscript, ast.Attribute)) and item.lineno >= line.raised.line
            ]
            if whole and any(item in list(nodes(line.node or line.scope, ast.Name)) for item in whole):
                yield (
                    f"Compare with the next step of each: {name}[:, 1:] instead of {name} from line {whole[0].lineno}",
                    [line.edit(item, f"{name}[:, 1:]") for item in whole],
                    f"The model is fed {name}[:, :-1], so each of its steps predicts the step after it.",
                )


def _but_last(index: ast.expr) -> bool:
    """Whether an index is ``[:, :-1]``."""
    return ast.unparse(index).replace(" ", "").strip("()") == ":,:-1"
