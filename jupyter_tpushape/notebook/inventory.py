"""What lives in the kernel's namespace that can be traced: read from types and metadata, nothing is computed or drawn."""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from ..flow import show_shape
from ..trace.locations import is_user_file
from ..views.naming import looked_up
from .pairing import TRAINING, assigned, assigned_in, belong, best, leaves, parsed, used_together

_MODEL_WORDS = frozenset({"Sequential", "Model", "Functional", "Input", "add", "compile"})
_DATA_WORDS = frozenset({"Dataset", "from_tensor_slices", "from_generator", "image_dataset_from_directory", "text_dataset_from_directory", "batch"})
# Arrays of one entry, as they are shown and as there may be.
_SHOWN, _COLUMNS = 8, 256
_counted: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def inventory(namespace: dict[str, Any], hidden: dict[str, Any] | None = None, *, seconds: float = 0.2, sources: Sequence[str] = ()) -> dict[str, Any]:
    """The models, builders and data in a namespace, newest first.

    ``sources`` are the cells that ran, by their numbers: they tell which data was made for which model.
    Counting parameters walks a model, so it stops after ``seconds`` and the rest stays uncounted until the next call.

    Returns:
        ``models`` (``name kind class params inputs outputs key``; see :mod:`.left` for one that a failed ``fit`` spoiled),
        ``data`` (``name class spec key``) and ``pairs``, which names for
        each model the data that fits it best, and ``""`` where none does.
    """
    limit = time.perf_counter() + seconds
    models: list[dict[str, Any]] = []
    data: list[dict[str, Any]] = []
    tails: dict[str, Any] = {}
    for name, value in list(namespace.items()):
        if name.startswith("_") or (hidden is not None and name in hidden and hidden[name] is value):
            continue
        try:
            entry = _model(value, limit)
            if entry is not None:
                models.append({"name": name, **entry, "key": _key(value)})
                tails[name] = _wanted(value) if entry["kind"] == "model" else None
                continue
            entry = _data(value)
            if entry is not None:
                data.append({"name": name, **entry, "key": _key(value)})
                tails[name] = _features(value)
        except BaseException:
            # An object that cannot even be looked at is not one that can be traced, whatever it raises.
            continue
    used = frozenset().union(*map(used_together, sources))
    data += _array_pairs(data, namespace, tails, used)
    models.reverse()
    data.reverse()
    cells = assigned(sources)
    pairs = {model["name"]: best(model["name"], tails.get(model["name"]), data, tails, cells) for model in models}
    return {"models": models, "data": data, "pairs": pairs}


def _key(value: Any) -> str:
    """Changes when another object stands behind the name, and when a model is built or compiled anew."""
    parts = [getattr(value, name, None) for name in ("optimizer", "loss")]
    inner = getattr(value, "_layers", None) or ()
    return ".".join(map(str, (id(value), getattr(value, "built", ""), *map(id, parts), len(inner) if isinstance(inner, (list, tuple)) else 0)))


def _bases(value: Any) -> set[tuple[str, str]]:
    return {(base.__module__.split(".")[0], base.__name__) for base in type(value).__mro__}


def _model(value: Any, limit: float) -> dict[str, Any] | None:
    if isinstance(value, FunctionType):
        if _builds(value, _MODEL_WORDS, ("model", "net", "build")) and not _builds(value, _DATA_WORDS - {"batch"}, ()):
            return {"kind": "builder", "class": "function", "params": None, "inputs": "", "outputs": ""}
        return None
    bases = _bases(value)
    if not any(module in ("keras", "tf_keras") and name == "Model" for module, name in bases):
        return None
    built = bool(getattr(value, "built", False))
    return {
        "kind": "model",
        "class": type(value).__name__,
        "params": _parameters(value, limit) if built else None,
        "inputs": _shapes(getattr(value, "input_shape", None)) if built else "not built",
        "outputs": _shapes(getattr(value, "output_shape", None)) if built else "",
    }


def _parameters(model: Any, limit: float) -> int | None:
    if model not in _counted:
        if time.perf_counter() > limit:
            return None
        _counted[model] = int(model.count_params())
    return _counted[model]


def _shapes(shape: Any) -> str:
    if isinstance(shape, dict):
        return ", ".join(f"{key} {_shapes(part)}" for key, part in shape.items())
    if isinstance(shape, (list, tuple)):
        if all(axis is None or isinstance(axis, int) for axis in shape):
            return show_shape(tuple(shape))
        return ", ".join(_shapes(part) for part in shape)
    return ""


def _data(value: Any) -> dict[str, Any] | None:
    kind = type(value).__name__
    if isinstance(value, FunctionType):
        if _builds(value, _DATA_WORDS, ("data", "dataset", "ds")):
            return {"class": "function", "spec": "will be called to trace it"}
        return None
    bases = _bases(value)
    if ("tensorflow", "DatasetV2") in bases:
        return {"class": "Dataset", "spec": _specs(value.element_spec)}
    if any(name in ("PyDataset", "Sequence") and module in ("keras", "tf_keras") for module, name in bases):
        return {"class": kind, "spec": "will be called to trace it"}
    if _is_array(value):
        return {"class": kind, "spec": _spec(value)} if value.shape else None
    # A table has a column for each input.
    parts = list(value.values()) if isinstance(value, dict) else list(value) if type(value) is tuple and len(value) <= _SHOWN else []
    if parts and len(parts) <= _COLUMNS and all(_is_array(part) and part.shape for part in parts):
        return {"class": kind, "spec": _together(parts)}
    return None


def _together(parts: list[Any]) -> str:
    more = [f"and {len(parts) - _SHOWN} more"] if len(parts) > _SHOWN else []
    return ", ".join([*map(_spec, parts[:_SHOWN]), *more])


def _is_array(value: Any) -> bool:
    """Whether it holds numbers: the symbolic tensors on the way to a model are no data to feed it."""
    return (
        not isinstance(value, type)
        and not any(name == "KerasTensor" for _, name in _bases(value))
        and hasattr(value, "shape")
        and hasattr(value, "dtype")
        and hasattr(value, "__getitem__")
    )


def _spec(value: Any) -> str:
    return f"{show_shape(tuple(value.shape))} {getattr(value.dtype, 'name', value.dtype)}"


def _specs(spec: Any) -> str:
    if isinstance(spec, dict):
        return "{" + ", ".join(f"{key}: {_specs(part)}" for key, part in spec.items()) + "}"
    if isinstance(spec, (list, tuple)):
        return ", ".join(_specs(part) for part in spec)
    rank = getattr(spec.shape, "rank", 0)
    return f"{show_shape(None if rank is None else tuple(spec.shape))} {spec.dtype.name}"


def _builds(value: FunctionType, words: frozenset[str], endings: tuple[str, ...]) -> bool:
    """Whether a function of the user's that needs no argument looks like one that builds what ``words`` stand for."""
    if value.__module__ != "__main__" and not is_user_file(value.__code__.co_filename):
        return False
    if any(part.default is inspect.Parameter.empty for part in inspect.signature(value).parameters.values()):
        return False
    if inspect.iscoroutinefunction(value) or inspect.isgeneratorfunction(value):
        return False
    used = words & set(value.__code__.co_names)
    return len(used) > 1 or (bool(used) and any(word in value.__name__ for word in endings))


def _array_pairs(data: list[dict[str, Any]], namespace: dict[str, Any], tails: dict[str, Any], used: frozenset[tuple[str, str]]) -> list[dict[str, Any]]:
    """Features and labels as one entry, where both have as many rows.

    Their names belong together, as ``x_train`` and ``y_train``, or a cell uses them together: then either may be a dict, a list or a tuple of arrays.
    """
    rows = {entry["name"]: _rows(namespace[entry["name"]]) for entry in data}
    named = [(one["name"], other["name"]) for one, other in itertools.permutations(data, 2)]
    alike = [both for both in named if rows[both[0]] is not None and rows[both[0]] == rows[both[1]] and _is_array(namespace[both[1]])]
    alone = [both for both in alike if both in used or (_is_array(namespace[both[0]]) and belong(*both))]
    listed = {both: spec for both in sorted(used - {*named}) if (spec := _held_together(both, namespace))}
    for both in (*alone, *listed):
        tails[", ".join(both)] = tails[both[0]] if both[0] in tails else _leaves(looked_up(both[0], namespace))
    entries = {entry["name"]: entry for entry in data}
    found = [_joined(entries[one], entries[other]) for one, other in alone]
    return found + [{"name": ", ".join(both), **entry} for both, entry in listed.items()]


def _joined(entry: dict[str, Any], label: dict[str, Any]) -> dict[str, Any]:
    parts = {part: f"{entry[part]}, {label[part]}" for part in ("name", "spec", "key")}
    return {"class": entry["class"], **parts}


def _held_together(both: tuple[str, str], namespace: dict[str, Any]) -> dict[str, Any] | None:
    """Several arrays that a cell hands over at once, as ``[left, right], y``: an entry where all of them have as many rows."""
    try:
        features, labels = (looked_up(written, namespace) for written in both)
    except NameError:
        return None
    parts = [*_arrays(features), *_arrays(labels)]
    if not parts or any(part is None for part in parts) or len({part.shape[0] for part in parts}) > 1:
        return None
    return {"class": type(features).__name__, "spec": _together(parts), "key": ", ".join(map(_key, parts))}


def _arrays(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if type(value) in (list, tuple):
        return [leaf for part in value for leaf in _arrays(part)]
    return [value if _is_array(value) and value.shape else None]


def _rows(value: Any) -> int | None:
    found = {tuple(part.shape)[:1] if _is_array(part) else () for part in (value.values() if isinstance(value, dict) else [value])}
    first = next(iter(found), ())
    return first[0] if len(found) == 1 and first else None


def _features(value: Any) -> Any:
    spec = getattr(value, "element_spec", None)
    if spec is not None:
        return leaves(spec[0] if isinstance(spec, tuple) else spec, _ranked)
    if type(value) is tuple and len(value) in (2, 3):
        value = value[0]
    return _leaves(value)


def _leaves(value: Any) -> Any:
    return leaves(value, lambda part: tuple(part.shape) if _is_array(part) else None)


def _ranked(spec: Any) -> Any:
    shape = getattr(spec, "shape", None)
    return None if shape is None or getattr(shape, "rank", None) is None else tuple(shape)


def _wanted(model: Any) -> Any:
    for struct in ("_inputs_struct", "_nested_inputs"):
        found = leaves(getattr(model, struct, None), lambda part: _axes(tuple(part.shape)) if hasattr(part, "shape") else None)
        if found is not None:
            return found
    return leaves(getattr(model, "input_shape", None), _axes)


def _axes(shape: Any) -> Any:
    return tuple(shape) if isinstance(shape, tuple) and all(axis is None or isinstance(axis, int) for axis in shape) else None


# What a cell does to a model before it is trained.
_SETS_UP = frozenset({"add", "build", "compile", "load_weights", "set_weights"})


def left(namespace: Mapping[str, Any], models: Sequence[str], sources: Sequence[str], cells: Mapping[int, str]) -> dict[str, list[str]]:
    """For each model that no ``fit`` can train any more the ids of the cells that create it and set it up, in order.

    Args:
        models: the names of models in the namespace.
        sources: the text of each run, by its number.
        cells: the id of each run's cell.
    """
    from ..trace.frameworks import adapter_for

    found = {}
    for name in models:
        with contextlib.suppress(Exception):  # an object that cannot be looked at is listed all the same
            adapter = adapter_for(namespace[name])
            if adapter is not None and adapter.left_by_fit(namespace[name]) and (ids := _made_by(name, sources, cells)):
                found[name] = ids
    return found


def _made_by(name: str, sources: Sequence[str], cells: Mapping[int, str]) -> list[str]:
    runs = [number for number, source in enumerate(sources) if name in assigned_in(source)]
    if not runs:
        return []
    wanted = [runs[-1], *(number for number in range(runs[-1] + 1, len(sources)) if _methods(name, sources[number]) & _SETS_UP)]
    if any(TRAINING & _methods(name, sources[number]) for number in wanted) or any(number not in cells for number in wanted):
        return []
    return list(dict.fromkeys(cells[number] for number in wanted))


def _methods(name: str, source: str) -> frozenset[str]:
    return frozenset(
        node.func.attr
        for node in ast.walk(parsed(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == name
    )


@contextlib.contextmanager
def in_variables(shell: Any, typed: str, data: Any) -> Iterator[None]:
    """While this lasts, ``data`` is known to be the value of ``typed``, such as ``ds`` or ``x, y``. A function that makes the data speaks for itself."""
    from ..examine import HANDED, is_builder

    cells = getattr(getattr(shell, "compile", None), "_filename_map", None)
    if not typed or not cells or is_builder(data):
        yield
        return
    from ..trace.locations import Variables

    token = HANDED.set(Variables.typed(list(cells)[-1], typed, shell.user_ns))
    try:
        yield
    finally:
        HANDED.reset(token)
