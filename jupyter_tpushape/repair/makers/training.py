"""Candidates for what a training step changes: weights that no gradient reaches, gradients, updates, layers of no model, and how the loss is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding, Shape
from ...flow.syntax import called
from ...rules.facts.lines import NoGradient
from ...rules.facts.loss_silent import LossOrder
from ...rules.facts.tpu_steps import GradientScale
from ...rules.facts.training import NeverTrained, OutsideModel, Resting, SumOfShares, UpdateRefused, ZeroProduct
from ..edits import Edit
from ..edits.expression import MODULE
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Fix, Made, of
from .line import Line, assigned_to, calls_at, lines_at, lines_of, short, span_of

# The initializer of the first factor of Keras's own low-rank adapters.
_RANDOM = '"he_uniform"'
_ZEROS = ("'zeros'", "'zero'", "'Zeros'")


@of(ZeroProduct)
def random_factor(evidence: Evidence, finding: Finding, fact: ZeroProduct) -> Made:
    """Random values for the first of the factors that the class creates."""
    for line in lines_at(evidence, finding.location)[:1]:
        for attribute, initializer in list(_made(line, fact.weights))[:1] if len(fact.weights) > 1 else ():
            yield (
                f"Initialize {attribute} with he_uniform at line {initializer.lineno}",
                [line.edit(initializer, _RANDOM)],
                "The product still starts at zero, and the other factor gets a gradient.",
            )


def _made(line: Line, names: tuple[str, ...]) -> Iterator[tuple[str, ast.expr]]:
    """The weights of these names that the class around a line creates as zeros: the attribute, and the expression of the initializer."""
    for item in nodes(line.owner(), ast.Assign):
        call, attribute = item.value, ast.unparse(item.targets[0])
        if isinstance(call, ast.Call) and called(call) == "add_weight":
            name, initializer = argument(call, "name", []), argument(call, "initializer", ["shape", "initializer"])
            known = name.value if isinstance(name, ast.Constant) else attribute.removeprefix("self.")
            if initializer is not None and known in names and ast.unparse(initializer) in _ZEROS:
                yield attribute, initializer


@of(NeverTrained)
def by_probability(evidence: Evidence, finding: Finding, fact: NeverTrained) -> Made:
    """A one-hot choice times the probabilities that it is chosen from."""
    for line in lines_at(evidence, finding.location)[:1] if fact.step.op == "ArgMax" else ():
        for call in nodes(line.scope, ast.Call):
            chosen = assigned_to(line, call.args[0]) if call.args and isinstance(call.args[0], ast.Name) else next(iter(call.args), None)
            if called(call) != "one_hot" or not isinstance(chosen, ast.Call) or called(chosen) != "argmax" or not chosen.args:
                continue
            scores, axis = chosen.args[0], argument(chosen, "axis", ["x", "axis"])
            made = assigned_to(line, scores) if isinstance(scores, ast.Name) else scores
            inside = chosen.lineno <= line.raised.line <= (chosen.end_lineno or 0)
            if inside and isinstance(made, ast.Call) and called(made) == "softmax" and axis is not None and ast.unparse(axis) == "-1":
                yield (
                    f"Scale {called(call)} by {ast.unparse(scores)} at line {call.lineno}",
                    [line.edit(call, f"{line.source.of(call)} * {line.source.of(scores)}")],
                    "What is chosen is then weighted by its probability, which gets a gradient.",
                )


@of(SumOfShares)
def summed_with_values(evidence: Evidence, finding: Finding, fact: SumOfShares) -> Made:
    """The letters of an einsum, so that what is weighted is summed along the axis of the weights."""
    shapes = [edge.spec.shape or () for edge in evidence.flow.edges if edge.target == finding.nodes[-1]]
    for line in lines_at(evidence, finding.location)[:1]:
        for call in nodes(line.scope, ast.Call):
            text = call.args[0] if called(call) == "einsum" and call.lineno == line.raised.line and len(call.args) == 3 else None
            if not isinstance(text, ast.Constant) or not isinstance(text.value, str) or "." in text.value:
                continue
            left, _, gives = text.value.replace(" ", "").partition("->")
            terms = left.split(",")
            said = dict.fromkeys(_with_letter(terms, gives, shapes))
            if len(said) == 1:
                new = f"{','.join(next(iter(said)))}->{gives}"
                yield (
                    f'Sum the values along the axis of the weights at line {call.lineno}: "{new}"',
                    [line.edit(text, f'"{new}"')],
                    "Each result is then the weighted mean of the values.",
                )


def _with_letter(terms: list[str], gives: str, shapes: list[Shape]) -> Iterator[tuple[str, ...]]:
    """The terms with a letter that only one of them has in the other's as well, instead of one for an axis of that size."""
    if len(terms) != 2 or sorted(map(len, terms)) != sorted(map(len, shapes)):
        return
    for i, (term, other) in enumerate((terms, terms[::-1])):
        sizes = next((dict(zip(term, shape, strict=True)) for shape in shapes if len(shape) == len(term)), {})
        for letter in set(term) - set(other) - set(gives):
            for old in [one for one in other[1:] if one in term and one in gives and sizes.get(one) == sizes.get(letter)]:
                made = (term, other.replace(old, letter))
                yield made if i == 0 else made[::-1]


@of(NoGradient)
def watched(evidence: Evidence, finding: Finding, fact: NoGradient) -> Made:
    """A tape that watches the tensor that a gradient is taken by."""
    for line in lines_of(evidence) if not fact.watched else ():
        for block in nodes(line.scope, ast.With):
            names = [ast.unparse(item.optional_vars) for item in block.items if item.optional_vars is not None]
            if fact.tape in names:
                text = f"{fact.tape}.watch({fact.source})"
                yield (
                    f"Watch {fact.source}: {text} at line {block.body[0].lineno}",
                    [line.before(block.body[0], text)],
                    "The tape then records what is computed from it.",
                )


@of(NoGradient)
def watched_whole(evidence: Evidence, finding: Finding, fact: NoGradient) -> Made:
    """The gradient by the tensor that a part was taken of, and that part of it."""
    for line in lines_of(evidence)[:1] if fact.watched else ():
        part = assigned_to(line, ast.Name(fact.source))
        watches = [call for call in nodes(line.scope, ast.Call) if ast.unparse(call) == f"{fact.tape}.watch({fact.source})"]
        taken = [
            call
            for call in nodes(line.scope, ast.Call)
            if ast.unparse(call.func) == f"{fact.tape}.gradient" and len(call.args) == 2 and ast.unparse(call.args[1]) == fact.source
        ]
        if not isinstance(part, ast.Subscript) or len(watches) != 1 or len(taken) != 1:
            continue
        whole, index = ast.unparse(part.value), line.source.of(part)[len(line.source.of(part.value)) :]
        yield (
            f"Take the gradient with respect to {whole} at line {taken[0].lineno}, and keep {index} of it",
            [line.edit(watches[0].args[0], whole), line.edit(taken[0], f"{ast.unparse(taken[0].func)}({ast.unparse(taken[0].args[0])}, {whole}){index}")],
            f"{fact.target} is computed from {whole}.",
        )


_UPDATES = ("apply_gradients", "apply")


def _updates(evidence: Evidence, finding: Finding) -> Iterator[tuple[Line, ast.Call]]:
    for line in lines_at(evidence, finding.location)[:1]:
        calls = [call for call in line.around(ast.Call) if called(call) in _UPDATES and isinstance(call.func, ast.Attribute) and call.args]
        yield from ((line, call) for call in calls if len(calls) == 1)


def _two(call: ast.Call) -> list[ast.expr]:
    given = call.args[0]
    if called(call) == "apply":
        return [*call.args[:2], *(word.value for word in call.keywords if word.arg == "trainable_variables")]
    if isinstance(given, ast.Call) and called(given) == "zip":
        return given.args
    return listed if isinstance(given, (ast.Tuple, ast.List)) and len(listed := given.elts) == 2 else [given]


@of(UpdateRefused)
def exchanged(evidence: Evidence, finding: Finding, fact: UpdateRefused) -> Made:
    """The gradients and the variables in each other's place."""
    for line, call in _updates(evidence, finding) if fact.how == "exchanged" else ():
        two = _two(call)
        if len(two) == 2:
            yield (f"Swap {short(two[0])} and {short(two[1])} at line {call.lineno}", line.swap(*two), "The gradient comes before its variable.")


@of(UpdateRefused)
def paired(evidence: Evidence, finding: Finding, fact: UpdateRefused) -> Made:
    """The gradients with the variables that the tape derived by."""
    if fact.how in ("exchanged", "unknown", "loss", "model"):
        return
    for line, call in _updates(evidence, finding):
        two = _two(call)
        names = {ast.unparse(one) for one in two}
        derived = [
            (ast.unparse(item.targets[0]), argument)
            for item in nodes(line.scope, ast.Assign)
            if item.lineno < call.lineno and called(item.value) == "gradient" and isinstance(item.value, ast.Call)
            for argument in [_sources(item.value)]
            if argument is not None
        ]
        found = next(((name, sources) for name, sources in reversed(derived) if name in names), derived[-1] if derived else None)
        if found is None:
            continue
        name, sources = found[0], ast.unparse(found[1])
        others = [_variables(one) for one in nodes(line.scope, ast.Call) if called(one) in _UPDATES and one is not call and one.args]
        mine = _variables(call)
        if sources in others and mine not in (*others, sources, ""):
            yield (
                f"Compute {name} for {mine} at line {found[1].lineno}, instead of {sources}",
                [line.edit(found[1], mine)],
                f"Another update already changes {sources}.",
            )
        new = f"{name}, {sources}" if called(call) == "apply" else f"zip({name}, {sources})"
        yield (
            f"Use {new} at line {call.lineno}: the variables for which {name} was computed",
            [line.edit(call, f"{ast.unparse(call.func)}({new})")],
            "Each gradient is then paired with its own variable.",
        )


def _variables(call: ast.Call) -> str:
    two = _two(call)
    return ast.unparse(two[1]) if len(two) == 2 else ""


def _sources(call: ast.Call) -> ast.expr | None:
    named = [word.value for word in call.keywords if word.arg == "sources"]
    return call.args[1] if len(call.args) > 1 else named[0] if named else None


@of(UpdateRefused)
def inside_tape(evidence: Evidence, finding: Finding, fact: UpdateRefused) -> Made:
    """The statements that make the loss inside the block of its tape."""
    for line in lines_at(evidence, finding.location)[:1] if fact.how in ("loss", "model") else ():
        asked = next((one for one in line.around(ast.Call) if called(one) == "gradient" and isinstance(one.func, ast.Attribute)), None)
        if asked is None or not asked.args or not isinstance(asked.func, ast.Attribute):
            continue
        block, wanted, before = _block(line, ast.unparse(asked.func.value)), {ast.unparse(asked.args[0])}, fact.how == "model"
        holders = [line.scope, *nodes(line.scope, ast.stmt)]
        body = next((body for one in holders if isinstance(body := getattr(one, "body", None), list) and block in body), None)
        if block is None or body is None:
            continue
        at = body.index(block)
        if before:
            wanted = {one.id for inner in block.body for one in nodes(inner, ast.Name)}
        beside = body[:at] if before else [one for one in body[at + 1 :] if one.end_lineno < asked.lineno]
        made = [place for place, one in enumerate(beside) if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) in wanted]
        if made:
            yield _moved(line, block, beside[made[-1] :] if before else beside[: made[-1] + 1], before=before)


@of(GradientScale)
def averaged(evidence: Evidence, finding: Finding, fact: GradientScale) -> Made:
    """Each loss of a step divided by the number of replicas, for its gradient alone."""
    asked = [evidence.flow.node(name).called for name in finding.nodes if _applied(evidence, name)]
    if fact.by or fact.times != fact.replicas:
        return
    edits: list[Edit] = []
    ends: dict[tuple[int, ...], tuple[Line, ast.stmt, list[str]]] = {}
    for line, call in (one for place in dict.fromkeys(asked) for one in calls_at(evidence, place, "gradient", "minimize")):
        tape = line.keyword("tape") if called(call) == "minimize" else call.func.value if isinstance(call.func, ast.Attribute) else None
        block = _block(line, ast.unparse(tape)) if tape is not None else None
        loss = call.args[0] if call.args else None
        if block is None or not isinstance(loss, ast.Name) or not (block.end_lineno or 0) < call.lineno:
            return
        scaled = f"scaled_{loss.id} = {loss.id} / {MODULE}.distribute.get_strategy().num_replicas_in_sync"
        ends.setdefault(tuple(span_of(block)), (line, block.body[-1], []))[2].append(scaled)
        edits.append(line.edit(loss, f"scaled_{loss.id}"))
    for line, last, made in ends.values():
        edits.append(line.edit(last, f"\n{line.source.indent(last)}".join([line.source.of(last), *dict.fromkeys(made)]), "tensorflow"))
    if edits:
        yield ("Divide the loss by the number of replicas, for the gradient", edits, "The sum over the replicas is then the gradient of the batch's mean.")


def _applied(evidence: Evidence, gradient: str) -> bool:
    pending = [gradient]
    for name in pending:
        after = [evidence.flow.node(edge.target) for edge in evidence.flow.out_of(name)]
        if any(node.op.endswith(".apply_gradients") for node in after):
            return True
        pending += [node.id for node in after if node.op != "GradientTape.gradient" and node.id not in pending]
    return False


def _block(line: Line, tape: str) -> ast.With | None:
    found = [
        one
        for one in nodes(line.scope, ast.With)
        if one.lineno <= line.raised.line and any(item.optional_vars and ast.unparse(item.optional_vars) == tape for item in one.items)
    ]
    return max(found, key=lambda one: one.lineno) if found else None


def _moved(line: Line, block: ast.With, moved: list[ast.stmt], before: bool) -> Fix:
    source = line.source
    pad, deeper = source.indent(block.body[0]), source.indent(block.body[0])[len(source.indent(block)) :]
    texts = [source.of(one).replace("\n", f"\n{deeper}") for one in moved]
    last = block.body[-1]
    put = line.before(block.body[0], f"\n{pad}".join(texts)) if before else line.edit(last, f"\n{pad}".join([source.of(last), *texts]))
    lines = f"line {moved[0].lineno}" if len(moved) == 1 else f"lines {moved[0].lineno} to {moved[-1].lineno}"
    return f"Move {lines} into the block of the tape", [put, *map(line.removed, moved)], "The tape then records it."


@of(UpdateRefused)
def built_for_all(evidence: Evidence, finding: Finding, fact: UpdateRefused) -> Made:
    """An optimizer that several updates share, built for all weights of the model before the first of them."""
    for line, call in _updates(evidence, finding) if fact.how == "unknown" and evidence.framework == "keras" else ():
        assert isinstance(call.func, ast.Attribute)
        optimizer = ast.unparse(call.func.value)
        first = [
            item
            for item in nodes(line.scope, ast.Expr)
            if called(item.value) in _UPDATES
            and isinstance(item.value, ast.Call)
            and isinstance(item.value.func, ast.Attribute)
            and ast.unparse(item.value.func.value) == optimizer
        ]
        body = line.scope.body if isinstance(line.scope, ast.FunctionDef) else []
        start = next((item for item in body if not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))), None)
        if start is None or len(first) < 2 or not optimizer.startswith("self."):
            continue
        indent = line.source.indent(start)
        text = f"if not {optimizer}.built:\n{indent}    {optimizer}.build(self.trainable_variables)"
        yield (
            f"Build {optimizer} for all weights of the model, before line {start.lineno}",
            [line.before(start, text)],
            "It then updates each of them, whichever comes first.",
        )


@of(Resting)
def in_training(evidence: Evidence, finding: Finding, fact: Resting) -> Made:
    """The call of the model with ``training=True``."""
    for line in lines_at(evidence, fact.model.called)[:1]:
        objects = [
            call
            for call in line.around(ast.Call)
            if ast.unparse(call.func) == "self" or (isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "self")
        ]
        calls = [call for call in objects if not any(word.arg in ("training", None) for word in call.keywords)]
        if calls:
            whose = ", ".join(dict.fromkeys(ast.unparse(call.func) for call in calls))
            yield (
                f"Pass training=True to {whose} at line {calls[0].lineno}",
                [line.more(call, "training=True") for call in calls],
                "Its layers then work as in training.",
            )


@of(OutsideModel)
def held_as_well(evidence: Evidence, finding: Finding, fact: OutsideModel) -> Made:
    """The layers that an object of a plain class holds, in a list that the model holds as well."""
    where = [evidence.flow.node(name).location for name in finding.nodes]
    made = {(one.file, one.line) for one in where if one is not None}
    for line in lines_at(evidence, where[0])[:1] if len({file for file, _ in made}) == 1 else ():
        for cls in (item for item in nodes(line.source.tree, ast.ClassDef) if not item.bases):
            held = [item for item in nodes(cls, ast.Assign) if any(item.lineno <= at <= (item.end_lineno or 0) for _, at in made)]
            names = [ast.unparse(item.targets[0]) for item in held]
            objects = [item for item in nodes(line.source.tree, ast.Assign) if called(item.value) == cls.name]
            found = {at for _, at in made for item in held if item.lineno <= at <= (item.end_lineno or 0)}
            target = ast.unparse(objects[0].targets[0]) if len(objects) == 1 else ""
            if len(found) != len(made) or not target.startswith("self.") or not all(name.startswith("self.") for name in names):
                continue
            layers = ", ".join(name.replace("self", target, 1) for name in names)
            text = f"{line.source.of(objects[0])}\n{' ' * objects[0].col_offset}{target}_layers = [{layers}]"
            yield (
                f"Store the layers of {target} in a list of the model, at line {objects[0].lineno}",
                [line.edit(objects[0], text)],
                "A model tracks the layers in its attributes and in lists of them, but not those in other objects.",
            )


@of(OutsideModel)
def function_itself(evidence: Evidence, finding: Finding, fact: OutsideModel) -> Made:
    """The function that a layer wraps, called on what the layer is called on."""
    caller = fact.caller
    if caller is None:
        return
    for line in lines_at(evidence, caller.called)[:1]:
        wraps = [call.func for call in line.around(ast.Call) if isinstance(call.func, ast.Call) and called(call.func) == caller.op]
        for wrap in wraps if len(wraps) == 1 else ():
            given = wrap.args[0] if wrap.args else next((one.value for one in wrap.keywords if one.arg == "function"), None)
            if given is None or any(isinstance(one, ast.Starred) for one in nodes(wrap, ast.Starred)):
                continue
            text = ast.unparse(given)
            yield (
                f"Call the function itself instead of {caller.op} at {line.at}",
                [line.edit(wrap, f"({text})" if isinstance(given, ast.Lambda) else text)],
                "The model then contains the layers that the function calls.",
            )


@of(LossOrder)
def in_its_order(evidence: Evidence, finding: Finding, fact: LossOrder) -> Made:
    """The two arguments in each other's place, where every loss that the line calls has them exchanged."""
    for line in lines_at(evidence, finding.location)[:1] if fact.count else ():
        by_name: dict[str, list[ast.Call]] = {}
        for call in line.around(ast.Call):
            if len(call.args) >= 2 and not any(isinstance(one, ast.Starred) for one in call.args[:2]):
                by_name.setdefault(ast.unparse(call.func), []).append(call)
        for name, calls in by_name.items():
            if len(calls) == fact.count:
                yield (
                    f"Swap the first two arguments of {name} at line {calls[0].lineno}",
                    [edit for call in calls for edit in line.swap(call.args[0], call.args[1])],
                    "Keras losses take the labels first.",
                )
