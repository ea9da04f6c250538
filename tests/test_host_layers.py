"""Text layers inside a model, however they are made and called: the first fix runs them in the pipeline, and it was run from its text."""

from __future__ import annotations

import importlib
import linecache

import pytest
from broken import HEAD, fit, load

import jupyter_tpushape as tpushape

_WORDS = """
WORDS = ["red", "green", "blue"]
def data():
    x = {x}
    return tf.data.Dataset.from_tensor_slices((x, np.zeros((32, 1), "float32"))).batch(16, drop_remainder=True)
"""
_NAMED = _WORDS.format(x='{"color": np.array([WORDS[i % 3] for i in range(32)]), "size": np.zeros((32, 2), "float32")}')
_TEXTS = _WORDS.format(x='np.array([WORDS[i % 3] + " " + WORDS[i % 2] for i in range(32)])[:, None]')

# Where the layer is made and called: what stands in the model, and the line that makes it for the pipeline.
MODELS = {
    "called where it is made": (_NAMED, "color = L.StringLookup(vocabulary=WORDS)(i)", "string_lookup = L.StringLookup(vocabulary=WORDS)", """
def build():
    i, size = keras.Input((), dtype="string", name="color"), keras.Input((2,), name="size")
    color = L.StringLookup(vocabulary=WORDS)(i)
    x = L.Concatenate()([L.Embedding(4, 3)(color), size])
    model = keras.Model({"color": i, "size": size}, L.Dense(1)(x))
    model.compile("sgd", "mse")
    return model
"""),
    "listed": (_TEXTS, "L.TextVectorization(max_tokens=9, output_sequence_length=4, vocabulary=WORDS),",
               "text_vectorization = L.TextVectorization(max_tokens=9, output_sequence_length=4, vocabulary=WORDS)", """
def build():
    model = keras.Sequential([
        keras.Input((1,), dtype="string"),
        L.TextVectorization(max_tokens=9, output_sequence_length=4, vocabulary=WORDS),
        L.Embedding(9, 3),
        L.GlobalAveragePooling1D(),
        L.Dense(1),
    ])
    model.compile("sgd", "mse")
    return model
"""),
    "adapted in the builder": (_TEXTS, "x = vectorize(i)", "vectorize = L.TextVectorization(max_tokens=9, output_sequence_length=4)", """
def build():
    vectorize = L.TextVectorization(max_tokens=9, output_sequence_length=4)
    vectorize.adapt(WORDS)
    i = keras.Input((1,), dtype="string")
    x = vectorize(i)
    model = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(L.Embedding(9, 3)(x))))
    model.compile("sgd", "mse")
    return model
"""),
    "an attribute": (_NAMED, "self.lookup = L.StringLookup(vocabulary=WORDS)", "lookup = L.StringLookup(vocabulary=WORDS)", """
class Tower(keras.Model):
    def __init__(self, width):
        super().__init__()
        self.lookup = L.StringLookup(vocabulary=WORDS)
        self.rows = L.Embedding(self.lookup.vocabulary_size(), width)
        self.head = L.Dense(1)
    def call(self, given):
        return self.head(tf.concat([self.rows(self.lookup(given["color"])), given["size"]], 1))
def build():
    model = Tower(3)
    model.compile("sgd", "mse")
    return model
"""),
    "beside an embedding, on one line": (_TEXTS, "v = L.TextVectorization(max_tokens=9, output_sequence_length=4, vocabulary=WORDS)",
                                         "v = L.TextVectorization(max_tokens=9, output_sequence_length=4, vocabulary=WORDS)", """
def build():
    v = L.TextVectorization(max_tokens=9, output_sequence_length=4, vocabulary=WORDS)
    i = keras.Input((1,), dtype="string"); x = L.GlobalAveragePooling1D()(L.Embedding(9, 3)(v(i)))
    model = keras.Model(i, L.Dense(1)(x))
    model.compile("sgd", "mse")
    return model
"""),
}  # fmt: skip


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
@pytest.mark.parametrize("name", MODELS)
def test_text_is_prepared_in_the_pipeline(name, framework, tmp_path):
    data, inside, outside, model = MODELS[name]
    if framework == "tf_keras":
        importlib.import_module(framework)
    path = tmp_path / f"texts_{framework}_{'_'.join(name.replace(',', '').split())}.py"
    path.write_text(HEAD.format(framework=framework) + data.lstrip("\n") + model)
    module = load(path)
    finding = next(item for item in tpushape.trace(module.build, module.data, tpu="v3-8").findings if item.serious)
    fix = finding.fixes[0]
    assert (finding.rule, fix.verified, fix.proof) == ("string-input", True, "source"), fix.title
    tpushape.apply(fix, path)
    lines = path.read_text().splitlines()
    assert outside in lines and f"        {inside}" not in lines
    linecache.checkcache(str(path))
    again = load(path)
    assert tpushape.trace(again.build, again.data, tpu="v3-8", fixes=False).ok
    fit(again.build(), again.data())
