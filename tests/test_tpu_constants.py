"""The table of operands that XLA must know when it compiles, and what reads it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tensorflow as tf

from jupyter_tpushape.graph import program

TABLE = json.loads((Path(program.__file__).parent / "tpu_constants.json").read_text(encoding="utf-8"))


def test_the_table_holds_what_users_have_met():
    expected = {
        "Reshape": (1,), "Range": (0, 1, 2), "Fill": (0,), "OneHot": (1,), "Tile": (1,), "ConcatV2": (-1,), "Sum": (1,), "Pad": (1,), "Cumsum": (1,),
        "DenseBincount": (1,), "RandomUniform": (0,), "ResizeBilinear": (1,), "GatherV2": (2,), "Conv2DBackpropInput": (0,),
    }  # fmt: skip
    assert {kind: program.constants()[kind] for kind in expected} == expected
    # What MixUp draws has no kernel at all, which the other table says.
    layers = json.loads((Path(program.__file__).parent / "tpu_layers.json").read_text(encoding="utf-8"))
    assert "StatelessRandomGammaV3" in layers["keras"]["refused"]["MixUp"]
    assert "DenseBincount" in layers["tf_keras"]["refused"]["CategoryEncoding"]
    assert not set(program.BESIDE) & set(TABLE["constants"])


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (lambda x: tf.roll(x, tf.cast(tf.reduce_sum(x), tf.int32), tf.cast(x[0, 0], tf.int32)), "Roll"),
        (lambda x: tf.scatter_nd([[0]], x[:1, 0], [tf.cast(x[0, 0], tf.int32)]), "ScatterNd"),
        (lambda x: tf.raw_ops.DenseBincount(input=tf.cast(x[:, 0], tf.int32), size=tf.cast(x[0, 0], tf.int32), weights=[1.0] * 4), "DenseBincount"),
    ],
)
def test_rules_read_the_table_and_xla_says_the_same(step, kind):
    function = tf.function(step, jit_compile=True, autograph=False)
    graph = function.get_concrete_function(tf.TensorSpec((4, 3))).graph
    assert kind in [use.op for use in program.uses_of(graph) if use.what == "constant"]
    with pytest.raises(Exception, match="must be a compile-time constant"):
        function.experimental_get_compiler_ir(tf.TensorSpec((4, 3)))(stage="hlo")


def test_static_shapes_are_no_constants_that_are_missing():
    def step(x):
        return (tf.roll(x, 1, -1), tf.scatter_nd([[0]], x[:1, 0], tf.shape(x)[:1]), tf.math.unsorted_segment_sum(x, tf.zeros((4,), tf.int32), tf.shape(x)[0]))

    graph = tf.function(step, autograph=False).get_concrete_function(tf.TensorSpec((4, 3))).graph
    assert [use for use in program.uses_of(graph) if use.what == "constant"] == []
