"""Candidates for a mesh of devices: names of axes, and as many places as devices."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.layouts import MeshAxes, MeshCount
from ..edits.expression import MODULE
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, of
from .line import Line, assigned_to, calls_of, lines_at, lines_of, listed


@of(MeshAxes)
def axis_names(evidence: Evidence, finding: Finding, fact: MeshAxes) -> Made:
    """The name of the axis that is most like the one that is written."""
    if not fact.near:
        return
    for line in _lines(evidence, fact):
        written = [one for one in nodes(line.source.tree, ast.Constant) if one.value == fact.got]
        # A layout may have been written on other lines than the one that uses it.
        found = [one for one in written if fact.batch or one.lineno == line.raised.line] or written
        if found and (not fact.batch or len(found) == 1):
            yield (
                f"Use the axis {fact.near!r} at line {found[0].lineno}",
                [line.edit(one, f'"{fact.near}"') for one in found],
                "The mesh has that axis.",
            )
        return


def _lines(evidence: Evidence, fact: MeshAxes) -> Iterator[Line]:
    """The line that raised; for what only fit reads, any line of the program's file."""
    if not fact.batch:
        yield from lines_of(evidence)[:1]
        return
    for node in evidence.flow.nodes:
        yield from lines_at(evidence, node.location or node.called)[:1]


@of(MeshCount)
def as_many(evidence: Evidence, finding: Finding, fact: MeshCount) -> Made:
    """The devices that Keras lists, a mesh with a place for each, or only as many devices as places."""
    for line, call in calls_of(evidence, "DeviceMesh"):
        given, shape = argument(call, "devices", ["shape", "axis_names", "devices"]), argument(call, "shape", ["shape"])
        asked = assigned_to(line, given) if given is not None else None
        if isinstance(asked, ast.Call) and called(asked) in ("devices", "local_devices") and not asked.args:
            new = f"{MODULE}.list_devices()"
            yield (
                f"Use keras.distribution.list_devices() at line {asked.lineno}",
                [line.edit(asked, new, "keras.distribution")],
                "It lists the devices of the slice that the program is planned for.",
            )
        if given is None or fact.devices <= fact.wanted:
            continue
        sizes = listed(assigned_to(line, shape)) if shape is not None else []
        if fact.devices % fact.wanted == 0 and sizes and isinstance(sizes[0], ast.Constant):
            first = fact.shape[0] * fact.devices // fact.wanted
            yield (
                f"Use all {fact.devices} devices at line {sizes[0].lineno}: {first} along the first axis",
                [line.edit(sizes[0], str(first))],
                "More devices then share the batch.",
            )
        yield (
            f"Use {fact.wanted} of the {fact.devices} devices at line {given.lineno}",
            [line.edit(given, f"{line.source.of(given)}[:{fact.wanted}]")],
            "The mesh has a place for each.",
        )
