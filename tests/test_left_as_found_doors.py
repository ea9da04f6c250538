"""Unloading takes out our wrappers alone, whoever wrapped the same doors before us or since."""

from __future__ import annotations

import functools
import inspect

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import jupyter_tpushape as tpushape
from jupyter_tpushape.trace import frameworks

BOTH = pytest.mark.parametrize("lib", [keras, tf_keras], ids=["keras", "tf_keras"])


def classes(lib):
    """The classes whose methods may be wrapped, and every attribute that stands in one."""
    made = lib.Sequential([lib.Input((2,)), lib.layers.Dense(1)])
    functional = lib.Model(made.inputs, made.outputs)
    some = (lib.layers.InputLayer, lib.losses.Loss, lib.metrics.Metric, lib.optimizers.Adam, lib.optimizers.Optimizer, lib.Variable if lib is keras else tf.Variable)  # fmt: skip
    owners = {*type(made).__mro__, *type(functional).__mro__, *(base for one in some for base in one.__mro__)} - {object}
    return {(owner, name): value for owner in owners for name, value in vars(owner).items() if not name.startswith(("_abc", "__"))} | {
        (owner, name): vars(owner)[name] for owner in owners for name in ("__init__", "__call__", "__setattr__") if name in vars(owner)
    }


def wrapped(lib):
    """The doors that are wrapped while the product is loaded."""
    frameworks.uninstall()
    before = classes(lib)
    frameworks.adapter(lib.__name__)
    now = classes(lib)
    frameworks.uninstall()
    assert classes(lib) == before
    return [key for key, value in before.items() if now[key] is not value]


def around(beneath, told):
    @functools.wraps(beneath)
    def theirs(self, *args, **kwargs):
        told.append(beneath)
        return beneath(self, *args, **kwargs)

    # Keras reads a constructor's own arguments, and looks at no function beneath it.
    theirs.__signature__ = inspect.signature(beneath)
    return theirs


@BOTH
@pytest.mark.parametrize("since", [True, False], ids=["after us", "before us"])
def test_wrappers_of_others_stay_on_every_door(lib, since):
    doors = wrapped(lib)
    assert len(doors) > 12
    originals = {(owner, name): owner.__dict__[name] for owner, name in doors}
    told, theirs = [], {}
    try:
        if since:
            frameworks.adapter(lib.__name__)
        for owner, name in doors:
            theirs[owner, name] = around(owner.__dict__[name], told)
            setattr(owner, name, theirs[owner, name])
        for _ in range(2):
            report = tpushape.trace(lambda: lib.Sequential([lib.Input((3,)), lib.layers.Dense(2, name="own")]), np.zeros((8, 3), "float32"), tpu=None)
            # However often it was taken out and put in again, each call is recorded once.
            assert [node.name for node in report.flow.nodes if node.kind == "layer"] == ["own"]
            frameworks.uninstall()
            assert [key for key, value in theirs.items() if key[0].__dict__[key[1]] is not value] == []
        told.clear()
        model = lib.Sequential([lib.Input((3,)), lib.layers.Dense(2)])
        model.compile("sgd", "mse")
        model.fit(np.zeros((8, 3)), np.zeros((8, 2)), verbose=0)
        assert told
    finally:
        for (owner, name), value in originals.items():
            setattr(owner, name, value)
        for hooks in (one.hooks for one in frameworks._FRAMEWORKS.values()):
            hooks._originals.clear()
            hooks._beneath.clear()
    assert wrapped(lib) == doors


@BOTH
def test_one_door_wrapped_since_keeps_no_other(lib):
    doors = wrapped(lib)
    originals = {(owner, name): owner.__dict__[name] for owner, name in doors}
    for owner, name in doors:
        frameworks.adapter(lib.__name__)
        ours = owner.__dict__[name]
        theirs = around(ours, [])
        setattr(owner, name, theirs)
        frameworks.uninstall()
        changed = [key for key, value in originals.items() if key[0].__dict__[key[1]] is not value]
        assert changed == [(owner, name)]
        # They go too: what they found is put back, is taken up again, and goes with us the next time.
        setattr(owner, name, ours)
        frameworks.adapter(lib.__name__)
        frameworks.uninstall()
        assert owner.__dict__[name] is originals[owner, name]
