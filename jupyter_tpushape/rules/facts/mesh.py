"""What is found of programs of Keras on JAX: a batch over a mesh of devices, and code that a compiled step does not take."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, Side, Sides
from ..words import count

Asked = Literal["bool", "number", "index", "array", "mask"]
_ASKED: dict[Asked, str] = {
    "bool": "asks whether a tensor is true",
    "number": "turns a tensor into a Python number",
    "index": "uses a tensor as a Python index or count",
    "array": "turns a tensor into a NumPy array",
    "mask": "selects elements by a mask of booleans, so that the values decide how many there are",
}
_INSTEAD: dict[Asked, str] = {
    "bool": "Choose with ops.where or ops.cond.",
    "number": "Keep the tensor, and compute with keras.ops.",
    "index": "Take the size from x.shape, or use ops.take and ops.slice.",
    "array": "Use keras.ops or jax.numpy in place of NumPy.",
    "mask": "Keep the shape: ops.where(mask, x, 0), and divide a sum by the number of elements that count.",
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


class TextFed(Fact, frozen=True):
    """Text is fed to a model, at ``path`` of the data; ``layer``: the one that is to turn it into numbers."""

    path: str
    layer: str = ""

    def message(self) -> str:
        return f"{self.path} is text, and no tensor of JAX holds text."

    def why(self) -> str:
        which = f"{self.layer} works" if self.layer else "TextVectorization and StringLookup work"
        return f"On JAX {which} in the data pipeline, before the model: ds.map(lambda x, y: (vectorize(x), y)), or vectorize(texts) for an array; the model takes ids."

    def sides(self) -> Sides:
        return Side("numbers"), Side("text")


class ItemAssigned(Fact, frozen=True):
    """Code assigns an item of a tensor of JAX."""

    def message(self) -> str:
        return "This line assigns an item of a tensor, and tensors of JAX never change."

    def why(self) -> str:
        return "x.at[index].set(value) returns a new tensor with that item changed (.add for +=); keras.ops.where does it on every backend."

    def sides(self) -> Sides:
        return Side("x = x.at[index].set(value)"), Side("x[index] = value")


class StateLost(Fact, frozen=True):
    """A layer or model (``owner``) puts a tensor of the compiled step into ``attribute``, which held a value. ``random``: a random key.

    ``leaked``: Keras traces it before the first step, and leaves a tensor of that trace there.
    """

    owner: str
    attribute: str
    random: bool = False
    leaked: bool = False

    def message(self) -> str:
        return f"{self.owner} assigns a new value to self.{self.attribute} inside a compiled step, and no later step sees it."

    def why(self) -> str:
        each = "every step draws the same random numbers" if self.random else "every step starts from the same value"
        instead = (
            "Use keras.random with a keras.random.SeedGenerator, whose state is a variable."
            if self.random
            else "Keep it in a variable: self.add_weight(..., trainable=False), and assign()."
        )
        if self.leaked:
            return (
                f"Keras infers shapes before the first step, and self.{self.attribute} still holds a tensor of that trace: "
                f"fit raises UnexpectedTracerError. {instead}"
            )
        return (
            f"The program is compiled once with self.{self.attribute} as it was, so that {each}. "
            f"When a batch of another shape compiles it again, JAX raises UnexpectedTracerError. {instead}"
        )


class ForeignFunction(Fact, frozen=True):
    """A function of TensorFlow is called with a tensor of JAX."""

    def message(self) -> str:
        return "This line calls a function of TensorFlow, and the model runs on JAX."

    def why(self) -> str:
        return "Use keras.ops, which is the same on every backend, or jax.numpy; or set KERAS_BACKEND=tensorflow before importing keras."


class VariableGiven(Fact, frozen=True):
    """Variables of Keras (``names``) are given to a function of JAX as they are, or are asked for an ``attribute`` that only tensors have."""

    names: tuple[str, ...]
    attribute: str = ""

    def message(self) -> str:
        what = " and ".join(self.names) or "A variable"
        if self.attribute:
            return f"{what} is a Keras variable, which has no {self.attribute}: only tensors do."
        return f"{what} is passed to a JAX function, but it is a Keras variable and not a JAX array."

    def why(self) -> str:
        return "JAX no longer converts other objects. keras.ops functions accept variables. For jax.numpy, pass keras.ops.convert_to_tensor(variable)."

    def sides(self) -> Sides:
        return Side("a JAX array"), Side("a Keras variable")


class Unseeded(Fact, frozen=True):
    """A random function of Keras is called without a seed while a step is compiled."""

    def message(self) -> str:
        return "This line draws random numbers without a seed, and a compiled step would draw the same ones each time."

    def why(self) -> str:
        return (
            "Keras on JAX raises. Make a keras.random.SeedGenerator in __init__, keep it on self, and give it as seed: its state is a variable "
            "of the layer."
        )

    def sides(self) -> Sides:
        return Side("seed=self.seed_generator"), Side("no seed")


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


class HostsRefused(Fact, frozen=True):
    """Data that Keras does not deal to several hosts: no ``tf.data.Dataset``, or a batch (``rows``) that does not divide over ``parts``."""

    hosts: int
    rows: int = 0
    parts: int = 0

    def message(self) -> str:
        if self.rows:
            return f"A batch of {self.rows} does not divide over the {self.parts} parts that {self.hosts} hosts read."
        return f"Keras deals only a tf.data.Dataset to {self.hosts} hosts, and this data is none."

    def why(self) -> str:
        if self.rows:
            return "Keras rebatches the dataset for each host (auto_shard_dataset), and raises ValueError."
        return (
            "fit raises ValueError. Give a tf.data.Dataset, or give each host its own rows (jax.process_index()) and set "
            "auto_shard_dataset=False on the distribution."
        )


class HostsShare(Fact, frozen=True):
    """A pipeline that is sharded over hosts by hand and by Keras (``twice``), or by nobody."""

    hosts: int
    twice: bool

    def message(self) -> str:
        if self.twice:
            return f"The pipeline shards the data, and Keras shards it again over {self.hosts} parts: most of the rows are never read."
        return f"Nothing in the pipeline shards the data over {self.hosts} hosts, so that all of them may read the same rows."

    def why(self) -> str:
        if self.twice:
            return "auto_shard_dataset is True. Leave out shard(), or set auto_shard_dataset=False on the distribution."
        return "auto_shard_dataset is False, so that Keras leaves each host's data as it is."
