"""Candidates for whose scope things are made in, how the model is compiled, and for the names and places of a mesh."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from ...examine.evidence import Evidence
from ...flow import Finding
from ...flow.syntax import called
from ...rules.facts.layouts import MeshAxes, MeshCount
from ...rules.facts.tpu_scope import OptimizerStale
from ...rules.facts.transforms import PartitionTooLong
from ..edits import CompileArgument, CompiledAgain, FreshOptimizer, InScope, SetFirst
from ..edits.expression import MODULE
from ..text.arguments import argument
from ..text.source import nodes
from .edits import Made, of
from .line import Line, assigned_to, calls_of, lines_at, lines_of, listed


def in_scope(evidence: Evidence, finding: Finding) -> Made:
    """Model, optimizer and metrics made in the strategy's scope."""
    yield ("Build and compile inside strategy.scope()", [InScope("model")], "Variables are replicated only if they are created inside the scope.")


def set_first(evidence: Evidence, finding: Finding) -> Made:
    """The distribution set before anything is built, or all of it built in its scope."""
    if getattr(finding.fact, "scoped", False):
        yield ("Build the model in the scope of the distribution", [InScope("model")], "Keras places a variable when it is created.")
        return
    yield ("Set the distribution before the model is built", [SetFirst("model")], "Keras places a variable when it is created.")


def fresh_optimizer(evidence: Evidence, finding: Finding) -> Made:
    """An optimizer of the model's own."""
    yield ("Give the model a separate optimizer", [FreshOptimizer("compile")], "An optimizer stores state for the variables that it was built for.")


@of(OptimizerStale)
def compiled_again(evidence: Evidence, finding: Finding, fact: OptimizerStale) -> Made:
    """A new optimizer for the variables that are trainable now."""
    yield (
        "Compile again after the layers are frozen or unfrozen",
        [CompiledAgain("compile")],
        "The optimizer starts from new state for the variables that are trainable then.",
    )


def not_eagerly(evidence: Evidence, finding: Finding) -> Made:
    """Compiled steps."""
    yield ("Compile without run_eagerly", [CompileArgument("compile", "run_eagerly", False)], "TPUs run compiled programs only.")


def jit_auto(evidence: Evidence, finding: Finding) -> Made:
    """Keras decides about XLA."""
    yield ('Set jit_compile="auto"', [CompileArgument("compile", "jit_compile", "auto")], "TPUs compile the step anyway.")


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
            yield (f"Use the axis {fact.near!r} at line {found[0].lineno}", [line.edit(one, f'"{fact.near}"') for one in found], "The mesh has that axis.")
        return


@of(PartitionTooLong)
def as_many_entries(evidence: Evidence, finding: Finding, fact: PartitionTooLong) -> Made:
    """A partition without as many of the entries that shard nothing as the tensor has fewer axes."""
    more = len(fact.entries) - fact.rank
    for line in lines_of(evidence)[:1]:
        # JAX says one name where a tuple holds it alone.
        written = [
            one
            for one in nodes(line.source.tree, ast.Call)
            if tuple(ast.unparse(arg.elts[0] if len(listed(arg)) == 1 else arg) for arg in one.args) == fact.entries
        ]
        here = [one for one in written if one.lineno <= line.raised.line <= (one.end_lineno or 0)] or written
        open_ones = [i for i, entry in enumerate(fact.entries) if entry == "None"]
        ways = itertools.combinations(open_ones, more) if len(here) == 1 else ()
        kept = {", ".join(line.source.of(arg) for i, arg in enumerate(here[0].args) if i not in out) for out in ways}
        for text in sorted(f"{line.source.of(here[0].func)}({entries})" for entries in kept):
            yield (
                f"Use {text} at line {here[0].lineno}",
                [line.edit(here[0], text, choice="entry")],
                f"The tensor has {fact.rank} axes, and None shards nothing.",
            )


def _lines(evidence: Evidence, fact: MeshAxes) -> Iterator[Line]:
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
