"""docs/catalogue.md against the rules' own sources: every fact is told by the rules that cite it, or says why by none."""

from __future__ import annotations

import re
from pathlib import Path

import jupyter_tpushape as tpushape

ROOT = Path(__file__).parents[1]
ROWS = dict(re.findall(r"^\| ([A-Z]\d+) \|.*\| ([^|]*) \|$", (ROOT / "docs" / "catalogue.md").read_text(encoding="utf-8"), re.MULTILINE))
SECTIONS = {"E": 11, "V": 13, "B": 20, "D": 10, "O": 16, "L": 9, "H": 5, "P": 9, "T": 5}


def cited():
    """Rules by the facts that their sources cite; ``L5-L8`` means all four."""
    found: dict[str, set[str]] = {}
    for rule in tpushape.rules():
        for text in re.findall(r"tpu-rules ([^;(]*)", rule.source):
            for item in text.split(","):
                span = re.match(r"([A-Z])(\d+)(?:-\1(\d+))?", item.strip())
                for number in range(int(span[2]), int(span[3] or span[2]) + 1) if span else ():
                    found.setdefault(f"{span[1]}{number}", set()).add(rule.id)
    return found


def test_every_fact_has_its_row():
    assert list(ROWS) == [f"{letter}{number}" for letter, most in SECTIONS.items() for number in range(1, most + 1)]


def test_every_row_names_the_rules_that_cite_it_or_says_why_there_is_none():
    by_fact = cited()
    for fact, said in ROWS.items():
        if said.startswith("no rule: "):
            assert fact not in by_fact, fact
            assert said.endswith("."), fact
        else:
            assert set(re.findall(r"\[([a-z0-9-]+)\]", said)) == by_fact[fact], fact


def test_every_rule_that_is_named_has_its_page():
    for said in ROWS.values():
        for page in re.findall(r"\((rules/[a-z0-9-]+\.md)\)", said):
            assert (ROOT / "docs" / page).exists(), page
