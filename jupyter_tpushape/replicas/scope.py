"""The strategy scopes that a model's variables, optimizer and metrics were created in, as facts."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ScopeState:
    """What is known of a model and ``tf.distribute``; names of strategies are class names, ``""`` for the default one.

    Attributes:
        model: strategy that the model was made under. ``optimizer``: that of its optimizer.
        current: strategy of the scope that the caller stands in.
        inside, outside: paths of the model's variables made in the model's strategy's scope, and not.
        replicas: copies that each variable inside has.
        metrics_outside: names of metrics whose variables belong to no strategy while the model does.
        optimizer_foreign: whether the optimizer was built for other variables.
        optimizer_slots: whether it keeps state for each variable.
        run_eagerly: as given to ``compile``.
        strategy: the one that is going to be used. ``given``: it is in force without the model: live, or handed over.
        jit_asked: ``jit_compile=True`` that "auto" cannot have chosen. ``steps_per_execution``: as given.
        policy: the dtype policy's name. ``reductions``: of the loss objects.
    """

    model: str = ""
    optimizer: str = ""
    current: str = ""
    strategy: str = ""
    given: bool = False
    inside: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    replicas: int = 1
    metrics_outside: tuple[str, ...] = ()
    optimizer_class: str = ""
    optimizer_foreign: bool = False
    optimizer_slots: bool = True
    jit_asked: bool = False
    run_eagerly: bool = False
    steps_per_execution: int = 1
    policy: str = ""
    reductions: tuple[str, ...] = ()
    compiled: bool = False


def _raw(variable: Any) -> Any:
    value = getattr(variable, "_value", None)
    return value if value is not None else variable


def _distributed(variable: Any) -> bool:
    return any(base.__name__ in ("DistributedVariable", "DistributedValues") for base in type(_raw(variable)).__mro__)


def strategy_name(strategy: Any) -> str:
    """The class of a strategy, ``""`` for the default one."""
    name = "" if strategy is None else type(strategy).__name__
    return "" if name.startswith("_DefaultDistributionStrategy") else name


def _current() -> Any:
    distribute = getattr(sys.modules.get("tensorflow"), "distribute", None)
    return distribute.get_strategy() if distribute is not None and hasattr(distribute, "get_strategy") else None


def _accelerators() -> bool:
    config = getattr(sys.modules.get("tensorflow"), "config", None)
    return config is not None and any(device.device_type != "CPU" for device in config.list_physical_devices())


def variables_of(model: Any, attribute: str = "variables") -> list[Any]:
    """The model's variables; none where it is not built, which tf_keras says by raising."""
    try:
        return list(getattr(model, attribute, None) or [])
    except ValueError:
        return []


def _path(variable: Any) -> str:
    return str(getattr(variable, "path", None) or getattr(variable, "name", "variable"))


def _model_strategy(model: Any) -> Any:
    return getattr(model, "_distribute_strategy", None) or getattr(model, "_distribution_strategy", None)


def optimizer_strategy(optimizer: Any) -> Any:
    """The strategy that an optimizer was created under."""
    inner = getattr(optimizer, "inner_optimizer", None) or getattr(optimizer, "_optimizer", None) or optimizer
    return getattr(inner, "_distribution_strategy", None) or getattr(inner, "_distribute_strategy", None)


def _foreign(optimizer: Any, variables: list[Any]) -> bool:
    known = getattr(optimizer, "_trainable_variables_indices", None)
    if known is not None and getattr(optimizer, "built", False):
        # Keras 3 finds a variable by its id.
        keys = {getattr(optimizer, "_var_key", id)(variable) for variable in variables}
        return bool(known) and not keys <= set(known)
    index = getattr(optimizer, "_index_dict", None)
    if index is not None and getattr(optimizer, "_built", False):
        return bool(index) and not {optimizer._var_key(variable) for variable in variables} <= set(index)
    return False


def _metric_objects(model: Any) -> list[Any]:
    try:
        held = list(model.metrics)
    except Exception:
        held = []
    compiled = getattr(model, "_compile_metrics", None) or getattr(model, "compiled_metrics", None)
    given = getattr(compiled, "_user_metrics", None)
    if given is not None:
        flat = given if isinstance(given, (list, tuple)) else given.values() if isinstance(given, dict) else [given]
        for item in flat:
            held.extend(item if isinstance(item, (list, tuple)) else [item])
    return [metric for metric in held if hasattr(metric, "update_state")]


def _reductions(model: Any) -> tuple[str, ...]:
    loss = getattr(model, "loss", None)
    flat = loss.values() if isinstance(loss, dict) else loss if isinstance(loss, (list, tuple)) else [loss]
    found = [getattr(item, "reduction", None) for item in flat]
    return tuple(str(item) for item in found if item is not None)


def strategy_of(model: Any, strategy: Any = None) -> Any:
    """The strategy that a model is trained with: the one given, its own, its optimizer's, or the current one."""
    for candidate in (strategy, _model_strategy(model), optimizer_strategy(getattr(model, "optimizer", None)), _current()):
        if strategy_name(candidate):
            return candidate
    return None


def _steps(model: Any) -> int:
    held = getattr(model, "steps_per_execution", None)
    if not isinstance(held, int):
        held = getattr(model, "_steps_per_execution", None)
    try:
        return int(held) if held is not None else 1
    except Exception:  # a strategy's variable that has no value here
        return 1


def plain(strategy: Any) -> bool:
    """Whether the variables of a strategy are plain ones, wherever they are made: those of one device."""
    return any(base.__name__ == "OneDeviceExtended" for base in type(getattr(strategy, "extended", None)).__mro__)


def _made_in(variable: Any, strategy: Any) -> bool:
    if plain(strategy):
        return True
    try:
        return _distributed(variable) and bool(strategy.extended.variable_created_in_scope(_raw(variable)))
    except Exception:
        return _distributed(variable)


def made_outside(variables: Any, strategy: Any) -> list[str]:
    """Paths of the variables that were not created in the strategy's scope."""
    return [_path(variable) for variable in variables if not _made_in(variable, strategy)]


def scope_state(model: Any, strategy: Any = None) -> ScopeState:
    """Facts about a Keras 3 or tf_keras model's variables and strategies.

    Args:
        strategy: the strategy that is going to be used; the model's own, the optimizer's or the current one unless given.
    """
    optimizer = getattr(model, "optimizer", None)
    current = _current()
    own, its = _model_strategy(model), optimizer_strategy(optimizer)
    chosen = strategy
    for candidate in (own, its, current):
        if chosen is None and strategy_name(candidate):
            chosen = candidate
    inside: list[str] = []
    outside: list[str] = []
    copies = 1
    variables = variables_of(model, "variables") if strategy_name(chosen) else []
    for variable in variables:
        made = _made_in(variable, chosen)
        (inside if made else outside).append(_path(variable))
        copies = max(copies, len(getattr(_raw(variable), "values", ())) if made else 1)
    metrics = []
    if strategy_name(chosen) and not plain(chosen):
        for metric in _metric_objects(model):
            held = list(getattr(metric, "variables", ()) or ())
            if held and not all(_distributed(variable) for variable in held):
                metrics.append(str(getattr(metric, "name", type(metric).__name__)))
    jit = getattr(model, "_jit_compile", None) if hasattr(model, "_jit_compile") else getattr(model, "jit_compile", None)
    trainable = variables_of(model, "trainable_variables")
    policy = getattr(model, "dtype_policy", None) or getattr(model, "_dtype_policy", None)
    return ScopeState(
        model=strategy_name(own), optimizer=strategy_name(its), current=strategy_name(current),
        strategy=strategy_name(chosen), given=strategy is not None or bool(strategy_name(current)),
        inside=tuple(inside), outside=tuple(outside), replicas=copies, metrics_outside=tuple(dict.fromkeys(metrics)),
        optimizer_class=type(optimizer).__name__ if optimizer is not None else "",
        optimizer_foreign=optimizer is not None and _foreign(optimizer, trainable),
        optimizer_slots=not (type(optimizer).__name__ == "SGD" and not getattr(optimizer, "momentum", 0)),
        jit_asked=jit is True and (bool(strategy_name(chosen)) or not _accelerators()),
        run_eagerly=bool(getattr(model, "_run_eagerly", None) or getattr(model, "run_eagerly", False)),
        steps_per_execution=_steps(model),
        policy=str(getattr(policy, "name", "") or ""), reductions=_reductions(model), compiled=optimizer is not None,
    )  # fmt: skip
