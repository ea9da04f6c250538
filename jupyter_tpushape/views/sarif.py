"""A report for other tools: as SARIF 2.1.0, the format of code scanners and editors, and as workflow commands of GitHub Actions, an annotation for each finding."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..flow.text import clean, uncommanding

if TYPE_CHECKING:
    from ..flow import Finding
    from ..report import Report

_LEVELS = {"error": "error", "tpu": "error", "silent": "error", "slow": "warning", "note": "note"}

_STANDINGS = {"run": "verified", "live": "verified on the live model"}


def to_sarif(report: Report) -> str:
    """One run with one result per finding; a finding without a source line has no location."""
    from .. import __version__

    used = list(dict.fromkeys(finding.rule for finding in report.findings))
    driver = {"name": "tpushape", "version": __version__, "rules": [_rule(name) for name in used]}
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, used.index(finding.rule)) for finding in report.findings],
        "properties": {"summary": report.summary, "target": report.target.name if report.target else "none"},
    }
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=1, ensure_ascii=False)


def _rule(name: str) -> dict[str, Any]:
    from ..rules import RULES

    rule = RULES.get(name)
    if rule is None:
        return {"id": name}
    made: dict[str, Any] = {"id": name, "shortDescription": {"text": rule.title}, "defaultConfiguration": {"level": _LEVELS[rule.severity]}}
    made["fullDescription"] = {"text": rule.doc or rule.title}
    made["help"] = {
        "text": f"{rule.doc or rule.title}\n\nSource: {rule.source}\n\nRun `tpushape rules {name}` to see a program with this problem and one without."
    }
    made["properties"] = {"severity": rule.severity}
    return made


def _result(finding: Finding, index: int) -> dict[str, Any]:
    words = [finding.message, finding.why]
    if finding.expected is not None and finding.found is not None:
        words.append(f"Wants {finding.expected}, gets {finding.found}.")
    words += [f"Fix, {_STANDINGS[fix.standing]}: {fix.title}." for fix in finding.fixes if fix.verified]
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": clean("\n".join(word for word in words if word))},
    }
    where = finding.location
    if where is not None and where.file:
        path = relative(where.file)
        uri = ("file://" if Path(path).is_absolute() else "") + quote(path, errors="replace")
        region: dict[str, Any] = {"startLine": max(1, where.line)}
        if where.text:
            region["snippet"] = {"text": clean(where.text)}
        result["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}]
    return result


def relative(file: str) -> str:
    """The path from the repository's root (GitHub's workspace, or the working folder), with forward slashes; unchanged if it is outside."""
    root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    try:
        return Path(file).resolve().relative_to(root.resolve()).as_posix()
    except (ValueError, OSError, RuntimeError):
        return file


if TYPE_CHECKING:
    from ..flow import Finding
    from ..report import Report

_COMMANDS = {"error": "error", "tpu": "error", "silent": "error", "slow": "warning", "note": "notice"}


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
    return f"::{_COMMANDS[finding.severity]} {told}::{_data(chr(10).join(words))}"


def _data(text: str) -> str:
    # A runner takes some commands anywhere in a line.
    return uncommanding(clean(text.replace("\r", " ")).replace("%", "%25").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
