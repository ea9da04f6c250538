"""What a trace costs, beside what a user would do instead, in one run.

Per model: the trace; one bare ``tf.function(model).get_concrete_function(spec)``; ``model.summary()``; ``plot_model`` with shapes (where
Graphviz and pydot are there); an eager forward pass on one row. Medians of interleaved repetitions. ``python benchmarks/trace.py [--repeat N] [MODEL ...]``
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import io
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
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


def plotted(keras: Any, model: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        keras.utils.plot_model(model, str(Path(folder) / "model.svg"), show_shapes=True, show_dtype=True)


def can_plot() -> bool:
    return shutil.which("dot") is not None and importlib.util.find_spec("pydot") is not None


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
    with contextlib.suppress(Exception):  # Graphviz of some versions stops on large graphs with orthogonal lines
        if can_plot():
            plotted(keras, model)
            ways["plot_model"] = lambda: plotted(keras, model)
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
    print("| model | framework | trace | concrete function | trace ÷ function | summary | plot_model | eager forward, 1 row |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.models:
        for framework in ("keras", "tf_keras"):
            it = measure(framework, name, options.repeat)
            ratio = it["trace"] / it["concrete function"]
            plot = f"{it['plot_model']:.2f} s" if "plot_model" in it else "Graphviz stops" if can_plot() else "no Graphviz here"
            print(
                f"| {name} | {framework} | {it['trace']:.2f} s | {it['concrete function']:.2f} s | {ratio:.2f} "
                f"| {it['summary']:.2f} s | {plot} | {it['eager forward']:.2f} s |",
                flush=True,
            )


if __name__ == "__main__":
    main()
