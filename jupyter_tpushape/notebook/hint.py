"""The line under a traceback: only for shape and dtype faults, in plain words."""

from __future__ import annotations

import re
import sys
from typing import Any

from ..flow import Finding, Report

# What Keras, TensorFlow and NumPy say when shapes or dtypes part.
_OURS = re.compile(
    r"incompatible with the layer|[Ss]hapes? .*(incompatible|not aligned|mismatch|must)|must have (the same )?(shape|rank)|"
    r"[Dd]imensions? must (be equal|match)|[Dd]imension size|[Ii]ncompatible shapes|cannot reshape array|total size of|"
    r"could not be broadcast|not broadcastable|expected (min_|max_)?ndim|expected axis|[Ii]nvalid (input )?shape|"
    r"must have rank|inhomogeneous shape|[Cc]ardinality is ambiguous|zero or negative|incompatible shape|"
    r"[Kk]ernel shape must|[Mm]atrix size-incompatible|logits and labels must|must be (broadcastable|compatible)|"
    r"[Ii]nvalid dtype|[Cc]annot cast|could not convert string|Unsupported (dtype|data type)|Cannot convert .* to .*dtype|"
    r"outside the valid range|is not in \[0,|matmul: Input operand|same number of (dimensions|axes)|rank \d+"
)
_TYPES = ("ValueError", "InvalidArgumentError", "TypeError", "UnimplementedError", "FailedPreconditionError")


def is_ours(error: BaseException) -> bool:
    """Whether an exception looks like a fault of shapes or dtypes."""
    return any(base.__name__ in _TYPES for base in type(error).__mro__) and bool(_OURS.search(str(error)))


def hint_for(error: BaseException) -> str:
    """One line about an exception, ``""`` where it is not about shapes or dtypes."""
    if not is_ours(error):
        return ""
    report = report_for(error, fixes=False)
    finding = next((item for item in report.findings if item.serious), None) if report is not None else None
    if finding is not None:
        where = f" ({finding.location})" if finding.location is not None else ""
        return f"tpushape ▸ {finding.message}{where} Type %tpushape to see it."
    return _numpy(error)


def report_for(error: BaseException, *, fixes: bool = True) -> Report | None:
    """The flow of a failure: the training call traced again, or what was kept of the layer that raised."""
    if "jupyter_tpushape.trace.adapter" not in sys.modules:
        return None
    from ..diagnose import trace
    from ..trace.aftermath import attempted, kept
    from ..watch import report_of

    attempt = attempted(error)
    if attempt is not None:
        report = trace(attempt.model, attempt.data, tpu=None, batch_size=attempt.batch_size, fixes=fixes)
        if not report.ok:
            return report
    recorder = kept(error)
    return report_of(recorder, error) if recorder is not None else None


def _numpy(error: BaseException) -> str:
    """NumPy and raw TensorFlow faults: the user's line and what it says."""
    from ..examine import error_line

    where = error_line(error)
    if where is None:
        return ""
    said = [line.strip() for line in str(error).splitlines() if line.strip()][-1:]
    text = f", `{where.text}`" if where.text else ""
    return f"tpushape ▸ The shapes part at {where}{text}: {said[0][:200] if said else type(error).__name__}."


def finding_of(report: Any) -> Finding | None:
    """The first serious finding."""
    return next((item for item in report.findings if item.serious), None)
