"""A report as workflow commands of GitHub Actions: each finding becomes an annotation at its line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..flow.text import clean, uncommanding
from .sarif import relative

if TYPE_CHECKING:
    from ..flow import Finding
    from ..report import Report

_LEVELS = {"error": "error", "tpu": "error", "silent": "error", "slow": "warning", "note": "notice"}


def to_annotations(report: Report) -> str:
    """One line per finding, and the result in the last line."""
    return "\n".join([*(_line(finding) for finding in report.findings), f"tpushape: {report.summary}"])


def _line(finding: Finding) -> str:
    properties = {"title": f"tpushape: {finding.rule}"}
    if finding.location is not None and finding.location.file:
        properties |= {"file": relative(finding.location.file), "line": str(finding.location.line)}
    words = [finding.message]
    if finding.expected is not None and finding.found is not None:
        words.append(f"wants {finding.expected}, gets {finding.found}")
    words += [f"Verified fix: {fix.title}" for fix in finding.fixes if fix.verified][:1]
    told = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_LEVELS[finding.severity]} {told}::{_data(chr(10).join(words))}"


def _data(text: str) -> str:
    # A runner takes some commands anywhere in a line.
    return uncommanding(clean(text.replace("\r", " ")).replace("%", "%25").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
