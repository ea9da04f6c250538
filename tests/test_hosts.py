"""Data on a slice of several hosts, with TensorFlow and Keras on JAX in one process: what Keras refuses or reads in part, and the fixes."""

from __future__ import annotations

import json
import subprocess
import sys

import jax_beside
import pytest

PROGRAM = """
import json, sys
import keras
import numpy as np
from keras import layers
from keras.src.trainers.data_adapters import get_data_adapter
import jupyter_tpushape as tpushape
from jupyter_tpushape.replicas.layouts import planned

def build():
    model = keras.Sequential([keras.Input((4,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model

def arrays():
    return np.arange(192 * 4, dtype="float32").reshape(192, 4), np.zeros((192, 1), "float32")

def piped():
    import tensorflow as tf
    return tf.data.Dataset.from_tensor_slices(arrays()).shard(4, 0).batch(64, drop_remainder=True)

def batches():
    for _ in range(3):
        yield np.zeros((64, 4), "float32"), np.zeros((64, 1), "float32")

on = planned({"batch": 16})
given = globals()[sys.argv[1]]
report = tpushape.trace(build, given, tpu="v5e-16", strategy=on, batch_size=64)
finding = next(one for one in report.findings if one.rule in ("mesh-hosts", "mesh-hosts-share"))
fixes = [fix for fix in finding.fixes if fix.verified]
told = {"rule": finding.rule, "proofs": [fix.proof for fix in fixes], "ideas": len(finding.fixes) - len(fixes)}

def read(made):
    # What each of four hosts reads, by Keras's own code.
    found = []
    for host in range(4):
        on._is_multi_process, on._num_processes, on._process_id = True, 4, host
        with on.scope():
            data = get_data_adapter(made).get_tf_dataset() if not isinstance(made, tuple) else get_data_adapter(*made)
            found.append([int(row) // 4 for batch in data for row in batch[0][:, 0].numpy()])
    return found

if fixes:
    told["hosts"] = read(fixes[0].rebuild()[1])
try:
    told["before"] = read(given())
except ValueError as error:
    told["before"] = str(error)[:60]
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("both")
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
    environment = jax_beside.together(folder)

    def run(name):
        done = subprocess.run([sys.executable, str(folder / "train.py"), name], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.mark.skipif(not jax_beside.python(), reason="JAX is not installed")
def test_arrays_become_a_dataset_of_which_each_host_reads_its_own_rows(told):
    found = told("arrays")
    assert (found["rule"], found["proofs"]) == ("mesh-hosts", ["source"]) and "multi-worker" in found["before"]
    assert [len(rows) for rows in found["hosts"]] == [48] * 4
    assert sorted(row for rows in found["hosts"] for row in rows) == list(range(192))


@pytest.mark.skipif(not jax_beside.python(), reason="JAX is not installed")
def test_a_pipeline_that_is_sharded_twice_is_sharded_once(told):
    found = told("piped")
    assert (found["rule"], found["proofs"]) == ("mesh-hosts-share", ["source"])
    assert len({row for rows in found["before"] for row in rows}) < 192
    assert sorted(row for rows in found["hosts"] for row in rows) == list(range(192))


@pytest.mark.skipif(not jax_beside.python(), reason="JAX is not installed")
def test_a_generator_gets_no_fix_that_nobody_can_try(told):
    found = told("batches")
    assert (found["rule"], found["proofs"]) == ("mesh-hosts", []) and found["ideas"] == 1
