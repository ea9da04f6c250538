"""What people searched help for: one image without a batch, ids that wrapped around, empty lists, thresholds of logits; and their correct twins."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from broken import load

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("framework", [keras, tf_keras], ids=["keras", "tf_keras"])


def floats(*shape):
    return np.random.default_rng(0).random(shape).astype("float32")


def traced(build, data):
    return tpushape.trace(build, data, tpu=None)


def written(framework, folder, program):
    """The program as a module with a file of its own."""
    path = folder / f"program_{framework.__name__}.py"
    path.write_text(f"import numpy as np, tensorflow as tf, {framework.__name__} as keras\nlayers = keras.layers\n{program}")
    return load(path)


def pictures(framework):
    def build():
        layers = framework.layers
        model = framework.Sequential([layers.Input((8, 8, 3)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    return build


@BOTH
@pytest.mark.parametrize("shape", [(12, 10, 3), (60, 8, 3), (8, 60, 3)])
def test_one_image_of_another_size_lacks_the_batch_axis(framework, shape):
    report = traced(pictures(framework), lambda: (floats(*shape), None))
    (found,) = [one for one in report.findings if one.severity == "error"]
    assert (found.rule, found.fact.rows, found.fact.row) == ("missing-batch-axis", shape[0], shape[1:])
    assert found.fixes[0].verified
    model, x = found.fixes[0].rebuild()
    assert model.predict(x[0] if isinstance(x, tuple) else x, verbose=0).shape == (1, 1)


@BOTH
@pytest.mark.parametrize(("declared", "shape"), [((8, 8, 1), (8, 8)), ((8, 8, 3), (8, 8)), ((20, 1), (20,))])
def test_one_gray_image_or_series_lacks_both_its_batch_and_its_last_axis(framework, declared, shape):
    def build():
        return framework.Sequential([framework.layers.Input(declared), framework.layers.Flatten(), framework.layers.Dense(1)])

    found = traced(build, lambda: (floats(*shape), None)).findings[0]
    assert found.rule == "missing-batch-axis" and found.fixes[0].verified and found.fixes[0].proof == "source"
    model, x = found.fixes[0].rebuild()
    assert model.input_shape == (None, *declared)
    assert model.predict(x[0] if isinstance(x, tuple) else x, verbose=0).shape == (1, 1)
    # With a label for each row, the rows are samples.
    labelled = traced(build, lambda: (floats(*shape), floats(shape[0]))).findings[0]
    assert labelled.rule != "missing-batch-axis"


@BOTH
def test_gray_images_with_labels_are_no_single_image(framework):
    report = traced(pictures(framework), lambda: (floats(16, 10, 3), floats(16, 1)))
    assert [one.rule for one in report.findings if one.severity == "error"] == ["input-rank"]
    titles = [fix.title for found in report.findings for fix in found.fixes]
    assert not any("last axis" in title for title in titles)


@BOTH
def test_nothing_is_said_of_a_model_whose_data_is_an_empty_list(framework):
    def build():
        layers = framework.layers
        a, b = layers.Input((4,)), layers.Input((6,))
        model = framework.Model([a, b], layers.Dense(3)(layers.Concatenate()([layers.Dense(2)(a), layers.Dense(2)(b)])))
        model.compile("sgd", "mse")
        return model

    report = traced(build, lambda: ([np.array([]), np.array([])], np.array([])))
    assert [one.rule for one in report.findings if one.severity in ("error", "silent")] == ["data-misfit"]


@BOTH
@pytest.mark.parametrize(("dtype", "rows", "narrow"), [("int8", 300, "int8"), ("int32", 300, ""), ("int8", 100, "")])
def test_negative_ids_are_told_with_a_dtype_that_is_too_narrow(framework, dtype, rows, narrow):
    def build():
        layers = framework.layers
        model = framework.Sequential([layers.Input((4,), dtype="int32"), layers.Embedding(rows, 3), layers.Flatten(), layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    ids = np.tile([-5, 0, 7, 90], (8, 1)).astype(dtype)
    (found,) = [one for one in traced(build, lambda: (ids, floats(8, 1))).findings if one.rule == "embedding-range"]
    assert (found.fact.lowest, found.fact.narrow, found.fact.last) == (-5, narrow, framework is keras)
    assert found.severity == ("silent" if framework is keras else "error")


@BOTH
@pytest.mark.parametrize(
    ("activation", "logits", "metric", "cut"),
    [
        (None, True, "accuracy", True),
        (None, True, "binary", True),
        (None, True, "zero", False),
        (None, True, "other", False),
        ("sigmoid", False, "accuracy", False),
        (None, True, "auc", False),
    ],
)
def test_a_threshold_for_probabilities_on_logits_is_told(framework, activation, logits, metric, cut):
    def build():
        layers, metrics = framework.layers, framework.metrics
        given = {
            "accuracy": "accuracy",
            "binary": metrics.BinaryAccuracy(name="right"),
            "zero": metrics.BinaryAccuracy(threshold=0.0),
            "other": metrics.BinaryAccuracy(threshold=0.3),
            "auc": metrics.AUC(from_logits=True),
        }[metric]
        model = framework.Sequential([layers.Input((3,)), layers.Dense(1, activation=activation)])
        model.compile("sgd", framework.losses.BinaryCrossentropy(from_logits=logits), metrics=[given])
        return model

    found = [one for one in traced(build, lambda: (floats(8, 3), np.arange(8) % 2)).findings if one.rule == "logits-threshold"]
    assert [one.severity for one in found] == ["note"] * cut


@BOTH
def test_a_model_that_ends_in_one_unit_under_a_softmax_is_noted(framework):
    def build():
        layers = framework.layers
        model = framework.Sequential([layers.Input((3,)), layers.Dense(1, activation="softmax")])
        model.compile("sgd", "binary_crossentropy")
        return model

    report = traced(build, lambda: (floats(8, 3), np.arange(8) % 2))
    assert [one.severity for one in report.findings if one.rule == "one-unit-softmax"] == ["note"]
    assert report.ok


def test_the_weights_of_a_hidden_layer_are_not_left_out(tmp_path):
    path = str(tmp_path / "kept.weights.h5")

    def made(width, classes):
        layers = keras.layers
        return keras.Sequential([layers.Input((5,)), layers.Dense(width, name="hidden"), layers.Dense(classes, name="head")])

    def build():
        made(4, 3).save_weights(path)
        model = made(6, 3)
        model.load_weights(path)
        model.compile("sgd", "mse")
        return model

    (found,) = [one for one in traced(build, lambda: (floats(8, 5), floats(8, 3))).findings if one.rule == "weights-apart"]
    assert not found.fixes


@BOTH
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_an_activation_is_applied_twice_only_where_the_loss_computes_so(framework, policy):
    x, y = floats(32, 6) * 6 - 3, np.arange(32) % 3

    def build():
        layers = framework.layers
        head = layers.Dense(3, activation="softmax", dtype=framework.mixed_precision.Policy(policy) if framework is tf_keras else policy)
        model = framework.Sequential([layers.Input((6,)), head])
        model.compile("sgd", framework.losses.SparseCategoricalCrossentropy(from_logits=True))
        return model

    model = build()
    chances = model.predict(x, verbose=0).astype("float64")
    again = np.exp(chances) / np.exp(chances).sum(axis=1, keepdims=True)
    once, twice = (float(np.mean(-np.log(one[np.arange(32), y]))) for one in (chances, again))
    loss = model.evaluate(x, y, verbose=0)
    found = [one for one in traced(build, lambda: (x, y)).findings if one.rule == "logits-twice"]
    assert [one.severity for one in found] == ["silent"]
    assert found[0].fact.kept is (abs(loss - once) < abs(loss - twice))


@BOTH
def test_gray_images_are_repeated_for_a_network_of_a_library(framework):
    def build():
        base = framework.applications.MobileNet(weights=None, include_top=False, input_shape=(32, 32, 3), alpha=0.25)
        model = framework.Model(base.input, framework.layers.Dense(2)(framework.layers.GlobalAveragePooling2D()(base.output)))
        model.compile("sgd", "mse")
        return model

    (found,) = [one for one in traced(build, lambda: (floats(8, 32, 32), floats(8, 2))).findings if one.severity == "error"]
    assert [edit.kind for edit in found.fixes[0].edits] == ["data-transform"] * 2
    assert found.fixes[0].verified


@BOTH
@pytest.mark.parametrize(("line", "offered"), [("y * p", False), ("tf.cast(y > 0, 'float32') * p", True), ("y - p", True)])
def test_labels_that_a_loss_multiplies_get_no_axis(framework, line, offered, tmp_path):
    code = f"""
import numpy as np, tensorflow as tf
import {framework.__name__} as keras

def own(y, p):
    return tf.reduce_mean(
        {line})

def build():
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(12), keras.layers.Reshape((2, 6))])
    model.compile("sgd", own)
    return model

def data():
    return np.ones((8, 4), "float32"), np.ones((8, 2), "float32")
"""
    file = tmp_path / "own.py"
    file.write_text(code)
    names: dict[str, object] = {}
    exec(compile(code, str(file), "exec"), names)
    report = traced(names["build"], names["data"])
    verified = [fix for found in report.findings for fix in found.fixes if fix.verified and "axis of size 1" in fix.title]
    assert bool(verified) is offered


@BOTH
@pytest.mark.parametrize("late", [False, True], ids=["told by Keras", "told at run time"])
def test_one_number_per_sample_is_no_score_for_each_class(framework, late):
    class Single(framework.layers.Layer):
        def call(self, x):
            return tf.reshape(x, [-1]) if late else tf.squeeze(x, 1)

    def build():
        layers = framework.layers
        model = framework.Sequential([layers.Input((3,)), layers.Dense(1), Single()])
        model.compile("sgd", "sparse_categorical_crossentropy")
        return model

    (found,) = [one for one in traced(build, lambda: (floats(8, 3), np.arange(8) % 2)).findings if one.serious]
    assert (found.rule, found.fact.predictions, found.severity) == ("label-rank", (8,), "error")


@BOTH
@pytest.mark.parametrize("declared", [(2, 2, 6), (24,)], ids=["maps", "rows"])
def test_pictures_for_a_head_of_features_have_not_been_through_its_base(framework, declared, tmp_path):
    """Declaring the pictures' shape would run, and train a head of another kind on raw pixels."""
    program = written(
        framework,
        tmp_path,
        f"""
base = keras.Sequential([layers.Input((8, 8, 3)), layers.Conv2D(6, 3, strides=4, padding='same')])
def build():
    head = keras.Sequential([layers.Input({declared}), layers.Flatten(), layers.Dense(2)])
    head.compile('sgd', 'mse')
    return head
def data():
    return np.zeros((64, 8, 8, 3), 'float32'), np.zeros((64, 2), 'float32')
""",
    )
    (found,) = [one for one in traced(program.build, program.data).findings if one.severity == "error"]
    assert found.fact.base == "base"
    assert [fix.verified for fix in found.fixes] == [False]
    assert traced(program.build, lambda: (np.asarray(program.base(floats(64, 8, 8, 3))).reshape(64, *declared), floats(64, 2))).ok


def pooled(framework, axes, folder):
    """A program that reduces the maps of a convolution over the axes that stand in its text."""
    return written(
        framework,
        folder,
        f"""
def build():
    image = layers.Input((9, 9, 3))
    maps = layers.ReLU()(layers.Conv2D(4, 3, name='maps')(image))
    kept = layers.Lambda(lambda x: tf.reduce_mean(x, {axes}))(maps)
    model = keras.Model(image, layers.Dense(1)(kept))
    model.compile('sgd', 'mse')
    return model
""",
    ).build


@BOTH
@pytest.mark.parametrize("axes", ["axis=[2, 3]", "[-2, -1]", "axis=(3, 2)"])
def test_a_mean_over_the_channels_leaves_rows_of_the_image(framework, axes, tmp_path):
    """Nothing raises: the Dense layer reads 7 rows in place of 4 channels."""
    (found,) = traced(pooled(framework, axes, tmp_path), lambda: (floats(64, 9, 9, 3), floats(64, 1))).findings
    assert (found.rule, found.severity, found.fact.layer) == ("channels-reduced", "silent", "maps")
    assert found.fixes[0].verified
    model, _ = found.fixes[0].rebuild()
    assert [layer.kernel.shape[0] for layer in model.layers if layer.name.startswith("dense")] == [4]


@BOTH
@pytest.mark.parametrize("axes", ["[1, 2]", "[1, 3]"], ids=["image", "columns"])
def test_other_means_of_maps_are_no_fault(framework, axes, tmp_path):
    assert traced(pooled(framework, axes, tmp_path), lambda: (floats(64, 9, 9, 3), floats(64, 1))).ok


@BOTH
def test_the_energy_of_each_frame_of_a_spectrogram_is_no_fault(framework):
    def build():
        layers = framework.layers
        sound = layers.Input((12, 10, 3))
        frames = layers.Lambda(lambda x: tf.reduce_mean(x, axis=[2, 3]))(layers.Conv2D(4, 3, padding="same")(sound))
        model = framework.Model(sound, layers.Activation("sigmoid")(frames))
        model.compile("sgd", "binary_crossentropy")
        return model

    assert traced(build, lambda: (floats(64, 12, 10, 3), np.round(floats(64, 12)))).ok


IGNORED = """
def build():
    model = keras.Sequential([layers.Input((5,)), layers.Embedding(9, 4), layers.Dense(3)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=%s))
    return model


def data():
    return np.arange(40).reshape(8, 5) %% 9, np.where(np.arange(40).reshape(8, 5) %% 9 == 0, %s, np.arange(40).reshape(8, 5) %% %s)
"""


@BOTH
@pytest.mark.parametrize(("ignored", "label", "classes", "found"), [(-1, -1, 3, 0), (255, 255, 3, 0), (-1, -2, 3, 1), (None, -1, 3, 1), (-1, -1, 4, 1)])
def test_labels_of_an_ignored_class_are_in_no_range(framework, ignored, label, classes, found, tmp_path):
    module = written(framework, tmp_path, IGNORED % (ignored, label, classes))
    assert sum(one.rule == "label-range" for one in traced(module.build, module.data).findings) == found


RESIZED = """
def build():
    inner = keras.Sequential([layers.Input((8, 8, 4)), layers.Conv2D(2, 3), layers.Flatten(), layers.Dense(2)])
    i = layers.Input(({size}, 10, 4))
    model = keras.Model(i, inner({between}(i)))
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((4, {size}, 10, 4), "float32"), np.zeros((4, 2), "float32")
"""


@BOTH
@pytest.mark.parametrize(
    ("between", "size"), [("layers.Conv2D(4, 3, padding='same')", 10), ("layers.Rescaling(2.0)", 12)], ids=["maps of a layer", "other proportions"]
)
def test_what_a_resize_would_stretch_or_scale_is_asked_about(framework, between, size, tmp_path):
    module = written(framework, tmp_path, RESIZED.format(between=between, size=size))
    fixes = traced(module.build, module.data).findings[0].fixes
    assert not [fix for fix in fixes if fix.verified and "Resiz" in fix.patch]


@BOTH
def test_two_inputs_of_other_lengths_are_not_pooled_alike_unasked(framework, tmp_path):
    program = """
def build():
    past, ahead = layers.Input((12, 3)), layers.Input((4, 2))
    both = layers.Concatenate()([layers.LSTM(5, return_sequences=True)(past), layers.LSTM(5, return_sequences=True)(ahead)])
    model = keras.Model([past, ahead], layers.Dense(1)(both))
    model.compile("sgd", "mse")
    return model


def data():
    return [np.zeros((8, 12, 3), "float32"), np.zeros((8, 4, 2), "float32")], np.zeros((8, 4, 1), "float32")
"""
    module = written(framework, tmp_path, program)
    fixes = traced(module.build, module.data).findings[0].fixes
    assert fixes[0].verified and not [fix for fix in fixes if fix.verified and "Pool" in fix.title]


def test_text_among_numbers_gets_an_idea_and_no_proof():
    rows = np.array([[1.0, "red"], [2.0, "blue"]] * 8, object)
    found = traced(lambda: keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(1)]), lambda: (rows, None)).findings[0]
    assert found.fact.columns == (1,) and "column 1" in found.fixes[0].title and not found.fixes[0].verified


ADDED = """
def loss(y, p):
    both = tf.reduce_sum(y, axis=1) + tf.reduce_sum(p{axis})
    return tf.reduce_mean(both / {by})


def build():
    model = keras.Sequential([layers.Input((5,)), layers.Dense(3)])
    model.compile("sgd", loss)
    return model


def data():
    return np.ones((8, 5), "float32"), np.ones((8, 3), "float32")
"""


@BOTH
@pytest.mark.parametrize(("axis", "by", "found"), [("", "2.0", 1), (", axis=1", "2.0", 0), (", axis=1", "tf.reduce_sum(y)", 0)])
def test_a_sum_of_each_sample_and_one_of_all(framework, axis, by, found, tmp_path):
    module = written(framework, tmp_path, ADDED.format(axis=axis, by=by))
    assert sum(one.rule == "samples-summed" for one in traced(module.build, module.data).findings) == found


PICTURES = """
C, S = 3, 6
raw = np.random.default_rng(0).random({raw})


def build():
    model = keras.Sequential([layers.Input((S, S, C)), layers.Flatten(), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    return {x}, np.ones((8, 1), "float32")
"""


@BOTH
@pytest.mark.parametrize(
    ("raw", "x", "found"),
    [
        ("(8, C, S, S)", "raw.reshape(8, S, S, C)", 1),
        ("(8, C, S, S)", "np.reshape(raw, (-1, S, S, C)) / 255", 1),
        ("(8, C, S, S)", "np.transpose(raw, (0, 2, 3, 1))", 0),
        ("(8, C * S * S)", "raw.reshape(8, S, S, C)", 0),
        ("(8, S, S * C)", "raw.reshape((8, S, S, C))", 0),
        ("(8, S, S, C)", "raw.reshape((8, S, S, C))", 0),
    ],
)
def test_channels_that_a_reshape_was_to_move(framework, raw, x, found, tmp_path):
    module = written(framework, tmp_path, PICTURES.format(raw=raw, x=x))
    assert sum(one.rule == "data-axes-mixed" for one in traced(module.build, module.data).findings) == found


def test_a_step_that_minimizes_with_a_tape_divides_its_loss_by_the_replicas(tmp_path):
    program = """
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.out = layers.Dense(1)
    def call(self, x):
        return self.out(x)
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.math.squared_difference(self(x), y))
        self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
        return {"loss": loss}


def build():
    model = Net()
    model.compile("sgd")
    return model


def data():
    return tf.data.Dataset.from_tensor_slices((np.ones((32, 3), "float32"), np.ones(32, "float32"))).batch(16, drop_remainder=True)
"""
    module = written(tf_keras, tmp_path, program)
    fix = tpushape.trace(module.build, module.data, tpu="v5e-8").findings[0].fixes[0]
    assert fix.verified and "self.optimizer.minimize(scaled_loss," in fix.patch and "tf.squeeze(self(x), 1)" in fix.patch


@BOTH
@pytest.mark.parametrize("labels", ["y * 2.0", "np.full((8, 3), 2.0)"], ids=["weights of the classes", "weights of every value"])
def test_weights_of_values_that_are_classes_leave_nothing_to_learn(framework, labels, tmp_path):
    program = f"""
def build():
    model = keras.Sequential([layers.Input((5,)), layers.Dense(3, activation="softmax")])
    model.compile("sgd", "categorical_crossentropy")
    return model


def data():
    y = np.eye(3)[np.arange(8) % 3]
    return np.ones((8, 5)), y, {labels}
"""
    module = written(framework, tmp_path, program)
    fixes = traced(module.build, module.data).findings[0].fixes
    assert fixes and not [fix for fix in fixes if "Reshape" in fix.title or "one-unit-softmax" in fix.then]


@BOTH
def test_one_of_several_entries_that_may_be_the_labels_is_not_chosen(framework):
    def build():
        model = framework.Sequential([framework.layers.Input((6,)), framework.layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    found = traced(build, lambda: (floats(8, 6), {"price": floats(8), "tax": floats(8)})).findings[0]
    assert found.rule == "output-names" and found.fact.given == ("price", "tax") and not [fix for fix in found.fixes if fix.verified]


@BOTH
def test_a_dict_of_weights_for_classes_is_no_weight_of_samples(framework):
    def build():
        model = framework.Sequential([framework.layers.Input((6,)), framework.layers.Dense(1, activation="sigmoid")])
        model.compile("sgd", "binary_crossentropy")
        return model

    def batches():
        for _ in range(3):
            yield floats(4, 6), np.arange(4) % 2, {0: 1.0, 1: 4.0}

    found = traced(build, batches).findings[0]
    assert (found.rule, found.fact.count, found.fact.rows, found.fact.keyed) == ("data-misfit", 2, 4, True) and not found.fixes[0].verified


@BOTH
@pytest.mark.parametrize(("rows", "severity"), [(38, "error"), (32, "tpu")])
def test_what_raises_anywhere_is_told_before_what_a_target_makes_of_it(framework, rows, severity):
    def build():
        layers = framework.layers
        inputs = layers.Input(batch_shape=(16, 5, 2)) if framework is keras else layers.Input(batch_size=16, shape=(5, 2))
        model = framework.Model(inputs, layers.Dense(1)(layers.LSTM(3, stateful=True)(inputs)))
        model.compile("sgd", "mse")
        return model

    def data():
        return tf.data.Dataset.from_tensor_slices((floats(rows, 5, 2), floats(rows, 1))).batch(16)

    found = tpushape.trace(build, data, tpu="v5e-8").findings
    assert found[0].severity == severity and (found[0].rule == "fixed-batch") is (severity == "error") and any(one.severity == "tpu" for one in found)
