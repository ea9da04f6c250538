"""What a trace of Keras on JAX costs, beside one bare ``jax.make_jaxpr`` of the model and ``model.summary``, in one run.

``settled`` is the trace of a functional model whose own declaration says it all; ``traced`` runs the same model through JAX, as an unbuilt or
subclassed one has to. Medians of interleaved repetitions, in CPU time. ``python benchmarks/jax_trace.py [--repeat N] [MODEL ...]``, where TensorFlow is not needed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import keras

import jupyter_tpushape as tpushape
from jupyter_tpushape.flow import Spec
from jupyter_tpushape.trace.build import build
from jupyter_tpushape.trace.frameworks import adapter
from jupyter_tpushape.trace.recorder import Recorder
from jupyter_tpushape.trace.run import run

MODELS = {"ResNet50": 224, "EfficientNetB7": 600, "ConvNeXtLarge": 224, "NASNetLarge": 331}


def measure(name: str, repeat: int) -> dict[str, float]:
    """Median seconds of each way to learn a model's shapes."""
    framework, size = adapter("keras"), MODELS[name]
    model, error = build(lambda: getattr(keras.applications, name)(weights=None), Recorder(), hollow=True)
    if error is not None:
        raise error
    spec = Spec((32, size, size, 3), "float32")
    sample: Any = type("Sample", (), {"x": spec, "y": None, "weight": None})()
    held = [[jax.ShapeDtypeStruct(v.shape, v.dtype) for v in group] for group in (model.trainable_variables, model.non_trainable_variables)]
    x = jax.ShapeDtypeStruct(spec.shape, spec.dtype)

    def summary() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            model.summary()

    ways: dict[str, Callable[[], Any]] = {
        "settled": lambda: tpushape.trace(model, (spec, None), tpu=None),
        "traced": lambda: run(framework, model, sample, shape=lambda leaf: leaf.shape, fast=False),
        "make_jaxpr": lambda: jax.make_jaxpr(lambda *given: model.stateless_call(*given, training=True))(*held, x),
        "summary": summary,
    }
    found: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(repeat + 1):
        for way, work in ways.items():
            start = time.process_time()
            work()
            found[way].append(time.process_time() - start)
    return {way: statistics.median(times[1:]) for way, times in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    print("| model | settled | traced | make_jaxpr | summary | settled / make_jaxpr | traced / make_jaxpr |")
    print("|---|---|---|---|---|---|---|")
    for name in options.models:
        took = measure(name, options.repeat)
        ratios = [took[way] / took["make_jaxpr"] for way in ("settled", "traced")]
        shown = [f"{took[way]:.3f} s" for way in ("settled", "traced", "make_jaxpr", "summary")]
        print("| " + " | ".join([name, *shown, *(f"{ratio:.2f}" for ratio in ratios)]) + " |", flush=True)


if __name__ == "__main__":
    main()
