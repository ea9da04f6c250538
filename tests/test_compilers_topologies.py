"""The table of slices against the topologies that the TPU compiler itself makes of their names: devices, machines, memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import tensorflow as tf

from jupyter_tpushape.compilers import bridge, hlo, process
from jupyter_tpushape.compilers.words import needed
from jupyter_tpushape.replicas import SLICES, tpu_strategy

pytestmark = pytest.mark.skipif(bool(bridge.check()), reason=bridge.check() or "installed")

# In a process that sees the compiler's packages and nothing of TensorFlow.
WALK = """
import json, os
from jupyter_tpushape.compilers.bridge import ENVIRONMENT, devices_of
os.environ.update(ENVIRONMENT)
from jupyter_tpushape.replicas import SLICES
found = {}
for name, entry in SLICES.items():
    devices = devices_of(entry.topology, entry.options)
    found[name] = [len(devices), len({device.process_index for device in devices}), devices[0].device_kind]
print("FOUND" + json.dumps(found))
"""
KINDS = {"v2": "TPU v2", "v3": "TPU v3", "v4": "TPU v4", "v5e": "TPU v5 lite", "v5p": "TPU v5", "v6e": "TPU v6 lite"}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("TPUSHAPE_CACHE", str(tmp_path_factory.getbasetemp() / "verdicts"))


def test_every_slice_has_the_devices_and_the_machines_of_its_topology():
    done = subprocess.run([sys.executable, "-c", WALK], env={**os.environ, "PYTHONPATH": process._path()}, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.rsplit("FOUND", 1)[1])
    assert found == {name: [entry.replicas, entry.hosts, KINDS[entry.generation]] for name, entry in SLICES.items()}


@pytest.mark.parametrize("name", SLICES)
def test_every_slice_is_what_tf_distribute_sees(name):
    strategy, entry = tpu_strategy(name), SLICES[name]
    assert (strategy.num_replicas_in_sync, len(strategy.extended.worker_devices)) == (entry.replicas, entry.replicas)


@pytest.mark.parametrize("generation", KINDS)
def test_every_generation_has_the_memory_that_its_refusals_name(generation):
    spec = tf.TensorSpec((2**18, 2**18))
    program = tf.function(lambda x: x + 1.0, jit_compile=True, input_signature=[spec]).experimental_get_compiler_ir(spec)(stage="hlo_serialized")
    entry = next(entry for entry in SLICES.values() if entry.generation == generation)
    answer = process.ask(program, hlo.of_proto(program).key, entry.topology, process.limits(), form=process.Form(described=entry.options))
    assert answer["kind"] == "refused"
    assert needed(answer["message"])[1] / 2**30 == pytest.approx(entry.available_bytes / 2**30, abs=0.005), answer["message"]
