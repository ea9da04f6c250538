"""Datasets, generators and PyDatasets: what is seen, and that they are left as they were."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from jupyter_tpushape.sources import sample


def pairs(n=40, features=3):
    return tf.data.Dataset.from_tensor_slices((np.arange(n * features, dtype="float32").reshape(n, features), np.arange(n)))


def test_a_dataset_shows_its_static_and_its_sampled_shapes():
    seen = sample(pairs().batch(16), framework="keras")
    assert (seen.x.shape, seen.x.concrete, seen.y.shape, seen.y.dtype) == ((None, 3), (16, 3), (None,), "int64")
    assert (seen.batch, seen.cardinality, seen.batch_sizes, seen.dynamic) == (16, 3, (16, 8), True)
    fixed = sample(pairs().batch(16, drop_remainder=True), framework="keras")
    assert (fixed.x.shape, fixed.batch_sizes, fixed.dynamic) == ((16, 3), (16,), False)


def double(x, y):
    return x * 2 + tf.random.uniform(()), y


def test_the_pipeline_is_read_stage_by_stage():
    ds = pairs().map(double, num_parallel_calls=4).cache().shuffle(10).batch(8, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    seen = sample(ds, framework="keras")
    assert [stage.op for stage in seen.stages] == ["tensor_slices", "map", "cache", "shuffle", "batch", "prefetch"]
    mapped, batch = seen.stages[1], seen.stages[4]
    assert (mapped.function, mapped.detail["parallel"], mapped.detail["random"], mapped.detail["python"]) == ("double", 4, True, False)
    assert (mapped.location.file, mapped.location.line) == (__file__, double.__code__.co_firstlineno)
    assert (batch.detail, batch.inputs) == ({"batch_size": 8, "drop_remainder": True}, ("shuffle",))
    assert [leaf.shape for leaf in batch.spec] == [(8, 3), (8,)]


def test_branches_meet_where_they_are_zipped():
    zipped = tf.data.Dataset.zip((pairs().map(lambda x, y: x), pairs().map(lambda x, y: y))).concatenate(pairs()).repeat().batch(4)
    seen = sample(zipped, framework="keras")
    inputs = {stage.name: stage.inputs for stage in seen.stages}
    assert inputs["zip"] == ("map", "map_2")
    assert inputs["concatenate"] == ("zip", "tensor_slices_3")
    assert (seen.stages[-2].op, seen.cardinality) == ("repeat", -1)


def test_options_padded_shapes_and_interleave_are_named():
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    ds = tf.data.Dataset.range(4).interleave(lambda n: tf.data.Dataset.range(n + 1).batch(8), cycle_length=2).padded_batch(2, padded_shapes=[None])
    seen = sample(ds.with_options(options), framework="keras")
    ops = {stage.op: stage.detail for stage in seen.stages}
    assert ops["options"]["auto_shard_policy"] == "DATA"
    assert ops["padded_batch"]["padded_shapes"] == "(?,)"
    assert ops["interleave"]["cycle_length"] == 2
    assert seen.x.shape == (None, None)


def test_a_generator_function_behind_from_generator_is_named():
    def rows():
        for n in (4, 8):
            yield np.ones((n, 2), "float32")

    seen = sample(tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((None, 2))), framework="keras")
    assert [(stage.op, stage.function) for stage in seen.stages] == [("generator", "rows")]
    assert (seen.x.shape, seen.batch_sizes) == ((None, 2), (4, 8))


def everything(ds):
    return [[part.numpy().tolist() for part in batch] for batch in ds]


@pytest.mark.parametrize(
    "above",
    [
        lambda ds: ds.batch(4),
        lambda ds: ds.padded_batch(4),
        lambda ds: ds.map(lambda x, y: (x + 1, y)).batch(4),
        lambda ds: ds.repeat(2).batch(4),
        lambda ds: ds.filter(lambda x, y: y > 3).batch(4, num_parallel_calls=2),
        lambda ds: ds.take(9).skip(1).batch(4),
        lambda ds: ds.batch(8).unbatch().shard(2, 1).batch(3),
        lambda ds: ds.batch(8).rebatch(3),
        lambda ds: ds.concatenate(ds).batch(4),
        lambda ds: tf.data.Dataset.zip((ds, ds)).map(lambda a, b: a).batch(4),
        lambda ds: ds.take_while(lambda x, y: y >= 0).batch(4),
        lambda ds: ds.flat_map(lambda x, y: tf.data.Dataset.from_tensors((x, y))).batch(4),
        lambda ds: ds.interleave(lambda x, y: tf.data.Dataset.from_tensors((x, y)), num_parallel_calls=2).batch(4),
    ],
)
def test_the_order_of_a_shuffle_is_as_if_nobody_had_looked(above):
    def make():
        return above(pairs(16).shuffle(16, seed=7)).prefetch(1)

    tf.random.set_seed(1)
    untouched = make()
    expected = [everything(untouched), everything(untouched)]
    tf.random.set_seed(1)
    looked_at = make()
    seen = sample(looked_at, framework="keras")
    assert seen.sampled
    assert not seen.problems
    assert "unshuffled" in dict(seen.notes)
    assert [everything(looked_at), everything(looked_at)] == expected


def test_a_stage_that_cannot_be_made_again_over_a_shuffle_is_left_alone():
    tf.random.set_seed(1)
    ds = pairs(16).shuffle(16, seed=7).window(4).flat_map(lambda x, y: tf.data.Dataset.zip((x, y)).batch(4, drop_remainder=True))
    seen = sample(ds, framework="keras")
    assert seen.sampled == []
    assert seen.x.shape == (4, 3)
    said = dict(seen.notes)["not-sampled"]
    assert "(stage window)" in said and "element_spec" in said


def test_a_cache_is_neither_filled_nor_locked(tmp_path):
    calls = []

    def noted(x, y):
        tf.py_function(lambda value: calls.append(int(value)), [y], [])
        return x, y

    ds = pairs(12).map(noted).cache(str(tmp_path / "cached")).batch(4)
    sample(ds, framework="keras")
    assert list(tmp_path.iterdir()) == []
    calls.clear()
    assert len(everything(ds)) == 3
    assert sorted(calls) == list(range(12))


def test_seeds_of_python_numpy_tensorflow_and_layers_are_left_alone():
    bright = keras.layers.RandomBrightness(0.5, seed=3)

    def rows():
        for _ in range(4):
            yield np.random.rand(2, 3).astype("float32") + random.random()

    noisy = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((2, 3))).map(lambda x: x + tf.random.uniform(()))
    images = tf.data.Dataset.from_tensors(np.ones((2, 4, 4, 3), "float32")).map(lambda x: bright(x, training=True))

    def seeded():
        for seed in (random.seed, np.random.seed, tf.random.set_seed):
            seed(5)

    seeded()
    before = bright.generator.state.numpy().tolist()
    for ds in (noisy, images):
        sample(ds, framework="keras")
    after = (random.random(), np.random.rand(), float(tf.random.uniform(())))
    seeded()
    assert after == (random.random(), np.random.rand(), float(tf.random.uniform(())))
    assert bright.generator.state.numpy().tolist() == before


def test_an_empty_dataset_and_one_that_raises_are_problems():
    (problem,) = sample(pairs(6).batch(8, drop_remainder=True), framework="keras").problems
    assert problem.code == "no-batches"
    assert "drop_remainder=True" in problem.text
    uneven = tf.data.Dataset.from_generator(lambda: iter([[1], [1, 2]]), output_signature=tf.TensorSpec((None,), tf.int32)).batch(2)
    seen = sample(uneven, framework="keras")
    assert seen.problems[0].code == "data-raised"
    assert isinstance(seen.error, tf.errors.InvalidArgumentError)
    assert " InvalidArgumentError: " in seen.problems[0].text
    four = sample(tf.data.Dataset.from_tensors((1.0, 2.0, 3.0, 4.0)), framework="keras")
    assert four.problems[0].code == "element-parts" and four.problems[0].found == "4 parts"


def test_generators_have_the_spec_that_each_keras_gives_them_and_lose_nothing():
    def rows():
        for n in (4, 8, 4, 2):
            yield np.full((n, 3), n, "float64"), np.ones((n, 1), "int32")

    from keras.src.trainers.data_adapters import get_data_adapter
    from tf_keras.src.engine.data_adapter import GeneratorDataAdapter

    specs = {"keras": get_data_adapter(rows()).get_tf_dataset().element_spec, "tf_keras": GeneratorDataAdapter(rows()).get_dataset().element_spec}
    for framework, spec in specs.items():
        seen = sample(rows(), framework=framework)
        assert [(leaf.shape, leaf.dtype) for leaf in (seen.x, seen.y)] == [(tuple(part.shape), part.dtype.name) for part in spec]
        assert seen.batch_sizes == (4, 8)
        assert seen.x.concrete == (4, 3)
        assert [len(x) for x, _ in seen.replacement] == [4, 8, 4, 2]
        assert dict(seen.notes)["generator-consumed"].startswith("3 batches were drawn from a one-shot iterator, which cannot be rewound")


def test_a_generator_given_back_trains():
    def rows():
        for _ in range(5):
            yield np.ones((4, 3), "float32"), np.ones((4, 1), "float32")

    for framework in (keras, tf_keras):
        model = framework.Sequential([framework.Input((3,)), framework.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(sample(rows(), framework=framework.__name__).replacement, steps_per_epoch=5, verbose=0)
        assert int(model.optimizer.iterations.numpy()) == 5


def test_a_generator_that_blocks_does_not_hang_and_loses_nothing():
    gate = threading.Event()

    def rows():
        yield np.ones((2, 1)), np.ones(2)
        gate.wait(30)
        yield np.zeros((2, 1)), np.ones(2)

    told = []
    start = time.monotonic()
    seen = sample(rows(), framework="keras", seconds=1.6, progress=told.append)
    assert time.monotonic() - start < 20
    assert len(told) == 1 and "1 of 3 batches" in told[0]
    assert " 1 batch" in dict(seen.notes)["slow-data"]
    gate.set()
    assert [float(x[0, 0]) for x, _ in seen.replacement] == [1.0, 0.0]


def test_python_data_that_keras_3_refuses_is_a_problem():
    listed = sample(([np.ones((2, 1)), np.ones(2)] for _ in range(2)), framework="keras").problems
    assert (listed[0].code, listed[0].expected, listed[0].found) == ("element-list", "a tuple", "list")
    iterator = sample(iter([(np.ones((2, 1)), np.ones(2))]), framework="keras").problems
    assert (iterator[0].code, iterator[0].found) == ("not-a-generator", "list_iterator")
    assert sample(iter([(np.ones((2, 1)), np.ones(2))]), framework="tf_keras").problems == []
    assert [p.code for p in sample((pair for pair in []), framework="tf_keras").problems] == ["no-batches"]


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return np.ones((4, 2)), np.arange(4) + index


class Legacy(tf_keras.utils.Sequence):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return np.ones((4, 2)), np.arange(4) + index


def test_pydatasets_and_sequences_are_asked_by_index():
    seen = sample(Batches(), framework="keras")
    assert (seen.kind, seen.x.shape, seen.x.dtype, seen.cardinality, seen.stages[0].function) == ("pydataset", (None, 2), "float64", 3, "Batches")
    assert seen.label_stats["y",].maximum == 5
    legacy = sample(Legacy(), framework="tf_keras")
    assert (legacy.x.shape, legacy.x.dtype, legacy.replacement) == ((None, None), "float32", None)


def test_adapters_of_tensorflows_own_are_no_stages():
    data = tf.data.Dataset.from_tensor_slices(np.zeros((8, 2), "float32")).batch(4).unbatch().map(lambda row: row + 1.0).batch(2)
    assert [stage.op for stage in sample(data, framework="keras").stages] == ["tensor_slices", "batch", "unbatch", "map", "batch"]


@pytest.mark.parametrize(
    ("make", "files"),
    [
        (tf.data.TextLineDataset, 3),
        (lambda names: tf.data.TextLineDataset(names[0]), 1),
        (lambda names: tf.data.Dataset.from_tensor_slices(names).interleave(tf.data.TextLineDataset), 3),
        (lambda names: tf.data.Dataset.from_tensor_slices(names).filter(lambda name: True).interleave(tf.data.TextLineDataset), None),
    ],
    ids=["several", "one", "interleaved", "known only by running"],
)
def test_files_are_counted_where_their_names_say_how_many(tmp_path, make, files):
    names = [str(tmp_path / name) for name in "abc"]
    for name in names:
        Path(name).write_text("x\n")
    found = [stage for stage in sample(make(names).batch(1), framework="keras").stages if stage.reads_files]
    assert [stage.detail.get("files") for stage in found] == [files]


@pytest.mark.parametrize(("first_seconds", "ranks"), [(30.0, {2}), (0.0, set())])
def test_elements_without_a_rank_are_waited_for(first_seconds, ranks):
    def slow(i):
        time.sleep(0.6)
        return np.full((8, 3), i, "float32")

    dataset = tf.data.Dataset.range(4).map(lambda i: tf.numpy_function(slow, [i], tf.float32))
    seen = sample(dataset, framework="keras", seconds=0.2, first_seconds=first_seconds, batches=1)
    assert {len(leaf.concrete) for _, leaf in seen.leaves() if leaf.concrete is not None} == ranks
