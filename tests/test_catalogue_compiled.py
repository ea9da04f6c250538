"""Facts of docs/catalogue.md that the TPU compiler itself answers, compile-only and with no TPU; each under its number."""

from __future__ import annotations

import re

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from jupyter_tpushape.compilers import bridge, hlo, process
from jupyter_tpushape.compilers.lowering import lower
from jupyter_tpushape.examine import Program, examine
from jupyter_tpushape.replicas import target

pytestmark = pytest.mark.skipif(bool(bridge.check()), reason=bridge.check() or "installed")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_CACHE", str(tmp_path_factory.getbasetemp() / "facts"))


def asked(function, *specs, effort="quick"):
    """libtpu's answer for v5e on what XLA makes of ``function``; ``S(...)`` are its arguments."""
    program = tf.function(function, jit_compile=True, input_signature=specs).experimental_get_compiler_ir(*specs)(stage="hlo_serialized")
    return process.ask(program, hlo.of_proto(program).key, "v5e:2x4", process.Limits(120, 2**34, effort))


S = tf.TensorSpec


def layouts(answer):
    """Arguments and outputs with their tiles, as the compiled program's entry writes them."""
    return re.findall(r"\w+\[[\d,<=]*\]\{[^}]*\}", answer["layout"])


def dense(units):
    return S((8, units)), S((units, units)), S((units,))


def three(*given):
    return [given[at] @ given[at + 1] + given[at + 2] for at in (0, 3, 6)]


def test_d1_d2_the_compiler_takes_both_and_float64_costs_twice():
    """D1 is TensorFlow's own list: the compiler below it takes complex128."""
    answer = asked(lambda a, b, c: (a + 1, b + 1, c + 1), S((8, 128)), S((8, 128), tf.float64), S((8, 128), tf.complex128))
    assert answer["ok"], answer["message"]
    assert answer["arguments"] == 4096 + 8192 + 16384


def test_d3_a_product_of_int64_is_not_implemented_and_other_arithmetic_is():
    refused = asked(lambda x: tf.matmul(x, x), S((8, 8), tf.int64))
    assert not refused["ok"]
    assert "While rewriting computation to not contain X{64|128} element types" in refused["message"]
    assert asked(lambda x: (x + x, tf.cumsum(x), x // 3, tf.argmax(x)), S((8, 8), tf.int64))["ok"]


def test_o5_t3_t5_results_of_unknown_size_get_room_for_the_largest():
    masked = asked(lambda x: tf.boolean_mask(x, x[:, 0] > 0), S((8, 100)), effort="full")
    whole = asked(lambda x: tf.where(x > 0, x, 0.0), S((8, 100)), effort="full")
    assert layouts(masked)[-1].startswith("f32[<=8,100]")
    assert (masked["temporaries"], whole["temporaries"]) == (65_536, 0)
    others = asked(lambda x: (tf.where(x > 0), tf.unique(x[:, 0])[0], *tf.dynamic_partition(x, tf.cast(x[:, 0] > 0, tf.int32), 2)), S((8, 100)))
    assert others["ok"], others["message"]
    assert layouts(others)[1].startswith("s64[<=800,2]{0,1"), "T3: it lays the columns side by side, of its own choice"


def test_o6_a_masked_result_is_added_to_a_whole_one_without_an_error():
    answer = asked(lambda x: x + tf.boolean_mask(x, x[:, 0] > 0), S((8, 100)))
    assert answer["ok"], answer["message"]
    x = tf.constant(np.arange(800.0).reshape(8, 100) - 1.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
        tf.add(x, tf.boolean_mask(x, x[:, 0] > 0))


def test_t1_tiles_are_8_by_128_and_taller_for_narrower_types():
    answer = asked(
        lambda a, b, c, d, e, f: (a + 1, b + 1, c + 1, d + 1, e + 1, f + 1),
        S((16, 256)), S((16, 256), tf.bfloat16), S((32, 256), tf.int8), S((129,)), S((1, 128)), S((7, 128)),
    )  # fmt: skip
    tiles = ["T(8,128)", "T(8,128)(2,1)", "T(32,128)(4,1)", "T(256)", "T(1,128)", "T(8,128)"]
    assert [text.split(":")[1].rstrip("}") for text in layouts(answer)[:6]] == tiles
    assert answer["arguments"] == 16_384 + 8192 + 8192 + 1024 + 512 + 4096, "seven rows take the room of eight"


def test_t2_one_unit_above_128_takes_twice_the_room():
    answer = asked(three, *dense(128), *dense(100), *dense(129))
    assert answer["arguments"] == 70_144 + 57_856 + 148_480
    assert 4 * sum(units * (8 + units + 1) for units in (128, 100, 129)) == 70_144 + 43_600 + 71_208, "as counted by shape"


def test_t4_what_does_not_fit_is_refused_with_both_numbers():
    answer = asked(lambda x: tf.matmul(x, x), S((80_000, 80_000)))
    assert not answer["ok"]
    assert re.search(r"RESOURCE_EXHAUSTED: .*HBM.*\d+\.\d+G", answer["message"], re.DOTALL), answer["message"]


@pytest.mark.parametrize("framework", [keras, tf_keras], ids=["keras", "tf_keras"])
def test_o12_layers_that_come_with_keras_compile(framework):
    layers = framework.layers
    tokens = framework.Input((8,), dtype="int32")
    x = layers.Embedding(20, 8, mask_zero=True)(tokens)
    x = layers.LSTM(8, return_sequences=True)(x) if framework is keras else layers.GRU(8, return_sequences=True)(x)
    x = layers.MultiHeadAttention(2, 4)(x, x) if framework is tf_keras else layers.Conv1D(8, 3, groups=2)(layers.Dropout(0.1)(x))
    model = framework.Model(tokens, layers.Dense(4)(layers.GlobalAveragePooling1D()(layers.BatchNormalization()(x))))
    model.compile("sgd", framework.losses.SparseCategoricalCrossentropy(from_logits=True))
    seen = examine(Program(model, (S((64, 8), tf.int32), S((64,), tf.int32)), target=target("v5e-8")))
    program = lower(seen, only="train")[0]
    form = process.Form(replicas=program.replicas)
    answer = process.ask(program.hlo, program.read.key, "v5e:2x4", process.limits(), form=form)
    assert answer["ok"], answer["message"]
