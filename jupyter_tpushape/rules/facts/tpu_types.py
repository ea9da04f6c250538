"""What is found of dtypes and kinds of tensors that a TPU does not hold."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, KeyPath, Side, Sides, Who
from ...flow.paths import show
from ..words import named


class CompositeInput(Fact, frozen=True):
    """A ragged or sparse tensor of the data."""

    path: KeyPath
    kind: Literal["dense", "ragged", "sparse"]
    dtype: str

    def message(self) -> str:
        return f"{show(self.path)} is a {self.kind} tensor, and TPUStrategy does not distribute those."

    def why(self) -> str:
        cure = "to_tensor()" if self.kind == "ragged" else "tf.sparse.to_dense"
        return (
            "It raises `TPUStrategy does not support distributed datasets with device prefetch when using sparse or ragged tensors`. "
            f"Make it dense in the pipeline: map with {cure}."
        )

    def sides(self) -> Sides:
        return Side("a dense tensor"), Side(f"{self.kind} {self.dtype}")


class TextInput(Fact, frozen=True):
    """Text in the data. ``reader``: the layer that would turn it into numbers; ``dynamic``: the batch axis is unknown too."""

    path: KeyPath
    dynamic: bool
    reader: Who | None

    def message(self) -> str:
        how = (
            "and its batch axis is unknown, so already the padder fails: `Unsupported data type for TPU: string, caused by output Pad`"
            if self.dynamic
            else "and the first operation on it has no TPU kernel"
        )
        return f"{show(self.path)} is text, which a TPU cannot hold, {how}."

    def why(self) -> str:
        which = f" with {self.reader.name}, which then leaves the model." if self.reader is not None else "."
        return f"Turn text into numbers in the pipeline, on the host: dataset.map{which}"

    def sides(self) -> Sides:
        return Side("numbers"), Side("string")


class UnsupportedDtype(Fact, frozen=True):
    """A dtype that is not among a TPU's."""

    giver: Who
    dtype: str

    def message(self) -> str:
        return f"{named(self.giver)} gives {self.dtype}, which is not among the types a TPU has."

    def why(self) -> str:
        return (
            "TensorFlow's TPU kernels are registered for a fixed list of types: `No registered ... OpKernel for XLA_TPU_JIT`. "
            "complex64 is on the list."
        )

    def sides(self) -> Sides:
        return Side("complex64" if self.dtype.startswith("complex") else "float32"), Side(self.dtype)


class Float64(Fact, frozen=True):
    """A layer that computes in float64."""

    giver: Who

    def message(self) -> str:
        return f"{named(self.giver)} computes in float64, which a TPU emulates with pairs of float32."

    def why(self) -> str:
        return "It works, in twice the memory and many times the time."

    def sides(self) -> Sides:
        return Side("float32"), Side("float64")


class MixedFloat16(Fact, frozen=True):
    """The policy for GPUs. ``refused``: tf_keras raises."""

    refused: bool

    def message(self) -> str:
        return (
            f"The model runs under mixed_float16, {'which tf_keras refuses under TPUStrategy' if self.refused else 'the policy for GPUs'}."
        )

    def why(self) -> str:
        says = (
            "tf_keras raises `Mixed precision is not supported with the tf.distribute.Strategy: TPUStrategyV2`."
            if self.refused
            else "Keras 3 adds a LossScaleOptimizer for it."
        )
        return f"Type mixed_bfloat16: the TPU's own 16-bit type has float32's range, so no loss scaling is needed. {says}"

    def sides(self) -> Sides:
        return Side("mixed_bfloat16"), Side("mixed_float16")
