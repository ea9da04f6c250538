"""What a call is handed that it does not take so: options by place, numbers that are too large, one sample without its batch."""

from __future__ import annotations

from collections.abc import Iterator

from ..examine.evidence import Evidence
from ..examine.heard import HeardRank, hear
from ..examine.heard_contracts import HeardByPlace, HeardInput, HeardTooLarge
from ..examine.heard_lines import HeardNoMethod, HeardNoValue
from ..examine.returns import Silent
from ..examine.step_parts import StepParts
from ..flow import Fact, Finding, Node, Who
from ..trace.locations import location
from .facts.calls import ByPlace, ClassForObject, LeakedOut, NothingReturned, NumberTooLarge, OverrideLacks, PartsApart, VariableReturned
from .facts.entry import Door, Misfit
from .facts.held import InitialShape
from .facts.lines import OF_ARRAYS, OF_TORCH, NoMethod
from .facts.mesh import ValueAsked
from .facts.transforms import OneMapped
from .registry import check
from .tpu_batch import never_batched


def handed_over(evidence: Evidence, node: Node, known: bool = True) -> tuple[str, Fact] | None:
    """Arguments by place that are no tensors, or a number that does not fit into the integers of the backend; ``known``: by a call in sight."""
    rule = "layer-raises" if node.kind == "layer" else "code-raises"
    place = evidence.facts.get("by_place")
    if hear(node.failure, HeardByPlace) is not None and (place or not known):
        return rule, ByPlace(*(place or ("",)))
    large = hear(node.failure, HeardTooLarge)
    return (rule, NumberTooLarge(large.value)) if large is not None else None


def overriding_finding(evidence: Evidence) -> Finding | None:
    """A method of the user's that does not take what the framework passes to it, an initializer that returns another shape than asked, or a layer
    that is called on one sample, by a mapped function or because nothing batches the data."""
    lacking, initial = evidence.facts.get("overridden"), evidence.facts.get("initial")
    nodes = (evidence.failed.id,) if evidence.failed is not None else ()
    parts: StepParts | None = evidence.facts.get("step_takes")
    if parts is not None and evidence.failure is not None:
        apart = PartsApart(parts.function, parts.data, parts.target, parts.given)
        return Finding.of("code-raises", "error", apart, nodes, location=location(parts.place))
    nothing: Silent | None = evidence.facts.get("returns_nothing")
    if nothing is not None:
        fact = NothingReturned(nothing.function, nothing.value, nothing.unless)
        return Finding.of("code-raises", "error", fact, nodes, location=location(nothing.place))
    unmade = evidence.facts.get("unmade")
    if unmade is not None and evidence.raised is not None:
        where = location((evidence.raised.file, evidence.raised.line))
        return Finding.of("code-raises", "error", ClassForObject(*unmade), nodes, location=where)
    asked = hear(evidence.failure, HeardNoValue)
    if asked is not None and asked.method and evidence.raised is not None and evidence.where != "data":
        where = location((evidence.raised.file, evidence.raised.line))
        failure = evidence.failed.failure if evidence.failed is not None else None
        return Finding.of("symbolic-tensor", "error", ValueAsked("array", failure.said if failure else ""), nodes, location=where)
    method = hear(evidence.failure, HeardNoMethod)
    if method is not None and method.name in OF_ARRAYS | OF_TORCH and evidence.raised is not None and evidence.where != "data":
        where = location((evidence.raised.file, evidence.raised.line))
        return Finding.of("code-raises", "error", NoMethod(method.name), nodes, location=where)
    if evidence.failure is not None and initial is not None and evidence.failed is not None:
        name, want, got, where = initial
        return Finding.of("layer-raises", "error", InitialShape(Who.of(evidence.failed), name, want, got), nodes, location=where)
    mapped, rank, door = evidence.facts.get("mapped"), hear(evidence.failure, HeardRank), hear(evidence.failure, HeardInput)
    if mapped is not None and evidence.raised is not None:
        layer, shape = mapped
        wanted = rank.wanted if rank is not None else len(door.wanted) if door is not None else 0
        if wanted > len(shape):
            where = location((evidence.raised.file, evidence.raised.line))
            return Finding.of("layer-raises", "error", OneMapped(layer, shape, wanted), nodes, location=where)
    fed = evidence.failure is not None and evidence.where not in ("data", "build") and bool(evidence.x)
    if fed and not evidence.declared and never_batched(evidence):
        x, leaf = evidence.x[0][1], next(leaf for _, leaf in evidence.sample.leaves("x"))
        one = Door("", (None, *(leaf.shape or ())), x.dtype)
        return Finding.of("missing-batch-axis", "error", Misfit("sample", one, leaf.shape or (), pipeline=True), nodes)
    if lacking is None or evidence.failure is None:
        return None
    function, lacks, where = lacking
    return Finding.of("code-raises", "error", OverrideLacks(function, lacks), nodes, location=where)


@check(order=19)
def overriding(evidence: Evidence) -> Iterator[Finding]:
    """Methods that override one of the framework's with fewer parameters."""
    finding = overriding_finding(evidence)
    if finding is not None:
        yield finding


@check(order=19, backend="jax")
def returned(evidence: Evidence) -> Iterator[Finding]:
    """Metrics whose result is one of their variables."""
    for metric, where in evidence.facts.get("returned", ()) if evidence.failure is None else ():
        nodes = tuple(node.id for node in evidence.flow.nodes if node.kind == "metric" and node.name == metric)[:1]
        yield Finding.of("variable-as-tensor", "error", VariableReturned(metric), nodes, location=where)


@check(order=19, backend="jax")
def leaked(evidence: Evidence) -> Iterator[Finding]:
    """Tensors of a function that JAX traces by itself, used where its trace is over."""
    where = evidence.facts.get("leaked")
    # An attribute that keeps a tensor of another trace is told by its own line.
    if where is not None and evidence.failure is None and not evidence.facts.get("kept"):
        yield Finding.of("state-lost", "error", LeakedOut(), location=where)
