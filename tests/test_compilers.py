"""XLA's verdict and the TPU compiler's, on small programs in both frameworks."""

from __future__ import annotations

import importlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf
from programs import example

import jupyter_tpushape as tpushape
from jupyter_tpushape.compilers import bridge, process
from jupyter_tpushape.compilers.exchange import exchange
from jupyter_tpushape.compilers.lowering import lower
from jupyter_tpushape.compilers.programs import Lowered
from jupyter_tpushape.examine import Program, examine
from jupyter_tpushape.replicas import SLICES, target

needs_libtpu = pytest.mark.skipif(bool(bridge.check()), reason=bridge.check() or "installed")
FRAMEWORKS = ["keras", "tf_keras"]
RULES = [rule for rule in tpushape.rules() if rule.compiler]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_CACHE", str(tmp_path_factory.getbasetemp() / "verdicts"))


def planted(framework, units=129):
    keras = importlib.import_module(framework)
    return keras.Sequential([keras.layers.Input((units,)), keras.layers.Dense(units, name="wide")])


def classifier(framework, optimizer="adam"):
    keras = importlib.import_module(framework)
    layers = keras.layers
    model = keras.Sequential(
        [layers.Input((16,)), layers.Dense(32, "relu", name="a"), layers.BatchNormalization(name="n"), layers.Dropout(0.2), layers.Dense(4, name="b")]
    )
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


DATA = (tf.TensorSpec((64, 16)), tf.TensorSpec((64,), tf.int32))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_xla_takes_forward_and_train_and_leaves_the_model_alone(framework):
    model = classifier(framework)
    before, weights = model.optimizer, model.get_weights()
    variables = len(before.variables)
    state = np.random.get_state()[1].copy()
    report = tpushape.trace(model, DATA, tpu="v5e-8", compiler="xla")
    assert [(verdict.program, verdict.ok) for verdict in report.verdicts] == [("forward", True), ("train", True)]
    assert model.optimizer is before and len(before.variables) == variables
    assert all((a == b).all() for a, b in zip(weights, model.get_weights(), strict=True))
    assert (np.random.get_state()[1] == state).all()
    assert np.isfinite(model.fit(np.zeros((64, 16), "float32"), np.zeros((64,), "int32"), verbose=0).history["loss"][0])


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_variables_and_slots_find_back_to_their_layers(framework):
    seen = examine(Program(classifier(framework), DATA, target=target("v5e-8")))
    names = {node.id: node.name for node in seen.evidence.flow.nodes}
    train = lower(seen, only="train")[0]
    held = [names.get(parameter.node, "") for parameter in train.parameters]
    # Kernel and bias, and Adam's two slots of each.
    assert held.count("a") == held.count("b") == 6
    assert held.count("n") == 8
    assert [parameter.data for parameter in train.parameters[:2]] == [True, True]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_same_program_lowered_twice_is_one_program(framework):
    seen = examine(Program(classifier(framework, "sgd"), DATA, target=target("v5e-8")))
    first, second = (lower(seen, only="forward")[0].read.key for _ in range(2))
    assert first == second


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_the_failing_example_is_found_and_the_passing_one_is_not(rule):
    if rule.compiler == "tpu" and bridge.check():
        pytest.skip(bridge.check())
    for source, expected in ((rule.fails, True), (rule.passes, False)):
        program = example(source, "keras")
        found = tpushape.trace(program["build"], program["data"], tpu=rule.tpu, compiler=rule.compiler, fixes=False)
        assert (rule.id in [finding.rule for finding in found.findings]) is expected, found


@needs_libtpu
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_129_unit_layer_takes_what_the_compiler_says(framework):
    report = tpushape.trace(planted(framework), tf.TensorSpec((64, 129)), tpu="v5e-8", compiler="tpu")
    (verdict,) = report.verdicts
    assert verdict.ok and verdict.arguments == 148_480
    (finding,) = [finding for finding in report.findings if finding.rule == "tile-padding"]
    # Its variables alone: the data's padding is none of theirs.
    assert "140,288" in finding.message and "67,080" in finding.message
    assert [report.flow.node(node).name for node in finding.nodes] == ["wide"]
    # The layers' bytes and what is not a layer's make the whole, in layouts as in the compiler's own statistics.
    assert sum(layer.bytes for layer in verdict.layers) == 148_480
    assert verdict.unmapped == verdict.outputs + verdict.temporaries + verdict.code


@needs_libtpu
def test_a_known_program_has_known_layouts():
    seen = examine(Program(planted("keras"), tf.TensorSpec((64, 129)), target=target("v5e-8")))
    program = lower(seen)[0]
    answer = process.ask(program.hlo, program.read.key, "v5e:2x4", process.limits())
    assert answer["layout"].startswith("(f32[8,129]{1,0:T(8,128)}, f32[129,129]{1,0:T(8,128)}, f32[129]{0:T(256)})->")
    assert process.ask(program.hlo, program.read.key, "v5e:2x4", process.limits())["cached"]


@needs_libtpu
@pytest.mark.parametrize("name", ["v2-8", "v3-8", "v4-8", "v4-32", "v5e-1", "v5e-256", "v5p-8", "v6e-8", "v6e-256"])
def test_every_generation_compiles_on_one_machine_and_on_many(name):
    report = tpushape.trace(planted("keras", 128), tf.TensorSpec((2048, 128)), tpu=name, compiler="tpu")
    assert [verdict.ok for verdict in report.verdicts] == [True], report
    assert report.verdicts[0].target == name


@pytest.mark.parametrize("one", SLICES.values(), ids=SLICES)
def test_a_step_without_its_sums_is_told_what_they_take_by_an_estimate(one):
    seen = examine(Program(classifier("keras"), (tf.TensorSpec((2048, 16)), tf.TensorSpec((2048,), tf.int32)), target=target(one.name)))
    assert exchange(seen, Lowered("train", replicas=one.replicas)) is None
    found = exchange(seen, Lowered("train", apart=True))
    # Kernels, biases, and the scale and shift of the normalisation, in float32.
    gradients = 4 * (16 * 32 + 32 + 32 * 4 + 4 + 2 * 32)
    assert (found.gradients, found.sent) == (gradients, round(2 * gradients * (one.replicas - 1) / one.replicas))
    assert "estimate" in str(found)


@needs_libtpu
def test_too_little_time_is_said_and_several_at_once_do_not_collide(monkeypatch):
    seen = examine(Program(planted("keras", 64), tf.TensorSpec((64, 64)), target=target("v5e-8")))
    program = lower(seen)[0]
    report = tpushape.trace(planted("keras", 64), tf.TensorSpec((72, 64)), tpu="v5e-8", compiler="tpu", compile_timeout=0.05)
    (said,) = [finding for finding in report.findings if finding.rule == "no-verdict"]
    assert "0.05 s" in said.message and "--compile-timeout" in said.message
    late = process.ask(program.hlo, "late", "v5e:2x4", process.Limits(0.05, 2**34))
    assert late["kind"] == "time" and "0.05 s" in late["message"]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda key: process.ask(program.hlo, key, "v5e:2x4", process.limits()), ["one", "two"]))
    assert [answer["kind"] for answer in answers] == ["compiled", "compiled"]


@needs_libtpu
def test_the_verdict_says_at_which_effort_it_was_given():
    model = planted("keras", 64)
    for effort, said in (("quick", "compiles within 15.75 GiB at quick effort, which packs loosely: "), ("full", "compiles within 15.75 GiB at full effort: ")):
        report = tpushape.trace(model, tf.TensorSpec((64, 64)), tpu="v5e-8", compiler="tpu", compile_effort=effort)
        (verdict,) = report.verdicts
        assert verdict.effort == effort and verdict.message.startswith(said)
    with pytest.raises(ValueError, match=r"'some'.*quick or full"):
        tpushape.trace(model, tf.TensorSpec((64, 64)), compile_effort="some")


def test_without_the_compiler_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(bridge, "versions", lambda: dict.fromkeys(bridge.PINS, ""))
    report = tpushape.trace(planted("keras", 8), tf.TensorSpec((64, 8)), tpu="v5e-8", compiler="tpu")
    (verdict,) = report.verdicts
    assert not verdict.ok and verdict.message.endswith("tpushape compiler install") and "\n" not in verdict.message
    assert [finding.severity for finding in report.findings if finding.rule == "no-verdict"] == ["note"]


def test_a_live_tpu_is_left_alone(monkeypatch):
    monkeypatch.setattr(process, "live_tpu", lambda: "The TPU of this machine (/dev/accel0) is in use by process 7.")
    monkeypatch.setattr(bridge, "check", lambda: "")
    assert process.ask(b"", "live", "v5e:2x4", process.limits())["kind"] == "busy"


def test_nothing_of_jax_is_imported_by_asking():
    code = (
        "import sys, tensorflow as tf, keras\nimport jupyter_tpushape as t\n"
        "m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])\n"
        "t.trace(m, tf.TensorSpec((8, 4)), compiler='tpu')\nassert not {'jax', 'jaxlib', 'libtpu'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
