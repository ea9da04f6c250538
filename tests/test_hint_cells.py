"""A model that is written over several cells: the fix goes into the cell that has the fault, and the notebook then runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from shells import cells as shell_cells

from jupyter_tpushape.repair.patch import patched
from jupyter_tpushape.rules.facts.training import HeldBack

BOTH = pytest.mark.parametrize("lib", ["keras", "tf_keras"])
START = "%load_ext jupyter_tpushape\nimport {lib} as keras, numpy as np\nfrom {lib}.layers import *"

# Cells, of which the last raises; the cell that the first fix changes, and the line that it writes.
SPREAD = {
    "branches that a loop collects": (
        (
            "words = Input(shape=(50,))\nemb = Embedding(1000, 8)(words)",
            "convs = []\nfor size in (3, 4, 5):\n    c = Conv1D(4, size)(emb)\n    convs.append(MaxPooling1D(2)(c))",
            "x = concatenate(convs)\nx = Flatten()(x)",
        ),
        (2, '    c = Conv1D(4, size, padding="same")(emb)'),
    ),
    "a class, a function that calls it, and a call beside a system command": (
        (
            """class Block(Layer):
    def __init__(self, dim):
        super().__init__()
        self.a = Dense(dim * 4)
        self.b = Dense(dim * 2)
    def call(self, x):
        return x + self.b(self.a(x))""",
            "def make(dim=16):\n    i = keras.Input((6, 8))\n    return keras.Model(i, Block(dim)(Dense(dim)(i)))",
            "!echo begins\nmodel = make()",
        ),
        (1, "        self.b = Dense(dim)"),
    ),
    "a Sequential that grows": (
        ("net = keras.Sequential()\nnet.add(keras.Input((12, 4)))", "net.add(LSTM(8))\nnet.add(Dropout(0.1))", "print('shown')\nnet.add(LSTM(8))"),
        (2, "net.add(LSTM(8, return_sequences=True))"),
    ),
    "skips that a loop takes from a list": (
        (
            "i = keras.Input((8, 8, 3))",
            "x, skips = i, []\nfor f in (4, 8):\n    x = Conv2D(f, 3, padding='same')(x)\n    skips.append(x)\n    x = MaxPooling2D()(x)",
            "for f, skip in zip((8, 4), reversed(skips)):\n    x = Conv2DTranspose(f, 3, strides=2, padding='valid')(x)\n    x = Concatenate()([x, skip])",
        ),
        (3, '    x = Conv2DTranspose(f, 3, strides=2, padding="same")(x)'),
    ),
    "layers that are made before the graph": (
        (
            "left = Dense(16, activation='relu')\nright = Dense(8, activation='relu')",
            "a, b = keras.Input((4,)), keras.Input((5,))\nx, y = left(a), right(b)",
            "z = Add()([x, y])",
        ),
        (1, "right = Dense(16, activation='relu')"),
    ),
    "a sum of tensors under a name that had another": (
        ("i = keras.Input((16, 16, 4))\nskip = Conv2D(8, 3, padding='same')(i)", "x = Conv2D(8, 3)(skip)\nx += skip"),
        (2, 'x = Conv2D(8, 3, padding="same")(skip)'),
    ),
    "under the scope of a strategy": (
        (
            "import tensorflow as tf\nstrategy = tf.distribute.OneDeviceStrategy('/cpu:0')",
            "made = {}\nwith strategy.scope():\n    a, b = keras.Input((12,)), keras.Input((7,))\n    made['left'] = Dense(8)(a)\n    h = Add()([made['left'], Dense(6)(b)])",
        ),
        (2, "    h = Add()([made['left'], Dense(8)(b)])"),
    ),
}


@pytest.fixture
def run():
    with shell_cells() as made:
        yield made


@BOTH
@pytest.mark.parametrize("name", SPREAD)
def test_the_fix_goes_into_the_cell_with_the_fault(run, name, lib):
    cells, (place, line) = SPREAD[name]
    cells = [START.format(lib=lib), *cells]
    held = {number: run(cell, number)[0].success for number, cell in enumerate(cells)}
    assert [number for number, ran in held.items() if not ran] == [len(cells) - 1]
    before = {key: value for key, value in run.shell.user_ns.items() if not key.startswith("_")}
    run("%tpushape", "ask")
    # What the cells made is as it was: they ran in a copy.
    assert all(run.shell.user_ns[key] is value for key, value in before.items())
    fix = run.report.findings[0].fixes[0]
    assert fix.verified and fix.proof == "source" and fix.cell == f"cell-{place}"
    assert f"+{line}" in fix.patch.splitlines()
    removed = [item[1:] for item in fix.patch.splitlines() if item.startswith("-") and not item.startswith("---")]
    assert len(removed) == 1 and cells[place].count(removed[0]) == 1
    cells[place] = cells[place].replace(removed[0], line)
    run.empty()
    assert all(run(cell, number)[0].success for number, cell in enumerate(cells))


@BOTH
@pytest.mark.parametrize(
    "front",
    ["branches = [Dense(8)(i), Dense(4)(i)]\nopened = open({path!r}, 'a').write('again')", "branches = [Dense(8)(i), Dense(4)(i)]\nseen.append(1)"],
    ids=["writes a file", "changes a list of another cell"],
)
def test_a_cell_that_does_more_than_build_is_not_run_again(run, lib, front, tmp_path):
    path = tmp_path / "log"
    for number, cell in enumerate([START.format(lib=lib), "seen = []\ni = keras.Input((3,))", front.format(path=str(path)), "x = Add()(branches)"]):
        run(cell, number)
    run("%tpushape", "ask")
    report = run.report
    assert report.findings[0].rule == "merge-shapes"
    assert len(run.shell.user_ns["seen"]) <= 1 and (not path.exists() or Path(path).read_text() == "again")


# Cells of data and of the call, and the line that the first fix writes; none where only the program's author knows.
HELD = {
    "labels as numbers": (
        "x, y = np.zeros((64, 6)), np.eye(4)[np.arange(64) % 4]\nx_val, y_val = np.zeros((32, 6)), np.arange(32) % 4",
        "model.fit(x, y, validation_data=(x_val, y_val), verbose=0)",
        '+y_val = np.eye(4, dtype="float32")[y_val]',
    ),
    "a dataset that is not batched": (
        "import tensorflow as tf\nds = tf.data.Dataset.from_tensor_slices((np.zeros((96, 6)), np.eye(4)[np.arange(96) % 4]))\nval = ds.take(32)\ntrain = ds.skip(32).batch(16)",
        "model.fit(train, validation_data=val, verbose=0)",
        "+val = ds.take(32).batch(32)",
    ),
    "fewer columns": (
        "x, y = np.zeros((64, 6)), np.eye(4)[np.arange(64) % 4]\nx_val, y_val = x[:, :5], y",
        "model.fit(x, y, validation_data=(x_val, y_val), verbose=0)",
        "",
    ),
}


@BOTH
@pytest.mark.parametrize("name", HELD)
def test_the_data_that_fit_validates_on_is_looked_at(run, name, lib):
    data, call, line = HELD[name]
    model = "model = keras.Sequential([keras.Input((6,)), Dense(4, activation='softmax')])\nmodel.compile('adam', 'categorical_crossentropy')"
    for number, cell in enumerate((START.format(lib=lib), data, model)):
        assert run(cell, number)[0].success
    assert not run(call, 3)[0].success
    run("%tpushape", "ask")
    finding = run.report.findings[0]
    assert finding.severity == "error" and any(isinstance(fact, HeldBack) for fact in finding.beside)
    written = [one for fix in finding.fixes[:1] for one in fix.patch.splitlines() if one.startswith("+") and not one.startswith("+++")]
    assert written == ([line] if line else [])


LOOP = """@tf.function
def train_step(a, b):
    with tf.GradientTape() as tape:
        loss = {loss}
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss"""
BEGIN = "model = keras.Sequential([keras.Input((12,)), Dense(6, name='hidden'), Dense(3, name='head')])\nopt = keras.optimizers.Adam()"
ROWS = "ds = tf.data.Dataset.from_tensor_slices((np.zeros((64, {0}), 'float32'), {1})).batch(16)"
NUMBERS, ONE_HOT = "np.arange(64) % 3", "np.eye(3, dtype='float32')[np.arange(64) % 3]"

# Cells of a loop of one's own, the cell that the first fix changes, and what it writes there.
LOOPS = {
    "labels for another loss": (
        (
            BEGIN,
            ROWS.format(12, NUMBERS),
            LOOP.format(loss="keras.losses.CategoricalCrossentropy(from_logits=True)(b, model(a))"),
            "for a, b in ds:\n    train_step(a, b)",
        ),
        (2, ".map(lambda x, y: (x, tf.one_hot(tf.cast(y, tf.int32), 3)))"),
    ),
    "a product without its transposition": (
        (
            BEGIN,
            ROWS.format(12, ONE_HOT),
            LOOP.format(loss="tf.reduce_mean(tf.matmul(model(a), model(a)))"),
            "for number, (a, b) in enumerate(ds.take(2)):\n    train_step(a, b)",
        ),
        (3, "transpose"),
    ),
    "a loop without a function": (
        (
            BEGIN,
            ROWS.format(12, ONE_HOT).replace("(64, 12)", "(64, 3, 4)"),
            "for a, b in ds:\n    with tf.GradientTape() as tape:\n        out = model(a, training=True)",
        ),
        (2, ".map(lambda x, y: (tf.reshape(x, (-1, 12)), y))"),
    ),
    "a layer of the model": (
        (
            """class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = Dense(8)
        self.second = Dense(16)
    def call(self, x):
        h = self.first(x)
        return h + self.second(h)""",
            "model = Net()\nopt = keras.optimizers.Adam()",
            ROWS.format(12, ONE_HOT),
            LOOP.format(loss="tf.reduce_mean(model(a))"),
            "def epoch(data):\n    for a, b in data:\n        train_step(a, b)\nepoch(ds)",
        ),
        (1, "self.second = Dense(8)"),
    ),
}


@BOTH
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_of_ones_own_is_mended_where_its_fault_is(run, name, lib):
    cells, (place, text) = LOOPS[name]
    cells = [START.format(lib=lib) + "\nimport tensorflow as tf", *cells]
    held = {number: run(cell, number)[0].success for number, cell in enumerate(cells)}
    assert [number for number, ran in held.items() if not ran] == [len(cells) - 1]
    run("%tpushape", "ask")
    finding = run.report.findings[0]
    fix = finding.fixes[0]
    assert fix.verified and fix.proof == "source" and fix.cell == f"cell-{place}"
    added, removed = ([one[1:] for one in fix.patch.splitlines() if one.startswith(sign) and not one.startswith(sign * 3)] for sign in "+-")
    assert text in added[0] and cells[place].count(removed[0]) == 1
    cells[place] = cells[place].replace(removed[0], added[0])
    run.empty()
    assert all(run(cell, number)[0].success for number, cell in enumerate(cells))


@BOTH
def test_a_loop_that_runs_has_no_finding_of_another_backend(run, lib):
    cells = (BEGIN, ROWS.format(12, NUMBERS), LOOP.format(loss="tf.reduce_mean(tf.square(model(a)))"), "%tpushape train_step ds --tpu none")
    for number, cell in enumerate((START.format(lib=lib) + "\nimport tensorflow as tf", *cells)):
        assert run(cell, number)[0].success
    assert run.report.ok


@BOTH
@pytest.mark.parametrize("call", ["evaluate(xt, yt, verbose=0)", "predict(xt, verbose=0)"])
def test_a_model_that_has_been_trained_is_not_changed_for_other_data(run, call, lib):
    """Which values are missing is for the user to say, and so is whether the trained weights should go."""
    cells = [
        START.format(lib=lib),
        "x, y, xt, yt = np.ones((64, 8)), np.ones(64), np.ones((20, 7)), np.ones(20)",
        "model = keras.Sequential([keras.Input((8,)), Dense(4), Dense(1)])\nmodel.compile('sgd', 'mse')",
        "history = model.fit(x, y, verbose=0)",
        f"model.{call}",
    ]
    held = [run(cell, number)[0].success for number, cell in enumerate(cells)]
    assert held == [True, True, True, True, False]
    run("%tpushape", "ask")
    finding = run.report.findings[0]
    assert finding.rule == "input-axis" and finding.fixes
    assert not any(fix.verified for fix in finding.fixes)
    # Before any training the declaration may be what is wrong.
    run(cells[2], 2)
    run(cells[4], 4)
    run("%tpushape", "ask")
    assert run.report.findings[0].fixes[0].verified


TWO_DOORS = (
    'left = keras.Input((28, 28), name="left")\na = GlobalAveragePooling1D()(Conv1D(8, 3)(left))',
    'right = keras.Input((20, 20), name="right")\nb = GlobalAveragePooling1D()(Conv1D(8, 3)(right))',
    "model = keras.Model([left, right], Dense(1)(concatenate([a, b])))\nmodel.compile('adam', 'mse')",
    "model.fit([np.zeros((16, 28, 30), 'float32'), np.zeros((16, 20, 24), 'float32')], np.zeros((16, 1), 'float32'))",
)
NAMED = (
    "import pandas as pd\nx, y = np.zeros((60, 6), 'float32'), pd.Series(['low', 'mid', 'high'] * 20)",
    "model = keras.Sequential([keras.Input((6,)), Dense(3, activation='softmax')])\nmodel.compile('adam', 'categorical_crossentropy')",
    "model.fit(x, y)",
)
UNET = (
    "def down(x, filters):\n    skip = Conv2D(filters, 3)(x)\n    return skip, MaxPooling2D()(skip)",
    "def up(x, skip):\n    return Conv2D(skip.shape[-1], 3)(concatenate([UpSampling2D()(x), skip]))",
    "i = keras.Input((64, 64, 3))\na, x = down(i, 4)\nb, x = down(x, 8)\nx = Conv2D(16, 3)(x)\nmodel = keras.Model(i, Conv2D(1, 1)(up(up(x, b), a)))",
)


@BOTH
@pytest.mark.parametrize(
    ("program", "changed"),
    [
        (TWO_DOORS, {1: 'left = keras.Input((28, 30), name="left")', 2: 'right = keras.Input((20, 24), name="right")'}),
        (NAMED, {2: "model.compile('adam', 'sparse_categorical_crossentropy')", 3: "model.fit(x, np.searchsorted(['high', 'low', 'mid'], y))"}),
        (
            UNET,
            {
                1: '    skip = Conv2D(filters, 3, padding="same")(x)',
                2: '    return Conv2D(skip.shape[-1], 3, padding="same")(concatenate([UpSampling2D()(x), skip]))',
                3: 'x = Conv2D(16, 3, padding="same")(x)',
            },
        ),
    ],
)
def test_a_fault_of_several_cells_is_fixed_in_each_of_them(run, lib, program, changed):
    run(START.format(lib=lib), 0)
    results = [run(cell, place)[0] for place, cell in enumerate(program, 1)]
    assert results[-1].error_in_exec is not None and all(one.error_in_exec is None for one in results[:-1])
    run("%tpushape", 9)
    fix = run.report.findings[0].fixes[0]
    assert fix.verified and fix.proof == "source"
    written = {part.cell: [line[1:] for line in part.patch.splitlines() if line[:1] == "+" and line[:3] != "+++"] for part in (fix, *fix.also)}
    assert written == {f"cell-{place}": [line] for place, line in changed.items()}

    for part in (fix, *fix.also):
        place = int(part.cell.removeprefix("cell-"))
        result, _, _ = run(patched(program[place - 1], part.patch), place)
        assert place == len(program) or result.error_in_exec is None
    for place in range(max(changed) + 1, len(program) + 1):
        result, _, _ = run(program[place - 1], place)
    assert result.error_in_exec is None


@BOTH
def test_the_cell_that_loads_the_extension_can_be_fixed(run, lib):
    run(START.format(lib=lib) + "\ndef tail(x):\n    return LSTM(8)(LSTM(8)(x))", 0)
    result, _, _ = run("i = keras.Input((12, 3))\nmodel = keras.Model(i, tail(i))", 1)
    assert result.error_in_exec is not None
    run("%tpushape", 2)
    (fix, *_) = run.report.findings[0].fixes
    assert (fix.verified, fix.proof, fix.cell, fix.execution) == (True, "source", "cell-0", 1)


@BOTH
def test_a_builder_of_an_object_that_a_cell_makes_is_fixed_in_its_class(run, lib):
    run(START.format(lib=lib) + "\nsetting = dict(filters=[8, 12], kernel=3)", 0)
    run(
        """class Net:
    def __init__(self, setting):
        self.setting = setting
        self.model = self.build()
    def block(self, x, filters):
        short = Conv1D(filters, 1)(x)
        x = Conv1D(filters, self.setting["kernel"])(x)
        return Add()([short, x])
    def build(self):
        i = x = keras.Input((50, 6))
        for filters in self.setting["filters"]:
            x = self.block(x, filters)
        return keras.Model(i, x)""",
        1,
    )
    assert run("net = Net(setting)", 2)[0].error_in_exec is not None
    run("%tpushape", 3)
    (fix, *_) = run.report.findings[0].fixes
    assert (fix.verified, fix.proof, fix.cell) == (True, "source", "cell-1")
    assert '+        x = Conv1D(filters, self.setting["kernel"], padding="same")(x)' in fix.patch.splitlines()


@BOTH
def test_what_is_to_be_done_at_each_step_needs_the_steps(run, lib):
    run(START.format(lib=lib), 0)
    run("i = keras.Input((20, 6))\nx = Dropout(0.2)(Bidirectional(LSTM(8))(i))", 1)
    assert run("model = keras.Model(i, TimeDistributed(Dense(5))(x))", 2)[0].error_in_exec is not None
    run("%tpushape", 3)
    (fix, *_) = run.report.findings[0].fixes
    assert (fix.verified, fix.proof, fix.cell) == (True, "source", "cell-1") and "return_sequences=True" in fix.patch


@BOTH
def test_statements_on_one_line_are_read_in_their_order(run, lib):
    run(START.format(lib=lib), 0)
    assert run("i = keras.Input((12, 3)); model = keras.Model(i, LSTM(8)(LSTM(8)(i)))", 1)[0].error_in_exec is not None
    run("%tpushape", 2)
    (fix, *_) = run.report.findings[0].fixes
    assert (fix.verified, fix.proof, fix.cell) == (True, "source", "cell-1")


@BOTH
def test_a_cell_that_freezes_what_it_makes_may_run_again(run, lib):
    run(START.format(lib=lib), 0)
    run("disc = keras.Sequential([keras.Input((8, 8, 1)), Conv2D(4, 3), Flatten(), Dense(1)])\ndisc.compile('sgd', 'mse')", 1)
    cell = (
        "base = keras.Sequential([keras.Input((16, 16, 3)), Conv2D(4, 3), Conv2D(8, 3)])\nbase.trainable = True\n"
        "for layer in base.layers[:-1]:\n    layer.trainable = False\n"
        "i = keras.Input((16, 16, 3))\nmodel = keras.Model(i, LSTM(4)(base(i)))"
    )
    assert run(cell, 2)[0].error_in_exec is not None
    run("%tpushape", 3)
    (fix, *_) = run.report.findings[0].fixes
    assert (fix.verified, fix.proof, fix.cell) == (True, "source", "cell-2")

    # What an earlier cell made is made again with it, and the user's own stays as it is.
    assert run("disc.trainable = False\nj = keras.Input((8, 8, 1))\nboth = keras.Model(j, disc(Conv2D(1, 3)(j)))", 4)[0].error_in_exec is not None
    run("disc.trainable = True", 5)
    run("%tpushape", 6)
    assert run.report.findings[0].fixes[0].proof == "source" and run.shell.user_ns["disc"].trainable is True
    assert all(layer.trainable for layer in run.shell.user_ns["disc"].layers)


def test_a_cell_of_a_pipeline_has_a_fix_that_gives_an_element(run):
    run(START.format(lib="keras") + "\nimport tensorflow as tf", 0)
    run("x, y = np.zeros((16, 4), 'float32'), np.eye(3)[np.arange(16) % 3]", 1)
    run("def mixed(a, b):\n    part = tf.random.uniform((3,))\n    return a, b * 0.9 + part * 0.1", 2)
    assert run("ds = tf.data.Dataset.from_tensor_slices((x, y)).map(mixed).batch(4)", 3)[0].error_in_exec is not None
    run("%tpushape", 4)
    (fix, *_) = run.report.findings[0].fixes
    assert (fix.verified, fix.proof, fix.cell, fix.effect.text) == (True, "source", "cell-2", "the cell runs to its end")
    assert fix.after is None and "tf.cast(b * 0.9, part.dtype)" in fix.patch

    # What breaks only when the pipeline runs is no fix.
    run("def weighted(a, b):\n    part = tf.random.uniform((tf.shape(a)[0],))\n    return a * part, b * part", 5)
    assert run("pairs = tf.data.Dataset.from_tensor_slices((x, y)).batch(8).map(weighted)", 6)[0].error_in_exec is not None
    run("%tpushape", 7)
    assert not any(fix.verified for fix in run.report.findings[0].fixes)


def test_an_element_is_not_drawn_from_a_generator_of_the_user(run):
    run(START.format(lib="keras") + "\nimport tensorflow as tf", 0)
    run("def rows():\n    for i in range(6):\n        yield np.zeros(4, 'float32'), np.ones(3)\nheld = rows()", 1)
    run("def mixed(a, b):\n    part = tf.random.uniform((3,))\n    return a, b * 0.9 + part * 0.1", 2)
    made = "ds = tf.data.Dataset.from_generator(lambda: held, output_signature=(tf.TensorSpec((4,)), tf.TensorSpec((3,), tf.float64)))"
    assert run(made + ".map(mixed)", 3)[0].error_in_exec is not None
    run("%tpushape", 4)
    fixes = run.report.findings[0].fixes
    assert fixes and not any(fix.verified for fix in fixes) and "a generator that cannot be rewound" in fixes[0].reason
    assert len(list(run.shell.user_ns["held"])) == 6


def test_a_cell_that_freezes_what_it_only_looks_up_does_not_run_again(run):
    run(START.format(lib="keras") + "\nnet = keras.Sequential([keras.Input((8,)), Dense(4)])\ndef found():\n    return net", 0)
    assert run("part = found()\npart.trainable = False\ni = keras.Input((8,))\nkeras.Model(i, LSTM(2)(part(i)))", 1)[0].error_in_exec is not None
    run("net.trainable = True", 2)
    run("%tpushape", 3)
    net = run.shell.user_ns["net"]
    assert net.trainable is True and all(layer.trainable for layer in net.layers)
    assert len(net.trainable_variables) == 2 and all(variable.trainable for variable in net.variables)
