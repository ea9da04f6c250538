"""What is found of contracts beyond shapes: states, weights, dtypes, graphs and what a symbolic tensor cannot do."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import count, listed, named, pair


def _shapes(shapes: tuple[Shape | None, ...]) -> str:
    return listed(tuple(map(show_shape, shapes))) or "nothing"


class States(Fact, frozen=True):
    """A recurrent layer keeps states as wide as ``keeps``, and its initial state brings ``given``.

    ``both``: it runs in both directions; ``encoders``: the layers that gave the states; ``joined``: one of them runs in both directions.
    """

    layer: Who
    keeps: tuple[int, ...]
    given: tuple[Shape | None, ...]
    both: bool = False
    encoders: tuple[str, ...] = ()
    joined: bool = False

    @property
    def counted(self) -> bool:
        """Whether the number of states is right."""
        return len(self.keeps) == len(self.given)

    def message(self) -> str:
        wide = listed(tuple(dict.fromkeys(map(str, self.keeps))))
        keeps = f"{count(len(self.keeps), 'state')} of {wide} numbers a sample"
        source = f" from {listed(self.encoders)}" if self.encoders else ""
        return f"{named(self.layer)} keeps {keeps}, and its initial state{source} is {_shapes(self.given)}."

    def why(self) -> str:
        half = len(self.keeps) // 2 if self.both else len(self.keeps)
        kinds = "h and c" if half == 2 else "one"
        if self.both and not self.counted:
            return (
                f"Each direction keeps {kinds} of its own, so {len(self.keeps)} states are wanted: those of the forward layer, then those of the "
                f"backward layer. {count(len(self.given), 'state')} came."
            )
        if self.joined and not self.both:
            size = next((shape[-1] for shape in self.given if shape), None)
            wide = f" ({size} + {size} = {2 * size} numbers)" if size else ""
            return (
                "The encoder runs in both directions and returns the states of each: forward h and c, then backward h and c. For a layer of one "
                f"direction, concatenate the two h and the two c{wide}, and give the layer as many units."
            )
        if not self.counted:
            has = {1: "a GRU or SimpleRNN keeps one", 2: "an LSTM keeps two, h and c"}.get(
                len(self.keeps), "a layer keeps as many as its cells"
            )
            return f"{count(len(self.given), 'state')} came, and {has}. What a layer with return_state=True gives first is its output, which is no state."
        if any(shape is not None and len(shape) != 2 for shape in self.given):
            return "A state is (batch, units): one vector a sample, without a time axis."
        return "A state has one number a unit, so encoder and decoder need the same number of units, or a Dense in between."

    def sides(self) -> Sides:
        alike = self.counted and len(self.keeps) > 1 and len(set(self.keeps)) == 1
        wanted = f"(batch, {self.keeps[0]}) each" if alike else ", ".join(f"(batch, {n})" for n in self.keeps)
        return Side(wanted), Side(", ".join(map(show_shape, self.given)))


class StateRows(Fact, frozen=True):
    """The initial state of ``layer`` is made for ``given`` samples, and its input has ``rows``."""

    layer: Who
    rows: int
    given: int

    def message(self) -> str:
        return f"The initial state of {named(self.layer)} is made for {count(self.given, 'sample')}, and its input has {self.rows}."

    def why(self) -> str:
        return f"The number of rows {self.given} is written into the state. Take it from the input: tf.zeros((tf.shape(x)[0], units))."

    def sides(self) -> Sides:
        return Side(count(self.rows, "row")), Side(count(self.given, "row"))


class StatefulRows(Fact, frozen=True):
    """A stateful layer keeps its state for ``rows`` samples (``None``: none declared), and batches of ``given`` come."""

    layer: Who
    rows: int | None
    given: int | None

    def message(self) -> str:
        if self.rows is None:
            return f"{named(self.layer)} is stateful and does not know how many samples a batch has."
        return f"{named(self.layer)} keeps the state of {count(self.rows, 'sample')}, and a batch has {self.given}."

    def why(self) -> str:
        if self.rows is None:
            return "It keeps one state a sample from batch to batch. Declare the batch: keras.Input(batch_shape=(rows, ...)), and feed batches of that size."
        return f"A stateful layer carries its state over, row by row, so every batch must have {count(self.rows, 'row')}: batch_size={self.rows} in fit, and data that divides by it."

    def sides(self) -> Sides:
        return Side("a declared batch" if self.rows is None else f"{self.rows} rows"), Side(
            "any" if self.given is None else f"{self.given} rows"
        )


class CellState(Fact, frozen=True):
    """The cell of a recurrent layer returns a state of another shape than it was given."""

    layer: Who
    before: Shape
    after: Shape

    def message(self) -> str:
        return f"The cell of {named(self.layer)} is given a state {show_shape(self.before)} and returns one of {show_shape(self.after)}."

    def why(self) -> str:
        more = len(self.after) - len(self.before)
        lists = " A cell gets its states as a list: a single one is states[0]." if more == 1 else ""
        return f"The state goes round from step to step, so a cell returns (output, states) with states as it got them.{lists}"

    def sides(self) -> Sides:
        return pair(self.before, self.after, names=False)


class WeightApart(Fact, frozen=True):
    """A weight of ``owner`` has the shape ``wanted`` and was to be set to an array of ``given``."""

    owner: Who | None
    name: str
    wanted: Shape
    given: Shape

    def message(self) -> str:
        who = named(self.owner) if self.owner is not None else self.name or "a layer"
        return f"A weight of {who} has the shape {show_shape(self.wanted)}, and an array {show_shape(self.given)} was to be put there."

    def why(self) -> str:
        if self.owner is not None and self.owner.op == "Embedding" and len(self.wanted) == len(self.given) == 2:
            rows, wide = self.wanted[0] != self.given[0], self.wanted[1] != self.given[1]
            table = f"input_dim={self.given[0]}" if rows and not wide else f"output_dim={self.given[1]}" if wide and not rows else ""
            one = (
                " It often counts one word less, because id 0 is for the padding."
                if rows and abs((self.wanted[0] or 0) - (self.given[0] or 0)) == 1
                else ""
            )
            ask = f" {table} would take this one." if table else ""
            return f"The table has one row of output_dim numbers for each of input_dim ids.{ask}{one}"
        if len(self.wanted) == len(self.given) and sorted(map(str, self.wanted)) == sorted(map(str, self.given)):
            return "The sizes are the same in another order: the array is transposed, as other libraries store it."
        return "A layer's weights get their shape when it is built, from its input and its own arguments: the two models differ there."

    def sides(self) -> Sides:
        return pair(self.wanted, self.given, names=False)


class WeightCount(Fact, frozen=True):
    """``owner`` keeps ``wanted`` weights and was handed ``given``."""

    owner: str
    wanted: int
    given: int

    def message(self) -> str:
        if not self.wanted:
            return f"{self.owner} has no weights yet, and set_weights hands it {count(self.given, 'array')}."
        return f"{self.owner} keeps {count(self.wanted, 'weight')}, and set_weights hands it {count(self.given, 'array')}."

    def why(self) -> str:
        if not self.wanted:
            return "A layer makes its weights when it is built: call it once, or its build(input_shape), before set_weights."
        return "set_weights takes a list in the order of layer.weights, such as [kernel, bias]; use_bias=False leaves out the bias."

    def sides(self) -> Sides:
        return Side(count(self.wanted, "array")), Side(count(self.given, "array"))


class Disconnected(Fact, frozen=True):
    """A model's outputs need ``missing`` inputs, which it was not given: ``(name, shape)`` each. ``given``: those that it was."""

    missing: tuple[tuple[str, Shape | None], ...]
    given: tuple[tuple[str, Shape | None], ...]
    through: tuple[str, ...] = ()

    def message(self) -> str:
        missing = listed(tuple(f"{name} {show_shape(shape)}" for name, shape in self.missing))
        given = listed(tuple(f"{name} {show_shape(shape)}" for name, shape in self.given))
        way = f" (through {listed(self.through)})" if self.through else ""
        return f"The model's output comes from the input {missing}{way}, and the model is made of {given}."

    def why(self) -> str:
        taken = {shape for _, shape in self.missing} & {shape for _, shape in self.given}
        again = " An Input that is made a second time is another tensor, even under the same name." if taken else ""
        return f"A model's inputs must be all the Input tensors that its output was computed from: hand over those, or call the layers anew on the ones given.{again}"

    def sides(self) -> Sides:
        return Side(", ".join(name for name, _ in (*self.missing,))), Side(", ".join(name for name, _ in self.given))


class CallRefused(Fact, frozen=True):
    """``function`` is called with other arguments than it takes; ``named`` is one that it does not know, or ``""``."""

    function: str
    named: str
    said: str

    def message(self) -> str:
        what = f"with {self.named}=, which it does not take" if self.named else "with other arguments than it takes"
        return f"{self.function} is called {what}."

    def why(self) -> str:
        return f"It says: {self.said}"


class ShapesInBuild(Fact, frozen=True):
    """``layer`` is called on several tensors, of ``shapes``, and its ``build`` takes the list of their shapes for one shape."""

    layer: Who
    shapes: tuple[Shape | None, ...]
    said: str

    def message(self) -> str:
        return f"{named(self.layer)} is called on {len(self.shapes)} tensors, {listed(tuple(map(show_shape, self.shapes)))}, and its build raises: {self.said.rstrip('.')}."

    def why(self) -> str:
        return (
            "build gets what call gets: for a list of tensors a list of their shapes. shapes[0] is the first tensor's shape, and shapes[0][-1] "
            "its last axis."
        )

    def sides(self) -> Sides:
        return Side(f"a list of {len(self.shapes)} shapes"), Side("one shape")


class KeysUnpacked(Fact, frozen=True):
    """The dict ``name`` is taken apart into ``keys``: each name of the program with the key that it got."""

    name: str
    keys: tuple[tuple[str, str], ...]

    def message(self) -> str:
        names = listed(tuple(name for name, _ in self.keys))
        return f"{names} hold the keys of the dict {self.name}, {listed(tuple(repr(key) for _, key in self.keys))}, and not its tensors."

    def why(self) -> str:
        first = self.keys[0]
        return f"Taking a dict apart gives its keys. Its tensors are looked up by key: {first[0]} = {self.name}[{first[1]!r}]."

    def sides(self) -> Sides:
        return Side("tensors"), Side("text")


class CallMisfit(Fact, frozen=True):
    """A call of ``function`` that its signature refuses: parameters that got nothing, or two values, names that are none, or too ``many``."""

    function: str
    missing: tuple[str, ...]
    doubled: str
    unknown: str
    many: int
    layer: bool
    said: str

    def message(self) -> str:
        if self.doubled:
            return f"{self.function} is given {self.doubled} twice: by its place and by its name."
        if self.unknown:
            return f"{self.function} is called with {self.unknown}=, which it does not take."
        if self.missing:
            return f"{self.function} is called without {listed(tuple(f'{name}=' for name in self.missing))}, which it needs."
        return f"{self.function} is called with {count(self.many, 'argument')} more than it takes."

    def why(self) -> str:
        made = " A layer is made with its settings and then called on its input, in two pairs of brackets." if self.layer else ""
        return f"It says: {self.said.rstrip('.')}.{made}"


class SymbolicFunction(Fact, frozen=True):
    """A line calls ``function`` on a symbolic tensor of Keras 3; ``instead``: the same of Keras, or ``""``."""

    function: str
    instead: str

    def message(self) -> str:
        what = f"{self.function}, a function of another library," if self.function else "a TensorFlow, JAX or NumPy function"
        return f"A line calls {what} on a symbolic tensor of Keras 3, which has a shape and no values."

    def why(self) -> str:
        use = f"{self.instead} does the same on it" if self.instead else "Use keras.ops in its place"
        return f"{use}; or put the line into the call of a Layer subclass, which is given the backend's own tensors."

    def sides(self) -> Sides:
        return Side(self.instead or "keras.ops"), Side(self.function or "a function of another library")


class SymbolicQuestion(Fact, frozen=True):
    """A line asks for a value that is not there while the model is made: a truth, or a size."""

    of: Literal["truth", "size"]

    def message(self) -> str:
        if self.of == "truth":
            return "A line asks whether a symbolic tensor is true, and its values are not there while the model is made."
        return "A line calculates with an axis whose size is None: it is not known while the model is made."

    def why(self) -> str:
        if self.of == "truth":
            return (
                "Python's if, while, and, or and not need a value. keras.ops.where chooses element by element, keras.ops.cond as a whole."
            )
        return "The batch axis of an Input has no size. Use another axis, -1 in a reshape, or ops.shape(x)[0] inside a layer's call."


class Unpacked(Fact, frozen=True):
    """A line unpacks ``wanted`` values of what ``layer`` returns, which are ``outputs``: shapes."""

    layer: Who
    wanted: int
    outputs: tuple[Shape | None, ...]

    def message(self) -> str:
        return f"{named(self.layer)} returns {count(len(self.outputs), 'tensor')}, and the line unpacks {self.wanted}: {_shapes(self.outputs)}."

    def why(self) -> str:
        if self.layer.op == "Bidirectional":
            return "With return_state=True it returns its output, then the states of the forward layer, then those of the backward layer."
        return "With return_state=True a recurrent layer returns its output and then each of its states: h and c of an LSTM, one of a GRU."

    def sides(self) -> Sides:
        return Side(f"{self.wanted} values"), Side(count(len(self.outputs), "tensor"))


class CallArguments(Fact, frozen=True):
    """The call of ``layer`` wants an argument ``missing`` of its own, and fit hands over one structure of ``given``."""

    layer: Who
    missing: str
    given: int

    def message(self) -> str:
        return f"The call of {named(self.layer)} wants {self.missing} as an argument of its own, and gets {count(self.given, 'tensor')} in one."

    def why(self) -> str:
        return (
            f"fit hands all of x over as the first argument. Take it apart inside: def call(self, inputs), then a, {self.missing} = inputs."
        )


class StatesToo(Fact, frozen=True):
    """``layer`` takes one tensor, and ``giver`` gives its output and its states, ``given`` tensors in all."""

    layer: Who
    giver: Who
    given: int

    def message(self) -> str:
        return f"{named(self.layer)} takes one tensor, and {self.giver.name} gives {self.given}: its output and {count(self.given - 1, 'state')}."

    def why(self) -> str:
        return (
            "With return_state=True a recurrent layer returns a list. Take it apart, output, *states = layer(x), or leave return_state out."
        )


class NoRank(Fact, frozen=True):
    """Tensors of the data whose number of axes is not known."""

    paths: tuple[str, ...]
    layer: Who | None

    def message(self) -> str:
        what = listed(self.paths)
        return f"{what} {'has' if len(self.paths) == 1 else 'have'} no known number of axes{f', and {named(self.layer)} needs it' if self.layer is not None else ''}."

    def why(self) -> str:
        return (
            "A tensor that comes out of tf.py_function, numpy_function or a generator without a signature has no shape. Say it in the pipeline: "
            "x.set_shape([...]) or tf.ensure_shape behind the function, output_signature=... for a generator."
        )


class DtypesApart(Fact, frozen=True):
    """``operation`` is given ``first`` and ``second``. ``half``: the one that the policy makes of a layer's inputs; ``inside``: whose code it is."""

    operation: str
    first: str
    second: str
    inside: Who | None
    kind: Literal["layer", "loss", "metric", "program"] = "layer"
    labels: bool = False

    def message(self) -> str:
        where = f" in {named(self.inside)}" if self.inside is not None else ""
        return f"{self.operation}{where} is given {self.first} and {self.second}: TensorFlow does not convert one to the other."

    def why(self) -> str:
        both = {self.first, self.second}
        if both & {"float16", "bfloat16"}:
            low = next(iter(both & {"float16", "bfloat16"}))
            return (
                f"Under a mixed policy (or dtype={low!r}) layers are given {low} tensors; numbers and constants that the code makes by itself are "
                f"float32. Make them in the tensor's dtype: tf.cast(value, x.dtype)."
            )
        if "float64" in both:
            return "NumPy makes float64 by default, and Keras works in float32: say dtype='float32', or tf.cast(value, x.dtype)."
        if any(name.startswith(("int", "uint")) for name in both) and any(name.startswith("float") for name in both):
            whose = " Labels are brought to the predictions' dtype by tf.cast(y_true, y_pred.dtype)." if self.labels else ""
            return f"Whole numbers (ids, ranges, shapes, labels) are no floats until they are cast: tf.cast(value, x.dtype).{whose}"
        return "Bring both to one dtype: tf.cast(value, x.dtype)."

    def sides(self) -> Sides:
        return Side(self.first), Side(self.second)


class DtypeRefused(Fact, frozen=True):
    """A loss or a layer hands ``parameter`` of an operation over as ``dtype``. ``came``: what the labels are in the data, where Keras cast them."""

    where: Who
    parameter: str
    dtype: str
    allowed: tuple[str, ...]
    came: str = ""

    def message(self) -> str:
        return f"{named(self.where)} hands {self.parameter} as {self.dtype} to an operation that takes {listed(self.allowed[:4])} only."

    def why(self) -> str:
        if self.came:
            return (
                f"The labels are {self.came} in the data. Keras 3 casts them to {self.dtype} before it calls a Loss of your own; inside, cast them "
                f"back: tf.cast(y_true, '{self.allowed[0]}')."
            )
        return f"Cast it there: tf.cast(value, '{self.allowed[0]}')."

    def sides(self) -> Sides:
        return Side(", ".join(self.allowed)), Side(self.dtype)


class InnerDoor(Fact, frozen=True):
    """A model used as a layer declares ``wanted`` and is given ``shape``. ``fits``: what argument of which layer would give it."""

    layer: Who
    wanted: Shape
    shape: Shape
    givers: tuple[str, ...]
    source: tuple[str, str, int, int, int] | None = None

    def message(self) -> str:
        source = listed(self.givers) or "its input"
        return f"The model {self.layer.name} declares {show_shape(self.wanted)}, and {source} gives {show_shape(self.shape)}."

    def why(self) -> str:
        if self.source is None:
            return "What one model gives must be what the next one declares, axis by axis."
        who, argument, now, becomes, instead = self.source
        return (
            f"{who} begins with {argument} {now}, and the layers behind it make {becomes} of that; {instead} in its place comes out right."
        )

    def sides(self) -> Sides:
        return pair(self.wanted, self.shape)
