"""Training steps of one's own: traced with their layers, left as found, and what a TPU makes of them."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from IPython.core.interactiveshell import InteractiveShell
from programs import example

import jupyter_tpushape as tpushape
from jupyter_tpushape.cli import main
from jupyter_tpushape.examine import BadProgram

BOTH = pytest.mark.parametrize("framework", [keras, tf_keras], ids=["keras", "tf_keras"])
SERIOUS = ("error", "tpu", "silent")


def batches(features=4, batch=16, rows=64):
    x, y = np.zeros((rows, features), "float32"), np.zeros((rows, 1), "float32")
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(batch, drop_remainder=True).prefetch(1)


def setup(framework, strategy=None, *, lazy=False, layers=None):
    layers = layers or [framework.layers.Dense(3), framework.layers.BatchNormalization(), framework.layers.Dense(1)]
    with strategy.scope() if strategy is not None else tf.name_scope("plain"):
        model = framework.Sequential([*([] if lazy else [framework.Input((4,))]), *layers])
        return model, framework.optimizers.Adam(), framework.metrics.Mean(name="seen_loss")


def make_step(framework, strategy=None, *, shape="dist", lazy=False, layers=None, batch=16):
    """A step in one of the shapes that TensorFlow's guides use, with its model, optimizer and metric."""
    model, optimizer, metric = setup(framework, strategy, lazy=lazy, layers=layers)
    per_row = framework.losses.MeanSquaredError(reduction="none")

    def replica_step(data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(per_row(y, model(x, training=True)), global_batch_size=batch)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        metric.update_state(loss)
        return loss

    @tf.function
    def dist(data):
        return strategy.reduce("SUM", strategy.run(replica_step, args=(data,)), axis=None)

    @tf.function
    def loop(iterator):
        for _ in tf.range(5):
            strategy.run(replica_step, args=(next(iterator),))

    steps = {"plain": replica_step, "function": tf.function(replica_step), "dist": dist, "loop": loop}
    return steps[shape], model, optimizer, metric


@BOTH
@pytest.mark.parametrize("shape", ["plain", "function", "dist", "loop"])
def test_every_shape_of_step_is_traced_with_its_layers_and_is_clean(framework, shape):
    strategy = tpushape.tpu_strategy("v5e-8") if shape in ("dist", "loop") else None
    step, model, _, _ = make_step(framework, strategy, shape=shape)
    report = tpushape.trace(step, batches(), tpu="v5e-8")
    assert report.ok
    assert [finding.message for finding in report.findings] == []
    nodes = report.flow.nodes
    assert [node.op for node in nodes if node.kind == "layer" and node.op != "Sequential"] == ["Dense", "BatchNormalization", "Dense"]
    assert [node.op for node in nodes if node.op in ("GradientTape.gradient", "Adam.apply_gradients")] == ["GradientTape.gradient", "Adam.apply_gradients"]
    assert {node.kind for node in nodes} >= {"stage", "split", "input", "layer", "loss", "op", "metric"}
    first = next(node for node in nodes if node.name == model.layers[0].name)
    assert report.flow.into(first.id)[0].spec.shape == (2, 4), "the replica's share"
    assert len(report.flow.into(first.id)[0].replicas) == 8
    update = next(node for node in nodes if node.op == "Adam.apply_gradients")
    assert {report.flow.node(edge.source).op for edge in report.flow.into(update.id)} == {"GradientTape.gradient"}
    assert update.config["variables"] == 6
    way, loss = [update.id], next(node for node in nodes if node.kind == "loss")
    for at in way:
        way += [edge.source for edge in report.flow.into(at) if edge.source not in way]
    assert loss.id in way, "the update is joined to the loss that it comes from"
    assert [("loop" in limit, "one iteration" in limit) for limit in report.limits] == ([(True, True)] if shape == "loop" else [])


@BOTH
@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.parametrize("scoped", [True, False])
def test_nothing_is_built_written_or_run(framework, lazy, scoped):
    strategy = tpushape.tpu_strategy("v5e-8")
    step, model, optimizer, metric = make_step(framework, strategy if scoped else None, shape="plain", lazy=lazy)
    held = [] if lazy else [variable.numpy() for variable in model.variables]
    seen = float(metric.result())
    attributes = [dict(vars(one)) for one in (model, optimizer, metric)]
    tpushape.trace(step, batches(), tpu="v5e-8")
    assert model.built is not lazy
    assert not getattr(optimizer, "built", False)
    assert [vars(one).keys() for one in (model, optimizer, metric)] == [one.keys() for one in attributes]
    assert float(metric.result()) == seen
    assert lazy or all(np.array_equal(before, variable.numpy()) for before, variable in zip(held, model.variables, strict=True))
    assert tf.GradientTape.gradient.__module__.startswith("tensorflow.")
    assert tf.distribute.Strategy.run.__module__.startswith("tensorflow.")


def test_the_users_own_objects_keep_what_they_held():
    class Trainer:
        def __init__(self):
            self.model, self.optimizer, _ = setup(keras)
            self.calls, self.log = 0, []

        @tf.function
        def step(self, x, y):
            self.calls += 1
            self.log.append("traced")
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(self.model(x) - y)) / 16
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.model.trainable_variables), self.model.trainable_variables, strict=True))
            return loss

    trainer = Trainer()
    report = tpushape.trace(trainer.step, batches(), tpu="v5e-8")
    assert report.ok
    assert report.flow.node(report.flow.nodes[-1].id).kind == "output"
    assert (trainer.calls, trainer.log) == (0, [])


SHAPES = """
class Hard(L.Layer):
    def call(self, x):
        return tf.reshape(x, (16, 4))
strategy = tpushape.tpu_strategy("v5e-8")
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), {layers}])
    optimizer = keras.optimizers.SGD()
def replica_step(x, y):
    with tf.GradientTape() as tape:
        p = model(x)
        loss = {loss}
    g = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(g, model.trainable_variables))
    return loss
@tf.function
def step(x, y):
    return strategy.run(replica_step, args=(x, y))
"""


@BOTH
@pytest.mark.parametrize(
    ("layers", "loss", "severity", "line"),
    [
        ("L.Dense(1)", "tf.reduce_sum(tf.matmul(p, y)) / 16", "error", "loss = tf.reduce_sum(tf.matmul(p, y)) / 16"),
        ("L.Dense(1)", "tf.reduce_sum(model(x[:, :3])) / 16", "error", "loss = tf.reduce_sum(model(x[:, :3])) / 16"),
        ("Hard(), L.Dense(1)", "tf.reduce_sum(p) / 16", "tpu", "return tf.reshape(x, (16, 4))"),
    ],
)
def test_a_shape_fault_inside_the_step_is_found_with_its_line(framework, layers, loss, severity, line):
    report = tpushape.trace(example(SHAPES.format(layers=layers, loss=loss), framework.__name__)["step"], batches(), tpu="v5e-8")
    found = report.findings[0]
    assert (found.severity, report.flow.failed() != []) == (severity, True), report
    failed = report.flow.failed()[0]
    assert line in [where.text for where in (found.location, failed.called, failed.location) if where is not None], report
    if severity == "tpu":
        assert "one device" in found.why and "8 replicas" in found.why


@BOTH
def test_uneven_and_dynamic_batches_of_a_step_are_found(framework):
    step, *_ = make_step(framework, tpushape.tpu_strategy("v5e-8"), batch=12)
    rules = {finding.rule for finding in tpushape.trace(step, batches(batch=12, rows=60), tpu="v5e-8").findings}
    assert "uneven-replicas" in rules


@BOTH
def test_what_was_made_outside_the_scope_is_found(framework):
    strategy = tpushape.tpu_strategy("v5e-8")
    model, optimizer, _ = setup(framework)

    @tf.function
    def step(x, y):
        def replica(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.square(model(x) - y)) / 16
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True))

        strategy.run(replica, args=(x, y))

    found = {finding.rule: finding for finding in tpushape.trace(step, batches(), tpu="v5e-8").findings}
    assert (found["scope-outside"].fact.strategy, found["scope-outside"].fact.step) == ("TPUStrategyV2", True)
    assert found["optimizer-outside"].severity == ("tpu" if framework is keras else "note")


VARIANTS = {
    "branch": """
@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(model(x) - y)) / 16
    if loss > 1.0:
        tf.debugging.assert_all_finite(loss, "too large")
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
""",
    "two models": """
with strategy.scope():
    critic, second = keras.Sequential([keras.Input((4,)), L.Dense(1)]), keras.optimizers.Adam()
per_row = keras.losses.BinaryCrossentropy(from_logits=True, reduction="none")
def replica(x, y):
    noise = tf.random.normal((tf.shape(x)[0], 4))
    with tf.GradientTape(persistent=True) as tape:
        made = critic(model(noise, training=True), training=True)
        fooled = tf.reduce_sum(per_row(tf.ones_like(made), made)) / 16
        real = tf.reduce_sum(per_row(tf.zeros_like(made), made)) / 16
    optimizer.apply_gradients(zip(tape.gradient(fooled, model.trainable_variables), model.trainable_variables))
    second.apply_gradients(zip(tape.gradient(real, critic.trainable_variables), critic.trainable_variables))
    return {"fooled": fooled, "real": real}
@tf.function
def step(batch):
    return {key: strategy.reduce("SUM", value, axis=None) for key, value in strategy.run(replica, args=batch).items()}
""",
    "regularised, over a distributed dataset": """
def replica(batch):
    x, y = batch
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(model(x) - tf.tile(y, (1, 4)))) / 16 + tf.nn.scale_regularization_loss(tf.add_n(model.losses))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
@tf.function
def step(dataset):
    for batch in dataset:
        strategy.run(replica, args=(batch,))
""",
}


@BOTH
@pytest.mark.parametrize("name", VARIANTS)
def test_right_steps_of_other_kinds_are_clean(framework, name):
    units = 4 if name != "branch" else 1
    made = f"""
strategy = tpushape.tpu_strategy("v5e-8")
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), L.Dense({units}, kernel_regularizer="l2")])
    optimizer = keras.optimizers.SGD()
"""
    step = example(made + VARIANTS[name], framework.__name__)["step"]
    report = tpushape.trace(step, batches(), tpu="v5e-8")
    assert report.ok, report
    assert {finding.rule for finding in report.findings} <= {"assert-dropped"}, report


def test_a_step_names_its_own_target():
    step, *_ = make_step(keras, tpushape.tpu_strategy("v5e-4"))
    assert tpushape.trace(step, batches()).target.name == "v5e-4"
    assert tpushape.trace(step, batches(), tpu=None).target is None


def test_a_weight_computed_from_the_data_is_not_followed_and_that_is_said():
    model, optimizer, _ = setup(keras)

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y)) * tf.reduce_max(x)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True))

    report = tpushape.trace(step, batches(), tpu="v5e-8")
    assert report.ok
    (limit,) = report.limits
    assert "loss" in limit and "gradients" in limit


CLIPS = {
    "global norm": "g, _ = tf.clip_by_global_norm(g, 1.0)",
    "norm": "g = [tf.clip_by_norm(one, 2.0) for one in g]",
    "value": "g = [tf.clip_by_value(one, -1.0, 1.0) for one in g]",
    "finite": "g = [tf.where(tf.math.is_nan(one), tf.zeros_like(one), one) for one in g]",
}


@BOTH
@pytest.mark.parametrize("clip", CLIPS)
def test_clipped_gradients_are_followed(framework, clip):
    said = []
    for loss in ("tf.reduce_mean(tf.square(p - y))", "tf.reduce_sum(tf.square(p - y)) / 16"):
        text = SHAPES.format(layers="L.Dense(1)", loss=loss).replace("    optimizer.apply", f"    {CLIPS[clip]}\n    optimizer.apply")
        report = tpushape.trace(example(text, framework.__name__)["step"], batches(), tpu="v5e-8", fixes=False)
        said.append([(finding.rule, finding.fact.times, finding.fact.replicas, finding.fact.by) for finding in report.findings])
        assert report.limits == ()
    assert said == [[("gradient-scale", 8.0, 8, "" if clip == "finite" else "clip")], []]


@BOTH
@pytest.mark.parametrize(
    ("loss", "clean"),
    [
        ("tf.reduce_sum(tf.square(p - y) * mask) / tf.reduce_sum(mask)", False),
        ("tf.math.divide_no_nan(tf.reduce_sum(tf.square(p - y) * mask), tf.reduce_sum(mask))", False),
        ("tf.reduce_sum(tf.square(p - y) * mask) / tf.maximum(tf.reduce_sum(mask), 1.0)", False),
        ("tf.reduce_mean(tf.boolean_mask(tf.square(p - y), y > 0))", False),
        ("tf.reduce_sum(tf.boolean_mask(tf.square(p - y), y > 0)) / 16", True),
        ("tf.reduce_sum(tf.square(p - y) * mask) / tf.reduce_sum(mask) / 8", True),
        ("tf.reduce_sum(tf.square(p - y) * mask) / tf.distribute.get_replica_context().all_reduce('sum', tf.reduce_sum(mask))", True),
    ],
)
def test_a_mask_that_divides_the_loss_is_followed(framework, loss, clean):
    text = SHAPES.format(layers="L.Dense(1)", loss=loss).replace("        p = model(x)", "        p, mask = model(x), tf.cast(y > 0, tf.float32)")
    report = tpushape.trace(example(text, framework.__name__)["step"], batches(), tpu="v5e-8", fixes=False)
    found = [finding for finding in report.findings if finding.rule == "gradient-scale"]
    assert report.limits == ()
    assert [(one.fact.times, one.fact.by) for one in found] == ([] if clean else [(8.0, "mask")])
    assert all("all_reduce('sum'" in one.why for one in found)


@pytest.mark.parametrize(
    ("loss", "times"),
    [
        ("tf.reduce_mean(per_row(y, p))", 8.0),
        ("tf.reduce_mean(per_row(y, p)) / strategy.num_replicas_in_sync", None),
        ("tf.reduce_sum(per_row(y, p)) * (1. / 16)", None),
        ("tf.reduce_sum(per_row(y, p)) / tf.cast(tf.shape(x)[0] * strategy.num_replicas_in_sync, tf.float32)", None),
        ("tf.reduce_mean(tf.square(p - y))", 8.0),
        ("mean(y, p)", None),
        ("mean(y, p) / 8", 0.125),
        ("tf.reduce_sum(per_row(y, p))", None),
    ],
)
def test_gradients_are_compared_with_those_of_the_whole_batch(loss, times):
    text = SHAPES.format(layers="L.Dense(1)", loss=loss) + (
        "\nper_row, mean = keras.losses.MeanSquaredError(reduction='none'), keras.losses.MeanSquaredError()\n"
    )
    found = [one for one in tpushape.trace(example(text, "keras")["step"], batches(), tpu="v5e-8").findings if one.rule == "gradient-scale"]
    assert [one.fact.times for one in found] == ([times] if times else [])


def test_gradients_that_are_averaged_or_scaled_by_hand_are_followed():
    text = SHAPES.format(layers="L.Dense(1)", loss="tf.reduce_mean(tf.square(p - y))")
    divided = text.replace("    optimizer.apply", "    g = [one / 8. for one in g]\n    optimizer.apply")
    averaged = text.replace(
        "    optimizer.apply_gradients(zip(g, model.trainable_variables))",
        "    g = tf.distribute.get_replica_context().all_reduce('mean', g)\n"
        "    optimizer.apply_gradients(zip(g, model.trainable_variables), skip_gradients_aggregation=True)",
    )
    for program, framework in ((divided, "keras"), (divided, "tf_keras"), (averaged, "tf_keras")):
        report = tpushape.trace(example(program, framework)["step"], batches(), tpu="v5e-8")
        assert "gradient-scale" not in {finding.rule for finding in report.findings}, program
        assert report.limits == ()


@BOTH
def test_what_to_type_comes_as_ideas_that_were_not_tried(framework):
    text = SHAPES.format(layers="L.Dense(1)", loss="tf.reduce_mean(tf.square(p - y))")
    report = tpushape.trace(example(text, framework.__name__)["step"], batches(), tpu="v5e-8")
    (finding,) = [one for one in report.findings if one.serious]
    first = finding.fixes[0]
    assert "tf.nn.compute_average_loss(losses, global_batch_size=16)" in first.title
    assert not any(fix.verified for fix in finding.fixes)
    assert (first.edits, first.patch) == ((), "") and first.reason
    assert len(finding.fixes) == (2 if framework is keras else 1)


@pytest.mark.parametrize(("step", "says"), [(lambda a, b, c, d: None, r"<lambda> takes a, b, c, d.* 2 parts"), (lambda batch: None, None)])
def test_a_step_whose_parameters_do_not_fit_says_so(step, says):
    if says is None:
        assert tpushape.trace(step, batches(), tpu="v5e-8").ok
        return
    with pytest.raises(BadProgram, match=says):
        tpushape.trace(step, batches())


def test_a_step_without_data_says_what_to_type():
    with pytest.raises(BadProgram, match=r"use trace\(replica_step, data\)"):
        tpushape.trace(make_step(keras, shape="plain")[0])


def test_the_compiler_is_not_asked_about_a_step_and_that_is_said():
    report = tpushape.trace(make_step(keras, shape="plain")[0], batches(), tpu="v5e-8", compiler="xla")
    assert not report.verdicts[0].ok and "step" in report.verdicts[0].message


CELL = """
import keras, numpy as np, tensorflow as tf
import jupyter_tpushape as tpushape
strategy = tpushape.tpu_strategy("v5e-8")
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    optimizer = keras.optimizers.SGD()
def replica_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
@tf.function
def step(x, y):
    strategy.run(replica_step, args=(x, y))
def data():
    x, y = np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(16, drop_remainder=True).prefetch(1)
"""


def test_the_magic_takes_a_step_and_names_the_line_in_its_cell(capsys):
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(colors="nocolor")
    try:
        shell.run_cell("%load_ext jupyter_tpushape")
        shell.run_cell(CELL + "ds = data()", store_history=True)
        capsys.readouterr()
        shell.run_cell("%tpushape step ds --tpu v5e-8 --text")
        out = capsys.readouterr().out
        assert "gradient-scale" in out and "8 times too large on 8 replicas" in out
        assert "loss = tf.reduce_mean(tf.square(model(x) - y))" in out
        shell.run_cell("%tpushape step --tpu v5e-8")
        assert ": use %tpushape model data." in capsys.readouterr().err
    finally:
        tpushape.unload_ipython_extension(shell)
        shell.run_line_magic("reset", "-f")
        InteractiveShell.clear_instance()


def test_the_command_line_takes_a_step(tmp_path, capsys):
    file = tmp_path / "train.py"
    file.write_text(CELL, encoding="utf-8")
    assert main(["check", f"{file}:step", "--data", f"{file}:data", "--tpu", "v5e-8"]) == 1
    assert "The gradients are 8 times too large on 8 replicas" in capsys.readouterr().out


def test_metrics_are_not_asked_for_their_results_while_a_step_is_traced():
    """fit asks outside of the compiled step, where a result may be a number of Python."""

    class Whole(keras.metrics.Mean):
        def result(self):
            return float(super().result().numpy())

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense, self.seen = keras.layers.Dense(1), Whole(name="seen")

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((y - self(x, training=True)) ** 2)
            self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True))
            self.seen.update_state(loss)
            return {"loss": loss}

    model = Net()
    model.compile("sgd")
    report = tpushape.trace(model, (np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")), tpu=None)
    assert report.ok


def test_a_fix_of_a_step_is_its_patch_and_says_so():
    program = """
model = keras.Sequential([keras.Input((4,)), L.Dense(3)])
def step(x, y):
    return tf.reduce_mean(tf.matmul(model(x), model(x)))
"""
    data = np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
    fix = tpushape.trace(example(program, "keras")["step"], data, tpu=None).findings[0].fixes[0]
    assert fix.verified and fix.proof == "source" and "transpose" in fix.patch
    with pytest.raises(tpushape.CannotRebuild, match="apply the patch to its source"):
        fix.rebuild()
