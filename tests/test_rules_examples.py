"""Each rule finds its failing example and leaves its passing one alone, in both frameworks."""

from __future__ import annotations

import importlib
import re

import pytest
from programs import example

import jupyter_tpushape as tpushape

# What only a compiler says is tested with the compilers.
RULES = [rule for rule in tpushape.rules() if not rule.compiler]


def report(program, rule):
    return tpushape.trace(program.get("step") or program["build"], program.get("data"), tpu=rule.tpu or None, strategy=program.get("strategy"), fixes=False)


# A sentence ends with a full stop or a question mark before a capital letter: "e.g. x" and "2.5" do not end one.
SENTENCE = re.compile(r"[.?](?=\s+[A-Z`]|$)")
NOT_WORDS = re.compile(r"\bNone\b|<function|object at 0x|\{\{|  |\bdtype=<|\n")


def faults_of_wording(finding):
    """What a reader would stumble over in a finding's words."""
    faults = []
    if not re.match(r"[A-Za-z0-9_(<\[]", finding.message) or not finding.message.endswith((".", "?")):
        faults.append("the message is not a complete sentence")
    if len(SENTENCE.findall(finding.message)) > 1 or len(finding.message) > 200:
        faults.append("the message is more than one sentence")
    if NOT_WORDS.search(finding.message):
        faults.append("the message shows Python internals")
    said = finding.why.split("The error:")[0]
    if len(SENTENCE.findall(said)) > 3 or any(len(one.split()) > 35 for one in SENTENCE.split(said)):
        faults.append("the reason has more than three sentences, or one of more than 35 words")
    if said and not said.strip().endswith((".", "`", "?")):
        faults.append("the reason stops in the middle")
    if (finding.expected is None) != (finding.found is None):
        faults.append("what is wanted stands without what is there")
    if finding.expected is not None and str(finding.expected) == str(finding.found):
        faults.append("what is wanted and what is there read the same")
    return faults


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_the_failing_example_is_found_and_the_passing_one_is_not(rule, framework):
    if framework not in rule.frameworks or rule.backend == "jax":
        return
    found = report(example(rule.fails, framework), rule)
    assert {finding.docs for finding in found.findings if finding.rule == rule.id} == {rule.page}, found
    for finding in found.findings:
        assert faults_of_wording(finding) == [], finding
    clean = report(example(rule.passes, framework), rule)
    assert rule.id not in [finding.rule for finding in clean.findings], clean
    if rule.severity in ("error", "silent"):
        assert clean.ok, clean


def test_every_rule_says_where_its_knowledge_comes_from():
    for rule in tpushape.rules():
        assert rule.source, rule.id
        assert not rule.title.endswith("."), rule.id


def test_rules_import_no_framework():
    names = ["data", "entry", "layers", "loss", "mixing", "silent", "words", "registry"]
    for name in names:
        module = importlib.import_module(f"jupyter_tpushape.rules.{name}")
        assert not {"tensorflow", "keras", "tf_keras"} & set(vars(module)), name
