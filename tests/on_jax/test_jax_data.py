"""What fit takes on JAX besides arrays: loaders by the protocol that Keras itself uses."""

from __future__ import annotations

import keras
import numpy as np
import pytest

import jupyter_tpushape as tpushape

L = keras.layers


def build():
    model = keras.Sequential([keras.Input((8,)), L.Dense(4), L.Dense(3, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


class Torchs:
    """Iterates as Torch's loader does: pairs are lists, and each pass begins anew."""

    def __init__(self, width):
        self.width, self.passes = width, 0

    def __len__(self):
        return 3

    def __iter__(self):
        self.passes += 1
        for _ in range(3):
            yield [np.zeros((16, self.width), "float32"), np.zeros((16,), "int32")]


Torchs.__name__, Torchs.__module__ = "DataLoader", "torch.utils.data.dataloader"


class Rows(keras.utils.PyDataset):
    def __init__(self, width):
        super().__init__()
        self.width = width

    def __len__(self):
        return 3

    def __getitem__(self, index):
        return np.zeros((16, self.width), "float32"), np.zeros((16,), "int32")


def grain(width):
    loader = pytest.importorskip("grain")
    return loader.MapDataset.source([(np.zeros(width, "float32"), np.int32(0)) for _ in range(48)]).batch(16)


def iter_of(width):
    return ((np.zeros((16, width), "float32"), np.zeros((16,), "int32")) for _ in range(3))


@pytest.mark.parametrize("make", [Torchs, Rows, grain, iter_of], ids=["torch", "pydataset", "grain", "generator"])
def test_what_brings_batches_is_sampled_and_a_wrong_width_is_found(make):
    right = tpushape.trace(build, make(8), tpu=None)
    assert right.ok, right
    assert [edge.spec.shape for edge in right.flow.edges if edge.spec.dtype == "float32"][-1] == (16, 3)
    wrong = tpushape.trace(build, make(9), tpu=None)
    (finding,) = [one for one in wrong.findings if one.serious]
    assert finding.rule == "input-axis"
    assert finding.fixes[0].verified


def test_a_loader_can_be_passed_over_again():
    loader = Torchs(8)
    tpushape.trace(build, loader, tpu=None)
    assert len(list(loader)) == 3


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.zeros((32, 8), ">f4"), "stored in another byte order (>f4), which JAX does not support: use x.astype('float32')"),
        (np.ma.masked_array(np.zeros((32, 8), "f4"), mask=True), "a masked array, which JAX does not support: use x.filled(0)"),
    ],
    ids=["another byte order", "a mask"],
)
def test_what_numpy_holds_and_jax_does_not(rows, words):
    labels = np.zeros(32, "int32")
    (finding,) = [one for one in tpushape.trace(build, (rows, labels), tpu=None).findings if one.serious]
    assert finding.rule == "data-misfit" and words in finding.message
    with pytest.raises((TypeError, ValueError)):
        build().fit(rows, labels, verbose=0)


def test_floats_of_another_width_are_cast_into_order():
    rows, labels = np.zeros((32, 8), ">f8"), np.zeros(32, "int32")
    assert tpushape.trace(build, (rows, labels), tpu=None).ok
    build().fit(rows, labels, verbose=0)
