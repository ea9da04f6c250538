"""Rules hold on JAX: those that every backend shares, and JAX's own."""

from __future__ import annotations

import linecache

import keras
import numpy as np
import pytest

import jupyter_tpushape as tpushape

# What an optimizer and a loss do under a strategy is read from TensorFlow's variables.
OF_STRATEGIES = ("loss-not-averaged", "optimizer-of-another-model")
SHARED = [
    rule
    for rule in tpushape.rules()
    if rule.backend in ("", "jax")
    and "keras" in rule.frameworks
    and not rule.compiler
    and rule.id not in OF_STRATEGIES
    and not any("tf." in text or "tpushape." in text or "tensorflow" in text for text in (rule.fails, rule.passes))
    and (rule.backend == "jax" or not rule.tpu)
]


@pytest.fixture(autouse=True)
def _no_distribution_is_left():
    yield
    keras.distribution.set_distribution(None)


def example(source, name):
    scope = {"keras": keras, "L": keras.layers, "np": np, "tpushape": tpushape, "__name__": "example"}
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    exec(compile(source, name, "exec"), scope)
    return scope


@pytest.mark.parametrize("rule", SHARED, ids=[rule.id for rule in SHARED])
def test_the_failing_example_is_found_and_the_passing_one_is_not(rule):
    bad, good = (example(getattr(rule, kind), f"/example/{rule.id}-{kind}.py") for kind in ("fails", "passes"))
    bad_on, good_on = (scope["strategy"]() if "strategy" in scope else None for scope in (bad, good))
    found = tpushape.trace(bad["build"], bad.get("data"), tpu=rule.tpu or None, strategy=bad_on, fixes=False)
    assert rule.id in [finding.rule for finding in found.findings], found
    clean = tpushape.trace(good["build"], good.get("data"), tpu=rule.tpu or None, strategy=good_on, fixes=False)
    assert rule.id not in [finding.rule for finding in clean.findings], clean


def test_nothing_is_said_of_tensorflows_strategies_on_a_slice():
    model = keras.Sequential([keras.Input((4,)), keras.layers.BatchNormalization(), keras.layers.Dense(1)])
    model.compile("sgd", "mse", steps_per_execution=1)
    report = tpushape.trace(model, (np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")), tpu="v5e-8")
    assert report.ok
    assert not any("TPUStrategy" in f"{finding.message} {finding.why}" for finding in report.findings), report
