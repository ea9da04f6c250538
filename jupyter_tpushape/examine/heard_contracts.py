"""What frameworks say of contracts beyond shapes: states, weights, dtypes, structure and what a symbolic tensor cannot do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..flow import Shape
from ..flow.spec import either_of, sizes_of
from .heard import Heard, reads, said_as


class HeardDtypes(Heard, frozen=True):
    """An operation was given tensors of two dtypes: ``second`` does not match ``first``. ``listed``: as parts of a list."""

    operation: str
    first: str
    second: str
    listed: bool = False


class HeardRefusedDtype(Heard, frozen=True):
    """An operation's ``parameter`` came as ``dtype`` and takes ``allowed`` only."""

    parameter: str
    dtype: str
    allowed: tuple[str, ...]


@said_as(r"Tensor conversion requested dtype (\w+) for Tensor with dtype (\w+)")
class HeardConversion(Heard, frozen=True):
    """A tensor of the dtype ``given`` was to be used as one of ``wanted``."""

    wanted: str
    given: str


@said_as(r"Iterating over a symbolic|(?:not enough|too many) values to unpack \(expected 2|cannot unpack non-iterable")
class HeardNoPair(Heard, frozen=True):
    """A tensor was to be taken apart as if it were a pair."""


@said_as(r"mask must be a list, namely \[query_mask, value_mask\]")
class HeardMaskList(Heard, frozen=True):
    """An attention layer was given one mask where it takes a list of two."""


class HeardWeight(Heard, frozen=True):
    """A weight of shape ``wanted`` was to be set to an array of ``given``."""

    owner: str
    wanted: Shape
    given: Shape


@said_as(
    r"`variable\.assign\(value\)` must match\. variable\.shape=\(([^)]*)\), Received: value\.shape=\(([^)]*)\)"
    r"|shape of the (?:variable|'ref') \(\(([^)]*)\)\).{0,60}value \(\(([^)]*)\)\)"
    r"|The variable shape \(([^)]*)\), and the assigned value shape \(([^)]*)\) are incompatible"
)
class HeardAssigned(Heard, frozen=True):
    """A variable of shape ``wanted`` was assigned a tensor of ``given``."""

    wanted: Shape
    given: Shape


@said_as(
    r"`set_weights\(weights\)` on layer ['\"]?(?P<owner>[\w/.-]+)['\"]? with a (?: ?weight list| ?list) of length (?P<given>\d+), "
    r"but the layer was expecting (?P<wanted>\d+)"
)
class HeardWeightCount(Heard, frozen=True):
    """A layer keeps ``wanted`` weights and was handed ``given``."""

    owner: str
    wanted: int
    given: int


@said_as("If an RNN is stateful, the batch size of the input sequences must be the same", unknown=False)
@said_as("the batch size must be static|it needs to know its batch size", unknown=True)
class HeardStateful(Heard, frozen=True):
    """A stateful layer keeps one state a row. ``unknown``: the number of rows is not declared; else another number came."""

    unknown: bool


@said_as("is not connected to `inputs`|Graph disconnected")
class HeardDisconnected(Heard, frozen=True):
    """The outputs of a model do not come from its inputs."""


@said_as(r"symbolic KerasTensor cannot be used as a boolean|Using a symbolic `tf\.Tensor` as a Python `bool`")
class HeardBoolean(Heard, frozen=True):
    """Python asked a symbolic tensor whether it is true."""


@said_as(
    # Each says that a size was None, whatever was to be made of it.
    r"unsupported operand type\(s\).*'NoneType'|'NoneType' object cannot be interpreted as an integer|Invalid dtype: NoneType"
    r"|concrete values of integer type, got \([^)]*\bNone\b|None values not supported"
)
class HeardNoneNumber(Heard, frozen=True):
    """``None`` stands where a size is wanted."""


class HeardUnpack(Heard, frozen=True):
    """A statement unpacks ``wanted`` values. ``many``: more came."""

    wanted: int
    many: bool


@said_as("in loss dict, but found")
class HeardKeysMissing(Heard, frozen=True):
    """The losses in a dict are not those of all outputs."""


@said_as(
    # Messages of Keras, of Python and of JAX.
    r"dimension '\(\d+,\)' of type|'tuple' object cannot be interpreted as an integer|unsupported operand type\(s\) for .+'tuple' and|got \(\d+, \(\d+,\)\)"
    r"|between instances of 'tuple' and 'int'"
)
class HeardTuple(Heard, frozen=True):
    """A tuple of one number where a number is expected."""


@said_as("Iterating over a symbolic|Cannot iterate over a")
class HeardIterated(Heard, frozen=True):
    """A statement goes through a tensor, or unpacks it."""


@said_as(r"missing (?:a required|1 required positional) argument: '(\w+)'")
class HeardMissingArgument(Heard, frozen=True):
    """A function was called without its argument ``name``."""

    name: str


@said_as("on an unknown TensorShape|unknown rank|contains no shape")
class HeardNoRank(Heard, frozen=True):
    """A tensor's number of axes is not known."""


@said_as(r"enters the loop with shape \(([^)]*)\), but has shape \(([^)]*)\) after one iteration")
class HeardLoopState(Heard, frozen=True):
    """A state has the shape ``before`` when a loop begins and ``after`` when it has run once."""

    before: Shape
    after: Shape


@said_as(r"Dimension \d+ in both shapes must be equal, but are \d+ and \d+\. Shapes are \[(?P<after>[^\]]*)\] and \[(?P<before>[^\]]*)\]\.")
class HeardKept(Heard, frozen=True):
    """A tensor of the shape ``after`` was to have the shape ``before``."""

    before: Shape
    after: Shape


@said_as(r"Shapes used to initialize variables must be fully-defined[^(]*(?:\([^)]*dimensions\)[^(]*)?\(([^)]*)\)")
class HeardUndefined(Heard, frozen=True):
    """A weight was to be made with an axis of unknown size, in this ``shape``."""

    shape: Shape


class HeardStateCount(Heard, frozen=True):
    """A loop begins with ``before`` states, and has ``after`` when it has run once, where that is said."""

    before: int
    after: int | None


@said_as(r"Cannot reshape a tensor with \d+ elements to shape \[([\d, ]+)\]|cannot reshape array of shape [^)]*\) \(size \d+\) into shape \(([\d, ]+)\)")
@said_as(r"(?s)must be evenly divisible by \d+ but is \d+.*partial shapes: input\[1\] = \[([^\]]*)\]")
class HeardUneven(Heard, frozen=True):
    """A reshape to ``target``, which has one unknown axis, does not come out even."""

    target: Shape


@said_as(
    r"could not be lifted out of a `tf\.function`|attempting to create a variable while in a stateless scope"
    r"|only supports singleton tf\.Variables created on the first call"
)
class HeardMadeInside(Heard, frozen=True):
    """A variable was made where a program only runs."""


@said_as(
    r"(?s)(?:Input \d+ .{0,200}is incompatible with the layer: expected|Invalid input shape for input .{0,300}Expected) shape[= ]\(([^)]*)\)"
    r", (?:found shape=|but input has incompatible shape )\(([^)]*)\)"
)
class HeardInput(Heard, frozen=True):
    """A model inside another one declares ``wanted`` and was given ``given``."""

    wanted: Shape
    given: Shape


_DTYPES = re.compile(r"Input '\w+' of '(\w+)' Op has type (\w+) that does not match type (\w+) of argument '\w+'")
_MISMATCH = re.compile(r"cannot compute (\w+) as input #\d+\(zero-based\) was expected to be an? (\w+) tensor but is an? (\w+) tensor")
_LAX = re.compile(r"\b(\w+) requires arguments to have the same dtypes, got (\w+), (\w+)")
# A Python number beside a tensor.
_NUMBER = re.compile(r"Expected (\w+) passed to parameter '\w+' of op '(\w+)', got \S+ of type '(float)'")
_LISTED = re.compile(r"Tensors in list passed to '\w+' of '(\w+)' Op have types \[([\w, ]+)\] that don't all match")
_REFUSED = re.compile(r"Value passed to parameter '(\w+)' has DataType (\w+) not in list of allowed values: ([\w, ]+)")


@reads
def _dtypes(text: str) -> Iterator[Heard]:
    apart, refused = _DTYPES.search(text), _REFUSED.search(text)
    if apart:
        yield HeardDtypes(apart[1], apart[3], apart[2])
    elif lax := _LAX.search(text):
        yield HeardDtypes(lax[1], lax[2], lax[3])
    elif number := _NUMBER.search(text):
        yield HeardDtypes(number[2], number[1], number[3])
    elif mismatch := _MISMATCH.search(text):
        yield HeardDtypes(mismatch[1], mismatch[2].replace("half", "float16"), mismatch[3].replace("half", "float16"))
    elif (several := _LISTED.search(text)) and len(kinds := list(dict.fromkeys(several[2].split(", ")))) == 2:
        yield HeardDtypes(several[1], kinds[0], kinds[1], listed=True)
    if refused:
        yield HeardRefusedDtype(refused[1], refused[2], tuple(part.strip() for part in refused[3].split(",") if part.strip()))


_WEIGHT = re.compile(r"Layer (?:'?([\w/.-]+)'? )?weight shape \(([^)]*)\) (?:is )?not compatible with provided weight shape \(([^)]*)\)")


@reads
def _weights(text: str) -> Iterator[Heard]:
    if weight := _WEIGHT.search(text):
        yield HeardWeight(weight[1] or "", sizes_of(weight[2]), sizes_of(weight[3]))


@reads
def _states(text: str) -> Iterator[Heard]:
    counted = _CARRIED.search(text) or _LEAVES.search(text)
    if counted:
        yield HeardStateCount(int(counted[1]), int(counted[2]) if counted[2] else None)


_CARRIED = re.compile(
    r"input carry \w+ is a (?:list|tuple) of length (\d+) but the corresponding component of the carry output is a (?:list|tuple) of length (\d+)"
)
_LEAVES = re.compile(r"Too (?:many|few) leaves for PyTreeSpec; expected: (\d+)(?:, got: (\d+))?")
_UNPACK = re.compile(r"(too many|not enough) values to unpack \(expected (\d+)")


@reads
def _structure(text: str) -> Iterator[Heard]:
    if unpack := _UNPACK.search(text):
        yield HeardUnpack(int(unpack[2]), unpack[1] == "too many")


class HeardNoAxis(Heard, frozen=True):
    """An operation works along ``axis``, which a tensor of ``rank`` dimensions does not have."""

    axis: int
    rank: int


_NO_AXIS = re.compile(
    r"Invalid reduction dimension (-?\d+) for input with (\d+) dimension"
    r"|axis (-?\d+) is out of bounds for (?:array|tensor|shape) of (?:dimension|rank) (\d+)"
    r"|Expected (?:concatenating )?dimensions? in the range \[-(?P<rank>\d+), \d+\),? but got (?P<axis>-?\d+)"
    r"|Index out of range using input dim (?P<beyond>\d+)|[Tt]oo many indices.*: array is (?P<indexed>\d+)-dimensional"
    r"|has shape \((?P<shape>.+)\) but slice has to many indices|dim (?P<new>-?\d+) not in the interval \[-\d+, (?P<most>\d+)\]"
    r"|rank \d+ but is rank (?P<have>\d+) \((?:Gather|ConcatV2).*<(?P<at>-?\d+)>"
)


@reads
def _no_axis(text: str) -> Iterator[Heard]:
    if found := _NO_AXIS.search(text):
        # One index more than there are axes.
        first = found["beyond"] or found["indexed"] or (found["shape"] and str(len(sizes_of(found["shape"]))))
        axis = found[1] or found[3] or found["axis"] or found["new"] or found["at"] or first
        most = found["most"] and str(int(found["most"]) + 1)
        yield HeardNoAxis(int(axis), int(found[2] or found[4] or found["rank"] or found["have"] or most or first))


class HeardFewAxes(Heard, frozen=True):
    """An operation works on more dimensions than a tensor has."""


_FEW_AXES = re.compile(
    r"Shape must be (?:at least )?rank (\d+) but is rank (\d+)|Dimension must be (\d+) but is (\d+) .{0,300}?Transpose"
    r"|axis -?\d+ is out of bounds|input has only \d+ dims"
)


@reads
def _few_axes(text: str) -> Iterator[Heard]:
    found = _FEW_AXES.search(text)
    if found and int(either_of(found, 1, 4) or 1) > int(either_of(found, 2, 3) or 0):
        yield HeardFewAxes()


@said_as("Only input tensors may be passed as positional arguments")
class HeardByPlace(Heard, frozen=True):
    """A layer was given something that is no tensor by its place, where only tensors are taken so."""


@said_as(r"(?s)An overflow was encountered while parsing an argument to a jitted computation.*Got <class 'int'> with value (-?\d+)")
class HeardTooLarge(Heard, frozen=True):
    """A number of the program does not fit into the integers that it is computed with."""

    value: int


@said_as(r"(?i)shape|dimension|\brank|\bax[ie]s|broadcast|\bsizes?\b|divi[ds]|contract|element|length|dtype|match|\bdims?\b|argument|index")
class HeardAboutShapes(Heard, frozen=True):
    """The error is about shapes, axes or sizes."""
