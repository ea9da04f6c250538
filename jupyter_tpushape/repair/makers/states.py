"""Candidates for the states that a recurrent layer starts with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import assigned, called, loaded
from ...rules.facts.contracts import Unpacked
from ...rules.facts.states import CellOfSteps, CellReturns, CellState, CellStates, CellUnpacks, States, StatesExchanged, StatesInList
from ...rules.facts.transforms import ListGiven
from ...rules.words import ATTENTIONS
from ...trace.axes import RECURRENT, recurs
from ..edits import LayerConfig
from ..edits.expression import IT, MODULE
from ..text.arguments import argument
from ..text.source import given_before, method_of, nodes, words_of
from .edits import Made, configure, of
from .line import Line, assigned_to, lines_at, lines_of, listed, makers_of, own_layer, running, short


@of(States)
def joined_states(evidence: Evidence, finding: Finding, fact: States) -> Made:
    """The states of both directions of an encoder joined, for a layer that runs in one."""
    node = evidence.failed
    half = len(fact.keeps)
    if not fact.joined or fact.both or node is None or len(fact.given) not in (half, 2 * half):
        return
    widths = {shape[-1] for shape in fact.given if shape and len(shape) == 2}
    units = 2 * (widths.pop() or 0) if len(widths) == 1 else 0
    for line in lines_at(evidence, node.called or node.location):
        states = line.keyword("initial_state")
        each = isinstance(states, (ast.List, ast.Tuple)) and len(states.elts) == len(fact.given)
        if not units or states is None or not (each or (isinstance(states, ast.Name) and len(fact.given) == 2 * half)):
            continue
        # All of them may have one name, as after ``output, *states = ...``.
        parts = (
            [ast.unparse(item) for item in states.elts]
            if isinstance(states, (ast.List, ast.Tuple))
            else [f"{ast.unparse(states)}[{i}]" for i in range(2 * half)]
        )
        if len(parts) == half:  # those of the forward layer: the others are unpacked beside them
            unpacked = [[ast.unparse(name) for name in listed(item.targets[0])] for item in nodes(line.scope, ast.Assign)]
            parts = next((names[1:] for names in unpacked if len(names) == 2 * half + 1 and names[1 : half + 1] == parts), [])
        if len(parts) != 2 * half:
            continue
        joined = [f"{MODULE}.Concatenate()([{one}, {other}])" for one, other in zip(parts[:half], parts[half:], strict=True)]
        edits = [line.edit(states, f"[{', '.join(joined)}]", f"{evidence.framework}.layers")]
        wider = [LayerConfig(node.name, {"units": units}, alone=True)] if node.config.get("units") != units else []
        yield (
            f"Concatenate the states of both directions{f', and set units={units} on {node.name}' if wider else ''}",
            [*edits, *wider],
            f"The forward and backward states have {units // 2} values each.",
        )


@of(States)
def joined_as_the_other(evidence: Evidence, finding: Finding, fact: States) -> Made:
    """The second state joined of both directions, as the first one is."""
    node = evidence.failed
    for line in lines_at(evidence, node.called or node.location) if node is not None and fact.counted and len(fact.keeps) == 2 else ():
        states = listed(line.keyword("initial_state"))
        if len(states) != 2:
            continue
        unpacked = [[ast.unparse(name) for name in listed(item.targets[0])] for item in nodes(line.scope, ast.Assign)]
        names = next((found[1:] for found in unpacked if len(found) == 5), [])
        for done, alone in (states, states[::-1]):
            text, name = line.source.of(done), ast.unparse(alone)
            made = [one for one in names if one in {word.id for word in nodes(done, ast.Name)}]
            pairs = [[names[0], names[2]], [names[1], names[3]]] if names else []
            if isinstance(done, ast.Call) and made in pairs and any(name in pair for pair in pairs if pair != made):
                other = next(pair for pair in pairs if pair != made)
                for old, new in zip(made, other, strict=True):
                    text = re.sub(rf"\b{re.escape(old)}\b", new, text)
                yield (
                    f"Join {' and '.join(other)} as {' and '.join(made)} are, at line {alone.lineno}",
                    [line.edit(alone, text)],
                    "Both states then have the values of both directions.",
                )


@of(StatesExchanged)
def in_their_order(evidence: Evidence, finding: Finding, fact: StatesExchanged) -> Made:
    """The two states in the other order."""
    if fact.two_ways and fact.places == ((1, 2), (3, 4)):
        for line in lines_at(evidence, fact.giver.called)[:1]:
            for item in line.around(ast.Assign):
                names = listed(item.targets[0])
                if len(names) == 5 and all(isinstance(one, ast.Name) for one in names):
                    yield (
                        f"Swap {ast.unparse(names[2])} and {ast.unparse(names[3])} where they are unpacked at line {item.lineno}",
                        line.swap(names[2], names[3]),
                        "The second result is h of the forward layer, and the third one is its c.",
                    )
    for line in lines_at(evidence, fact.layer.called)[:1] if len(fact.places) == 2 and not fact.two_ways else ():
        for call in line.around(ast.Call):
            states = argument(call, "initial_state", [])
            given = listed(assigned_to(line, states)) if states is not None else []
            if len(given) == 2:
                yield f"Swap the two states at line {given[0].lineno}", line.swap(given[0], given[1]), "An LSTM takes h first and c second."


@of(CellReturns)
def output_and_states(evidence: Evidence, finding: Finding, fact: CellReturns) -> Made:
    """The output once more as the new state, where the cell keeps one."""
    for line in lines_at(evidence, fact.place)[:1]:
        for item in line.around(ast.Return):
            if item.value is not None and ast.unparse(item.value) == fact.value and item.lineno == line.raised.line:
                again = fact.value if isinstance(item.value, ast.Name) else f"({fact.value})"
                yield (
                    f"Return {fact.value} and [{fact.value}] at line {item.lineno}",
                    [line.edit(item.value, f"{again}, [{again}]")],
                    "The first is the output of a step, the list has the states for the next one.",
                )


@of(StatesInList)
def out_of_list(evidence: Evidence, finding: Finding, fact: StatesInList) -> Made:
    """The one state taken out of the list that the cell returns."""
    for line in lines_at(evidence, fact.place)[:1]:
        for call in line.around(ast.Call):
            given = next((one for one in words_of(call) if [ast.unparse(part) for part in listed(one)] == [fact.name]), None)
            back = [listed(item.targets[0]) for item in nodes(line.scope, ast.Assign) if item.value is call]
            name = next((one for one in back[0][1:2] if ast.unparse(one) == fact.name), None) if back else None
            if given is not None and name is not None and fact.states == 1:
                yield (
                    f"Take the state out of its list at line {call.lineno}: [{fact.name}]",
                    [line.edit(name, f"[{fact.name}]")],
                    f"{fact.name} is then a tensor after the call, as before it.",
                )
            if given is not None:
                yield f"Pass {fact.name} as it is at line {call.lineno}", [line.edit(given, fact.name)], "It is a list already."


@of(CellOfSteps)
def one_step(evidence: Evidence, finding: Finding, fact: CellOfSteps) -> Made:
    """The only step of what a cell receives."""
    for line in lines_at(evidence, fact.layer.called)[:1] if fact.shape[1] == 1 else ():
        calls = [call for call in line.around(ast.Call) if len(call.args) + len(call.keywords) > 1 and call.args]
        for call in calls if len(calls) == 1 else ():
            yield (
                f"Take the only step of {short(call.args[0])} at line {call.lineno}: {short(call.args[0])}[:, 0]",
                [line.edit(call.args[0], f"{IT}[:, 0]")],
                "A cell takes one step, without a time axis.",
            )


@of(States)
def unused_states(evidence: Evidence, finding: Finding, fact: States) -> Made:
    """As many other states, by a name that nothing uses."""
    node = evidence.failed
    for line in lines_at(evidence, node.called or node.location) if node is not None and not fact.cell else ():
        states = line.keyword("initial_state")
        read = [item.id for item in nodes(line.scope, ast.Name) if isinstance(item.ctx, ast.Load)]
        for made in nodes(line.scope, ast.Assign) if states is not None else ():
            for target, value in assigned(made):
                if (
                    states is not None
                    and isinstance(target, ast.Name)
                    and target.id not in read
                    and made.lineno < states.lineno
                    and len(listed(value)) == len(fact.keeps)
                ):
                    yield (f"Pass {target.id} as the initial state at {line.at}", [line.edit(states, target.id)], f"Nothing else uses {target.id}.")


@of(States)
def states_of_each(evidence: Evidence, finding: Finding, fact: States) -> Made:
    """The states of one cell for each of several cells with as many."""
    node, each = evidence.failed, len(fact.given)
    cells = len(fact.keeps) // each if each else 0
    if node is None or fact.both or cells < 2 or fact.keeps != fact.keeps[:each] * cells:
        return
    if any(shape is None or shape[-1] != size for shape, size in zip(fact.given, fact.keeps[:each], strict=True)):
        return
    for line in lines_at(evidence, node.called or node.location):
        states = line.keyword("initial_state")
        if isinstance(states, (ast.List, ast.Tuple)) and len(states.elts) == each:
            text = ast.unparse(states)
            yield (
                f"Pass the initial state to each of the {cells} cells at {line.at}",
                [line.edit(states, f"[{', '.join([text] * cells)}]")],
                "A layer of several cells expects one list of states for each cell.",
            )


@of(States)
def states_for_sequence(evidence: Evidence, finding: Finding, fact: States) -> Made:
    """The states of an encoder in place of its sequence of outputs."""
    node, rows = evidence.failed, [len(shape or ()) for shape in fact.given]
    encoder = next((one for one in evidence.flow.nodes if fact.encoders == (one.name,)), None)
    widths = {shape[-1] for shape in fact.given if shape}
    if node is None or encoder is None or not fact.counted or fact.both or {*rows} != {3} or widths != {*fact.keeps} or not recurs(encoder):
        return
    line = next((one for one in lines_at(evidence, node.called or node.location) if one.keyword("initial_state") is not None), None)
    given = line.keyword("initial_state") if line is not None else None
    names = {ast.unparse(item) for item in (listed(given) or [given])} if given is not None else set()
    if line is None or given is None or len(names) != 1:
        return
    for made in lines_at(evidence, encoder.called or encoder.location)[:1]:
        held = made.around(ast.Assign, line.scope)
        inner = [
            call
            for item in held
            for call in nodes(item.value, ast.Call)
            if called(call) in RECURRENT and called(call) != "Bidirectional" and all(word.arg != "return_state" for word in call.keywords)
        ]
        if len(held) != 1 or len(inner) != 1 or {*map(ast.unparse, held[0].targets)} != names:
            continue
        count = len(fact.keeps)
        name = "states" if "states" not in loaded(line.scope) else f"states_of_{names.copy().pop()}"
        joined = [f"{MODULE}.Concatenate()([{name}[{i}], {name}[{i + count}]])" for i in range(count)]
        both = encoder.op == "Bidirectional"
        yield (
            f"Return the states of {encoder.name} too, and pass them{' joined' if both else ''} as the initial state of {node.name}",
            [
                line.more(inner[0], "return_state=True"),
                line.edit(held[0].targets[0], f"{IT}, *{name}"),
                line.edit(given, f"[{', '.join(joined)}]" if both else name, f"{evidence.framework}.layers" if both else ""),
            ],
            "An initial state is the last state of the encoder, not its outputs at all steps.",
        )


@of(Unpacked)
def more_returned(evidence: Evidence, finding: Finding, fact: Unpacked) -> Made:
    """What a layer returns beside its output where it is asked to."""
    if len(fact.outputs) != 1:
        return
    for line in lines_of(evidence)[:1]:
        for statement in _unpacking(line):
            target, value = statement.targets[0], statement.value
            if fact.layer.op in ATTENTIONS and fact.wanted == 2 and isinstance(value, ast.Call):
                asked = f"{ast.unparse(value)[:-1]}, return_attention_scores=True)"
                yield (f"Return the attention scores too at {line.at}", [line.edit(value, asked)], "The layer then returns two tensors.")
            elif fact.layer.op in RECURRENT:
                edit = configure(fact.layer.name, return_state=True)
                yield (f"Return the states of {fact.layer.name} too: set return_state=True", [edit], "The layer then returns its output and its states.")
            first, *rest = [ast.unparse(item) for item in target.elts]  # type: ignore[attr-defined]
            if not any(item.id in rest and isinstance(item.ctx, ast.Load) for item in nodes(line.scope, ast.Name)):
                yield f"Use one name for the tensor at {line.at}: {first}", [line.edit(target, first)], "Nothing uses the other names."


def _unpacking(line: Line) -> list[ast.Assign]:
    found = line.around(ast.Assign, line.scope)
    target = found[-1].targets[0] if found else None
    return found[-1:] if isinstance(target, ast.Tuple) and all(isinstance(item, ast.Name) for item in target.elts) else []


@of(Unpacked)
def every_state(evidence: Evidence, finding: Finding, fact: Unpacked) -> Made:
    """A name for each state that a recurrent layer returns."""
    if fact.wanted < 2 or fact.wanted >= len(fact.outputs):
        return
    for line in lines_of(evidence)[:1]:
        target = next((item.targets[0] for item in _unpacking(line)), None)
        if target is None:
            continue
        names = [ast.unparse(item) for item in target.elts]  # type: ignore[attr-defined]
        states, missing = names[1:], len(fact.outputs) - len(names)
        both = fact.layer.op == "Bidirectional" and missing == len(states)
        given = [word.value for call in nodes(line.scope, ast.Call) for word in call.keywords if word.arg == "initial_state"]
        used = [item for item in given if [ast.unparse(one) for one in listed(item) or [item]] == states]
        added = [f"{name}_backward" for name in states] if both else [f"{states[-1]}_{i + 2}" if used else "_" for i in range(missing)]
        edits = [line.edit(target, ", ".join([*names, *added]))]
        passed = [f"{MODULE}.Concatenate()([{one}, {other}])" for one, other in zip(states, added, strict=False)] if both else [*states, *added]
        edits += [line.edit(item, f"[{', '.join(passed)}]", *((f"{evidence.framework}.layers",) if both else ())) for item in used]
        said = " and concatenate the states of both directions" if both else " and pass all states"
        yield (
            f"Unpack all {len(fact.outputs)} tensors at {line.at}{said if used else ''}",
            edits,
            "The forward and the backward layer return separate states." if both else "An LSTM returns two states.",
        )


@of(CellStates)
def as_many_states(evidence: Evidence, finding: Finding, fact: CellStates) -> Made:
    """All the states of a cell by the names that it unpacks them to."""
    for line in lines_at(evidence, finding.location)[:1]:
        for cls in nodes(line.source.tree, ast.ClassDef):
            sized = any(item.attr == "state_size" for item in nodes(cls, ast.Attribute))
            call = method_of(cls, "call") if sized else None
            parameter = call.args.args[2].arg if call is not None and len(call.args.args) > 2 else ""
            names = [
                [ast.unparse(one) for one in item.targets[0].elts]
                for item in (nodes(call, ast.Assign) if call is not None else ())
                if isinstance(item.targets[0], ast.Tuple) and ast.unparse(item.value) == parameter
            ]
            for given in nodes(call, ast.Return) if call is not None else ():
                parts = given.value.elts if isinstance(given.value, ast.Tuple) else []
                wanted = names[-1] if names else [ast.unparse(parts[0])] if parts and isinstance(parts[0], ast.Name) else []
                if len(parts) == 2 and len(wanted) == fact.wanted:
                    text = f"[{', '.join(wanted)}]"
                    yield (
                        f"Return {text} as the states at line {given.lineno}",
                        [line.edit(parts[1], text)],
                        f"The cell has {fact.wanted} {'state' if fact.wanted == 1 else 'states'}.",
                    )


@of(CellUnpacks)
def declared_states(evidence: Evidence, finding: Finding, fact: CellUnpacks) -> Made:
    """As many sizes of states as the cell unpacks, all alike."""
    for line in lines_of(evidence)[:1]:
        made = [item for item in nodes(line.owner(), ast.Assign) if ast.unparse(item.targets[0]) == "self.state_size"]
        sizes = listed(made[0].value) or [made[0].value] if len(made) == 1 else []
        if not sizes or len(sizes) != fact.declared or len({ast.unparse(one) for one in sizes}) != 1:
            continue
        text = f"[{', '.join([ast.unparse(sizes[0])] * fact.wanted)}]" if fact.wanted > 1 else ast.unparse(sizes[0])
        yield (
            f"Declare {fact.wanted} {'state' if fact.wanted == 1 else 'states'} at line {made[0].lineno}: self.state_size = {text}",
            [line.edit(made[0].value, text)],
            "The cell then receives as many states as it unpacks.",
        )


@of(CellState)
def own_output(evidence: Evidence, finding: Finding, fact: CellState) -> Made:
    """The output of a cell as its one state, where it returns another tensor as such; else what that output is made of."""
    for line in lines_at(evidence, finding.location)[:1]:
        for cls in nodes(line.source.tree, ast.ClassDef):
            call = method_of(cls, "call") if "state_size" in line.source.of(cls) else None
            for given in nodes(call, ast.Return) if call is not None else ():
                parts = given.value.elts if isinstance(given.value, ast.Tuple) else []
                kept = parts[1].elts if len(parts) == 2 and isinstance(parts[1], (ast.List, ast.Tuple)) else parts[1:2]
                if len(kept) != 1 or call is None:
                    continue
                own = {one.id for one in nodes(call, ast.Name) if isinstance(one.ctx, ast.Store)}
                made = [*given_before(call, kept[0]), kept[0]][0]
                names = loaded(made) & own - loaded(kept[0]) if ast.dump(kept[0]) == ast.dump(parts[0]) else loaded(parts[0])
                names = names or loaded(kept[0]) & own
                for name in sorted(names) if len(names) == 1 and ast.unparse(kept[0]) not in names else ():
                    yield (
                        f"Return {name} as the state at line {given.lineno}",
                        [line.edit(kept[0], name)],
                        f"{name} has the shape of the state that the cell receives.",
                    )


def states(evidence: Evidence, finding: Finding) -> Made:
    """The first states of one direction, given to both."""
    node = evidence.failed
    for line, given in _passed(evidence, finding):
        if node is not None and node.op == "Bidirectional":
            held = [*map(ast.unparse, listed(given))]
            whole = [[*map(ast.unparse, listed(item.targets[0])[1:])] for item in nodes(line.scope, ast.Assign)]
            every = next((names for names in whole if held and {*held} < {*names}), None)
            if every is not None:
                if len({*every} - {"_"}) == len(every):
                    said = f"Pass the states of both directions at {line.at}: {', '.join(every)}"
                    yield (said, [line.edit(given, f"[{', '.join(every)}]")], "A bidirectional layer has a separate state for each direction.")
                return
            plain = isinstance(given, ast.List)
            yield (
                f"Pass an initial state for both directions at {line.at}: the {'states' if plain else short(given)} twice",
                [line.edit(given, f"{IT} * 2" if plain else f"[*{IT}, *{IT}]")],
                "A bidirectional layer has a separate state for each direction.",
            )


def _passed(evidence: Evidence, finding: Finding) -> Iterator[tuple[Line, ast.expr]]:
    for line in (lines_of(evidence) or lines_at(evidence, finding.location))[:1]:
        calls = [call for call in nodes(line.source.tree, ast.Call) if call.lineno == line.raised.line]
        yield from [(line, word.value) for call in calls for word in call.keywords if word.arg == "initial_state"][:1]


@of(CellState)
def first_state(evidence: Evidence, finding: Finding, fact: CellState) -> Made:
    """The one state of a cell, where its ``call`` computes with the list that holds it."""
    line = next(iter(lines_at(evidence, finding.location)), None)
    if fact.after == (1, *fact.before) and line is not None:
        why = "The list holds one state; the operation stacked the list into a tensor with an extra axis."
        yield from _element(line, [item for item in nodes(line.source.tree, ast.FunctionDef) if item.name == "call"], why)


@of(ListGiven)
def state_of_list(evidence: Evidence, finding: Finding, fact: ListGiven) -> Made:
    """The one state of a cell, where an operation that takes tensors is given the list that holds it."""
    for line in lines_of(evidence) if fact.states == 1 else ():
        own = [line.scope] if isinstance(line.scope, ast.FunctionDef) and line.scope.name == "call" else []
        yield from _element(line, own, "The list holds the one state of the cell.")


def _element(line: Line, calls: list[ast.FunctionDef], why: str) -> Made:
    for call in calls:
        name = call.args.args[2].arg if len(call.args.args) > 2 else ""
        handed = [item for made in nodes(call, (ast.Call, ast.BinOp)) for item in ast.iter_child_nodes(made)]
        bare = [item for item in handed if isinstance(item, ast.Name) and item.id == name]
        if bare:
            yield (f"Use {name}[0] at line {bare[0].lineno}: a cell receives its states as a list", [line.edit(item, f"{IT}[0]") for item in bare], why)


_FILLS = frozenset({"zeros", "zeroslike", "fill", "broadcastto"})


@of(States)
def without_output(evidence: Evidence, finding: Finding, fact: States) -> Made:
    """The states of an encoder without the output that it returns first."""
    sizes = tuple(shape[-1] if shape else None for shape in fact.given)
    for line, given in _passed(evidence, finding) if sizes[1:] == fact.keeps else ():
        parts = ", ".join(map(ast.unparse, listed(given)[1:]))
        edit = line.edit(given, f"[{parts}]" if parts else f"{IT}[1:]")
        yield f"Pass only the states as the initial state at {line.at}", [edit], "With return_state=True, the output comes first."


@of(States)
def empty_state(evidence: Evidence, finding: Finding, fact: States) -> Made:
    """The state of zeros that a cell begins with, with one value for each of its units."""
    line = next(iter(running(evidence)), None)
    call = line.call() if line is not None else None
    if not fact.cell or line is None or call is None or not _of_zeros(evidence):
        return
    units = f"{ast.unparse(call.func)}.units"
    for made in nodes(line.scope, ast.Call):
        sizes = listed(made.args[0]) if called(made) == "zeros" and made.args else []
        edits = []
        if len(sizes) == 2:
            edits = [line.edit(sizes[1], units)]
        elif called(made) == "zeros_like" and made.args:
            rows = f"{MODULE}.shape({ast.unparse(made.args[0])})[0]"
            edits = [line.edit(made, f"{MODULE}.zeros(({rows}, {units}))", line.module())]
        if edits:
            yield f"Start at line {made.lineno} with a state of {units} values", edits, "A state has one value per unit."


@of(States)
def state_of_each(evidence: Evidence, finding: Finding, fact: States) -> Made:
    """A state of zeros for every sample, where there is one for all."""
    for line in lines_at(evidence, fact.layer.called)[:1] if {(size,) for size in fact.keeps} == {*fact.given} else ():
        call = line.call()
        zeros = [(one, listed(one.args[0])) for one in nodes(line.scope, ast.Call) if called(one) == "zeros" and one.args]
        made = [one for one, sizes in zeros if len(sizes) == 1 and line.number(sizes[0]) in (None, *fact.keeps)]
        if call is not None and call.args and made:
            rows = f"{MODULE}.shape({ast.unparse(call.args[0])})[0]"
            edits = [line.edit(one.args[0], f"({rows}, {ast.unparse(listed(one.args[0])[0])})", line.module()) for one in made]
            yield f"Start with a state for each sample at line {made[0].lineno}", edits, "A state has a row for every sample."


def _of_zeros(evidence: Evidence) -> bool:
    """Whether the program fills a state of the failed cell with zeros: its size then follows the cell, and not the other way round."""
    states = evidence.given[1:]
    return any(one.giver is None or one.giver.op.lower().replace("_", "") in _FILLS for one in states)


@of(States)
def units_of_cell(evidence: Evidence, finding: Finding, fact: States) -> Made:
    """A cell as wide as its state, in the terms of the class that makes it."""
    widths, node, owner = {shape[-1] for shape in fact.given if shape}, evidence.failed, own_layer(evidence)
    if not fact.cell or node is None or len(widths) != 1 or not isinstance(node.config.get("units"), int) or _of_zeros(evidence):
        return
    width, why = widths.pop(), "A state has one value per unit."
    names = [name for name, value in evidence.arguments(owner.id).items() if value == width] if owner is not None else []
    for line in lines_at(evidence, node.location)[:1]:
        calls = makers_of(line, node)
        written = argument(calls[0], "units", ["units"]) if len(calls) == 1 else None
        own = getattr(line.scope, "name", "") == "__init__"
        for name in (names if own else _kept(line, names)) if written is not None else ():
            assert written is not None
            yield f"Set units={name} on {node.name}: {width}", [line.edit(written, name)], why
    yield f"Set units={width} on {node.name}, the size of its state", [LayerConfig(node.name, {"units": width}, alone=True)], why


def _kept(line: Line, names: list[str]) -> Iterator[str]:
    for item in nodes(line.owner(), ast.Assign):
        for target, value in assigned(item):
            if isinstance(target, ast.Attribute) and ast.unparse(value) in names:
                yield ast.unparse(target)
