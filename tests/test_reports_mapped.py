"""What people reported of vocabularies, CTC, scaled pixels and functions of a pipeline; and their correct twins."""

from __future__ import annotations

import keras
import pytest
import tf_keras
from test_reports_of_others import first, program

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("framework", [keras, tf_keras], ids=["keras", "tf_keras"])

HEAD = """
import numpy as np
import tensorflow as tf
import {framework} as keras
L = keras.layers
rng = np.random.default_rng(0)
"""


def written(tmp_path, framework, text):
    return program(tmp_path, HEAD.format(framework=framework.__name__) + text)


def lines(fix):
    """The lines that a patch takes away, and those that it adds."""
    return [[line[1:].strip() for line in fix.patch.splitlines() if line.startswith(sign) and not line.startswith(sign * 3)] for sign in "-+"]


WORDS = """
words = [str(n) for n in range(12)]
size = {size}
ids = np.array([[1 + (i + j) % 12 for j in range(5)] for i in range(24)])
def build():
    model = keras.Sequential([L.Input((4,)), L.Embedding({table}, 4), L.LSTM(4), L.Dense(size, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model
def data():
    return ids[:, :-1] % {most}, ids[:, -1]
"""


@BOTH
@pytest.mark.parametrize(("size", "plus"), [("len(words)", "size + 1"), ("12", "13")])
def test_labels_that_are_ids_of_the_vocabulary_keep_their_numbers(framework, size, plus, tmp_path):
    build, data = written(tmp_path, framework, WORDS.format(size=size, table="size", most=12))
    found = first(build, data)
    (fix,) = [one for one in found.fixes if one.verified]
    assert found.rule == "label-range"
    assert lines(fix)[1] == [f'model = keras.Sequential([L.Input((4,)), L.Embedding({plus}, 4), L.LSTM(4), L.Dense({plus}, activation="softmax")])']


@BOTH
def test_labels_beside_another_vocabulary_may_be_counted_from_1(framework, tmp_path):
    build, data = written(tmp_path, framework, WORDS.format(size="12", table="40", most=40))
    assert "minus 1" in first(build, data).fixes[0].title


@pytest.mark.parametrize(("units", "out"), [("len(letters)", True), ("len(letters) + 1", False)])
def test_ctc_has_a_unit_for_the_blank(units, out, tmp_path):
    text = f"""
letters = "abcdefgh"
def build():
    model = keras.Sequential([L.Input((20, 3)), L.Conv1D(4, 3, padding="same"), L.Dense({units})])
    model.compile("sgd", keras.losses.CTC())
    return model
def data():
    return rng.normal(size=(16, 20, 3)).astype("float32"), 1 + np.arange(16 * 4).reshape(16, 4) % 8
"""
    build, data = written(tmp_path, keras, text)
    if not out:
        assert tpushape.trace(build, data, tpu=None, fixes=False).ok
        return
    found = first(build, data)
    (fix,) = found.fixes
    assert (found.rule, found.severity, found.fact.blank, fix.verified) == ("label-range", "silent", True, True)
    assert "L.Dense(len(letters) + 1)" in lines(fix)[1][0]


@BOTH
@pytest.mark.parametrize("way", ["x = x / 255.0", "x /= 255.0", "x = tf.image.resize(x, (16, 16)) / 255.0"])
def test_pixels_are_divided_once_where_the_model_is_a_librarys(framework, way, tmp_path):
    text = f"""
def scale(x, y):
    x = tf.cast(x, tf.float32)
    {way}
    return x, y
def build():
    base = keras.applications.MobileNetV3Small(input_shape=(32, 32, 3), include_top=False, weights=None, pooling="avg", minimalistic=True)
    model = keras.Sequential([base, L.Dense(1)])
    model.compile("sgd", "mse")
    return model
def data():
    x = rng.integers(0, 256, (8, 32, 32, 3)).astype("uint8")
    return tf.data.Dataset.from_tensor_slices((x, np.zeros((8, 1), "float32"))).map(scale).batch(4)
""".replace("(16, 16)", "(32, 32)")
    found = first(*written(tmp_path, framework, text))
    fix = found.fixes[0]
    gone, new = lines(fix)
    assert (found.rule, fix.proof) == ("scaled-twice", "source")
    assert all("255" in line for line in gone) and all("255" not in line for line in new)


DENSE = """
def build():
    model = keras.Sequential([L.Input({shape}), L.Flatten(), L.Dense(3, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model
"""


@BOTH
def test_text_is_vectorized_a_batch_at_a_time(framework, tmp_path):
    text = """
texts = ["a b", "c", "a c b", "b"] * 4
vectorize = L.TextVectorization(max_tokens=9)
vectorize.adapt(texts)
def ids(text, label):
    return vectorize(tf.expand_dims(text, -1)), label
def build():
    model = keras.Sequential([L.Embedding(9, 4), L.GlobalAveragePooling1D(), L.Dense(1)])
    model.compile("sgd", "mse")
    return model
def data():
    return tf.data.Dataset.from_tensor_slices((texts, np.zeros(16, "float32"))).map(ids).batch(4)
"""
    report = tpushape.trace(*written(tmp_path, framework, text), tpu=None)
    found = [one for one in report.findings if one.rule == "data-raises"]
    assert [lines(fix)[1] for fix in found[0].fixes if fix.verified] == [
        ['return tf.data.Dataset.from_tensor_slices((texts, np.zeros(16, "float32"))).batch(4).map(ids)']
    ]


def test_samples_of_different_lengths_that_are_no_text_stay_before_batch(tmp_path):
    text = """
def pairs(x, y):
    return tf.reshape(x[: 2 * (y + 1)], (-1, 2)), y
def build():
    model = keras.Sequential([L.Input((None, 2)), L.LSTM(3), L.Dense(3, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model
def data():
    return tf.data.Dataset.from_tensor_slices((np.zeros((12, 8), "float32"), np.arange(12) % 3)).map(pairs).batch(4)
"""
    found = first(*written(tmp_path, keras, text))
    assert not any(fix.verified and "Move batch" in fix.title for fix in found.fixes)


@BOTH
@pytest.mark.parametrize(("axis", "new"), [(", 1", "tf.signal.stft(tf.squeeze(wave, axis=-1), 64, 64)"), ("", "")])
def test_frames_are_cut_from_the_axis_of_the_samples(framework, axis, new, tmp_path):
    text = (
        DENSE.format(shape="(5, 33, 1)")
        + f"""
def spectrogram(wave, label):
    return tf.abs(tf.signal.stft(wave, 64, 64))[..., None], label
def data():
    x = rng.random((12, 320{axis})).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, np.arange(12) % 3)).map(spectrogram).batch(4)
"""
    )
    build, data = written(tmp_path, framework, text)
    report = tpushape.trace(build, data, tpu=None)
    if not axis:
        assert report.ok
        return
    found = next(one for one in report.findings if one.serious)
    assert (found.fact.function, found.fact.after, found.fact.alone) == ("spectrogram", (320, 0, 33, 1), True)
    assert found.fixes[0].verified and new in lines(found.fixes[0])[1][0]


@BOTH
@pytest.mark.parametrize(("begin", "ok"), [(1, False), (0, True)])
def test_classes_from_1_are_no_rows_of_a_table(framework, begin, ok, tmp_path):
    text = (
        DENSE.format(shape="(4, 4, 1)")
        + f"""
def weighted(x, label):
    return x, label, tf.gather(tf.constant([1.0, 2.0, 3.0]), tf.cast(label, tf.int32))
def data():
    return tf.data.Dataset.from_tensor_slices((np.zeros((12, 4, 4, 1), "float32"), np.arange(12) % 3 + {begin})).batch(4).map(weighted)
"""
    )
    build, data = written(tmp_path, framework, text)
    if ok:
        assert tpushape.trace(build, data, tpu=None, fixes=False).ok
        return
    found = first(build, data)
    assert (found.fact.function, found.fact.index, found.fact.size) == ("weighted", 3, 3)
    assert found.fixes[0].verified and lines(found.fixes[0])[1] == ["label = label - 1"]


@BOTH
@pytest.mark.parametrize(("side", "ok"), [(10, False), (16, True)])
def test_a_crop_that_is_larger_than_its_picture(framework, side, ok, tmp_path):
    text = (
        DENSE.format(shape="(12, 12, 3)")
        + f"""
SIDE = 12
def crop(image, label):
    return tf.image.random_crop(image, [SIDE, SIDE, 3]), label
def data():
    return tf.data.Dataset.from_tensor_slices((np.zeros((12, {side}, 14, 3), "float32"), np.arange(12) % 3)).map(crop).batch(4)
"""
    )
    build, data = written(tmp_path, framework, text)
    if ok:
        assert tpushape.trace(build, data, tpu=None, fixes=False).ok
        return
    found = first(build, data)
    assert (found.fact.given, found.fact.wanted) == ((10, 14, 3), (12, 12, 3))
    assert "resize_with_crop_or_pad(image, SIDE, 14)" in lines(found.fixes[0])[1][0]


@BOTH
@pytest.mark.parametrize("sparse", [False, True])
def test_a_confusion_matrix_counts_class_indices(framework, sparse, tmp_path):
    text = f"""
class Matrix(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="matrix")
        self.counts = self.add_weight(name="counts", shape=(3, 3), initializer="zeros")
    def update_state(self, y_true, y_pred, sample_weight=None):
        self.counts.assign_add(tf.math.confusion_matrix(y_true, y_pred, num_classes=3, dtype="float32"))
    def result(self):
        return tf.reduce_sum(self.counts)
def build():
    model = keras.Sequential([L.Input((4,)), L.Dense(3, activation="softmax")])
    model.compile("sgd", "{"sparse_" * sparse}categorical_crossentropy", metrics=[Matrix()])
    return model
def data():
    y = np.arange(12) % 3
    return np.zeros((12, 4), "float32"), {"y[:, None]" if sparse else "np.eye(3)[y]"}
"""
    found = first(*written(tmp_path, framework, text))
    assert found.rule == "metric-raises" and found.fixes[0].verified
    labels = "tf.reshape(y_true, [-1])" if sparse else "tf.argmax(y_true, axis=-1)"
    assert f"confusion_matrix({labels}, tf.argmax(y_pred, axis=-1)" in lines(found.fixes[0])[1][0]


DISTILLER = """
class Distiller(keras.Model):
    def __init__(self):
        super().__init__()
        self.student, self.teacher = (keras.Sequential([L.Input((6,)), L.Dense(4)]) for _ in "st")
        self.compare = keras.losses.KLDivergence()
    def call(self, x):
        return self.student(x)
    def train_step(self, data):
        x, y = data
        goal = self.teacher(x)
        with tf.GradientTape() as tape:
            loss = self.compare(tf.nn.softmax(goal / 3.0{axis}), tf.nn.softmax(self.student(x) / 3.0{axis}))
        variables = self.student.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return {{"loss": loss}}
def build():
    model = Distiller()
    model.compile("sgd")
    return model
def data():
    return rng.random((16, 6)).astype("float32"), np.zeros(16, "int32")
"""


@BOTH
@pytest.mark.parametrize(("axis", "out"), [(", axis=0", True), (", axis=1", False), ("", False)])
def test_a_loss_compares_probabilities_of_classes(framework, axis, out, tmp_path):
    build, data = written(tmp_path, framework, DISTILLER.format(axis=axis))
    if not out:
        assert tpushape.trace(build, data, tpu=None, fixes=False).ok
        return
    found = first(build, data)
    assert (found.rule, len(found.fact.softmaxes), found.fact.shape[-1]) == ("softmax-over-batch", 2, 4)
    assert found.fixes[0].verified and lines(found.fixes[0])[1][0].count("axis=-1") == 2


@BOTH
@pytest.mark.parametrize("target", ["(6, 64)", "(64, 6)"])
def test_a_permute_tells_that_channels_were_meant(framework, target, tmp_path):
    text = f"""
def build():
    end = [L.Permute((2, 1))] if {target}[0] == 6 else []
    model = keras.Sequential([L.Input((8, 8, 3)), L.Conv2D(6, 1), L.Reshape({target}), *end, L.Activation("softmax")])
    model.compile("sgd", "categorical_crossentropy")
    return model
def data():
    return rng.random((8, 8, 8, 3)).astype("float32"), np.eye(6)[np.arange(8 * 64).reshape(8, 64) % 6]
"""
    build, data = written(tmp_path, framework, text)
    if target == "(64, 6)":
        assert tpushape.trace(build, data, tpu=None, fixes=False).ok
        return
    found = first(build, data)
    assert found.rule == "reshape-interleaves" and found.fixes[0].verified
    assert found.fixes[0].title.startswith("Reshape to (64, 6)")


@BOTH
@pytest.mark.parametrize(("labels", "out"), [("classes, boxes", True), ("boxes, classes", False)])
@pytest.mark.parametrize("keyed", [False, True])
def test_labels_of_two_outputs_in_each_others_place(framework, labels, out, keyed, tmp_path):
    box, label = labels.split(", ")
    given = f"{{'box': {box}, 'label': {label}}}" if keyed else f"({labels})"
    text = f"""
boxes, classes = rng.random((16, 4)).astype("float32"), np.eye(4, dtype="float32")[np.arange(16) % 4]
def build():
    i = keras.Input((6,))
    model = keras.Model(i, [L.Dense(4, name="box")(i), L.Dense(4, activation="softmax", name="label")(i)])
    model.compile("sgd", {{"box": "mse", "label": "categorical_crossentropy"}})
    return model
def data():
    return tf.data.Dataset.from_tensor_slices((np.zeros((16, 6), "float32"), {given})).batch(8)
"""
    build, data = written(tmp_path, framework, text)
    if not out:
        assert tpushape.trace(build, data, tpu=None, fixes=False).ok
        return
    found = first(build, data)
    assert (found.rule, found.fact.classes.name, found.fact.numbers.name) == ("labels-exchanged", "label", "box")
    assert found.fixes[0].verified


@BOTH
def test_a_layer_that_two_losses_read_is_told_once(framework, tmp_path):
    text = """
class Twice(keras.Model):
    def __init__(self):
        super().__init__()
        self.judge = keras.Sequential([L.Input((4,)), L.Dense(1, activation="sigmoid")])
        self.compare = keras.losses.BinaryCrossentropy(from_logits=True)
    def call(self, x):
        return self.judge(x)
    def train_step(self, data):
        with tf.GradientTape() as tape:
            one, other = self.judge(data), self.judge(-data)
            loss = self.compare(tf.ones_like(one), one) + self.compare(tf.zeros_like(other), other)
        variables = self.judge.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return {"loss": loss}
def build():
    model = Twice()
    model.compile("sgd")
    return model
def data():
    return tf.data.Dataset.from_tensor_slices(rng.random((16, 4)).astype("float32")).batch(8)
"""
    assert first(*written(tmp_path, framework, text), fixes=False).rule == "logits-twice"


TRANSLATE = """
def build():
    source, target = keras.Input((None, 5)), keras.Input((None, 6))
    read, *states = L.LSTM(8, return_state=True{steps})(source)
    spoken = L.LSTM(8, return_sequences=True)(target, initial_state=states)
    found = L.Attention()([{first}])
    joined = L.Concatenate(axis={axis})([spoken, found])
    model = keras.Model([source, target], L.Dense(6, activation="softmax")(joined))
    model.compile("sgd", "categorical_crossentropy")
    return model
def data():
    words = np.eye(6, dtype="float32")[np.arange(8 * 8).reshape(8, 8) % 6]
    return [rng.random((8, 4, 5)).astype("float32"), words[:, :-1]], words[:, 1:]
"""
STEPS = ", return_sequences=True"


@BOTH
@pytest.mark.parametrize(
    ("steps", "first_given", "axis"),
    [
        ("", "read, spoken", 1),
        ("", "spoken, read", 1),
        ("", "read, spoken", -1),
        (STEPS, "spoken, read", 1),
        (STEPS, "read, spoken", 1),
        (STEPS, "spoken, read", -1),
    ],
)
def test_a_decoder_attends_to_the_steps_of_the_encoder(framework, steps, first_given, axis, tmp_path):
    build, data = written(tmp_path, framework, TRANSLATE.format(steps=steps, first=first_given, axis=axis))
    report = tpushape.trace(build, data, tpu=None)
    if (steps, first_given, axis) == (STEPS, "spoken, read", -1):
        assert report.ok
        return
    found = next(one for one in report.findings if one.serious)
    fix = found.fixes[0]
    assert fix.verified
    new = "\n".join(lines(fix)[1])
    assert "return_sequences=True)(source)" in new or steps
    assert ("L.Attention()([spoken, read])" in new) is (first_given != "spoken, read")
    assert ("Concatenate(axis=-1)" in new) is (axis == 1)
    if not steps and first_given == "read, spoken" and framework is keras:
        assert found.rule == "softmax-over-batch"
