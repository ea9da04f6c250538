"""Facts about contracts beyond shapes: states, weights, dtypes, call signatures and symbolic tensors."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, Shape, Side, Sides, Who, elements, show_shape
from ...graph import Cause
from ..words import because, count, listed, named, pair, shapes_listed


class WeightApart(Fact, frozen=True):
    """A weight of ``owner`` has the shape ``wanted``, but the array for it has the shape ``given``."""

    owner: Who | None
    name: str
    wanted: Shape
    given: Shape

    def message(self) -> str:
        who = named(self.owner) if self.owner is not None else self.name or "a layer"
        return f"A weight of {who} has shape {show_shape(self.wanted)}, but the array to assign has shape {show_shape(self.given)}."

    def why(self) -> str:
        if self.owner is not None and self.owner.op == "Embedding" and len(self.wanted) == len(self.given) == 2:
            rows, wide = self.wanted[0] != self.given[0], self.wanted[1] != self.given[1]
            table = f"input_dim={self.given[0]}" if rows and not wide else f"output_dim={self.given[1]}" if wide and not rows else ""
            one = (
                " A difference of one often comes from id 0, which is reserved for padding."
                if rows and abs((self.wanted[0] or 0) - (self.given[0] or 0)) == 1
                else ""
            )
            ask = f" Set {table} to match this array." if table else ""
            return f"The table has input_dim rows of output_dim values.{ask}{one}"
        if len(self.wanted) == len(self.given) and sorted(map(str, self.wanted)) == sorted(map(str, self.given)):
            return "The sizes are the same in a different order: the array is transposed, as other libraries store it."
        return "The shape of a weight depends on the layer's input and arguments when it is built. The two models differ there."

    def sides(self) -> Sides:
        return pair(self.wanted, self.given, names=False)


class WeightCount(Fact, frozen=True):
    """``owner`` has ``wanted`` weights, but set_weights was given ``given``."""

    owner: str
    wanted: int
    given: int

    def message(self) -> str:
        if not self.wanted:
            return f"{self.owner} has no weights yet, but set_weights is given {count(self.given, 'array')}."
        return f"{self.owner} has {count(self.wanted, 'weight')}, but set_weights is given {count(self.given, 'array')}."

    def why(self) -> str:
        if not self.wanted:
            return "A layer creates its weights when it is built. Call the layer, or its build(input_shape), before set_weights."
        return "set_weights expects a list in the order of layer.weights, such as [kernel, bias]. With use_bias=False there is no bias."

    def sides(self) -> Sides:
        return Side(count(self.wanted, "array")), Side(count(self.given, "array"))


class Disconnected(Fact, frozen=True):
    """A model's outputs depend on ``missing`` inputs, which are not among its inputs: ``(name, shape)`` each. ``given``: its inputs."""

    missing: tuple[tuple[str, Shape | None], ...]
    given: tuple[tuple[str, Shape | None], ...]
    through: tuple[str, ...] = ()

    def message(self) -> str:
        missing = listed(tuple(f"{name} {show_shape(shape)}" for name, shape in self.missing))
        given = listed(tuple(f"{name} {show_shape(shape)}" for name, shape in self.given))
        way = f" (through {listed(self.through)})" if self.through else ""
        return f"The model's output depends on {missing}{way}, but the model's inputs are {given}."

    def why(self) -> str:
        taken = {shape for _, shape in self.missing} & {shape for _, shape in self.given}
        again = " A second Input is a different tensor, even with the same name." if taken else ""
        return f"Pass every Input that the output was computed from, or call the layers again on the inputs that you pass.{again}"

    def sides(self) -> Sides:
        return Side(", ".join(name for name, _ in (*self.missing,))), Side(", ".join(name for name, _ in self.given))


class CallRefused(Fact, frozen=True):
    """``function`` is called with arguments that it does not accept; ``named`` is an unknown one, or ``""``."""

    function: str
    named: str
    said: str

    def message(self) -> str:
        what = f"with {self.named}=, which it does not accept" if self.named else "with arguments that it does not accept"
        return f"{self.function} is called {what}."

    def why(self) -> str:
        return f"The error: {self.said}"


class ShapesInBuild(Fact, frozen=True):
    """``layer`` is called on several tensors, of ``shapes``, but its ``method`` treats the list of their shapes as one shape."""

    layer: Who
    shapes: tuple[Shape | None, ...]
    said: str
    method: str = "build"

    def message(self) -> str:
        return f"{named(self.layer)} is called on {len(self.shapes)} tensors, {listed(tuple(map(show_shape, self.shapes)))}, but its {self.method} raises an error: {self.said.rstrip('.')}."

    def why(self) -> str:
        return f"For a list of tensors, {self.method} receives a list of shapes. shapes[0] is the first tensor's shape, and shapes[0][-1] its last dimension."

    def sides(self) -> Sides:
        return Side(f"a list of {len(self.shapes)} shapes"), Side("one shape")


class KeysUnpacked(Fact, frozen=True):
    """The dict ``name`` is unpacked into ``keys``: each variable with the key that it received."""

    name: str
    keys: tuple[tuple[str, str], ...]

    def message(self) -> str:
        names = listed(tuple(name for name, _ in self.keys))
        return f"{names} are the keys of the dict {self.name}, {listed(tuple(repr(key) for _, key in self.keys))}, not its tensors."

    def why(self) -> str:
        first = self.keys[0]
        return f"Unpacking a dict returns its keys. Look up its tensors by key: {first[0]} = {self.name}[{first[1]!r}]."

    def sides(self) -> Sides:
        return Side("tensors"), Side("text")


class CallMisfit(Fact, frozen=True):
    """A call of ``function`` that does not match its signature: missing, doubled or unknown parameters, or too ``many``."""

    function: str
    missing: tuple[str, ...]
    doubled: str
    unknown: str
    many: int
    layer: bool
    said: str

    def message(self) -> str:
        if self.doubled:
            return f"{self.function} receives {self.doubled} twice: by position and by name."
        if self.unknown:
            return f"{self.function} is called with {self.unknown}=, which it does not accept."
        if self.missing:
            return f"{self.function} is called without the required {listed(tuple(f'{name}=' for name in self.missing))}."
        return f"{self.function} is called with {count(self.many, 'argument')} too many."

    def why(self) -> str:
        made = " Create a layer with its settings, then call it on its input: Layer(...)(x)." if self.layer else ""
        return f"The error: {self.said.rstrip('.')}.{made}"


class Apart(Fact, frozen=True):
    """A call of ``function`` on ``given`` one by one, which are one argument: tensors, sizes or layers, as ``what`` says.

    ``axis``: an axis comes next, and is not the last one by itself.
    """

    function: str
    given: tuple[str, ...]
    what: str
    axis: bool = False

    def message(self) -> str:
        return f"{self.function} receives {listed(self.given)} as separate arguments, but takes its {self.what} as one argument."

    def why(self) -> str:
        form = f"tuple: ({', '.join(self.given)})" if self.what == "sizes" else f"list: [{', '.join(self.given)}]"
        return f"Pass them as one {form}. What comes after the first argument is another setting."


class SymbolicFunction(Fact, frozen=True):
    """A line calls ``function`` on a symbolic tensor of Keras 3; ``instead``: the Keras equivalent, or ``""``."""

    function: str
    instead: str

    def message(self) -> str:
        what = f"{self.function}, which is not a Keras function," if self.function else "a TensorFlow, JAX or NumPy function"
        return f"A line calls {what} on a symbolic Keras 3 tensor, which has a shape but no values."

    def why(self) -> str:
        use = f"Use {self.instead} instead" if self.instead else "Use keras.ops instead"
        return f"{use}, or move the line into the call method of a custom layer, which receives the backend's tensors."

    def sides(self) -> Sides:
        return Side(self.instead or "keras.ops"), Side(self.function or "a function of another library")


class SymbolicQuestion(Fact, frozen=True):
    """A line needs a value that is unknown while the model is built: a truth value, or a size."""

    of: Literal["truth", "size"]

    def message(self) -> str:
        if self.of == "truth":
            return "A line uses a symbolic tensor as a condition, but its values are unknown while the model is built."
        return "A line computes with an axis of size None, which is unknown while the model is built."

    def why(self) -> str:
        if self.of == "truth":
            return "Python's if, while, and, or and not need a value. Use keras.ops.where for each element, or keras.ops.cond for a whole branch."
        return "The batch axis of an Input has no fixed size, and neither has an axis that is declared as None. Declare its size, use -1 in a reshape, or ops.shape(x) inside a layer's call."


class Enclosed(Fact, frozen=True):
    """A loss or a metric uses the symbolic tensor ``name`` of the model, which it is not called with."""

    loss: str
    name: str

    def message(self) -> str:
        return f"{self.loss} uses {self.name}, a symbolic tensor of the model, which has no values while the model trains."

    def why(self) -> str:
        return f"A loss is called with labels and predictions only. Pass {self.name} in the labels or as sample weights, or compute the loss in a layer, with add_loss."

    def sides(self) -> Sides:
        return Side("labels and predictions"), Side(self.name)


class Unpacked(Fact, frozen=True):
    """A line unpacks ``wanted`` values, but ``layer`` returns ``outputs``: shapes."""

    layer: Who
    wanted: int
    outputs: tuple[Shape | None, ...]

    def message(self) -> str:
        return f"{named(self.layer)} returns {count(len(self.outputs), 'tensor')}, {shapes_listed(self.outputs)}, but the line unpacks {self.wanted}."

    def why(self) -> str:
        if len(self.outputs) == 1:
            return "A tensor is not unpacked: assign it to one name, or pass the argument with which the layer also returns its scores or states."
        if self.layer.op == "Bidirectional":
            return "With return_state=True it returns its output, then the states of the forward layer, then those of the backward layer."
        return "With return_state=True a recurrent layer returns its output and then its states: h and c for an LSTM, one state for a GRU."

    def sides(self) -> Sides:
        return Side(f"{self.wanted} values"), Side(count(len(self.outputs), "tensor"))


class CallArguments(Fact, frozen=True):
    """The call of ``layer`` requires a separate argument ``missing``, but fit passes one structure of ``given`` tensors."""

    layer: Who
    missing: str
    given: int

    def message(self) -> str:
        return f"The call of {named(self.layer)} expects {self.missing} as a separate argument, but receives {count(self.given, 'tensor')} as one argument."

    def why(self) -> str:
        who = "A Lambda receives its list" if self.layer.op == "Lambda" else "fit passes all of x"
        return f"{who} as the first argument. Unpack it there: a, {self.missing} = inputs."


class NoRank(Fact, frozen=True):
    """Tensors of the data whose rank is unknown."""

    paths: tuple[str, ...]
    layer: Who | None

    def message(self) -> str:
        what = listed(self.paths)
        needs = f", but {named(self.layer)} needs it" if self.layer is not None else ""
        return f"The rank of {what} is unknown{needs}."

    def why(self) -> str:
        return (
            "Tensors from tf.py_function, numpy_function or a generator without a signature have no shape. Set it in the pipeline: "
            "x.set_shape([...]) or tf.ensure_shape after the function, output_signature=... for a generator."
        )


class ShapeLost(Fact, frozen=True):
    """What a Python function returns has no shape, and ``inside`` needs one; ``called``: the operation that runs it, or ``""``."""

    inside: Who
    said: str
    called: str = ""

    def message(self) -> str:
        what = f"{self.called} in {named(self.inside)}" if self.called else named(self.inside)
        return f"{what} returns a tensor of unknown rank."

    def why(self) -> str:
        runs = f"{self.called} runs" if self.called else "tf.numpy_function and tf.py_function run"
        return (
            f"{runs} Python code, so TensorFlow cannot infer the shape of the result. Set it where the function is called: "
            f"tf.ensure_shape(result, x.shape), or (None,) for one value per sample, () for one number. The error: {self.said}"
        )


class DtypesApart(Fact, frozen=True):
    """``operation`` receives the dtypes ``first`` and ``second``; ``inside``: the node whose code it is."""

    operation: str
    first: str
    second: str
    inside: Who | None
    kind: Literal["layer", "loss", "metric", "program"] = "layer"
    labels: bool = False

    def message(self) -> str:
        where = f" in {named(self.inside)}" if self.inside is not None else ""
        return f"{self.operation}{where} receives {self.first} and {self.second}, but needs one dtype for both."

    def why(self) -> str:
        both = {self.first, self.second}
        if both & {"float16", "bfloat16"}:
            low = next(iter(both & {"float16", "bfloat16"}))
            return (
                f"Under a mixed precision policy (or dtype={low!r}) layers receive {low} tensors, but constants in the code, and what tf.image.resize returns, are "
                f"float32. Cast them to the tensor's dtype: cast(value, x.dtype)."
            )
        if "float64" in both:
            return "NumPy creates float64 by default, but Keras computes in float32. Set dtype='float32', or use cast(value, x.dtype)."
        if any(name.startswith(("int", "uint")) for name in both) and any(name.startswith("float") for name in both):
            whose = " For labels: cast(y_true, y_pred.dtype)." if self.labels else ""
            return f"Integers (ids, ranges, shapes, labels) must be cast to float: cast(value, x.dtype).{whose}"
        return "Cast both to one dtype: cast(value, x.dtype)."

    def sides(self) -> Sides:
        return Side(self.first), Side(self.second)


class DtypeRefused(Fact, frozen=True):
    """A loss or a layer passes ``parameter`` of an operation as ``dtype``. ``came``: the labels' dtype in the data, if Keras cast them."""

    where: Who
    parameter: str
    dtype: str
    allowed: tuple[str, ...]
    came: str = ""

    def message(self) -> str:
        return f"{named(self.where)} passes {self.parameter} as {self.dtype} to an operation that accepts only {listed(self.allowed[:4])}."

    def why(self) -> str:
        if self.came:
            return (
                f"The labels are {self.came} in the data. Keras 3 casts them to {self.dtype} before it calls a custom Loss. Cast them "
                f"back inside: cast(y_true, '{self.allowed[0]}')."
            )
        if self.dtype.startswith("complex") and not any(one.startswith("complex") for one in self.allowed):
            return "abs gives the magnitude of complex values; a cast would discard their imaginary part."
        floats = [one for one in ("float32", *self.allowed) if one in self.allowed]
        return f"Cast it there: cast(value, '{floats[0]}')."

    def sides(self) -> Sides:
        return Side(", ".join(self.allowed)), Side(self.dtype)


class InnerDoor(Fact, frozen=True):
    """A model used as a layer declares ``wanted`` but receives ``shape``. ``source``: the argument of a layer that would change it; ``cause``: the layer
    whose size explains the rest.

    ``built``: it declares no input, and took the shape of its first call for one.
    """

    layer: Who
    wanted: Shape
    shape: Shape
    givers: tuple[str, ...]
    source: tuple[str, str, int, int, int] | None = None
    built: bool = False
    cause: Cause | None = None

    @property
    def reshaped(self) -> bool:
        """Whether the two shapes differ only in how the values of a sample are arranged."""
        sizes = self.wanted[1:], self.shape[1:]
        return len(self.wanted) != len(self.shape) and all(None not in one for one in sizes) and elements(sizes[0]) == elements(sizes[1])

    def message(self) -> str:
        source = listed(self.givers) or "what it receives"
        declares = "was built for" if self.built else "declares"
        return f"The model {self.layer.name} {declares} {show_shape(self.wanted)}, but {source} has shape {show_shape(self.shape)}."

    def why(self) -> str:
        if self.source is None and self.reshaped:
            return f"Both shapes have {elements(self.wanted[1:])} values per sample, but the model accepts only the shape that it declares."
        if self.built:
            return "A Sequential model without an Input takes the shape of its first call for its declaration. Start it with an Input whose sizes are None where they vary."
        if self.source is None:
            return f"{because(self.cause)} Each tensor must have the shape that the model declares for it.".strip()
        who, argument, now, becomes, instead = self.source
        turned = "" if now == becomes else f", which the layers after it turn into {becomes}"
        return f"{who} has {argument} {now}{turned}. Use {instead} instead of {now}."

    def sides(self) -> Sides:
        return pair(self.wanted, self.shape)


class InnerBatch(Fact, frozen=True):
    """A model used as a layer declares ``wanted``, the shape of a batch and not of a sample, and receives ``shape``."""

    layer: Who
    wanted: Shape
    shape: Shape

    def message(self) -> str:
        return f"The model {self.layer.name} declares {show_shape(self.wanted)}, one dimension more than the {show_shape(self.shape)} that it receives."

    def why(self) -> str:
        return (
            f"Input takes the shape of one sample and adds the batch axis. Here it was given {show_shape(self.wanted[1:])}, which already "
            "has one. Leave it out: output_shape and a tensor's shape include it, so take [1:] of them."
        )

    def sides(self) -> Sides:
        return pair(self.wanted, self.shape)
