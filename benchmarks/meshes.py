"""Verdicts on meshes: memory and exchange beside what JAX says of the same step, and the time and memory that large models take.

``python benchmarks/meshes.py [--python out/jax/bin/python] [small] [1B] [7B]`` runs each in a process of its own with Keras on JAX.
``TPUSHAPE_COMPILER`` names the compiler's folder: for the small ones JAX loads libtpu from there too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Blocks of 4,096 units, the slice, and the mesh.
LARGE = {"1B": (4, "v5e-8", {"batch": 2, "model": 4}), "7B": (32, "v5e-64", {"batch": 8, "model": 8})}
LAYOUT = {
    ".*table/embeddings": (None, "model"), ".*(query|key|value)/kernel": (None, "model", None), ".*attention_output/kernel": ("model", None, None),
    ".*up/kernel": (None, "model"), ".*down/kernel": ("model", None), ".*head/kernel": (None, "model"),
}  # fmt: skip


def decoder(blocks: int, width: int = 4096, words: int = 32000, length: int = 1024) -> Any:
    """A decoder that is trained whole, with Adam."""
    import keras

    L = keras.layers  # noqa: N806
    tokens = keras.Input((length,), dtype="int32")
    x = L.Embedding(words, width, name="table")(tokens)
    for i in range(blocks):
        y = L.LayerNormalization()(x)
        x = x + L.MultiHeadAttention(width // 128, 128, name=f"attend_{i}")(y, y, use_causal_mask=True)
        y = L.Dense(4 * width, activation="gelu", name=f"block_{i}_up")(L.LayerNormalization()(x))
        x = x + L.Dense(width, name=f"block_{i}_down")(y)
    model = keras.Model(tokens, L.Dense(words, name="head")(L.LayerNormalization()(x)))
    model.compile(keras.optimizers.Adam(1e-4), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def large(name: str) -> None:
    """One row: in this process the model is built and lowered, in another it is compiled."""
    import numpy as np

    import jupyter_tpushape as tpushape
    from jupyter_tpushape.replicas.layouts import planned

    blocks, tpu, sizes = LARGE[name]
    data = (np.zeros((8, 1024), "int32"), np.zeros((8, 1024), "int32"))
    start = time.perf_counter()
    report = tpushape.trace(
        lambda: decoder(blocks), data, tpu=tpu, batch_size=8, strategy=planned(sizes, LAYOUT), compiler="tpu", compile_timeout=600, fixes=False
    )
    wall, held = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    own, children = (sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    train = report.verdicts[-1]
    mib = f"{train.arguments >> 20:,} | {train.temporaries >> 20:,} | {sum(one.sent for one in train.collectives) >> 20:,}"
    said = mib if train.ok else f"refused: {train.message[:60]} | | "
    mesh = " × ".join(f"{axis} {size}" for axis, size in sizes.items())
    seconds = " and ".join(f"{one.seconds:.0f}" for one in report.verdicts)
    print(f"| {name} | {tpu} | {mesh} | {said} | {seconds} s | {wall:.0f} s | {own:.0f} s | {children:.0f} s | {held:,} | {worker:,} |", flush=True)


def small(python: str, environment: dict[str, str]) -> None:
    """One row a case, with whether JAX says the same."""
    beside = HERE.parent / "tests" / "on_jax" / "compiled_beside.py"
    done = subprocess.run([python, str(beside)], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    print("| program, slice, mesh | arguments | outputs | temporaries | exchanged | the same by JAX | compiler |\n|---|---|---|---|---|---|---|")
    for line in map(json.loads, done.stdout.splitlines()):
        told = line["told"]
        exchanged = ", ".join(f"{kind} {held:,}" for kind, held in sorted(told["exchanged"].items()))
        memory = " | ".join(f"{told[part]:,}" for part in ("arguments", "outputs", "temporaries"))
        same = "yes" if told == line["jax"] else f"no: {line['jax']}"
        of = re.sub(r"[{}']", "", line["of"]).replace(": ", " ")
        print(f"| {of} | {memory} | {exchanged} | {same} | {line['seconds']:.0f} s |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["small", *LARGE])
    parser.add_argument("--python", default=str(HERE.parent / "out" / "jax" / "bin" / "python"))
    parser.add_argument("--here", action="store_true")
    options = parser.parse_args()
    if options.here:
        large(options.names[0])
        return
    compiler = os.environ.get("TPUSHAPE_COMPILER", str(HERE.parent / "out" / "compiler"))
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "TPUSHAPE_COMPILER": compiler, "TPUSHAPE_CACHE": cache}
        path = os.pathsep.join([str(HERE.parent), compiler])
        if "small" in options.names:
            small(options.python, {**environment, "PYTHONPATH": path})
        rows = [name for name in options.names if name in LARGE]
        if rows:
            print(
                "\n| model | slice | mesh | MiB of one device: arguments | temporaries | sent | compiler: forward, train | wall clock | processor: kernel | worker | MiB: kernel | worker |"
            )
            print("|---|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
        for name in rows:
            subprocess.run([options.python, __file__, "--here", name], env={**environment, "PYTHONPATH": str(HERE.parent)}, check=True)


if __name__ == "__main__":
    main()
