"""What is offered where a program does not fit: fixes that were compiled, and what was compiled in vain."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf

import jupyter_tpushape as tpushape
from jupyter_tpushape.compilers import bridge, fit, remedies, tpu
from jupyter_tpushape.compilers.lowering import lower
from jupyter_tpushape.compilers.words import needed
from jupyter_tpushape.examine import Program, examine
from jupyter_tpushape.replicas import target
from jupyter_tpushape.rules.words import size

needs_libtpu = pytest.mark.skipif(bool(bridge.check()), reason=bridge.check() or "installed")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_CACHE", str(tmp_path_factory.getbasetemp() / "verdicts"))


def pictures(framework):
    keras = importlib.import_module(framework)
    layers = keras.layers
    model = keras.Sequential([keras.Input((32, 32, 3)), layers.Conv2D(12, 3, name="wide"), layers.GlobalAveragePooling2D(), layers.Dense(10, name="out")])
    model.compile("adam", "mse")
    return model


def specs(rows):
    return tf.TensorSpec((rows, 32, 32, 3)), tf.TensorSpec((rows, 10))


@needs_libtpu
def test_a_batch_that_fits_is_found_by_compiling(monkeypatch):
    monkeypatch.setattr(remedies, "MOST", 3)
    model, rows = pictures("keras"), 8 * 2_000_000
    before = model.get_weights()
    said = []
    report = tpushape.trace(model, specs(rows), tpu="v3-8", compiler="tpu", progress=said.append)
    (finding,) = [finding for finding in report.findings if finding.rule == "hbm-oom"]
    assert (finding.fact.target, finding.fact.temporaries, size(finding.fact.has)) == ("v3-8", True, "15.48 GiB")
    assert finding.fact.needs > finding.fact.has
    # The compiler's buffer plan does not contain what it needs here, so no layer is named.
    assert not finding.fact.layers and not finding.nodes
    batch = finding.fixes[0]
    assert batch.verified and batch.edits[0].kind == "batching" and "15.48 GiB" in batch.effect.text and "estimate" in batch.effect.text
    fitting = batch.edits[0].detail["batch"]
    assert 0 < fitting < rows and fitting % 64 == 0
    held = tpushape.trace(model, specs(fitting), tpu="v3-8", compiler="tpu", fixes=False)
    assert held.verdicts[-1].ok and held.verdicts[-1].cached
    # What was tried in vain is said, with what came of it; what was not tried is an idea.
    tried = [*(fix.title for fix in finding.fixes if fix.verified), *finding.rejected]
    assert any("mixed_bfloat16" in words for words in tried) and any("Rematerialize" in words for words in tried)
    idea = finding.fixes[-1]
    assert (idea.verified, idea.title) == (False, "Accumulate gradients: several small batches for each update")
    assert "not compiled" in idea.reason
    assert any(words.startswith("out of memory: trying ") for words in said)
    assert all((a == b).all() for a, b in zip(before, model.get_weights(), strict=True)) and not model.optimizer.built


def refining(framework):
    """Layers that keep much of what they compute for the backward pass: a step that is taken 64 times."""
    keras = importlib.import_module(framework)

    class Refine(keras.layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(shape=(shape[-1], shape[-1]), name="w")

        def call(self, x):
            step = lambda i, h: (i + 1, tf.tanh(tf.matmul(h, self.w) + x))  # noqa: E731
            return tf.while_loop(lambda i, h: i < 64, step, (0, x), maximum_iterations=64)[1]

    model = keras.Sequential([keras.Input((128,)), *(Refine(name=f"r{i}") for i in range(4)), keras.layers.Dense(10)])
    model.compile("sgd", "mse")
    return model


@needs_libtpu
@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_what_does_not_fit_in_float32_is_seen_to_fit_in_mixed_bfloat16_and_rematerialised(framework, monkeypatch):
    monkeypatch.setattr(remedies, "MOST", 1)
    keras = importlib.import_module(framework)
    data = tf.TensorSpec((8 * 40960, 128)), tf.TensorSpec((8 * 40960, 10))
    report = tpushape.trace(refining(framework), data, tpu="v2-8", compiler="tpu")
    (finding,) = [finding for finding in report.findings if finding.rule == "hbm-oom"]
    fact = finding.fact
    assert (fact.target, fact.temporaries, size(fact.needs), size(fact.has)) == ("v2-8", True, "7.59 GiB", "7.48 GiB")
    # The last layer's gradient is being computed: its loop carries some more.
    assert fact.most and [(name, size(taken)) for name, taken in fact.layers] == [("r3", "1.94 GiB"), ("r0", "1.88 GiB"), ("r1", "1.88 GiB")]
    fixes = {fix.title.split(":")[0]: fix for fix in finding.fixes if fix.verified}
    scopes = {"Compute in mixed_bfloat16": lambda: mixed(keras)}
    if framework == "keras":
        scopes["Rematerialize 4 layers"] = lambda: keras.RematScope(mode="list_of_layers", layer_names=["r0", "r1", "r2", "r3"])
        assert "RematScope(mode='list_of_layers', layer_names=['r0', 'r1', 'r2', 'r3'])" in fixes["Rematerialize 4 layers"].patch
    assert set(scopes) <= set(fixes)
    for title, scope in scopes.items():
        # What the fix says is what comes of a model that is built so.
        with scope():
            model = refining(framework)
        verdict = tpushape.trace(model, data, tpu="v2-8", compiler="tpu", fixes=False).verdicts[-1]
        assert verdict.ok and fixes[title].effect.text.rsplit(": ", 1)[1] in verdict.message


def _in_16_bits(lowered):
    from tensorflow.compiler.xla import xla_data_pb2
    from tensorflow.compiler.xla.service import hlo_pb2

    module = hlo_pb2.HloModuleProto.FromString(lowered.hlo)
    return any(one.shape.element_type == xla_data_pb2.BF16 for computation in module.computations for one in computation.instructions)


@contextmanager
def mixed(keras):
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
    yield
    keras.mixed_precision.set_global_policy("float32")


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_the_model_is_made_again_in_mixed_bfloat16_and_stays_as_it_was(framework):
    model = pictures(framework)
    state = np.random.get_state()[1].copy()
    seen = examine(Program(model, specs(64), target=target("v5e-8")))
    (train,) = lower(seen, only="train")
    title, snippet, _, make = next(remedies._others(seen, train))
    assert title == "Compute in mixed_bfloat16" and snippet.startswith(f"{framework}.mixed_precision.set_global_policy(")
    (lowered,) = lower(replace(seen, model=make()), only="train")
    assert lowered.error is None and _in_16_bits(lowered) and not _in_16_bits(train)
    assert {remedies._policy(layer) for layer in model.layers} == {"float32"}
    assert (np.random.get_state()[1] == state).all()
    keras = importlib.import_module(framework)
    assert keras.layers.Dense(1).dtype_policy.name == "float32" if framework == "keras" else True


def test_a_model_of_a_class_of_its_own_is_offered_the_change_untried():
    keras = importlib.import_module("keras")

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.out = keras.layers.Dense(10)

        def call(self, x):
            return self.out(x)

    model = Own()
    seen = examine(Program(model, tf.TensorSpec((64, 8)), target=target("v5e-8")))
    (forward,) = lower(seen)
    *_, make = next(remedies._others(seen, forward))
    with pytest.raises(tpushape.CannotRebuild, match="subclassed"):
        make()


def test_the_numbers_of_a_refusal_are_read():
    assert needed("the total memory required for HLO temporaries (27.06G) exceeds available HBM (15.75G). HLO") == (27.06 * 2**30, 15.75 * 2**30)
    assert needed("Used 20.5G of 15.48G hbm.") == (20.5 * 2**30, 15.48 * 2**30)
    assert needed("something else") == (0.0, 0.0)


def answering(monkeypatch, answer):
    """Has the compiler answer as ``answer`` does for an effort."""

    class Asking:
        def __init__(self, program, key, topology, asked, *_):
            self.effort = asked.effort

        def answer(self, *_):
            return dict(answer(self.effort))

        def close(self):
            pass

    monkeypatch.setattr(tpu.process, "Asking", Asking)


def test_the_layers_that_take_the_room_are_named(monkeypatch):
    if bridge.check():
        pytest.skip(bridge.check())
    model = pictures("keras")
    seen = examine(Program(model, specs(64)[0], target=target("v5e-8")))
    (program,) = lower(seen)
    product = next(operation.name for operation in program.graph.get_operations() if operation.type == "Conv2D")
    answer = {
        "ok": False, "kind": "refused", "message": "RESOURCE_EXHAUSTED: E1000: temporaries (20.00G) exceeds available HBM (15.75G).",
        "buffers": {"live": [[product, 19 * 2**30, ""], ["parameter:0", 2**29, ""]], "room": 19.6 * 2**30},
    }  # fmt: skip
    answering(monkeypatch, lambda _: answer)
    report = tpushape.trace(model, specs(64)[0], tpu="v5e-8", compiler="tpu", fixes=False)
    (finding,) = report.findings
    assert finding.fact.most and [taken for _, taken in finding.fact.layers] == [19 * 2**30, 2**29]
    assert finding.fact.layers[0][0] == "wide"
    assert [report.flow.node(node).kind for node in finding.nodes] == ["layer", "input"]


def test_a_failure_of_the_compilers_own_is_no_refusal(monkeypatch):
    failed = {"ok": False, "kind": "refused", "message": "INTERNAL: RET_CHECK failure (x.cc:390) arity"}
    asked = []
    answering(monkeypatch, lambda effort: asked.append(effort) or failed)
    report = tpushape.trace(pictures("keras"), specs(64)[0], tpu="v6e-8", compiler="tpu")
    if bridge.check():
        pytest.skip(bridge.check())
    (finding,) = report.findings
    assert (finding.rule, finding.severity) == ("no-verdict", "note")
    assert (finding.fact.kind, finding.fact.said) == ("broke", "INTERNAL: RET_CHECK failure (x.cc:390) arity")
    assert finding.fact.said in finding.message
    assert asked == ["quick", "full"]


def test_what_does_not_fit_loosely_packed_and_has_no_other_answer_is_open(monkeypatch):
    if bridge.check():
        pytest.skip(bridge.check())
    answers = {
        "quick": {"ok": False, "kind": "refused", "message": "RESOURCE_EXHAUSTED: E1000: temporaries (20.00G) exceeds available HBM (15.75G)."},
        "full": {"ok": False, "kind": "time", "message": "The TPU compiler did not finish within 120 s."},
    }
    answering(monkeypatch, answers.get)
    report = tpushape.trace(pictures("keras"), specs(64)[0], tpu="v5e-8", compiler="tpu")
    (finding,) = report.findings
    assert finding.rule == "no-verdict"
    assert (size(finding.fact.needs), size(finding.fact.has)) == ("20.00 GiB", "15.75 GiB")
    assert "20.00 GiB" in finding.why and "15.75 GiB" in finding.why


@needs_libtpu
def test_the_largest_batch_can_be_asked_for_by_itself():
    model, said = pictures("keras"), []
    found = tpushape.fit_batch(model, specs(64), tpu="v5e-8", most=24, progress=said.append)
    assert (found.program, found.rows, found.batch, found.too_many) == ("train", 24, 192, 0)
    assert [step.rows for step in found.tried] == [8, 16, 24] and said == [f"train with {rows} rows per core" for rows in (8, 16, 24)]
    assert found.safe == 24
    assert all(part in str(found) for part in ("v5e-8", "24 rows per core", "192 on 8", "15.75 GiB", "quick"))
    assert not model.optimizer.built
    with pytest.raises(ValueError, match=r"0 s.*300"):
        tpushape.fit_batch(model, specs(64), compile_timeout=0)


@needs_libtpu
def test_other_batches_are_compiled_when_asked_for_and_stand_beside_the_verdict(monkeypatch):
    monkeypatch.setattr(fit, "COMPILATIONS", 2)
    model = pictures("keras")
    report = tpushape.trace(model, specs(64), tpu="v5e-8", compiler="tpu", compile_batches=True)
    forward, train = report.verdicts
    assert [one.rows for one in forward.tried] == [8] and [(one.rows, one.fits, one.effort) for one in train.tried] == [(8, True, "quick"), (16, True, "quick")]
    assert train.tried[0].bytes < train.tried[1].bytes and size(train.tried[0].bytes) in train.message
    assert tpushape.Report.from_json(report.to_json()).verdicts[-1].tried == train.tried
    # What ends the search is told, and what was compiled until then is kept.
    monkeypatch.setattr(fit, "tried_of", lambda *_: None)
    report = tpushape.trace(model, specs(64), tpu="v5e-8", compiler="tpu", compile_batches=True)
    (finding,) = report.findings
    assert finding.severity == "note" and finding.message.startswith("The search for the largest batch ended early. No verdict with 16 rows per core")
    assert [one.rows for one in report.verdicts[-1].tried] == [8]
    with pytest.raises(ValueError, match='compiler="tpu"'):
        tpushape.trace(model, specs(64), compile_batches=True)
