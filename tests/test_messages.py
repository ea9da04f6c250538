"""Every message about shapes, dtypes and memory that the installed frameworks can raise is known, and those of older ones."""

from __future__ import annotations

import ast
import re

import jax_beside
import pytest

from jupyter_tpushape.cli import main
from jupyter_tpushape.rules import RULES
from jupyter_tpushape.rules.messages import meanings

# Where each framework refuses shapes and dtypes, below its root.
PLACES = {
    "keras": ("src/layers", "src/ops", "src/losses", "src/metrics", "src/models", "src/backend/common", "src/trainers"),
    "tf_keras": ("src/layers", "src/engine", "src/losses.py", "src/metrics", "src/utils"),
    "tensorflow": ("python/ops", "python/framework", "python/data/ops"),
    "jax": ("_src/lax", "_src/numpy", "_src/nn"),
}
ABOUT = re.compile(r"\b(?:[Ss]hapes?|ranks?|ndims?|dimensions?|ax[ie]s|dtypes?|broadcast\w*|memory|divisible)\b")


def raised(package: str):
    """``(file, line, text)`` of the messages of a framework's ``raise`` statements; what is filled in stands as 7."""
    root = jax_beside.package(package)
    if root is None:
        return
    for place in PLACES[package]:
        for path in [root / place] if place.endswith(".py") else sorted((root / place).rglob("*.py")):
            if path.name.endswith("_test.py") or not path.exists():
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                    yield path, node.lineno, _text(node.exc.args[0])


def _text(node: ast.AST) -> str:
    """A message as it would be said."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "7" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    if isinstance(node, ast.BinOp):
        return re.sub(r"%[\w.()]*[sdrfi]", "7", _text(node.left))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return re.sub(r"\{[^}]*\}", "7", _text(node.func.value))
    return "7"


@pytest.mark.parametrize("package", PLACES)
def test_what_an_installed_framework_can_say_of_shapes_is_known(package):
    if jax_beside.package(package) is None:
        pytest.skip(f"{package} is not installed")
    messages = [(path, line, text) for path, line, text in raised(package) if ABOUT.search(text)]
    assert len(messages) > 20
    unknown = [f"{path.name}:{line}: {text[:120]}" for path, line, text in messages if not list(meanings(text))]
    assert not unknown, "\n".join(unknown)


OLDER = {
    "Error when checking input: expected conv2d_1_input to have 4 dimensions, but got array with shape (60000, 28, 28)": "input-rank",
    "Error when checking input: expected dense_1_input to have shape (784,) but got array with shape (28,)": "input-axis",
    "Error when checking target: expected dense_2 to have shape (10,) but got array with shape (1,)": "output-units",
    "Error when checking target: expected dense_3 to have 3 dimensions, but got array with shape (100, 1)": "label-rank",
    "A target array with shape (60000, 10) was passed for an output of shape (None, 1) while using as loss `binary_crossentropy`.": "output-units",
    "You are passing a target array of shape (60000, 1) while using as loss `categorical_crossentropy`.": "integer-labels",
    "Input 0 is incompatible with layer lstm_1: expected ndim=3, found ndim=2": "layer-rank",
    "Input 0 of layer sequential is incompatible with the layer: expected axis -1 of input shape to have value 784 but received input with shape (None, 28)": "layer-axis",
    "Input arrays should have the same number of samples as target arrays. Found 100 input samples and 99 target samples.": "data-misfit",
    "Layer weight shape (1792, 128) not compatible with provided weight shape (1792, 512)": "weights-apart",
    "You are trying to load a weight file containing 12 layers into a model with 10 layers.": "weights-apart",
    'Graph disconnected: cannot obtain value for tensor KerasTensor(type_spec=TensorSpec(shape=(None, 8))) at layer "input_1".': "graph-disconnected",
    "Layer model_1 expects 2 input(s), but it received 1 input tensors. Inputs received: [<tf.Tensor 'x:0'>]": "input-structure",
    "An `initial_state` was passed that is not compatible with `cell.state_size`. Received `state_spec`=...": "rnn-states",
    "If a RNN is stateful, it needs to know its batch size. Specify the batch size of your input tensors": "stateful-batch",
    "The channel dimension of the inputs should be defined. Found `None`.": "axis-unknown",
    "logits and labels must have the same first dimension, got logits shape [32,10] and labels shape [320]": "label-rank",
    "Shapes (None, 1) and (None, 10) are incompatible": "integer-labels",
    "Dimension 0 in both shapes must be equal, but are 10 and 20. Shapes are [10] and [20].": "op-shapes",
}  # fmt: skip


@pytest.mark.parametrize("text", OLDER)
def test_what_older_versions_said_is_known(text):
    assert OLDER[text] in [meaning.rule for meaning in meanings(text)]
    assert OLDER[text] in RULES


def test_a_whole_traceback_is_read_by_what_it_says_and_not_by_the_code_that_it_quotes(capsys):
    text = """Traceback (most recent call last):
  File "/home/a/train.py", line 7, in <module>
    x = tf.reshape(x, shape)  # the rank of a shape
  File "/venv/lib/python3.11/site-packages/tensorflow/x.py", line 3, in y
    raise ValueError(dtype)
ValueError: `size` must be a multiple of the window. Received: 7
"""
    assert main(["explain", text]) == 0
    out = capsys.readouterr().out
    assert "▸ ValueError: `size` must be a multiple of the window. Received: 7" in out
    assert "equal parts" in out
    assert ": /home/a/train.py, line 7" in out


def test_code_alone_is_no_message(capsys):
    text = "Traceback (most recent call last):\n  File \"/home/a/b.py\", line 1, in <module>\n    import shape\nModuleNotFoundError: No module named 'foo'\n"
    assert main(["explain", text]) == 1
    assert "Rule:" not in capsys.readouterr().out


def test_the_id_of_a_rule_shows_the_rule(capsys):
    assert main(["explain", "layer-rank"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("layer-rank")
    assert "Fails:" in out
    assert "Passes:" in out
