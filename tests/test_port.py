"""From TPUStrategy to Keras 3 on JAX: the text, what is left to do by hand, and both programs compared."""

from __future__ import annotations

import ast
import sys
import textwrap
from pathlib import Path

import jax_beside
import pytest

from jupyter_tpushape import cli
from jupyter_tpushape.port import Rewriter, port
from jupyter_tpushape.port.prove import prove

PROGRAMS = {path.stem: path for path in sorted(Path(__file__).with_name("port_programs").glob("*.py"))}
BY_HAND = {
    "custom_loop": {"tf.function", "tf.GradientTape", "strategy.run", "strategy.reduce", "strategy.experimental_distribute_dataset"},
    "hub_encoder": {"TensorFlow Hub"},
    "odd_operations": {"tf.split", "tf.pad", "tf.Variable", "tf.linalg.band_part"},
    "text_in_model": {"text"},
    "train_step": {"tf.GradientTape"},
    "vae_sampling": {"tf.random.normal"},
}
SET_UP = """
import numpy as np
import tensorflow as tf
resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
strategy = tf.distribute.TPUStrategy(resolver)
"""


def ported(text):
    rewriter = Rewriter(textwrap.dedent(text))
    return rewriter.run(), rewriter.left


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_ported_with_no_hand_edit_or_its_lines_are_named(name):
    made = port(PROGRAMS[name], proof=False)
    said = [one.what for one in made.left]
    assert made.whole is (name not in BY_HAND), said
    for word in BY_HAND.get(name, ()):
        assert any(word in one for one in said), said
    lines = PROGRAMS[name].read_text(encoding="utf-8").splitlines()
    assert all(0 < one.line <= len(lines) and one.todo.endswith(".") for one in made.left)
    tree = ast.parse(made.text)
    if made.whole:
        code = ast.unparse(tree.body[1:])
        assert not any(word in code for word in ("TPUStrategy", "TPUClusterResolver", "tf.keras", "tf_keras", "tensorflow.keras"))
        # The backend is chosen before Keras is imported.
        first = next(node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)) and "keras" in ast.unparse(node))
        assert made.text.index('"KERAS_BACKEND"') < sum(len(line) + 1 for line in made.text.split("\n")[: first.lineno - 1])
        assert "keras.distribution.set_distribution(" in made.text


def test_the_set_up_becomes_a_distribution_whatever_stands_around_it():
    for text in (
        "strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())\n",
        """
        try:
            tpu = tf.distribute.cluster_resolver.TPUClusterResolver()
            print("On", tpu.master())
        except ValueError:
            tpu = None
        if tpu:
            tf.config.experimental_connect_to_cluster(tpu)
            tf.tpu.experimental.initialize_tpu_system(tpu)
            strategy = tf.distribute.TPUStrategy(tpu)
        else:
            strategy = tf.distribute.get_strategy()
        """,
    ):
        new, left = ported("import tensorflow as tf\n" + textwrap.dedent(text) + "print(strategy.num_replicas_in_sync)\n")
        assert left == []
        assert "strategy = keras.distribution.DataParallel()\nkeras.distribution.set_distribution(strategy)\n" in new
        assert "print(len(keras.distribution.list_devices()))" in new
        assert "tf" not in new and "tpu" not in new


def test_operations_become_those_of_keras_where_their_arguments_mean_the_same():
    body = """
    class Own(tf.keras.layers.Layer):
        def call(self, x, y):
            a = tf.reduce_mean(input_tensor=x, axis=1, keepdims=True)
            b = tf.transpose(y, perm=[0, 2, 1])
            c = tf.nn.gelu(a)
            return tf.clip_by_value(tf.matmul(c, b), 0.0, 1.0), tf.argmax(x, axis=-1)
    """
    new, left = ported(SET_UP + textwrap.dedent(body))
    assert left == []
    for line in (
        "keras.ops.mean(x=x, axis=1, keepdims=True)",
        "keras.ops.transpose(y, axes=[0, 2, 1])",
        "keras.ops.gelu(a, approximate=False)",
        "keras.ops.clip(keras.ops.matmul(c, b), 0.0, 1.0), keras.ops.argmax(x, axis=-1)",
    ):
        assert line in new
    # Left out, the axis means another one.
    _, left = ported(SET_UP + "class Own(tf.keras.layers.Layer):\n    def call(self, x):\n        return tf.argmax(x) + tf.matmul(x, x, transpose_b=True)\n")
    assert [one.what for one in left] == ["tf.argmax runs on the device", "tf.matmul runs on the device"]


def test_the_pipeline_stays_as_it_is():
    body = """
    def scale(image, label):
        return tf.cast(tf.image.resize(image, (8, 8)), tf.float32) / 255.0, tf.one_hot(label, 3)
    data = tf.data.Dataset.from_tensor_slices((np.zeros((4, 9, 9, 3)), [0, 1, 2, 0])).map(scale).batch(2)
    """
    new, left = ported(SET_UP + textwrap.dedent(body))
    assert left == [] and textwrap.dedent(body).strip() in new


def test_what_keras_3_has_elsewhere_or_not_at_all():
    body = """
    from tensorflow.keras.layers.experimental.preprocessing import Rescaling
    model = tf.keras.Sequential([Rescaling(2.0), tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.legacy.Adam(lr=0.1), "mse", ["mae"], experimental_steps_per_execution=4)
    model.fit(x, y, workers=2, batch_size=8)
    model.save("model", save_format="tf")
    tf.keras.backend.set_session(None)
    """
    new, left = ported(SET_UP + textwrap.dedent(body))
    for line in (
        "from keras.layers import Rescaling",
        'compile(keras.optimizers.Adam(learning_rate=0.1), "mse", metrics=["mae"], steps_per_execution=4)',
        "model.fit(x, y, batch_size=8)",
        'model.save("model.keras")',
    ):
        assert line in new, new
    assert [one.what for one in left] == ["Keras 3 has no keras.backend.set_session"]


def test_a_program_without_a_strategy_is_one_line(tmp_path, capsys):
    path = tmp_path / "train.py"
    path.write_text("import keras\n", encoding="utf-8")
    assert cli.main(["port", str(path)]) == 2
    path.write_text("import keras as\n", encoding="utf-8")
    assert cli.main(["port", str(path)]) == 2
    assert cli.main(["port", str(tmp_path / "other.py")]) == 2
    said = [line.partition(": ")[2] for line in capsys.readouterr().err.splitlines()]
    assert [str(path) in line for line in said] == [True, True, False]
    assert "strategy" in said[0] and "syntax" in said[1] and str(tmp_path / "other.py") in said[2]


def test_a_terminal_gets_the_diff_and_what_is_left(tmp_path, capsys):
    assert cli.main(["port", str(PROGRAMS["digits_resolver"]), "--no-proof"]) == 0
    out = capsys.readouterr().out
    assert "+strategy = keras.distribution.DataParallel()" in out and "-import tensorflow as tf" in out
    assert cli.main(["port", str(PROGRAMS["hub_encoder"]), "--output", str(tmp_path / "new.py")]) == 1
    told = capsys.readouterr()
    assert "hub_encoder.py, line " in told.err and "Not proved" in told.err
    assert "keras.distribution.DataParallel()" in (tmp_path / "new.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("output", ["-", "/dev/stdout"])
def test_the_new_program_goes_to_stdout_byte_for_byte(output, tmp_path, capfdbinary):
    path = tmp_path / "train.py"
    data = PROGRAMS["digits_resolver"].read_bytes().replace(b"\n", b"\r\n") + b"# \x1b[2J caf\xc3\xa9\r\n"
    path.write_bytes(data)
    assert cli.main(["port", str(path), "--no-proof", "--output", output]) == 0
    out = capfdbinary.readouterr().out
    assert out.endswith(b"# \x1b[2J caf\xc3\xa9\r\n") and b"DataParallel()\r\n" in out
    assert list(tmp_path.iterdir()) == [path] and path.read_bytes() == data and not Path("-").exists()


def test_a_terminal_does_not_obey_the_program(tmp_path, capsys, monkeypatch):
    path = tmp_path / "train.py"
    path.write_bytes(PROGRAMS["digits_resolver"].read_bytes().replace(b"import tensorflow", b"# \x1b]0;owned\x07\nimport tensorflow", 1))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for more in ([], ["--output", "-"]):
        assert cli.main(["port", str(path), "--no-proof", *more]) == 0
        out = capsys.readouterr().out
        assert "owned" in out and "\x1b" not in out and "\x07" not in out


def test_the_new_program_does_not_overwrite_the_old_one(tmp_path, capsys):
    path = tmp_path / "train.py"
    path.write_bytes(PROGRAMS["digits_resolver"].read_bytes())
    (tmp_path / "link.py").symlink_to(path)
    for output in ("train.py", "link.py"):
        assert cli.main(["port", str(path), "--no-proof", "--output", str(tmp_path / output)]) == 2
        assert "overwrite" in capsys.readouterr().err
    assert path.read_bytes() == PROGRAMS["digits_resolver"].read_bytes()


def test_without_jax_the_port_is_written_and_said_not_to_be_proved():
    made = prove(PROGRAMS["digits_resolver"], "", "")
    assert made.holds is None and "jax" in made.said and "--python" in made.said


@pytest.mark.skipif(not jax_beside.python(), reason="JAX is not installed")
@pytest.mark.parametrize("name", ["digits_resolver", "pooled_tokens"])
def test_both_programs_are_run_and_compared(name):
    made = port(PROGRAMS[name], python=jax_beside.python())
    assert made.proof.holds, made.proof.said
    assert made.proof.layers >= 4 and made.proof.apart < 1e-4


@pytest.mark.skipif(not jax_beside.python(), reason="JAX is not installed")
def test_a_port_that_computes_something_else_is_told():
    text = port(PROGRAMS["digits_resolver"], proof=False).text
    seen = prove(PROGRAMS["digits_resolver"], text.replace('activation="relu"', 'activation="tanh"'), jax_beside.python())
    assert seen.holds is False and seen.apart > 1e-4
