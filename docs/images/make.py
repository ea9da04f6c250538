"""Draws the pictures of this folder from real traces.

python docs/images/make.py [name ...]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from playwright.sync_api import Page, sync_playwright

import jupyter_tpushape as tpushape
from jupyter_tpushape.flow import Report

HERE = Path(__file__).parent


def digits(rows: int = 64) -> tf.data.Dataset:
    x, y = np.zeros((256, 28, 28, 1), "float32"), np.zeros((256,), "int32")
    return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(256).batch(rows, drop_remainder=rows == 64).prefetch(2)


def conv_lstm() -> Report:
    def make_model() -> keras.Model:
        model = keras.Sequential(
            [
                keras.Input((28, 28, 1)),
                layers.Conv2D(32, 3, activation="relu"),
                layers.LSTM(64),
                layers.Dense(10, activation="softmax"),
            ]
        )
        model.compile("adam", "sparse_categorical_crossentropy")
        return model

    return tpushape.trace(make_model, digits())


def missing_flatten() -> Report:
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    return tpushape.trace(model, digits())


def uneven() -> Report:
    model = keras.Sequential([keras.Input((28, 28, 1)), layers.Flatten(), layers.Dense(10)], name="classifier")
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return tpushape.trace(model, digits(12))


def bert() -> Report:
    vocabulary, length, width, heads = 30522, 128, 256, 4
    ids = keras.Input((length,), dtype="int32", name="ids")
    mask = keras.Input((length,), dtype="int32", name="mask")
    wide = layers.Reshape((1, length), name="widen")(mask)
    x = layers.Embedding(vocabulary, width, name="tokens")(ids)
    for i in range(12):
        attended = layers.MultiHeadAttention(heads, width // heads, name=f"layer_{i}_attention")(x, x, attention_mask=wide)
        x = layers.LayerNormalization(name=f"layer_{i}_norm1")(layers.Add(name=f"layer_{i}_add1")([x, attended]))
        hidden = layers.Dense(width, name=f"layer_{i}_down")(layers.Dense(4 * width, activation="gelu", name=f"layer_{i}_up")(x))
        x = layers.LayerNormalization(name=f"layer_{i}_norm2")(layers.Add(name=f"layer_{i}_add2")([x, hidden]))
    model = keras.Model([ids, mask], layers.Dense(2, name="classifier")(x[:, 0]), name="bert")
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    rows = np.zeros((64, length), "int32")
    return tpushape.trace(model, ([rows, rows], np.zeros((64,), "int32")), batch_size=64)


def efficientnet() -> Report:
    return tpushape.trace(keras.applications.EfficientNetB7(weights=None), np.zeros((32, 600, 600, 3), "float32"))


def fit(page: Page) -> None:
    page.get_by_role("button", name="Fit everything").click()


def after(page: Page) -> None:
    page.get_by_role("button", name="Before / after").first.click()


def open_block(page: Page) -> None:
    page.get_by_role("searchbox").fill("block3b_se_excite")
    page.keyboard.press("Enter")
    page.get_by_role("tab", name="Outline").click()


PICTURES: dict[str, tuple[Callable[[], Report], dict[str, Any], Callable[[Page], None] | None]] = {
    "conv-lstm": (conv_lstm, {}, None),
    "conv-lstm-dark": (conv_lstm, {"color_scheme": "dark"}, None),
    "conv-lstm-phone": (conv_lstm, {"viewport": {"width": 360, "height": 800}}, None),
    "missing-flatten": (missing_flatten, {}, None),
    "uneven-replicas": (uneven, {}, None),
    "bert": (bert, {}, fit),
    "efficientnet-closed": (efficientnet, {}, None),
    "fix-after": (missing_flatten, {}, after),
    "efficientnet-opened": (efficientnet, {}, open_block),
}


def main() -> None:
    wanted = sys.argv[1:] or list(PICTURES)
    folder = Path(tempfile.mkdtemp())
    found = next((path for name in ("chromium", "google-chrome", "chrome") if (path := shutil.which(name))), None)
    reports: dict[Callable[[], Report], Report] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        for name in wanted:
            make, options, then = PICTURES[name]
            reports.setdefault(make, make())
            path = reports[make].save(folder / "report.html")
            page = browser.new_page(**{"viewport": {"width": 1180, "height": 760}, **options})
            page.goto(path.as_uri())
            page.locator("svg.graph .node").first.wait_for()
            if then:
                then(page)
            page.evaluate("() => document.querySelector('.tpushape-view').shadowRoot.activeElement?.blur()")
            page.wait_for_timeout(500)
            page.screenshot(path=HERE / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
