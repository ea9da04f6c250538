"""What is said about TPUs has a source in the catalogue, and is not said without a target. Each rule's own programs: test_rules_examples."""

from __future__ import annotations

import ast
import subprocess
import sys
import types

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape
from jupyter_tpushape.rules import RULES

FAMILIES = ("tpu_batch", "tpu_types", "tpu_pipeline", "tpu_scope", "tpu_steps", "tpu_ops")
FRAMEWORKS = {"keras": keras, "tf_keras": tf_keras}


def of_family():
    found = set()
    for family in FAMILIES:
        module = sys.modules.get(f"jupyter_tpushape.rules.{family}")
        found.update(value.id for value in vars(module).values() if type(value).__name__ == "Rule") if module else None
    return sorted(found)


def report_of(path, text, framework):
    module = types.ModuleType("example")
    module.__dict__.update(keras=FRAMEWORKS[framework], L=FRAMEWORKS[framework].layers, np=np, tf=tf, tpushape=tpushape)
    path.write_text(text)
    exec(compile(text, path, "exec"), module.__dict__)
    strategy = None if hasattr(module, "step") else getattr(module, "strategy", None)  # a step names its own
    return tpushape.trace(getattr(module, "step", None) or module.build, module.data, tpu=None, strategy=strategy, fixes=False)


CASES = [(name, framework) for name in of_family() for framework in RULES[name].frameworks]


@pytest.mark.parametrize("name", of_family())
def test_the_rule_cites_the_catalogue(name):
    assert RULES[name].source.startswith("tpu-rules ")
    assert not RULES[name].title.endswith(".")


def test_without_a_target_nothing_is_said_about_tpus(tmp_path):
    silent_everywhere = {"cache-after-random", "optimizer-of-another-model", "unknown-rank"}
    for name, framework in CASES:
        entry = RULES[name]
        if name in silent_everywhere or entry.tpu == "":
            continue
        found = {finding.rule for finding in report_of(tmp_path / f"{name}_{framework}.py", entry.fails, framework).findings}
        assert not found & (set(of_family()) - silent_everywhere), name


SOFT = """
import sys, numpy as np, tensorflow as tf, keras, jupyter_tpushape as tpushape
L = keras.layers
if sys.argv[1] == "asked":
    tf.config.set_soft_device_placement(True)
model = keras.Sequential([keras.Input((8, 8, 3)), L.Resizing(4, 4, interpolation="bicubic"), L.Flatten(), L.Dense(1)])
model.compile("sgd", "mse")
report = tpushape.trace(model, (np.zeros((64, 8, 8, 3), "float32"), np.zeros((64, 1), "float32")), tpu="v5e-8", fixes=False)
strategy = tpushape.tpu_strategy("v5e-8")
@tf.function
def step(x):
    return strategy.run(lambda v: v * 2.0, args=(x,))
graph = step.get_concrete_function(tf.TensorSpec((8, 4))).graph
graphs = [graph, *(one.graph for one in graph._functions.values() if getattr(one, "graph", None) is not None)]
(allowed,) = [op.get_attr("allow_soft_placement") for one in graphs for op in one.get_operations() if op.type == "TPUReplicateMetadata"]
print([(f.rule, f.severity, report.flow.node(f.nodes[0]).name, f.message, allowed, tf.config.get_soft_device_placement()) for f in report.findings])
"""


@pytest.mark.parametrize(("asked", "severity"), [("asked", "slow"), ("default", "tpu")])
def test_o2_soft_placement_makes_it_slow_and_only_where_the_user_asked_for_it(asked, severity):
    done = subprocess.run([sys.executable, "-c", SOFT, asked], capture_output=True, text=True, check=True)
    ((rule, found, name, message, allowed, said),) = ast.literal_eval(done.stdout.strip().splitlines()[-1])
    assert (rule, found, name) == ("tpu-kernel", severity, "resizing")
    assert message.startswith("resizing runs ResizeBicubic (a bicubic resize)")
    # The genuine strategy marks the step's program so; what tf.config says of itself is no answer.
    assert (allowed, said) == (asked == "asked", True)
