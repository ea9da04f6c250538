"""From a model and its data to a report. The only module that knows the order of the steps."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import FrameType
from typing import Any

from .examine import HANDED, BadProgram, Examined, Program, examine, on_own_mesh, strategy_of_step
from .flow import Finding, Flow, Target, Verdict
from .flow.sound import MOST_SIZE
from .flow.wire import About
from .internal import contained, strict, unreadable
from .report import Report, Subject
from .rules import run_rules
from .rules.behind import behind
from .rules.facts.mixing import FixedBatch
from .rules.facts.tpu_batch import ShareOnly
from .rules.half_built import half_built
from .sources.belongings import Belongings
from .sources.state import in_graph
from .trace.axes import name_axes
from .trace.frameworks import backend_of
from .trace.locations import is_ours, user_frame
from .trace.patience import TimeUp, limited, timed_out
from .trace.reach import is_step, plain
from .trace.restore import uncollected
from .trace.turns import Training, turn

# Whether fixes are being tried: a script that asks for a trace at its top level is run with each of them.
_TRYING: ContextVar[bool] = ContextVar("trying", default=False)


def trace(
    model: Any,
    data: Any = None,
    *,
    tpu: str | None = "auto",
    strategy: Any = None,
    batch_size: int | None = None,
    loss: Any = None,
    training: bool = True,
    batches: int = 3,
    fixes: bool = True,
    compiler: str | None = None,
    compile_timeout: float | None = None,
    compile_effort: str | None = None,
    compile_batches: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Traces a model symbolically on its data, and reports where shapes do not match, why, and verified fixes.

    Tracing computes no values and changes nothing: weights, built state, optimizer, random states and
    dataset stay the same, even if the program fails.

    Args:
        model: a Keras 3 or tf_keras model or layer, a function without arguments that builds one, or a training step: a function of
            a batch, a ``tf.function``, or a function that calls ``strategy.run``. Of a training step, tpushape traces one replica's program.
        data: anything that ``fit`` accepts, specs instead of data, or a function without arguments that returns it.
        tpu: a TPU slice such as ``"v5e-8"``; ``"auto"``: the live strategy, or ``v5e-8`` without one; ``None``: no target.
        strategy: a live ``tf.distribute`` strategy, or a ``keras.distribution`` for Keras on JAX, instead of a planned slice. With
            both, ``tpu`` is the slice that the distribution's mesh is planned for.
        batch_size: batch size for arrays, in rows; the default is that of ``fit``, 32.
        loss: a loss to trace instead of the compiled one.
        training: whether to call layers with ``training=True``.
        batches: the maximum number of batches to sample.
        fixes: whether to search for fixes and try them.
        compiler: ``"xla"`` or ``"tpu"`` to compile the program too.
        compile_timeout: time limit for one TPU compilation, in seconds; the default is 120.
        compile_effort: ``"quick"`` (the default) or ``"full"``, which takes longer and reports the memory use of a real TPU run.
        compile_batches: whether to compile other batch sizes for the TPU too, up to the largest that compiles: up to 16
            compilations, which the report plots as memory by batch size.
        progress: called with one line of text when a step takes longer than a second.

    Returns:
        A report; ``report.ok`` is true if there is no serious problem.

    Raises:
        BadProgram: if the model or the data cannot be traced; the message says what to pass.
        ValueError: for an unknown target, compiler or effort, or a time limit that is not positive.

    Example::

        report = tpushape.trace(model, (x, y), tpu="v5e-8")
        print(report)
    """
    start = time.perf_counter()
    if compiler not in (None, "xla", "tpu"):
        raise ValueError(f'Unknown compiler {compiler!r}: expected None, "xla" or "tpu".')
    if compile_batches and compiler != "tpu":
        raise ValueError('compile_batches needs the TPU compiler: use compiler="tpu" (--compile tpu) as well.')
    limits = None
    if compiler is not None or compile_timeout is not None or compile_effort is not None:
        from .compilers.process import limits as read

        limits = read(compile_timeout, compile_effort)
    if in_graph():
        raise BadProgram("TensorFlow is in graph mode (tf.Graph, or tf.compat.v1.disable_eager_execution), where models cannot be traced: trace outside of it.")
    step = is_step(model)
    if step and strategy is None and tpu not in (None, "none"):
        # A step that names its strategy is one of that strategy's.
        strategy = strategy_of_step(model)
    target, live = _target(tpu, strategy)
    handed = HANDED.get() or user_frame(depth=2, outer=True)
    program = Program(model, data, target, live, batch_size, loss, training, batches, progress, handed=handed, assumed=tpu == "auto")
    try:
        with turn(model):
            report = _report(program, fixes, compiler, limits, compile_batches, start)
    except Training:
        raise BadProgram("Another thread is training this model: trace it after training has ended, or trace a separate model.") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # What is no Exception would go through whoever called, and end a kernel.
        said = "" if strict() and isinstance(error, Exception) else unreadable(error)
        if said:
            raise BadProgram(said) from error
        raise
    report.subject = Subject(model, data)
    names = report.subject.called(*_namespaces(sys._getframe(1), handed))
    report.about = About(*names, backend_of(report.flow.framework), report.subject.when)
    return report


# Called inside of a tf.function, it runs as it stands: AutoGraph would rewrite this whole package, for half a minute and with warnings.
trace.__dict__["autograph_info__"] = {}


def _namespaces(caller: FrameType, handed: Any) -> list[Mapping[str, Any]]:
    """Where the user's names for model and data are: in the calling function, or in the module of the user's line behind ours."""
    if not is_ours(caller.f_code.co_filename):
        return [caller.f_locals, caller.f_globals]
    return [names] if (names := getattr(handed, "names", None)) else []


def _report(program: Program, fixes: bool, compiler: str | None, limits: Any, compile_batches: bool, start: float) -> Report:
    try:
        # An object may answer to any name, or never answer.
        with limited("An attribute of the model or the data"):
            belongings = Belongings(program.model, program.data)
    except TimeUp as late:
        raise BadProgram(f"{late}.") from None
    try:
        return _looked(program, belongings, fixes, compiler, limits, compile_batches, start)
    finally:
        belongings.give_back()


def _looked(program: Program, belongings: Belongings, fixes: bool, compiler: str | None, limits: Any, compile_batches: bool, start: float) -> Report:
    seen = examine(program)
    _possible(seen.evidence.flow)
    if program.strategy is None:
        seen = on_own_mesh(seen)
        program = seen.program
    seen.evidence.facts["lost"] = belongings.give_back()
    with uncollected():
        name_axes(seen.evidence.flow)
        findings = run_rules(seen.evidence, seen.limits)
    hidden = any(isinstance(finding.fact, FixedBatch) and finding.fact.batch == 1 for finding in findings)
    if hidden or (seen.evidence.where in ("call", "loss", "metric") and seen.one_row() and not timed_out(seen.error)):
        seen, findings = _with_several(program, seen, findings)
        program = seen.program
    if program.target is not None and not program.several and seen.evidence.where in ("call", "loss", "metric") and not timed_out(seen.error):
        anywhere = _only_on_target(program.with_(data=seen.data, sample=seen.sample), findings, program.target)
        findings[:0] = _at_home(anywhere, seen.evidence.flow)
    laid = any(finding.rule.startswith(("layout-", "mesh-axis-")) for finding in findings)  # mended also where they are no more than a note
    if fixes and not _TRYING.get() and not timed_out(seen.error) and (laid or any(finding.serious for finding in findings)):
        from .repair import mend, propose

        token = _TRYING.set(True)
        try:
            with contained(seen.limits, "fixes"):
                if any(finding.serious for finding in findings):
                    propose(seen, findings)
                mend(seen, findings)
        finally:
            _TRYING.reset(token)
    if not _TRYING.get() and not is_step(program.model) and not timed_out(seen.error):
        with contained(seen.limits, "faults that the first one hides"):
            findings += _at_home(behind(seen, findings), seen.evidence.flow)
        findings = half_built(seen.evidence, findings)
    verdicts: list[Verdict] = []
    if compiler is not None:
        from .compilers import verdicts as ask

        verdicts, more = ask(seen, compiler, program.progress, limits, fixes, compile_batches)
        findings += more
    report = Report(
        seen.evidence.flow, findings, target=program.target, verdicts=verdicts, title=_title(seen),
        seconds=time.perf_counter() - start, limits=tuple(seen.limits),
    )  # fmt: skip
    report.replacement = getattr(seen.sample, "replacement", None)
    return report


def _possible(flow: Flow) -> None:
    """No variable has more elements than 64 bits count: a trace gives it no memory, but everything else refuses it.

    Raises:
        BadProgram: where a layer has one.
    """
    for node in flow.nodes:
        for weight in node.weights:
            if math.prod(size for size in weight.shape or () if size) > MOST_SIZE:
                raise BadProgram(
                    f"{node.name} has the weight {weight.name} of the shape {str(weight.shape)[:80]}, which has more elements than a tensor can have."
                )


def _with_several(program: Program, seen: Examined, findings: list[Finding]) -> tuple[Examined, list[Finding]]:
    """The look with the whole batch on each replica, where only one of the two breaks, and the whole batch has a fault: one row hides it, or shows another."""
    again = examine(program.with_(several=True, data=seen.data, sample=seen.sample))
    if (again.error is None) is (seen.error is None):
        return seen, findings
    # A fix changes the function that makes the data.
    again.program = program.with_(several=True)
    again.evidence.facts["lost"] = seen.evidence.facts["lost"]
    name_axes(again.evidence.flow)
    found = run_rules(again.evidence, again.limits)
    return (again, found) if any(finding.serious for finding in found) else (seen, findings)


def _at_home(findings: list[Finding], flow: Flow) -> list[Finding]:
    nodes, edges = {node.id for node in flow.nodes}, {edge.id for edge in flow.edges}
    for finding in findings:
        finding.nodes = tuple(name for name in finding.nodes if name in nodes)
        finding.edges = tuple(name for name in finding.edges if name in edges)
    return findings


def _only_on_target(program: Program, findings: list[Finding], target: Target) -> list[Finding]:
    """What breaks with one replica's share and holds with the whole batch is the target's doing. Returned: what raises without a target, too."""
    whole = examine(program.with_(target=None, strategy=None))
    if whole.error is not None:
        return []
    for finding in findings:
        if finding.severity == "error":
            finding.severity = "tpu"
            finding.add(ShareOnly(target.replicas))
    return [finding for finding in run_rules(whole.evidence, whole.limits) if finding.severity == "error"]


def _target(tpu: str | None, strategy: Any) -> tuple[Target | None, Any]:
    from . import replicas

    if replicas.is_distribution(strategy):
        return replicas.of_distribution(strategy, tpu if tpu not in (None, "none", "auto") else None), strategy
    if strategy is not None:
        return replicas.of_strategy(strategy), strategy
    if tpu is None or tpu == "none":
        return None, None
    if tpu == "auto":
        live = replicas.live_strategy()
        if live is not None:
            return replicas.of_strategy(live), live
        live = replicas.live_distribution()
        if live is not None:
            return replicas.of_distribution(live), live
        return replicas.target("v5e-8"), None
    return replicas.target(tpu), None


def _title(seen: Examined) -> str:
    if seen.model is not None:
        return f"{type(seen.model).__name__} {getattr(seen.model, 'name', '')}".strip()
    return str(getattr(plain(seen.program.model), "__name__", "") or "model")


__all__ = ["BadProgram", "trace"]
