"""Programs that fail before the model runs: a flow with what was built, the failure, and what was not reached."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..flow import Location, Spec
from ..flow.paths import to_wire
from ..flow.text import words
from ..graph.probe import Rerun, broken
from ..trace.assemble import Assembler, clean_message, door_names, failure
from ..trace.doors import Door, Feeds, accepted
from ..trace.framework import Framework
from ..trace.inside import look_before, look_inside
from ..trace.locations import location
from ..trace.raised import error_line, raised_at
from ..trace.ran import Leaf, Run, leaves
from ..trace.recorder import Call, Recorder, Source
from ..trace.remainder import not_reached
from .array_lines import classes_beyond, lists_apart
from .broken_lines import breaking_layer, function_called, last_call, ops_form, uncalled, unconnected
from .compared_line import compared
from .evidence import Door as Named
from .evidence import Evidence, Given
from .fronts import front, place_of
from .heard import HeardSymbolic, hear
from .heard_jax import HeardVariable
from .inner_doors import open_door, undeclared
from .making import makes
from .program import Examined, shape_of
from .row_steps import sliced_together


def entry_failed(assembler: Assembler, traced: Run, adapter: Framework, recorder: Recorder) -> None:
    """The model rejected its inputs before any layer ran, or one of its own lines raised between its layers."""
    where = error_line(traced.error) if traced.error is not None else None
    if traced.error is not None and where is not None:
        node = assembler.node(None, name=shortened(where.text) or "call", kind="op", op="python", status="failed", location=where)
        node.failure = failure(traced.error, "call")
        compared(assembler, adapter, recorder, node, traced.error)
        return
    doors = [node for node in assembler.flow.nodes if node.kind == "input"]
    if not doors or traced.error is None:
        return
    pairs = traced.feeds.pairs if traced.feeds is not None else []
    refused = {assembler.ids.get(id(leaf.source)) for door, leaf in pairs if not accepted(door.spec, leaf.spec)}
    first = next((node for node in doors if node.id in refused), doors[0])
    first.status = "failed"
    first.failure = failure(traced.error, "call")
    for edge in assembler.flow.edges:
        if edge.target == first.id:
            edge.status = "failed"


def assemble_broken(seen: Examined, error: BaseException) -> None:
    """A builder that raised: what was built, the failure, and what was not reached."""
    adapter, recorder, evidence = seen.adapter, seen.recorder, seen.evidence
    if adapter is not None:
        look_inside(adapter, recorder)
        look_before(adapter, recorder)
        _unused_inputs(recorder, adapter)
    name = adapter.name if adapter is not None else ""
    assembler = Assembler(name, place_of(seen) if seen.sample is not None else None)
    feeder = front(seen, assembler)
    sources = _upstream_inputs(recorder)
    doors = _as_declared(sources)
    pairs = _sure(seen, doors)
    declare(evidence, doors or None, recorder, Feeds(pairs))
    fed = dict(evidence.feeds)
    for (source, _), name, door in zip(sources, door_names([source.name for source, _ in sources]), doors, strict=True):
        path = fed.get(door.path)
        node = assembler.node(source, name=name, kind="input", op="Input", path=to_wire(path or ()))
        if feeder is not None and path is not None:
            assembler.edge(feeder, node.id, evidence.leaf(path) or door.spec, key=id(door))
    _drop_repeats(recorder)
    if adapter is not None:
        assembler.calls(adapter, recorder)
    if not assembler.flow.failed():
        where = error_line(error)
        # No layer raised: the line itself is what failed.
        name = shortened(where.text) if where is not None and where.text else "builder"
        node = assembler.node(None, name=name, kind="op", op="python", status="failed", location=where)
        node.failure = failure(error, "build")
    for node in assembler.flow.nodes:
        if node.failure is not None and node.failure.where == "call":
            # Where an operator refuses, Python asks NumPy's of the other operand, which takes no symbolic tensor: that is not why.
            own = recorder.failed.failure if node.kind == "op" and isinstance(error, NotImplementedError) and recorder.failed else None
            node.failure = failure(own or error, "build", node.failure.inner)
    if recorder.calls or recorder.inputs or evidence.x:
        not_reached(assembler, seen, [])
    evidence.flow, evidence.arguments = assembler.flow, assembler.arguments
    evidence.given = given_to(recorder, assembler)
    if adapter is not None:
        evidence.facts["door"] = open_door(adapter, recorder, assembler, seen.model)
        _about_line(seen, error, assembler)
    evidence.facts["message"] = clean_message(error)


def _about_line(seen: Examined, error: BaseException, assembler: Assembler) -> None:
    adapter, facts, line = seen.adapter, seen.evidence.facts, error_line(error)
    assert adapter is not None
    facts["unconnected"] = unconnected(adapter, seen.recorder.ends)
    facts["uncalled"] = uncalled(adapter, seen.recorder, error)
    facts["breaking"] = breaking_layer(adapter, error)
    facts["undeclared"] = undeclared(adapter, seen.recorder)
    facts["last"] = last_call(seen.recorder, assembler.flow, assembler.ids, line)
    variable, raised = hear(words(error), HeardVariable), raised_at(error, adapter)
    # JAX says the same of a Keras variable and of a symbolic tensor.
    symbolic = variable is not None and not variable.attribute and raised is not None and not raised.variables and not raised.holders
    if symbolic or hear(words(error), HeardSymbolic) is not None:
        function = function_called(error)
        facts["symbolic"] = (function, ops_form(function, adapter.ops) if adapter.ops is not None else "")


def anew(recorder: Recorder) -> tuple[Any, Location | None] | None:
    """What every call of the program creates again, and the line."""
    return None if recorder.anew is None else (recorder.anew, location(recorder.anew.place))


def along(seen: Examined) -> list[tuple[str, str, int, bool]]:
    """Axes that operations run along: the operation's node, the edge, the axis, and whether the operation goes through it in order."""
    found = [(seen.call_ids.get(id(call)), seen.edge_ids.get((id(call), key)), axis, ordered) for call, key, axis, ordered in seen.recorder.along]
    return list(dict.fromkeys((node, edge, axis, ordered) for node, edge, axis, ordered in found if node and edge))


def scaled(seen: Examined) -> list[tuple[str, str, tuple[int, ...], Location | None, bool]]:
    """Noise without an axis for the samples, and what scales it: the operation's node, the edge of the other factor, the shape and the line of the draw, and ``one_key``."""
    found = [
        (seen.call_ids.get(id(call), ""), seen.edge_ids.get((id(call), key), ""), shape, location(place), one_key)
        for call, key, shape, place, one_key in seen.recorder.scaled
    ]
    return [one for one in found if one[0] and one[1]]


def single(seen: Examined) -> dict[tuple[str, int], float]:
    """Single numbers that operations are given, by the node and the place."""
    return {(seen.call_ids.get(id(call), ""), place): value for call, place, value in seen.recorder.single}


def beyond(seen: Examined) -> list[tuple[str, str, int, int]]:
    """Slices that reach beyond a tensor: the operation's node, the tensor's edge, the axis and the first place."""
    found = [(seen.call_ids.get(id(call), ""), seen.edge_ids.get((id(call), key), ""), axis, start) for call, key, axis, start in seen.recorder.beyond]
    return [one for one in found if one[0] and one[1]]


def hidden(seen: Examined) -> list[tuple[str, str, bool]]:
    """The nodes of softmaxes and of the comparisons that mask what they read, and whether what is left is where numbers are equal."""
    found = [(seen.call_ids.get(id(call), ""), seen.call_ids.get(id(mask), ""), (name == "eq") != true) for call, mask, name, true in seen.recorder.hidden]
    return [one for one in found if one[0] and one[1]]


def untrained(seen: Examined) -> list[tuple[str, str, str, Location | None, str]]:
    """Weights that no gradient reaches: the layer's node, the name, the operation that keeps it out, its line, and how."""
    adapter = seen.adapter
    assert adapter is not None
    owners: dict[int, str] = {}
    for call in seen.recorder.calls:
        for variable in adapter.own_variables(call.obj) if call.kind == "layer" else ():
            owners[id(variable)] = seen.call_ids.get(id(call), "")
    return [
        (owners.get(id(variable), ""), adapter.weight_name(variable), operation, location(place), kind)
        for variable, operation, place, kind in seen.recorder.untrained
    ]


def redrawn(recorder: Recorder) -> tuple[tuple[int, ...], Location | None, Location | None] | None:
    """Random numbers that were drawn before from the same key: their shape and both lines."""
    found = recorder.redrawn
    return None if found is None else (found[0], location(found[1]), location(found[2]))


def tracked(recorder: Recorder) -> tuple[Any, Any, Location | None] | None:
    """What the metric of the mean loss was given as values and as weights, and the line."""
    return None if recorder.tracked is None else (*recorder.tracked[:2], location(recorder.tracked[2]))


def with_growth(seen: Examined, rerun: Rerun | None = None) -> None:
    """Notes which axes of what the operation that broke was given carry the batch, and what the program made just before."""
    made = seen.recorder.inside
    seen.evidence.facts["made"] = type(made[-1][0]).__name__ if made else ""
    given = seen.evidence.given
    grows = broken(seen, rerun)
    if len(grows) == len(given):
        seen.evidence.given = [replace(one, grows=grown) for one, grown in zip(given, grows, strict=True)]


def given_to(recorder: Recorder, assembler: Assembler) -> list[Given]:
    """The arguments of the call that failed."""
    call = recorder.failed
    found = []
    for port in call.inputs if call is not None else ():
        source = assembler.source_of(port)
        like = assembler.source_of(replace(port, producer=port.like)) if source is None and port.like is not None else None
        nodes = [assembler.flow.node(one) if one is not None else None for one in (source, like)]
        found.append(Given(port.label, port.spec, nodes[0], like=nodes[1]))
    return found


def _drop_repeats(recorder: Recorder) -> None:
    """Keeps the last of calls that are the same call over again.

    Keras 3 calls all layers of a Sequential anew, on the same input, for each one that is added.
    """
    same: dict[Any, Call] = {}
    stands_for: dict[int, int] = {}
    for call in recorder.calls:
        if call.obj is None or call.kind != "layer":
            continue
        ends = tuple(stands_for.get(id(port.producer), id(port.producer)) for port in call.inputs)
        key = (id(call.obj), ends, stands_for.get(id(call.parent), id(call.parent)))
        first = same.setdefault(key, call)
        stands_for[id(call)] = id(first)
    last = {stands_for[id(call)]: call for call in recorder.calls if id(call) in stands_for}
    recorder.calls = [call for call in recorder.calls if id(call) not in stands_for or last[stands_for[id(call)]] is call]


def shortened(text: str, most: int = 40) -> str:
    """A source line as a name."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _unused_inputs(recorder: Recorder, adapter: Framework) -> None:
    made = [obj for obj in recorder.alive if isinstance(obj, adapter.InputLayer)] if not recorder.inputs and not recorder.calls else []
    # One whose constructor raised has no nodes to ask for.
    made = [layer for layer in made if getattr(layer, "_inbound_nodes", None)]
    recorder.inputs += [(Source(str(layer.name), "x"), layer, adapter.spec(layer.output)) for layer in made]


def _upstream_inputs(recorder: Recorder) -> list[tuple[Any, Spec]]:
    every = [(source, spec) for source, _, spec in recorder.inputs]
    seen: set[int] = set()
    pending = [recorder.failed] if recorder.failed is not None else []
    while pending:
        call = pending.pop()
        if call is None or id(call) in seen:
            continue
        seen.add(id(call))
        pending.extend(port.producer for port in getattr(call, "inputs", ()))
    return [pair for pair in every if id(pair[0]) in seen] or every


def _as_declared(sources: list[tuple[Source, Spec]]) -> list[Door]:
    return [Door(("x", source.name) if len(sources) > 1 else ("x",), source.name, spec) for source, spec in sources]


def _sure(seen: Examined, doors: list[Door]) -> list[tuple[Door, Leaf]]:
    """Which of the data's leaves are for these inputs beyond doubt, though no model was made.

    By name, where the data is a dict. Else for the one model that the builder makes: the one leaf for its one input, or
    each leaf for the only input of its shape.
    """
    if seen.sample is None:
        return []
    _, found = leaves(seen.sample.x, shape_of(seen), "x")
    by_name = {leaf.path[1:]: leaf for leaf in found}
    named = [(door, by_name[(door.name,)]) for door in doors if (door.name,) in by_name]
    if named:
        return named
    every = len(seen.recorder.inputs)
    models = sum(seen.adapter.is_model(obj) for obj in seen.recorder.alive) if seen.adapter is not None else 0
    made = makes(seen.program.model)
    if not len(doors) == len(found) == every or models > 1 or made.models != 1 or made.inputs > every:
        return []  # another model may be the one that the data is for
    if every == 1:
        return [(doors[0], found[0])]
    alike = [[door for door in doors if _of_shape(door.spec, leaf.spec)] for leaf in found]
    if all(len(some) == 1 for some in alike) and len({id(some[0]) for some in alike}) == every:
        return [(some[0], leaf) for some, leaf in zip(alike, found, strict=True)]
    return []


def _of_shape(declared: Spec, got: Spec) -> bool:
    return declared.shape is not None and got.shape is not None and None not in declared.shape[1:] and declared.shape[1:] == got.shape[1:]


def data_failed(seen: Examined, error: BaseException) -> None:
    """The data code raised: a failed source, and the declared model after it."""
    adapter = seen.adapter
    assembler = Assembler(adapter.name if adapter is not None else "")
    node = assembler.node(None, name="data", kind="stage", op="python", status="failed", location=error_line(error))
    node.failure = failure(error, "data")
    seen.evidence.where, seen.evidence.failure, seen.error = "data", error, error
    seen.evidence.facts["arrays"], seen.evidence.facts["classes"] = sliced_together(error), classes_beyond(error)
    seen.evidence.facts["lists"] = lists_apart(error)
    if adapter is not None and seen.model is not None:
        declare(seen.evidence, adapter.doors(seen.model) if adapter.is_model(seen.model) else None, seen.recorder)
    not_reached(assembler, seen, [])
    seen.evidence.flow = assembler.flow


def declare(evidence: Evidence, doors: list[Door] | None, recorder: Recorder, feeds: Feeds | None = None) -> None:
    """Enters the declared inputs, and the pairs that the framework makes of them and of the data."""
    evidence.declared = None if doors is None else [(door.path, door.spec) for door in doors]
    if doors is None:
        return
    made = {name: place for place, name in enumerate(_made(recorder))}
    for place, door in enumerate(doors):
        keys = door.path[1:] if door.keyed else (door.name,)
        evidence.doors[door.path] = Named(door.name, made.get(door.name, place), door.word, keys)
    if feeds is not None and feeds.known and not feeds.refused:
        evidence.feeds = [(door.path, leaf.path) for door, leaf in feeds.pairs]


def _made(recorder: Recorder) -> list[str]:
    layers = [obj for obj in recorder.alive if id(obj) in recorder.made and recorder.made[id(obj)].cls == "InputLayer"]
    layers = [layer for layer in layers if getattr(layer, "name", None)]
    return [str(layer.name) for layer in sorted(layers, key=lambda layer: recorder.made[id(layer)].ordinal)]
