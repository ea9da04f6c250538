"""What a trace recorded beside its calls, as facts: results that are lost, weights that are not trained, random numbers, state that is kept, or that a metric does not keep."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..flow import Location
from ..flow.syntax import called, loaded
from ..internal import contained
from ..trace.frozen import Frozen
from ..trace.locations import defined, is_user_file, location
from ..trace.ran import Run
from .breaks import along, beyond, hidden, redrawn, scaled, single, untrained
from .dead_names import unused_results
from .given_names import Texts
from .program import Examined


@dataclass(frozen=True)
class FrozenMethod:
    """The method ``function`` of ``cls``, at ``place``, that has the weights of ``layers`` as constants; ``alone``: the loss reads no weight at all."""

    node: str
    cls: str
    function: str
    layers: tuple[str, ...]
    place: Location | None
    alone: bool


def _method(seen: Examined, found: Frozen) -> FrozenMethod:
    alone = seen.run is not None and seen.run.cut == []
    node, cls = seen.call_ids.get(id(found.call), ""), type(found.call.obj).__name__
    return FrozenMethod(node, cls, found.function, found.layers, location(found.place), alone)


def recorded(seen: Examined, traced: Run) -> None:
    """Adds the facts to the evidence."""
    evidence = seen.evidence
    if traced.cut is not None and seen.program.training:
        evidence.facts["cut"] = [(op, seen.call_ids.get(id(call), "")) for op, call in traced.cut]
    elif seen.recorder.weightless and not traced.fast and seen.program.training and "train_step" not in evidence.facts.get("overrides", ()):
        evidence.facts["cut"] = []
    if traced.error is None:
        with contained(seen.limits, "the results that nothing uses"):
            evidence.facts["unused"] = unused_results(seen)
        with contained(seen.limits, "what metrics keep"):
            evidence.facts["kept_alone"] = kept_alone(seen)
        evidence.facts["outside"] = [seen.call_ids[id(one)] for one in traced.outside if id(one) in seen.call_ids]
        evidence.facts["frozen"] = [_method(seen, one) for one in traced.frozen]
    evidence.facts["along"], evidence.facts["redrawn"] = along(seen), redrawn(seen.recorder)
    evidence.facts["scaled"], evidence.facts["beyond"], evidence.facts["single"] = scaled(seen), beyond(seen), single(seen)
    evidence.facts["hidden"] = hidden(seen)
    makers = [(call, layer, place, seen.recorder.producers.get(key)) for call, layer, spec, place, key in seen.recorder.added if spec.shape == ()]
    evidence.facts["added_numbers"] = [
        (seen.call_ids.get(id(call), ""), str(getattr(layer, "name", "")), seen.call_ids.get(id(maker), ""), location(place))
        for call, layer, place, maker in makers
    ]
    evidence.facts["stopped"] = {name for one, name in seen.call_ids.items() if one in seen.recorder.stopped}
    evidence.facts["untrained"] = untrained(seen) if seen.program.training else []
    evidence.facts["traps"] = [(one.kind, one.operation, location(one.place), one.detail, one.numbers) for one in seen.recorder.traps]
    evidence.facts["measured"] = [(name, location(place)) for name, place in seen.recorder.measured]
    evidence.facts["unmasked"] = [seen.call_ids[id(one)] for one in seen.recorder.calls if one.drops_mask and id(one) in seen.call_ids]
    # A seed that only the first call creates is kept, and changes.
    again = seen.recorder.anew is not None
    evidence.facts["drawn"] = [(shape, location(place), renewed) for shape, place, renewed in seen.recorder.drawn if again or not renewed]
    evidence.facts["host_drawn"] = location(seen.recorder.host_drawn)
    evidence.facts["returned"] = [(str(one.name), location(defined(type(one).result))) for one in seen.recorder.returned]
    evidence.facts["leaked"] = location(seen.recorder.leaked)
    # Where the program breaks as well, nothing else may be told of the leak.
    told = seen.recorder.leaked is not None and (traced.error is None or bool(seen.recorder.kept))
    behind = seen.recorder.calls[seen.recorder.leaked_at :] if told else []
    evidence.facts["refused_before"] = frozenset(seen.call_ids[id(call)] for call in behind if id(call) in seen.call_ids)
    evidence.facts["underived"] = seen.call_ids.get(id(seen.recorder.endless))
    evidence.facts["kept"] = [
        (one.owner, one.attribute, one.random, one.leaked, one.inner, one.holder, location(one.place), one.outside) for one in seen.recorder.kept
    ]


# What a class calls itself if it is meant to keep nothing else.
_MEANT = ("last", "current", "latest", "recent", "batch")


def kept_alone(seen: Examined) -> list[tuple[str, str, tuple[str, ...], Location | None]]:
    """Metrics whose whole state is assigned from each batch, and not read: name, class, states, and the first line."""
    found = {}
    for call in seen.recorder.calls:
        update = vars(type(call.obj)).get("update_state") if call.kind == "metric" else None
        file, _ = (defined(update) if update is not None else None) or ("", 0)
        tree, name = Texts.of(file).tree(file) if file and is_user_file(file) else None, type(call.obj).__name__
        for cls in ast.walk(tree) if tree is not None else ():
            states, line = _states(cls) if isinstance(cls, ast.ClassDef) and cls.name == name else ((), 0)
            if states and not any(word in f"{name} {call.name} {' '.join(states)}".lower() for word in _MEANT):
                found[name] = (str(call.name), name, states, location((file, line)))
    return list(found.values())


def _states(cls: ast.ClassDef) -> tuple[tuple[str, ...], int]:
    methods = {item.name: item for item in cls.body if isinstance(item, ast.FunctionDef)}
    update, result = methods.get("update_state"), methods.pop("result", None)
    if update is None or result is None or any(isinstance(item, (ast.If, ast.For, ast.While)) for item in ast.walk(update)):
        return (), 0
    calls = [item for item in ast.walk(update) if isinstance(item, ast.Call) and called(item).startswith("assign")]
    states = tuple(ast.unparse(item.func).removesuffix(".assign") for item in calls)
    own = {item.arg for item in update.args.args[1:3]}
    for item in ast.walk(update):
        if isinstance(item, ast.Assign) and loaded(item.value) & own:
            own |= loaded(item)
    # Each is written here once, and read by the result alone.
    others = " ".join(ast.unparse(item) for name, item in methods.items() if name != "__init__" and not name.startswith("reset_"))
    once = all(state.startswith("self.") and others.count(state) == 1 and state in ast.unparse(result) for state in states)
    return (states, calls[0].lineno) if calls and once and all(loaded(call.args[0]) & own for call in calls if call.args) else ((), 0)
