"""The classes and functions of Keras that a configuration may name."""

from __future__ import annotations

import importlib
import inspect
import sys
from functools import lru_cache
from types import ModuleType
from typing import Any

# The public modules of which models, and what they are compiled with, are made.
_MODULES = (
    "layers", "layers.experimental", "layers.experimental.preprocessing", "models", "experimental", "initializers", "regularizers",
    "constraints", "activations", "losses", "metrics", "optimizers", "optimizers.schedules", "optimizers.legacy", "optimizers.experimental",
    "dtype_policies", "mixed_precision", "mixed_precision.experimental", "quantizers", "random",
)  # fmt: skip
_FUNCTIONS = ("activations", "losses", "metrics", "initializers", "regularizers", "constraints")
# Classes of Keras' own that run what their configuration holds, or load what it points to.
RUNS = {
    "Lambda": "a Lambda layer",
    "TorchModuleWrapper": "a pickled PyTorch module",
    "JaxLayer": "a JAX function",
    "FlaxLayer": "a Flax module",
    "TFSMLayer": "another SavedModel",
    "TensorFlowOpLayer": "a serialized TensorFlow operation",
    "ClassMethod": "a TensorFlow method called by name",
    "InstanceMethod": "a tensor method called by name",
}
# Operations of TensorFlow that tf_keras keeps by name: those that compute, and none that reads, writes or calls.
_COMPUTING = ("math.", "nn.", "linalg.", "signal.", "image.", "bitwise.", "sets.", "strings.", "__operators__.", "sparse.", "ragged.")
_OPERATIONS = """
abs acos acosh add add_n argmax argmin argsort asin asinh atan atan2 atanh batch_to_space bitcast boolean_mask broadcast_to cast
clip_by_norm clip_by_value complex concat convert_to_tensor cos cosh cumsum divide dynamic_partition dynamic_stitch einsum
ensure_shape equal exp expand_dims eye fill floor gather gather_nd greater greater_equal histogram_fixed_width identity identity_n
less less_equal linspace logical_and logical_not logical_or matmul maximum meshgrid minimum multiply negative norm not_equal
one_hot ones ones_like pad parallel_stack pow range rank realdiv reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean
reduce_min reduce_prod reduce_sum repeat reshape reverse reverse_sequence roll round saturate_cast scatter_nd searchsorted
sequence_mask shape shape_n sigmoid sign sin sinh size slice sort space_to_batch split sqrt square squeeze stack stop_gradient
strided_slice subtract tan tanh tensor_scatter_nd_add tensor_scatter_nd_update tensordot tile transpose truediv truncatediv unique
unstack where zeros zeros_like
"""
_PLAIN = frozenset(_OPERATIONS.split())


@lru_cache(maxsize=4)
def classes(package: str) -> frozenset[type]:
    """The classes of a Keras that a configuration may name."""
    framework = sys.modules[package]
    found: set[type] = set()
    for module in _spaces(framework, _MODULES):
        for name, value in vars(module).items():
            if inspect.isclass(value) and value.__module__.startswith(f"{package}.") and not name.startswith("_"):
                found.add(value)
    found.add(framework.Model)
    found.add(framework.Sequential)
    # The class of a model that was made of inputs and outputs is nowhere public.
    place = "models" if package == "keras" else "engine"
    found.add(importlib.import_module(f"{package}.src.{place}.functional").Functional)
    if package == "keras":
        pending = [framework.Operation]
        while pending:
            one = pending.pop()
            pending += one.__subclasses__()
            if one.__module__.startswith("keras.src.ops."):
                found.add(one)
    else:
        core = sys.modules["tf_keras.src.layers.core.tf_op_layer"]
        found |= {core.TFOpLambda, core.SlicingOpLambda, core.InstanceProperty}
    return frozenset(one for one in found if one.__name__ not in RUNS)


@lru_cache(maxsize=4)
def functions(package: str) -> frozenset[Any]:
    """The functions of a Keras that a configuration may name."""
    spaces = _spaces(sys.modules[package], _FUNCTIONS)
    found = {value for module in spaces for name, value in vars(module).items() if inspect.isfunction(value)}
    return frozenset(value for value in found if value.__name__ not in ("get", "serialize", "deserialize"))


def _spaces(framework: ModuleType, names: tuple[str, ...]) -> list[ModuleType]:
    found = []
    for name in names:
        at: Any = framework
        for part in name.split("."):
            at = getattr(at, part, None)
        if isinstance(at, ModuleType):
            found.append(at)
    return found


def named(package: str, module: object, name: str) -> Any:
    """What Keras would find under this name, looked up and never imported."""
    if not module or module == "builtins":
        found = {one.__name__: one for one in (*classes(package), *functions(package))}
        return found.get(name) or _short(package, name)
    if not isinstance(module, str) or module.partition(".")[0] not in ("keras", "tf_keras"):
        return None
    tail = module.partition(".")[2]
    at: Any = sys.modules[package]
    for part in filter(None, tail.split(".")):
        at = vars(at).get(part) if isinstance(at, ModuleType) else None
    found_public = vars(at).get(name) if isinstance(at, ModuleType) else None
    loaded = sys.modules.get(f"{package}.{tail}")
    return found_public if found_public is not None else vars(loaded).get(name) if loaded is not None else None


def _short(package: str, name: str) -> Any:
    for module in _spaces(sys.modules[package], _MODULES):
        value = vars(module).get(name)
        if value is not None:
            return value
    return None


def computes(operation: object) -> bool:
    """Whether a name is that of an operation of TensorFlow's that only computes."""
    if not isinstance(operation, str):
        return False
    name = operation.removeprefix("compat.v1.")
    return name in _PLAIN or (name.startswith(_COMPUTING) and all(part.isidentifier() for part in name.split(".")))


def registered(package: str, name: str) -> Any:
    """What is registered under a name in this process."""
    return sys.modules[package].saving.get_registered_object(name)
