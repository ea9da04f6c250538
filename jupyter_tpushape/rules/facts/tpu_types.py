"""Facts about dtypes and kinds of tensors that a TPU does not support."""

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
        return f"{show(self.path)} is a {self.kind} tensor, which TPUStrategy cannot distribute."

    def why(self) -> str:
        cure = "to_tensor()" if self.kind == "ragged" else "tf.sparse.to_dense"
        return (
            "It raises `TPUStrategy does not support distributed datasets with device prefetch when using sparse or ragged tensors`. "
            f"Convert it to a dense tensor in the pipeline: map with {cure}."
        )

    def sides(self) -> Sides:
        return Side("a dense tensor"), Side(f"{self.kind} {self.dtype}")


class TextInput(Fact, frozen=True):
    """Text in the data. ``reader``: the layer that converts it to numbers; ``dynamic``: the batch axis is unknown too."""

    path: KeyPath
    dynamic: bool
    reader: Who | None

    def message(self) -> str:
        how = (
            "padding its unknown batch axis fails with `Unsupported data type for TPU: string, caused by output Pad`"
            if self.dynamic
            else "the first operation on it has no TPU kernel"
        )
        return f"{show(self.path)} is text, which TPUs do not support: {how}."

    def why(self) -> str:
        which = f": move {self.reader.name} out of the model into dataset.map." if self.reader is not None else ", in dataset.map."
        return f"Convert text to numbers in the pipeline, on the host{which}"

    def sides(self) -> Sides:
        return Side("numbers"), Side("string")


class UnsupportedDtype(Fact, frozen=True):
    """A dtype that TPUs do not support."""

    giver: Who
    dtype: str

    def message(self) -> str:
        return f"{named(self.giver)} outputs {self.dtype}, which TPUs do not support."

    def why(self) -> str:
        return "TensorFlow registers TPU kernels for a fixed list of dtypes: `No registered ... OpKernel for XLA_TPU_JIT`. complex64 is supported."

    def sides(self) -> Sides:
        return Side("complex64" if self.dtype.startswith("complex") else "float32"), Side(self.dtype)


class Float64(Fact, frozen=True):
    """A layer that computes in float64."""

    giver: Who

    def message(self) -> str:
        return f"{named(self.giver)} computes in float64, which TPUs emulate with pairs of float32."

    def why(self) -> str:
        return "It works, but needs twice the memory and is many times slower."

    def sides(self) -> Sides:
        return Side("float32"), Side("float64")


class MixedFloat16(Fact, frozen=True):
    """The mixed precision policy for GPUs. ``refused``: tf_keras raises."""

    refused: bool

    def message(self) -> str:
        return f"The model uses mixed_float16, {'which tf_keras rejects under TPUStrategy' if self.refused else 'the policy for GPUs'}."

    def why(self) -> str:
        says = (
            "tf_keras raises `Mixed precision is not supported with the tf.distribute.Strategy: TPUStrategyV2`."
            if self.refused
            else "Keras 3 adds a LossScaleOptimizer for it."
        )
        return f"Use mixed_bfloat16: bfloat16 has the range of float32, so no loss scaling is needed. {says}"

    def sides(self) -> Sides:
        return Side("mixed_bfloat16"), Side("mixed_float16")
