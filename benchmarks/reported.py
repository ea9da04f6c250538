"""Programs whose memory on a real TPU somebody has published, compiled here: the TPU's own number beside the compiler's.

``python benchmarks/reported.py [name ...] [--effort quick] [--timeout 600]`` prints one row a program. Models are made again from what the
reports say of them (layers, widths, batch): they are alike and not the same code. Arguments, temporaries and the sum are of one core.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import tensorflow as tf

from jupyter_tpushape.compilers.lowering import lower
from jupyter_tpushape.compilers.process import limits
from jupyter_tpushape.compilers.tpu import answer_of, total
from jupyter_tpushape.compilers.words import needed
from jupyter_tpushape.examine import Program, examine
from jupyter_tpushape.replicas import SLICES, target

L = keras.layers
Build = Callable[[], Any]
LOSS = keras.losses.SparseCategoricalCrossentropy


class Tokens(L.Layer):  # type: ignore[misc]
    """A token's vector and its place's."""

    def __init__(self, words: int, length: int, width: int, **more: Any) -> None:
        super().__init__(**more)
        self.words, self.places, self.length = L.Embedding(words, width), L.Embedding(length, width), length

    def build(self, shape: Any) -> None:
        """Makes both tables."""
        self.words.build(shape)
        self.places.build((self.length,))

    def call(self, x: Any) -> Any:
        """Looks both up."""
        return self.words(x) + self.places(keras.ops.arange(self.length))


def attend(x: Any, other: Any, width: int, heads: int, drop: float, **more: Any) -> Any:
    """Attention with its dropout and residual."""
    normal = L.LayerNormalization()(x)
    heard = L.MultiHeadAttention(heads, width // heads, dropout=drop, flash_attention=False)(normal, normal if other is None else other, **more)
    return x + L.Dropout(drop)(heard)


def feed(x: Any, width: int, inner: int, drop: float) -> Any:
    """The two dense layers of a block."""
    return x + L.Dropout(drop)(L.Dense(width)(L.Dense(inner, "relu")(L.LayerNormalization()(x))))


def encoder(blocks: int, width: int, heads: int, inner: int, words: int, length: int, *, drop: float = 0.1, each: bool = False) -> Build:
    """A stack of blocks with a word (``each``) or a class for an answer."""

    def build() -> Any:
        tokens = L.Input((length,), dtype="int32")
        x = L.Dropout(drop)(Tokens(words, length, width)(tokens))
        for _ in range(blocks):
            x = feed(attend(x, None, width, heads, drop), width, inner, drop)
        model = keras.Model(tokens, L.Dense(words if each else 2)(x if each else x[:, 0]))
        model.compile("adam", LOSS(from_logits=True))
        return model

    return build


def translator(blocks: int, width: int, heads: int, inner: int, words: int, length: int) -> Build:
    """Encoder and decoder of the same depth."""

    def build() -> Any:
        source, target = L.Input((length,), dtype="int32"), L.Input((length,), dtype="int32")
        x = L.Dropout(0.1)(Tokens(words, length, width)(source))
        for _ in range(blocks):
            x = feed(attend(x, None, width, heads, 0.1), width, inner, 0.1)
        x = L.LayerNormalization()(x)
        y = L.Dropout(0.1)(Tokens(words, length, width)(target))
        for _ in range(blocks):
            y = attend(attend(y, None, width, heads, 0.1, use_causal_mask=True), x, width, heads, 0.1)
            y = feed(y, width, inner, 0.1)
        model = keras.Model([source, target], L.Dense(words)(L.LayerNormalization()(y)))
        model.compile("adam", LOSS(from_logits=True))
        return model

    return build


def picture(name: str, size: int, classes: int, policy: str = "float32", *, adam: bool = False) -> Build:
    """One of keras.applications, with momentum or Adam."""

    def build() -> Any:
        keras.config.set_dtype_policy(policy)
        try:
            model = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=classes)
        finally:
            keras.config.set_dtype_policy("float32")
        model.compile("adam" if adam else keras.optimizers.SGD(0.1, momentum=0.9), "sparse_categorical_crossentropy")
        return model

    return build


def pictures(rows: int, size: int) -> Any:
    """Specs of images and classes."""
    return tf.TensorSpec((rows, size, size, 3)), tf.TensorSpec((rows,), tf.int32)


def words(rows: int, length: int, *, each: bool = False, pairs: bool = False) -> Any:
    """Specs of sentences and what is to be said of them."""
    one = tf.TensorSpec((rows, length), tf.int32)
    return (one, one) if pairs else one, (one if each or pairs else tf.TensorSpec((rows,), tf.int32))


# Name: model, batch and length or size, target, what the report says of the TPU, and where.
REPORTS: dict[str, tuple[Build, Any, str, str, str]] = {
    "lingvo-48": (translator(6, 512, 8, 2048, 32000, 100), words(384, 100, pairs=True), "v2-8", "7.83 GiB, of which 6.27 program and 1.05 arguments", "lingvo, Transformer, 48 a core"),
    "lingvo-56": (translator(6, 512, 8, 2048, 32000, 100), words(448, 100, pairs=True), "v2-8", "refused: 8.28 of 8.00 GiB", "lingvo, the same with 56 a core"),
    "trax-16": (translator(6, 512, 8, 2048, 32000, 512), words(128, 512, pairs=True), "v2-8", "refused: 12.64 of 8.00 GiB", "trax#525, Transformer, 16 of length 512 a core"),
    "resnet-128": (picture("ResNet50", 224, 1000), pictures(1024, 224), "v2-8", "runs", "tensorflow/tpu, ResNet50 in Keras, 128 a core"),
    "efficientnet-256": (picture("EfficientNetB0", 224, 1000), pictures(2048, 224), "v2-8", "refused: 8.38 of 8.00 GiB", "tensorflow/tpu#385, EfficientNetB0, 256 a core"),
    "efficientnet-128": (picture("EfficientNetB0", 224, 1000, "mixed_bfloat16"), pictures(1024, 224), "v2-8", "runs", "tensorflow/tpu#385, the same with 128 in bfloat16"),
    "bert-large-2": (encoder(24, 1024, 16, 4096, 30522, 512, each=True), words(16, 512, each=True), "v2-8", "runs", "BERT paper, BERT-large, 2 of length 512 a core"),
    "xlnet-4": (encoder(24, 1024, 16, 4096, 32000, 512, each=True), words(32, 512, each=True), "v3-8", "runs", "xlnet#259, 24 blocks of 1,024, 4 of length 512 a core"),
    "xlnet-8": (encoder(24, 1024, 16, 4096, 32000, 512, each=True), words(64, 512, each=True), "v3-8", "refused", "xlnet#259, the same with 8 a core"),
    "xception-16": (picture("Xception", 512, 104, adam=True), pictures(128, 512), "v3-8", "runs", "Kaggle flowers, Xception, 16 of 512 × 512 a core"),
    "efficientnet-b6-32": (picture("EfficientNetB6", 384, 2, adam=True), pictures(256, 384), "v3-8", "runs", "Kaggle melanoma, EfficientNetB6, 32 of 384 × 384 a core"),
    "efficientnet-b7-16": (picture("EfficientNetB7", 512, 104, adam=True), pictures(128, 512), "v3-8", "runs", "Kaggle flowers, EfficientNetB7, 16 of 512 × 512 a core"),
    "efficientnet-256-bf16": (picture("EfficientNetB0", 224, 1000, "mixed_bfloat16"), pictures(2048, 224), "v2-8", "refused: 8.38 of 8.00 GiB", "tensorflow/tpu#385, EfficientNetB0, 256 a core in bfloat16"),
    "bert-256": (encoder(12, 768, 12, 3072, 30522, 128), words(2048, 128), "v3-8", "runs", "google-research/bert#721, BERT-base, 256 of length 128 a core"),
    "attention-64": (encoder(16, 128, 8, 512, 64, 1232, drop=0.0, each=True), words(512, 1232, each=True), "v5e-8", "refused: 52.85 of 15.75 GiB", "torch_xla, 16 small blocks, 64 of length 1232 a core"),
}  # fmt: skip


def row(name: str, effort: str, timeout: float) -> str:
    """The program's row of the table: its train step alone is compiled."""
    build, data, named, said, where = REPORTS[name]
    start, gib = time.perf_counter(), 2**30
    seen = examine(Program(build(), data, target=target(named)))
    program = lower(seen, only="train")[0]
    if program.error is not None:
        raise program.error
    answer = answer_of(program, seen.program.target, limits(timeout, effort), again=False)
    spent = f"{time.perf_counter() - start:.0f}"
    there, parts = f"{SLICES[named].available_bytes / gib:.2f}", " | "
    needs = needed(str(answer["message"]))[0]
    if answer["ok"]:
        here = f"compiles: {total(answer) / gib:.2f} of {there} GiB"
        parts = f"{answer['arguments'] / gib:.2f} | {answer['temporaries'] / gib:.2f}"
    elif answer["kind"] == "refused" and needs:
        of_temporaries = "temporaries of " if "temporaries" in str(answer["message"]) else ""
        here = f"refused: {of_temporaries}{needs / gib:.2f} of {there} GiB"
    else:
        here = f"no verdict ({answer['kind']})"
    return f"| {where} | {named} | {said} | {here} ({answer['effort']}) | {parts} | {spent} |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(REPORTS))
    parser.add_argument("--effort", default="quick", choices=["quick", "full"])
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one compilation")
    asked = parser.parse_args()
    print("| report | target | on the TPU | here (effort) | GiB: arguments | temporaries | s |\n|---|---|---|---|---|---|---|", flush=True)
    for name in asked.names or REPORTS:
        print(row(name, asked.effort, asked.timeout), flush=True)
        keras.backend.clear_session()


if __name__ == "__main__":
    main()
