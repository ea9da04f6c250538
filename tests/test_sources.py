"""What fit takes, as a sample sees it: arrays, specs, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from jupyter_tpushape.flow import Spec
from jupyter_tpushape.sources import BadData, LeafSpec, sample

BOTH = pytest.mark.parametrize("framework", ["keras", "tf_keras"])


class Pair(NamedTuple):
    a: object
    b: object


def ones(*shape, dtype="float32"):
    return np.ones(shape, dtype)


def fed_spec(framework, x, y, batch_size=None):
    """The element spec of the tf.data pipeline that the framework's own adapter makes."""
    if framework == "keras":
        from keras.src.trainers.data_adapters import get_data_adapter

        return get_data_adapter(x, y, batch_size=batch_size).get_tf_dataset().element_spec
    from tf_keras.src.engine.data_adapter import select_data_adapter

    return select_data_adapter(x, y)(x, y, batch_size=batch_size).get_dataset().element_spec


@BOTH
@pytest.mark.parametrize(("rows", "batch"), [(64, None), (100, None), (10, None), (24, 8), (25, 8)])
def test_arrays_have_the_spec_that_fit_itself_makes_of_them(framework, rows, batch):
    x, y = ones(rows, 5, dtype="float64"), np.arange(rows)
    seen = sample((x, y), framework=framework, batch_size=batch)
    for leaf, spec in zip((seen.x, seen.y), fed_spec(framework, x, y, batch), strict=True):
        assert leaf.shape == tuple(spec.shape)
        assert leaf.dtype == spec.dtype.name
        assert leaf.concrete == (min(batch or 32, rows), *leaf.shape[1:])


@BOTH
def test_a_float64_tensor_keeps_its_dtype_only_under_tf_keras(framework):
    x, y = tf.ones((64, 3), tf.float64), np.zeros(64)
    seen = sample((x, y), framework=framework)
    assert seen.x.dtype == fed_spec(framework, x, y)[0].dtype.name == {"keras": "float32", "tf_keras": "float64"}[framework]


@BOTH
def test_batches_rows_and_the_partial_last_one_are_counted(framework):
    seen = sample((ones(100, 4), np.arange(100) % 3), framework=framework)
    assert (seen.kind, seen.batch, seen.rows, seen.cardinality, seen.batch_sizes) == ("arrays", 32, 100, 4, (32, 4))
    assert [len(batch[0]) for batch in seen.sampled] == [32, 32, 4]
    assert [str(stage) for stage in seen.stages] == ["arrays (rows 100)", "batch (batch_size 32, default True)"]


@BOTH
def test_structures_keep_the_users_nesting(framework):
    x = {"image": ones(8, 4, 4, 3), "rest": [ones(8, 2), Pair(ones(8), ones(8, 1, dtype="int64"))]}
    seen = sample((x, [ones(8, 1), ones(8, 2)], ones(8)), framework=framework, batch_size=4)
    assert isinstance(seen.x["rest"][1], Pair)
    assert [(path, leaf.shape) for path, leaf in seen.leaves() if path[0] != "weight"] == [
        (("x", "image"), (4, 4, 4, 3)), (("x", "rest", 0), (4, 2)), (("x", "rest", 1, 0), (4,)), (("x", "rest", 1, 1), (4, 1)),
        (("y", 0), (4, 1)), (("y", 1), (4, 2)),
    ]  # fmt: skip


def test_no_labels_means_no_label_leaf():
    for data in (ones(8, 3), (ones(8, 3),), (ones(8, 3), None)):
        seen = sample(data, framework="keras")
        assert seen.y is None
        assert seen.x.concrete == (8, 3)
        assert not seen.problems


def test_text_is_a_string_and_big_arrays_are_not_copied():
    seen = sample((np.array([["a"], ["b"]], dtype=object), np.array(["x", "yy"], dtype=object)), framework="keras", batch_size=2)
    assert (seen.x.dtype, seen.y.dtype, seen.problems) == ("string", "string", [])
    big = np.broadcast_to(np.float32(0), (1_000_000, 1_000_000))
    assert sum(leaf.nbytes for batch in sample(big, framework="keras").sampled for leaf in batch[:1]) < 13 << 20


@BOTH
def test_unequal_row_counts_are_a_problem_and_do_not_raise(framework):
    (problem,) = sample((ones(10, 2), ones(8)), framework=framework).problems
    assert problem.code == "cardinality"
    assert (problem.expected, problem.found) == ("10 rows everywhere", "x: 10, y: 8")
    with pytest.raises(ValueError, match="Data cardinality is ambiguous"):
        fed_spec(framework, ones(10, 2), ones(8))


def test_lists_of_numbers_are_an_array_to_tf_keras_and_nothing_to_keras_3():
    data = ([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    legacy = sample(data, framework="tf_keras", batch_size=2)
    assert (legacy.x.shape, legacy.x.dtype, legacy.problems) == ((2, 2), "float32", [])
    assert fed_spec("tf_keras", *data, batch_size=2)[0].shape == (2, 2)
    problems = sample(data, framework="keras").problems
    assert [p.code for p in problems] == ["plain-lists", "plain-lists"]
    assert "np.asarray(x)" in problems[0].text
    with pytest.raises(ValueError, match="Unrecognized data type"):
        fed_spec("keras", *data)
    mixed = sample((data[0], np.array([0, 1])), framework="tf_keras").problems
    assert (mixed[0].expected, mixed[0].found) == ("two arrays", "a list and an array")
    with pytest.raises(ValueError, match="Failed to find data adapter"):
        fed_spec("tf_keras", data[0], np.array([0, 1]))


def test_single_values_and_rows_of_unequal_length_are_problems():
    assert [p.code for p in sample(np.float32(3), framework="keras").problems] == ["scalar-data"]
    ragged = np.array([np.ones(2), np.ones(3)], dtype=object)
    assert [p.code for p in sample(ragged, framework="keras").problems] == ["object-array"]


def test_ragged_and_sparse_arrays_say_so():
    ragged = sample(tf.ragged.constant([[1, 2], [3]]), framework="keras", batch_size=2)
    assert (ragged.x.kind, ragged.x.shape) == ("ragged", (2, None))
    sparse = sample(tf.sparse.from_dense([[1.0, 0.0], [0.0, 1.0]]), framework="tf_keras", batch_size=2)
    assert (sparse.x.kind, sparse.x.shape) == ("sparse", (2, 2))


def test_label_statistics_tell_ranges_one_hot_rows_and_ids():
    ids, y = np.arange(40).reshape(20, 2), np.eye(4, dtype="float32")[np.arange(20) % 4]
    seen = sample(({"ids": ids, "dense": ones(20, 2)}, y), framework="keras")
    assert (seen.stats["x", "ids"].minimum, seen.stats["x", "ids"].maximum) == (0, 39)
    assert ("x", "dense") not in seen.stats
    labels = seen.label_stats["y",]
    assert (labels.one_hot, labels.binary, labels.whole, labels.integer) == (True, True, True, False)
    plain = sample((ones(20, 2), np.arange(20) % 5), framework="keras").label_stats["y",]
    assert (plain.integer, plain.minimum, plain.maximum, plain.distinct, plain.one_hot) == (True, 0, 4, 5, False)
    assert not sample((ones(2, 2), np.array([np.nan, 1.0])), framework="keras").label_stats["y",].finite


@pytest.mark.parametrize(
    "spec",
    [
        tf.TensorSpec((16, 10), tf.float32),
        keras.KerasTensor((16, 10)),
        Spec((16, 10), "float32"),
        LeafSpec((16, 10), "float32"),
        keras.layers.InputSpec(shape=(16, 10), dtype="float32"),
        tf_keras.layers.InputSpec(shape=(16, 10), dtype="float32"),
    ],
)
def test_specs_stand_in_for_data(spec):
    seen = sample((spec, None), framework="keras")
    assert (seen.kind, seen.x.shape, seen.x.dtype, seen.batch, seen.batch_sizes, seen.sampled) == ("specs", (16, 10), "float32", 16, (16,), [])


def test_many_specs_are_many_inputs_where_the_model_has_as_many():
    specs = tuple(tf.TensorSpec((8, n)) for n in (1, 2, 3, 4))
    assert [leaf.shape for _, leaf in sample(specs, framework="keras", x_structure=[1, 2, 3, 4]).leaves()] == [(8, 1), (8, 2), (8, 3), (8, 4)]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, ": pass arrays, (x, y)"),
        (object(), " object, "),
        (lambda: 3, "function <lambda>: call it"),
        ((ones(2), ones(2), ones(2), ones(2)), "tuple of 4 parts"),
        ((tf.data.Dataset.range(3), ones(3)), "x is a tf.data.Dataset"),
    ],
)
def test_data_that_fit_does_not_take_raises_one_sentence(data, says):
    with pytest.raises(BadData) as caught:
        sample(data, framework="keras")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_batch_of_no_rows_is_refused():
    with pytest.raises(BadData, match=r"batch_size is 0.*batch_size=32"):
        sample(ones(3), framework="keras", batch_size=0)


def test_looking_at_arrays_imports_no_framework():
    code = (
        "import sys, numpy as np; from jupyter_tpushape.sources import sample\n"
        "assert sample((np.ones((9, 2)), np.ones(9)), framework='keras').x.dtype == 'float32'\n"
        "print(sorted({'tensorflow', 'keras', 'tf_keras', 'jax', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
