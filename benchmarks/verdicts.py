"""What a whole verdict takes, and how much of it is not the compiler's.

``python benchmarks/verdicts.py [--framework keras] [--tpu v5e-8] [--rows 128] [ResNet50 EfficientNetB0 ...]`` compiles the forward pass and the
training step of each model with an empty cache, then asks again. ``the compiler`` is the sum of what the worker reports, ``the kernel`` is the
processor time of this process in the same verdict.
"""

from __future__ import annotations

import argparse
import importlib
import os
import tempfile
import time
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")


def verdict(model: Any, specs: Any, tpu: str) -> tuple[float, float, float, int]:
    """Seconds of the wall clock, of the compiler and of this process, and how many programs compiled."""
    import jupyter_tpushape as tpushape

    wall, own = time.perf_counter(), time.process_time()
    report = tpushape.trace(model, specs, tpu=tpu, compiler="tpu", compile_timeout=900)
    return (
        time.perf_counter() - wall,
        sum(each.seconds for each in report.verdicts),
        time.process_time() - own,
        sum(bool(each.ok) for each in report.verdicts),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["ResNet50", "EfficientNetB0"])
    parser.add_argument("--framework", default="keras")
    parser.add_argument("--tpu", default="v5e-8")
    parser.add_argument("--rows", type=int, default=128)
    options = parser.parse_args()
    os.environ["TPUSHAPE_CACHE"] = tempfile.mkdtemp()
    keras, tf = importlib.import_module(options.framework), importlib.import_module("tensorflow")
    print("| model | framework | programs that compile | wall clock | the compiler | the kernel, processor time | asked again |")
    print("|---|---|---|---|---|---|---|")
    for name in options.models:
        model = getattr(keras.applications, name)(weights=None)
        model.compile("adam", "categorical_crossentropy")
        specs = (tf.TensorSpec((options.rows, 224, 224, 3)), tf.TensorSpec((options.rows, 1000)))
        wall, compiler, own, good = verdict(model, specs, options.tpu)
        again, *_ = verdict(model, specs, options.tpu)
        print(f"| {name} | {options.framework} | {good} | {wall:.1f} s | {compiler:.1f} s | {own:.1f} s | {again:.1f} s |", flush=True)


if __name__ == "__main__":
    main()
