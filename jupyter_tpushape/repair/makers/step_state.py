"""Candidates for variables that a training step of the model's own uses beside its state: those of a seed, or of a second optimizer."""

from __future__ import annotations

import ast

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.calls import ReadOutside
from ...rules.facts.mesh import VariableGiven
from ...rules.facts.stateless import OptimizerBeside, StateDropped, StateMisplaced
from ..edits import Edit
from ..text.source import free_name, nodes, parents, statement_of
from .edits import Made, of
from .line import Line, lines_at, listed
from .steps import groups, stateless


@of(ReadOutside)
def drawn_in_scope(evidence: Evidence, finding: Finding, fact: ReadOutside) -> Made:
    """Random numbers drawn where the seed has its value from the state, and the state with its new one."""
    for line, step in _steps(evidence, finding):
        state = groups(step)
        draws = [one for one in line.around((ast.Assign,), step) if any(word.arg == "seed" for word in _words(one))]
        for statement in draws[-1:]:
            text = stateless(line.source.of(statement), line.source.indent(statement), state[1])
            yield (
                f"Use the seed's value from the state at line {statement.lineno}",
                [line.edit(statement, text, "keras")],
                f"{state[1]} then holds the seed's next value, and the step returns it.",
            )


@of(StateDropped)
def kept_in_part(evidence: Evidence, finding: Finding, fact: StateDropped) -> Made:
    """What stateless_call returns in a method that the step derives, under the name that the method was given it by, and returns."""
    for line in lines_at(evidence, finding.location)[:1]:
        for part in nodes(line.owner(), ast.FunctionDef):
            back = {name.id for end in nodes(part, ast.Return) if end.value is not None for name in nodes(end.value, ast.Name)}
            loaded = {name.id for name in nodes(part, ast.Name) if isinstance(name.ctx, ast.Load)}
            for item in nodes(part, ast.Assign) if part is not line.scope else ():
                call, names = item.value, listed(item.targets[0])
                if not isinstance(call, ast.Call) or called(call) != "stateless_call" or len(call.args) < 2 or len(names) != 2:
                    continue
                given, new = call.args[1], names[1]
                if isinstance(given, ast.Name) and isinstance(new, ast.Name) and given.id in back and new.id not in loaded:
                    yield (
                        f"Store the new values as {given.id} at line {new.lineno}",
                        [line.edit(new, given.id)],
                        f"{part.name} returns them to the step, and fit stores what the step returns.",
                    )


@of(StateMisplaced)
def groups_apart(evidence: Evidence, finding: Finding, fact: StateMisplaced) -> Made:
    """The group of that name out of the three that stateless_compute_loss returns beside the loss."""
    for line in lines_at(evidence, finding.location)[:1]:
        for item in nodes(line.owner(), ast.Assign):
            call, names = item.value, listed(item.targets[0])
            if not isinstance(call, ast.Call) or called(call) != "stateless_compute_loss" or len(names) != 2 or not isinstance(names[1], ast.Name):
                continue
            given = [ast.unparse(one) for one in call.args[:3]]
            if names[1].id in given:
                parts = [name if name == names[1].id else "_" for name in given]
                yield (
                    f"Take {names[1].id} out of the state that stateless_compute_loss returns at line {item.lineno}: ({', '.join(parts)})",
                    [line.edit(names[1], f"({', '.join(parts)})")],
                    "It returns the loss, and a tuple of the trainable, the non-trainable and the metrics variables.",
                )


def _words(statement: ast.Assign) -> list[ast.keyword]:
    return [word for call in nodes(statement, ast.Call) for word in call.keywords]


@of(VariableGiven)
def weights_of_state(evidence: Evidence, finding: Finding, fact: VariableGiven) -> Made:
    """The values of the weights in the state of a step."""
    for line, step in _steps(evidence, finding):
        state = groups(step)
        own = [
            item
            for call in nodes(step, ast.Call)
            for item in call.args
            if ast.unparse(item) == "self.trainable_variables" and called(call) not in ("zip", "list", "len", "build")
        ]
        if own and state:
            yield (
                f"Use {state[0]}, the values in the state, at line {own[0].lineno}",
                [line.edit(item, state[0]) for item in own],
                "Gradients are taken of arrays, and the state holds the values of the weights.",
            )


@of(OptimizerBeside)
def in_the_state(evidence: Evidence, finding: Finding, fact: OptimizerBeside) -> Made:
    """The variables of a second optimizer as variables of the model."""
    for line, step in _steps(evidence, finding):
        tree, of_ = line.source.tree, line.source.of
        applied = [one for one in line.around((ast.Assign,), step) if called(one.value) == "stateless_apply"]
        builds = [
            one
            for one in nodes(tree, ast.Call)
            if called(one) == "build"
            and isinstance(one.func, ast.Attribute)
            and isinstance(one.func.value, ast.Attribute)
            and one.func.value.attr == fact.attribute
        ]
        call = applied[-1].value if applied else None
        target = applied[-1].targets[0] if applied else None
        owner = line.owner()
        if (
            not isinstance(call, ast.Call)
            or len(call.args) != 3
            or not isinstance(target, ast.Tuple)
            or len(target.elts) != 2
            or len(builds) != 1
            or not isinstance(owner, ast.ClassDef)
        ):
            continue
        first = builds[0]
        built = statement_of(parents(tree), first)
        if not isinstance(built, ast.Expr) or built.value != first:
            continue
        optimizer: ast.expr = first.func
        rest = groups(step)[1]
        assert isinstance(optimizer, ast.Attribute) and isinstance(optimizer.value, ast.Attribute)
        name = free_name(owner, f"{fact.attribute}_variables")
        held = f"{of_(optimizer.value.value)}.{name} = [*{of_(optimizer.value)}.variables]"
        taken = {one.id for one in nodes(step, ast.Name)}
        known = next(one for one in ("known", "values", "known_values") if one not in taken)
        new = of_(target.elts[1]) if isinstance(target.elts[1], ast.Name) and of_(target.elts[1]) != "_" else "slots"
        pad = f"\n{line.source.indent(applied[-1])}"
        text = pad.join(
            (
                f"{known} = dict(zip(map(id, self.non_trainable_variables), {rest}))",
                f"{of_(target.elts[0])}, {new} = {of_(call.func)}([{known}[id(one)] for one in self.{name}], {of_(call.args[1])}, {of_(call.args[2])})",
                f"{known}.update(zip(map(id, self.{name}), {new}))",
                f"{rest} = list({known}.values())",
            )
        )
        edits = [line.edit(built, f"{of_(built)}\n{line.source.indent(built)}{held}"), line.edit(applied[-1], text), *_needless(line, step, call.args[0])]
        yield (
            f"Keep the variables of {fact.attribute} in the model: self.{name}, in {rest} of the state",
            edits,
            "Each step then starts from what the last one returned.",
        )


@of(StateDropped)
def out_of_gradient(evidence: Evidence, finding: Finding, fact: StateDropped) -> Made:
    """The new values of the model's state beside the loss."""
    for line, step in _steps(evidence, finding):
        held = groups(step)[1]
        functions = {one.name: one for one in nodes(line.owner(), ast.FunctionDef) if one is not step}
        for taken in [one for one in nodes(step, ast.Call) if called(one) in ("grad", "value_and_grad") and one.args]:
            given = taken.args[0]
            method = isinstance(given, ast.Attribute) and ast.unparse(given.value) == step.args.args[0].arg
            name = given.attr if isinstance(given, ast.Attribute) and method else given.id if isinstance(given, ast.Name) else ""
            inner, target = functions.get(name), _result_of(step, taken)
            aux = any(word.arg == "has_aux" for word in taken.keywords)
            back = [one.value for one in nodes(inner, ast.Return) if one.value is not None] if inner is not None else []
            calls = [one for one in nodes(inner, ast.Assign) if called(one.value) == "stateless_call"] if inner is not None else []
            thrown = calls[0].targets[0].elts[-1] if len(calls) == 1 and isinstance(calls[0].targets[0], ast.Tuple) else None
            if aux or inner is None or target is None or len(back) != 1 or isinstance(back[0], ast.Tuple) or not isinstance(thrown, ast.Name):
                continue
            # The function reads the old values by their name, which therefore stays theirs there.
            new = thrown.id if thrown.id not in ("_", held) else free_name(inner, f"new_{held}")
            loss = target.elts[0] if called(taken) == "value_and_grad" and isinstance(target, ast.Tuple) else target
            both = f"({line.source.of(loss)}, {held})" if loss is not target else f"{line.source.of(loss)}, {held}"
            yield (
                f"Return the new {held} from {name}, and store them: has_aux=True in {called(taken)} at line {taken.lineno}",
                [
                    *([line.edit(thrown, new)] if new != thrown.id else []),
                    line.edit(back[0], f"{line.source.of(back[0])}, {new}"),
                    line.more(taken, "has_aux=True"),
                    line.edit(loss, both),
                ],
                "fit stores what the step returns in the variables.",
            )


@of(StateDropped)
def beside_loss(evidence: Evidence, finding: Finding, fact: StateDropped) -> Made:
    """The new values beside what the differentiated function of a loop of the program's own returns, under the name that the step returns."""
    for line in lines_at(evidence, finding.location)[:1] if finding.location is not None else ():
        tree, of_ = line.source.tree, line.source.of
        functions = {one.name: one for one in nodes(tree, ast.FunctionDef)}
        step = functions.get(fact.step)
        for taken in [one for one in nodes(tree, ast.Call) if step is not None and called(one) in ("grad", "value_and_grad") and one.args]:
            assert step is not None
            inner = functions.get(of_(taken.args[0]))
            names = [of_(one) for item in nodes(tree, ast.Assign) if item.value is taken for one in item.targets]
            ran = [item for item in nodes(step, ast.Assign) if isinstance(item.value, ast.Call) and (item.value.func is taken or of_(item.value.func) in names)]
            calls = [one for one in nodes(inner, ast.Assign) if called(one.value) == "stateless_call"] if inner is not None else []
            back = [one.value for one in nodes(inner, ast.Return)] if inner is not None else []
            if inner is None or len(ran) != 1 or len(calls) != 1 or len(back) != 1 or back[0] is None:
                continue
            forward, run, target = calls[0].value, ran[0].value, ran[0].targets[0]
            thrown, result = listed(calls[0].targets[0])[1:], listed(target)
            assert isinstance(forward, ast.Call) and isinstance(run, ast.Call)
            given = of_(forward.args[1]) if len(forward.args) > 1 else ""
            place = next((i for i, one in enumerate(inner.args.args) if one.arg == given), len(run.args))
            held = of_(run.args[place]) if place < len(run.args) else ""
            if len(thrown) != 1 or not isinstance(thrown[0], ast.Name) or not held.isidentifier() or len(result) != 2:
                continue
            new = thrown[0].id if thrown[0].id != "_" else free_name(inner, f"new_{given}")
            renamed = [line.edit(thrown[0], new)] if new != thrown[0].id else []
            aux = any(word.arg == "has_aux" for word in taken.keywords)
            first, kept = result[0] if called(taken) == "value_and_grad" else target, listed(back[0])
            pair = listed(first)
            if aux and len(pair) == len(kept) == 2:
                edits = [line.edit(kept[1], f"({of_(kept[1])}, {new})"), line.edit(pair[1], f"({of_(pair[1])}, {held})")]
            elif not aux and not kept and called(taken) == "value_and_grad":
                edits = [line.edit(back[0], f"{of_(back[0])}, {new}"), line.more(taken, "has_aux=True"), line.edit(first, f"({of_(first)}, {held})")]
            else:
                continue
            yield (
                f"Return the new {held} from {inner.name}, and store them in {fact.step}",
                [*renamed, *edits],
                f"{fact.step} then returns the new values with its state.",
            )


def _result_of(step: ast.FunctionDef, taken: ast.Call) -> ast.expr | None:
    for item in nodes(step, ast.Assign):
        if item.value is taken:
            named = [ast.unparse(target) for target in item.targets]
            results: list[ast.expr] = [
                one.targets[0] for one in nodes(step, ast.Assign) if isinstance(one.value, ast.Call) and [ast.unparse(one.value.func)] == named
            ]
            return results[0] if len(results) == 1 else None
        if isinstance(item.value, ast.Call) and item.value.func is taken:
            target: ast.expr = item.targets[0]
            return target
    return None


def _needless(line: Line, step: ast.FunctionDef, given: ast.expr) -> list[Edit]:
    """The statement that gave a name its values, which nothing else reads: they are variables that only the state has."""
    if not isinstance(given, ast.Name):
        return []
    made = [one for one in nodes(step, ast.Assign) if [ast.unparse(target) for target in one.targets] == [given.id]]
    read = [one for one in nodes(step, ast.Name) if one.id == given.id and isinstance(one.ctx, ast.Load)]
    if len(made) != 1 or len(read) != 1:
        return []
    return [line.removed(made[0])]


def _steps(evidence: Evidence, finding: Finding) -> list[tuple[Line, ast.FunctionDef]]:
    found = []
    for line in lines_at(evidence, finding.location)[:1]:
        step = next((one for one in line.around(ast.FunctionDef) if one.name == "train_step"), None)
        if step is not None and len(step.args.args) == 3 and groups(step):
            found.append((line, step))
    return found
