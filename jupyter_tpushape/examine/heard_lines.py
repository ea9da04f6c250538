"""What Python, NumPy and Keras say of a line of the program: arguments and attributes that are not there, arrays that differ."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Literal

from ..flow import Shape
from .heard import Heard, reads, said_as


@said_as(r"The layer (\S+) has never been called and thus has no defined (output|input)")
class HeardNeverCalled(Heard, frozen=True):
    """``what`` (``output`` or ``input``) was asked of a layer or model that was never called."""

    layer: str
    what: str


class HeardUnknownArguments(Heard, frozen=True):
    """A constructor was given arguments that it does not have."""

    names: tuple[str, ...]


@said_as(r"module '([\w.]+)' has no attribute '(\w+)'")
class HeardNoAttribute(Heard, frozen=True):
    """A module has no such name."""

    module: str
    name: str


_UNKNOWN_ARGUMENTS = re.compile(r"(?:Argument\(s\) not recognized|Unrecognized keyword arguments passed to \w+): \{(.*?)\}(?:$|[\s.])", re.DOTALL)


_NOT_UNDERSTOOD = re.compile(r"Keyword argument not understood:', '(\w+)'")


@reads
def _older(text: str) -> Iterator[Heard]:
    if found := _UNKNOWN_ARGUMENTS.search(text):
        yield HeardUnknownArguments(tuple(re.findall(r"'(\w+)':", found[1])))
    if found := _NOT_UNDERSTOOD.search(text):
        yield HeardUnknownArguments((found[1],))


@said_as(r"Cannot convert '.*' to a shape")
class HeardNoShape(Heard, frozen=True):
    """A value that a program gave as a shape is none."""


@said_as(r"(?:Tensor|Tracer|Array\w*)\W* object has no attribute '(\w+)'")
class HeardNoMethod(Heard, frozen=True):
    """A tensor has no attribute ``name``."""

    name: str


class HeardUnknownName(Heard, frozen=True):
    """A string names nothing of a kind: an activation function, a loss, a metric, an optimizer, an initializer."""

    what: str
    name: str


_UNKNOWN_NAMES = (
    re.compile(r"Could not interpret ([a-z ]+?) identifier: (\w+)\s*$"),
    re.compile(r"Unknown ([a-z ]+?):? '(\w+)'(?:\. Please ensure| cannot be deserialized)"),
)


@reads
def _unknown_name(text: str) -> Iterator[Heard]:
    for pattern in _UNKNOWN_NAMES:
        if found := pattern.search(text):
            what = found[1].removesuffix(" function")
            yield HeardUnknownName("activation function" if what == "activation" else what, found[2])


class HeardTakes(Heard, frozen=True):
    """A function takes ``takes`` arguments by their place and was called with ``given``."""

    function: str
    takes: int
    given: int


_TAKES = re.compile(r"(?<![\w.<>])([\w.<>]+)\(\) takes (\d+) positional arguments? but (\d+) (?:was|were) given")


@reads
def _takes(text: str) -> Iterator[Heard]:
    if found := _TAKES.search(text):
        yield HeardTakes(found[1].rsplit(".", 1)[-1].removeprefix("tf__"), int(found[2]), int(found[3]))


class HeardNoValue(Heard, frozen=True):
    """Python or NumPy asked for the values of a symbolic tensor of TensorFlow; ``method``: by its method for an array of NumPy."""

    method: bool


_NO_VALUE = re.compile(
    r"Cannot convert a symbolic tf\.Tensor|'SymbolicTensor' object (?:has no attribute 'numpy'|cannot be interpreted)|not SymbolicTensor|Tensor is unhashable"
)


@reads
def _no_value(text: str) -> Iterator[Heard]:
    if _NO_VALUE.search(text):
        yield HeardNoValue("attribute 'numpy'" in text)


@said_as(r"NoneType|None values|'None'|\bNone is not\b|\bGot None\b|returned None|Received: None\b")
class HeardNothing(Heard, frozen=True):
    """``None`` stands for a value, and not for a size in a shape."""


class HeardWords(Heard, frozen=True):
    """Every word and number of a message, among them an argument's name, value and type."""

    words: frozenset[str]


@reads
def _words(text: str) -> Iterator[Heard]:
    yield HeardWords(frozenset(re.findall(r"\w+", text)))


@said_as("_VariantDataset")
class HeardInnerDataset(Heard, frozen=True):
    """A function of the pipeline was given a dataset for a window, and took it for a tensor."""


@said_as(r"keyword argument[^\n]*'go_backwards'|^'go_backwards'$")
class HeardNotRecurrent(Heard, frozen=True):
    """A layer has no direction, so none that runs backwards can be made of it."""


class HeardUnregistered(Heard, frozen=True):
    """Keras makes something anew from its configuration, and does not find ``name``, a ``function`` or a ``class``; or it is a ``lambda``."""

    what: Literal["function", "class", "lambda"]
    name: str


_UNREGISTERED = re.compile(
    r"Could not locate (function|class) '(\w+)'|Unknown [\w ]+ '\{.*'class_name': '(function)', 'config': '(\w+)'|Unknown (layer): '(\w+)'"
)
# A lambda's code, as configurations keep it.
_LAMBDA = re.compile(r"(?:identifier:|config format for) \{'(?:class_name|value)': (?:'__lambda__'|\('4)")


@reads
def _unregistered(text: str) -> Iterator[Heard]:
    found = _UNREGISTERED.search(text)
    if found:
        what, name = (part for part in found.groups() if part)
        yield HeardUnregistered("function" if what == "function" else "class", name)
    elif _LAMBDA.search(text):
        yield HeardUnregistered("lambda", "")


@said_as(r"shapes \(([\d,]*)\) and \(([\d,]*)\) not aligned", how="multiplied")
@said_as(r"operands could not be broadcast together with shapes \(([\d,]*)\) \(([\d,]*)\)", how="combined")
@said_as(r"could not broadcast input array from shape \(([\d,]*)\) into shape \(([\d,]*)\)", how="put")
class HeardArrays(Heard, frozen=True):
    """NumPy could not put an array of shape ``first`` where ``second`` fits, or work on the two together."""

    how: Literal["put", "combined", "multiplied"]
    first: Shape
    second: Shape


class HeardMeshAxes(Heard, frozen=True):
    """A layout names ``got``, and the mesh has the axes ``valid``."""

    valid: tuple[str, ...]
    got: tuple[str, ...]


class HeardMeshCount(Heard, frozen=True):
    """A mesh of ``shape`` was given ``devices`` devices."""

    shape: tuple[int, ...]
    devices: int


_MESH_AXES = re.compile(r"Invalid axis names for Layout\. Valid axis\s+names: \{(.*?)\}, Got \{(.*?)\}")
_MESH_COUNT = re.compile(r"Shape does not match the number of devices\. Received: shape=[(\[]([\d, ]+)[)\]]; devices\.shape=\(([\d, ]+)\)")


@reads
def _meshes(text: str) -> Iterator[Heard]:
    axes, sizes = _MESH_AXES.search(text), _MESH_COUNT.search(text)
    if axes:
        valid, got = (tuple(sorted(re.findall(r"'([^']*)'", part))) for part in axes.groups())
        yield HeardMeshAxes(valid, tuple(name for name in got if name not in valid))
    if sizes:
        shape, devices = (tuple(int(n) for n in re.findall(r"\d+", part)) for part in sizes.groups())
        yield HeardMeshCount(shape, math.prod(devices))


class HeardJoined(Heard, frozen=True):
    """NumPy was to put arrays behind one another that have ``first`` and ``second`` entries along another axis ``axis``."""

    axis: int
    first: int
    second: int


_JOINED = re.compile(
    r"except for the concatenation axis must match exactly, but along dimension (\d+), the array at index \d+ has size (\d+) .* has size (\d+)"
)


@said_as(r"index (\d+) is out of bounds for axis \d+ with size (\d+)")
class HeardBeyond(Heard, frozen=True):
    """An ``index`` was read of an axis with ``size`` entries."""

    index: int
    size: int


@said_as("has an inhomogeneous shape")
class HeardRagged(Heard, frozen=True):
    """NumPy was to make one array of rows that have different lengths."""


@reads
def _indexed(text: str) -> Iterator[Heard]:
    if found := _JOINED.search(" ".join(text.split())):
        yield HeardJoined(int(found[1]), int(found[2]), int(found[3]))
