"""Candidates for training steps and metrics on JAX, where a step is a function of its state."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.calls import MetricInCall, NeverUpdated, OverrideLacks, ReadOutside
from ...rules.facts.contracts import CallMisfit, CallRefused
from ...rules.facts.mesh import StepWithoutState
from ...rules.facts.stateless import OptimizerPart, OtherVariables, StateDropped, StateUnchanged, StepReturns
from ..edits import Edit
from ..edits.expression import MODULE
from ..text.arguments import Change
from ..text.source import Source, class_of, method_of, nodes
from .edits import Made, of
from .line import Line, lines_at, lines_of, listed

_STATEFUL = frozenset({"update_state", "result", "reset_state"})
_UNPACK = "unpack_x_y_sample_weight"
_HANDED = "x, y, y_pred, sample_weight"


def _steps(evidence: Evidence, finding: Finding, kind: type | tuple[type, ...], parameters: int = 3) -> Iterator[tuple[Line, ast.FunctionDef]]:
    for line in lines_at(evidence, finding.location)[:1] if isinstance(finding.fact, kind) else []:
        if isinstance(line.scope, ast.FunctionDef) and len(line.scope.args.args) == parameters:
            yield line, line.scope


def _own(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            yield from _own(child)


def _returned(step: ast.FunctionDef) -> list[ast.expr]:
    return [item.value for item in _own(step) if isinstance(item, ast.Return) and item.value is not None]


def _unpacked(step: ast.FunctionDef) -> list[tuple[ast.expr, list[str]]]:
    pairs = [(item.value, item.targets[0]) for item in _own(step) if isinstance(item, ast.Assign)]
    return [(value, [name.id for name in nodes(target, ast.Name)]) for value, target in pairs if isinstance(target, ast.Tuple)]


def stateless(statement: str, indent: str, state: str) -> str:
    """A statement that reads the variables of a state, and writes them."""
    inner, every = statement.replace("\n", "\n    "), "self.non_trainable_variables"
    return f"with {MODULE}.StatelessScope(list(zip({every}, {state}))) as scope:\n{indent}    {inner}\n{indent}{state} = [scope.get_current_value(one) for one in {every}]"


def groups(step: ast.FunctionDef) -> list[str]:
    """The names under which a step unpacks the four groups of its state."""
    state = step.args.args[1].arg
    return next((names for value, names in _unpacked(step) if ast.unparse(value) == state and len(names) == 4), [])


def _used(step: ast.AST, name: str, way: type[ast.expr_context]) -> int:
    return sum(item.id == name and isinstance(item.ctx, way) for item in nodes(step, ast.Name))


def _rewritten(source: Source, node: ast.AST, changes: list[Change]) -> str:
    start, text = source.start(node), source.of(node)
    for at, until, new in sorted(changes, reverse=True):
        text = text[: at - start] + new + text[until - start :]
    return text


def whole_state(evidence: Evidence, finding: Finding) -> Made:
    """The four groups of a step's state given back, with what the optimizer made of them."""
    for line, step in _steps(evidence, finding, (StepReturns, StateUnchanged, StateDropped)):
        names, values, unpacked = groups(step), _returned(step), _unpacked(step)
        calls = [called(call) for call in nodes(step, ast.Call)]
        made = [given for value, given in unpacked if isinstance(value, ast.Call) and called(value) == "stateless_apply"]
        if not names or len(values) != 1 or [len(given) for given in made] != [2]:
            continue
        # New values that nothing reads are those of a group under another name, unless there are several.
        every = {name for value, given in unpacked if isinstance(value, ast.Call) for name in given}
        unread = sorted(name for name in every - {*names, *made[0], "_"} if not _used(step, name, ast.Load))
        old = [_used(step, name, ast.Store) < 2 for name in names]
        dropped = isinstance(finding.fact, StateDropped)
        if ("stateless_update_state" in calls and old[3]) or (old[1] and len(unread) > 1 and not dropped) or (dropped and not unread):
            continue
        given = listed(values[0]) or [values[0]]
        logs = line.source.of(next((one for one in given if isinstance(one, ast.Dict)), given[0]))
        logs = f'{{"loss": {logs}}}' if logs.isidentifier() and "loss" in logs else logs
        for new in unread[:3] if dropped else [unread[0] if old[1] and unread else names[1]]:
            state = f"({', '.join((made[0][0], new, made[0][1], names[3]))})"
            yield (
                f"Return the state after the logs: {state}",
                [line.edit(values[0], f"{logs}, {state}")],
                "fit stores what the step returns in the variables.",
            )


def kept_state(evidence: Evidence, finding: Finding) -> Made:
    """The new values of a group under its own name, where the step throws away what it unpacks."""
    for line, step in _steps(evidence, finding, StateDropped):
        names = groups(step)
        calls = [item for item in _own(step) if isinstance(item, ast.Assign) and isinstance(item.value, ast.Call)]
        thrown = [one for item in calls for one in nodes(item.targets[0], ast.Name) if one.id == "_"]
        if names and len(thrown) == 1:
            yield (
                f"Store the new values as {names[1]} at line {thrown[0].lineno}",
                [line.edit(thrown[0], names[1])],
                "fit stores what the step returns in the variables.",
            )


def updated_metrics(evidence: Evidence, finding: Finding) -> Made:
    """The metrics of compile updated with what a loss of the step compares, before the step returns."""
    for line, step in _steps(evidence, finding, NeverUpdated, 2):
        data = step.args.args[1].arg
        held = [names for value, names in _unpacked(step) if ast.unparse(value) == data or ast.unparse(value).endswith(f"{_UNPACK}({data})")]
        ends = [item for item in _own(step) if isinstance(item, ast.Return)]
        if len(ends) != 1 or not held or len(held[0]) not in (2, 3):
            continue
        x, y, *weight = held[0]
        given = [[ast.unparse(one) for one in (*call.args, *(word.value for word in call.keywords))] for call in nodes(step, ast.Call)]
        after = [names[names.index(y) + 1] for names in given if y in names[:-1]]
        for predicted in [name for name in dict.fromkeys(after) if _used(step, name, ast.Store)]:
            text = f"self.compute_metrics({', '.join([x, y, predicted, *weight])})"
            yield (f"Call {text} at the end of train_step", [line.before(ends[0], text)], "")


@of(OtherVariables)
def split_as_held(evidence: Evidence, finding: Finding, fact: OtherVariables) -> Made:
    """The last variables for the model that is given the first."""
    for line in lines_at(evidence, finding.location)[:1]:
        for item in nodes(line.owner(), ast.Assign):
            pair = item.value.elts if isinstance(item.value, ast.Tuple) else []
            cuts = [one.slice for one in pair if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Slice)]
            if len(pair) != 2 or len(cuts) != 2 or cuts[0].upper is None or cuts[1].lower is None or cuts[0].lower or cuts[1].upper:
                continue
            size, of = ast.unparse(cuts[0].upper), [ast.unparse(one.value) for one in pair if isinstance(one, ast.Subscript)]
            if ast.unparse(cuts[1].lower) == size and size.isidentifier() and of[0] == of[1]:
                edit = line.edit(item.value, f"{of[0]}[-{size}:], {of[0]}[:-{size}]")
                joined = [one for call in nodes(line.owner(), ast.Call) if (one := _joined_for(call, of[0])) is not None]
                if joined:
                    turned = [line.edit(one, f"{ast.unparse(one.right)} + {ast.unparse(one.left)}") for one in joined]
                    title = f"Take the last {size} variables first at line {item.lineno}"
                    yield (f"{title}, and their gradients last at line {joined[0].lineno}", [edit, *turned], "The other model comes first in the list.")
                yield f"Take the last {size} variables first at line {item.lineno}", [edit], "The other model comes first in the list."


def _joined_for(call: ast.Call, variables: str) -> ast.BinOp | None:
    if called(call) != "stateless_apply" or len(call.args) != 3 or ast.unparse(call.args[2]) != variables:
        return None
    given = call.args[1]
    return given if isinstance(given, ast.BinOp) and isinstance(given.op, ast.Add) else None


@of(OptimizerPart)
def built_for_part(evidence: Evidence, finding: Finding, fact: OptimizerPart) -> Made:
    """An optimizer built for the weights that it updates, where ``compile`` ends."""
    for line in lines_at(evidence, finding.location)[:1] if fact.part else []:
        for method in (item for item in nodes(line.owner(), ast.FunctionDef) if item.name == "compile"):
            last, me = method.body[-1], method.args.args[0].arg
            text = f"{me}.{fact.attribute}.build({me}.{fact.part}.trainable_variables)"
            if not isinstance(last, ast.Return) and line.source.first_in_line(last):
                yield (
                    f"Build {me}.{fact.attribute} for the variables of {me}.{fact.part}, at the end of compile",
                    [line.edit(last, f"{line.source.of(last)}\n{line.source.indent(last)}{text}")],
                    "fit leaves an optimizer that is built as it is.",
                )


def applied(evidence: Evidence, finding: Finding) -> Made:
    """What the optimizer makes of the weights and its own state, kept under their names."""
    for line, step in _steps(evidence, finding, StateUnchanged):
        names = groups(step)
        for item in _own(step):
            if names and isinstance(item, ast.Expr) and isinstance(item.value, ast.Call) and called(item.value) == "stateless_apply":
                kept = f"{names[0]}, {names[2]}"
                yield (f"Store what stateless_apply returns: {kept}", [line.edit(item, f"{kept} = {line.source.of(item)}")], "It changes nothing in place.")


def applied_without_state(evidence: Evidence, finding: Finding) -> Made:
    """``stateless_apply`` for an optimizer that is to change the weights in place."""
    for line, step in _steps(evidence, finding, ReadOutside):
        names = groups(step)
        for item in nodes(step, ast.Expr) if names else ():
            call = item.value
            given = call.args[0] if isinstance(call, ast.Call) and called(call) in ("apply", "apply_gradients") and call.args else None
            given = given.args[0] if isinstance(given, ast.Call) and called(given) == "zip" else given
            if given is not None and ast.unparse(call.func).startswith("self.optimizer."):
                kept = f"{names[0]}, {names[2]}"
                new = f"{kept} = self.optimizer.stateless_apply({names[2]}, {ast.unparse(given)}, {names[0]})"
                yield (f"Use stateless_apply at line {item.lineno}, and store what it returns", [line.edit(item, new)], "It changes nothing in place.")


def metrics_in_scope(evidence: Evidence, finding: Finding) -> Made:
    """Metrics that a step updates, in a scope that holds their state."""
    for line, step in _steps(evidence, finding, ReadOutside):
        names, source = groups(step), line.source
        used = [
            i for i, item in enumerate(step.body) if any(called(call) in _STATEFUL for call in nodes(item, ast.Call)) and not isinstance(item, ast.FunctionDef)
        ]
        if not used or not names or not all(map(source.first_in_line, step.body)):
            continue
        inside = step.body[used[0] : used[-1] + 1]
        pad = source.indent(inside[0])
        after = f"\n{pad}{names[3]} = [scope.get_current_value(one) for one in self.metrics_variables]"
        texts = [source.of(item) for item in inside]
        if isinstance(inside[-1], ast.Return):
            value = inside[-1].value
            if not isinstance(value, ast.Tuple) or len(value.elts) != 2:
                continue
            texts[-1] = f"logs = {source.of(value.elts[0])}"
            after += f"\n{pad}return logs, {source.of(value.elts[1])}"
        new = [f"    {text}".replace("\n", "\n    ") for text in texts]
        new[0] = f"with {MODULE}.StatelessScope(list(zip(self.metrics_variables, {names[3]}))) as scope:\n{pad}{new[0]}"
        new[-1] += after
        yield (
            f"Wrap the metrics' update at line {inside[0].lineno} in a keras.StatelessScope with their state",
            [line.edit(item, text, "keras") for item, text in zip(inside, new, strict=True)],
            "The scope holds the values of the metrics, and the step returns them.",
        )


def state_to_super(evidence: Evidence, finding: Finding) -> Made:
    """The state handed to the step of Keras."""
    for line, step in _steps(evidence, finding, StepWithoutState, 2):
        calls = [item for item in nodes(step, ast.Call) if ast.unparse(item.func) == "super().train_step" and item.args]
        if len(calls) == 1:
            before = [line.source.start(item) for item in (step.args.args[1], calls[0].args[0])]
            held = [item.targets[0] for item in nodes(step, ast.Assign) if item.value is calls[0]]
            after = [line.source.end(item) for item in (*held, *_returned(step))] if held else []
            changes = [*((at, at, "state, ") for at in before), *((at, at, ", state") for at in after)]
            yield (
                "Pass the state to super().train_step, and return it",
                [line.edit(step, _rewritten(line.source, step, changes))],
                "On JAX, it is train_step(self, state, data).",
            )


def as_compute_loss(evidence: Evidence, finding: Finding) -> Made:
    """The loss of a step with a gradient tape as ``compute_loss``, which is the same on every backend."""
    for line, step in _steps(evidence, finding, StepWithoutState, 2):
        if text := _loss_of(line.source, step, bool(evidence.y)):
            yield (
                "Write the loss of this step as compute_loss, instead of train_step",
                [line.edit(step, text)],
                "Keras takes the gradient and updates the weights.",
            )


def _loss_of(source: Source, step: ast.FunctionDef, labeled: bool) -> str:
    """``compute_loss`` made of a step that unpacks its data, computes a loss under one tape, and updates weights and metrics."""
    me, data = (item.arg for item in step.args.args)
    weights = [f"{me}.trainable_{what}" for what in ("variables", "weights")]
    weights += [ast.unparse(item.targets[0]) for item in nodes(step, ast.Assign) if ast.unparse(item.value) in weights]
    taken = [call for call in nodes(step, ast.Call) if called(call) == "gradient"]
    if len(taken) != 1 or len(taken[0].args) != 2 or ast.unparse(taken[0].args[1]) not in weights:
        return ""
    loss, lines, names, taped = ast.unparse(taken[0].args[0]), list[str](), list[str](), False
    for item in step.body:
        value, text = getattr(item, "value", None), source.of(item)
        calls = {called(call) for call in nodes(item, ast.Call)}
        if isinstance(item, ast.With) and "GradientTape" in calls and not taped:
            taped = True
            lines += [_inside(source, inner, step, names) for inner in item.body]
        elif isinstance(item, ast.Assign) and not taped and text.rpartition("= ")[2].rpartition(".")[2] in (data, f"{_UNPACK}({data})"):
            target = item.targets[0]
            names = [ast.unparse(one) for one in getattr(target, "elts", [target])]
            pairs = list(zip(names, ("x", "y", "sample_weight"), strict=False))
            # A name for all of the data is that of x where there are no labels.
            if isinstance(target, ast.Tuple) != labeled or any(name in _HANDED.split(", ") and name != own for name, own in pairs):
                return ""
            lines += [f"{name} = {own}" for name, own in pairs if name != "_"]
        elif taped and isinstance(item, ast.Expr) and "update_state" in calls:
            lines += [text] if "compiled_metrics" not in text else []
        elif isinstance(item, ast.For) and ast.unparse(item.iter) == f"{me}.metrics":
            if {one.value for one in nodes(item, ast.Constant) if isinstance(one.value, str)} - {"loss"}:
                return ""  # which of the metrics are compiled is not known
        elif isinstance(item, ast.Return) or value is taken[0] or isinstance(value, ast.Constant) or ast.unparse(value or item) in weights:
            continue
        elif not isinstance(item, ast.Expr) or not calls <= {"apply_gradients", "apply", "zip"}:
            return ""  # what else the step does has no place in a loss
    pad = f"\n{source.indent(step)}    "
    body = pad.join(text for text in lines if text.partition(" = ")[0] != text.partition(" = ")[2])
    return f"def compute_loss(self, {_HANDED.replace(',', '=None,')}=None, training=True):{pad}{body}{pad}return {loss}" if taped and names else ""


def _inside(source: Source, inner: ast.stmt, step: ast.FunctionDef, names: list[str]) -> str:
    me, text = step.args.args[0].arg, source.of(inner)
    made = inner.value if isinstance(inner, ast.Assign) else None
    given = [ast.unparse(one) for one in made.args] if isinstance(made, ast.Call) else []
    if isinstance(inner, ast.Assign) and isinstance(made, ast.Call) and ast.unparse(made.func) == me and given == names[:1]:
        return f"{ast.unparse(inner.targets[0])} = y_pred"
    text = text.replace(f"{me}.compute_loss(", "super().compute_loss(").replace(f"{me}.compiled_loss(", "super().compute_loss(None, ")
    return text.replace(f"\n{source.indent(inner)}", f"\n{source.indent(step)}    ")


def whole_signature(evidence: Evidence, finding: Finding) -> Made:
    """The parameters that ``compute_loss`` lacks."""
    weights = getattr(evidence.sample, "weight", None)
    for line in lines_at(evidence, evidence.facts.get("own_loss"))[:1] if "compute_loss() " in str(evidence.failure) and weights is None else []:
        method, every = line.scope, [*_HANDED.split(", "), "training"]
        given = method.args.args[1:] if isinstance(method, ast.FunctionDef) else []
        if isinstance(method, ast.FunctionDef) and len(given) > 2 and [item.arg for item in given] == every[: len(given)]:
            more = ", ".join(f"{name}={name == 'training' or None}" for name in every[len(given) :])
            end = line.source.end(given[-1])
            yield (
                f"Accept every argument in compute_loss: {more}",
                [line.edit(method, _rewritten(line.source, method, [(end, end, f", {more}")]))],
                "Keras passes all of them.",
            )


def passed_on(evidence: Evidence, finding: Finding) -> Made:
    """``training`` or ``mask``, which Keras passes on, as a parameter of the method that lacks it."""
    fact = finding.fact
    given = fact.named if isinstance(fact, CallRefused) else fact.unknown if isinstance(fact, CallMisfit) else ""
    if not isinstance(fact, (CallRefused, CallMisfit)) or given not in ("training", "mask"):
        return
    owner, _, name = fact.function.rpartition(".")
    for line in lines_of(evidence):
        for method, edit in _accepting(line, owner, name, [given]):
            yield (f"Accept {given} in {name} at line {method.lineno}: {given}=None", [edit], f"{name} then accepts what it is called with.")


def _accepting(line: Line, owner: str, name: str, given: Sequence[str]) -> Iterator[tuple[ast.FunctionDef, Edit]]:
    cls = class_of(line.source.tree, owner)
    method = method_of(cls, name) if cls is not None else None
    if method is not None and method.args.args and not (method.args.vararg or method.args.kwonlyargs or method.args.kwarg):
        end = line.source.end([*method.args.args, *method.args.defaults][-1])
        text = _rewritten(line.source, method, [(end, end, "".join(f", {one}=None" for one in given))])
        yield method, line.edit(method, text)


@of(OverrideLacks)
def accepted(evidence: Evidence, finding: Finding, fact: OverrideLacks) -> Made:
    """What the framework passes to a method that overrides one of its own."""
    owner, _, name = fact.function.rpartition(".")
    for line in lines_at(evidence, evidence.facts["overridden"][2])[:1]:
        for method, edit in _accepting(line, owner.rpartition(".")[2], name, fact.lacks):
            yield f"Accept {', '.join(fact.lacks)} in {name} at line {method.lineno}", [edit], f"{name} then accepts what Keras passes."


def metric_after_call(evidence: Evidence, finding: Finding) -> Made:
    """A metric that ``call`` updates, updated in ``compute_metrics``: where it takes only the input or the output of the model."""
    for line, call in [pair for n in (2, 3) for pair in _steps(evidence, finding, MetricInCall, n)]:
        owner, given, source = line.owner(), [item.arg for item in call.args.args], line.source
        methods = {item.name for item in nodes(owner, ast.FunctionDef)}
        at = next((i for i, item in enumerate(call.body) if isinstance(item, ast.Expr) and item.lineno == line.raised.line), len(call.body))
        if getattr(owner, "name", "") != evidence.facts.get("model_class") or methods & {"compute_metrics", "train_step"}:
            continue
        known = {given[1]: "x"} if not _used(call, given[1], ast.Store) else {}
        known |= {one.id: "y_pred" for one in _returned(call) if isinstance(one, ast.Name) and _used(call, one.id, ast.Store) == 1}
        for item, then in zip(call.body[at : at + 1], call.body[at + 1 :], strict=False):
            names = [name for name in nodes(item, ast.Name) if name.id in given[1:] or _used(call, name.id, ast.Store)]
            if called(getattr(item, "value", None)) != "update_state" or any(name.id not in known for name in names):
                continue
            update = _rewritten(source, item, [source.change(name, known[name.id]) for name in names])
            rest, pad = _rewritten(source, call, [(source.start(item), source.start(then), "")]), source.indent(call)
            method = f"\n\n{pad}def compute_metrics(self, {_HANDED}=None):\n{pad}    {update}\n{pad}    return super().compute_metrics({_HANDED})"
            yield (
                f"Move the metric's update from call to compute_metrics: {ast.unparse(item)}",
                [line.edit(call, f"{rest}{method}")],
                "compute_metrics receives the state of the metrics.",
            )
