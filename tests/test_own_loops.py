"""Cells that train in a loop or with an object of their own: the cause is that of ``fit``, and the fix goes into the cell that makes the model."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from shells import cells as shell_cells

START = "%load_ext jupyter_tpushape\nimport {lib} as keras, numpy as np, tensorflow as tf\nfrom {lib} import layers\nx, y = np.zeros((48, 8, 8, 1), 'float32'), np.arange(48) % 4"
MAKE = "def make(classes):\n    i = keras.Input((8, 8, 1))\n    x = layers.Conv2D(4, 3)(i)\n    return keras.Model(i, layers.Dense(classes)(x))"
FLAT = "    return keras.Model(i, layers.Dense(classes)(layers.Flatten()(x)))"
LOSS = "loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)"
STEP = "with tf.GradientTape() as tape:\n    out = model({x}, training=True)\n    value = loss_fn({y}, out)"
FUNCTION = (
    "@tf.function\ndef step(model, optimizer, images, labels):\n    with tf.GradientTape() as tape:\n        out = model(images, training=True)\n"
    "        loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(labels, out))\n    return loss"
)
TRAINER = """class Trainer:
    def __init__(self, classes):
        self.classes, self.runs = classes, 0
    def build(self):
        self.model = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(4, 3), layers.Dense(self.classes)])
        self.model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    def train(self, x, y):
        self.runs += 1
        self.model.fit(x, y, verbose=0)"""
IN_LIST = "self.model = keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(self.classes)])"

JUDGED = """def judge():
    return keras.Sequential([keras.Input((16, 16, 1)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(1)])
class Gan(keras.Model):
    def __init__(self, maker, judge):
        super().__init__()
        self.maker, self.judge = maker, judge
    def train_step(self, real):
        made = self.maker(tf.random.normal((tf.shape(real)[0], 4)))
        return {'loss': tf.reduce_mean(self.judge(tf.concat([real, made], 0)))}"""

# Cells, of which the last raises; the rule, and the line that the first fix writes.
LOOPS = {
    "a loop over a dataset": (
        (MAKE, f"model = make(4)\n{LOSS}\nds = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)", "for n, (a, b) in enumerate(ds):\n    " + STEP.format(x="a", y="b").replace("\n", "\n    ")),
        "missing-flatten", FLAT,
    ),
    "one step on a slice of arrays": ((MAKE, f"model = make(4)\n{LOSS}", STEP.format(x="x[:16]", y="y[:16]")), "missing-flatten", FLAT),
    "a step that is given the model": (
        (FUNCTION, "model = keras.Sequential([keras.Input((8, 8)), layers.Flatten(), layers.Dense(4, activation='softmax')])\noptimizer = keras.optimizers.Adam()\nbig = np.zeros((48, 8, 8, 3), 'float32')",
         "for i in range(0, 48, 16):\n    step(model, optimizer, big[i:i + 16], y[i:i + 16])"),
        "input-axis", "model = keras.Sequential([keras.Input((8, 8, 3)), layers.Flatten(), layers.Dense(4, activation='softmax')])",
    ),
    "a discriminator for pictures of another size": (
        (
            JUDGED,
            "gan = Gan(keras.Sequential([keras.Input((4,)), layers.Dense(64), layers.Reshape((8, 8, 1))]), judge())\ngan.compile('sgd')",
            "gan.fit(x, verbose=0)",
        ),
        "input-axis",
        "    return keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(1)])",
    ),
    "a trainer that has its model": ((TRAINER, "trainer = Trainer(4)\ntrainer.build()", "trainer.train(x, y)"), "missing-flatten", "        " + IN_LIST),
    "models of a function's tuple, trained in the cell that takes it": (
        (MAKE.replace("return keras.Model(i, layers.Dense(classes)(x))", "out = layers.Dense(classes)(x)\n    return i, keras.Model(i, out)"), LOSS,
         "i, model = make(4)\nmodel.compile('sgd', loss_fn)\nlosses = [model.fit(x, y, verbose=0) for n in (1, 2)]"),
        "missing-flatten", "    out = layers.Dense(classes)(layers.Flatten()(x))",
    ),
    "a function that is given the one that makes the model": (
        (MAKE + "\ndef train(maker, x, y, classes=4):\n    model = maker(classes)\n    model.compile('sgd', keras.losses.SparseCategoricalCrossentropy(from_logits=True))\n    return model.fit(x, y, verbose=0)",
         "n = 4", "history = train(make, x, y, classes=n)"),
        "missing-flatten", FLAT,
    ),
    "models in a dict, each trained in a loop": (
        (MAKE, "models = {n: make(n) for n in (4, 5)}\nfor one in models.values():\n    one.compile('sgd', keras.losses.SparseCategoricalCrossentropy(from_logits=True))",
         "for one in models.values():\n    one.fit(x, y, verbose=0)"),
        "missing-flatten", FLAT,
    ),
}  # fmt: skip


@pytest.fixture
def run():
    with shell_cells() as made:
        yield made


# Each on one of the two: what is read from the traceback and run again has little of a framework.
@pytest.mark.parametrize(("name", "lib"), list(zip(LOOPS, ("keras", "tf_keras") * len(LOOPS), strict=False)))
def test_a_loop_of_ones_own_is_told_as_fit_is(run, name, lib):
    cells, rule, line = LOOPS[name]
    cells = [START.format(lib=lib), *cells]
    held = [run(cell, number)[0].success for number, cell in enumerate(cells)]
    assert held == [True] * (len(cells) - 1) + [False]
    trainer = run.shell.user_ns.get("trainer")
    runs = getattr(trainer, "runs", 0)
    run("%tpushape", "ask")
    finding = run.report.findings[0]
    assert finding.rule == rule
    # A method that trains is not called to try a fix.
    assert getattr(trainer, "runs", 0) == runs
    fix = finding.fixes[0]
    assert fix.verified and fix.proof == "source" and f"+{line}" in fix.patch.splitlines()
    removed = [item[1:] for item in fix.patch.splitlines() if item.startswith("-") and not item.startswith("---")]
    place = next(number for number, cell in enumerate(cells) if removed[0] in cell)
    cells[place] = cells[place].replace(removed[0], line)
    run.empty()
    assert all(run(cell, number)[0].success for number, cell in enumerate(cells))


# Cells of which one leaves something in a file, or trains, while it makes the model; the last raises.
LEAVES = {
    "a cell that saves weights": (MAKE, "model = make(4)\nmodel.compile('sgd', LOSS)\nmodel.save_weights(PATH)\nseen = [0]", "model.fit(x, y, verbose=0)"),
    "the failed cell itself": (MAKE, "seen = [0]", "model = make(4)\nmodel.compile('sgd', LOSS)\nmodel.save_weights(PATH)\nmodel.fit(x, y, verbose=0)"),
    "a function that is given a list": (
        MAKE + "\ndef train(model, log):\n    log.add(1)\n    model.compile('sgd', LOSS)\n    model.fit(x, y, verbose=0)",
        "class Log:\n    def __init__(self, into):\n        self.into = into\n    def add(self, one):\n        self.into.append(one)\nseen = [0]\nlog = Log(seen)",
        "train(make(4), log)",
    ),
    "a function that saves": (
        MAKE + "\ndef stored():\n    model = make(4)\n    model.compile('sgd', LOSS)\n    model.save_weights(PATH)\n    return model",
        "seen, model = [0], stored()", "model.fit(x, y, verbose=0)",
    ),
    "a function that trains": (
        MAKE + "\ndef trained():\n    seen.append(1)\n    model = make(4)\n    model.compile('sgd', 'mse')\n"
        "    model.fit(x, np.zeros((48, 6, 6, 4)), verbose=0)\n    model.compile('sgd', LOSS)\n    return model",
        "seen = [0]\nmodel = trained()", "model.fit(x, y, verbose=0)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAVES)
def test_trying_a_fix_writes_and_trains_nothing(run, name, tmp_path):
    path = tmp_path / "kept.weights.h5"
    first = START.format(lib="keras") + f"\nPATH, LOSS = {str(path)!r}, keras.losses.SparseCategoricalCrossentropy(from_logits=True)"
    held = [run(cell, number)[0].success for number, cell in enumerate([first, *LEAVES[name]])]
    assert held == [True, True, True, False]
    before, seen = path.read_bytes() if path.exists() else b"", list(run.shell.user_ns["seen"])
    run("%tpushape", "ask")
    assert run.report.findings[0].rule == "missing-flatten"
    assert (path.read_bytes() if path.exists() else b"") == before and run.shell.user_ns["seen"] == seen


ONE_CELL = """
from shells import cells
with cells() as run:
    run("%load_ext jupyter_tpushape")
    run('''{start}
import numpy as np
x, y = np.zeros((40, 8, 8)), np.arange(40) % 4
model = keras.Sequential([keras.Input((8, 8)), keras.layers.Dense(4, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x, y, verbose=0)''', 0)
    run("%tpushape", "ask")
    fix = run.report.findings[0].fixes[0]
    print(fix.verified, fix.proof, "layers.Flatten()" in fix.patch)
"""


@pytest.mark.parametrize(
    "start", ["import tensorflow as tf\nfrom tensorflow import keras", "import keras", "import tensorflow as tf\nimport tf_keras as keras"]
)
def test_the_cell_that_imports_the_framework_may_make_the_model_too(start):
    run = subprocess.run(
        [sys.executable, "-c", ONE_CELL.format(start=start)], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}, timeout=300,
    )  # fmt: skip
    assert run.stdout.splitlines()[-1:] == ["True source True"], run.stdout[-500:] + run.stderr[-2000:]
