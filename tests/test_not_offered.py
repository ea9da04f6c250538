"""Edits with which a program would run and mean something else: none of them is a fix."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from broken import HEAD, load

import jupyter_tpushape as tpushape

L = keras.layers


def test_a_transposed_copy_is_not_transposed_back():
    """Both would be the same numbers then: a grid needs an index for its rows and one for its columns."""

    def loss(y_true, y_pred):
        column = tf.tile(tf.reshape(tf.range(6, dtype="float32"), (1, 1, 6, 1)), (1, 4, 1, 1))
        row = tf.transpose(column, (0, 2, 1, 3))
        return tf.reduce_mean(tf.square(y_true - y_pred - tf.concat([column, row], -1)), axis=(1, 2, 3))

    def build():
        model = keras.Sequential([keras.Input((4, 6, 3)), L.Conv2D(2, 1)])
        model.compile("sgd", loss)
        return model

    finding = tpushape.trace(build, (np.zeros((8, 4, 6, 3), "float32"), np.zeros((8, 4, 6, 2), "float32")), tpu=None).findings[0]
    assert finding.rule == "loss-raises"
    assert finding.fixes == []


def test_no_layer_is_put_behind_joined_heads_that_have_more_than_a_label():
    """Two of the three heads have the values of a label already: one layer behind all three would mix them."""

    def build():
        i = keras.Input((8, 8, 3))
        x = L.Conv2D(8, 3, strides=2, padding="same")(i)
        kinds = L.Activation("softmax")(L.Reshape((-1, 2))(L.Conv2D(6, 3, padding="same")(x)))
        boxes = L.Reshape((-1, 4))(L.Conv2D(12, 3, padding="same")(x))
        sizes = L.Reshape((-1, 8))(L.Conv2D(24, 3, padding="same")(x))
        model = keras.Model(i, L.Concatenate()([kinds, boxes, sizes]))
        model.compile("sgd", "mse")
        return model

    finding = tpushape.trace(build, (np.zeros((4, 8, 8, 3), "float32"), np.zeros((4, 48, 6), "float32")), tpu=None).findings[0]
    assert finding.rule == "output-units"
    assert not any(fix.verified for fix in finding.fixes)


def test_frames_of_a_clip_are_not_made_clips():
    """The model takes ten frames together, and the data has them one by one: they are to be grouped."""

    def build():
        model = keras.Sequential([
            keras.Input((10, 16, 16, 3)), L.Conv3D(4, 3), L.MaxPooling3D((1, 2, 2)), L.Conv3D(4, 3), L.Flatten(), L.Dense(3, activation="softmax"),
        ])  # fmt: skip
        model.compile("sgd", "sparse_categorical_crossentropy")
        return model

    finding = tpushape.trace(build, (np.zeros((20, 16, 16, 3), "float32"), np.arange(20) % 3), tpu=None).findings[0]
    assert (finding.rule, finding.fact.together) == ("input-rank", 10)
    assert not any(fix.verified for fix in finding.fixes)


def test_a_fault_in_a_later_batch_has_its_line():
    """The slice of the second batch is empty, and the third one cannot be stacked."""

    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            chosen = list(range(24))[index * 8 : 8 + index + 1]
            return np.stack([np.zeros(4, "float32") for _ in chosen]), np.zeros((len(chosen), 1), "float32")

    def build():
        model = keras.Sequential([keras.Input((4,)), L.Dense(1)])
        model.compile("sgd", "mse")
        return model

    finding = tpushape.trace(build, Batches(), tpu=None).findings[0]
    assert finding.rule == "data-raises"
    assert finding.location is not None
    assert "np.stack" in finding.location.text


def test_a_model_without_labels_is_not_made_larger_at_its_end():
    """Padded at the door, the output would be larger than the images, and so than any labels."""

    def build():
        i = keras.Input((50, 50, 3))
        down = L.Conv2D(4, 3, padding="same")(i)
        x = L.MaxPooling2D()(down)
        skip = L.Conv2D(8, 3, padding="same")(x)
        x = L.UpSampling2D()(L.MaxPooling2D()(skip))
        x = L.Concatenate()([x, skip])
        return keras.Model(i, L.Conv2D(1, 1)(L.Concatenate()([L.UpSampling2D()(x), down])))

    finding = tpushape.trace(build, tpu=None).findings[0]
    assert finding.rule == "merge-shapes"
    assert any(fix.verified for fix in finding.fixes)
    lines = [line for fix in finding.fixes for line in fix.patch.split("\n")]
    assert not any("ZeroPadding2D" in line and line.endswith("(i)") for line in lines)


def test_a_transform_that_fits_one_product_is_not_remade_for_another():
    """The function makes 3 × 3 for both: what fits the second would break the first, which would then be changed to fit again."""

    def transform(x):
        return L.Reshape((3, 3))(L.Dense(9)(L.GlobalMaxPooling1D()(L.Conv1D(8, 1)(x))))

    def build():
        i = keras.Input((32, 3))
        x = L.Conv1D(16, 1)(L.Dot(axes=(2, 1))([i, transform(i)]))
        x = L.Dot(axes=(2, 1))([x, transform(x)])
        model = keras.Model(i, L.Dense(2, activation="softmax")(L.GlobalMaxPooling1D()(x)))
        model.compile("sgd", "sparse_categorical_crossentropy")
        return model

    finding = tpushape.trace(build, (np.zeros((8, 32, 3), "float32"), np.arange(8) % 2), tpu=None).findings[0]
    assert finding.rule == "merge-shapes"
    assert not any(fix.verified for fix in finding.fixes)


def test_labels_of_one_step_do_not_make_steps_values():
    """Twelve steps of five values are predicted and one is labelled: which of the two is meant, no edit can tell."""

    def build():
        model = keras.Sequential([keras.Input((24, 5)), L.LSTM(8), L.Dense(60), L.Reshape((12, 5))])
        model.compile("sgd", "mse")
        return model

    finding = tpushape.trace(build, (np.zeros((16, 24, 5), "float32"), np.zeros((16, 5), "float32")), tpu=None).findings[0]
    assert (finding.rule, finding.why) == (
        "label-rank",
        "The model predicts 12 steps of (5,), but each label is a single step. Predict one step, or pass a label for each.",
    )
    assert not any(fix.verified for fix in finding.fixes)


def test_a_constant_that_also_counts_the_rows_stays(tmp_path):
    """The model is declared with the number of rows by mistake: the constant itself is right, and the data must not lose rows."""
    path = tmp_path / "counted_rows.py"
    path.write_text(
        "import keras\nimport numpy as np\n\nROWS = 30\n\n\ndef build():\n"
        "    model = keras.Sequential([keras.Input((ROWS,)), keras.layers.Dense(28)])\n"
        "    model.compile('sgd', 'mse')\n    return model\n\n\ndef data():\n"
        "    x = np.zeros((ROWS, 28), 'float32')\n    return x, x\n"
    )
    module = load(path)
    finding = tpushape.trace(module.build, module.data, tpu=None).findings[0]
    assert finding.rule == "input-axis"
    assert finding.fixes[0].verified and not any("ROWS = 28" in fix.patch for fix in finding.fixes)


@pytest.mark.parametrize("chosen", ["tf.reduce_sum(model.net(s) * tf.one_hot(a, 4), axis=1)", "tf.gather(model.net(s), a, batch_dims=1)"])
def test_the_value_of_one_action_is_not_compared_with_those_of_all(chosen, tmp_path):
    """The values of the next state are to be reduced like those of this one: by their maximum, as an expert knows, and by no axis of size 1."""
    path = tmp_path / f"actions_{len(chosen)}.py"
    path.write_text(f"""\
import keras
import numpy as np
import tensorflow as tf


class Agent(keras.Model):
    def __init__(self):
        super().__init__()
        self.net, self.target = keras.layers.Dense(4), keras.layers.Dense(4)

    def call(self, s):
        return self.net(s)

    def train_step(model, data):
        (s, a, r, s2), _ = data
        with tf.GradientTape() as tape:
            q = {chosen}
            loss = tf.reduce_mean(tf.square(r[:, None] + model.target(s2) - q))
        grads = tape.gradient(loss, model.net.trainable_variables)
        model.optimizer.apply_gradients(zip(grads, model.net.trainable_variables))
        return {{"loss": loss}}


def build():
    model = Agent()
    model.compile("sgd")
    return model


def data():
    s = np.ones((16, 6), "float32")
    return (s, np.arange(16) % 4, np.ones(16, "float32"), s), np.ones((16, 1), "float32")
""")
    module = load(path)
    found = [one for one in tpushape.trace(module.build, module.data, tpu=None).findings if one.serious]
    assert found
    assert not any(fix.verified for one in found for fix in one.fixes)


def test_a_softmax_keeps_more_than_one_value():
    """Edges of 32 bins for 31 probabilities: with one output, all that the loss sees is 1."""
    edges = tf.constant(np.arange(-15, 17), tf.float32)

    def build():
        model = keras.Sequential([keras.Input((5,)), L.Dense(31)])
        model.compile("sgd", crps)
        return model

    def crps(y, p):
        below = tf.cumsum(keras.activations.softmax(p), axis=-1)
        return tf.reduce_sum(tf.square(below - tf.cast(y <= edges, tf.float32)), axis=-1)

    finding = tpushape.trace(build, (np.zeros((8, 5), "float32"), np.zeros((8, 1), "float32")), tpu=None).findings[0]
    assert finding.fixes
    assert not any("units=1 " in fix.title for fix in finding.fixes if fix.verified)


def test_branches_that_agree_are_not_told_to_differ():
    """A list in the list of branches raises; their shapes have nothing to do with it."""

    def build():
        a = keras.Input((6,))
        both = [L.Dense(4)(a), L.Dense(4)(a)]
        return keras.Model(a, L.Dense(1)(L.Concatenate()([both, a])))

    rules = [one.rule for one in tpushape.trace(build, (np.zeros((8, 6), "float32"), np.zeros((8, 1), "float32")), tpu=None).findings if one.serious]
    assert rules == ["layer-raises"]


def test_a_step_that_asks_for_its_parts_is_not_told_to_unpack_others(tmp_path):
    """The form that Keras's guide has: only the branch that ran unpacks, and what raises comes later."""
    path = tmp_path / "asks_for_parts.py"
    path.write_text("""\
import keras
import numpy as np
import tensorflow as tf


class Net(keras.Model):
    def train_step(self, data):
        if len(data) == 3:
            x, y, weights = data
        else:
            x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(y - self(x, training=True)))
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {"loss": loss}


def build():
    i = keras.Input((6,))
    model = Net(i, keras.layers.Dense(2)(i))
    model.compile("sgd")
    return model
""")
    data = np.zeros((8, 6), "float32"), np.zeros((8, 3), "float32")
    found = [one for one in tpushape.trace(load(path).build, data, tpu=None).findings if one.serious]
    assert [one.rule for one in found] == ["op-shapes"]


def test_outputs_of_both_directions_are_no_states():
    def build():
        i = keras.Input((6, 4))
        return keras.Model(i, L.Dense(1)(L.Bidirectional(L.LSTM(4), merge_mode=None)(i)))

    data = np.zeros((8, 6, 4), "float32"), np.zeros((8, 1), "float32")
    (found,) = [one for one in tpushape.trace(build, data, tpu=None).findings if one.serious]
    assert type(found.fact).__name__ != "StatesToo"


def test_a_computed_axis_is_no_tensor():
    class Wider(L.Layer):
        def call(self, x):
            return tf.expand_dims(x, len(x.shape) + 1)

    def build():
        i = keras.Input((4,))
        return keras.Model(i, L.Dense(1)(Wider()(i)))

    data = np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")
    (found,) = [one for one in tpushape.trace(build, data, tpu=None).findings if one.serious]
    assert type(found.fact).__name__ != "Apart"


def test_a_tensor_that_others_read_is_not_made_like_a_neighbor(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        HEAD.format(framework="keras")
        + """
class Factors(keras.Model):
    def __init__(self):
        super().__init__()
        self.rows, self.one, self.deep = L.Embedding(50, 8), L.Embedding(50, 1), L.Dense(1)
    def call(self, inputs):
        x, ids = inputs
        e = self.rows(ids)
        first = tf.reduce_sum(self.one(ids), axis=1)
        second = tf.reduce_sum(tf.square(tf.reduce_sum(e, 1)) - tf.reduce_sum(tf.square(e), 1), axis=1)
        return first + second[:, None] + self.deep(tf.concat([x, e], axis=1))


def build():
    model = Factors()
    model.compile("sgd", "mse")
    return model
"""
    )
    data = (np.zeros((8, 5), "float32"), np.zeros((8, 4), "int32")), np.zeros((8, 1), "float32")
    (found,) = [one for one in tpushape.trace(load(path).build, data, tpu=None).findings if one.serious]
    assert found.rule == "op-shapes"
    assert not any("reduce_sum(self.rows" in fix.patch for fix in found.fixes)


def test_a_split_inside_a_cell_names_what_it_splits(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        HEAD.format(framework="keras")
        + """
class Cell(L.Layer):
    def __init__(self, units):
        super().__init__()
        self.state_size = self.output_size = units
        self.way, self.back = L.Dense(4 * units), L.Dense(4 * units)
    def call(self, x, states):
        r, z, n = keras.ops.split(self.way(x) + self.back(states[0]), 3, axis=-1)
        return keras.ops.tanh(n) * z, [keras.ops.tanh(n) * r]


def build():
    model = keras.Sequential([keras.Input((6, 4)), L.RNN(Cell(5)), L.Dense(1)])
    model.compile("sgd", "mse")
    return model
"""
    )
    data = np.zeros((8, 6, 4), "float32"), np.zeros((8, 1), "float32")
    (found,) = [one for one in tpushape.trace(load(path).build, data, tpu=None).findings if one.serious]
    assert (found.fact.reason.size, found.fact.reason.parts) == (20, 3)
    assert () not in found.fact.shapes


def test_a_table_with_as_many_values_as_a_batch_is_not_flattened(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        HEAD.format(framework="keras")
        + """
class Centred(keras.Model):
    def __init__(self):
        super().__init__()
        self.way, self.center = L.Dense(4), tf.Variable(np.zeros(32, "float32"), trainable=False)
    def call(self, x):
        return self.way(x)
    def train_step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.way(x) - self.center) ** 2)
        weights = self.way.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return {"loss": loss}


def build():
    model = Centred()
    model.compile("sgd")
    return model
"""
    )
    (found,) = [one for one in tpushape.trace(load(path).build, np.zeros((8, 6), "float32"), batch_size=8, tpu=None).findings if one.serious]
    assert (type(found.fact.reason).__name__, found.fact.reason.left, found.fact.reason.right) == ("Lengths", 4, 32)
    assert not found.fixes or not found.fixes[0].verified


def test_no_layer_is_put_behind_two_heads_that_are_joined():
    def build():
        i = keras.Input((6,))
        model = keras.Model(i, L.Concatenate()([L.Dense(4)(i), L.Dense(2, activation="sigmoid")(i)]))
        model.compile("sgd", "mse")
        return model

    (found,) = [one for one in tpushape.trace(build, (np.zeros((8, 6), "float32"), np.ones((8, 5), "float32")), tpu=None).findings if one.serious]
    assert found.rule == "output-units"
    assert not any(fix.verified for fix in found.fixes)


def test_labels_that_a_loss_encodes_in_columns_are_no_fault_of_the_head(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        HEAD.format(framework="keras")
        + """
def smoothed(y, p):
    y = tf.one_hot(tf.cast(y, tf.int32), 4) * 0.9 + 0.025
    return keras.losses.categorical_crossentropy(y, p)


def build():
    model = keras.Sequential([keras.Input((6,)), L.Dense(4, activation="softmax")])
    model.compile("sgd", smoothed)
    return model
"""
    )
    data = np.zeros((8, 6), "float32"), np.arange(8)[:, None] % 4
    (found,) = [one for one in tpushape.trace(load(path).build, data, tpu=None).findings if one.serious]
    assert (found.rule, found.fact.labels, found.fact.predictions) == ("loss-raises", (8, 1, 4), (8, 4))
    assert found.fixes[0].verified


def test_a_lambda_that_pairs_samples_still_gets_its_fixes():
    def build():
        x, factor = keras.Input((6, 6, 3)), keras.Input((3,))
        y = L.Lambda(lambda pair: pair[0] * pair[1])([x, factor])
        model = keras.Model([x, factor], L.Conv2D(1, 1)(y))
        model.compile("sgd", "mse")
        return model

    data = [np.zeros((16, 6, 6, 3), "float32"), np.zeros((16, 3), "float32")], np.zeros((16, 6, 6, 1), "float32")
    report = tpushape.trace(build, data, tpu="v5e-8", batch_size=8)
    assert not report.limits
    assert next(one for one in report.findings if one.serious).rule == "batch-broadcast"


def test_parts_by_name_are_no_fault_of_ours(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        HEAD.format(framework="keras")
        + """
class Rest(L.Layer):
    def __init__(self):
        super().__init__()
        self.places = self.add_weight(shape=(1, 9, 4), name="places")
    def call(self, x):
        rest = tf.tile(x[:, :1], (1, 9, 1))
        return tf.concat(axis=1, values=[x[:, :4], rest]) + self.places


def build():
    model = keras.Sequential([keras.Input((9, 4)), Rest(), L.Flatten(), L.Dense(1)])
    model.compile("sgd", "mse")
    return model
"""
    )
    data = np.zeros((8, 9, 4), "float32"), np.zeros((8, 1), "float32")
    report = tpushape.trace(load(path).build, data, tpu=None)
    assert not report.limits
    assert report.findings[0].rule == "op-shapes"


def test_a_table_of_numpy_has_no_samples_to_count():
    """An odd width has a sine more than cosines; neither the step of 2 nor the length is a number of rows."""

    def positions(length, width):
        table, at = np.zeros((length, width), "float32"), np.arange(length)[:, None]
        angles = at * np.exp(np.arange(0, width, 2) * -0.5)
        table[:, 0::2] = np.sin(angles)
        table[:, 1::2] = np.cos(angles)
        return table

    def build():
        i = keras.Input((6, 5))
        return keras.Model(i, L.Dense(1)(i + positions(6, 5)))

    finding = tpushape.trace(build, (np.zeros((8, 6, 5), "float32"), None), tpu=None).findings[0]
    assert finding.rule == "code-raises"
    assert finding.fixes == []
