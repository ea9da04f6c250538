"""The compilers' verdicts on whole models: ``python benchmarks/compilers.py [mlp lstm mobilenet ...] [--framework keras] [--tpu v5e-8]``.

Prints one row a program: seconds to lower and to compile (worker's start included), bytes on one core, and whether it was cached.
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


def programs(keras: Any, tf: Any) -> dict[str, Any]:
    layers = keras.layers
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def mlp() -> Any:
        model = keras.Sequential([layers.Input((784,)), layers.Dense(512, "relu"), layers.Dropout(0.2), layers.Dense(10)])
        model.compile("adam", loss, metrics=["accuracy"])
        return model, (tf.TensorSpec((1024, 784)), tf.TensorSpec((1024,), tf.int32))

    def lstm() -> Any:
        model = keras.Sequential(
            [layers.Input((100,), dtype="int32"), layers.Embedding(20000, 128, mask_zero=True), layers.LSTM(128), layers.Dense(2)]
        )
        model.compile("adam", loss, metrics=["accuracy"])
        return model, (tf.TensorSpec((1024, 100), tf.int32), tf.TensorSpec((1024,), tf.int32))

    def mobilenet() -> Any:
        model = keras.applications.MobileNetV3Small(weights=None, classes=1000, classifier_activation=None)
        model.compile("adam", loss)
        return model, (tf.TensorSpec((1024, 224, 224, 3)), tf.TensorSpec((1024,), tf.int32))

    return {"mlp": mlp, "lstm": lstm, "mobilenet": mobilenet}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=["mlp", "lstm", "mobilenet"])
    parser.add_argument("--framework", action="append", choices=("keras", "tf_keras"))
    parser.add_argument("--tpu", default="v5e-8")
    options = parser.parse_args()
    # A cache of its own: the first verdict is compiled, the second one read.
    os.environ["TPUSHAPE_CACHE"] = tempfile.mkdtemp(prefix="tpushape-bench-")
    import tensorflow as tf

    import jupyter_tpushape as tpushape

    print("| model | framework | program | compile s | arguments | temporaries | code | by shape / laid out | verdict |")
    print("|---|---|---|---|---|---|---|---|---|")
    for framework in options.framework or ["keras", "tf_keras"]:
        made = programs(importlib.import_module(framework), tf)
        for name in options.names:
            model, data = made[name]()
            for again in (False, True):
                start = time.perf_counter()
                report = tpushape.trace(model, data, tpu=options.tpu, compiler="tpu", fixes=False)
                seconds = time.perf_counter() - start
                if again:
                    print(
                        f"| {name} | {framework} | both, cached | {seconds:.1f} in all | | | | | {all(v.cached for v in report.verdicts)} |"
                    )
                    continue
                for verdict in report.verdicts:
                    logical = sum(layer.logical for layer in verdict.layers)
                    laid = sum(layer.bytes for layer in verdict.layers)
                    sizes = f"{verdict.arguments:,} | {verdict.temporaries:,} | {verdict.code:,} | {logical:,} / {laid:,}"
                    print(
                        f"| {name} | {framework} | {verdict.program} | {verdict.seconds:.1f} | {sizes} | {verdict.message[:90]} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
