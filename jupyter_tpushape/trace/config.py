"""The part of a layer's configuration to show: arguments without their default values, as plain values."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from .locations import attribute
from .patience import TimeUp, limited
from .reach import is_own

# The configurations that were asked for during one look at a program, by the object's id, with the object.
_ASKED: ContextVar[dict[int, tuple[Any, dict[str, Any]]] | None] = ContextVar("asked", default=None)


@contextlib.contextmanager
def asked_once() -> Iterator[None]:
    """Inside, each object is asked for its configuration once."""
    token = _ASKED.set({})
    try:
        yield
    finally:
        _ASKED.reset(token)


# Whether warnings are silenced for all configurations that are asked for next.
_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)


@contextlib.contextmanager
def silently() -> Iterator[None]:
    """Inside, a configuration that is asked for warns of nothing."""
    token = _QUIET.set(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        _QUIET.reset(token)


def config_of(obj: Any) -> dict[str, Any]:
    """A layer's own configuration, to be read only.

    Raises:
        Exception: what the layer raises.
    """
    known = _ASKED.get()
    if known is not None and id(obj) in known:
        return known[id(obj)][1]
    kind = type(obj)
    if known is not None and id(kind) in known:
        return known[id(kind)][1]
    method = getattr(kind, "get_config", None)
    code = getattr(method, "__code__", None)
    try:
        with contextlib.nullcontext() if _QUIET.get() else silently(), limited("get_config") if code is not None and is_own(code) else contextlib.nullcontext():
            config = dict(obj.get_config())
    except TimeUp:
        # Each layer of this class would take as long.
        if known is not None:
            known[id(kind)] = kind, {}
        raise
    if known is not None:
        known[id(obj)] = obj, config
    return config


def _told(obj: Any) -> dict[str, Any]:
    try:
        return config_of(obj)
    except Exception:
        held = getattr(obj, "__dict__", {})
        code = getattr(type(obj).__init__, "__code__", None)
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code is not None else ()
        return {name: held[name] for name in names if type(held.get(name)) is int}


def _reserved(config: dict[str, Any]) -> int:
    return int(config["num_oov_indices"]) + (config.get("mask_token") is not None) if "num_oov_indices" in config else 2


def shown_config(obj: Any) -> dict[str, Any]:
    """The constructor's arguments without default values; ``{}`` if a layer cannot return them."""
    config = _told(obj)
    defaults = _defaults(type(obj))
    plain: dict[str, Any] = {}
    if callable(getattr(obj, "vocabulary_size", None)) and config.get("output_mode") == "int":
        with contextlib.suppress(Exception):
            size = int(obj.vocabulary_size())
            plain["words"], plain["last_id"] = size - _reserved(config), size - 1
    for key, value in config.items():
        shown = _plain(value)  # none of a tensor, which does not take comparisons
        if shown is None:
            continue
        # The last axis of what it was built for, most often; before that, it may be none.
        last = (-1, 3, [3], [-1]) if getattr(obj, "built", False) else (-1, [-1])
        if key == "axis" and value in last and "Normalization" in type(obj).__name__:
            continue
        if key in _DULL or (key in defaults and _same(value, defaults[key])) or (key, value) in (("activation", "linear"), ("data_format", "channels_last")):
            continue
        plain[key] = shown
    return plain


_DULL = frozenset(
    {
        "kernel_initializer",
        "bias_initializer",
        "depthwise_initializer",
        "pointwise_initializer",
        "gamma_initializer",
        "beta_initializer",
        "name",
        "trainable",
        "dtype",
        "batch_input_shape",
        "build_config",
        "module",
        "class_name",
        "registered_name",
    }
)
_DEFAULTS: dict[type, dict[str, Any]] = {}


def _defaults(cls: type) -> dict[str, Any]:
    """Default values of the constructor's arguments, those of the framework's base classes included."""
    if cls not in _DEFAULTS:
        found: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            init = base.__dict__.get("__init__")
            if init is None:
                continue
            with contextlib.suppress(TypeError, ValueError):
                for parameter in inspect.signature(init).parameters.values():
                    if parameter.default is not inspect.Parameter.empty:
                        found[parameter.name] = parameter.default
        _DEFAULTS[cls] = found
    return _DEFAULTS[cls]


def _same(value: Any, default: Any) -> bool:
    if value is None and default is None:
        return True
    if isinstance(value, dict) and isinstance(default, str):
        name = str(value.get("class_name", value.get("config", "")))
        return name.replace("_", "").lower() == default.replace("_", "").lower()
    if isinstance(value, (tuple, list)) and isinstance(default, int):
        return all(item == default for item in value)
    if isinstance(default, (tuple, list)):
        return isinstance(value, (tuple, list)) and list(value) == list(default)
    try:
        return bool(value == default)
    except Exception:
        return False


def _plain(value: Any, depth: int = 0) -> Any:
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return value[:80]
    if isinstance(value, (list, tuple)) and len(value) <= 8 and depth < 2:
        return [None if item is None else _plain(item, depth + 1) for item in value]
    if isinstance(value, dict) and depth < 1:
        return str(value.get("class_name", ""))[:80] or None
    if callable(value):
        return str(getattr(value, "__name__", ""))[:80] or None
    return None


# Arguments that decide sizes, whatever the layer is called.
_SIZES = frozenset({
    "axis", "cropping", "data_format", "depth_multiplier", "dilation_rate", "dims", "filters", "input_dim", "keepdims", "kernel_size", "n", "num_classes", "num_labels",
    "output_dim", "output_padding", "padding", "pool_size", "return_sequences", "size", "strides", "target_shape", "merge_mode", "shared_axes", "units",
})  # fmt: skip


def size_arguments(obj: Any) -> dict[str, Any]:
    """The arguments of a layer that determine sizes, with defaults; ``{}`` if it cannot return them."""
    config = _told(obj)
    sizes = {key: value for key, value in config.items() if key in _SIZES}
    states, inner = state_sizes(obj), _inner(obj)
    return {**sizes, **({"state_sizes": states} if states else {}), **({"layers": inner} if inner else {})}


def _inner(obj: Any) -> list[tuple[str, dict[str, Any], tuple[int | None, ...]]]:
    """The layers of a model that is used as a layer, if they stand in a row: name, arguments that decide sizes, and what each gives."""
    found = []
    for layer in _row(obj):
        try:
            # tf_keras calls the layers of a model again where the model is called.
            output = layer.get_output_at(0) if hasattr(layer, "get_output_at") else layer.output
            found.append((str(layer.name), size_arguments(layer), tuple(output.shape)))
        except (AttributeError, ValueError, RuntimeError):
            return []  # not built, or used in several places
    return found


def _row(obj: Any) -> list[Any]:
    """The layers of a Sequential, or of a functional model in which each reads only the one before it."""
    if any(base.__name__ == "Sequential" for base in type(obj).__mro__):
        return list(getattr(obj, "layers", ()))
    depths = getattr(obj, "_nodes_by_depth", None)
    if not isinstance(depths, dict) or any(len(nodes) != 1 for nodes in depths.values()):
        return []
    row = [getattr(node, "operation", None) or getattr(node, "layer", None) for _, (node,) in sorted(depths.items(), reverse=True)]
    return row if len(set(map(id, row))) == len(row) else []


def _flat(sizes: Any) -> Iterator[Any]:
    if isinstance(sizes, (list, tuple)):
        for one in sizes:
            yield from _flat(one)
    else:
        yield sizes


def state_sizes(obj: Any) -> tuple[int, ...]:
    """The sizes of the states of a recurrent layer or cell, for both directions in turn."""
    both = [getattr(obj, name, None) for name in ("forward_layer", "backward_layer")]
    if all(one is not None for one in both):
        return tuple(n for one in both for n in state_sizes(one))
    cell = getattr(obj, "cell", None) or (obj if callable(getattr(obj, "get_initial_state", None)) else None)
    sizes = attribute(cell, "state_size")
    flat = [*_flat(sizes)]
    return tuple(n for n in flat if isinstance(n, int)) if all(isinstance(n, int) for n in flat) else ()
