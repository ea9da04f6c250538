"""Lines of layers that were made before anything was loaded: known where they are certain, and never wrong."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
import tensorflow as tf
from IPython.core.interactiveshell import InteractiveShell

import jupyter_tpushape as tpushape
from jupyter_tpushape.trace.frameworks import uninstall


@pytest.fixture
def shell():
    """A shell whose cells ran before the recorder was there."""
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    uninstall()
    yield shell
    InteractiveShell.clear_instance()


def run(shell, *cells):
    for cell in cells:
        shell.run_cell(textwrap.dedent(cell).strip(), store_history=True).raise_error()


def lines(shell, shape=(4,), name="model"):
    """``layer -> cell:line`` as a trace tells it."""
    report = tpushape.trace(shell.user_ns[name], tf.TensorSpec((8, *shape)), tpu=None, fixes=False)
    return {node.name: str(node.location) for node in report.flow.nodes if node.kind == "layer" and node.location is not None}


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_a_sequential_model_of_one_cell_is_known_line_by_line(shell, framework):
    run(shell, f"import {framework} as keras\nfrom {framework}.layers import Dense, Flatten, Input", """
        model = keras.Sequential([
            Input((4, 4), name="door"),
            Flatten(name="flat"),
            Dense(8, activation="relu", name="first"),
            Dense(8, name="second"),
            Dense(3, name="head"),
        ])
    """)  # fmt: skip
    assert lines(shell, (4, 4)) == {"flat": "In[2]:3", "first": "In[2]:4", "second": "In[2]:5", "head": "In[2]:6"}


def test_layers_that_look_alike_are_told_apart_by_the_order_of_their_making(shell):
    run(shell, "import keras\nfrom keras.layers import Dense, Input\nkeras.backend.clear_session()", """
        model = keras.Sequential([Input((4,)),
            Dense(8),
            Dense(8),
            Dense(3)])
    """)  # fmt: skip
    assert lines(shell) == {"dense": "In[2]:2", "dense_1": "In[2]:3", "dense_2": "In[2]:4"}


def test_the_last_run_of_a_cell_is_the_one_that_counts(shell):
    cell = "model = keras.Sequential([keras.Input((4,)),\n    keras.layers.Dense(3, name='head')])"
    run(shell, "import keras", cell, cell)
    assert lines(shell) == {"head": "In[3]:2"}


def test_a_function_that_builds_the_model_is_followed(shell):
    run(shell, "import keras", """
        def build(units):
            i = keras.Input((4,))
            x = keras.layers.Dense(units, name="hidden")(i)
            return keras.Model(i, keras.layers.Dense(3, name="head")(x))
    """, "model = build(7)")  # fmt: skip
    assert lines(shell) == {"hidden": "In[2]:3", "head": "In[2]:4"}


def test_attributes_of_the_users_own_class_are_known_by_their_assignment(shell):
    run(shell, "import keras", """
        class Net(keras.Model):
            def __init__(self):
                super().__init__()
                self.one = keras.layers.Dense(5)
                self.two = keras.layers.Dense(5)
            def call(self, x):
                return self.two(self.one(x))
        model = Net()
        model.build((None, 4))
    """)  # fmt: skip
    assert sorted(lines(shell).values()) == ["In[2]:4", "In[2]:5"]


def test_a_layer_in_a_variable_is_known_from_another_cell(shell):
    run(shell, "import keras\nhead = keras.layers.Dense(3, name='head')", "i = keras.Input((4,))\nmodel = keras.Model(i, head(i))")
    assert lines(shell) == {"head": "In[1]:2"}


@pytest.mark.parametrize(
    "cell",
    [
        "model = keras.Sequential([keras.Input((4,))] + [keras.layers.Dense(3) for _ in range(2)])",
        "model = keras.Sequential([keras.Input((4,))])\nfor _ in range(2):\n    model.add(keras.layers.Dense(3))",
        "def head():\n    return keras.layers.Dense(3)\nmodel = keras.Sequential([keras.Input((4,)), head()])\nother = keras.layers.Dense(3)",
        "model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])\nother = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])",
        "a = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])\nmodel = keras.models.clone_model(a)\ndel a",
        "model = 3\nmodel = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])",
    ],
    ids=["comprehension", "loop", "helper", "two models", "a clone", "two values"],
)
def test_what_the_text_leaves_open_has_no_line(shell, cell):
    run(shell, "import keras", cell)
    assert lines(shell) == {}


def test_a_script_knows_the_lines_above_its_first_trace(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import keras\n\nmodel = keras.Sequential([\n    keras.Input((4,)),\n    keras.layers.Dense(3, name='head'),\n])\n"
        "import jupyter_tpushape as tpushape\nreport = tpushape.trace(model, None, tpu=None)\n"
        "print(*[f'{n.name}@{n.location.line}' for n in report.flow.nodes if n.location])\n"
    )
    done = subprocess.run([sys.executable, script], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == "head@5"
