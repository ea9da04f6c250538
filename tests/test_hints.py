"""The hint speaks wherever a layer, an operation, a loss or ``fit`` raised, whatever the words; ``%tpushape`` shows any cell that failed."""

from __future__ import annotations

import pytest
from shells import cells

from jupyter_tpushape.notebook.comm import _explained
from jupyter_tpushape.views.naming import named

BOTH = pytest.mark.parametrize("lib", ["keras", "tf_keras"])
START = "%load_ext jupyter_tpushape\nimport {lib} as keras, numpy as np, tensorflow as tf\nL = keras.layers"

# A cell that raises, and the node that raised.
RAISED = {
    "a merge of different ranks": (
        "ids, row = keras.Input((6,)), keras.Input((4,))\nx = L.LSTM(3, return_sequences=True)(L.Embedding(9, 2)(ids))\nL.concatenate([x, row])",
        "concatenate",
    ),
    "a function in a Lambda": ("i = keras.Input((4,))\nL.Lambda(lambda two: two[0] * two[1], name='product')([L.Dense(2)(i), L.Dense(3)(i)])", "product"),
    "a layer that is called with too much": ("L.Add(name='total')(keras.Input((4,)))", "total"),
    "a layer of one's own that looks a key up": (
        "class Picks(L.Layer):\n    def call(self, parts):\n        return parts['nosuch']\nPicks(name='picks')({'a': keras.Input((4,))})",
        "picks",
    ),
}


@pytest.fixture
def run():
    with cells() as made:
        yield made


def hint_below(run, cell):
    """The one line that stands below the traceback of a cell that fails."""
    result, _, said = run(cell)
    hints = [line for line in said.splitlines() if line.startswith("tpushape ▸")]
    assert not result.success and len(hints) == 1, said
    return hints[0]


@BOTH
@pytest.mark.parametrize("name", RAISED)
def test_what_decides_is_where_it_was_raised(run, name, lib):
    cell, node = RAISED[name]
    run(START.format(lib=lib))
    assert node in hint_below(run, cell)
    run("%tpushape")
    report = run.shell.user_ns["_tpushape_report"]
    assert not report.ok
    assert any(node in one.message or any(report.flow.node(key).name == node for key in one.nodes) for one in report.findings)


# Cells of functions that TensorFlow traces, whose operations raise.
TRACED = {
    "a pipeline of samples that is sliced as batches": "def cut(a):\n    return a[:, :-1], a[:, 1:]\ntf.data.Dataset.from_tensor_slices(np.zeros((8, 6))).map(cut)",
    "a compiled function": "@tf.function\ndef both(a, b):\n    return tf.concat([a, b], axis=1)\nboth(tf.zeros((8, 4)), tf.zeros((8,)))",
}


@pytest.mark.parametrize("name", TRACED)
def test_an_operation_of_a_traced_function_is_told(run, name):
    run(START.format(lib="keras"))
    assert "In[2]:" in hint_below(run, TRACED[name])


@pytest.mark.parametrize(
    "line",
    [
        "x = x + skip", "x *= skip", "x = keras.ops.matmul(x, skip)", "x = keras.ops.where(x > 0, x, skip)", "x = tf.concat([x, skip], 1)", "x = x[:, 20]",
        "x = np.array(x)", "x = x.reshape(2, 3)", "x = keras.ops.einsum('bij,bjk->bik', x, skip)", "x = 1 if x > 0 else 2", "x = x.numpy()",
    ],
)  # fmt: skip
def test_what_raises_on_a_symbolic_tensor_is_told_whatever_it_says(run, line):
    run(START.format(lib="keras"))
    assert "In[2]:3" in hint_below(run, f"skip = keras.Input((16, 16, 8))\nx = L.Conv2D(8, 3)(skip)\n{line}")


@BOTH
def test_a_sum_inside_a_layer_of_ones_own_is_not_blamed_on_the_first_kernel_there(run, lib):
    run(START.format(lib=lib))
    run(
        "class Block(L.Layer):\n    def __init__(self):\n        super().__init__()\n        self.attend, self.wide = L.MultiHeadAttention(4, 8), L.Dense(16)\n"
        "    def call(self, x):\n        x = x + self.attend(x, x)\n        return x + self.wide(x)"
    )
    hint = hint_below(run, "i = keras.Input((20, 8))\nmodel = keras.Model(i, Block()(i))")
    assert "(?, 20, 8)" in hint and "(?, 20, 16)" in hint and "built for" not in hint


def test_an_error_that_a_traced_function_raises_itself_is_left_alone(run):
    run(START.format(lib="keras"))
    result, _, said = run("def only(a):\n    raise ValueError('not today')\ntf.data.Dataset.range(4).map(only)")
    assert not result.success and "tpushape ▸" not in said


@BOTH
def test_a_class_of_another_cell_is_looked_into_and_mended_there(run, lib):
    run(START.format(lib=lib))
    run(
        "class Placed(L.Layer):\n    def __init__(self, most):\n        super().__init__()\n        self.token, self.place = L.Embedding(9, 4), L.Embedding(most, 4)\n"
        "    def call(self, x):\n        places = tf.range(20)\n        return self.token(x) + self.place(places)"
    )
    result, _, said = run("i = keras.Input((6,))\nmodel = keras.Model(i, L.Dense(1)(L.GlobalAveragePooling1D()(Placed(20)(i))))")
    assert not result.success and "tpushape ▸" in said
    run("%tpushape")
    fix = run.shell.user_ns["_tpushape_report"].findings[0].fixes[0]
    assert fix.verified and fix.proof == "source"
    assert [line for line in fix.patch.splitlines() if line.startswith("+ ")] == ["+        places = tf.range(tf.shape(x)[1])"]


@BOTH
@pytest.mark.parametrize("cell", ["1 / 0", "L.Dense(-1)", "open('/no/such/file')"])
def test_any_cell_that_failed_can_be_shown_without_a_hint(run, cell, lib):
    run(START.format(lib=lib))
    result, _, said = run(cell)
    assert not result.success and "tpushape" not in said
    _, shown, error = run("%tpushape")
    assert (error == "" and type(result.error_in_exec).__name__ in shown) or str(result.error_in_exec)[:20] in shown


@BOTH
def test_a_product_is_placed_once_and_its_axes_are_those_that_it_sums_over(run, lib):
    run(START.format(lib=lib))
    run(
        "class Scores(keras.Model):\n"
        "    def __init__(self):\n        super().__init__()\n        self.left, self.right, self.last = L.Dense(8), L.Dense(8), L.Dense(2)\n"
        "    def call(self, two):\n        return self.last(tf.matmul(self.left(two[0]), self.right(two[1])))\n"
        "model = Scores()\nmodel.compile('sgd', 'mse')\n"
        "data = [np.zeros((4, 5, 3), 'float32'), np.zeros((4, 6, 3), 'float32')]"
    )
    _, _, said = run("model.fit(data, np.zeros((4, 5, 2)), verbose=0)")
    hint = next(line for line in said.splitlines() if line.startswith("tpushape ▸"))
    assert hint.count("In[2]:6") == 1
    run("%tpushape --text")
    report = run.shell.user_ns["_tpushape_report"]
    finding = report.findings[0]
    assert [(side.axes[at], at) for side in (finding.expected, finding.found) for at in side.differs] == [("8", 2), ("6", 1)]
    assert finding.why.endswith("The product sums over both, so they must be equal.")
    # The last layer is not built when the product fails: the fix adds none of its parameters.
    assert "+" not in finding.fixes[0].effect.text
    assert "no target" not in repr(report)


@BOTH
def test_a_fix_whose_text_raises_in_another_cell_is_rejected_and_the_next_one_is_tried(run, lib):
    run(START.format(lib=lib))
    run("x, y = np.zeros((8, 24, 1), 'float32'), np.zeros((8, 1), 'float32')")
    run("model = keras.Sequential([keras.Input((24, 1)), L.Conv1D(4, 3), L.Flatten(), L.Dense(1)])\nmodel.compile('sgd', 'mse')")
    run("model.fit(y, x, verbose=0)")
    run("%tpushape --text")
    report = run.shell.user_ns["_tpushape_report"]
    assert not any("internal error" in limit for limit in report.limits)
    fix = report.findings[0].fixes[0]
    assert (fix.verified, fix.proof) == (True, "source")
    assert "+model.fit(x, y, verbose=0)" in fix.patch


MAPPED = """\
def decode(row):
    return tf.reshape(row, (4, 4)), 1
tf.data.Dataset.from_tensor_slices(np.zeros((8, 15), "float32")).map(decode)
"""


def test_a_function_of_a_pipeline_is_named_by_the_line_that_raised(run):
    run(START.format(lib="keras"))
    result, _, said = run(MAPPED)
    assert not result.success
    hint = next(line for line in said.splitlines() if line.startswith("tpushape ▸"))
    assert "In[2]:2" in hint and "15 elements" in hint and "node" not in hint


MIXER = """\
class Mixer(keras.Model):
    def __init__(self):
        super().__init__()
        self.tokens = L.Dense(64)
        self.out = L.Dense(7)

    def call(self, x):
        y = keras.ops.transpose(self.tokens(keras.ops.transpose(x, (0, 2, 1))), (0, 2, 1))
        return self.out(x + y)


mixer = Mixer()
mixer.compile("adam", "mse")
patches, kinds = np.zeros((32, 81, 5), "float32"), np.zeros((32, 81, 7), "float32")
mixer.fit(patches, kinds, batch_size=16, verbose=0)
"""


def test_an_earlier_failure_is_explained_after_a_later_one_and_its_size_is_solved_for(run):
    run(START.format(lib="keras"))
    assert not run(MIXER)[0].success
    assert not run("L.Add()([keras.Input((4,)), keras.Input((5,))])")[0].success
    report = named(_explained(run.shell, 2, None), run.shell, failed=True, execution=2)
    assert (report.about.model, report.about.data, report.about.execution) == ("mixer", "patches, kinds", 2)
    assert [fix.verified for fix in report.findings[0].fixes] == [True]
    assert "+        self.tokens = L.Dense(81)" in report.findings[0].fixes[0].patch
    with pytest.raises(LookupError, match="no longer the last"):
        _explained(run.shell, 1, None)


@BOTH
def test_weights_that_do_not_fit_have_a_hint(run, lib):
    run(START.format(lib=lib))
    said = hint_below(run, "m = keras.Sequential([keras.Input((10,)), L.Dense(4)])\nm.set_weights([np.zeros((10, 5)), np.zeros(5)])")
    assert "(10, 4)" in said and "(10, 5)" in said


def test_a_mistake_of_the_call_itself_has_none(run):
    run(START.format(lib="keras"))
    result, _, said = run("L.Dense(4, unitz=3)")
    assert not result.success and "tpushape" not in said


@BOTH
def test_a_program_that_run_executes_has_a_hint_and_a_fix_in_its_file(run, lib, tmp_path):
    file = tmp_path / f"trained_by_{lib}.py"
    file.write_text(
        f"import {lib} as keras, numpy as np\nx, y = np.zeros((8, 4)), np.arange(8) % 3\n"
        "model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation='softmax')])\n"
        "model.compile('sgd', 'categorical_crossentropy')\nmodel.fit(x, y, verbose=0)\n"
    )
    run(START.format(lib=lib))
    _, _, said = run(f"%run {file}")
    assert sum(line.startswith("tpushape ▸") for line in said.splitlines()) == 1
    run("%tpushape")
    fix = run.report.findings[0].fixes[0]
    assert fix.verified and fix.proof == "source" and fix.file == str(file)
    # What another cell then does well is no failure.
    assert "tpushape" not in run("1 + 1")[2]


@BOTH
def test_a_name_that_the_failed_cell_would_have_made_leads_back_to_that_cell(run, lib):
    run(START.format(lib=lib))
    first = hint_below(run, "i = keras.Input((6, 4))\nmodel = keras.Model(i, L.LSTM(3)(L.LSTM(3)(i)))")
    assert hint_below(run, "model.compile('sgd', 'mse')") == (
        "tpushape ▸ model does not exist: In[2], which defines it, raised an error. Run %tpushape to see where."
    )
    run("%tpushape")
    assert run.shell.user_ns["_tpushape_report"].findings[0].message in first
    # A name that no cell makes is a failure of its own, and the one before it stays known by its number.
    result, _, said = run("modle.compile('sgd', 'mse')")
    assert not result.success and "tpushape ▸" not in said


@BOTH
def test_a_call_in_a_callback_is_looked_at_in_place_of_the_fit_around_it(run, lib):
    run(START.format(lib=lib))
    run("model = keras.Sequential([keras.Input((10, 4)), L.LSTM(3), L.Dense(1)])\nmodel.compile('sgd', 'mse')\nx = np.zeros((8, 10, 4), 'float32')")
    run(
        "class Shown(keras.callbacks.Callback):\n    def on_epoch_end(self, epoch, logs=None):\n        print(self.model.predict(x[0], verbose=0))\n"
        "class Fine(keras.callbacks.Callback):\n    def on_train_begin(self, logs=None):\n        self.model.predict(x, verbose=0)"
    )
    assert "is a single sample (10, 4)" in hint_below(run, "model.fit(x, np.zeros((8, 1)), verbose=0, callbacks=[Shown()])")
    # One that runs does not hide what fit itself fails at.
    assert "labels" in hint_below(run, "model.fit(x, np.zeros((8, 3, 2)), verbose=0, callbacks=[Fine()])")


CAM = """i = keras.Input((8, 8, 3))
model = keras.Model(i, L.Dense(2, activation='softmax')(L.GlobalAveragePooling2D()(L.Conv2D(4, 3, name='last')(i))))
picture = np.ones((1, 8, 8, 3), 'float32')
def heatmap(image, model):
    both = keras.Model(model.inputs, [model.get_layer('last').output, model.output])
    with tf.GradientTape() as tape:
        maps, predictions = both(image)
        score = predictions[:, 0]
    weights = tf.reduce_mean(tape.gradient(score, maps), axis=(0, 1, 2))
    return tf.squeeze(maps[0] @ weights)
"""


@BOTH
def test_a_function_that_makes_a_model_of_layers_that_exist_creates_nothing_anew(run, lib):
    run(START.format(lib=lib))
    run(CAM)
    assert "(6, 6, 4) and (4,)" in hint_below(run, "heatmap(picture, model)")
    run("%tpushape")
    (finding,) = [one for one in run.shell.user_ns["_tpushape_report"].findings if one.serious]
    assert finding.rule == "op-shapes" and finding.fixes[0].verified and finding.fixes[0].proof == "source"
    assert "+    return tf.squeeze(maps[0] @ weights[:, None])" in finding.fixes[0].patch.splitlines()


def test_text_without_numbers_is_all_that_is_said_of_it(run):
    run(START.format(lib="keras"))
    run("model = keras.Sequential([L.Embedding(9, 4), L.Conv1D(4, 3), L.GlobalMaxPooling1D(), L.Dense(1)])\nmodel.compile('sgd', 'mse')")
    assert "NumPy strings" in hint_below(run, "model.fit(np.array(['good film', 'bad one', 'so so'] * 4), np.zeros((12, 1)))")
    run("%tpushape")
    assert [one.rule for one in run.shell.user_ns["_tpushape_report"].findings if one.serious] == ["data-misfit"]
