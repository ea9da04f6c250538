"""The line below a traceback: only for shape and dtype errors."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from typing import TYPE_CHECKING, Any

from ..flow import DATA_EDITS, syntax
from ..flow.text import in_short, meaning, words
from ..report import Report
from ..views.naming import only_names
from .stepped import Stepped, stepped

# Messages of Keras, TensorFlow and NumPy about shapes or dtypes.
_OURS = re.compile(
    r"incompatible with the layer|[Ss]hapes? .*(incompatible|not aligned|mismatch|must)|must have (the same )?(shape|rank)|"
    r"[Dd]imensions? must (be equal|match)|[Dd]imension size|[Ii]ncompatible shapes|[Cc]annot reshape (array|a tensor)|total size of|"
    r"could not be broadcast|not broadcastable|expected (min_|max_)?ndim|expected axis|[Ii]nvalid (input )?shape|"
    r"must have rank|inhomogeneous shape|[Cc]ardinality is ambiguous|zero or negative|incompatible shape|"
    r"[Kk]ernel shape must|[Mm]atrix size-incompatible|logits and labels must|must be (broadcastable|compatible)|"
    r"[Ii]nvalid dtype|[Cc]annot cast|could not convert string|Unsupported (dtype|data type)|Cannot convert .* to .*dtype|"
    r"contracting dimensions|[Tt]racer value encountered|traced array|concatenate arrays with|partitioned \d+ times|"
    r"JAX arrays are immutable|outside the valid range|is not in \[0,|matmul: Input operand|same number of (dimensions|axes)|rank \d+"
)
# Messages that only NumPy uses; others may come from any ValueError.
_NUMPY = re.compile(
    r"^cannot reshape array of size|could not be broadcast together|^could not broadcast input array|^shapes .* not aligned|^matmul: Input operand|"
    r"^operands could not|^setting an array element with a sequence|inhomogeneous shape|^all the input array(s| dimensions)|"
    r"^all input arrays must have the same shape|^shape mismatch: |^axes don't match array|^total size of new array|"
    r"^boolean index did not match|^Cannot cast (ufunc|array)|^cannot select an axis to squeeze"
)
_FRAMEWORKS = ("tensorflow", "keras", "tf_keras", "jax")
# How TensorFlow names an operation of a graph that is being made.
_NODE = "{{node "
_TYPES = ("ValueError", "InvalidArgumentError", "TypeError", "UnimplementedError", "FailedPreconditionError")


def is_ours(error: BaseException) -> bool:
    """Whether an exception looks like a shape or dtype error."""
    from ..trace.recorder import unmasked

    error = unmasked(error)
    return any(base.__name__ in _TYPES for base in type(error).__mro__) and bool(_OURS.search(str(error)) or _NUMPY.search(str(error)))


# Slips of the program's own text, wherever they are raised.
_SLIPS = (NameError, ImportError, SyntaxError)


def has_part(error: BaseException, recorder: Any = None) -> bool:
    """Whether it was raised where shapes are at work: by a layer, a loss or an operation that was called, in ``fit``, or on a symbolic tensor.

    ``recorder``: what was recorded while it was raised, where that is not the notebook's own.
    """
    from ..trace.recorder import unmasked

    error = unmasked(error)
    if isinstance(error, _SLIPS) or "jupyter_tpushape.trace.hooks" not in sys.modules:
        return False
    from ..trace.aftermath import attempted, kept, on_symbolic
    from ..trace.recorder import caused

    failed = getattr(recorder, "failed", None)
    if failed is not None and (failed.failure is error or caused(error, failed.failure)):
        return True
    return kept(error) is not None or attempted(error) is not None or in_graph(error) or on_symbolic(error)


def in_graph(error: BaseException) -> bool:
    """Whether an operation raised on a tensor of a graph that was being made, as in a ``tf.function`` or the function of a ``map()``."""
    return _NODE in words(error)


def hint_for(error: BaseException) -> str:
    """One sentence about an exception."""
    if not is_ours(error) and not has_part(error) and not _in_step(error):
        return of_message(error)
    report = report_for(error, fixes=False)
    finding = next((item for item in report.findings if item.serious), None) if report is not None else None
    if finding is not None and report is not None and not finding.nodes and finding.rule == "code-raises":
        # A line of the user's own that raises in a call of fit, such as a callback's, says what it wants to say.
        return f"Shapes and dtypes match, but this call raises an error. ({finding.location})" if _by_framework(error) else ""
    if finding is not None:
        where = "" if finding.location is None or str(finding.location) in str(finding) else f" ({finding.location})"
        return f"{finding}{where}"
    return of_message(error) or _of_line(error)


def _in_step(error: BaseException) -> bool:
    """Whether a framework raised it in a function of the user's that was called with batches, which can be traced."""
    from ..trace.recorder import unmasked

    error = unmasked(error)
    return "jupyter_tpushape.trace.hooks" in sys.modules and _by_framework(error) and not isinstance(error, _SLIPS) and stepped(error) is not None


def of_message(error: BaseException) -> str:
    """What a framework's message alone tells, where no layer, loss or operation was called, such as that of weights which do not fit."""
    if not _by_framework(error) or isinstance(error, _SLIPS) or "jupyter_tpushape.trace.hooks" not in sys.modules:
        return ""
    finding = next((one for one in report_of_code(error).findings if one.serious), None)
    if finding is None or finding.rule == "code-raises":
        return ""
    return f"{finding} ({finding.location})" if finding.location is not None else str(finding)


def report_for(error: BaseException, *, fixes: bool = True) -> Report | None:
    """The flow of a failure: the training call traced again, or the layer that raised."""
    if "jupyter_tpushape.trace.hooks" not in sys.modules:
        return None
    from ..diagnose import trace
    from ..examine import HANDED
    from ..trace.aftermath import attempted, kept
    from ..trace.recorder import unmasked
    from ..watch import report_of
    from .hint import report_of_held

    attempt = attempted(error)
    if attempt is not None:
        token = HANDED.set(attempt.where)
        try:
            report = trace(attempt.model, attempt.data, tpu=None, batch_size=attempt.batch_size, fixes=fixes)
        finally:
            HANDED.reset(token)
        if raises(report):
            return report
        held = report_of_held(attempt, fixes=fixes)
        if held is not None and raises(held):
            return held
    loop = stepped(unmasked(error)) if attempt is None else None
    if loop is not None:
        of_loop = _of_loop(loop, fixes)
        if of_loop is not None and raises(of_loop):
            return of_loop
    recorder = kept(error)
    if recorder is not None:
        return report_of(recorder, unmasked(error))
    if attempt is None:
        return None
    # What raised comes first, also where the program has another fault that raises nothing.
    raised = next(one for one in report_of_code(error).findings if one.serious)
    raised.nodes = raised.edges = ()
    report.findings.insert(0, raised)
    return report


def _of_loop(loop: Stepped, fixes: bool) -> Report | None:
    from ..diagnose import trace
    from ..examine import HANDED, BadProgram
    from ..trace.locations import Variables

    token = HANDED.set(Variables.typed(loop.file, loop.typed) if loop.typed else None)
    try:
        return trace(loop.step, loop.data, loss=loop.loss, tpu=None, fixes=fixes)
    except BadProgram:
        return None
    finally:
        HANDED.reset(token)


def raises(report: Report) -> bool:
    """Whether a report has a problem that raises an error, on any device."""
    return any(one.severity in ("error", "tpu") for one in report.findings)


def report_of_code(error: BaseException) -> Report:
    """A failure without a layer: the line that raised."""
    from ..trace.recorder import Recorder
    from ..watch import report_of

    return report_of(Recorder(), error)


def _of_line(error: BaseException) -> str:
    from ..examine import error_line
    from ..trace.assemble import clean_message

    if not _NUMPY.search(str(error)) and not _by_framework(error) and not has_part(error):
        return ""
    where = error_line(error)
    if where is None:
        return ""
    said = next((line.strip() for line in clean_message(error).splitlines() if line.strip()), meaning(error))
    text = f", `{where.text}`" if where.text else ""
    what = "Shapes do not match" if is_ours(error) else "An operation raises an error"
    return f"{what} at {where}{text}: {in_short(said)[:200].rstrip('.')}."


def _by_framework(error: BaseException) -> bool:
    trace, raised = error.__traceback__, None
    while trace is not None:
        raised, trace = trace.tb_frame, trace.tb_next
    return raised is not None and str(raised.f_globals.get("__name__", "")).split(".")[0] in _FRAMEWORKS


if TYPE_CHECKING:
    from ..trace.aftermath import Attempt

# Training data has what this would put in or leave out.
_ELSE = frozenset({"pad_axis", "crop_axis"})


def report_of_held(attempt: Attempt, *, fixes: bool) -> Report | None:
    """The report of the model on ``validation_data``."""
    if attempt.held is None:
        return None
    from ..diagnose import trace
    from ..examine import HANDED
    from ..rules.facts.training import HeldBack
    from ..trace.locations import Variables

    typed = _typed(attempt.where) if attempt.where is not None else ""
    token = HANDED.set(Variables.typed(attempt.where[0], typed, getattr(attempt.where, "names", None)) if attempt.where is not None and typed else None)
    try:
        report = trace(attempt.model, attempt.held, tpu=None, batch_size=attempt.batch_size, fixes=fixes and bool(typed))
    finally:
        HANDED.reset(token)
    # A fix of the model would be judged by the held data alone, and break what trains.
    for finding in report.findings:
        finding.fixes = [
            fix for fix in finding.fixes if fix.verified and all(edit.kind in DATA_EDITS and edit.detail.get("op") not in _ELSE for edit in fix.edits)
        ]
        if finding.severity == "error":
            finding.add(HeldBack())
    return report


def _typed(where: tuple[str, int]) -> str:
    """What stands for ``validation_data`` in the call at a line, where it is made of names."""
    try:
        tree = syntax.parse("".join(linecache.getlines(where[0])))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.lineno <= where[1] <= (node.end_lineno or node.lineno):
            given = next((part.value for part in node.keywords if part.arg == "validation_data"), None)
            if given is not None and only_names(given):
                return ast.unparse(given)
    return ""
