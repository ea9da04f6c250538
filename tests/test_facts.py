"""Findings are typed facts: their words can be anything, and nothing outside of rules and views reads them."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest
from programs import example

import jupyter_tpushape as tpushape
from jupyter_tpushape.flow import Fact, Finding, Side
from jupyter_tpushape.report import Report
from jupyter_tpushape.rules import facts

PACKAGE = Path(tpushape.__file__).parent
RULES = [rule for rule in tpushape.rules() if not rule.compiler]


def kinds(base: type[Fact] = Fact) -> list[type[Fact]]:
    """Every class of facts, those that others are made of included."""
    for module in pkgutil.iter_modules(facts.__path__):
        importlib.import_module(f"{facts.__name__}.{module.name}")
    return [found for kind in base.__subclasses__() for found in (kind, *kinds(kind))]


def findings(text: str, rule: Any, framework: str) -> list[Finding]:
    program = example(text, framework)
    program["keras"].backend.clear_session()  # layers are numbered from the start
    report = tpushape.trace(
        program.get("step") or program["build"], program.get("data"), tpu=rule.tpu or None, strategy=program.get("strategy")
    )
    return report.findings


def bare(found: list[Finding]) -> list[Any]:
    """All that a finding is, without its words."""
    return [
        (
            one.rule, one.severity, one.nodes, tuple(sorted(one.edges)), one.fact, one.docs, len(one.rejected),
            # A text that was changed before gets the number of its run.
            [(fix.title, fix.verified, re.sub(r"<cell \d+ of ", "<cell of ", repr(fix.edits)), fix.patch) for fix in one.fixes],
        )
        for one in found
    ]  # fmt: skip


def reworded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sentence of every kind of fact becomes nonsense."""
    for number, kind in enumerate(kinds()):
        for method, words in (
            ("message", f"Zebra {number} (3, 5) too small."),
            ("why", "17 only its last step, mask of 99 numbers."),
            ("expected", Side("purple (7,)", ("7", "8", "9"), (0, 1, 2))),
            ("found", Side("green 12", ("12",), (0,))),
        ):
            monkeypatch.setattr(kind, method, lambda self, words=words: words)


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_findings_and_fixes_are_the_same_when_every_sentence_is_nonsense(framework: str) -> None:
    chosen = [rule for rule in RULES if framework in rule.frameworks and rule.backend != "jax"]
    # Half of the examples in either framework: all of them in one of the two, and the two differ in what is searched.
    chosen = chosen[::2] if framework == "keras" else chosen[1::2]
    before = {rule.id: bare(findings(rule.fails, rule, framework)) for rule in chosen}
    with pytest.MonkeyPatch.context() as monkeypatch:
        reworded(monkeypatch)
        seen = {rule.id: findings(rule.fails, rule, framework) for rule in chosen}
    assert all(one.message.startswith("Zebra") for found in seen.values() for one in found)
    for rule in chosen:
        assert bare(seen[rule.id]) == before[rule.id], rule.id


def test_every_finding_of_a_rule_carries_its_fact_and_a_saved_one_its_words() -> None:
    found = findings(RULES[0].fails, RULES[0], "keras")
    for finding in found:
        # A saved report's findings are at nodes that it has.
        finding.nodes, finding.edges, finding.fixes = (), (), []
    report = Report(tpushape.flow.Flow(), found)
    assert report.findings
    assert all(one.fact is not None for one in report.findings)
    read = Report.from_json(report.to_json()).findings
    assert [(one.message, one.why, one.expected, one.found) for one in read] == [
        (one.message, one.why, one.expected, one.found) for one in report.findings
    ]
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
