"""What is found of programs of Keras on JAX: a batch over a mesh of devices, and code that a compiled step does not take."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, Side, Sides
from ..words import count

Asked = Literal["bool", "number", "index", "array"]
_ASKED: dict[Asked, str] = {
    "bool": "asks whether a tensor is true",
    "number": "turns a tensor into a Python number",
    "index": "uses a tensor as a Python index or count",
    "array": "turns a tensor into a NumPy array",
}
_INSTEAD: dict[Asked, str] = {
    "bool": "Choose with ops.where or ops.cond.",
    "number": "Keep the tensor, and compute with keras.ops.",
    "index": "Take the size from x.shape, or use ops.take and ops.slice.",
    "array": "Use keras.ops or jax.numpy in place of NumPy.",
}


class Indivisible(Fact, frozen=True):
    """A batch of ``rows`` that does not divide over ``parts`` devices. ``last``: it is the smaller last one. ``live``: a distribution is set."""

    rows: int
    parts: int
    last: bool = False
    live: bool = False

    def message(self) -> str:
        return f"{'The last batch' if self.last else 'A batch'} of {count(self.rows, 'row')} does not divide over {self.parts} devices."

    def why(self) -> str:
        below, above = self.rows // self.parts * self.parts, -(-self.rows // self.parts) * self.parts
        sizes = f"{below} or {above} rows" if below else f"{above} rows"
        cure = "Drop that batch, or choose rows and batch size so that none is left over." if self.last else f"Use batches of {sizes}."
        where = "" if self.live else " under keras.distribution.DataParallel; without a distribution, fit uses one device"
        return f"JAX raises IndivisibleError when it lays the batch over the devices{where}. {cure}"

    def sides(self) -> Sides:
        return Side(f"a multiple of {self.parts}"), Side(count(self.rows, "row"))


class ValueAsked(Fact, frozen=True):
    """Code looks at a tensor's value while the program is compiled."""

    asked: Asked

    def message(self) -> str:
        return f"This line {_ASKED[self.asked]}, and there is no value yet: the step is compiled before it runs."

    def why(self) -> str:
        return f"{_INSTEAD[self.asked]} compile(run_eagerly=True) runs such code, without the compiler."


class ForeignFunction(Fact, frozen=True):
    """A function of TensorFlow is called with a tensor of JAX."""

    def message(self) -> str:
        return "This line calls a function of TensorFlow, and the model runs on JAX."

    def why(self) -> str:
        return "Use keras.ops, which is the same on every backend, or jax.numpy; or set KERAS_BACKEND=tensorflow before importing keras."


class StepWithoutState(Fact, frozen=True):
    """A ``train_step`` that takes only the data, as on TensorFlow."""

    def message(self) -> str:
        return "train_step takes only the data; on JAX it is called with the state as well: train_step(self, state, data)."

    def why(self) -> str:
        return (
            "The state is (trainable, non-trainable, optimizer, metrics variables); return (logs, state). "
            "Where only the loss is yours, override compute_loss, which is the same on every backend."
        )

    def sides(self) -> Sides:
        return Side("train_step(self, state, data)"), Side("train_step(self, data)")
