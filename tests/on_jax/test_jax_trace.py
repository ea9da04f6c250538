"""Keras on JAX: the same flows, edges and findings, and nothing of the user's is touched."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
from keras import layers as L  # noqa: N812
from keras import ops

import jupyter_tpushape as tpushape


def zeros(*shape, dtype="float32"):
    return np.zeros(shape, dtype)


def node(report, op):
    return next(node for node in report.flow.nodes if node.op == op)


def shapes_into(report, op):
    return [edge.spec.shape for edge in report.flow.into(node(report, op).id)]


class Between(L.Layer):
    """Operations of keras.ops and of jax.numpy between layers."""

    def __init__(self):
        super().__init__()
        self.inner = L.Dense(4)

    def call(self, x):
        y = self.inner(x)
        z = ops.mean(y, axis=-1, keepdims=True) - jnp.tanh(y)
        return z.reshape((-1, 2, 2))


def test_operations_between_layers_are_what_the_user_called_with_edges_by_identity():
    model = keras.Sequential([keras.Input((5,)), Between(), L.Flatten()])
    report = tpushape.trace(model, (zeros(32, 5), None), tpu=None)
    assert report.ok
    assert [one.op for one in report.flow.nodes if one.kind == "op"] == ["Mean", "Tanh", "Sub", "Reshape"]
    assert shapes_into(report, "Sub") == [(32, 1), (32, 4)]
    sources = {report.flow.node(edge.source).op for edge in report.flow.into(node(report, "Sub").id)}
    assert sources == {"Mean", "Tanh"}
    assert node(report, "Reshape").config["operand1"] == [-1, 2, 2]
    assert "z = ops.mean" in (node(report, "Mean").called.text if node(report, "Mean").called else "z = ops.mean")


def wide(x):
    return x + jnp.ones((6,))


@pytest.mark.parametrize(
    ("faulty", "op", "said"),
    [
        (wide, "AddV2", "Incompatible shapes for broadcasting"),
        (lambda x: x @ jnp.ones((6, 2)), "MatMul", "contracting dimensions"),
        (lambda x: ops.matmul(x, ops.ones((6, 2))), "MatMul", "contracting dimensions"),
        (lambda x: x.reshape((5, 5)), "Reshape", "cannot reshape"),
        (lambda x: jnp.concatenate([x, x[:, :, None]]), "Concat", "Cannot concatenate"),
    ],
)
def test_the_operation_that_raises_is_found_although_jax_checks_shapes_before_it_makes_it(faulty, op, said):
    class Faulty(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = L.Dense(7)

        def call(self, x):
            return faulty(self.dense(x))

    report = tpushape.trace(Faulty(), (zeros(32, 5), None), tpu=None, fixes=False)
    failed = next(iter(report.flow.failed()))
    assert failed.op == op
    assert (32, 7) in shapes_into(report, op)
    assert said in failed.failure.message
    assert failed.called is not None and failed.called.file.endswith("test_jax_trace.py")


@pytest.mark.parametrize("name", ["MobileNetV3Small", "EfficientNetB0"])
def test_traced_for_real_the_shapes_are_those_of_eval_shape(name):
    from jupyter_tpushape.trace.build import build
    from jupyter_tpushape.trace.frameworks import adapter
    from jupyter_tpushape.trace.recorder import Recorder
    from jupyter_tpushape.trace.run import run

    adapter("keras")
    model, _ = build(lambda: getattr(keras.applications, name)(weights=None, input_shape=(75, 75, 3), classes=3), Recorder(), hollow=True)
    sample = type("Sample", (), {"x": tpushape.flow.Spec((4, 75, 75, 3), "float32"), "y": None, "weight": None})()
    traced = run(adapter("keras"), model, sample, shape=lambda leaf: leaf.shape, fast=False)
    assert traced.error is None
    inner = keras.Model(model.inputs, [layer.output for layer in model.layers])
    values = [[jax.ShapeDtypeStruct(v.shape, v.dtype) for v in group] for group in (inner.trainable_variables, inner.non_trainable_variables)]
    wanted, _ = jax.eval_shape(inner.stateless_call, *values, jax.ShapeDtypeStruct((4, 75, 75, 3), "float32"))
    found = {call.name: call.outputs[0].spec.shape for call in traced.recorder.calls if call.kind == "layer" and call.outputs}
    for layer, spec in zip(model.layers, wanted, strict=True):
        assert found.get(layer.name, spec.shape) == spec.shape, layer.name
    assert len(found) > len(model.layers) // 2


def test_masks_recurrence_dropout_and_several_calls_of_one_layer():
    inputs = keras.Input((12,), dtype="int32")
    table, cell = L.Embedding(50, 8, mask_zero=True), L.LSTM(8, return_sequences=True)
    x = cell(L.Dropout(0.5)(table(inputs)))
    x = L.Bidirectional(L.GRU(4))(cell(x))
    model = keras.Model(inputs, L.Dense(3)(x))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    report = tpushape.trace(model, (zeros(16, 12, dtype="int64"), zeros(16, dtype="int64")), tpu=None)
    assert report.ok, report
    assert [one.config.get("call") for one in report.flow.nodes if one.op == "LSTM"] == [None, 2]
    assert {edge.label for one in report.flow.nodes if one.op == "LSTM" for edge in report.flow.into(one.id)} >= {"mask"}
    assert report.flow.into(node(report, "sparse_categorical_crossentropy").id)[0].spec.dtype == "int32"


def test_loops_and_branches_are_one_operation_each():
    class Loops(L.Layer):
        def call(self, x):
            x = jax.lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: v, x)
            x, _ = jax.lax.scan(lambda carry, _: (carry + 1.0, None), x, None, length=3)
            return jax.lax.while_loop(lambda v: v.sum() < 3, lambda v: v + 1, x)

    report = tpushape.trace(keras.Sequential([keras.Input((4,)), Loops(), L.Dense(2)]), (zeros(8, 4), None), tpu=None)
    assert report.ok
    own = node(report, "Loops").id
    inside = [one.op for one in report.flow.nodes if one.kind == "op" and one.parent == own]
    assert [op for op in inside if op in ("Cond", "Scan", "WhileLoop")] == ["Cond", "Scan", "WhileLoop"]
    assert len(inside) == 5  # the sum and the comparison that the branch asks for


class Stepping(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden, self.head = L.Dense(7), L.Dense(3)

    def call(self, x, training=None):
        return self.head(self.hidden(x))

    def _loss(self, trainable, rest, x, y):
        predictions, rest = self.stateless_call(trainable, rest, x, training=True)
        return self.compute_loss(x, y, predictions), rest

    def train_step(self, state, data):
        trainable, rest, slots, metrics = state
        (loss, rest), gradients = jax.value_and_grad(self._loss, has_aux=True)(trainable, rest, *data)
        trainable, slots = self.optimizer.stateless_apply(slots, gradients, trainable)
        return {"loss": loss}, (trainable, rest, slots, metrics)


@pytest.mark.parametrize("built", [False, True])
def test_a_step_of_the_models_own_runs_with_its_state(built):
    model = Stepping()
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x, y = zeros(32, 5), zeros(32, dtype="int64")
    if built:
        model.fit(x, y, verbose=0)
    values = [np.array(v) for v in (*model.variables, *model.optimizer.variables)]
    report = tpushape.trace(model, (x, y), tpu=None)
    assert report.ok, report
    assert {"Dense", "Gradient", "StatelessApply"} <= {one.op for one in report.flow.nodes}
    assert model.built is built
    assert all(np.array_equal(a, np.array(b)) for a, b in zip(values, (*model.variables, *model.optimizer.variables), strict=True))
    wrong = tpushape.trace(model, (x, zeros(31, dtype="int64")[:31]), tpu=None, fixes=False)
    assert not wrong.ok


def test_everything_is_left_as_found():
    model = keras.Sequential([L.Dense(4), L.Dropout(0.5), L.BatchNormalization(), L.Dense(1)])
    model.compile("adam", "mse")
    generator = keras.random.SeedGenerator(7)
    before = np.array(generator.state), jax.config.jax_traceback_filtering, keras.backend.get_uid("dense")
    np.random.seed(3)
    drawn = np.random.get_state()[1].copy()
    report = tpushape.trace(model, (zeros(32, 5), zeros(32, 1)))
    assert report.ok
    assert not model.built and not model.weights and not model.optimizer.built
    assert np.array_equal(np.array(generator.state), before[0])
    assert jax.config.jax_traceback_filtering == before[1]
    assert keras.backend.get_uid("dense") == before[2] + 1
    assert np.array_equal(np.random.get_state()[1], drawn)
    model.fit(zeros(32, 5), zeros(32, 1), verbose=0)


def test_a_builders_variables_have_no_values_and_a_rebuilt_model_has():
    made = []

    def build():
        model = keras.Sequential([keras.Input((5,)), L.Dense(50_000), L.Dense(3)])
        model.compile("adam", "mse")
        made.append(model)
        return model

    report = tpushape.trace(build, (zeros(8, 5), zeros(8, 4)), tpu=None)
    assert all(v._value is None for v in made[0].trainable_variables)
    fix = next(fix for finding in report.findings for fix in finding.fixes if fix.verified)
    model, data = fix.rebuild()
    model.fit(*data, verbose=0)


def test_what_every_device_holds_of_a_batch_and_what_does_not_divide():
    model = keras.Sequential([keras.Input((5,)), L.Dense(3)])
    model.compile("adam", "mse")
    report = tpushape.trace(model, (zeros(64, 5), zeros(64, 3)), tpu="v5e-8", batch_size=32)
    edge = report.flow.into(node(report, "Dense").id)[0]
    assert edge.spec.shape == (32, 5)
    assert [one.shape for one in edge.replicas] == [(4, 5)] * 8


def test_values_that_a_program_looks_at_are_refused_as_a_compiled_step_refuses_them():
    class Looks(keras.Model):
        def call(self, x):
            return x * 2 if float(x.sum()) > 0 else x

    report = tpushape.trace(Looks(), (zeros(4, 3), None), tpu=None, fixes=False)
    assert [finding.rule for finding in report.findings] == ["value-asked"]
    assert report.findings[0].location.text.startswith("return x * 2 if float(x.sum())")


PROGRAM = """
import sys, keras, numpy as np
import jupyter_tpushape as tpushape
assert "jax" in sys.modules
model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(3)])
model.compile("adam", "mse")
report = tpushape.trace(model, (np.zeros((32, 5), "float32"), np.zeros((32, 4), "float32")))
assert not report.ok and report.findings[0].fixes[0].verified
print(report.to_json()[:1], "tensorflow" in sys.modules)
"""


def test_no_tensorflow_is_imported():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.split() == ["{", "False"], done.stderr


def test_the_command_checks_a_file(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(
        "import keras, numpy as np\n"
        "def make():\n    m = keras.Sequential([keras.Input((5,)), keras.layers.Dense(3)]); m.compile('adam', 'mse'); return m\n"
        "def data():\n    return np.zeros((32, 5), 'float32'), np.zeros((32, 4), 'float32')\n"
    )
    from jupyter_tpushape.cli import main

    assert main(["check", f"{file}:make", "--data", f"{file}:data", "--no-fixes"]) == 1
    assert main(["check", f"{file}:make", "--input-spec", "32,5:float32", "--no-fixes"]) == 0


class Nested(L.Layer):
    def __init__(self):
        super().__init__()
        self.norm, self.up = L.LayerNormalization(), L.Dense(16)

    def call(self, x):
        return self.up(self.norm(x))


def test_layers_that_a_builders_own_layer_builds_stay_without_values_too():
    def build():
        inputs = keras.Input((8,))
        return keras.Model(inputs, L.Dense(2)(Nested()(inputs)))

    report = tpushape.trace(build, (zeros(16, 8), None), tpu=None)
    assert report.ok, report
    assert [weight.shape for weight in node(report, "LayerNormalization").weights] == [(8,), (8,)]


def test_an_input_that_could_not_be_declared_is_no_input():
    def build():
        inputs = [keras.Input((4,)), L.InputLayer()]
        return keras.Model(inputs[0], inputs[1](inputs[0]))

    report = tpushape.trace(build, (zeros(8, 4), None), tpu=None)
    assert not report.ok
    assert "shape" in report.findings[0].why + report.findings[0].message
