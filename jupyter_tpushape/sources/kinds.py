"""What kind of object a value is, by its type and without importing a framework."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .values import TensorKind


def has(value: Any, *names: str) -> bool:
    """Whether it has all these attributes; one that raises something odd when it is looked at has not."""
    try:
        return all(hasattr(value, name) for name in names)
    except Exception:
        return False


def has_base(value: Any, name: str, module: str) -> bool:
    """Whether a base class of the value's type has this name, in a module that starts so."""
    return any(base.__name__ == name and base.__module__.startswith(module) for base in type(value).__mro__)


def is_dataset(value: Any) -> bool:
    return has_base(value, "DatasetV2", "tensorflow.python.data")


def is_distributed_dataset(value: Any) -> bool:
    return any(has_base(value, name, "tensorflow.python.distribute") for name in ("DistributedDataset", "DistributedDatasetsFromFunction"))


def is_pydataset(value: Any) -> bool:
    return has_base(value, "PyDataset", "keras.src")


def is_sequence(value: Any) -> bool:
    return has_base(value, "Sequence", "tf_keras.src.utils")


def is_loader(value: Any) -> bool:
    """Whether Keras 3 iterates over it for batches: Torch's loader, or one of grain's datasets and loaders."""
    return has_base(value, "DataLoader", "torch.utils.data") or any(has_base(value, name, "grain") for name in ("MapDataset", "IterDataset", "DataLoader"))


def is_ragged(value: Any) -> bool:
    return has_base(value, "RaggedTensor", "tensorflow.python")


def is_sparse(value: Any) -> bool:
    return has_base(value, "SparseTensor", "tensorflow.python")


def tensor_kind(value: Any) -> TensorKind:
    """Dense, ragged or sparse, of a tensor or of TensorFlow's spec of one."""
    if is_ragged(value) or has_base(value, "RaggedTensorSpec", "tensorflow.python"):
        return "ragged"
    if is_sparse(value) or is_scipy(value) or has_base(value, "SparseTensorSpec", "tensorflow.python"):
        return "sparse"
    return "dense"


def is_scipy(value: Any) -> bool:
    return type(value).__module__.startswith("scipy.sparse") and has(value, "tocsr")


def is_tf_tensor(value: Any) -> bool:
    """An eager TensorFlow tensor or a variable of either Keras: something that holds numbers."""
    return has(value, "numpy") and has_base(value, "Tensor", "tensorflow.python")


def is_pandas(value: Any) -> str:
    """``"DataFrame"``, ``"Series"`` or ``""``."""
    for name in ("DataFrame", "Series"):
        if has_base(value, name, "pandas"):
            return name
    return ""


def is_array(value: Any) -> bool:
    """Whether ``fit`` of Keras 3 treats this leaf as an array."""
    if isinstance(value, type) or is_dataset(value) or is_spec(value):
        return False
    if isinstance(value, np.ndarray):
        return issubclass(type(value), np.ndarray)  # a stand-in for tests says so too
    return tensor_kind(value) != "dense" or is_tf_tensor(value) or has(value, "__array__")


def is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, str, bytes))


def is_spec(value: Any) -> bool:
    """A shape and a dtype instead of data: a TensorSpec, a KerasTensor, an InputSpec or a Spec."""
    if has_base(value, "TypeSpec", "tensorflow.python") or has_base(value, "KerasTensor", "keras.src"):
        return not is_dataset(value)
    if has_base(value, "KerasTensor", "tf_keras.src") or has_base(value, "InputSpec", ""):
        return True
    if type(value).__name__ in ("Spec", "LeafSpec", "ShapeDtypeStruct"):
        return has(value, "shape", "dtype")
    return has_base(value, "Tensor", "tensorflow.python") and not has(value, "numpy")


def floatx(framework: str) -> str:
    """The framework's current default float; ``"float32"`` if it is not imported."""
    module = sys.modules.get(framework)
    if module is None:
        return "float32"
    backend = getattr(module, "backend", None)
    return str(backend.floatx()) if backend is not None and hasattr(backend, "floatx") else "float32"


def dtype_name(dtype: Any) -> str:
    """A framework-neutral name of a NumPy, TensorFlow, JAX or Torch dtype."""
    if isinstance(dtype, np.dtype):
        # Dates, spans of time and records have no dtype of a tensor.
        return "string" if dtype.kind in "USOmM" or dtype.name.startswith("void") else dtype.name
    name = getattr(dtype, "name", None) or str(dtype)
    return str(name).rsplit(".", 1)[-1]


def type_name(value: Any) -> str:
    """The value's type as a user would type it (``tf.data`` and Keras internals shortened)."""
    kind = type(value)
    root = kind.__module__.split(".")[0]
    return kind.__name__ if root in ("builtins", "__main__") else f"{root}.{kind.__name__}"
