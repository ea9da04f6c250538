"""A fix in words and lines to put in by hand, where no source is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..flow import Edit
from ..flow.paths import subscript
from . import text


def snippet(edit: Edit, *, dataset: bool = False) -> list[str]:
    """Lines that say what to write, and where it goes: into a pipeline, or into arrays before ``fit``."""
    return list(_snippet(edit, dataset))


def _snippet(edit: Edit, dataset: bool) -> Iterator[str]:
    detail = edit.detail
    if edit.kind == "insert-layer":
        where = f"input {detail['input'] + 1} of {edit.target}" if detail.get("input") is not None else edit.target
        yield f"# {'in front of' if detail.get('position', 'before') == 'before' else 'behind'} {where}:"
        yield f"+{text.constructor('layers.', detail['layer'], detail.get('config', {}))},"
    elif edit.kind == "layer-config":
        yield f"# in {edit.target}:"
        yield from (f"+{key}={text.literal(value)}," for key, value in detail["config"].items())
    elif edit.detail.get("exchange"):
        yield f"# {edit.target} and {edit.detail['exchange']} in each other's place"
    elif edit.kind == "replace-layer":
        yield f"# in place of {edit.target}:"
        yield f"+{text.constructor('layers.', detail['layer'], detail.get('config', {}))},"
    elif edit.kind == "input-shape":
        yield f"# the declared shape of {edit.target}:"
        yield f"+{text.literal(detail['shape'])}"
    elif edit.kind == "loss":
        yield "# in compile():"
        yield f"+loss={text.loss_code('keras.', detail)},"
    elif edit.kind in ("data-transform", "label-transform"):
        yield from _data_snippet(edit, dataset)
    elif edit.kind == "strategy":
        yield from _strategy_snippet(detail)
    elif edit.kind == "batching" and detail.get("op") == "source":
        yield f"# in the pipeline: {detail['move']}() moved {detail['steps']} up"
    elif edit.kind == "batching" and detail.get("op") == "options":
        yield "# behind the pipeline:"
        yield "+options = tf.data.Options()"
        yield f"+options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.{detail['policy']}"
        yield "+ds = ds.with_options(options)"
    elif edit.kind == "batching" and detail.get("op") == "unbatch":
        yield "# at the end of the pipeline, or leave the second batch() out:"
        yield "+ds = ds.unbatch()"
    elif edit.kind == "batching" and detail.get("op") == "add-batch":
        yield "# at the end of the pipeline:"
        yield f"+ds = ds.batch({detail['batch']}{', drop_remainder=True' if detail['drop_remainder'] else ''})"
    elif edit.kind == "batching":
        yield "# at the end of the pipeline:"
        repeat = f".repeat({detail['repeat']})" if detail.get("repeat") else ""
        yield f"+ds = ds{repeat}.unbatch().batch({detail['batch']}, drop_remainder={detail.get('drop_remainder', True)})"
    elif detail.get("op") == "static-mask":
        yield f"# in {edit.target}, in place of tf.boolean_mask(x, mask):"
        yield f"+tf.where(mask{'[' + ', '.join(['...'] + ['tf.newaxis'] * detail['axes']) + ']' if detail['axes'] else ''}, x, tf.zeros_like(x))"
    elif detail.get("op") == "rows":
        yield f"# in {edit.target or 'the model'}, with x for what call() gets:"
        yield f"-{detail['find']}"
        yield "+tf.shape(x)[0]"
    elif detail.get("op") == "transpose":
        yield f"# in {edit.target or 'the model'}, in place of the reshape:"
        yield f"+tf.transpose(x, {tuple(detail['order'])})"
    else:
        yield f"# in {edit.target}:"
        yield f"-{detail.get('find')}"
        yield f"+{detail.get('replace')}"


def _strategy_snippet(detail: dict[str, Any]) -> Iterator[str]:
    if detail["op"] == "scope":
        yield "# around the lines that build and compile:"
        yield "+with strategy.scope():"
    elif detail["op"] == "fresh-optimizer":
        yield "# in compile(), a new object in place of the optimizer:"
        yield "+optimizer=type(optimizer).from_config(optimizer.get_config()),"
    else:
        yield "# in compile():"
        yield f"+{detail['argument']}={text.literal(detail['value'])},"


def _data_snippet(edit: Edit, dataset: bool) -> Iterator[str]:
    detail = edit.detail
    if detail["op"] == "host-layer":
        yield "# in the pipeline, in place of the layer in the model:"
        yield f"+ds = ds.map(lambda x, y: ({edit.target}(x), y), num_parallel_calls=tf.data.AUTOTUNE)"
    elif detail["op"] == "source" and detail.get("move"):
        yield f"# in the pipeline: {detail['move']}() moved {detail['steps']} up"
    elif detail["op"] == "source" and detail.get("fill"):
        yield "# in the data code, rows that fill no whole window left out:"
        yield f"+x[: len(x) // {detail['shape'][0]} * {detail['shape'][0]}].reshape(-1, {', '.join(map(str, detail['shape']))})"
    elif detail["op"] == "source" and detail.get("last"):
        yield "# in the data code:"
        yield f"-.reshape(..., {detail['shape'][-1]})"
        yield f"+.reshape(..., {detail['last']})"
    elif detail["op"] == "source":
        shape = ", ".join(map(str, detail["shape"][1:]))
        yield "# in the data code:"
        yield f"-.reshape({detail['shape'][0]}, {shape})"
        yield f"+.reshape(-1, {shape})"
    elif dataset and text.map_code(edit):
        yield "# at the end of the pipeline:"
        yield f"+ds = ds{text.map_code(edit)}"
    else:
        name = detail.get("role", "y" if edit.kind == "label-transform" else "x")
        key = detail.get("key")
        target = name if key is None else name + subscript(tuple(key) if isinstance(key, list) else (key,))
        yield "# before fit():"
        yield f"+{target} = {text.code(edit, target)}"
