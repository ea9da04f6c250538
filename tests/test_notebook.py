"""The notebook: one line under a traceback, the magics, and nothing left behind.

Each test talks to a real IPython shell; where cell ids matter, to a real kernel.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback

import keras
import numpy as np
import pytest
import tf_keras
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import jupyter_tpushape as tpushape
from jupyter_tpushape.trace import frameworks as adapters

BOTH = pytest.mark.parametrize("lib", ["keras", "tf_keras"])


class Notebook:
    """Cells run one after another, as a front end runs them."""

    def __init__(self):
        InteractiveShell.clear_instance()
        self.shell = InteractiveShell.instance(colors="nocolor")
        self.out = self.err = ""

    def run(self, cell, cell_id=None):
        """Runs a cell; ``out`` and ``err`` are what it printed."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            result = self.shell.run_cell(cell, store_history=True, cell_id=cell_id)
        self.out, self.err = out.getvalue(), err.getvalue()
        return result

    def said(self, line):
        """The one sentence that a magic answers with in place of a report."""
        self.run(line)
        assert self.out == ""
        assert self.err.count("\n") == 1, self.err
        return self.err.strip().removeprefix("UsageError: ")


@pytest.fixture
def notebook():
    book = Notebook()
    yield book
    tpushape.unload_ipython_extension(book.shell)
    book.shell.run_line_magic("reset", "-f")
    InteractiveShell.clear_instance()


@pytest.fixture
def loaded(notebook):
    """A notebook with the extension and what every first cell imports."""
    notebook.run("%load_ext jupyter_tpushape")

    def start(lib):
        notebook.run(f"import {lib} as keras, numpy as np\nL = keras.layers\nkeras.backend.clear_session()")
        return notebook

    return start


def one_line(text):
    assert text.count("\n") == 1, text
    return text.strip()


BUILD = """model = keras.Sequential([
    keras.Input((8, 8, 1)),
    L.Conv2D(4, 3, name="conv"),
    L.LSTM(5, name="lstm"),
    L.Dense(2),
])"""

TRAIN = """x, y = np.zeros((16, 8, 8, 1), "float32"), np.arange(16) % 3
model = keras.Sequential([keras.Input((8, 8, 1)), L.Conv2D(4, 3, name="conv"), L.Dense(3, activation="softmax", name="head")])
model.compile("sgd", "sparse_categorical_crossentropy")
history = model.fit(x, y, verbose=0)"""

GOOD = TRAIN.replace("L.Dense(3", "L.Flatten(), L.Dense(3")


# -- loading ---------------------------------------------------------------------------------------


def test_loading_imports_no_framework():
    program = """
import sys
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "jupyter_tpushape")
shell.run_cell("one = 1")
print([name for name in ("tensorflow", "keras", "tf_keras", "jupyterlab", "plotly", "jax") if name in sys.modules])
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_loading_imports_no_part_that_only_a_trace_needs():
    program = """
import sys
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "jupyter_tpushape")
parts = ("rules", "repair", "examine", "graph", "sources", "replicas", "trace.framework", "trace.hooks")
print([name for name in parts if f"jupyter_tpushape.{name}" in sys.modules])
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_loading_twice_changes_nothing(notebook):
    notebook.run("%load_ext jupyter_tpushape")
    first, shown = notebook.shell._tpushape, notebook.shell.showtraceback
    tpushape.load_ipython_extension(notebook.shell)
    assert notebook.shell._tpushape is first
    assert notebook.shell.showtraceback is shown
    notebook.run("1 / 0")
    assert notebook.err == ""


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_a_cell_that_imports_and_breaks_is_watched_from_the_import_on(framework):
    program = f"""
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell('''%load_ext jupyter_tpushape
import {framework} as keras
layers = keras.layers
model = keras.Sequential([
    keras.Input((28, 28, 1)),
    layers.Conv2D(32, 3),
    layers.LSTM(64),
    layers.Dense(10),
])''', store_history=True)
shell.run_cell("%tpushape", store_history=True)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    (hint,) = [line for line in done.stderr.splitlines() if line.startswith("tpushape")]
    assert hint.startswith("tpushape ▸ lstm ") and "(?, 26, 26, 32)" in hint and "(In[1]:" in hint
    assert re.search(r"✓ fix.*?Reshape\(\(26, 832\)\)", " ".join(done.stdout.split()))
    assert "+    layers.Reshape((26, 832))," in done.stdout


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_a_framework_that_is_imported_after_us_is_watched_all_the_same(framework):
    program = f"""
import sys
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "jupyter_tpushape")
assert "tensorflow" not in sys.modules
shell.run_cell("import tensorflow as tf, {framework} as keras")
shell.run_cell("model = keras.Sequential([keras.Input((28, 28, 3)), keras.layers.LSTM(4)])")
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stderr
    hint = [line for line in said.splitlines() if "%tpushape" in line]
    assert len(hint) == 1, said
    assert "(?, 28, 28, 3)" in hint[0], hint


# -- the line under a traceback --------------------------------------------------------------------


@BOTH
def test_a_cell_that_builds_and_raises_gets_one_line_under_its_traceback(loaded, lib):
    book = loaded(lib)
    book.run(BUILD)
    assert "ValueError: Input 0" in book.out
    hint = one_line(book.err)
    assert hint.startswith("tpushape ▸ lstm ") and "(?, 6, 6, 4)" in hint and "(In[3]:4)" in hint and "%tpushape" in hint


@BOTH
def test_the_magic_alone_shows_the_last_failure_with_fixes_that_were_tried(loaded, lib):
    book = loaded(lib)
    book.run(BUILD)
    book.run("%tpushape")
    assert "✖ lstm  ← (?, 6, 6, 4) float32  In[3]:4" in book.out
    assert "░ dense not reached" in book.out
    assert "wants  (batch, time, features)" in book.out
    assert re.search(r"✓ fix.*?Reshape\(\(6, 24\)\) before", " ".join(book.out.split()))
    assert "+    L.Reshape((6, 24))," in book.out
    assert "Flatten" not in book.out.split("✓", 1)[1]
    report = book.shell.user_ns["_tpushape_report"]
    assert [fix.verified for fix in report.findings[0].fixes] == [True] * len(report.findings[0].fixes) != []


@pytest.mark.parametrize("slip", ["%tpushape -", "%tpushape mdoel", "%tpushape '", "%tpushape --tpu v99"])
def test_a_slip_in_the_line_of_a_magic_is_not_the_last_failure(loaded, slip):
    notebook = loaded("keras")
    notebook.run(BUILD)
    failed = notebook.shell._tpushape.error
    notebook.run(slip)
    assert failed is not None and notebook.shell._tpushape.error is failed


@BOTH
def test_a_fault_at_the_loss_is_told_by_its_cause_upstream(loaded, lib):
    book = loaded(lib)
    book.run(TRAIN)
    line = one_line(book.err)
    assert line.startswith("tpushape ▸ ") and "(In[3]:2)" in line
    assert all(fact in line for fact in ("conv (Conv2D)", "sparse_categorical_crossentropy", "(16, 6, 6, 3)", "(16,)"))
    book.run("%tpushape")
    assert re.search(r"✓ fix.*?Flatten before head", " ".join(book.out.split()))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("b = a.reshape(4, 8)", "cannot reshape array of size 30 into shape (4,8)"),
        ("b = a + np.zeros((4, 3))", "operands could not be broadcast together with shapes (10,3) (4,3)"),
        ("a[:] = np.zeros((10, 4))", "could not broadcast input array from shape (10,4) into shape (10,3)"),
        ("b = a.dot(np.zeros(7))", "shapes (10,3) and (7,) not aligned: 3 (dim 1) != 7 (dim 0)"),
    ],
)
def test_a_numpy_fault_is_told_with_the_users_line(loaded, code, said):
    book = loaded("keras")
    book.run(f"a = np.zeros((10, 3))\n{code}")
    hint = one_line(book.err)
    assert hint.startswith("tpushape ▸ ") and f" In[3]:2, `{code}`: {said}. " in hint and "%tpushape" in hint
    book.run("%tpushape")
    assert book.err == ""
    assert "✖ error code-raises" in book.out
    assert f"at In[3]:2  {code}" in book.out


def test_a_tensorflow_fault_between_layers_is_told_with_the_users_line(loaded):
    book = loaded("keras")
    book.run("import tensorflow as tf")
    book.run("a = tf.zeros((2, 3))\nb = tf.matmul(a, a)")
    hint = one_line(book.err)
    assert hint.startswith("tpushape ▸ ") and " In[4]:2, `b = tf.matmul(a, a)`: " in hint and "%tpushape" in hint


# -- errors that are none of ours ------------------------------------------------------------------

STRANGE = [
    "1 / 0",
    "{}['missing']",
    "int('seven')",
    "float('1,5')",
    "raise ValueError('player 3 has rank 4, which is not in [0, 3]')",
    "raise TypeError('expected a name')",
    "import nosuchmodule",
    "def f(:",
    """
import keras, numpy as np
class Stop(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        raise ValueError('the two shapes must have the same area')
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
model.compile('sgd', 'mse')
model.fit(np.zeros((4, 3)), np.zeros((4, 1)), verbose=0, callbacks=[Stop()])
""",
    """
class Broken(keras.layers.Layer):
    def call(self, x):
        return x / nosuchname
Broken()(np.zeros((2, 2)))
""",
    "keras.layers.Dense(-1)",
    "keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)]).get_layer('nosuch')",
    "try:\n    keras.layers.Dense(units='many')\nexcept ValueError as error:\n    raise RuntimeError('no') from error",
]

# One import of the frameworks for both.
SHELLS = """
import contextlib, io, json, os, sys
import keras, tensorflow
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
how = "plain"
if child := os.fork():
    assert os.waitpid(child, 0)[1] == 0
    how = "loaded"
shell = InteractiveShell.instance(colors="nocolor")
if how == "loaded":
    shell.extension_manager.load_extension("jupyter_tpushape")
said = []
for cell in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        shell.run_cell(cell, store_history=True)
    said.append([out.getvalue(), err.getvalue()])
print(json.dumps(said), flush=True)
"""


def test_errors_that_are_none_of_ours_stay_byte_for_byte_as_they_are():
    done = subprocess.run([sys.executable, "-c", SHELLS, json.dumps(STRANGE)], capture_output=True, text=True, check=True)
    plain, loaded = map(json.loads, done.stdout.splitlines()[-2:])
    for cell, (before, now) in zip(STRANGE, zip(plain, loaded, strict=True), strict=True):
        assert now == before, cell
        assert "Error" in before[0] + before[1], cell


@BOTH
def test_the_frames_of_our_hooks_stand_in_no_traceback(loaded, lib):
    book = loaded(lib)
    for cell in (BUILD, TRAIN, "L.Dense(2)(keras.Input((3, 4)), 5, 6, 7)"):
        result = book.run(cell)
        assert result.error_in_exec is not None
        assert "jupyter_tpushape" not in book.out
        files = [frame.filename for frame in traceback.extract_tb(result.error_in_exec.__traceback__)]
        assert not [file for file in files if "jupyter_tpushape/trace" in file]


def test_a_fault_of_our_own_is_said_as_ours_and_the_cell_keeps_its_result(loaded, monkeypatch):
    from jupyter_tpushape.rules import registry

    names = {}
    exec(compile("def wrong(evidence): raise LookupError('no such rule')", registry.__file__, "exec"), names)
    wrong = names["wrong"]
    book = loaded("keras")
    monkeypatch.setattr(registry, "CHECKS", [(0, wrong)])
    book.run(BUILD)
    assert "ValueError: Input 0" in book.out
    said = one_line(book.err)
    assert re.search(r"tpushape.*: LookupError: no such rule \(wrong, line \d+\)\.", said) and tpushape.__version__ in said
    result = book.run("model = keras.Sequential([keras.Input((3,)), L.Dense(1)])\n%tpushape model\nmodel.count_params()")
    assert result.success
    assert result.result == 4
    assert "tpushape" in book.err and "LookupError: no such rule" in one_line(book.err)


# -- the magics ------------------------------------------------------------------------------------


@BOTH
def test_the_magic_traces_a_model_on_its_data(loaded, lib, tmp_path):
    book = loaded(lib)
    book.run(GOOD)
    book.run("%tpushape model (x, y) --tpu none")
    assert book.err == ""
    assert book.out.startswith("✓ ")
    book.run(f"%tpushape model (x, y) --tpu v5e-8 --no-fixes --save {tmp_path / 'report.json'}")
    assert tpushape.Report.from_json((tmp_path / "report.json").read_text()).target.name == "v5e-8"


@BOTH
def test_the_cell_magic_shows_what_a_cell_builds_and_then_runs_the_cell(loaded, lib):
    book = loaded(lib)
    book.run("%%tpushape --tpu none\n" + GOOD)
    assert book.err == ""
    assert book.out.startswith("✓ ")
    assert len(book.shell.user_ns["history"].history["loss"]) == 1
    place = next(node.location for node in book.shell.user_ns["_tpushape_report"].flow.nodes if node.name == "head")
    assert (place.execution, place.line) == (3, 3)


@BOTH
def test_the_cell_magic_shows_a_broken_cell_and_does_not_train_it(loaded, lib):
    book = loaded(lib)
    book.run("%%tpushape --tpu none\n" + TRAIN)
    assert "✖ error missing-flatten" in book.out
    assert re.search(r"✓ fix.*?Flatten before head", " ".join(book.out.split()))
    assert "Traceback" not in book.out
    assert "history" not in book.shell.user_ns


def test_an_error_in_a_cell_under_the_magic_has_that_cells_number_and_line(loaded):
    book = loaded("keras")
    book.run("%%tpushape --tpu none\nmodel = keras.Sequential([keras.Input((3,)), L.Dense(1)])\nnosuchname")
    assert "NameError" in book.out
    assert "Cell In[3], line 3" in book.out
    assert "----> 3 nosuchname" in book.out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%tpushape nosuchname", ("variable nosuchname", "model", "data")),
        ("%tpushape modle", ("variable modle", "model?")),
        ("%tpushape five", ("got int", "%tpushape model data")),
        ("%tpushape model (x, y) --tpu v9", ("'v9'", "v2-8,")),
        ("%tpushape model x y", ("3 names", "put arrays in parentheses", "%tpushape model (x,y)")),
        ("%tpushape model --nosuch", ("--nosuch", "%tpushape?")),
        ("%tpushape model --compiel xla", ("--compiel", "--compile?", "%tpushape?")),
        ("%tpushape model --batch-size many", ("--batch-size", "'many'", "%tpushape?")),
        ("%tpushape model (x, y) --loss nosuch", ("nosuch", "compile(loss=...)")),
        ("%tpushape model (x,y) --batch-size 0", ("batch_size is 0", "batch_size=32")),
        ("%tpushape '", ("No closing quotation", "%tpushape model data")),
        # A name of IPython's own is none of the user's.
        ("%tpushape opne", ("variable opne", "holds a model")),
        ("%tpushape mdoel", ("variable mdoel", "model?")),
        ("%tpushape model (x", ("(x ", "(SyntaxError:")),
        ("%tpushape watch model nosuchdata", ("variable nosuchdata",)),
        ("%tpushape", ("%tpushape model data",)),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(loaded, line, said):
    book = loaded("keras")
    book.run("five = 5\nx, y = np.zeros((4, 3)), np.zeros((4, 1))\nmodel = keras.Sequential([keras.Input((3,)), L.Dense(1)])")
    text = book.said(line)
    assert not [part for part in said if part not in text], text


@pytest.mark.parametrize("line", ["%tpushape build data --text", "%tpushape model data --text", "%%tpushape\nbuild()"])
@BOTH
def test_an_interrupted_trace_is_one_line_and_changes_nothing(loaded, lib, line):
    notebook = loaded(lib)
    notebook.run(
        "class Slow(L.Layer):\n    seen = 0\n    def call(self, x):\n        self.seen += 1\n        raise KeyboardInterrupt\n"
        "def build():\n    model = keras.Sequential([L.Dense(3), Slow(), L.Dense(1)])\n    model.build((None, 4)) if BUILT else None\n    return model\n"
        "BUILT = False\nmodel, data = build(), np.zeros((8, 4), 'float32')\nBUILT = True\nnp.random.seed(3)"
    )
    result = notebook.run(line)
    assert isinstance(result.error_in_exec, KeyboardInterrupt), "the cells behind it do not run"
    assert (notebook.out + notebook.err).strip() == "tpushape: Interrupted."
    assert result.error_in_exec.__context__ is None, "what was left is not held"
    notebook.run("print(model.built, model.layers[1].seen, np.random.randint(1000) == np.random.RandomState(3).randint(1000))")
    assert notebook.out == "False 0 True\n"
    notebook.run("print(type(L.Dense(2)(np.ones((1, 2), 'float32'))).__name__)")
    assert "Tensor" in notebook.out


def test_a_model_whose_cell_raised_is_told_of(loaded):
    book = loaded("keras")
    broken = "net = keras.Sequential([keras.Input((8, 8, 1)), L.LSTM(2)])"
    book.run(broken)
    assert re.search(r"\bnet\b.* In\[\d+\],.* %tpushape ", book.said("%tpushape net"))
    assert book.said("%tpushape nett").strip().endswith("net?"), "a slip in a name that was to be made"
    book.run("net = keras.Sequential([keras.Input((8,)), L.Dense(2)])")
    book.run("%tpushape net --tpu none")
    assert "earlier run" not in book.err
    book.run(broken)
    book.run("%tpushape net --tpu none")
    assert re.match(r"tpushape ▸ net .*earlier run: In\[\d+\]", one_line(book.err))
    book.run("net = keras.Sequential([keras.Input((8,)), L.Dense(2)])")
    book.run("%tpushape net --tpu none")
    assert "earlier run" not in book.err
    # Made anew by the cell that raised, before it raised.
    book.run("net = keras.Sequential([keras.Input((8,)), L.Dense(2)])\nnet.compile('sgd', 'mse')\nnet.fit(np.zeros((4, 3)), np.zeros((4, 2)))")
    book.run("%tpushape net --tpu none")
    assert "earlier run" not in book.err


def test_a_model_of_the_notebook_tells_what_a_head_is_made_for(loaded):
    book = loaded("keras")
    book.run("base = keras.Sequential([keras.Input((8, 8, 3)), L.Conv2D(6, 3), L.GlobalAveragePooling2D()])")
    book.run("head = keras.Sequential([keras.Input((6,)), L.Dense(2)])\nhead.compile('sgd', 'mse')")
    book.run("x, y = np.zeros((8, 8, 8, 3), 'float32'), np.zeros((8, 2), 'float32')")
    book.run("%tpushape head (x, y)")
    assert "features that base returns" in " ".join(book.out.split())
    # Not where it is a part of the model, and keeps the shape of what it takes.
    book.run("aug, i = keras.Sequential([keras.Input((6, 6, 3)), L.RandomFlip()]), keras.Input((6, 6, 3))")
    book.run("whole = keras.Model(i, L.Dense(2)(L.Flatten()(aug(i))))\nwhole.compile('sgd', 'mse')")
    book.run("%tpushape whole (x, y)")
    assert "(6, 6, 3)" in book.out and "features that" not in book.out


def test_help_and_layers_are_offered(loaded):
    book = loaded("keras")
    book.run("%tpushape --help")
    assert "%tpushape model data" in book.out and "--batch-size" in book.out and "::" not in book.out
    book.run("class Net(keras.Model):\n    def __init__(self):\n        super().__init__()\n        self.head = L.Dense(2, name='top')\nnet = Net()")
    assert {"net.head", 'net.get_layer("top")'} <= set(book.shell.complete(None, "%tpushape net.")[1])


@pytest.mark.parametrize("line", ["%tpushape model (x, y)   # both", '%tpushape model x --tpu none # no target, "quoted"', "%tpushape model # declared inputs"])
def test_a_comment_behind_a_magic_is_left_out(loaded, line):
    book = loaded("keras")
    book.run(
        "import numpy as np\nmodel = keras.Sequential([keras.Input((4,)), L.Dense(1)])\nmodel.compile('sgd', 'mse')\nx, y = np.zeros((8, 4)), np.zeros((8, 1))"
    )
    assert book.run(line).success and "dense" in book.out, book.err


def test_a_file_of_an_unknown_kind_is_one_sentence_too(loaded):
    book = loaded("keras")
    book.run("model = keras.Sequential([keras.Input((3,)), L.Dense(1)])")
    assert "'.xyz'" in book.said("%tpushape model --save report.xyz")


@BOTH
def test_watching_traces_again_after_each_cell_that_changed_something(loaded, lib):
    book = loaded(lib)
    book.run(TRAIN.rsplit("\n", 1)[0])
    book.run("%tpushape watch model (x,y) --tpu none --no-fixes")
    assert "✖ error missing-flatten" in book.out
    book.run("other = 1")
    assert (book.out, book.err) == ("", "")
    book.run(GOOD.rsplit("\n", 1)[0])
    assert one_line(book.err).startswith("tpushape ▸ Fixed: ") and " head → sparse_categorical_crossentropy" in book.err
    book.run("%tpushape watch off")
    assert book.out.startswith("tpushape: ") and book.out.count("\n") == 1
    book.run(TRAIN.rsplit("\n", 1)[0])
    assert (book.out, book.err) == ("", "")


def test_variables_options_and_targets_are_completed(loaded):
    book = loaded("keras")
    book.run("my_model = my_data = 1")

    def after(text):
        return book.shell.complete(None, text)[1]

    assert {"my_model", "my_data"} <= set(after("%tpushape my_"))
    assert after("%tpushape my_model my_d") == ["my_data"]
    assert after("%tpushape my_model --ba") == ["--batch-size"]
    assert after("%tpushape my_model --tpu v5e-1") == ["v5e-1", "v5e-16", "v5e-128"]
    assert after("%tpushape my_model --compile ") == ["xla", "tpu"]
    assert after("%tpushape my_model --compile tpu --compile-effort ") == ["quick", "full"]
    assert "batch=2,model=4" in after("%tpushape my_model --mesh ")
    book.run("LAYOUT = {'.*kernel': (None, 'model')}\ndef by_mesh(mesh): return {}")
    assert {"LAYOUT", "by_mesh"} <= set(after("%tpushape my_model --layout ")) and "my_data" not in after("%tpushape my_model --layout ")
    assert after("%tpushape wat") == ["watch"]
    assert "v5e-8" in after("%%tpushape --tpu ")
    # A front end asks in this way, which Jedi answers, too.
    with provisionalcompleter():
        for text, wanted in (("%tpushape --compile-e", ["--compile-effort"]), ("%%tpushape --tp", ["--tpu"]), ("%tpushape --compile ", ["xla", "tpu"])):
            assert [one.text for one in book.shell.Completer.completions(text, len(text))] == wanted
        assert "my_data" in [one.text for one in book.shell.Completer.completions("my_", 3)]


# -- which cell ------------------------------------------------------------------------------------


def test_a_layer_knows_the_cell_that_made_it_by_id_number_and_line(loaded):
    book = loaded("keras")
    book.run("# the first\nfirst = L.Dense(2, name='first')", cell_id="aaa")
    book.run("second = L.Dense(1, name='second')", cell_id="bbb")
    book.run("model = keras.Sequential([keras.Input((3,)), first, second])\n%tpushape model --tpu none", cell_id="ccc")
    nodes = {node.name: node.location for node in book.shell.user_ns["_tpushape_report"].flow.nodes if node.kind == "layer"}
    assert {name: (at.cell, at.execution, at.line) for name, at in nodes.items()} == {"first": ("aaa", 3, 2), "second": ("bbb", 4, 1)}


KERNEL = [
    "%load_ext jupyter_tpushape",
    "import keras\nL = keras.layers",
    "# the convolution\nconv = L.Conv2D(4, 3, name='conv')",
    "model = keras.Sequential([\n    keras.Input((8, 8, 1)),\n    conv,\n    L.LSTM(5, name='lstm')])",
    """import jupyter_tpushape as tpushape
with tpushape.watch() as seen:
    try:
        keras.Sequential([keras.Input((8, 8, 1)), conv, L.LSTM(5)])
    except ValueError:
        pass
at = next(node.location for node in seen.report.flow.nodes if node.name == 'conv')
print(at.cell, at.execution, at.line)""",
    "%%tpushape --tpu none --text\nmodel = keras.Sequential([keras.Input((3,)), L.Dense(1)])\nprint(__import__('sys')._getframe().f_lineno)",
]


@pytest.fixture
def kernel():
    """Runs a cell in a real kernel, as JupyterLab asks for it: with the cell's id. Gives back what it prints."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", stderr=subprocess.DEVNULL)

    def ask(code, cell_id):
        message = client.session.msg("execute_request", {"code": code, "silent": False, "store_history": True}, metadata={"cellId": cell_id})
        client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def heard(asked=None):
        while True:
            answer = client.get_iopub_msg(timeout=60)
            if asked in (None, answer["parent_header"].get("msg_id")):
                return answer

    def run(code, cell_id):
        asked = ask(code, cell_id)
        printed: dict = {"stdout": "", "stderr": ""}
        shown: list = []
        while True:
            answer = heard(asked)
            if answer["msg_type"] == "stream":
                printed[answer["content"]["name"]] += answer["content"]["text"]
            if answer["msg_type"] == "display_data":
                shown.append(answer["content"]["data"])
            if answer["msg_type"] == "status" and answer["content"]["execution_state"] == "idle":
                return printed["stdout"].strip(), printed["stderr"].strip(), shown

    run.ask, run.heard = ask, heard
    yield run
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_in_a_real_kernel_the_front_ends_cell_ids_and_numbers_are_right(kernel):
    said = [kernel(text, f"cell-{i}") for i, text in enumerate(KERNEL)]
    (hint,) = said[3][2]
    assert "(In[4]:4)" in hint["text/plain"] and "%tpushape" in hint["text/plain"]
    assert "<code>%tpushape</code>" in hint["text/html"]
    told = hint["application/vnd.tpushape.hint.v1+json"]
    assert told["execution"] == 4 and told["said"].endswith("(In[4]:4)")
    assert said[3][1] == "", "nothing of ours is written in red"
    assert said[4][0] == "cell-2 3 2"
    assert "✓ " in said[5][0]
    assert said[5][0].startswith("3\n")


WATCHED = [
    "%load_ext jupyter_tpushape\nimport keras, time\nfrom keras import layers as L",
    """class Slow(L.Layer):
    def call(self, x):
        if patient:
            open(TRACED, "w").close()
            for turn in range(1200):
                time.sleep(0.1)
        return x
patient = False
def made(units):
    return keras.Sequential([keras.Input((8,)), Slow(), L.Dense(units)])
model = made(3)""",
    "%tpushape watch model --tpu none",
]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the kernel tells through a named pipe that it traces")
def test_a_watched_trace_runs_when_the_kernel_is_idle_and_makes_way_for_a_cell(kernel, tmp_path):
    os.mkfifo(tmp_path / "traced")
    for text in (f"TRACED = {str(tmp_path / 'traced')!r}", *WATCHED):
        kernel(text, "watched")
    # The cell is answered before the trace begins, which would take two minutes.
    assert kernel("model = made(5)\npatient = True\nprint('made')", "changed") == ("made", "", [])
    assert (tmp_path / "traced").read_text() == ""
    # The next one is answered in the middle of it, and sees what it would see without a trace.
    assert kernel("patient = False\nprint(40 + 2, model.layers[-1].units)", "next") == ("42 5", "", [])
    # What is owed is told after a cell that fails, too.
    kernel.ask("1 / 0", "fails")
    while not (said := kernel.heard()["content"].get("data", {}).get("text/plain", "")).startswith("tpushape ▸"):
        pass
    assert "from (32, 3) float32 to (32, 5) float32" in said


def test_what_makes_way_puts_everything_back_first():
    from types import SimpleNamespace

    from jupyter_tpushape.notebook.idle import Idle

    back = []
    waits = SimpleNamespace(poll=lambda _: int(bool(back)))

    def work():
        back.append("begun")
        try:
            for _ in range(3000):
                time.sleep(0.01)
            back.append("ended")
        finally:
            for _ in range(40):
                time.sleep(0.01)
            back.append("put back")

    assert not Idle(SimpleNamespace(socket=waits, flush=lambda: back.append("flushed"))).run(work)
    assert back == ["begun", "put back", "flushed"]


def test_what_makes_way_may_be_starting_a_thread():
    """Python gives a thread its parent's number until it runs: an exception for the parent could reach the newborn, and both would hang.

    Nor does the newborn die of one in the middle of ``start``, where both hold a lock: pytest fails for what a thread raises as it begins.
    """
    from types import SimpleNamespace

    from jupyter_tpushape.notebook.idle import Idle

    def hung(*_):
        raise AssertionError("The thread that was being started never was.")

    def work():
        while True:
            thread = threading.Thread(target=time.time)
            thread.start()
            thread.join()

    before = signal.signal(signal.SIGALRM, hung)
    signal.alarm(60)
    try:
        for _ in range(25):
            looks = iter(range(3))
            waits = SimpleNamespace(poll=lambda _, looks=looks: int(next(looks, 9) > 1))
            assert not Idle(SimpleNamespace(socket=waits, flush=lambda: None)).run(work)
            assert sys.getprofile() is None
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_what_cannot_be_watched_any_more_is_told_once(loaded):
    book = loaded("keras")
    book.run("model = keras.Sequential([keras.Input((4,)), L.Dense(1)])")
    book.run("%tpushape watch model --tpu none")
    book.run("del model")
    assert one_line(book.err).startswith("tpushape ▸ There is no variable model.")
    book.run("other = 1")
    assert (book.out, book.err) == ("", "")
    book.run("model = keras.Sequential([keras.Input((4,)), L.Dense(2)])")
    assert "from (32, 1) float32 to (32, 2)" in book.err


# -- unloading -------------------------------------------------------------------------------------


# What Python itself adds to a class when it is first asked for.
LAZY = ("_abc", "__dict", "__weak", "__annotations")


def doors():
    """Every attribute of the classes that the hooks touch, as it stands."""
    found = {}
    for lib in (keras, tf_keras):
        sample = lib.Sequential([lib.Input((2,)), lib.layers.Dense(1)])
        owners = {*type(sample).__mro__, *lib.Model.__mro__, *lib.layers.InputLayer.__mro__, *lib.losses.Loss.__mro__, *lib.metrics.Metric.__mro__}
        functional = type(lib.Model(sample.inputs, sample.outputs))
        for owner in owners | set(functional.__mro__):
            if owner is not object:
                found.update({(owner, name): value for name, value in vars(owner).items() if not name.startswith(LAZY)})
    return found


def test_unloading_takes_everything_away(notebook):
    adapters.uninstall()
    before = doors()
    shell = notebook.shell
    callbacks = {event: list(found) for event, found in shell.events.callbacks.items()}
    names = set(vars(shell)) | {"extension_manager"}
    notebook.run("%load_ext jupyter_tpushape")
    notebook.run("import keras, tf_keras, numpy as np\nL = keras.layers")
    notebook.run(BUILD)
    assert notebook.err.startswith("tpushape ▸ lstm ")
    assert keras.layers.Layer.__dict__["__call__"] is not before[keras.layers.Layer, "__call__"]
    notebook.run("%unload_ext jupyter_tpushape")
    assert notebook.err == ""
    now = doors()
    assert [key for key, value in before.items() if now.get(key) is not value] == []
    assert set(now) == set(before)
    assert {event: list(found) for event, found in shell.events.callbacks.items()} == callbacks
    assert "showtraceback" not in vars(shell)
    assert not {name for name in set(vars(shell)) - names if "tpushape" in name}
    assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith("jupyter_tpushape")]
    assert "tpushape" not in shell.magics_manager.magics["line"]
    assert "tpushape" not in shell.magics_manager.magics["cell"]
    assert shell.Completer.custom_matchers == []
    notebook.run(BUILD)
    assert "ValueError: Input 0" in notebook.out
    assert notebook.err == ""
    notebook.run("%tpushape model")
    assert "Line magic function `%tpushape` not found" in notebook.err


def test_unloading_gives_back_the_traceback_of_another_extension(notebook):
    def theirs(*args, **kwargs):
        print("their own words", file=sys.stderr)

    notebook.shell.showtraceback = theirs
    notebook.run("%load_ext jupyter_tpushape")
    notebook.run("1 / 0")
    assert notebook.err == "their own words\n"
    notebook.run("%unload_ext jupyter_tpushape")
    assert notebook.shell.showtraceback is theirs


@pytest.mark.parametrize("earlier", [True, False])
def test_what_another_extension_puts_back_as_it_leaves_is_taken_out_with_the_next(notebook, earlier):
    own = (lambda *args, **kwargs: None) if earlier else None
    if earlier:
        notebook.shell.showtraceback = own
    for _ in range(3):
        notebook.run("%load_ext jupyter_tpushape")
        ours = notebook.shell.showtraceback
        notebook.shell.showtraceback = lambda *args, **kwargs: None
        notebook.run("%unload_ext jupyter_tpushape")
        notebook.shell.showtraceback = ours
    notebook.run("%load_ext jupyter_tpushape")
    notebook.run("%unload_ext jupyter_tpushape")
    assert vars(notebook.shell).get("showtraceback") is own


def test_unloading_leaves_what_others_have_wrapped_since(notebook):
    notebook.run("%load_ext jupyter_tpushape")
    notebook.run("import keras, numpy as np\nL = keras.layers")
    beneath, shown = keras.layers.Layer.__call__, notebook.shell.showtraceback
    seen = []

    def theirs(layer, *args, **kwargs):
        seen.append(layer.name)
        return beneath(layer, *args, **kwargs)

    keras.layers.Layer.__call__ = theirs

    def outer(*args, **kwargs):
        return shown(*args, **kwargs)

    notebook.shell.showtraceback = outer
    try:
        notebook.run("%unload_ext jupyter_tpushape")
        assert keras.layers.Layer.__call__ is theirs
        assert notebook.shell.showtraceback is outer
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="theirs")])
        assert "theirs" in seen
        # And loaded once more, each call is recorded once.
        report = tpushape.trace(model, np.zeros((8, 3), "float32"), tpu=None)
        assert [node.name for node in report.flow.nodes if node.kind == "layer"] == ["theirs"]
    finally:
        keras.layers.Layer.__call__ = beneath
        vars(notebook.shell).pop("showtraceback", None)
        adapters.uninstall()


# -- watch() ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
def test_a_watched_block_gives_the_flow_up_to_the_break_and_lets_the_exception_through(lib):
    layers = lib.layers

    def build():
        inputs = lib.Input((8, 8, 1))
        return layers.LSTM(5, name="lstm")(layers.Conv2D(4, 3, name="conv")(inputs))

    with pytest.raises(ValueError, match="incompatible with the layer") as caught, tpushape.watch() as seen:
        build()
    assert type(caught.value) is ValueError
    assert caught.value.__cause__ is None
    report = seen.report
    assert [(node.name, node.status) for node in report.flow.nodes if node.kind == "layer"] == [("conv", "ok"), ("lstm", "failed")]
    assert report.findings[0].rule == "layer-rank" and "lstm" in report.findings[0].message
    assert report.findings[0].expected.text == "(batch, time, features)"


@pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
def test_a_watched_block_that_holds_gives_all_that_was_built(lib):
    with tpushape.watch() as seen:
        model = lib.Sequential([lib.Input((3,)), lib.layers.Dense(2, name="a"), lib.layers.Dense(1, name="b")])
    assert seen.report.ok
    assert [node.name for node in seen.report.flow.nodes if node.kind == "layer"] == ["a", "b"]
    assert model.predict(np.zeros((2, 3)), verbose=0).shape == (2, 1)


def test_a_watched_block_lets_errors_of_other_kinds_through_too():
    with pytest.raises(ZeroDivisionError), tpushape.watch() as seen:
        1 / 0
    assert seen.report.flow.failed()[0].location.line > 0


@BOTH
def test_a_fix_of_a_cell_fits_the_cell_as_the_user_sees_it(loaded, lib):
    book = loaded(lib)
    cell = (
        "%%tpushape --tpu none --text\n"
        "x, y = np.zeros((8, 64), 'float32'), np.zeros((8, 3), 'float32')\n"
        "model = keras.Sequential([keras.Input((8, 8, 1)), L.Flatten(), L.Dense(3)])\n"
        "model.compile('sgd', 'mse')\n"
        "model.fit(x, y)"
    )
    book.run(cell)
    fix = book.shell.user_ns["_tpushape_report"].findings[0].fixes[0]
    assert "%%tpushape" not in fix.patch
    from jupyter_tpushape.repair.patch import patched

    assert patched(cell, fix.patch) == cell.replace("fit(x, y)", "fit(np.reshape(x, (-1, 8, 8, 1)), y)")


@BOTH
def test_a_fix_near_the_top_of_a_magic_cell_leaves_the_magic_out(loaded, lib):
    book = loaded(lib)
    cell = (
        "%%tpushape --tpu none --text\nmodel = keras.Sequential([keras.Input((8, 8, 1)), L.Conv2D(2, 3), L.LSTM(3, name='lstm')])\nmodel.compile('sgd', 'mse')"
    )
    book.run(cell)
    fix = book.shell.user_ns["_tpushape_report"].findings[0].fixes[0]
    assert fix.patch.splitlines()[2] == "@@ -2,2 +2,2 @@"
    assert "%%tpushape" not in fix.patch


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--compile-batches", "--compile tpu --compile-batches"),
        ("--compile xla --compile-batches", "--compile tpu --compile-batches"),
        ("--compile tpu --compile-timeout 0", " 0 s"),
    ],
)
def test_what_a_compiler_cannot_be_asked_with_is_one_line(loaded, options, said):
    assert said in loaded("keras").said(f"%tpushape model {options}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--mesh 2x4", ("'2x4'", "batch=2,model=4")),
        ('--mesh "batch=2,model=4"', ("KERAS_BACKEND=jax",)),
        ("--layout LAYOUT", ('--mesh "batch=2,model=4"',)),
        ("--mesh batch=8 --layout LAYUOT", ("variable LAYUOT", "LAYOUT?")),
        ("--mesh batch=8 --layout nothing", ("variable nothing", "a layout map")),
        ("--mesh batch=8 --layout LAYOUT[1]", ("LAYOUT[1]", "(KeyError: 1)", "--layout LAYOUT")),
    ],
)
def test_a_mesh_that_cannot_be_laid_is_one_line(loaded, options, said):
    book = loaded("keras")
    book.run("LAYOUT = {}")
    text = book.said(f"%tpushape model {options}")
    assert not [part for part in said if part not in text], text


def test_rows_that_another_cell_selects_are_named_with_that_cell(notebook):
    notebook.run("%load_ext jupyter_tpushape\nimport keras, numpy as np")
    notebook.run("x, y = np.zeros((24, 4), 'float32'), np.zeros((24, 1), 'float32')")
    notebook.run("x_train = x[:16]\ny_train = y")
    notebook.run("model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)]); model.compile('sgd', 'mse')")
    notebook.run("model.fit(x_train, y_train, verbose=0)")
    notebook.run("%tpushape --text")
    assert "In[3]:1" in notebook.out
    assert re.search(r"✓.*\n(.*\n)*? +-y_train = y\n +\+y_train = y\[:16\]", notebook.out), notebook.out


def test_an_order_is_not_used_in_a_cell_before_it_is_drawn(notebook):
    notebook.run("%load_ext jupyter_tpushape\nimport keras, numpy as np")
    notebook.run("x, y = np.zeros((24, 4), 'float32'), np.arange(24.0)[:, None]")
    notebook.run("model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)]); model.compile('sgd', 'mse')")
    notebook.run("order = np.random.permutation(24)\nshuffled = x[order]")
    notebook.run("%tpushape model (shuffled, y) --text")
    assert "shuffled-apart" in notebook.out and "[order]\n" not in notebook.out.partition("✓")[2], notebook.out
    notebook.run("shuffled = x[order]\nlabels = y")
    notebook.run("%tpushape model (shuffled, labels) --text")
    assert "+labels = y[order]" in notebook.out, notebook.out


@pytest.mark.parametrize("loaded", ["%load_ext jupyter_tpushape", "pass"], ids=["recorded", "looked up"])
def test_a_loss_is_mended_in_the_cell_that_compiles(notebook, loaded):
    notebook.run(f"{loaded}\nimport keras, numpy as np, jupyter_tpushape as tpushape")
    notebook.run("x, y = np.zeros((32, 4), 'float32'), np.eye(6)[np.arange(32) % 6]")
    notebook.run("model = keras.Sequential([keras.Input((4,)),\n    keras.layers.Dense(6, activation='softmax')])")
    notebook.run("top = keras.metrics.TopKCategoricalAccuracy(k=3)\nmodel.compile('sgd',\n    loss='sparse_categorical_crossentropy', metrics=[top])")
    notebook.run("print(tpushape.trace(model, (x, y), tpu=None))")
    mended = r"✓.*\n(.*\n)*? +-    loss='sparse_categorical_crossentropy', metrics=\[top\]\)\n +\+    loss='categorical_crossentropy', metrics=\[top\]\)"
    assert re.search(mended, notebook.out), notebook.out


def test_a_fit_that_fails_is_mended_in_the_cell_that_compiles(notebook):
    notebook.run("%load_ext jupyter_tpushape\nimport keras, numpy as np")
    notebook.run("x, y = np.zeros((32, 4), 'float32'), np.eye(6)[np.arange(32) % 6]")
    notebook.run("model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(6, activation='softmax')])")
    notebook.run("model.compile('sgd', 'sparse_categorical_crossentropy')")
    notebook.run("model.fit(x, y, verbose=0)")
    notebook.run("%tpushape --text")
    assert "+model.compile('sgd', 'categorical_crossentropy')" in notebook.out, notebook.out
