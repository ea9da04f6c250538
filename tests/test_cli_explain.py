"""tpushape explain: messages that the frameworks themselves raise here, and ones that users report of TPUs."""

from __future__ import annotations

import io
import re
import subprocess
import traceback

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from jupyter_tpushape.cli import main
from jupyter_tpushape.rules import RULES
from jupyter_tpushape.rules.messages import KNOWN, meanings

L, TL = keras.layers, tf_keras.layers


def raised(action):
    try:
        action()
    except Exception:
        return traceback.format_exc()
    raise AssertionError("nothing was raised")


def fit(model, loss, x, y):
    model.compile("sgd", loss)
    model.fit(x, y, verbose=0)


X = np.zeros((4, 8, 8, 3), "float32")
GENUINE = {
    "layer-rank": lambda: L.LSTM(3)(keras.Input((8, 8, 3))),
    "layer-rank of tf_keras": lambda: TL.LSTM(3)(tf_keras.Input((8, 8, 3))),
    "merge-shapes": lambda: L.Add()([keras.Input((8, 4)), keras.Input((7, 4))]),
    "merge-shapes by concatenation": lambda: L.Concatenate()([keras.Input((8, 4)), keras.Input((7, 4))]),
    "window-too-large": lambda: L.Conv2D(4, 9)(keras.Input((8, 8, 3))),
    "reshape-size": lambda: L.Reshape((5, 5))(keras.Input((8, 8, 3))),
    "reshape-size of a tensor": lambda: tf.reshape(X, (5, 5)),
    "code-raises": lambda: np.zeros(12).reshape(5, 5),
    "axis-unknown": lambda: TL.Dense(3)(TL.Flatten()(tf_keras.Input((None, None, 3)))),
    "op-shapes": lambda: tf.zeros((2, 3)) @ tf.zeros((4, 5)),
    "op-shapes, element by element": lambda: tf.zeros((2, 3)) + tf.zeros((2, 4)),
    "input-structure": lambda: keras.Model([a := keras.Input((4,)), b := keras.Input((4,))], L.Add()([a, b]))([X[:, 0, 0, :1]]),
    "data-misfit": lambda: fit(keras.Sequential([L.Flatten(), L.Dense(1)]), "mse", X, np.zeros(3)),
    "label-rank": lambda: fit(keras.Sequential([L.Dense(3)]), "categorical_crossentropy", X, np.eye(3)[[0, 1, 2, 0]]),
    "symbolic-tensor": lambda: tf.reduce_sum(keras.Input((4,))),
}


@pytest.mark.parametrize("name", GENUINE)
def test_what_a_framework_raises_is_known(name):
    text = raised(GENUINE[name])
    assert name.split(" ")[0].rstrip(",") in [meaning.rule for meaning in meanings(text)], text[-600:]


REPORTED = {
    "scope-outside": "AttributeError: 'ResourceVariable' object has no attribute '_packed_variable'",
    "no-tpu": "ValueError: Please provide a TPU Name to connect to.",
    "string-input": "InvalidArgumentError: Unsupported data type for TPU: string, caused by output Pad_1:0 [Op:__inference_train_function_1]",
    "shape-from-data": "Input 1 to node `Reshape` with op Reshape must be a compile-time constant.",
    "hbm-oom": "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM. Used 31.00G of 15.75G hbm.",
    "dynamic-unsupported": "UnimplementedError: Compilation failure: Dynamic Spatial Convolution is not supported",
    "tpu-kernel": "Detected unsupported operations when trying to compile graph cluster_train on XLA_TPU_JIT: AsString",
    "step-lambda": "ValueError: 'cluster_<lambda>/pivot' is not a valid root scope name.",
}


@pytest.mark.parametrize("rule", REPORTED)
def test_what_tpus_say_is_known(rule, capsys):
    assert main(["explain", REPORTED[rule]]) == 0
    assert f"Rule:  {rule} (" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("RESOURCE_EXHAUSTED: Attempting to reserve 6.48G at the bottom of memory. That was not possible.", "Rule:  hbm-oom ("),
        ("Squeeze op does not support bounded dynamic dimensions. Input shape: f32[<=8,1,16]", "Rule:  dynamic-unsupported ("),
        ("ValueError: Cannot create a tensor proto whose content is larger than 2GB.", "in a variable"),
        ("NotFoundError: '__inference__tpu_init_fn_4' is neither a type of a primitive operation nor a name", "Rule:  no-tpu ("),
        ("NotFoundError: could not find registered transfer manager for platform Host -- check target linkage", "Rule:  scope-unused ("),
    ],
)
def test_more_of_what_tpus_say_is_known(message, says, capsys):
    assert main(["explain", message]) == 0
    assert says in capsys.readouterr().out


def test_every_known_message_belongs_to_a_rule_and_fills_its_words():
    for known in KNOWN:
        assert known.rule in RULES or not known.rule
        names = dict.fromkeys(known.pattern.groupindex, "1")
        assert "{" not in known.means.format(**names)


def test_the_text_says_what_it_means_what_to_do_and_which_line_is_yours(capsys):
    text = 'Traceback (most recent call last):\n  File "/home/a/train.py", line 7, in <module>\n  File "/venv/site-packages/keras/x.py", line 3, in y\n'
    assert main(["explain", text + "ValueError: Input 0 of layer lstm: expected ndim=3, found ndim=4."]) == 0
    out = capsys.readouterr().out
    assert re.search(r"Means: .*\b3\b.*\b4\b", out)
    assert "Rule:  layer-rank (" in out and "tpushape rules layer-rank" in out
    assert ": /home/a/train.py, line 7" in out


def test_what_no_rule_knows_is_said_so(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("ModuleNotFoundError: No module named 'foo'"))
    assert main(["explain", "-"]) == 1
    assert "Rule:" not in capsys.readouterr().out


def test_nothing_is_a_usage_error(capsys):
    assert main(["explain", "  "]) == 2
    assert "tpushape explain" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_options_and_targets(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("check", "explain", "input-spec", "v5e-8", "missing-flatten", "sarif"):
        assert word in script
    if shell == "bash":
        ask = f"{script}\nCOMP_WORDS=(tpushape check --tpu v5p-8); COMP_CWORD=3; _tpushape; echo ${{COMPREPLY[@]}}"
        assert subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True).stdout.strip() == "v5p-8"
