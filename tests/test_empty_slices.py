"""Slices that take nothing: reported where both ends are written and the axis has ended, and nowhere else."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tf_keras
from hypothesis import given, settings
from hypothesis import strategies as st

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
HEAD = "import numpy as np\nimport tensorflow as tf\nimport {lib} as keras\nfrom {lib} import layers as L\n"
PARTS = """
class Parts(L.Layer):
    def call(self, x):
        {lines}

def build():
    model = keras.Sequential([keras.Input((6, 4)), L.Dense(4), Parts(), L.Dense(1)])
    model.compile("sgd", "mse")
    return model

def data():
    return np.zeros((8, 6, 4), "float32"), np.zeros((8, 1), "float32")
"""
# None of these takes a part that is missing.
MEANT = {
    "the last prefix and suffix of a loop are empty": (
        "total = 0.0",
        "for t in range(x.shape[1]):",
        "    total = total + tf.reduce_sum(tf.concat([x[:, :t], x[:, t + 1:t + 2]], axis=1), axis=1)",
        "return total",
    ),
    "an open end": ("return tf.reduce_sum(x[:, 0:3], axis=1) + tf.reduce_sum(x[:, 6:], axis=1)",),
    "a part that is shorter than written": ("return tf.reduce_sum(x[:, 4:8], axis=1)",),
    "from the end": ("return tf.reduce_sum(x[:, -3:6], axis=1)",),
}


def findings(tmp_path, lib, lines, name="parts"):
    path = tmp_path / f"{name}.py"
    path.write_text(HEAD.format(lib=lib.__name__) + PARTS.replace("{lines}", "\n        ".join(lines)))
    space: dict[str, object] = {"__name__": "program", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return [one for one in tpushape.trace(space["build"], space["data"], tpu=None, fixes=False).findings if one.rule == "empty-slice"]


@BOTH
@pytest.mark.parametrize("name", MEANT)
def test_slices_that_are_meant_are_not_reported(name, lib, tmp_path):
    assert not findings(tmp_path, lib, MEANT[name], "meant_" + "_".join(name.split()) + lib.__name__)


@BOTH
def test_the_first_empty_slice_of_a_tensor_is_reported_with_what_set_its_size(lib, tmp_path):
    lines = ("a, b, c = x[:, 0:3], x[:, 6:9], x[:, 9:12]", "return tf.reduce_sum(a, 1) + tf.reduce_sum(b, 1) + tf.reduce_sum(c, 1)")
    (finding,) = findings(tmp_path, lib, lines, f"several_{lib.__name__}")
    fact = finding.fact.slice
    assert (fact.text, fact.axis, fact.size, fact.stop) == ("6:9", 1, 6, 12)
    assert finding.location.line == 8


@settings(max_examples=40, deadline=None)
@given(start=st.integers(0, 9), width=st.integers(1, 4), axis=st.integers(1, 2), dots=st.booleans())
def test_a_slice_is_reported_exactly_where_numpy_takes_nothing(start, width, axis, dots, tmp_path_factory):
    sizes = (6, 4)
    part = f"{start}:{start + width}"
    index = {(1, False): f":, {part}", (1, True): f"..., {part}, :", (2, False): f":, :, {part}", (2, True): f"..., {part}"}[axis, dots]
    found = findings(tmp_path_factory.mktemp("law"), keras, (f"return tf.reduce_sum(x[{index}], axis=(1, 2))[:, None]",), f"law_{start}_{width}_{axis}_{dots}")
    taken = np.zeros((8, *sizes))[(slice(None),) * axis + (slice(start, start + width),)]
    assert bool(found) == (taken.size == 0)
