"""keras_hub's released layout maps, and two of our own in their style, on four meshes of eight virtual devices: what is told, beside a real build.

keras_hub is no dependency: ``pip install --no-deps --target DIR keras-hub kagglehub kagglesdk regex tqdm``, then run this file by itself with
``PYTHONPATH=DIR KERAS_BACKEND=jax XLA_FLAGS=--xla_force_host_platform_device_count=8``. It prints a table and a line of JSON.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys

import keras
import numpy as np
from eight_devices import compare, really
from keras import layers as L  # noqa: N812
from keras import ops

import jupyter_tpushape as tpushape
from jupyter_tpushape.replicas.layouts import planned

MESHES = tuple({"batch": rows, "model": 8 // rows} for rows in (1, 2, 4, 8))
EVEN = {"vocabulary_size": 64, "num_layers": 2, "hidden_dim": 64, "intermediate_dim": 128}
ODD = {"36 wide": {"hidden_dim": 36}, "50 words": {"vocabulary_size": 50}, "84 inside": {"intermediate_dim": 84}}
EXPERTS = {"moe_intermediate_dim": 16, "num_experts": 8, "top_k": 2}
# Heads as released: of queries, and of keys and values. All other released sizes divide by 8, as the small ones here do.
RELEASED = {
    "Gemma": ({"head_dim": 8}, {"2B": (8, 1), "7B": (16, 16), "2 2B": (8, 4), "2 9B": (16, 8)}),
    "Llama": ({}, {"2 7B": (32, 32)}),
    "Llama3": ({}, {"8B": (32, 8), "3.2 3B": (24, 8)}),
    "Qwen": ({}, {"2.5 0.5B": (14, 2), "2.5 1.5B": (12, 2), "2.5 7B": (28, 4), "2.5 32B": (40, 8)}),
    "QwenMoe": ({**EXPERTS, "shared_expert_intermediate_dim": 16}, {"1.5 2.7B": (16, 16)}),
    "Qwen3Moe": ({**EXPERTS, "head_dim": 8}, {"30B": (32, 4)}),
}


def decoder(vocabulary_size, num_layers, hidden_dim, intermediate_dim, num_query_heads, num_key_value_heads, heads_first):
    """A decoder with grouped heads, named and laid out as Gemma's (heads first) or Llama's."""
    laid, block = ("hdk", "decoder_block") if heads_first else ("dhk", "transformer_layer")
    width = 8

    class Attention(L.Layer):
        def __init__(self, **options):
            super().__init__(**options)
            heads = {"query": num_query_heads, "key": num_key_value_heads, "value": num_key_value_heads}
            self.parts = [L.EinsumDense(f"btd,{laid}->bthk", (None, count, width), name=name) for name, count in heads.items()]
            self.out = L.EinsumDense("bthk,hkd->btd", (None, hidden_dim), name="attention_output")

        def build(self, shape):
            for part in self.parts:
                part.build(shape)
            self.out.build((*shape[:2], num_query_heads, width))

        def call(self, x):
            query, key, value = (part(x) for part in self.parts)
            key, value = (ops.repeat(one, num_query_heads // num_key_value_heads, axis=2) for one in (key, value))
            scores = ops.softmax(ops.einsum("bqhk,bshk->bhqs", query, key))
            return self.out(ops.einsum("bhqs,bshk->bqhk", scores, value))

    class Block(L.Layer):
        def __init__(self, **options):
            super().__init__(**options)
            self.attention, self.norm = Attention(name="self_attention"), L.LayerNormalization(name="norm")
            self.up = L.Dense(intermediate_dim, activation="gelu", use_bias=False, name="feedforward_intermediate_dense")
            self.down = L.Dense(hidden_dim, use_bias=False, name="feedforward_output_dense")

        def build(self, shape):
            for part in (self.attention, self.norm, self.up):
                part.build(shape)
            self.down.build((*shape[:2], intermediate_dim))

        def call(self, x):
            x = x + self.attention(x)
            return x + self.down(self.up(self.norm(x)))

    tokens = keras.Input((12,), dtype="int32", name="token_ids")
    x = L.Embedding(vocabulary_size, hidden_dim, name="token_embedding")(tokens)
    for i in range(num_layers):
        x = Block(name=f"{block}_{i}")(x)
    return keras.Model(tokens, x)


def own_map(heads_first):
    """A map in the style of the released ones, as a function of the mesh."""
    block = "decoder_block" if heads_first else "transformer_layer"

    def layout(mesh):
        made = keras.distribution.LayoutMap(mesh)
        made["token_embedding/embeddings"] = ("model", "batch")
        made[f"{block}.*self_attention.*(query|key|value).kernel"] = ("model", "batch", None)
        made[f"{block}.*attention_output.kernel"] = ("model", None, "batch")
        made[f"{block}.*feedforward_intermediate_dense.kernel"] = ("batch", "model")
        made[f"{block}.*feedforward_output_dense.kernel"] = ("model", "batch")
        return made

    return layout


def cases(few):
    """``(map's name, sizes' name, builder, layout)``: our own always, and keras_hub's if it is there."""
    for first in (False, True):
        for name, heads in {"8 and 8": (8, 8), "14 and 2": (14, 2), "8 and 1": (8, 1)}.items():
            for odd, more in {"": {}, **({} if few or name != "8 and 8" else ODD)}.items():
                sizes = dict(zip(("num_query_heads", "num_key_value_heads"), heads, strict=True), **{**EVEN, **more})
                yield (("own, heads first" if first else "own"), odd or name, (lambda s=sizes, f=first: decoder(**s, heads_first=f)), own_map(first))
    if importlib.util.find_spec("keras_hub") is None:
        return
    import keras_hub

    for name, (extra, models) in RELEASED.items():
        kind = getattr(keras_hub.models, f"{name}Backbone")
        for model, (queries, keys) in models.items():
            wide = {"hidden_dim": 4 * queries * (1 if queries % 2 == 0 else 2)}
            sizes = {**EVEN, **wide, **extra, "num_query_heads": queries, "num_key_value_heads": keys}
            yield name, model, (lambda k=kind, s=sizes: k(**s)), kind.get_layout_map
        for odd, more in () if few else ODD.items():
            heads = 6 if "hidden_dim" in more else 8
            sizes = {**EVEN, **extra, "num_query_heads": heads, "num_key_value_heads": heads, **more}
            yield name, odd, (lambda k=kind, s=sizes: k(**s)), kind.get_layout_map


def rows(model):
    """Sixteen rows of token 1 for every input, by its name if there are several."""
    made = {one.name: np.ones((16, 12), one.dtype) for one in model.inputs}
    return made if len(made) > 1 else next(iter(made.values()))


def told(build, data, sizes, layout):
    """The report, and which axis of which size is said not to divide over how many devices."""
    keras.utils.clear_session()
    report = tpushape.trace(build, data, tpu=None, strategy=planned(sizes, layout), fixes=False)
    wrong = [(one.rule, one.fact) for one in report.findings if one.serious]
    return report, {(fact.place, fact.shape[fact.place], fact.parts) if rule == "layout-indivisible" else rule for rule, fact in wrong}


def judged(build, sizes, layout, deep, counted, differing, where):
    """Whether Keras builds the model on the mesh; counts whether that, and if asked every share, is as it was told."""
    keras.utils.clear_session()
    plain = build()
    report, said = told(build, rows(plain), sizes, layout)
    mesh = planned(sizes, layout).device_mesh
    model, distribution, error = really(build, sizes, {key: laid.axes for key, laid in layout(mesh).items()})
    counted["builds"] += 1
    if error is None:
        counted["false"] += bool(said)
        if said:
            differing.append(f"builds: {where}: {said}")
        if deep:
            compare(report, model, distribution, counted, differing, where)
        return True
    counted["raise"] += 1
    found = re.search(r"array axis (\d+) is partitioned (\d+) times, but the dimension size is (\d+)", str(error))
    raised = (int(found[1]), int(found[3]), int(found[2])) if found else type(error).__name__
    counted["foretold"] += raised in said
    if raised not in said:
        differing.append(f"raises {raised}: {where}: {said}")
    return False


def main(few):
    counted = dict.fromkeys(("builds", "raise", "foretold", "false", "weights", "activations", "unknown"), 0)
    differing = []
    for name, sizes, build, layout in cases(few):
        deep = [not few or mesh["batch"] == 2 for mesh in MESHES]
        holds = [judged(build, mesh, layout, each, counted, differing, f"{name} {sizes} {mesh}") for mesh, each in zip(MESHES, deep, strict=True)]
        print(f"| {name} | {sizes} | {' | '.join('builds' if one else 'raises' for one in holds)} |", flush=True)
    print(json.dumps({**counted, "wrong": differing}))


if __name__ == "__main__":
    main("--few" in sys.argv)
