"""What a model declares, and which leaf of the data feeds each of its inputs, as plain values for the rules."""

from __future__ import annotations

from ..trace.doors import Door, Feeds
from ..trace.recorder import Recorder
from .evidence import Door as Named
from .evidence import Evidence


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
    """The names of the inputs that were seen being made, in that order."""
    layers = [obj for obj in recorder.alive if id(obj) in recorder.made and recorder.made[id(obj)].cls == "InputLayer"]
    return [str(layer.name) for layer in sorted(layers, key=lambda layer: recorder.made[id(layer)].ordinal)]
