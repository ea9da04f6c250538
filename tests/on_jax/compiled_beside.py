"""A mesh verdict beside JAX's own answer: the same train step, lowered and compiled by JAX for libtpu's devices, without jupyter_tpushape.

Run by itself, in a process that may load libtpu: ``python compiled_beside.py`` with jaxlib and libtpu in PYTHONPATH prints a table and a line of JSON.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time

os.environ.update(TPU_SKIP_MDS_QUERY="1", TPU_ACCELERATOR_TYPE="v5litepod-8", TPU_WORKER_HOSTNAMES="localhost", TPU_WORKER_ID="0")
os.environ.update(ALLOW_MULTIPLE_LIBTPU_LOAD="1", JAX_OPTIMIZATION_LEVEL="O0")

import jax
import keras
import numpy as np
from eight_devices import attention, convolution, decoder, mlp
from jax.experimental import topologies
from keras import distribution as D  # noqa: N812

import jupyter_tpushape as tpushape
from jupyter_tpushape.replicas.layouts import planned
from jupyter_tpushape.replicas.targets import slice_named

ROWS = 64
ATTEND = {".*(query|key|value)/kernel": (None, "model", None), ".*attention_output/kernel": ("model", None, None)}
FEED = {".*up/kernel": (None, "model"), ".*down/kernel": ("model", None)}
CASES = (
    (attention, "v5e-8", {"batch": 2, "model": 4}, ATTEND),
    (convolution, "v6e-8", {"batch": 8}, {}),
    (decoder, "v5p-32", {"batch": 4, "model": 4}, FEED),
    (mlp, "v5e-8", {"batch": 8}, {}),
    (mlp, "v5e-8", {"batch": 2, "model": 4}, FEED),
    (decoder, "v5e-8", {"batch": 4, "model": 2}, {**FEED, "table/embeddings": (None, "model"), "head/kernel": (None, "model")}),
)
EXCHANGE = re.compile(r" = (.*) (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)\(")
TENSOR = re.compile(r"([fsu])(\d+)\[([\d,]*)\]")


def made(build):
    """A model with its loss and its optimizer, and a batch of zeros."""
    model = build()
    model.compile("adam", "mse")
    x = np.zeros((ROWS, *model.inputs[0].shape[1:]), model.inputs[0].dtype)
    return model, (x, np.zeros((ROWS, *model.outputs[0].shape[1:]), "float32"))


def by_jax(build, name, sizes, entries):
    """Bytes of one device, and the kinds of exchange in the compiled program, as JAX says them."""
    keras.utils.clear_session()
    entry = slice_named(name)
    devices = topologies.get_topology_desc(platform="tpu", topology_name=entry.topology, **entry.options).devices
    mesh = D.DeviceMesh(tuple(sizes.values()), list(sizes), list(devices))
    layout = D.LayoutMap(mesh)
    for key, axes in entries.items():
        layout[key] = axes
    distribution = D.ModelParallel(layout_map=layout) if entries else D.DataParallel(device_mesh=mesh, auto_shard_dataset=False)
    model, data = made(build)
    model.optimizer.build(model.trainable_variables)
    model._symbolic_build(data_batch=data)
    laid = {one.path: distribution.get_variable_layout(one).backend_layout for one in model.variables}
    slots = {f"{one.path.replace('/', '_')}_{slot}": laid[one.path] for one in model.trainable_variables for slot in ("momentum", "velocity")}
    whole = jax.sharding.NamedSharding(mesh.backend_mesh, jax.sharding.PartitionSpec())

    def struct(one):
        layout = laid.get(one.path) or slots.get(one.path.split("/", 1)[-1], whole)
        return jax.ShapeDtypeStruct(tuple(one.shape), one.dtype, sharding=layout)

    groups = (model.trainable_variables, model.non_trainable_variables, model.optimizer.variables, model.metrics_variables)
    state = tuple([struct(one) for one in group] for group in groups)
    batch = [jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=distribution.get_data_layout(one.shape).backend_layout) for one in data]
    kept = (None, jax.tree.map(lambda one: one.sharding, state))
    with distribution.scope():
        lowered = jax.jit(model.train_step, donate_argnums=0, out_shardings=kept, keep_unused=True).lower(state, tuple(batch))
    compiled = lowered.compile()
    memory, text = compiled.memory_analysis(), compiled.as_text()
    assert "-start(" not in text and " while(" not in text
    found = [(kind, size(results)) for results, kind in EXCHANGE.findall(text)]
    return {
        "arguments": memory.argument_size_in_bytes, "outputs": memory.output_size_in_bytes, "temporaries": memory.temp_size_in_bytes,
        "exchanged": {kind: sum(held for one, held in found if one == kind) for kind, _ in found},
    }  # fmt: skip


def size(results):
    """Bytes of an operation's results, as HLO writes their types."""
    return sum(int(bits) // 8 * math.prod(int(n) for n in dims.split(",") if n) for _, bits, dims in TENSOR.findall(results))


def told(build, name, sizes, entries):
    """The same of a verdict."""
    keras.utils.clear_session()
    _, data = made(build)
    start = time.perf_counter()
    report = tpushape.trace(lambda: made(build)[0], data, tpu=name, batch_size=ROWS, strategy=planned(sizes, entries or None), compiler="tpu", fixes=False)
    verdict = report.verdicts[-1]
    assert verdict.ok, verdict.message
    return {
        "arguments": verdict.arguments, "outputs": verdict.outputs, "temporaries": verdict.temporaries,
        "exchanged": {kind: sum(one.bytes for one in verdict.collectives if one.kind == kind) for kind in {one.kind for one in verdict.collectives}},
    }, {"sent": sum(one.sent for one in verdict.collectives), "seconds": verdict.seconds, "wall": time.perf_counter() - start}  # fmt: skip


def main(cases):
    for build, name, sizes, entries in cases:
        (said, more), real = told(build, name, sizes, entries), by_jax(build, name, sizes, entries)
        print(json.dumps({"of": f"{build.__name__}, {name}, {sizes}", "told": said, "jax": real, **more}), flush=True)


if __name__ == "__main__":
    main(CASES[: int(sys.argv[1])] if sys.argv[1:] else CASES)
