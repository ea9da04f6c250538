"""Each TPU rule on the program that it is made for, and on the near miss next to it, in both Kerases."""

from __future__ import annotations

import sys
import tempfile
import types

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape
from jupyter_tpushape.rules import RULES

FAMILIES = ("tpu_batch", "tpu_types", "tpu_pipeline", "tpu_scope", "tpu_ops")
FRAMEWORKS = {"keras": keras, "tf_keras": tf_keras}


def of_family():
    found = set()
    for family in FAMILIES:
        module = sys.modules.get(f"jupyter_tpushape.rules.{family}")
        found.update(value.id for value in vars(module).values() if type(value).__name__ == "Rule") if module else None
    return sorted(found)


def report_of(text, framework, tpu):
    module = types.ModuleType("example")
    module.__dict__.update(keras=FRAMEWORKS[framework], L=FRAMEWORKS[framework].layers, np=np, tf=tf, tpushape=tpushape)
    with tempfile.NamedTemporaryFile("w", suffix=".py", prefix="example_", delete=False) as file:
        file.write(text)
    exec(compile(text, file.name, "exec"), module.__dict__)
    strategy = getattr(module, "strategy", None)
    return tpushape.trace(module.build, module.data, tpu=tpu or None, strategy=strategy, fixes=False)


CASES = [(name, framework) for name in of_family() for framework in RULES[name].frameworks]


@pytest.mark.parametrize(("name", "framework"), CASES)
def test_the_rule_finds_its_program_and_lets_the_near_miss_pass(name, framework):
    entry = RULES[name]
    hit = [finding for finding in report_of(entry.fails, framework, entry.tpu).findings if finding.rule == name]
    assert hit, f"{name} does not find its own example"
    assert hit[0].message.endswith((".", "?"))
    assert hit[0].docs == entry.page
    missed = report_of(entry.passes, framework, entry.tpu)
    assert [finding.message for finding in missed.findings if finding.rule == name] == []


@pytest.mark.parametrize("name", of_family())
def test_the_rule_cites_the_catalogue(name):
    assert RULES[name].source.startswith("tpu-rules ")
    assert not RULES[name].title.endswith(".")


def test_without_a_target_nothing_is_said_about_tpus():
    silent_everywhere = {"cache-after-random", "optimizer-of-another-model"}
    for name, framework in CASES:
        entry = RULES[name]
        if name in silent_everywhere or entry.tpu == "":
            continue
        found = {finding.rule for finding in report_of(entry.fails, framework, None).findings}
        assert not found & (set(of_family()) - silent_everywhere), name
