"""Programs with a fault of their own and one of JAX: one hides the other, and the fix repairs both."""

from __future__ import annotations

import importlib.util

import pytest
from strangers import serious, traced

from jupyter_tpushape.examine import Program, examine
from jupyter_tpushape.repair.edits import InputBatch
from jupyter_tpushape.repair.trial import attempt, first
from jupyter_tpushape.rules.facts.reasons import WholeOnly

# A level of the network halves an odd size and doubles it again; the loss is computed with NumPy.
APART = """
def up(x, skip, filters):
    x = layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
    x = layers.Concatenate()([x, skip])
    return layers.Conv2D(filters, 3, padding="same")(x)
def overlap(y_true, y_pred):
    return 1.0 - np.mean(np.abs(y_true * y_pred))
def build():
    x = inputs = keras.Input((64, 61, 3))
    skips = []
    for filters in (4, 8):
        x = layers.Conv2D(filters, 3, padding="same")(x)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    for filters, skip in ((8, skips[1]), (4, skips[0])):
        x = up(x, skip, filters)
    model = keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x))
    model.compile("adam", overlap)
    return model
def data():
    return np.zeros((4, 64, 61, 3), "float32"), np.zeros((4, 64, 61, 1), "float32")
"""


def test_a_fault_behind_several_edits_joins_each_of_them(tmp_path):
    (finding,) = serious(traced(tmp_path, APART))
    assert finding.rule == "merge-shapes"
    fix = finding.fixes[0]
    assert fix.verified
    assert {edit.kind for edit in fix.edits} == {"replace-op"}
    assert "resize(x, keras.ops.shape(skip)[1:3])" in fix.patch.replace(" ops.", " keras.ops.").replace("(ops.", "(keras.ops.")
    assert "second problem" in fix.reason and "value" in fix.reason


TEXT = """
class Own(layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(3, activation="softmax")
    def call(self, x):
        return self.dense(ops.squeeze(x, 1))
def build():
    model = keras.Sequential([keras.Input((1, 4)), Own()])
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model
def data():
    return np.zeros((12, 1, 4), "float32"), np.array(["cat", "dog", "cow"] * 4, dtype=object)
"""


def test_labels_of_text_leave_the_outputs_of_a_model_known(tmp_path):
    (finding,) = serious(traced(tmp_path, TEXT))
    assert finding.rule == "string-labels"
    assert finding.fixes[0].verified
    assert "'cat', 'cow', 'dog'" in finding.fixes[0].patch


GRAPH = """
class Graph(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.dense = layers.Dense(units)
    def call(self, inputs):
        nodes, adjacency = inputs
        return ops.matmul(adjacency, self.dense(nodes))
def build():
    nodes, adjacency = keras.Input({nodes}), keras.Input({adjacency})
    x = Graph(8)([nodes, adjacency])
    model = keras.Model([nodes, adjacency], layers.Dense(3, activation="softmax")(x))
    model.compile("adam", "sparse_categorical_crossentropy")
    return model
def data():
    return (np.zeros((50, 6), "float32"), np.zeros((50, 50), "float32")), np.zeros(50, "int64")
"""


def test_a_graph_needs_the_number_of_its_nodes_in_the_inputs(tmp_path):
    (finding,) = serious(traced(tmp_path, GRAPH.format(nodes="(6,)", adjacency="(50,)")))
    assert finding.fact.reason == WholeOnly(50, None)
    fix = finding.fixes[0]
    assert [edit.kind for edit in fix.edits] == ["input-shape", "input-shape", "batching"]
    # The pipeline in the patch is one of TensorFlow.
    assert fix.verified == (importlib.util.find_spec("tensorflow") is not None)


def test_a_graph_with_its_nodes_declared_is_ok(tmp_path):
    code = GRAPH.format(nodes="(6,), batch_size=50", adjacency="(50,), batch_size=50")
    assert not serious(traced(tmp_path, code.replace("(50,", "(32,").replace("(50", "(32").replace("50)", "32)").replace("=50", "=32")))


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("(6,)", "keras.Input((6,), batch_size=50)"),
        ("batch_shape=(None, 6)", "keras.Input(batch_shape=(50, 6))"),
        ("(6,), batch_size=10", "keras.Input((6,), batch_size=50)"),
    ],
)
def test_a_batch_size_is_declared_where_the_input_is_made(tmp_path, given, written):
    path = tmp_path / "program.py"
    code = f"import keras\nimport numpy as np\n\ndef build():\n    x = keras.Input({given})\n    return keras.Model(x, keras.layers.Dense(2)(x))\n"
    path.write_text(code, encoding="utf-8")
    scope = {"__name__": "program", "__file__": str(path)}
    exec(compile(code, str(path), "exec"), scope)
    seen = examine(Program(scope["build"], scope["np"].zeros((50, 6), "float32"), None, None, 50, None, True, 1, None))
    trial = attempt(first(seen), (InputBatch(seen.evidence.flow.nodes[0].name, 0, 50),))
    assert trial.proof == "source"
    assert written in next(iter(trial.texts.values()))
