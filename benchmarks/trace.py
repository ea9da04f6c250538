"""What a trace costs, beside what a user would do instead, in one run.

Per model: the trace; one bare ``tf.function(model).get_concrete_function(spec)``; ``model.summary()``; an eager forward pass on one row.
Medians of interleaved repetitions. ``python benchmarks/trace.py [--repeat N] [MODEL ...]``
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow as tf

import jupyter_tpushape as tpushape

MODELS = {"ResNet50": 224, "EfficientNetB7": 600, "ConvNeXtLarge": 224, "NASNetLarge": 331}


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def quiet_summary(model: Any) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        model.summary()


def measure(framework: str, name: str, repeat: int) -> dict[str, float]:
    """Median seconds of each way to learn a model's shapes."""
    keras = importlib.import_module(framework)
    keras.backend.clear_session()
    size = MODELS[name]
    model = getattr(keras.applications, name)(weights=None)
    spec = tf.TensorSpec((32, size, size, 3))
    row = tf.zeros((1, size, size, 3))
    ways: dict[str, Callable[[], Any]] = {
        "trace": lambda: tpushape.trace(model, (spec, None), tpu=None),
        "concrete function": lambda: tf.function(lambda x: model(x, training=True)).get_concrete_function(spec),
        "summary": lambda: quiet_summary(model),
        "eager forward": lambda: model(row, training=False),
    }
    found: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(repeat):
        for way, work in ways.items():
            found[way].append(seconds(work))
    return {way: statistics.median(times) for way, times in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    print("| model | framework | trace | concrete function | trace ÷ function | summary | eager forward, 1 row |")
    print("|---|---|---|---|---|---|---|")
    for name in options.models:
        for framework in ("keras", "tf_keras"):
            it = measure(framework, name, options.repeat)
            ratio = it["trace"] / it["concrete function"]
            print(
                f"| {name} | {framework} | {it['trace']:.2f} s | {it['concrete function']:.2f} s | {ratio:.2f} "
                f"| {it['summary']:.2f} s | {it['eager forward']:.2f} s |",
                flush=True,
            )


if __name__ == "__main__":
    main()
