"""One run of a program up to its first training call, in a process of its own: its layers, outputs and loss on one batch, as JSON and arrays.

``python probe.py TEXT PROGRAM OUT.npz [IN.npz]`` runs the text as if it were the program. It imports nothing of this package: the Python that has JAX need not have it. With ``IN.npz`` the
model gets the weights and the batch in it, so that two programs can be compared.
"""

from __future__ import annotations

import contextlib
import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROWS = 16
# What either Keras puts into a graph for an operation, and what another calls without one.
_LOOPS = frozenset({"RNN", "TimeDistributed"})
_NO_LAYERS = ("InputLayer", "TFOpLambda", "SlicingOpLambda")


class Reached(BaseException):
    """The training call was reached."""


def main(text: str, program: str, out: str, given: str = "") -> None:
    """Runs the program, then its model on a batch; prints one line of JSON."""
    told: dict[str, Any] = {"error": ""}
    try:
        seen = caught(text, program, away=not given)
        if seen is None:
            told["error"] = "it does not call fit"
        else:
            told.update(look(*seen, out, given))
    except BaseException as error:
        told["error"] = f"{type(error).__name__}: {next(iter(str(error).strip().splitlines()), '')}"
    print("\n" + json.dumps(told), flush=True)


def caught(text: str, program: str, away: bool) -> tuple[Any, Any, Any] | None:
    """``(model, x, y)`` of the first call of fit. ``away``: the program means a TPU, and another strategy stands for its."""
    found = []

    def fit(model: Any, x: Any = None, y: Any = None, *_: Any, **__: Any) -> None:
        found.append((model, x, y))
        raise Reached

    sys.argv = [program]
    sys.path.insert(0, str(Path(program).resolve().parent))
    # Keras is imported by the program, which may say which one it means; its doors are held as soon as it is there.
    sys.meta_path.insert(0, _Held(fit))
    if away:
        hold()
    with contextlib.suppress(Reached):
        module = types.ModuleType("__main__")
        module.__file__ = program
        sys.modules["__main__"] = module
        exec(compile(Path(text).read_text(encoding="utf-8"), program, "exec"), vars(module))
    return found[0] if found else None


class _Held:
    """Puts ``fit`` into the trainers of both Keras when they are imported."""

    modules = ("keras.src.trainers.trainer", "keras.src.backend.tensorflow.trainer", "keras.src.backend.jax.trainer", "tf_keras.src.engine.training")

    def __init__(self, fit: Any) -> None:
        self.fit = fit

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Finds the module as others do, and holds its doors after it has run."""
        if name not in self.modules:
            return None
        others = [one for one in sys.meta_path if one is not self]
        spec = next((spec for one in others if hasattr(one, "find_spec") and (spec := one.find_spec(name, path, target)) is not None), None)
        if spec is None or spec.loader is None:
            return None
        run, fit = spec.loader.exec_module, self.fit

        def exec_module(module: Any) -> None:
            run(module)
            for kind in list(vars(module).values()):
                if isinstance(kind, type) and kind.__module__ == name and "fit" in vars(kind):
                    setattr(kind, "fit", fit)  # noqa: B010 - a class of any kind

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def hold() -> None:
    """A TPU that is not here: the strategy that every machine has stands for it."""
    try:
        import tensorflow as tf
    except ImportError:
        return
    nothing = types.SimpleNamespace(master=lambda: "", cluster_spec=dict, num_accelerators=lambda: {"TPU": 1})

    class Resolver:
        def __new__(cls, *_: Any, **__: Any) -> Any:
            return nothing

        @staticmethod
        def connect(*_: Any, **__: Any) -> Any:
            return nothing

    class Strategy:
        def __new__(cls, *_: Any, **__: Any) -> Any:
            return tf.distribute.get_strategy()

    def ready(*_: Any, **__: Any) -> None:
        return None

    tf.distribute.cluster_resolver.TPUClusterResolver = Resolver
    tf.config.experimental_connect_to_cluster = tf.tpu.experimental.initialize_tpu_system = ready
    tf.distribute.TPUStrategy = tf.distribute.experimental.TPUStrategy = tf.distribute.MirroredStrategy = Strategy
    with contextlib.suppress(ImportError):
        import jupyter_tpushape

        jupyter_tpushape.tpu_strategy = Strategy


def look(model: Any, x: Any, y: Any, out: str, given: str) -> dict[str, Any]:
    """The layers that ran, and what came out."""
    import numpy as np

    held = dict(np.load(given, allow_pickle=False)) if given else {}
    x, y = (packed(held, "x"), packed(held, "y")) if held else first(x, y)
    if not getattr(model, "built", True) or not model.weights:
        model(x, training=False)
    weights = list(model.weights)
    if held:
        values = [held[f"w{index}"] for index in range(sum(key[0] == "w" for key in held))]
        for variable, value in zip(weights, paired(weights, values, json.loads(str(held["names"]))), strict=True):
            variable.assign(value)
    with layers_of(type(model)) as made:
        outputs = model(x, training=False)
    flat = [np.asarray(one, "float32") for one in leaves(outputs)]
    arrays = {f"o{index}": one for index, one in enumerate(flat)}
    loss = None
    values = [np.asarray(plain(one)) for one in weights]
    if y is not None and getattr(model, "optimizer", None) is not None:
        found = model.test_on_batch(x, y)
        loss = float(np.ravel(np.asarray(found[0] if isinstance(found, (list, tuple)) else found))[0])
        # That a step can be taken; what it computes is the optimizer's.
        model.train_on_batch(x, y)
    if not held:
        arrays.update({f"w{index}": value for index, value in enumerate(values)}, **spread(x, "x"), **spread(y, "y"))
        arrays["names"] = np.asarray(json.dumps([named(one) for one in weights]))
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return {"layers": made, "loss": loss}


def named(variable: Any) -> str:
    """A weight's own name, as both Keras write it."""
    return str(getattr(variable, "path", None) or variable.name).split(":")[0].rsplit("/", 1)[-1]


def paired(weights: list[Any], values: list[Any], names: list[str]) -> list[Any]:
    """Values by place; where the two Keras list a model's weights in another order, by kind of weight, each kind in its order.

    A kind is a shape and a name, or the end of one: ``depthwise_kernel`` is ``kernel`` in Keras 3.
    """
    if [(named(one), tuple(one.shape)) for one in weights] == [(name, value.shape) for name, value in zip(names, values, strict=True)]:
        return values
    waiting = list(zip(names, values, strict=True))
    found = []
    for one in weights:
        own, fitting = named(one), [i for i, (_, value) in enumerate(waiting) if value.shape == tuple(one.shape)]
        alike = [i for i in fitting if waiting[i][0].endswith(own) or own.endswith(waiting[i][0])]
        place = next((i for i in alike if waiting[i][0] == own), next(iter(alike), None))
        if place is not None:
            found.append(waiting.pop(place)[1])
        elif "seed" in named(one):
            found.append(plain(one))
        else:
            raise ValueError(f"{named(one)} {tuple(one.shape)} is not a weight of the original program")
    return found


def plain(variable: Any) -> Any:
    """A variable's value, as NumPy can save it."""
    value = variable.numpy()
    return value.astype("float32") if str(value.dtype) == "bfloat16" else value


@contextlib.contextmanager
def layers_of(kind: type) -> Iterator[list[Any]]:
    """Layers as they are called inside, with what they give; not those that a layer calls in a loop, as often as its backend likes."""
    base: Any = next(one for one in kind.__mro__ if one.__name__ == "Layer")
    original, made, looping = base.__call__, [], []

    def __call__(layer: Any, *args: Any, **kwargs: Any) -> Any:
        loop = not _LOOPS.isdisjoint(one.__name__ for one in type(layer).__mro__)
        looping.extend([layer] * loop)
        try:
            outputs = original(layer, *args, **kwargs)
        finally:
            del looping[len(looping) - loop :]
        if type(layer).__name__ not in _NO_LAYERS and not looping:
            specs = [[list(one.shape), str(getattr(one.dtype, "name", one.dtype))] for one in leaves(outputs) if hasattr(one, "shape")]
            made.append([type(layer).__name__, specs])
        return outputs

    base.__call__ = __call__
    try:
        yield made
    finally:
        base.__call__ = original


def leaves(tree: Any) -> list[Any]:
    """The tensors of nested outputs."""
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    if isinstance(tree, (list, tuple)):
        return [leaf for one in tree for leaf in leaves(one)]
    return [] if tree is None else [tree]


def first(x: Any, y: Any) -> tuple[Any, Any]:
    """The first rows of the data, as NumPy arrays."""
    if y is None and not isinstance(x, (dict, list)) and not hasattr(x, "shape"):
        element = x[0] if hasattr(x, "__getitem__") else next(iter(x))
        x, y = (*element, None)[:2] if isinstance(element, tuple) else (element, None)
    return cut(x), cut(y)


def cut(tree: Any) -> Any:
    """A few rows of each leaf."""
    import numpy as np

    if isinstance(tree, dict):
        return {key: cut(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)) and len(tree) and hasattr(tree[0], "shape"):
        return [cut(one) for one in tree]
    return None if tree is None else np.asarray(tree)[:ROWS]


def spread(tree: Any, name: str) -> dict[str, Any]:
    """Nested arrays under flat names."""
    if tree is None:
        return {}
    if isinstance(tree, dict):
        return {f"{name}.{key}": value for key, value in tree.items()}
    if isinstance(tree, list):
        return {f"{name}#{index}": value for index, value in enumerate(tree)}
    return {name: tree}


def packed(held: dict[str, Any], name: str) -> Any:
    """The reverse of :func:`spread`."""
    if name in held:
        return held[name]
    keyed = {key.partition(".")[2]: value for key, value in held.items() if key.startswith(f"{name}.")}
    listed = sorted((key for key in held if key.startswith(f"{name}#")), key=lambda key: int(key.partition("#")[2]))
    return keyed or [held[key] for key in listed] or None


if __name__ == "__main__":
    main(*sys.argv[1:])
