"""Layout maps, right and wrong, on eight virtual devices: what Keras and JAX do, beside what is said of them before.

Run by itself with ``XLA_FLAGS=--xla_force_host_platform_device_count=8``: ``python eight_devices.py MODELS MAPS SEED`` prints a line of JSON.
"""

from __future__ import annotations

import json
import random
import re
import sys

import jax
import keras
import numpy as np
from keras import distribution as D  # noqa: N812
from keras import layers as L  # noqa: N812
from keras import ops

import jupyter_tpushape as tpushape
from jupyter_tpushape.replicas.layouts import planned

MESHES = ({"batch": 8}, {"batch": 2, "model": 4}, {"batch": 4, "model": 2}, {"batch": 1, "model": 8}, {"batch": 2, "model": 2, "expert": 2})


class Block(L.Layer):
    def __init__(self, width, **options):
        super().__init__(**options)
        self.up, self.down, self.norm = (L.Dense(4 * width, activation="gelu", name="up"), L.Dense(width, name="down"), L.LayerNormalization())

    def call(self, x):
        return x + self.down(self.up(self.norm(x)))


def mlp():
    return keras.Sequential([keras.Input((32,)), L.Dense(64, name="up"), L.Dense(24, name="down"), L.Dense(8, name="head")])


def residual():
    x = inputs = keras.Input((32,))
    y = L.Dense(32, name="right")(L.Dense(128, activation="relu", name="left")(x))
    return keras.Model(inputs, L.Dense(10, name="head")(L.Add()([x, y])))


def convolution():
    return keras.Sequential(
        [keras.Input((16, 16, 3)), L.Conv2D(16, 3, name="first"), L.BatchNormalization(), L.ReLU(), L.Conv2D(32, 3, name="second"),
         L.GlobalAveragePooling2D(), L.Dense(8, name="head")]
    )  # fmt: skip


def separable():
    return keras.Sequential([keras.Input((16, 16, 8)), L.SeparableConv2D(16, 3, name="first"), L.Flatten(), L.Dense(16, name="head")])


def recurrent():
    return keras.Sequential([keras.Input((12,), dtype="int32"), L.Embedding(64, 16, name="table"), L.LSTM(32, name="cell"), L.Dense(8, name="head")])


def both_ways():
    return keras.Sequential([keras.Input((12, 8)), L.Bidirectional(L.GRU(16, name="cell"), name="both"), L.Dense(8, name="head")])


def attention():
    inputs = keras.Input((16, 32))
    x = L.MultiHeadAttention(8, 4, name="attend")(inputs, inputs)
    return keras.Model(inputs, L.Dense(8, name="head")(L.GlobalAveragePooling1D()(L.LayerNormalization()(x + inputs))))


def decoder():
    tokens = keras.Input((16,), dtype="int32")
    x = L.Embedding(64, 32, name="table")(tokens)
    for i in range(2):
        x = Block(32, name=f"block_{i}")(x)
    return keras.Model(tokens, L.Dense(64, name="head")(x))


def einsum():
    inputs = keras.Input((16, 32))
    x = L.EinsumDense("btd,dhk->bthk", (None, 8, 4), name="split")(inputs)
    x = L.EinsumDense("bthk,hkd->btd", (None, 32), name="merge")(x)
    return keras.Model(inputs, L.Dense(8, name="head")(ops.mean(x, axis=1)))


def two_ends():
    left, right = keras.Input((16,)), keras.Input((24,))
    x = L.Concatenate()([L.Dense(32, name="one")(left), L.Dense(32, name="two")(right)])
    return keras.Model([left, right], [L.Dense(8, name="head")(x), L.Dense(1, name="score")(x)])


BUILDERS = (mlp, residual, convolution, separable, recurrent, both_ways, attention, decoder, einsum, two_ends)


def rows(model):
    made = [np.zeros((16, *(n or 12 for n in one.shape[1:])), one.dtype) for one in model.inputs]
    return made[0] if len(made) == 1 else made


def right(kernels, sizes, random_):
    """A map that holds: some of the model's kernels, cut along an axis that divides."""
    axes = [axis for axis in sizes if axis != "batch" and sizes[axis] > 1]
    chosen = {}
    for path, shape in kernels:
        places = [i for i, n in enumerate(shape) if axes and n % sizes[axes[0]] == 0]
        if places and random_.random() < 0.8:
            place = random_.choice(places)
            chosen[".*" + "/".join(path.split("/")[-2:])] = tuple(axes[0] if i == place else None for i in range(len(shape)))
    return {key: axes for key, axes in chosen.items() if sum(re.fullmatch(key, path) is not None for path, _ in kernels) >= 1}


def wrong(kind, entries, kernels, sizes, random_):
    """The map with one fault of a kind in it, or ``None`` where it has no place for one."""
    axis = next((name for name in sizes if name != "batch" and sizes[name] > 1), None)
    if axis is None or not entries:
        return None
    key = random_.choice(list(entries))
    rest = {name: laid for name, laid in entries.items() if name != key}
    fitting = [shape for path, shape in kernels if re.fullmatch(key, path)]
    if kind == "unanchored" and "/" in key:
        deep = all("/" in path.replace(key.removeprefix(".*"), "", 1) for path, _ in kernels if re.fullmatch(key, path))
        return {**rest, key.removeprefix(".*"): entries[key]} if deep else None
    if kind == "dotted" and key.endswith("/kernel"):
        return {**rest, key.removeprefix(".*").replace("/kernel", "/kern"): entries[key]}
    if kind == "twice":
        return {**entries, f".*{key.rsplit('/', 1)[-1]}": entries[key]}
    if kind == "long":
        return {**rest, key: (*entries[key], *[None] * (max(map(len, fitting)) - len(entries[key]) + 1))}
    if kind == "same axis" and len(fitting[0]) > 1:
        return {**rest, key: tuple(axis for _ in fitting[0])}
    if kind == "indivisible":
        for path, shape in kernels:
            for place, size in enumerate(shape):
                if size % sizes[axis]:
                    name = ".*" + "/".join(path.split("/")[-2:])
                    return {**{k: v for k, v in entries.items() if k != name}, name: tuple(axis if i == place else None for i in range(len(shape)))}
    return None


KINDS = ("unanchored", "dotted", "twice", "long", "same axis", "indivisible")


def really(build, sizes, entries):
    """What Keras and JAX do: the model on real devices, or the exception."""
    keras.utils.clear_session()
    mesh = D.DeviceMesh(tuple(sizes.values()), list(sizes), devices=D.list_devices("cpu")[:8])
    layout = D.LayoutMap(mesh)
    try:
        for key, axes in entries.items():
            layout[key] = axes
        distribution = D.ModelParallel(layout_map=layout) if len(sizes) > 1 else D.DataParallel(device_mesh=mesh)
        with distribution.scope():
            return build(), distribution, None
    except Exception as error:
        return None, None, error


def activations(model, distribution):
    """The shape that each device holds of what each layer gives, as JAX lays it."""
    inner = keras.Model(model.inputs, [layer.output for layer in model.layers])
    data = jax.tree.map(lambda one: jax.device_put(one, distribution.get_data_layout(one.shape).backend_layout), rows(model))
    state = [[one.value for one in group] for group in (inner.trainable_variables, inner.non_trainable_variables)]
    with distribution.scope():
        outputs = jax.jit(lambda state, x: inner.stateless_call(*state, x, training=False)[0])(state, data)
    return {layer.name: made.sharding.shard_shape(made.shape) for layer, made in zip(model.layers, outputs, strict=True)}


def main(models, maps, seed):
    random_ = random.Random(seed)
    told = {
        "faults": 0,
        "fixes": 0,
        "mended": 0,
        "raise": 0,
        "foretold": 0,
        "silent": 0,
        "seen": 0,
        "right": 0,
        "false": 0,
        "weights": 0,
        "activations": 0,
        "unknown": 0,
    }
    wrongly = []
    for build in BUILDERS[:models]:
        keras.utils.clear_session()
        plain = build()
        kernels = [(one.path, tuple(one.shape)) for one in plain.trainable_variables if len(one.shape) > 1]
        for sizes in MESHES:
            for number in range(maps):
                entries = right(kernels, sizes, random_) if len(sizes) > 1 else {}
                judge(build, plain, sizes, entries, None, told, wrongly, deep=number == 0)
                for kind in KINDS if number == 0 else random_.sample(KINDS, 2):
                    broken = wrong(kind, entries, kernels, sizes, random_)
                    if broken is not None:
                        judge(build, plain, sizes, broken, kind, told, wrongly)
    print(json.dumps({**told, "wrong": wrongly}))


def judge(build, plain, sizes, entries, kind, told, wrongly, deep=False):
    """Compares what is said with what happens."""
    where = f"{build.__name__} {sizes} {entries} {kind}"
    keras.utils.clear_session()
    report = tpushape.trace(build, rows(plain), tpu=None, strategy=planned(sizes, entries or None))
    rules = [finding.rule for finding in report.findings if finding.serious]
    model, distribution, error = really(build, sizes, entries)
    if error is not None:
        told["faults"] += 1
        told["raise"] += 1
        told["foretold"] += bool(rules)
        if not rules:
            wrongly.append(f"not foretold: {where}: {error}"[:400])
        # A verified fix is really built.
        for fix in [fix for finding in report.findings for fix in finding.fixes if fix.verified]:
            told["fixes"] += 1
            _, _, again = really(build, sizes, changed(entries, fix))
            told["mended"] += again is None
            if again is not None:
                wrongly.append(f"not mended: {where}: {fix.title}: {again}"[:400])
    elif kind in ("unanchored", "dotted"):
        told["faults"] += 1
        told["silent"] += 1
        told["seen"] += "layout-key" in rules
        if "layout-key" not in rules:
            wrongly.append(f"not seen: {where}")
    elif kind is None or not rules:
        told["right"] += 1
        told["false"] += bool(rules)
        if rules:
            wrongly.append(f"false alarm: {where}: {rules}")
        if deep:
            compare(report, model, distribution, told, wrongly, where)
    else:
        told["right"] += 1
        told["false"] += 1
        wrongly.append(f"false alarm: {where}: {rules}")


def changed(entries, fix):
    """The map with a fix's edits in it."""
    made = {edit.detail["key"]: edit.detail for edit in fix.edits}
    entries = {**entries, **({"": ()} if "" in made else {})}
    return {made[key]["to"] if key in made else key: tuple(made[key]["axes"]) if key in made else axes for key, axes in entries.items()}


def compare(report, model, distribution, told, wrongly, where):
    """Every weight's and every activation's share."""
    shards = {(one.path.rsplit("/", 1)[-1], tuple(one.shape)): [] for one in model.variables}
    for one in model.variables:
        shards[one.path.rsplit("/", 1)[-1], tuple(one.shape)].append(tuple(one.value.sharding.shard_shape(one.value.shape)))
    for node in report.flow.nodes:
        for weight in node.weights:
            told["weights"] += 1
            if weight.shard not in shards.get((weight.name, weight.shape), [()]):
                wrongly.append(f"weight: {where}: {node.name} {weight.name} {weight.shard}")
    real = activations(model, distribution)
    for node in report.flow.nodes:
        edges = [edge for edge in report.flow.out_of(node.id) if node.kind == "layer" and edge.label != "mask"]
        if node.name not in real or node.parent or not edges:
            continue
        if not edges[0].replicas:
            told["unknown"] += 1
            continue
        told["activations"] += 1
        if edges[0].replicas[0].shape != real[node.name]:
            wrongly.append(f"activation: {where}: {node.name} {edges[0].replicas[0].shape} {edges[0].layout}, really {real[node.name]}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
