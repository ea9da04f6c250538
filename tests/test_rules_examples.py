"""Each rule finds its failing example and leaves its passing one alone, in both frameworks."""

from __future__ import annotations

import importlib

import pytest
from programs import example

import jupyter_tpushape as tpushape

# What only a compiler says is tested with the compilers.
RULES = [rule for rule in tpushape.rules() if not rule.compiler]


def report(program, rule):
    return tpushape.trace(program["build"], program.get("data"), tpu=rule.tpu or None, strategy=program.get("strategy"), fixes=False)


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_the_failing_example_is_found_and_the_passing_one_is_not(rule, framework):
    if framework not in rule.frameworks:
        return
    found = report(example(rule.fails, framework), rule)
    assert rule.id in [finding.rule for finding in found.findings], found
    clean = report(example(rule.passes, framework), rule)
    assert rule.id not in [finding.rule for finding in clean.findings], clean
    if rule.severity in ("error", "silent"):
        assert clean.ok, clean


def test_every_rule_says_where_its_knowledge_comes_from():
    for rule in tpushape.rules():
        assert rule.source, rule.id
        assert not rule.title.endswith("."), rule.id


def test_rules_import_no_framework():
    names = ["data", "entry", "layers", "loss", "silent", "words", "evidence", "registry"]
    for name in names:
        module = importlib.import_module(f"jupyter_tpushape.rules.{name}")
        assert not {"tensorflow", "keras", "tf_keras"} & set(vars(module)), name
