"""The family of a layer or operation, from the base classes, which the frameworks sort into packages."""

from __future__ import annotations

from typing import Any

from ..flow import Family

# The packages below a framework's ``layers``, or their modules where a package holds several kinds.
_PACKAGES: dict[str, Family] = {
    "convolutional": "convolution",
    "locally_connected": "convolution",
    "dense": "dense",
    "einsum_dense": "dense",
    "embedding": "embedding",
    "reversible_embedding": "embedding",
    "rnn": "recurrent",
    "attention": "attention",
    "normalization": "normalization",
    "activation": "activation",
    "activations": "activation",
    "pooling": "shape",
    "reshaping": "shape",
    "merging": "merge",
    "core": "other",
    "preprocessing": "other",
    "regularization": "other",
}

# Operations that compute nothing: another dtype, another shape of the same elements, a part of them, a constant. By TensorFlow's, Keras's
# and JAX's names, without case and underscores.
_LIGHT = frozenset({
    "arange", "broadcastindim", "broadcastto", "cast", "const", "constant", "convertelementtype", "copy", "dynamicslice", "ensureshape", "expanddims",
    "fill", "getitem", "identity", "identityn", "iota", "ones", "oneslike", "preventgradient", "range", "rank", "reshape", "shape", "size", "slice",
    "squeeze", "stopgradient", "stridedslice", "zeros", "zeroslike",
})  # fmt: skip


def layer_family(layer: Any) -> Family:
    """A layer's family; a wrapper has that of its inner layer, and fully custom code is ``own``."""
    for _ in range(4):
        inner = getattr(layer, "layer", None)
        if inner is None or not any(base.__name__ == "Wrapper" for base in type(layer).__mro__):
            break
        layer = inner
    return _class_family(type(layer))


def _class_family(cls: type) -> Family:
    for base in cls.__mro__:
        words = (base.__module__ or "").split(".")
        if words[0] not in ("keras", "tf_keras") or "layers" not in words:
            continue
        package = words[words.index("layers") + 1 :]
        # The innermost word first: ``core.dense`` is dense, ``preprocessing.normalization`` is not a normalization.
        for word in (*package[1:], *package[:1]) if package[:1] == ["core"] else package[:1]:
            if word in _PACKAGES:
                return _PACKAGES[word]
    return "own"


def op_family(op: str) -> Family:
    """An operation's family, by its type."""
    return "light" if op.replace("_", "").lower().removesuffix("v2") in _LIGHT else "op"
