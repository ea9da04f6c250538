"""What code of the program's own takes for granted: labels of unknown rank, dtypes of labels, steps for CTC; and what is no fault."""

from __future__ import annotations

import linecache

import numpy as np
import pytest
from broken import HEAD, fit, load

import jupyter_tpushape as tpushape


def written(tmp_path, source, framework="keras"):
    path = tmp_path / "contract.py"
    linecache.clearcache()
    path.write_text(HEAD.format(framework=framework) + source)
    return path


def first_of(path):
    module = load(path)
    report = tpushape.trace(module.build, module.data, tpu=None)
    return next(finding for finding in report.findings if finding.serious)


def trains(path, fix):
    tpushape.apply(fix, path)
    linecache.checkcache(str(path))
    again = load(path)
    assert tpushape.trace(again.build, again.data, tpu=None, fixes=False).ok
    fit(again.build(), again.data(), eagerly=True)


def test_labels_of_unknown_rank_get_it_for_a_batch_of_any_size(tmp_path):
    path = written(
        tmp_path,
        """
def build():
    model = keras.Sequential([keras.Input((4,)), L.Dense(1, activation="sigmoid")])
    model.compile("sgd", "binary_crossentropy", metrics=["accuracy"])
    return model

def data():
    x, y = np.ones((50, 4), "float32"), np.ones((50,), "float32")
    def batches():
        for i in range(0, 50, 16):
            yield x[i:i + 16], y[i:i + 16]
    return tf.data.Dataset.from_generator(batches, output_signature=(tf.TensorSpec((None, 4)), tf.TensorSpec(None)))
""",
    )
    finding = first_of(path)
    assert (finding.rule, finding.fact.paths) == ("unknown-rank", ("y",))
    assert "(None,)" in finding.fixes[0].patch
    trains(path, finding.fixes[0])  # the last batch has two samples


@pytest.mark.parametrize("metric", ["F1Score()", "FBetaScore()"])
def test_a_metric_that_does_not_cast_its_labels(tmp_path, metric):
    path = written(
        tmp_path,
        f"""
def build():
    model = keras.Sequential([keras.Input((4,)), L.Dense(1, activation="sigmoid")])
    model.compile("sgd", "binary_crossentropy", metrics=[keras.metrics.{metric}])
    return model

def data():
    return np.ones((8, 4), "float32"), np.arange(8) % 2
""",
        "tf_keras",
    )
    finding = first_of(path)
    assert (finding.rule, finding.fact.wanted, finding.fact.given) == ("dtype-mix", "float32", "int64")
    trains(path, finding.fixes[0])


@pytest.mark.parametrize("metric", ["CategoricalAccuracy()", "TopKCategoricalAccuracy(k=2)"])
@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_a_metric_of_vectors_that_receives_class_indices(tmp_path, framework, metric):
    path = written(
        tmp_path,
        f"""
def build():
    model = keras.Sequential([keras.Input((4,)), L.Dense(5, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=[keras.metrics.{metric}])
    return model

def data():
    return np.ones((8, 4), "float32"), (np.arange(8) % 5)[:, None]
""",
        framework,
    )
    finding = first_of(path)
    assert (finding.rule, finding.severity) == ("metric-labels", "silent")


@pytest.mark.parametrize(("steps", "length", "ok"), [(4, 20, False), (4, 5, True), (2, 11, False), (2, 10, True)])
def test_ctc_counts_the_steps_of_its_predictions(tmp_path, steps, length, ok):
    path = written(
        tmp_path,
        f"""
def build():
    x, y = keras.Input((20, 3), name="x"), keras.Input((4,), name="y")
    n, k = keras.Input((1,), name="n", dtype="int32"), keras.Input((1,), name="k", dtype="int32")
    p = L.Dense(6, activation="softmax")(L.MaxPooling1D({steps})(x))
    c = L.Lambda(lambda a: keras.backend.ctc_batch_cost(*a), output_shape=(1,))([y, p, n, k])
    model = keras.Model([x, y, n, k], c)
    model.compile("sgd", lambda t, p: p)
    return model

def data():
    x = {{"x": np.ones((8, 20, 3), "float32"), "y": np.ones((8, 4), "float32")}}
    return {{**x, "n": np.full((8, 1), {length}), "k": np.full((8, 1), 2)}}, np.zeros((8,), "float32")
""",
        "tf_keras",
    )
    module = load(path)
    report = tpushape.trace(module.build, module.data, tpu=None, fixes=False)
    assert report.ok == ok
    if not ok:
        fact = report.findings[0].fact
        assert (report.findings[0].rule, fact.length, fact.steps) == ("ctc-length", length, 20 // steps)


def test_every_squeeze_of_a_batch_gets_its_axis(tmp_path):
    path = written(
        tmp_path,
        """
class Both(L.Layer):
    def call(self, x):
        a = tf.squeeze(x[:, 0:1])
        b = tf.squeeze(x[:, 1:2])
        return a * b
    def compute_output_shape(self, shape):
        return (shape[0], shape[2])

def build():
    i = keras.Input((2, 6))
    model = keras.Model(i, L.Dense(1)(Both()(i)))
    model.compile("sgd", "mse")
    return model

def data():
    return np.ones((33, 2, 6), "float32"), np.ones((33, 1), "float32")
""",
    )
    finding = first_of(path)
    assert finding.rule == "rows-unknown"
    trains(path, finding.fixes[0])
    assert path.read_text().count(", axis=1)") == 2


def test_a_condition_with_one_more_axis_than_what_it_selects(tmp_path):
    path = written(
        tmp_path,
        """
class Margin(L.Layer):
    def call(self, given):
        logits, labels = given
        hot = tf.one_hot(labels, 3)
        return tf.where(hot > 0, logits - 0.5, logits)

def build():
    i, y = keras.Input((5,)), keras.Input((1,), dtype="int32")
    model = keras.Model([i, y], L.Softmax()(Margin()([L.Dense(3)(i), y])))
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model

def data():
    y = (np.arange(8) % 3)[:, None]
    return [np.ones((8, 5), "float32"), y], y
""",
    )
    finding = first_of(path)
    assert finding.rule == "batch-broadcast"
    trains(path, finding.fixes[0])


def test_rows_of_unknown_rank_for_a_layer_that_reads_their_sizes(tmp_path):
    path = written(
        tmp_path,
        """
def build():
    i = keras.Input((5,), dtype="int64")
    model = keras.Model(i, L.Dense(1)(L.Bidirectional(L.LSTM(2))(L.Embedding(9, 3)(i))))
    model.compile("sgd", "mse")
    return model

def data():
    def rows():
        for i in range(12):
            yield np.arange(5) % 9, 0.5
    return tf.data.Dataset.from_generator(rows, output_types=(tf.int64, tf.float32)).batch(8)
""",
        "tf_keras",
    )
    finding = first_of(path)
    assert (finding.rule, finding.fact.paths) == ("unknown-rank", ("x",))
    trains(path, finding.fixes[0])


def test_rows_of_a_graph_that_met_only_part_of_its_matrix(tmp_path):
    path = written(
        tmp_path,
        """
class Attend(L.Layer):
    def __init__(self):
        super().__init__()
        self.mine, self.other = L.Dense(1), L.Dense(1)
    def call(self, given):
        x, near = given
        scores = self.mine(x) + tf.transpose(self.other(x))
        return tf.matmul(tf.nn.softmax(scores - 9.0 * (1.0 - near)), x)
    def compute_output_shape(self, shapes):
        return shapes[0]

def build():
    x, near = keras.Input((4,)), keras.Input((30,))
    model = keras.Model([x, near], L.Dense(1)(Attend()([x, near])))
    model.compile("sgd", "mse")
    return model

def data():
    x = (np.ones((30, 4), "float32"), np.ones((30, 30), "float32"))
    return tf.data.Dataset.from_tensor_slices((x, np.ones((30, 1), "float32"))).batch(10)
""",
    )
    finding = first_of(path)
    assert finding.rule == "op-shapes"
    trains(path, finding.fixes[0])


SILENT = {
    "a step that takes its data apart": """
class Coder(keras.Model):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def call(self, x):
        return self.net(x)
    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self.net(data[0]) - data[1]))
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.net.trainable_variables))
        return {"loss": loss}

def build():
    model = Coder(keras.Sequential([keras.Input((4,)), L.Dense(4)]))
    model.compile("sgd")
    return model

def data():
    return np.ones((8, 4), "float32"), np.ones((8, 4), "float32")
""",
    "parameters under names of their own, and one beside": """
class Turned(keras.Model):
    def __init__(self, height, width):
        super().__init__()
        self.height, self.width = height, width
        self.size = height
        self.head = L.Dense(1)
    def call(self, x):
        return self.head(x) * self.size / self.height

def build():
    model = Turned(3, 4)
    model.compile("sgd", "mse")
    return model

def data():
    return np.ones((8, 4), "float32"), np.ones((8, 1), "float32")
""",
    "a stack of maps for a product with weights": """
class Experts(L.Layer):
    def __init__(self):
        super().__init__()
        self.heads = [L.Dense(3) for _ in range(2)]
        self.gate = L.Dense(2, activation="softmax")
    def call(self, x):
        made = tf.stack([head(x) for head in self.heads], axis=1)
        return tf.reduce_sum(made * self.gate(x)[:, :, None], axis=1)

def build():
    i = keras.Input((4,))
    model = keras.Model(i, Experts()(i))
    model.compile("sgd", "mse")
    return model

def data():
    return np.ones((8, 4), "float32"), np.ones((8, 3), "float32")
""",
}


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("name", SILENT)
def test_what_looks_like_it_and_is_meant_stays_unreported(tmp_path, name, framework):
    module = load(written(tmp_path, SILENT[name], framework))
    assert tpushape.trace(module.build, module.data, tpu=None, fixes=False).ok


def test_the_messages_are_heard():
    from jupyter_tpushape.examine.heard import hear
    from jupyter_tpushape.examine.heard_contracts import HeardConversion, HeardUndefined
    from jupyter_tpushape.flow import Failure

    said = "Shapes used to initialize variables must be fully-defined (no `None` dimensions). Received: shape=(None, 10, 8) for variable path='a/b'"
    assert hear(Failure("ValueError", said, ""), HeardUndefined).shape == (None, 10, 8)
    converted = hear(Failure("ValueError", "Tensor conversion requested dtype float32 for Tensor with dtype int64: <x>", ""), HeardConversion)
    assert (converted.wanted, converted.given) == ("float32", "int64")
    assert np.dtype(converted.wanted).kind == "f"
