"""Findings are typed facts: their words can be anything, and nothing outside of rules and views reads them."""

from __future__ import annotations

import ast
from pathlib import Path

from programs import failing, kinds

import jupyter_tpushape as tpushape
from jupyter_tpushape.report import Report

PACKAGE = Path(tpushape.__file__).parent


def test_every_finding_of_a_rule_carries_its_fact_and_a_saved_one_its_words() -> None:
    found = failing(tpushape.rules()[0], "keras").findings
    for finding in found:
        # A saved report's findings are at nodes that it has.
        finding.nodes, finding.edges, finding.fixes = (), (), []
    report = Report(tpushape.flow.Flow(), found)
    assert report.findings
    assert all(one.fact is not None for one in report.findings)
    read = Report.from_json(report.to_json()).findings
    assert [(one.message, one.why, one.expected, one.found) for one in read] == [(one.message, one.why, one.expected, one.found) for one in report.findings]
    assert all(one.fact is None for one in read)


def test_facts_are_values_that_compare_and_hash() -> None:
    assert len(kinds()) > 80
    for kind in kinds():
        assert kind.__struct_config__.frozen, kind
        assert kind.__doc__ or kind.__name__.startswith("_"), kind


WORDS = {"message", "why", "expected", "found"}
# What findings are called where they are handled; `come[0]` and the like count by the list's name.
NAMES = {"finding", "findings", "one", "other", "first", "left", "come", "gone", "known", "item", "found", "serious", "problem"}


def owner(value: ast.expr) -> str:
    value = value.value if isinstance(value, ast.Subscript) else value
    return value.id if isinstance(value, ast.Name) else value.attr if isinstance(value, ast.Attribute) else ""


def reads(path: Path, names: set[str], of: set[str]) -> list[str]:
    return [
        f"{path.relative_to(PACKAGE)}:{node.lineno} {ast.unparse(node)}"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in names and owner(node.value) in of
    ]


def modules(*without: str) -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path.relative_to(PACKAGE).parts[0] not in without]


def test_nothing_outside_of_rules_and_views_reads_the_words() -> None:
    assert [said for path in modules("rules", "views", "flow", "sources") for said in reads(path, WORDS, NAMES)] == []
    assert [said for path in modules() for said in reads(path, WORDS, {"finding"}) if not said.startswith(("views/", "flow/"))] == []


def test_repairs_read_no_message_of_a_framework() -> None:
    assert [said for path in (PACKAGE / "repair").rglob("*.py") for said in reads(path, {"message", "said"}, {"failure"})] == []


def test_only_flow_makes_findings_of_words() -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0] == "flow":
            continue
        calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
        assert not [call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Finding"], path


def test_the_sidebar_takes_sentences_as_they_are() -> None:
    for path in (PACKAGE.parent / "src" / "lab").glob("*.ts"):
        text = path.read_text(encoding="utf-8")
        assert "tpushape ▸" not in text, path
