"""Draws the pictures of this folder from real traces.

python docs/images/make.py [name ...]
"""

from __future__ import annotations

import linecache
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import readme
from playwright.sync_api import Page, sync_playwright

import jupyter_tpushape as tpushape
from jupyter_tpushape.report import Report

OUT = Path(__file__).parent
# Stands for the README's own code.
README = ""

DIGITS = """
import keras
import numpy as np
import tensorflow as tf
from keras import layers

x = np.zeros((256, 28, 28, 1), "float32")
y = np.zeros((256,), "int32")
"""

CONV_LSTM = f"""{DIGITS}

def data():
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    ds = ds.shuffle(256).batch(64, drop_remainder=True)
    return ds.prefetch(2)


def make():
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
"""

MISSING_FLATTEN = f"""{DIGITS}

def data():
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    ds = ds.shuffle(256).batch(64, drop_remainder=True)
    return ds.prefetch(2)


def make():
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    return model
"""

BERT = """
import keras
import numpy as np
from keras import layers

VOCABULARY, LENGTH, WIDTH, HEADS = 30522, 128, 256, 4


def encoder(x, wide, i):
    attended = layers.MultiHeadAttention(HEADS, WIDTH // HEADS, name=f"layer_{i}_attention")(x, x, attention_mask=wide)
    x = layers.LayerNormalization(name=f"layer_{i}_norm1")(layers.Add(name=f"layer_{i}_add1")([x, attended]))
    hidden = layers.Dense(4 * WIDTH, activation="gelu", name=f"layer_{i}_up")(x)
    hidden = layers.Dense(WIDTH, name=f"layer_{i}_down")(hidden)
    return layers.LayerNormalization(name=f"layer_{i}_norm2")(layers.Add(name=f"layer_{i}_add2")([x, hidden]))


def make():
    ids = keras.Input((LENGTH,), dtype="int32", name="ids")
    mask = keras.Input((LENGTH,), dtype="int32", name="mask")
    wide = layers.Reshape((1, LENGTH), name="widen")(mask)
    x = layers.Embedding(VOCABULARY, WIDTH, name="tokens")(ids)
    for i in range(12):
        x = encoder(x, wide, i)
    pooled = layers.GlobalAveragePooling1D(name="pool")(x)
    model = keras.Model([ids, mask], layers.Dense(2, name="classifier")(pooled), name="bert")
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


rows = np.zeros((64, LENGTH), "int32")
data = ([rows, rows], np.zeros((64,), "int32"))
"""

EFFICIENTNET = """
import keras
import numpy as np


def make():
    return keras.applications.EfficientNetB7(weights=None)


data = np.zeros((32, 600, 600, 3), "float32")
"""


def traced(text: str, folder: Path, **options: Any) -> Report:
    """The report of a program that defines ``make`` and ``data``, as if it stood in train.py."""
    path = folder / "train.py"
    path.write_text(text.lstrip(), encoding="utf-8")
    linecache.checkcache(str(path))
    program: dict[str, Any] = {"__name__": "train", "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), program)
    return tpushape.trace(program["make"], program["data"], **options)


def fit(page: Page) -> None:
    page.get_by_role("button", name="Fit everything").click()


def after(page: Page) -> None:
    page.get_by_role("button", name="Before / after").first.click()


def open_block(page: Page) -> None:
    page.get_by_role("searchbox").fill("block3b_se_excite")
    page.keyboard.press("Enter")
    page.get_by_role("tab", name="Outline").click()


def open_fold(page: Page) -> None:
    page.locator("[data-toggle]").first.click()
    page.locator("[data-toggle]").nth(1).click()
    page.get_by_role("button", name="Fit everything").click()


def blocks(page: Page) -> None:
    page.mouse.move(400, 400)
    page.mouse.wheel(0, 560)


@dataclass
class Still:
    program: str
    page: dict[str, Any] = field(default_factory=dict)
    then: Callable[[Page], None] | None = None
    options: dict[str, Any] = field(default_factory=dict)


PICTURES = {
    "conv-lstm": Still(README),
    "conv-lstm-dark": Still(CONV_LSTM, {"color_scheme": "dark"}),
    "conv-lstm-phone": Still(CONV_LSTM, {"viewport": {"width": 360, "height": 800}}),
    "missing-flatten": Still(MISSING_FLATTEN),
    "uneven-replicas": Still(README),
    "bert": Still(BERT, then=fit, options={"batch_size": 64}),
    "efficientnet-closed": Still(EFFICIENTNET, then=blocks),
    "fix-after": Still(MISSING_FLATTEN, then=after),
    "efficientnet-opened": Still(EFFICIENTNET, then=open_block),
}


def main() -> None:
    wanted = sys.argv[1:] or list(PICTURES)
    folder = Path(tempfile.mkdtemp())
    found = next((path for name in ("chromium", "google-chrome", "chrome") if (path := shutil.which(name))), None)
    reports: dict[str, Report] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        for name in wanted:
            still = PICTURES[name]
            keras.backend.clear_session()
            if still.program not in reports:
                reports[still.program] = traced(still.program, folder, **still.options) if still.program else readme.shown(name)[0]
            report = reports.pop(README) if still.program == README else reports[still.program]
            path = report.save(folder / "report.html")
            page = browser.new_page(**{"viewport": {"width": 1180, "height": 760}, **still.page})
            page.goto(path.as_uri())
            page.locator("svg.graph .node").first.wait_for()
            if still.then:
                still.then(page)
            page.evaluate("() => document.querySelector('.tpushape-view').shadowRoot.activeElement?.blur()")
            page.mouse.move(5, 5)
            page.wait_for_timeout(500)
            page.screenshot(path=OUT / f"{name}.png")
            if still.program == README:
                readme.keep(OUT / f"{name}.png", readme.drawn(report))
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
