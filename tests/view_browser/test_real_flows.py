"""The layout of real models with everything open, read off the exported picture."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import layers

from jupyter_tpushape import trace

from .conftest import Open

SVG = "{http://www.w3.org/2000/svg}"


def images(size: int) -> np.ndarray:
    return np.zeros((16, size, size, 3), "float32")


def bert() -> tuple[Any, Any]:
    ids = keras.Input((32,), dtype="int32", name="ids")
    mask = keras.Input((32,), dtype="int32", name="mask")
    wide = layers.Reshape((1, 32), name="widen")(mask)
    x = layers.Embedding(100, 16, name="tokens")(ids)
    for i in range(12):
        attended = layers.MultiHeadAttention(2, 8, name=f"layer_{i}_attention")(x, x, attention_mask=wide)
        x = layers.LayerNormalization(name=f"layer_{i}_norm1")(layers.Add(name=f"layer_{i}_add1")([x, attended]))
        hidden = layers.Dense(16, name=f"layer_{i}_down")(layers.Dense(64, name=f"layer_{i}_up")(x))
        x = layers.LayerNormalization(name=f"layer_{i}_norm2")(layers.Add(name=f"layer_{i}_add2")([x, hidden]))
    model = keras.Model([ids, mask], layers.Dense(2, name="classifier")(x[:, 0]), name="bert")
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    rows = np.zeros((64, 32), "int32")
    return model, ([rows, rows], np.zeros((64,), "int32"))


def unet() -> tuple[Any, Any]:
    source = x = keras.Input((64, 64, 3))
    skips = []
    for k in range(4):
        x = layers.Conv2D(8, 3, padding="same", name=f"down{k}_conv")(x)
        skips.append(x)
        x = layers.MaxPooling2D(name=f"down{k}_pool")(x)
    for k in reversed(range(4)):
        x = layers.Concatenate(name=f"up{k}_concat")([layers.UpSampling2D(name=f"up{k}_sample")(x), skips[k]])
        x = layers.Conv2D(8, 3, padding="same", name=f"up{k}_conv")(x)
    model = keras.Model(source, layers.Conv2D(1, 1, name="mask")(x), name="unet")
    model.compile("adam", "mse")
    return model, (images(64), np.zeros((16, 64, 64, 1), "float32"))


def siamese() -> tuple[Any, Any]:
    left, right = keras.Input((32, 32, 3), name="left"), keras.Input((32, 32, 3), name="right")
    tower = keras.Sequential(
        [keras.Input((32, 32, 3)), layers.Conv2D(8, 3), layers.GlobalAveragePooling2D(), layers.Dense(4)], name="tower"
    )
    apart = layers.Subtract()([tower(left), tower(right)])
    model = keras.Model(
        [left, right], {"same": layers.Dense(1, name="same")(apart), "kind": layers.Dense(5, name="kind")(apart)}, name="siamese"
    )
    model.compile("adam", {"same": "mse", "kind": "mse"})
    return model, ([images(32)] * 2, {"same": np.zeros((16, 1), "float32"), "kind": np.zeros((16, 5), "float32")})


MODELS = {
    "ResNet50": lambda: (keras.applications.ResNet50(weights=None), images(224)),
    "InceptionV3": lambda: (keras.applications.InceptionV3(weights=None), images(299)),
    "NASNetMobile": lambda: (keras.applications.NASNetMobile(weights=None), images(224)),
    "EfficientNetB0": lambda: (keras.applications.EfficientNetB0(weights=None), images(224)),
    "BERT": bert,
    "U-Net": unet,
    "siamese with two heads": siamese,
}


def boxes_of(root: ET.Element) -> list[tuple[str, bool, tuple[float, float, float, float]]]:
    found = []
    for group in root.iter(f"{SVG}g"):
        kinds = (group.get("class") or "").split()
        if not kinds or kinds[0] != "node":
            continue
        x, y = (float(value) for value in re.findall(r"-?[\d.]+", group.get("transform") or ""))
        body = next(one for one in group.iter(f"{SVG}rect") if one.get("class") == "body")
        found.append(
            (str(group.get("data-id")), "open" in kinds, (x, y, x + float(body.get("width", 0)), y + float(body.get("height", 0))))
        )
    return found


@pytest.mark.parametrize("name", list(MODELS))
def test_nothing_overlaps_and_no_edge_goes_up(page_of: Open, tmp_path: Path, name: str) -> None:
    report = trace(*MODELS[name]())
    page = page_of(report)
    page.get_by_role("button", name="Open everything").click()
    page.get_by_role("button", name="export").click()
    with page.expect_download() as loading:
        page.get_by_role("menuitem", name="SVG of all that is open").click()
    loading.value.save_as(tmp_path / "flow.svg")
    root = ET.parse(tmp_path / "flow.svg").getroot()
    boxes = boxes_of(root)
    shown = {name for name, _, _ in boxes}
    assert {node.id for node in report.flow.nodes} <= shown
    leaves = sorted(((area, node) for node, is_open, area in boxes if not is_open), key=lambda one: one[0][1])
    over = []
    for i, (a, first) in enumerate(leaves):
        for b, second in leaves[i + 1 :]:
            if b[1] >= a[3]:
                break
            if a[0] < b[2] and b[0] < a[2]:
                over.append((first, second))
    assert over == []
    up = []
    for path in root.iter(f"{SVG}path"):
        if path.get("class") != "stroke" or "L" in str(path.get("d")):
            continue
        ys = [float(y) for y in re.findall(r"(?:[M ][-\d.]+ |V)(-?[\d.]+)(?=[A-Z]|$)", str(path.get("d")))]
        assert len(ys) >= 2
        if any(later < earlier - 0.01 for earlier, later in pairwise(ys)):
            up.append(path.get("d"))
    assert up == []
