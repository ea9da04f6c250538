"""docs/catalogue.md against the rules' own sources: every fact is told by the rules that cite it, or says why by none.

And every fact that a rule tells has a program that triggers it, a near miss that does not, and, where it was shown here, a test
that shows it again.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from catalogue_programs import PROGRAMS

import jupyter_tpushape as tpushape

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| ([A-Z]\d+) \|.*\| ([A-Z ]+) \| ([^|]*) \|$", re.MULTILINE)
PAGE = ROW.findall((ROOT / "docs" / "catalogue.md").read_text(encoding="utf-8"))
ROWS = {fact: said for fact, _, said in PAGE}
SHOWN = {fact: set(how.split()) for fact, how, _ in PAGE}
SECTIONS = {"E": 11, "V": 13, "B": 20, "D": 10, "O": 17, "L": 9, "H": 5, "P": 9, "T": 6}
REPRODUCED = set("TCXMK")
# Facts whose programs need more than a text: a SavedModel, a setting of the process, a compiler.
ELSEWHERE = {
    "H2": "test_a_layer_that_was_loaded_outside_the_scope",
    "H4": "test_text_that_is_preprocessed_inside_the_model",
    "O2": "test_o2_soft_placement_makes_it_slow_and_only_where_the_user_asked_for_it",
    "T2": "test_the_129_unit_layer_takes_what_the_compiler_says",
    "T3": "test_the_129_unit_layer_takes_what_the_compiler_says",
}


def facts_of(source):
    """The facts that a rule's source cites, in its order; ``L5-L8`` means all four."""
    found = []
    for text in re.findall(r"tpu-rules ([^;(]*)", source):
        for item in text.split(","):
            span = re.match(r"([A-Z])(\d+)(?:-\1(\d+))?", item.strip())
            found += [f"{span[1]}{number}" for number in range(int(span[2]), int(span[3] or span[2]) + 1)] if span else []
    return found


def cited():
    """Rules by the facts that their sources cite."""
    found: dict[str, set[str]] = {}
    for rule in tpushape.rules():
        for fact in facts_of(rule.source):
            found.setdefault(fact, set()).add(rule.id)
    return found


def names_of_tests():
    """Names of all tests."""
    for file in sorted((ROOT / "tests").glob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield node.name


def shown_by():
    """Tests by the facts that their names begin with: ``test_o5_t5_what_it_says``."""
    found: dict[str, list[str]] = {}
    for name in names_of_tests():
        for fact in re.match(r"test_((?:[a-z]\d+_)*)", name)[1].upper().split("_"):
            found.setdefault(fact, []).append(name)
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


def test_every_fact_that_a_rule_tells_has_a_program_and_a_near_miss():
    """The example of a rule is that of the fact which its source cites first; the others have programs of their own."""
    examples = {facts_of(rule.source)[0] for rule in tpushape.rules() if facts_of(rule.source)}
    assert all(rule.fails.strip() and rule.passes.strip() and rule.fails != rule.passes for rule in tpushape.rules())
    told = {fact for fact, said in ROWS.items() if not said.startswith("no rule: ")}
    assert told - examples - set(PROGRAMS) - set(ELSEWHERE) == set()
    assert set(ELSEWHERE.values()) <= set(names_of_tests())
    for fact, programs in PROGRAMS.items():
        assert {program.rule for program in programs} <= cited()[fact], fact


def test_every_fact_that_was_shown_here_has_a_test_that_shows_it_again():
    found = shown_by()
    for fact, how in SHOWN.items():
        assert how, fact
        assert how <= REPRODUCED | set("SDU"), fact
        assert bool(how & REPRODUCED) <= (fact in found), f"no test's name begins with {fact.lower()}"
        assert (fact in found) <= bool(how & REPRODUCED), f"{found.get(fact)} shows {fact}, and the page does not say so"
