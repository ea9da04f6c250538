"""What people reported: states with the output, frozen teachers, one loss weight too many, parts built for the whole; and their correct twins."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("framework", [keras, tf_keras], ids=["keras", "tf_keras"])


def floats(*shape):
    return np.random.default_rng(0).random(shape).astype("float32")


def first(build, data, **given):
    """The only serious finding."""
    report = tpushape.trace(build, data, tpu=None, **given)
    (found,) = [one for one in report.findings if one.severity in ("error", "silent")]
    return found


def program(tmp_path, text):
    """The functions of a program in a file."""
    path = tmp_path / "program.py"
    path.write_text(text)
    names = {"__file__": str(path), "__name__": "program"}
    exec(compile(text, str(path), "exec"), names)
    return names["build"], names["data"]


@BOTH
@pytest.mark.parametrize("rank", [1, 2])
def test_a_text_column_of_a_dict_is_not_taken_for_the_label(framework, rank):
    def build():
        layers = framework.layers
        inputs = {name: layers.Input((1,), name=name) for name in ("rooms", "city")}
        model = framework.Model(inputs, layers.Dense(1)(layers.Concatenate()(list(inputs.values()))))
        model.compile("sgd", "mse")
        return model

    def data():
        shape = (16, 1)[:rank]
        table = {"rooms": floats(*shape), "city": np.array(["a", "b"])[np.zeros(shape, int)]}
        return tf.data.Dataset.from_tensor_slices((table, floats(*shape))).batch(8)

    report = tpushape.trace(build, data, tpu=None)
    found = [one for one in report.findings if one.severity == "error"]
    assert "input-dtype" in [one.rule for one in found]
    assert not any(fix.verified for one in found for fix in one.fixes)


@pytest.mark.parametrize(("width", "called"), [("6", "x[..., :4]"), ("4", "keras.ops.concatenate([x, self.other(x)], axis=-1)")])
def test_a_part_is_built_for_what_it_is_called_on(width, called, tmp_path):
    build, data = program(tmp_path, PARTS.format(width=width, called=called))
    found = first(build, data)
    fix = found.fixes[0]
    assert found.rule == "layer-axis"
    assert fix.verified
    assert f"+        self.dense.build((*shape[:-1], {4 if width == '6' else 7}))" in fix.patch


PARTS = """
import keras, numpy as np
class Part(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.other = keras.layers.Dense(3)
        self.dense = keras.layers.Dense(5)
    def build(self, shape):
        self.other.build(shape)
        self.dense.build(shape)
    def call(self, x):
        return self.dense({called})
def build():
    model = keras.Sequential([keras.layers.Input((9, {width})), Part(), keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model
def data():
    return np.zeros((8, 9, {width}), "float32"), np.zeros((8, 1), "float32")
"""


@BOTH
@pytest.mark.parametrize(("target", "offered"), [((16, 64), "Reshape to (12, 64), the size that arrives"), ((4, 100), "Move axis 2 to the front")])
def test_an_axis_moves_to_the_front_only_where_the_rest_of_the_target_is_no_row(framework, target, offered):
    def build():
        layers = framework.layers
        model = framework.Sequential([layers.Input((12, 4, 16)), layers.Reshape(target), layers.LSTM(3), layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    assert first(build, lambda: (floats(8, 12, 4, 16), floats(8, 1))).fixes[0].title.startswith(offered)


@BOTH
@pytest.mark.parametrize(("frozen", "units"), [("left", 4), ("right", 7)])
def test_the_size_of_a_frozen_layer_stays(framework, frozen, units):
    def build():
        layers = framework.layers
        left, right = layers.Dense(7, name="left"), layers.Dense(4, name="right")
        x = layers.Input((5,))
        {"left": left, "right": right}[frozen].trainable = False
        model = framework.Model(x, layers.Dense(1)(layers.Add()([left(x), right(x)])))
        model.compile("sgd", "mse")
        return model

    found = first(build, lambda: (floats(8, 5), floats(8, 1)))
    other = {"left": "right", "right": "left"}[frozen]
    assert found.fixes[0].title == f"Set units={11 - units} on {other}, the size of {frozen}"
    assert not any(fix.verified and f"on {frozen}," in fix.title for fix in found.fixes)


def test_a_student_gets_the_classes_of_its_teacher(tmp_path):
    build, data = program(tmp_path, TEACHER)
    fix = first(build, data).fixes[0]
    assert fix.verified
    assert "+    return Pupil(net(10), net(10))" in fix.patch.replace("model = ", "return ")


TEACHER = """
import keras, numpy as np
class Pupil(keras.Model):
    def __init__(self, student, teacher):
        super().__init__()
        self.student, self.teacher = student, teacher
        teacher.trainable = False
    def call(self, x):
        return self.student(x)
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        hard = keras.losses.sparse_categorical_crossentropy(y, y_pred, from_logits=True)
        soft = keras.ops.softmax(self.teacher(x))
        return keras.ops.mean(hard) + keras.ops.mean(keras.losses.kl_divergence(soft, keras.ops.softmax(y_pred)))
def net(classes):
    return keras.Sequential([keras.layers.Input((6,)), keras.layers.Dense(classes)])
def build():
    model = Pupil(net(8), net(10))
    model.compile("sgd")
    return model
def data():
    return np.zeros((16, 6), "float32"), np.arange(16) % 8
"""


@BOTH
def test_a_table_of_an_array_has_its_size_though_it_is_frozen(framework):
    def build():
        layers = framework.layers
        table = layers.Embedding(20, 5, weights=[floats(20, 8)], trainable=False)
        model = framework.Sequential([layers.Input((4,)), table, layers.Flatten(), layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    found = first(build, lambda: (np.ones((8, 4), "int32"), floats(8, 1)))
    assert found.fixes[0].verified
    assert found.fixes[0].title.startswith("Set output_dim=8")


def test_the_inner_output_of_a_network_comes_from_its_own_input():
    def build():
        layers = keras.layers
        inner = layers.Input((9, 9, 3))
        base = keras.Model(inner, layers.MaxPooling2D()(layers.Conv2D(4, 3, name="maps")(inner)), name="base")
        outer = layers.Input((9, 9, 3))
        model = keras.Model(outer, layers.Dense(2)(layers.GlobalAveragePooling2D()(base(outer))))
        return keras.Model(model.input, [base.get_layer("maps").output, model.output])

    found = first(build, lambda: (floats(8, 9, 9, 3), None))
    assert (found.rule, found.fact.through) == ("graph-disconnected", ("maps",))


@pytest.mark.parametrize("weights", [[1.0, 5.0], [1.0, 1.0, 2.0], [2.0], 2.0])
def test_a_loss_weight_belongs_to_an_output(weights):
    def build():
        model = keras.Sequential([keras.layers.Input((5,)), keras.layers.Dense(2, activation="softmax")])
        model.compile("sgd", "sparse_categorical_crossentropy", loss_weights=weights)
        return model

    report = tpushape.trace(build, lambda: (floats(8, 5), np.arange(8) % 2), tpu=None)
    told = [("output-names", len(weights))] if isinstance(weights, list) and len(weights) > 1 else []
    assert [(one.rule, one.fact.weights) for one in report.findings if one.severity == "error"] == told


@pytest.mark.parametrize("state", [True, False])
def test_one_value_per_class_has_other_words_in_a_metric(state, tmp_path):
    line = "self.hits.assign(self.hits + hit)" if state else "self.hits.assign(self.hits + keras.ops.sum(keras.ops.one_hot(y, 3) * hit[:, None], axis=0))"
    build, data = program(tmp_path, PER_CLASS.format(line=line))
    report = tpushape.trace(build, data, tpu=None)
    assert [one.fact.reason.added for one in report.findings if one.severity == "error"] == [True] * state


PER_CLASS = """
import keras, numpy as np
class PerClass(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="per_class")
        self.hits = self.add_weight(shape=(3,), initializer="zeros", name="hits")
    def update_state(self, y, p, sample_weight=None):
        hit = keras.ops.cast(keras.ops.equal(keras.ops.cast(y, "int64"), keras.ops.argmax(p, axis=-1)), "float32")
        {line}
    def result(self):
        return keras.ops.mean(self.hits)
def build():
    model = keras.Sequential([keras.layers.Input((5,)), keras.layers.Dense(3, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=[PerClass()])
    return model
def data():
    return np.zeros((16, 5), "float32"), np.arange(16) % 3
"""

SEQUENCES = """
import {framework} as keras, numpy as np
def build():
    a, b = keras.layers.Input((9, 4)), keras.layers.Input((6, 4))
    {encoder}
    y = keras.layers.{layer}(12, return_sequences=True)(b, initial_state={given})
    model = keras.Model([a, b], keras.layers.Dense(2)(y))
    model.compile("sgd", "mse")
    return model
def data():
    return [np.zeros((8, 9, 4), "float32"), np.zeros((8, 6, 4), "float32")], np.zeros((8, 6, 2), "float32")
"""


@BOTH
@pytest.mark.parametrize(
    ("encoder", "layer", "given", "mended"),
    [
        ("found = keras.layers.GRU(12, return_sequences=True, return_state=True)(a)", "GRU", "found", "initial_state=found[1:]"),
        ("out, h, c = keras.layers.LSTM(12, return_state=True)(a)", "LSTM", "[out, h, c]", "initial_state=[h, c]"),
        ("out, state = keras.layers.LSTM(12, return_state=True)(a)", "LSTM", "state", "initial_state=[state, state_2]"),
        ("out, h = keras.layers.LSTM(12, return_state=True)(a)", "LSTM", "[h]", "initial_state=[h, h_2]"),
    ],
)
def test_a_decoder_gets_all_states_and_no_output(framework, encoder, layer, given, mended, tmp_path):
    build, data = program(tmp_path, SEQUENCES.format(framework=framework.__name__, encoder=encoder, layer=layer, given=given))
    fix = first(build, data).fixes[0]
    assert fix.verified
    assert mended in fix.patch


@BOTH
def test_states_alone_are_left_alone(framework, tmp_path):
    encoder = "_, *states = keras.layers.LSTM(12, return_state=True)(a)"
    report = tpushape.trace(*program(tmp_path, SEQUENCES.format(framework=framework.__name__, encoder=encoder, layer="LSTM", given="states")), tpu=None)
    assert report.ok


@BOTH
@pytest.mark.parametrize("sparse", [True, False])
def test_labels_of_each_place_are_stacked_for_one_output(framework, sparse):
    def build():
        layers = framework.layers
        model = framework.Sequential([layers.Input((10,)), layers.Dense(4 * 6), layers.Reshape((4, 6)), layers.Softmax()])
        model.compile("sgd", "sparse_categorical_crossentropy" if sparse else "categorical_crossentropy")
        return model

    def data():
        places = [np.arange(8) % 6 for _ in range(4)]
        return floats(8, 10), places if sparse else [np.eye(6, dtype="float32")[one] for one in places]

    found = first(build, data)
    assert (found.rule, found.fixes[0].title) == ("output-names", "Stack the 4 arrays of labels along axis 1")
    assert found.fixes[0].rebuild()[1][1].shape == ((8, 4) if sparse else (8, 4, 6))


@pytest.mark.parametrize(("shape", "axis"), [((3,), "1"), ((6, 3), "(1, 2)")])
def test_a_loss_that_is_weighted_keeps_the_samples(shape, axis, tmp_path):
    build, data = program(tmp_path, OVER_SAMPLES.format(shape=shape))
    fix = first(build, data).fixes[0]
    assert fix.verified
    assert f"+    return tf.reduce_mean(tf.abs(y - p), axis={axis})" in fix.patch


OVER_SAMPLES = """
import numpy as np, tensorflow as tf, tf_keras as keras
def own(y, p):
    return tf.reduce_mean(tf.abs(y - p), axis=0)
def build():
    model = keras.Sequential([keras.layers.Input({shape}), keras.layers.Dense(3)])
    model.compile("sgd", own)
    return model
def data():
    return np.zeros((8, *{shape}), "float32"), np.ones((8, *{shape}), "float32"), np.arange(8, dtype="float32")
"""


@pytest.mark.parametrize(("letters", "mended"), [("btd,bd->bt", "keras.ops.squeeze(query, 1)"), ("btd,bqd->bqt", "")])
def test_an_axis_of_size_one_without_a_letter_is_squeezed(letters, mended, tmp_path):
    build, data = program(tmp_path, EINSUM.format(letters=letters))
    report = tpushape.trace(build, data, tpu=None)
    assert report.ok == (not mended)
    assert mended in "".join(fix.patch for one in report.findings for fix in one.fixes if fix.verified)


EINSUM = """
import keras, numpy as np
class Score(keras.layers.Layer):
    def call(self, steps, query):
        return keras.ops.einsum("{letters}", steps, query)
def build():
    steps, ids = keras.layers.Input((9, 8)), keras.layers.Input((1,), dtype="int32")
    scores = Score()(steps, keras.layers.Embedding(20, 8)(ids))
    model = keras.Model([steps, ids], keras.layers.Flatten()(scores))
    model.compile("sgd", "mse")
    return model
def data():
    return [np.zeros((8, 9, 8), "float32"), np.zeros((8, 1), "int32")], np.zeros((8, 9), "float32")
"""

LISTS = """
import {framework} as keras, numpy as np
class Batches(keras.utils.{base}):
    def __len__(self):
        return 2
    def __getitem__(self, index):
        x, y = [], []
        for one in range(8):
            x.append(np.zeros(5, "float32"))
            y.append(one % 2)
        return x, y
def build():
    model = keras.Sequential([keras.layers.Input((5,)), keras.layers.Dense(1, activation="sigmoid")])
    model.compile("sgd", "binary_crossentropy")
    return model
def data():
    return Batches()
"""


@pytest.mark.parametrize(("framework", "base", "rule"), [("keras", "PyDataset", "data-misfit"), ("tf_keras", "Sequence", "input-structure")])
def test_lists_of_samples_become_arrays(framework, base, rule, tmp_path):
    report = tpushape.trace(*program(tmp_path, LISTS.format(framework=framework, base=base)), tpu=None)
    found = next(one for one in report.findings if one.rule == rule)
    assert found.fixes[0].verified
    assert "+        return np.array(x), np.array(y)" in found.fixes[0].patch
    assert rule == "input-structure" or "a list of 8 samples" in found.message


@BOTH
def test_labels_with_an_axis_of_size_one_more_need_no_other_layer(framework):
    def build():
        model = framework.Sequential([framework.layers.Input((7,)), framework.layers.Dense(4, activation="softmax")])
        model.compile("sgd", "categorical_crossentropy")
        return model

    def data():
        ds = tf.data.Dataset.from_tensor_slices((floats(16, 7), np.arange(16)[:, None] % 4))
        return ds.batch(8).map(lambda x, y: (x, tf.one_hot(y, 4)))

    found = first(build, data)
    assert (found.rule, found.why) == ("label-rank", "Both have 4 values per sample, but on different axes.")
    assert found.fixes[0].title == "Squeeze axis 1 of the labels (size 1)"
