"""Candidates for an argument of another form: several in one, one number for a tuple, a class that nothing has made."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...examine.heard import hear
from ...examine.heard_lines import HeardWords
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.calls import ClassForObject, NothingReturned, PartsApart
from ...rules.facts.contracts import Apart
from ..text.source import class_of, method_of, nodes
from .edits import Made, of
from .line import Line, calls_at, lines_at, lines_of, short


@of(Apart)
def in_one(evidence: Evidence, finding: Finding, fact: Apart) -> Made:
    """What came one by one, as one list or tuple."""
    many, form, ends = len(fact.given), *(("tuple", "()") if fact.what == "sizes" else ("list", "[]"))
    for line in lines_of(evidence) or lines_at(evidence, finding.location):
        call = line.node
        if not isinstance(call, ast.Call) or len(call.args) < many or ast.unparse(call.func) != fact.function:
            continue
        given = _given(line, call)
        together = f"{ends[0]}{', '.join(given[:many])}{ends[1]}"
        # Axis 0, where none is written, is the batch.
        for axis in [[], ["axis=-1"]][: 1 + (fact.axis and len(given) == many)]:
            yield (
                f"Pass the {many} {fact.what} as one {form} at {', '.join([line.at, *axis])}",
                [line.edit(call, f"{line.source.of(call.func)}({', '.join([together, *given[many:], *axis])})")],
                f"Only the first argument is for {fact.what}.",
            )
        return


def along_last(evidence: Evidence, finding: Finding) -> Made:
    """The last axis for tensors that are joined along none that is written."""
    for line, call in calls_at(evidence, finding.location, "concat", "concatenate"):
        if len(call.args) == 1 and not any(word.arg == "axis" for word in call.keywords):
            yield (
                f"Concatenate along the last axis at {line.at}: axis=-1",
                [line.more(call, "axis=-1")],
                "Without an axis, tensors are joined along the batch.",
            )


def _given(line: Line, call: ast.Call) -> list[str]:
    return [*map(line.source.of, call.args), *(f"{word.arg}={line.source.of(word.value)}" for word in call.keywords)]


def words_said(evidence: Evidence) -> frozenset[str]:
    """The words of the failure."""
    heard = hear(evidence.failed.failure, HeardWords) if evidence.failed is not None else None
    return heard.words if heard is not None else frozenset()


def in_other_form(evidence: Evidence, finding: Finding) -> Made:
    """The argument that the error names, in another form."""
    said = words_said(evidence)
    for line in lines_of(evidence)[:1]:
        for call in nodes(line.node, ast.Call) if line.node is not None else ():
            yield from _settings(line, call, said)
            placed = [one for arg in call.args for one in (arg.elts if isinstance(arg, ast.List) else [arg])]
            for name, given in [*(("", one) for one in placed), *((word.arg or "", word.value) for word in call.keywords)]:
                for new in _forms(line, given, name, said):
                    yield (
                        f"Pass {new} instead of {short(given)}{f' as {name}' if name else ''} at {line.at}",
                        [line.edit(given, new)],
                        "The error names this argument.",
                    )


@of(PartsApart)
def as_fit_passes(evidence: Evidence, finding: Finding, fact: PartsApart) -> Made:
    """The parts that the data has, for the names that the step has for them."""
    for line in lines_at(evidence, finding.location):
        for taken in nodes(line.scope, ast.Assign):
            target = taken.targets[0]
            names = [item.id for item in nodes(target, ast.Name) if item.id != "_"] if ast.unparse(target) == fact.target else []
            lacks = len(fact.given) - len(names)
            if not fact.given or not names or abs(lacks) > 1:
                continue
            losses = [
                call
                for call in nodes(line.scope, ast.Call)
                if called(call) == "compute_loss" and not any(word.arg == "sample_weight" for word in call.keywords)
            ]
            edits = [line.more(call, "sample_weight=sample_weight") for call in losses] if lacks == 1 else []
            given = [*names, *fact.given[len(names) :]]
            new = f"{', '.join(given)} = {fact.data}" if lacks >= 0 else f"{', '.join(names)} = *{fact.data}, None"
            more = "; pass the weights to the loss" if edits else f"; {names[-1]} is None" if lacks < 0 else ""
            if lacks != 1 or edits:
                yield (
                    f"Unpack {', '.join(given[: len(fact.given)])} at line {taken.lineno}{more}",
                    [line.edit(taken, new), *edits],
                    "These are the parts that fit passes.",
                )
        return


@of(NothingReturned)
def returned(evidence: Evidence, finding: Finding, fact: NothingReturned) -> Made:
    """What the last statement of a function computes, returned."""
    for line in lines_at(evidence, finding.location)[:1]:
        last = next((item for item in nodes(line.scope, ast.stmt) if item.lineno == line.raised.line), None)
        if last is None:
            continue
        text = line.source.of(last)
        new = f"return {text}" if isinstance(last, ast.Expr) and ast.unparse(last) == fact.value else f"{text}\n{' ' * last.col_offset}return {fact.value}"
        yield (f"Return {fact.value if len(fact.value) < 30 else 'it'} from {fact.function}", [line.edit(last, new)], "Nothing else is computed after it.")


@of(ClassForObject)
def object_of(evidence: Evidence, finding: Finding, fact: ClassForObject) -> Made:
    """An object of the class where a name was given the class."""
    for line in lines_of(evidence)[:1]:
        held = [one for one in nodes(line.scope, ast.Assign) if fact.name in map(ast.unparse, one.targets)]
        here = line.node.func.value if isinstance(line.node, ast.Call) and isinstance(line.node.func, ast.Attribute) else None
        made = held[-1].value if held else here
        if made is not None:
            yield (f"Create an object at line {made.lineno}: {fact.kind}()", [line.edit(made, f"{ast.unparse(made)}()")], "The class is only called.")


def given_defaults(evidence: Evidence, finding: Finding) -> Made:
    """``None`` for what the call of a layer of the user's own takes and nothing passes to it."""
    failed, said = evidence.failed, words_said(evidence)
    for line in lines_of(evidence)[:1] if failed is not None and "required" in said else ():
        call = method_of(class_of(line.source.tree, failed.op if failed is not None else ""), "call")
        taken = [*call.args.posonlyargs, *call.args.args] if call is not None else []
        bare = [one for one in taken[2 : len(taken) - len(call.args.defaults)] if one.arg in said] if call is not None else []
        if bare:
            names = " and ".join(one.arg for one in bare)
            yield (
                f"Give {names} the default None in {failed.op if failed is not None else ''}.call",
                [line.edit(one, f"{one.arg}=None") for one in bare[::-1]],  # the last first: what lies between is Python as well
                "Keras passes training and mask where it has them.",
            )


def _forms(line: Line, given: ast.expr, name: str, said: frozenset[str]) -> Iterator[str]:
    """An argument as a tuple, as one number, as a number for a text, as an object of a class, or as the layer that was called."""
    text = line.source.of(given)
    try:
        value = ast.literal_eval(given)
    except ValueError:
        value = line.number(given)
    parts = value if isinstance(value, tuple) else (value,)
    told = name in said or type(value).__name__ in said or all(str(one) in said for one in parts)
    if isinstance(value, tuple) and told and len(set(value)) == 1:
        yield repr(value[0])
    elif isinstance(value, str) and told and (value.isdigit() or value != value.strip().lower()):
        yield value if value.isdigit() else f'"{value.strip().lower()}"'
    elif isinstance(value, (int, float)) and told:
        yield str(value / 100) if {"between", "0", "1"} <= said else f"({text},)"
    elif isinstance(given, (ast.Name, ast.Attribute)) and {"class", text.rpartition(".")[2]} <= said:
        yield f"{text}()"
    elif isinstance(given, ast.Call) and isinstance(given.func, ast.Call) and {"Received", "KerasTensor"} <= said:
        yield line.source.of(given.func)


def _settings(line: Line, call: ast.Call, said: frozenset[str]) -> Made:
    made = next((one for one in (call.func, *call.args[:1]) if isinstance(one, ast.Call)), None)
    for word in call.keywords if made is not None else ():
        if made is not None and {"unexpected", "argument", word.arg or ""} <= said:
            one = f"{word.arg}={line.source.of(word.value)}"
            whole = f"{line.source.of(made.func)}({', '.join([*_given(line, made), one])})"
            rest = [text for text in _given(line, call) if text != one]
            new = f"{whole}({', '.join(rest)})" if made is call.func else f"{line.source.of(call.func)}({', '.join([whole, *rest[1:]])})"
            yield f"Pass {one} to {line.source.of(made.func)}", [line.edit(call, new)], "A layer takes its settings when it is created."
