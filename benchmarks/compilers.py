"""The compilers' verdicts on whole models.

``python benchmarks/compilers.py [lstm bert mobilenet resnet efficientnet mlp] [--framework keras] [--tpu v5e-8 v3-8] [--rows 16] [--keep DIR]``
compiles the forward pass and the train step of each, one at a time, and prints one row a program: seconds of the compilation (worker's start
included), bytes on one core, and the memory that the flow alone suggests over the memory that the compiler gives out. With ``--keep`` the
reports are written there, and what is there is not compiled again.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TPUSHAPE_COMPILE_TIMEOUT", "900")
Build = Callable[[int], tuple[Any, Any]]


def programs(keras: Any, tf: Any) -> dict[str, Build]:
    """Model and data of each name, for a number of rows on all cores."""
    layers = keras.layers
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def mlp(rows: int) -> Any:
        model = keras.Sequential([layers.Input((784,)), layers.Dense(512, "relu"), layers.Dropout(0.2), layers.Dense(10)])
        model.compile("adam", loss, metrics=["accuracy"])
        return model, (tf.TensorSpec((rows, 784)), tf.TensorSpec((rows,), tf.int32))

    def lstm(rows: int) -> Any:
        model = keras.Sequential([layers.Input((100,), dtype="int32"), layers.Embedding(20000, 128, mask_zero=True), layers.LSTM(128), layers.Dense(2)])
        model.compile("adam", loss, metrics=["accuracy"])
        return model, (tf.TensorSpec((rows, 100), tf.int32), tf.TensorSpec((rows,), tf.int32))

    class Positions(layers.Layer):  # type: ignore[name-defined,misc]
        """Adds a learned vector for each place of a sequence."""

        def build(self, shape: Any) -> None:
            self.table = self.add_weight(name="table", shape=tuple(shape[1:]), initializer="zeros")

        def call(self, x: Any) -> Any:
            return x + self.table

    def bert(rows: int, width: int = 256, heads: int = 4, blocks: int = 4, length: int = 128) -> Any:
        tokens = layers.Input((length,), dtype="int32")
        x = layers.LayerNormalization()(Positions()(layers.Embedding(30522, width)(tokens)))
        for _ in range(blocks):
            x = layers.LayerNormalization()(x + layers.MultiHeadAttention(heads, width // heads, dropout=0.1)(x, x))
            x = layers.LayerNormalization()(x + layers.Dense(width)(layers.Dense(4 * width, "gelu")(x)))
        model = keras.Model(tokens, layers.Dense(2)(layers.Dense(width, "tanh")(x[:, 0])))
        model.compile("adam", loss, metrics=["accuracy"])
        return model, (tf.TensorSpec((rows, length), tf.int32), tf.TensorSpec((rows,), tf.int32))

    def application(name: str) -> Build:
        def build(rows: int) -> Any:
            model = getattr(keras.applications, name)(weights=None, classes=1000, classifier_activation=None)
            model.compile("adam", loss)
            return model, (tf.TensorSpec((rows, 224, 224, 3)), tf.TensorSpec((rows,), tf.int32))

        return build

    return {
        "lstm": lstm, "bert": bert, "mobilenet": application("MobileNetV3Small"), "resnet": application("ResNet50"),
        "efficientnet": application("EfficientNetB0"), "mlp": mlp,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["lstm", "bert", "mobilenet", "resnet", "efficientnet"])
    parser.add_argument("--framework", nargs="+", default=["keras", "tf_keras"], choices=("keras", "tf_keras"))
    parser.add_argument("--tpu", nargs="+", default=["v5e-8"])
    parser.add_argument("--rows", type=int, default=16, help="rows on one core")
    parser.add_argument("--keep", help="a folder for the reports")
    options = parser.parse_args()
    keep = Path(options.keep or tempfile.mkdtemp(prefix="tpushape-bench-"))
    keep.mkdir(parents=True, exist_ok=True)
    import tensorflow as tf

    import jupyter_tpushape as tpushape
    from jupyter_tpushape.replicas import target

    print("| model | framework | target | program | compile s | arguments | temporaries | code | estimated ÷ compiled | verdict |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for tpu in options.tpu:
        for name in options.names:
            for framework in options.framework:
                place = keep / f"{name}-{framework}-{tpu}.json"
                if place.exists():
                    report = tpushape.Report.from_json(place.read_text(encoding="utf-8"))
                else:
                    model, data = programs(importlib.import_module(framework), tf)[name](options.rows * target(tpu).replicas)
                    # A cache of its own: the two frameworks' programs may be one.
                    os.environ["TPUSHAPE_CACHE"] = tempfile.mkdtemp(prefix="tpushape-bench-")
                    start = time.perf_counter()
                    report = tpushape.trace(model, data, tpu=tpu, compiler="tpu", fixes=False)
                    report.seconds = time.perf_counter() - start
                    report.save(place)
                _rows(name, framework, tpu, report)


def _rows(name: str, framework: str, tpu: str, report: Any) -> None:
    for verdict in report.verdicts:
        sizes = f"{verdict.arguments:,} | {verdict.temporaries:,} | {verdict.code:,}"
        print(
            f"| {name} | {framework} | {tpu} | {verdict.program} | {verdict.seconds:.1f} | {sizes} | {_ratio(report, verdict)} | {'compiles' if verdict.ok else verdict.message[:120]} |",
            flush=True,
        )


def estimated(report: Any, program: str) -> int:
    """Bytes on one core as one would count them from the flow alone, by shape: weights and data; for the forward pass the largest node's
    tensors; for the train step gradients, Adam's two slots and every tensor between layers, kept for the backward pass."""
    flow = report.flow
    weights = [weight for node in flow.nodes for weight in node.weights]
    held = sum(_bytes(weight.shape, weight.dtype) for weight in weights)
    tensors: dict[tuple[str, Any, str], int] = {}
    around: dict[str, int] = {}
    for edge in flow.edges:
        if not edge.replicas:
            continue
        taken = _bytes(edge.replicas[0].shape, edge.spec.dtype)
        tensors[edge.source, edge.replicas[0].shape, edge.spec.dtype] = taken
        around[edge.target] = around.get(edge.target, 0) + taken
    if program == "train":
        return held + 3 * sum(_bytes(weight.shape, weight.dtype) for weight in weights if weight.trainable) + sum(tensors.values())
    return held + max((around.get(key[0], 0) + taken for key, taken in tensors.items()), default=0)


def _bytes(shape: Any, dtype: str) -> int:
    return math.prod(n or 1 for n in shape or ()) * (int("".join(c for c in dtype if c.isdigit()) or "8") // 8)


def _ratio(report: Any, verdict: Any) -> str:
    if not verdict.ok:
        return ""
    # What is updated in place is counted with the arguments; the code is nothing that a flow could know.
    return f"{estimated(report, verdict.program) / (verdict.arguments + verdict.temporaries):.2f}"


if __name__ == "__main__":
    main()
