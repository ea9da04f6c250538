"""What a training step can reach: models, optimizers, metrics, losses and strategies, found from the function itself.

A step names what it uses by closures, globals and attributes. Following these tells whose variables it trains before it runs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from .locations import is_user_file

_DEPTH = 8


@dataclass
class Reached:
    """Objects that a function can reach, each once, in the order found.

    Attributes:
        layers: models and layers. variables: bare ``tf.Variable`` objects.
        names: globals and attributes that the functions name.
        holders: ``(object, attributes)`` of the user's own instances, and of containers: what to give back afterwards.
    """

    layers: list[Any] = field(default_factory=list)
    optimizers: list[Any] = field(default_factory=list)
    metrics: list[Any] = field(default_factory=list)
    losses: list[Any] = field(default_factory=list)
    variables: list[Any] = field(default_factory=list)
    strategies: list[Any] = field(default_factory=list)
    holders: list[tuple[Any, Any]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    _seen: set[int] = field(default_factory=set)

    @property
    def keras(self) -> list[Any]:
        """Everything that belongs to a Keras."""
        return [*self.layers, *self.optimizers, *self.metrics, *self.losses]

    def restore(self) -> None:
        """Gives the user's own instances and containers what they held."""
        for holder, held in self.holders:
            if isinstance(holder, set):
                if len(holder) != len(held) or {id(item) for item in holder} != {id(item) for item in held}:
                    holder.clear()
                    holder.update(held)
            elif isinstance(holder, list):
                if len(holder) != len(held) or any(a is not b for a, b in zip(holder, held, strict=True)):
                    holder[:] = held
            elif isinstance(holder, dict) and (holder.keys() != held.keys() or any(holder[key] is not held[key] for key in held)):
                holder.clear()
                holder.update(held)


class BadStep(ValueError):
    """The step cannot be called with this data; the message says what it takes."""


def is_own(code: CodeType) -> bool:
    """Whether this is code of the user's, that of ``python -c`` and of a prompt included."""
    return is_user_file(code.co_filename) or code.co_filename in ("<string>", "<stdin>")


def plain(function: Any) -> Any:
    """The Python function behind a ``tf.function``, a method or a partial."""
    for _ in range(8):
        if isinstance(function, functools.partial):
            function = function.func
        elif hasattr(function, "python_function") and hasattr(function, "get_concrete_function"):
            function = function.python_function
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif isinstance(function, MethodType):
            function = function.__func__
        else:
            break
    return function


def is_graph_function(function: Any) -> bool:
    """Whether this is a ``tf.function``."""
    return hasattr(function, "get_concrete_function") and hasattr(function, "python_function")


def is_step(value: Any) -> bool:
    """Whether this is a function of a batch and not one that builds a model: it cannot be called without arguments."""
    if not callable(value) or isinstance(value, type) or (hasattr(type(value), "weights") and hasattr(type(value), "get_config")):
        return False
    try:
        parameters = inspect.signature(value.python_function if is_graph_function(value) else value).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in parameters)


def reach(function: Any) -> Reached:
    """Follows a function's closures, globals, defaults and its owner, and those of the user's functions that it names."""
    found = Reached()
    _visit(function, found, 0)
    return found


def reach_into(value: Any, found: Reached) -> None:
    """Follows one more value, and adds what it leads to."""
    _visit(value, found, 0)


def _visit(value: Any, found: Reached, depth: int) -> None:
    if depth > _DEPTH or id(value) in found._seen or isinstance(value, (str, bytes, int, float, bool, type, type(None), ModuleType)):
        return
    found._seen.add(id(value))
    if _sort(value, found):
        return
    # Of its class: an object may answer to every name, or with an error to the first.
    if is_graph_function(type(value)):
        held = getattr(value, "python_function", None)
        _visit(getattr(held, "__wrapped__", held), found, depth)
    elif isinstance(value, functools.partial):
        for item in (value.func, *value.args, *value.keywords.values()):
            _visit(item, found, depth + 1)
    elif isinstance(value, MethodType):
        # A tf.function of a class holds its instance by a proxy.
        owner: Any = value.__self__
        _visit(owner.target if type(owner).__name__ == "TfMethodTarget" else owner, found, depth)
        _visit(value.__func__, found, depth)
    elif isinstance(value, FunctionType):
        _visit(getattr(value, "__wrapped__", None), found, depth)
        if is_own(value.__code__):
            found.names |= names_of(value)
        for item in _named(value):
            _visit(item, found, depth + 1)
    elif isinstance(inner := inspect.getattr_static(value, "__wrapped__", None), FunctionType):
        _visit(inner, found, depth)  # what jax.jit made of a function
    elif isinstance(value, (list, tuple, set)):
        if not isinstance(value, tuple):
            found.holders.append((value, value.copy()))
        for item in list(value)[:64]:
            _visit(item, found, depth + 1)
    elif isinstance(value, dict):
        found.holders.append((value, dict(value)))
        for item in list(value.values())[:64]:
            _visit(item, found, depth + 1)
    elif _users(type(value)) and isinstance(getattr(value, "__dict__", None), dict):
        held = vars(value)
        found.holders.append((held, dict(held)))
        for item in list(held.values()):
            _visit(item, found, depth + 1)
        for name, member in inspect.getmembers(type(value), inspect.isfunction):
            if not name.startswith("__"):
                _visit(member, found, depth + 1)


def _sort(value: Any, found: Reached) -> bool:
    for base in type(value).__mro__:
        module, name = base.__module__ or "", base.__name__
        if module.startswith(("keras.", "tf_keras.")):
            if name == "Layer":
                found.layers.append(value)
            elif name in ("BaseOptimizer", "_BaseOptimizer", "OptimizerV2"):
                found.optimizers.append(value)
            elif name == "Metric":
                found.metrics.append(value)
            elif name == "Loss":
                found.losses.append(value)
            else:
                continue
            return True
        if module.startswith("tensorflow.python"):
            if name == "StrategyBase":
                found.strategies.append(value)
            elif name in ("Variable", "BaseResourceVariable"):
                found.variables.append(value)
            elif name not in ("DatasetV2", "Tensor", "_EagerTensorBase"):
                continue
            return True
    return False


def _users(cls: type) -> bool:
    if cls.__module__ == "__main__":
        return True
    code = next((item.__code__ for item in vars(cls).values() if isinstance(item, FunctionType)), None)
    return code is not None and is_own(code)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def names_of(function: Any) -> set[str]:
    """Every global and attribute that a function and the ones inside it name."""
    code = getattr(plain(function), "__code__", None)
    return {name for one in _codes(code) for name in one.co_names} if code is not None else set()


def _named(function: FunctionType) -> Iterator[Any]:
    if not is_own(function.__code__):
        return
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a name that is not bound yet
            continue
    names = names_of(function)
    for name in sorted(names & function.__globals__.keys()):
        yield function.__globals__[name]
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
