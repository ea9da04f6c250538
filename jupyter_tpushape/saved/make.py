"""Builds a model from a checked configuration, without weights and without values for its variables."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..flow.text import meaning
from ..trace.assemble import clean_message
from ..trace.patience import limited, timed_out
from .open import Held
from .signature import serving
from .walk import Impossible, Refused, check

# Bytes by which the process may grow while a model is made: its variables take none.
MEMORY = 1 << 30
MOST_AXES, MOST_ELEMENTS = 254, 2**63 - 1


class Broken(Exception):
    """The configuration does not describe a model; the message is a sentence without its subject."""


def builder(held: Held, *, compiled: bool = True, said: Callable[[str], None]) -> Callable[[], Any]:
    """A function that makes the model; it has been called once.

    Which Keras makes it is told by the form of the configuration, never by the version that the file claims; each checks the same things.

    Args:
        held: what the file holds.
        compiled: whether the model is compiled as the file says.
        said: called with a sentence about what could not be used.

    Raises:
        Refused: where the configuration names code, or another file.
        Broken: where no model can be made of it.
    """
    if not held.config:
        return serving(held)
    package = "tf_keras" if _second(held.config) else "keras"
    framework = _imported(package)
    config = {key: value for key, value in held.config.items() if key != "compile_config"}
    check(package, config)
    compile_config = held.compiled if compiled else None
    check(package, compile_config)

    def build() -> Any:
        with _hollow(package):
            model = _model(framework, config)
            if compile_config is not None:
                model.compile(**_arguments(framework, compile_config))
        return model

    with _told(package):
        with _hollow(package), limited("The file's configuration", memory=MEMORY):
            made = _model(framework, config)
        if not isinstance(made, framework.Model):
            raise Broken(f"describes a {type(made).__name__} instead of a model")
        _possible(made)
        if compile_config is not None:
            compile_config = _compilable(package, framework, made, compile_config, held.path.name, said)
    return build


def _compilable(package: str, framework: Any, model: Any, config: dict[str, Any], file: str, said: Callable[[str], None]) -> Any:
    """What of the compile arguments can be read: a Keras does not read all that it writes, and the loss needs nothing else."""
    plain = {"loss": config.get("loss")}
    for given in (config, plain) if config.get("loss") else (config,):
        with contextlib.suppress(Exception):
            with _hollow(package), limited("The file's configuration", memory=MEMORY):
                model.compile(**_arguments(framework, given))
            if given is plain:
                said(f"Of the compile arguments in {file}, only the loss can be read, so the metrics are not checked.")
            return given
    said(f"The compile arguments in {file} cannot be read, so the loss is not checked. Pass its name with --loss.")
    return None


def _own(config: dict[str, Any]) -> dict[str, Any]:
    """A copy: Keras takes out of a configuration what it has read, and a model is made more than once."""
    return dict(json.loads(json.dumps(config)))


def _possible(model: Any) -> None:
    """No tensor has more axes than TensorFlow counts, or more elements than fit in 64 bits; the sum over many would not end, either.

    Raises:
        Impossible: where the model declares such a tensor.
    """
    try:
        declared = [*model.inputs, *model.outputs]
    except (AttributeError, TypeError, ValueError):
        declared = []
    for kind, tensors in (("a tensor", declared), ("a weight", model.weights)):
        for tensor in tensors:
            axes = tuple(tensor.shape)
            if len(axes) > MOST_AXES:
                raise Impossible(f"{kind} with {len(axes):,} dimensions, of which at most {MOST_AXES} are possible")
            if math.prod(size for size in axes if size) > MOST_ELEMENTS:
                raise Impossible(f"{kind} of the shape {str(axes)[:80]}, which are more elements than a tensor can have")


@contextlib.contextmanager
def _told(package: str) -> Iterator[None]:
    try:
        yield
    except (Broken, Impossible):
        raise
    except Exception as error:
        raise Broken(f"describes a model that {package} cannot build ({_first(error)})") from error


def _model(framework: Any, config: dict[str, Any]) -> Any:
    if "module" in config:
        return framework.saving.deserialize_keras_object(_own(config), safe_mode=True)
    # tf_keras has it in public, Keras 3 with what reads the files of Keras 2.
    make = getattr(framework.models, "model_from_config", None) or _legacy(framework).model_from_config
    return make(_own(config))


def _arguments(framework: Any, config: dict[str, Any]) -> dict[str, Any]:
    """What ``compile`` was given; ``compile_from_config`` would make the optimizer's slots too."""
    if "optimizer_config" in config:
        return dict(_legacy(framework).compile_args_from_training_config(_own(config)))
    return dict(framework.saving.deserialize_keras_object(_own(config), safe_mode=True))


def _legacy(framework: Any) -> Any:
    name = "keras.src.legacy.saving" if framework.__name__ == "keras" else "tf_keras.src.saving.legacy"
    return importlib.import_module(f"{name}.saving_utils")


@contextlib.contextmanager
def _hollow(package: str) -> Iterator[None]:
    if package == "keras":
        from keras.src.backend import Variable

        owner = next(base for base in Variable.__mro__ if "_initialize_with_initializer" in vars(base))
        original = vars(owner)["_initialize_with_initializer"]

        def without(variable: Any, initializer: Any) -> None:
            variable._value, variable._initializer = None, initializer

        owner._initialize_with_initializer = without
        try:
            yield
        finally:
            owner._initialize_with_initializer = original
        return
    import tensorflow as tf

    from ..trace.tensorflow import hollow_variable

    with tf.variable_creator_scope(hollow_variable):
        yield


def _imported(package: str) -> Any:
    if package not in sys.modules and importlib.util.find_spec(package) is None:
        raise Broken(f"was written by {package}, which is not installed: run pip install {package}")
    return importlib.import_module(package)


def _second(config: Any) -> bool:
    pending = [config]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if "batch_input_shape" in value:
                return True
            nodes = value.get("inbound_nodes")
            if isinstance(nodes, list) and nodes and isinstance(nodes[0], list):
                return True
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
    return False


_WRAPPED = re.compile(r"could not be deserialized|^Error when deserializing class")


def _first(error: BaseException) -> str:
    """The first line of what was raised. Where Keras repeats a whole configuration around it, of what was raised inside."""
    while timed_out(error.__context__) or (_WRAPPED.search(str(error)) and error.__context__ is not None):
        assert error.__context__ is not None
        error = error.__context__
    said = next((line.strip() for line in clean_message(error).splitlines() if line.strip()), meaning(error))
    said = f"{said} is missing" if isinstance(error, KeyError) else said
    return (said if len(said) <= 200 else said[:199] + "…").rstrip(".")


__all__ = ["Broken", "Impossible", "Refused", "builder"]
