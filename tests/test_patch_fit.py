"""Fixes of data that is handed over in a call: the diff is at ``fit``, ``evaluate`` or ``trace``, and the script then runs."""

from __future__ import annotations

import linecache

import pytest
import tensorflow as tf

import jupyter_tpushape as tpushape
from jupyter_tpushape.notebook.hint import report_for

HEAD = """import {framework} as keras
import numpy as np
import tensorflow as tf

L = keras.layers
"""
PICTURES = """
model = keras.Sequential([keras.Input((8, 8, 1)), L.Flatten(), L.Dense(3)])
model.compile("sgd", "mse", run_eagerly=True)
x = np.zeros((16, 64), "float32")  # flat
y = np.zeros((16, 3), "float32")
"""
# What the script does, the first fix that changes what stands there, the lines it takes and the lines it puts.
SCRIPTS = {
    "fit": (
        PICTURES
        + """model.fit(
    x, y,  # all of it
    verbose=0, validation_data=(x, y))
""",
        [("data-transform", "x")],
        ["    x, y,  # all of it", "    verbose=0, validation_data=(x, y))"],
        ["    np.reshape(x, (-1, 8, 8, 1)), y,  # all of it", "    verbose=0, validation_data=(np.reshape(x, (-1, 8, 8, 1)), y))"],
    ),
    "labels": (
        """
i = keras.Input((8,))
model = keras.Model(i, L.Dense(3, activation="softmax")(i))
model.compile("sgd", loss=["categorical_crossentropy"][0], run_eagerly=True)
classes = np.arange(16) % 3
model.evaluate(np.zeros((16, 8), "float32"), y=classes, verbose=0)  # by name
""",
        [("label-transform", "y")],
        ['model.evaluate(np.zeros((16, 8), "float32"), y=classes, verbose=0)  # by name'],
        ['model.evaluate(np.zeros((16, 8), "float32"), y=np.eye(3, dtype="float32")[classes], verbose=0)  # by name'],
    ),
    "two inputs": (
        """
a, b = keras.Input((3,), name="a"), keras.Input((4,), name="b")
model = keras.Model([a, b], L.Dense(1)(L.Concatenate()([L.Dense(2)(a), L.Dense(2)(b)])))
model.compile("sgd", "mse", run_eagerly=True)
inputs = {"a": np.zeros((16, 4), "float32"), "b": np.zeros((16, 3), "float32")}
model.fit(inputs, np.zeros((16, 1), "float32"), verbose=0)
""",
        [("data-transform", "x")],
        ['inputs = {"a": np.zeros((16, 4), "float32"), "b": np.zeros((16, 3), "float32")}'],
        ['inputs = {"b": np.zeros((16, 4), "float32"), "a": np.zeros((16, 3), "float32")}'],
    ),
    "dataset": (
        """
model = keras.Sequential([keras.Input((8, 8, 1)), L.Flatten(), L.Dense(3)])
model.compile("sgd", "mse", run_eagerly=True)
ds = tf.data.Dataset.from_tensor_slices((np.zeros((16, 64), "float32"), np.zeros((16, 3), "float32")))
ds = ds.batch(8)
model.fit(ds, verbose=0)
""",
        [("data-transform", "x")],
        ["model.fit(ds, verbose=0)"],
        ["model.fit(ds.map(lambda x, y: (tf.reshape(x, (-1, 8, 8, 1)), y)), verbose=0)"],
    ),
    "no batch": (
        """
model = keras.Sequential([keras.Input((8,)), L.Dense(3)])
model.compile("sgd", "mse", run_eagerly=True)
ds = tf.data.Dataset.from_tensor_slices((np.zeros((16, 8), "float32"), np.zeros((16, 3), "float32"))).prefetch(1)
model.fit(ds, verbose=0)
""",
        [("batching", "data")],
        ['ds = tf.data.Dataset.from_tensor_slices((np.zeros((16, 8), "float32"), np.zeros((16, 3), "float32"))).prefetch(1)'],
        ['ds = tf.data.Dataset.from_tensor_slices((np.zeros((16, 8), "float32"), np.zeros((16, 3), "float32"))).batch(32).prefetch(1)'],
    ),
}


def run(path):
    """The script, as Python runs one."""
    linecache.checkcache(str(path))
    scope = {"__name__": path.stem}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_call_that_hands_the_data_over_is_changed(name, framework, tmp_path):
    source, edits, removed, added = SCRIPTS[name]
    path = tmp_path / "train.py"
    path.write_text(HEAD.format(framework=framework) + source)
    with tpushape.watch(), pytest.raises((ValueError, tf.errors.InvalidArgumentError)) as raised:
        run(path)
    report = report_for(raised.value)
    fix = next(fix for finding in report.findings for fix in finding.fixes if [(edit.kind, edit.target) for edit in fix.edits] == edits)
    assert fix.verified
    lines = fix.patch.splitlines()[2:]
    assert [line[1:] for line in lines if line.startswith("-")] == removed
    assert [line[1:] for line in lines if line.startswith("+")] == added
    tpushape.apply(fix, path)
    run(path)


def test_the_arguments_of_trace_are_changed_where_it_is_asked_with_arrays(tmp_path):
    path = tmp_path / "train.py"
    asked = "import jupyter_tpushape as tpushape\nreport = tpushape.trace(model, (x, y), tpu=None)\n"
    path.write_text(HEAD.format(framework="keras") + PICTURES + asked)
    report = run(path)["report"]
    assert not report.ok
    tpushape.apply(report.findings[0].fixes[0], path)
    assert "trace(model, (np.reshape(x, (-1, 8, 8, 1)), y), tpu=None)" in path.read_text()
    assert run(path)["report"].ok


def test_an_import_is_added_only_where_nothing_binds_the_name(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(
        '"""A classifier: np. and tf. in words."""\nfrom __future__ import annotations\nimport keras\nfrom numpy import zeros\n'
        "def build():\n    m = keras.Sequential([keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(3)])\n"
        '    m.compile("sgd", "mse")\n    return m\n'
        'def data():\n    return zeros((16, 64), "float32"), zeros((16, 3), "float32")\n'
    )
    scope = run(path)
    fix = tpushape.trace(scope["build"], scope["data"], tpu=None).findings[0].fixes[0]
    tpushape.apply(fix, path)
    assert path.read_text().splitlines()[:4] == [
        '"""A classifier: np. and tf. in words."""',
        "from __future__ import annotations",
        "import numpy as np",
        "import keras",
    ]
    scope = run(path)
    assert tpushape.trace(scope["build"], scope["data"], tpu=None, fixes=False).ok


GRAPH = """import keras
import numpy as np


class Graph(keras.layers.Layer):
    def build(self, shapes):
        self.kernel = self.add_weight(shape=(shapes[0][-1], 3))

    def call(self, inputs):
        nodes, adjacency = inputs
        return keras.ops.matmul(adjacency, keras.ops.matmul(nodes, self.kernel))


def build():
    nodes, adjacency = keras.Input((6,)), keras.Input((50,))
    model = keras.Model([nodes, adjacency], Graph()([nodes, adjacency]))
    model.compile("sgd", "mse")
    return model


def data():
    x, a, y = np.zeros((50, 6), "float32"), np.zeros((50, 50), "float32"), np.zeros((50, 3), "float32")
    return (x, a), y
"""


def test_inputs_in_a_tuple_stay_apart_from_the_labels_in_a_pipeline(tmp_path):
    path = tmp_path / "graph.py"
    path.write_text(GRAPH, encoding="utf-8")
    scope = {"__name__": "graph", "__file__": str(path)}
    exec(compile(GRAPH, str(path), "exec"), scope)
    (finding,) = [one for one in tpushape.trace(scope["build"], scope["data"], tpu=None).findings if one.serious]
    assert finding.fixes[0].verified
    assert "from_tensor_slices(((x, a), y)).batch(50" in finding.fixes[0].patch
