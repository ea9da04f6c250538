"""Unsigned integers that wrap around in the code that makes the data: seen as it runs, and told only where values did."""

from __future__ import annotations

import sys

import pytest
from strangers import serious, traced

MODEL = """
def load():
    images = np.arange(64 * 48, dtype="uint8").reshape(64, 4, 4, 3)
    return images, np.arange(64) % 5

def scaled(images):
    {line}
    return images.astype("float32")

def build():
    model = keras.Sequential([keras.Input((4, 4, 3)), layers.Flatten(), layers.Dense(5)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model

def data():
    images, labels = load()
    return scaled(images) / 255.0, labels
"""
WRONG = {
    "a number": ("images = images - 128", 'images.astype("float32") - 128'),
    "two arrays": ("images = (images + images[::-1]) / 2", '(images.astype("float32") + images[::-1]) / 2'),
    "a product": ("images = 2 * images", '2 * images.astype("float32")'),
    "parts": ("images = images[:, 1:] - images[:, :-1]; images = np.pad(images, ((0, 0), (0, 1), (0, 0), (0, 0)))", 'images[:, 1:].astype("float32") - images'),
    "after a cast of the result": ("images = (images - 128).astype('float32')", '(images.astype("float32") - 128).astype'),
}


@pytest.mark.parametrize(("line", "fixed"), WRONG.values(), ids=WRONG)
def test_what_wraps_around_is_told_with_the_values(tmp_path, line, fixed):
    (finding,) = serious(traced(tmp_path, MODEL.format(line=line)))
    assert finding.rule == "unsigned-difference"
    assert finding.fact.dtype == "uint8" and finding.fact.made != finding.fact.meant
    assert finding.fixes[0].proof == "source"
    assert fixed in finding.fixes[0].patch


RIGHT = {
    "a cast before": "images = images.astype('float32') - 128",
    "floats": "images = images - 127.5",
    "what stays in range": "images = 255 - images",
    "zeros and ones": "images = (images > 3).astype('uint8') + (images > 7).astype('uint8')",
    "meant to wrap": "images = (images + 7) % 100",
    "bits": "images = (images * 3) & 7",
    "a mean": "images = images - images.mean()",
    "wider integers": "images = images.astype('int16') - 128",
}


@pytest.mark.parametrize("line", RIGHT.values(), ids=RIGHT)
def test_what_does_not_is_clean(tmp_path, line):
    before = sys.gettrace()
    assert not serious(traced(tmp_path, MODEL.format(line=line)))
    assert sys.gettrace() is before


ROWS = (
    MODEL.replace("    return scaled(images) / 255.0, labels", "    return Rows(*load())")
    + """
class Rows(keras.utils.PyDataset):
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y
    def __len__(self):
        return 2
    def __getitem__(self, index):
        here = slice(index * 32, (index + 1) * 32)
        mixed = {mixed}
        return mixed / 255.0, self.y[here]
"""
)


def test_a_batch_of_a_dataset_is_watched_too(tmp_path):
    (finding,) = serious(traced(tmp_path, ROWS.format(line="pass", mixed="(self.x[here] + self.x[here][::-1]) / 2")))
    assert finding.rule == "unsigned-difference"
    assert 'self.x[here].astype("float32") + self.x[here][::-1]' in finding.fixes[0].patch
    assert not serious(traced(tmp_path, ROWS.format(line="pass", mixed="self.x[here]")))
