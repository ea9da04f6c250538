"""Targets, planned strategies, and the split compared with the genuine strategy's own."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jupyter_tpushape.flow import MeshAxis, Target
from jupyter_tpushape.replicas import SLICES, deal, is_planned, live_strategy, of_strategy, plan, scope_state, target, tpu_strategy
from jupyter_tpushape.sources import sample


def rows_dataset(rows, batch, drop, policy=None, source=None):
    data = source if source is not None else tf.data.Dataset.from_tensor_slices(np.zeros((rows, 1), "int8"))
    data = data.batch(batch, drop_remainder=drop)
    if policy is None:
        return data
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[policy]
    return data.with_options(options)


def dealt(strategy, data):
    """What the strategy really gives to each replica, batch by batch."""
    return [tuple(len(part) for part in strategy.experimental_local_results(element)) for element in strategy.experimental_distribute_dataset(data)]


def planned(data, name):
    seen = sample(data, framework="keras", batches=50)
    split = plan(seen, target(name))
    return [split.rows(len(batch[0])) for batch in seen.sampled]


def test_the_table_holds_every_slice_of_the_design():
    small, cores = [1, 4, 8, "8-4t", 16, 32, 64, 128, 256], [8, 16, 32, 64, 128, 256]
    assert list(SLICES) == [
        "v2-8",
        "v3-8",
        *(f"v4-{n}" for n in cores),
        *(f"v5e-{n}" for n in small),
        *(f"v5p-{n}" for n in cores),
        *(f"v6e-{n}" for n in small),
    ]
    assert target("v3-8").axes == of_strategy(tpu_strategy("v3-8")).axes == (MeshAxis("batch", 8),)
    assert Target("made", 8, mesh=(MeshAxis("batch", 2), MeshAxis("model", 4))).axes[1].size == 4
    assert target("v3-8") == Target("v3-8", 8, 1, "v3", 16 << 30, "TPUStrategyV2")
    assert target("V5LITEPOD-8") == target("v5e-8")
    assert (SLICES["v5e-8"].topology, SLICES["v5e-32"].hosts, SLICES["v6e-16"].replicas_per_host) == ("v5e:2x4", 8, 4)
    assert (SLICES["v5e-8"].hosts, SLICES["v5e-8-4t"].hosts) == (1, 2)
    for entry in SLICES.values():
        assert entry.replicas == entry.hosts * entry.replicas_per_host


def test_an_unknown_slice_names_the_nearest_and_all():
    with pytest.raises(ValueError, match=r"'v5-8'\. Did you mean v5[ep]-8\?.* v2-8, v3-8, .*v6e-256\.$"):
        target("v5-8")


@pytest.mark.parametrize("name", ["v2-8", "v4-8", "v5e-1", "v5e-16", "v6e-256"])
def test_a_planned_strategy_is_the_genuine_class_and_is_made_once(name):
    strategy = tpu_strategy(name)
    assert type(strategy).__name__ == "TPUStrategyV2"
    assert strategy.num_replicas_in_sync == target(name).replicas
    assert tpu_strategy(name) is strategy
    assert is_planned(strategy)
    assert of_strategy(strategy) == target(name)


def test_planning_leaves_tensorflow_as_it_was():
    code = (
        "import random, numpy, tensorflow as tf; from jupyter_tpushape.replicas import tpu_strategy\n"
        "tf.random.set_seed(3); before = (tf.config.get_soft_device_placement(), tf.config.list_logical_devices(), tf.distribute.has_strategy())\n"
        "a = float(tf.random.uniform(())); tf.random.set_seed(3)\n"
        "tpu_strategy('v5e-8')\n"
        "assert before == (tf.config.get_soft_device_placement(), tf.config.list_logical_devices(), tf.distribute.has_strategy())\n"
        "assert a == float(tf.random.uniform(()))\n"
        "print('as it was', float(tf.reduce_sum(tf.ones(3))))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "as it was 3.0"


def test_the_live_strategy_is_the_one_whose_scope_we_stand_in():
    assert live_strategy() is None
    strategy = tpu_strategy("v5e-4")
    with strategy.scope():
        assert live_strategy() is strategy
        assert tpu_strategy("v4-8") is strategy, "as many replicas: the live one"
    assert live_strategy() is None
    one = tf.distribute.OneDeviceStrategy("/cpu:0")
    assert of_strategy(one).live
    assert of_strategy(one).replicas == 1
    with pytest.raises(ValueError, match=r"tpu_strategy\('v5e-8'\).*int"):
        of_strategy(8)


def test_twelve_rows_on_eight_replicas():
    split = plan(sample(rows_dataset(29, 12, False), framework="keras"), target("v5e-8"))
    assert split.full == (2, 2, 2, 2, 2, 2, 0, 0)
    assert (split.partial, split.last) == (5, (1, 1, 1, 1, 1, 0, 0, 0))
    assert (split.uneven, split.empty, split.dynamic, split.genuine) == (True, True, True, False)
    assert split.describe() == {
        "replicas": 8, "global batch": 12, "rows": "2,2,2,2,2,2,0,0", "static": False, "last batch": "5: 1,1,1,1,1,0,0,0",
    }  # fmt: skip
    (leaf,) = [leaf for _, leaf in sample(rows_dataset(29, 12, False), framework="keras").leaves()]
    assert split.shapes(leaf) == [(2, 1)] * 6 + [(0, 1)] * 2


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(1, 40), st.integers(1, 20), st.booleans(), st.sampled_from([None, "AUTO", "DATA", "OFF", "FILE"]), st.sampled_from(["v5e-4", "v3-8"]),
)  # fmt: skip
@example(2, 5, False, "OFF", "v5e-4")
def test_the_planned_split_is_the_genuine_one(rows, batch, drop, policy, name):
    data = rows_dataset(rows, batch, drop, policy)
    assert planned(data, name) == dealt(tpu_strategy(name), data)


def shards(data, hosts, replicas, host):
    """What one machine's replicas get in turn, batch by batch: TensorFlow's own rebatching and sharding, without devices to copy to."""
    from tensorflow.python.distribute import input_lib, input_ops

    rebatch = input_lib.DistributedDataset._make_rebatch_fn(None, data, hosts, replicas)
    mine = [len(rows) for rows in input_ops.auto_shard_dataset(rebatch(data, host), hosts, host, replicas)]
    each = replicas // hosts
    mine += [0] * (-len(mine) % each)  # the last replicas get none where rows end
    return [tuple(mine[at : at + each]) for at in range(0, len(mine), each)]


def random_pipeline(chance):
    """``(dataset, what it is)``: a few stages in random order around one batch or two."""
    batch, drop = chance.choice([chance.randrange(1, 40), chance.randrange(1, 600)]), chance.random() < 0.5
    rows = chance.randrange(1, 5 * batch + 1)
    policy = chance.choice([None, "AUTO", "DATA", "OFF"])
    before = chance.choices(["map", "shuffle", "cache", "take"], k=chance.randrange(3))
    after = chance.choices(["map", "prefetch"], k=chance.randrange(3))
    data = tf.data.Dataset.from_tensor_slices(np.zeros((rows, 1), "int8"))
    stage = {
        "map": lambda one: one.map(lambda value: value + 1),
        "shuffle": lambda one: one.shuffle(4, seed=1),
        "cache": lambda one: one.cache(),
        "take": lambda one: one.take(300),
        "prefetch": lambda one: one.prefetch(2),
    }
    for name in before:
        data = stage[name](data)
    data = data.batch(batch, drop_remainder=drop)
    for name in after:
        data = stage[name](data)
    options = tf.data.Options()
    if policy is not None:
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[policy]
    return data.with_options(options), (rows, batch, drop, policy, before, after)


def test_500_random_pipelines_are_dealt_as_tensorflow_deals_them_on_slices_up_to_256():
    chance, compared = random.Random(24), 0
    for _ in range(500):
        data, what = random_pipeline(chance)
        entry = chance.choice([entry for entry in SLICES.values() if entry.replicas > 1])
        host = chance.randrange(entry.hosts)
        expected = planned(data, entry.name)
        each = entry.replicas // entry.hosts
        held = shards(data, entry.hosts, entry.replicas, host)[: len(expected)]  # as many as were sampled
        mine = [rows[host * each : (host + 1) * each] for rows in expected]
        if entry.hosts > 1 and what[3] == "OFF":
            # Each machine reads all of the data in shares of a batch: what the first batch gives it is repeated until the data ends.
            held, mine = held[:1], mine[:1]
        # A machine that has no rows of the last batches left ends early.
        assert held == mine[: len(held)] and not any(map(sum, mine[len(held) :])), (entry.name, host, what)
        compared += len(held)
    assert compared > 1000


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 40), st.booleans(), st.sampled_from([None, "OFF"]))
def test_the_static_batch_of_a_replica_is_the_genuine_one(batch, drop, policy):
    data = rows_dataset(80, batch, drop, policy)
    spec = tpu_strategy("v5e-8").experimental_distribute_dataset(data).element_spec._value_specs[0]
    assert plan(sample(data, framework="keras"), target("v5e-8")).static == spec.shape[0]


@pytest.mark.parametrize("policy", [None, "DATA", "OFF", "FILE"])
@pytest.mark.parametrize("drop", [True, False])
def test_files_are_dealt_another_way_than_arrays(tmp_path, policy, drop):
    path = tmp_path / "rows.txt"
    path.write_text("x\n" * 29)
    plain = rows_dataset(0, 12, drop, policy, tf.data.TextLineDataset(str(path)))
    nested = rows_dataset(0, 12, drop, policy, tf.data.Dataset.from_tensors(str(path)).interleave(tf.data.TextLineDataset))
    for data in (plain, nested):
        assert planned(data, "v5e-8") == dealt(tpu_strategy("v5e-8"), data)
    assert planned(plain, "v5e-8")[0] == ((2, 2, 2, 2, 2, 2, 0, 0) if policy == "DATA" else (2, 2, 2, 2, 1, 1, 1, 1))


@pytest.mark.parametrize(
    "pipe",
    [
        lambda data: data.batch(12).map(lambda value: value),
        lambda data: data.batch(12).shuffle(2, seed=1).prefetch(1),
        lambda data: data.batch(5).take(2).concatenate(data.batch(7)),
        lambda data: data.batch(9).unbatch().batch(12),
        lambda data: data,
    ],
)
@pytest.mark.parametrize("policy", ["AUTO", "OFF"])
def test_pipelines_whose_batch_size_cannot_be_read_off_too(pipe, policy):
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[policy]
    data = pipe(tf.data.Dataset.from_tensor_slices(np.zeros((29, 3), "int8"))).with_options(options)
    assert sorted(planned(data, "v3-8")) == sorted(dealt(tpu_strategy("v3-8"), data))


@pytest.mark.parametrize(
    ("name", "batch", "rows", "hosts"),
    [
        ("v5e-16", 64, (4,) * 16, (16,) * 4),
        ("v5e-8-4t", 64, (8,) * 8, (32, 32)),
        ("v5e-32", 96, (3,) * 32, (12,) * 8),
        ("v6e-16", 64, (4,) * 16, (16,) * 4),
        ("v4-32", 40, (3, 3, 3, 3, 3, 3, 3, 1, 3, 3, 3, 0, 3, 3, 3, 0), (12, 10, 9, 9)),
        ("v4-32", 12, (1, 1, 1, 0) * 4, (3,) * 4),
    ],
)
def test_each_host_has_its_shard_and_each_replica_its_rows(name, batch, rows, hosts):
    split = plan(sample(rows_dataset(2 * batch, batch, True), framework="keras"), target(name))
    assert (split.full, split.host_rows(batch), split.hosts) == (rows, hosts, target(name).hosts)
    assert split.devices[-1] == f"/job:worker/replica:0/task:{split.hosts - 1}/device:TPU:{split.replicas // split.hosts - 1}"
    assert split.describe()["hosts"] == split.hosts


def test_every_slice_says_where_its_numbers_come_from():
    assert {entry.source for entry in SLICES.values()} == {f"https://cloud.google.com/tpu/docs/{name}" for name in ("v2", "v3", "v4", "v5e", "v5p", "v6e")}
    assert (SLICES["v4-32"].hosts, SLICES["v5p-8"].hosts, SLICES["v5e-16"].hosts, SLICES["v5e-256"].hosts, SLICES["v6e-256"].hosts) == (4, 1, 4, 64, 64)


def test_hosts_take_turns_without_files_and_keep_their_own_with_them():
    assert deal(12, 8, "ceil", hosts=2) == (2, 2, 2, 0, 2, 2, 2, 0)
    assert deal(12, 8, "even", hosts=2, by_file=True) == (2, 2, 2, 2, 1, 1, 1, 1)
    assert sum(deal(100, 16, "ceil", hosts=4)) == 100


@pytest.mark.parametrize(
    ("pipe", "rows", "partial"),
    [
        (lambda data: data.batch(32), 200, 8),
        (lambda data: data.shuffle(9).batch(32).map(lambda value: value).prefetch(1), 200, 8),
        (lambda data: data.batch(32).repeat(), 200, 8),
        (lambda data: data.batch(25), 200, None),
        (lambda data: data.batch(32, drop_remainder=True), None, None),
        (lambda data: data.repeat().batch(32), None, None),
        (lambda data: data.filter(lambda value: True).batch(32), None, None),
    ],
)
def test_the_last_batch_is_known_beyond_what_is_sampled(pipe, rows, partial):
    seen = sample(pipe(tf.data.Dataset.from_tensor_slices(np.zeros(200, "int8"))), framework="keras")
    assert (seen.rows, plan(seen, target("v5e-8")).partial) == (rows, partial)


MIRRORED = """
import json, sys, numpy as np, tensorflow as tf
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 8)
from jupyter_tpushape.replicas import of_strategy, plan
from jupyter_tpushape.sources import sample
strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(8)])
out = []
for batch in json.loads(sys.argv[1]):
    data = tf.data.Dataset.from_tensor_slices(np.zeros((3 * batch, 2), "float32")).batch(batch, drop_remainder=True)
    held = [list(part.shape) for part in strategy.experimental_local_results(next(iter(strategy.experimental_distribute_dataset(data))))]
    seen = sample(data, framework="keras")
    split = plan(seen, of_strategy(strategy), strategy=strategy)
    formula = plan(seen, of_strategy(strategy))
    out.append([held, [list(shape) for shape in split.shapes(seen.x)], [list(shape) for shape in formula.shapes(seen.x)], split.genuine, split.devices])
print("OUT" + json.dumps(out))
"""


def test_even_batches_are_dealt_as_mirrored_strategy_on_eight_cpus_does():
    done = subprocess.run([sys.executable, "-c", MIRRORED, "[8, 16, 40, 64]"], capture_output=True, text=True, check=True)
    for held, asked, formula, genuine, devices in json.loads(done.stdout.rsplit("OUT", 1)[1]):
        assert held == asked == formula
        assert genuine
        assert [device.rsplit("/", 1)[-1] for device in devices] == [f"device:CPU:{index}" for index in range(8)]


def test_arrays_generators_and_specs_are_planned_as_fit_deals_them():
    arrays = plan(sample((np.zeros((100, 3)), np.zeros(100)), framework="keras"), target("v5e-8"))
    assert (arrays.full, arrays.partial, arrays.last, arrays.policy, arrays.dynamic) == ((4,) * 8, 4, (1, 1, 1, 1, 0, 0, 0, 0), "DATA", True)
    spec = plan(sample(tf.TensorSpec((64, 3)), framework="keras"), target("v5e-8"))
    assert (spec.full, spec.static, spec.uneven) == ((8,) * 8, 8, False)
    varying = plan(sample(((np.zeros((n, 2)),) for n in (32, 64, 32)), framework="keras"), target("v5e-8"))
    assert (varying.batch, varying.sizes, varying.rows(64)) == (32, (64,), (8,) * 8)
    single = plan(sample(tf.TensorSpec((7, 3)), framework="keras"), target("v5e-1"))
    assert (single.full, single.static, single.uneven) == ((7,), 7, False)


@pytest.mark.parametrize("framework", [keras, tf_keras])
def test_scope_facts_of_a_model_made_and_compiled_inside(framework):
    strategy = tpu_strategy("v5e-8")
    with strategy.scope():
        model = framework.Sequential([framework.Input((5,)), framework.layers.Dense(1)])
        model.compile("sgd", "mse", metrics=["mae"])
    state = scope_state(model)
    assert (state.model, state.optimizer, len(state.inside), state.outside, state.replicas) == ("TPUStrategyV2", "TPUStrategyV2", 2, (), 8)
    assert state.metrics_outside == ()


def test_scope_facts_of_what_was_made_outside():
    strategy = tpu_strategy("v5e-8")
    outside = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1, name="late")])
    optimizer, metric = keras.optimizers.SGD(), keras.metrics.MeanAbsoluteError(name="mae_outside")
    with strategy.scope():
        outside.compile("sgd", "mse")
        inside = keras.Sequential([keras.Input((5,)), keras.layers.Dense(1)])
        inside.compile(optimizer, "mse", metrics=[metric])
    state = scope_state(outside)
    assert (state.model, state.optimizer, state.inside) == ("", "TPUStrategyV2", ())
    assert [path.rsplit("/", 2)[-2:] for path in state.outside] == [["late", "kernel"], ["late", "bias"]]
    other = scope_state(inside)
    assert (other.optimizer, other.metrics_outside, other.outside) == ("", ("mae_outside",), ())


@pytest.mark.parametrize("framework", [keras, tf_keras])
def test_an_optimizer_that_was_built_for_another_model_is_foreign(framework):
    first, second = (framework.Sequential([framework.Input((5,)), framework.layers.Dense(1)]) for _ in range(2))
    optimizer = framework.optimizers.Adam()
    optimizer.build(first.trainable_variables)
    for model, foreign in ((first, False), (second, True)):
        model.compile(optimizer, "mse")
        assert scope_state(model).optimizer_foreign is foreign


def test_every_row_is_dealt_once():
    shuffled = random.Random(4)
    for _ in range(300):
        rows, replicas = shuffled.randrange(1, 500), shuffled.choice([1, 2, 4, 8, 16])
        batch = rows + shuffled.randrange(0, 50)
        assert sum(deal(rows, replicas, "ceil")) == rows
        assert sum(deal(rows, replicas, "even", batch=batch)) == rows
