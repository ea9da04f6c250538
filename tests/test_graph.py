"""Where sizes come from: the algebra of axes gives what the frameworks' layers give, for random stacks and other sizes of the data."""

from __future__ import annotations

import importlib
import random
from typing import Any

import numpy as np
import pytest
import tf_keras
from programs import example

import jupyter_tpushape as tpushape
from jupyter_tpushape.examine import Program, examine
from jupyter_tpushape.graph import Axis, Size, evaluate, step
from jupyter_tpushape.trace.config import size_arguments

STACKS = 1200  # of each framework


def spatial(rng: random.Random, rank: int) -> tuple[str, dict[str, Any]]:
    """A layer that works on ``rank`` axes between batch and channels, as its class and arguments."""

    def each(low: int, high: int) -> Any:
        return rng.randint(low, high) if rng.random() < 0.5 else tuple(rng.randint(low, high) for _ in range(rank))

    padding = rng.choice(["valid", "same"])
    match rng.choice(["conv", "conv", "dilated", "pool", "pool", "mean", "transposed", "transposed", "up", "pad", "crop", "depth"]):
        case "conv":
            return f"Conv{rank}D", {"filters": rng.randint(1, 9), "kernel_size": each(1, 5), "strides": each(1, 3), "padding": padding}
        case "dilated":
            return f"Conv{rank}D", {"filters": 3, "kernel_size": each(1, 4), "dilation_rate": each(1, 3), "padding": padding}
        case "pool":
            return f"MaxPooling{rank}D", {"pool_size": each(1, 3), "strides": rng.choice([None, each(1, 3)]), "padding": padding}
        case "mean":
            return f"AveragePooling{rank}D", {"pool_size": each(1, 3), "padding": padding}
        case "transposed":
            strides = rng.randint(2, 3)
            extra = rng.choice([None, None, rng.randint(0, strides - 1)])
            return f"Conv{rank}DTranspose", {
                "filters": 4, "kernel_size": rng.randint(strides, 5), "strides": strides, "padding": padding, "output_padding": extra,
            }  # fmt: skip
        case "up":
            return f"UpSampling{rank}D", {"size": rng.randint(1, 3)}
        case "pad":
            both = [(rng.randint(0, 3), rng.randint(0, 3)) for _ in range(rank)]
            return f"ZeroPadding{rank}D", {"padding": both[0] if rank == 1 else tuple(both)}
        case "crop":
            both = [(rng.randint(0, 2), rng.randint(0, 2)) for _ in range(rank)]
            return f"Cropping{rank}D", {"cropping": both[0] if rank == 1 else tuple(both)}
    return ("DepthwiseConv2D", {"kernel_size": 3, "depth_multiplier": 2, "padding": padding}) if rank == 2 else (f"MaxPooling{rank}D", {})


def ending(rng: random.Random, shape: tuple[int | None, ...]) -> tuple[str, dict[str, Any]]:
    inner = shape[1:-1]
    folded = 1
    for n in inner:
        folded *= n or 1
    return rng.choice([
        ("Flatten", {}), (f"GlobalAveragePooling{len(inner)}D", {"keepdims": rng.random() < 0.5}), ("Reshape", {"target_shape": (-1, shape[-1])}),
        ("Reshape", {"target_shape": (folded, shape[-1])}), ("Permute", {"dims": tuple(rng.sample(range(1, len(shape)), len(shape) - 1))}),
        ("Dense", {"units": rng.randint(1, 9)}), ("BatchNormalization", {}), ("Dropout", {"rate": 0.1}), ("Concatenate", {}),
    ])  # fmt: skip


def computed(layer: Any, shape: Any) -> tuple[int | None, ...]:
    return tuple(layer.compute_output_shape(shape))


def stack(keras: Any, rng: random.Random) -> tuple[list[Any], tuple[int | None, ...]]:
    rank = rng.randint(1, 3)
    shape: tuple[int | None, ...] = (None, *(rng.randint(9, 60) for _ in range(rank)), rng.randint(1, 4))
    start, layers = shape, []
    for place in range(rng.randint(2, 7)):
        name, arguments = ending(rng, shape) if place > 3 and rng.random() < 0.5 and len(shape) > 2 else spatial(rng, len(shape) - 2)
        try:
            layer = getattr(keras.layers, name)(**arguments)
            after = computed(layer, [shape, shape] if name == "Concatenate" else shape)
        except Exception:  # a combination that the framework does not take
            continue
        if any(n is not None and n < 1 for n in after):
            continue
        layers.append(layer)
        shape = after
        if len(shape) < 3:
            break
    return layers, start


def through(layers: list[Any], shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
    for layer in layers:
        shape = computed(layer, [shape, shape] if type(layer).__name__ == "Concatenate" else shape)
    return shape


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_an_axis_followed_through_a_random_stack_has_the_size_that_the_layers_give(framework: str) -> None:
    keras, rng = importlib.import_module(framework), random.Random(7)
    followed = elsewhere = 0
    for _ in range(STACKS):
        layers, start = stack(keras, rng)
        sizes: tuple[Size, ...] = tuple(Axis("x", axis, n) for axis, n in enumerate(start))
        shape = start
        for number, layer in enumerate(layers):
            several = type(layer).__name__ == "Concatenate"
            shape = computed(layer, [shape, shape] if several else shape)
            sizes = step(f"layer {number}", size_arguments(layer), [sizes, sizes] if several else [sizes], shape)
            assert [evaluate(size, lambda axis: axis.size) for size in sizes] == list(shape), (layer.get_config(), shape)
            followed += 1
        # The same expressions, for data of other sizes.
        other = (None, *((n or 0) + rng.randint(0, 40) for n in start[1:-1]), start[-1])
        try:
            real = through(layers, other)
        except Exception:
            continue
        if any(type(layer).__name__ == "Reshape" and -1 not in layer.target_shape for layer in layers):
            continue
        assert [evaluate(size, lambda axis, other=other: other[axis.axis]) for size in sizes] == list(real), [one.get_config() for one in layers]
        elsewhere += 1
    assert followed > 2 * STACKS and elsewhere > STACKS / 2


UNET = """
def build():
    i = x = keras.Input(({n}, {n}, 3)); skips = []
    for level in range({depth}):
        x = L.Conv2D(4, 3, padding="same")(x); skips.append(x); x = L.MaxPooling2D(padding="{pool}", name=f"pool{{level}}")(x)
    for level in reversed(range({depth})):
        x = {up}(x); x = L.Concatenate(name=f"join{{level}}")([x, skips[level]]); x = L.Conv2D(4, 3, padding="same")(x)
    m = keras.Model(i, L.Conv2D(1, 1)(x)); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, {n}, {n}, 3), "float32"), np.zeros((8, {n}, {n}, 1), "float32")
"""
UPS = ("L.UpSampling2D()", "L.Conv2DTranspose(4, 2, strides=2)", "L.Conv2DTranspose(4, 3, strides=2, padding='same')")


def first_lost(n: int, depth: int, same: bool) -> tuple[int, int]:
    """The deepest level whose size is odd, which is the first that a decoder meets, and that size; ``(-1, 0)`` where none is."""
    sizes = [n]
    for _ in range(depth - 1):
        sizes.append(-(-sizes[-1] // 2) if same else sizes[-1] // 2)
    return next(((level, size) for level, size in reversed(list(enumerate(sizes))) if size % 2), (-1, 0))


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_in_a_u_net_of_any_size_the_pooling_that_lost_the_pixel_is_named(framework: str) -> None:
    rng, broken = random.Random(3), 0
    for _ in range(14):
        n, depth, pool, up = rng.randint(30, 140), rng.randint(2, 3), rng.choice(["valid", "same"]), rng.choice(UPS)
        program = example(UNET.format(n=n, depth=depth, pool=pool, up=up), framework)
        report = tpushape.trace(program["build"], program["data"], tpu=None, fixes=False)
        level, size = first_lost(n, depth, pool == "same")
        if level < 0:
            assert report.ok, (n, depth)
            continue
        broken += 1
        finding = report.findings[0]
        assert finding.rule == "merge-shapes"
        cause = finding.fact.cause
        after = -(-size // 2) if pool == "same" else size // 2
        assert (cause.kind, cause.who, cause.before, cause.after, cause.back) == ("lost", f"pool{level}", size, after, 2 * after)
        assert cause.size == n and all(fit % 2 ** (level + 1) == 0 for fit in cause.fits)
        assert finding.fact.branches[finding.fact.odd].shape[1] == 2 * after
        assert any(report.flow.node(node).name == f"pool{level}" for node in finding.nodes)
        assert all(part in finding.why for part in (f"pool{level}", f"{size} → {after}", str(2 * after)))
    assert broken > 5


DECODER = """
def build():
    m = keras.Sequential([keras.Input((28, 28, 1)), {layers}]); m.compile("sgd", "mse"); return m
def data():
    return np.zeros((8, 28, 28, 1), "float32"), np.zeros((8, 28, 28, 1), "float32")
"""


@pytest.mark.parametrize(
    ("layers", "kind", "who", "before", "after"),
    [
        ("L.Conv2D(4, 3, name='narrow'), L.Conv2D(1, 1)", "unpadded", "narrow", 28, 26),
        ("L.MaxPooling2D(), L.Conv2D(4, 3, name='narrow'), L.UpSampling2D(), L.Conv2D(1, 1)", "unpadded", "narrow", 14, 12),
        ("L.Conv2D(4, 3, name='a'), L.Conv2D(4, 3, name='b'), L.Conv2D(1, 1)", "unpadded", "a", 28, 26),
        ("L.Conv2D(4, 3, strides=2, padding='same', name='coarse'), L.Conv2D(1, 1)", "strided", "coarse", 28, 14),
        ("L.MaxPooling2D(3, name='third'), L.UpSampling2D(3), L.Conv2D(1, 1)", "lost", "third", 28, 9),
        ("L.MaxPooling2D(), L.MaxPooling2D(), L.MaxPooling2D(padding='same', name='odd'), L.UpSampling2D(8), L.Conv2D(1, 1)", "lost", "odd", 7, 4),
    ],
)
@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_where_a_decoder_parts_from_its_labels(framework: str, layers: str, kind: str, who: str, before: int, after: int) -> None:
    program = example(DECODER.format(layers=layers), framework)
    finding = tpushape.trace(program["build"], program["data"], tpu=None, fixes=False).findings[0]
    assert finding.rule == "output-size"
    cause = finding.fact.cause
    assert (cause.kind, cause.who, cause.before, cause.after) == (kind, who, before, after)


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_weights_for_another_picture_say_for_which(framework: str) -> None:
    source = """
def build():
    head = L.Dense(10)
    keras.Sequential([keras.Input((24, 24, 3)), L.Conv2D(4, 3, padding="same"), L.MaxPooling2D(), L.Flatten(), head])
    return keras.Sequential([keras.Input((28, 28, 3)), L.Conv2D(4, 3, padding="same"), L.MaxPooling2D(), L.Flatten(), head])
def data():
    return np.zeros((8, 28, 28, 3), "float32"), None
"""
    program = example(source, framework)
    finding = tpushape.trace(program["build"], program["data"], tpu=None, fixes=False).findings[0]
    assert finding.rule == "layer-axis"
    assert (finding.fact.cause.kind, finding.fact.cause.size, finding.fact.cause.fits) == ("resized", 28, (24,))


MERGE = """
def build():
    a, b, c = keras.Input((1,), name="a"), keras.Input((5,), name="b"), keras.Input((4,), dtype="int32", name="c")
    v = L.Embedding(9, 2, name="vectors")(c)
    {merged}
def data():
    return {{"a": np.zeros((8, 1), "float32"), "b": np.zeros((8, 5), "float32"), "c": np.zeros((8, 4), "int32")}}, None
"""


@pytest.mark.parametrize(
    ("merged", "odd", "made"),
    [
        ("return keras.Model([a, b, c], L.Concatenate()([a, b, v]))", "vectors", ()),
        ("return keras.Model([a, b, c], L.Concatenate()([L.Flatten()(v), a, L.Reshape((5, 1))(b)]))", "reshape", ()),
        ("return keras.Model([a, b, c], L.Multiply()([L.Dense(6, name='six')(b), L.Flatten(name='flat')(v)]))", "flat",
         ("six: units=6", "flat: 4 × 2 = 8")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_the_odd_branch_of_a_merge_and_what_made_its_size(framework: str, merged: str, odd: str, made: tuple[str, ...]) -> None:
    program = example(MERGE.format(merged=merged), framework)
    program["keras"].backend.clear_session()
    fact = tpushape.trace(program["build"], program["data"], tpu=None, fixes=False).findings[0].fact
    assert fact.branches[fact.odd].giver.name == odd
    assert fact.made == made


@pytest.mark.parametrize("framework", ["keras", "tf_keras"])
def test_axes_that_only_the_data_settles_need_no_second_trace(framework):
    lib = importlib.import_module(framework)
    layers = lib.layers

    class Own(layers.Layer):
        def call(self, x):
            return x * 2

    def looked(*more, rows=None):
        inputs = lib.Input((None, None, 3), batch_size=rows)
        x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(inputs)))
        for layer in more:
            x = layer(x)
        model = lib.Model(inputs, layers.Dense(2)(layers.GlobalAveragePooling2D()(layers.Add()([x, x]))))
        model.compile("sgd", "mse")
        seen = examine(Program(model, (np.zeros((16, 24, 24, 3), "float32"), np.zeros((16, 2), "float32"))))
        assert seen.error is None and not seen.run.fast
        return seen.evidence.facts["probe"]

    assert looked() is None
    assert looked(layers.Activation(lambda x: x * 2)) is not None
    assert looked(Own()) is not None
    assert looked(layers.Lambda(lambda x: x * 2, output_shape=lambda shape: shape)) is not None


def test_a_convolution_over_further_axes_of_samples_is_followed() -> None:
    """Keras 2 passes over axes in front of those that the window slides along."""

    def build() -> Any:
        pictures, more = tf_keras.Input((2, 8, 8, 1)), tf_keras.Input((2, 8, 8, 4))
        halves = tf_keras.layers.Conv2D(4, 3)(pictures), tf_keras.layers.Conv2D(4, 3, strides=2)(more)
        return tf_keras.Model([pictures, more], tf_keras.layers.Add()(halves))

    data = [np.zeros((4, 2, 8, 8, 1), "float32"), np.zeros((4, 2, 8, 8, 4), "float32")]
    finding = tpushape.trace(build, data, tpu=None, fixes=False).findings[0]
    assert finding.rule == "merge-shapes" and "(?, 2, 6, 6, 4)" in finding.message and "(?, 2, 3, 3, 4)" in finding.message


@pytest.mark.parametrize("lib", ["keras", "tf_keras"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_generator_is_looked_into_also_where_it_is_a_model_around_a_model(lib, wrapped):
    keras = importlib.import_module(lib)
    layers, models = keras.layers, keras.models

    def build():
        generator = models.Sequential([keras.Input((100,)), layers.Dense(392), layers.Reshape((7, 7, 8)), layers.UpSampling2D(), layers.UpSampling2D()])
        if wrapped:
            noise = layers.Input((100,))
            generator = models.Model(noise, generator(noise))
        pictures = layers.Input((32, 32, 8))
        discriminator = models.Model(pictures, layers.Dense(1)(layers.Flatten()(pictures)))
        start = layers.Input((100,))
        return models.Model(start, discriminator(generator(start)))

    finding = tpushape.trace(build, tpu=None).findings[0]
    assert finding.rule == "input-axis" and "reshape has target_shape 7" in finding.why
    assert finding.fixes[0].verified and finding.fixes[0].title.startswith("Start from (8, 8, 8) in reshape")
