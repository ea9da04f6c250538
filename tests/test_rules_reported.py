"""What the rules' failing examples report: the rules' pages and the snapshot of all sentences are up to date, and any words would do.

In one file, so that one process traces each example once.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from programs import failing, kinds, reported
from scripts_here import ROOT, script

import jupyter_tpushape as tpushape
from jupyter_tpushape.flow import Finding, Side

UPDATE = "new wording? run: python scripts/sentences.py --write"
RULES = [rule for rule in tpushape.rules() if not rule.compiler]

pages = script("scripts/rules_docs.py")
sentences = script("scripts/sentences.py")


def test_the_pages_are_generated_from_the_rules_as_they_are(capsys):
    assert pages.main(check=True) == 0, capsys.readouterr().err


def test_every_rule_has_its_page_and_stands_in_the_index():
    index = (ROOT / "docs" / "rules" / "README.md").read_text()
    for rule in tpushape.rules():
        assert (ROOT / rule.page).is_file(), rule.page
        assert f"[{rule.id}]({rule.id}.md)" in index


@pytest.fixture(scope="module")
def texts():
    return sentences.reported()


def test_what_the_rules_report_breaks_none_of_them_either(texts):
    broken = [
        f"{rule}: {fault}\n    {one}" for rule, said in texts.items() for text in said for one in sentences.sentences(text) for fault in sentences.faults(one)
    ]
    assert not broken, "\n".join(broken)


def test_the_snapshot_holds_every_sentence(texts, monkeypatch):
    monkeypatch.setattr(sentences, "reported", lambda: texts)
    now, before = sentences.snapshot().splitlines(), sentences.SNAPSHOT.read_text(encoding="utf-8").splitlines()
    assert now == before, UPDATE


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
    before = {rule.id: bare((reported(rule.id) if rule.frameworks[0] == framework else failing(rule, framework)).findings) for rule in chosen}
    with pytest.MonkeyPatch.context() as monkeypatch:
        reworded(monkeypatch)
        seen = {rule.id: failing(rule, framework).findings for rule in chosen}
    assert all(one.message.startswith("Zebra") for found in seen.values() for one in found)
    for rule in chosen:
        assert bare(seen[rule.id]) == before[rule.id], rule.id
