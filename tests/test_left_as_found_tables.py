"""A fix is tried by running definitions again: tables into which they enter themselves hold afterwards what the user's own entered."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tf_keras

import jupyter_tpushape as tpushape

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])
PROGRAM = """
import {lib} as keras
import numpy as np
import tensorflow as tf

L = keras.layers
TABLE, ORDER, SEEN = {{}}, [], set()


class Registry:
    def __init__(self):
        self.items = {{}}

    def add(self, entry):
        self.items[entry.__name__] = entry
        return entry


REGISTRY = Registry()


def register(name):
    def inner(entry):
        TABLE[name] = entry
        ORDER.append(entry)
        SEEN.add(entry)
        return entry

    return inner


class Base(L.Layer):
    kinds = []

    def __init_subclass__(cls, **more):
        super().__init_subclass__(**more)
        Base.kinds.append(cls)


@keras.{home}.register_keras_serializable("mine")
class Mean(Base):
    def call(self, x):
        return tf.reduce_mean(x, axis=0, keepdims=True)


@register("a")
@REGISTRY.add
def build():
    model = keras.Sequential([keras.Input((10, 5)), L.LSTM(6{first}, name="first"), L.LSTM(4, name="second"), Mean(), L.Dense(1)])
    model.compile("sgd", "mse")
    return model


def data():
    return np.zeros((16, 10, 5), "float32"), np.zeros((16, 1), "float32")
"""


@pytest.mark.parametrize("home", ["saving", "utils"])
@pytest.mark.parametrize("broken", ["in the builder", "in the class"])
@BOTH
def test_tables_hold_the_users_own_after_fixes_were_tried(lib: Any, broken: str, home: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    first = ", return_sequences=True" if broken == "in the class" else ""
    path.write_text(PROGRAM.format(lib=lib.__name__, first=first, home=home))
    names: dict[str, Any] = {"__name__": "program", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), names)
    report = tpushape.trace(names["build"], names["data"], tpu=None)
    assert report.findings[0].fixes[0].proof == "source"
    report.findings[0].fixes[0].rebuild()
    build, mean = names["build"], names["Mean"]
    assert names["TABLE"] == {"a": build}
    assert names["ORDER"] == [build]
    assert names["SEEN"] == {build}
    assert names["REGISTRY"].items == {"build": build}
    assert names["Base"].kinds == [mean]
    assert lib.saving.get_registered_object("mine>Mean") is mean


@BOTH
def test_a_configuration_that_never_comes_is_waited_for_once(lib: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("TPUSHAPE_TIMEOUT", "1")

    class Slow(lib.layers.Layer):
        def call(self, x: Any) -> Any:
            return x * 2.0

        def get_config(self) -> Any:
            time.sleep(30)

    def build() -> Any:
        model = lib.Sequential([lib.Input((4,)), Slow(), Slow(), Slow(), lib.layers.Dense(1)])
        model.compile("sgd", "mse")
        return model

    start = time.monotonic()
    report = tpushape.trace(build, (np.zeros((8, 4), "float32"), np.zeros((8, 1), "float32")), tpu=None)
    assert report.ok, repr(report)
    assert time.monotonic() - start < 25
