"""What JAX says when it raises, and Keras' trainer on JAX. Read once, as everything that a framework says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from ..flow import Shape
from ..flow.spec import sizes_of
from .heard import Heard, HeardReshape, HeardUnequal, HeardUnlike, HeardWidths, reads, said_as
from .heard_contracts import HeardUneven


class HeardTraced(Heard, frozen=True):
    """A value was asked of a tensor of JAX, in a program that is still to be compiled."""

    what: Literal["bool", "truth", "number", "index", "slice", "array", "mask", "size", "rows"]


@said_as("JAX arrays are immutable and do not support in-place item assignment")
class HeardItem(Heard, frozen=True):
    """An item of a tensor of JAX was assigned, and these never change."""


class HeardCarry(Heard, frozen=True):
    """The state of a loop comes out of one step with another shape or dtype than it went in."""

    name: str
    before: Shape
    after: Shape
    was: str = ""
    becomes: str = ""


class HeardStructure(Heard, frozen=True):
    """A step of a loop returns ``got`` where it takes ``want``; ``of`` scan, no pair; or two branches of a condition return them."""

    of: Literal["pair", "state", "branches"]
    want: str
    got: str


@said_as("you should only use seeded random ops")
class HeardUnseeded(Heard, frozen=True):
    """A random function of Keras was called in a compiled step with no seed of the program's."""


@said_as(r"module 'keras[\w.]*\.backend' has no attribute '(\w+)'")
class HeardGone(Heard, frozen=True):
    """``keras.backend`` was asked for a function that Keras 3 does not have there."""

    name: str


@said_as(r"train_step\(\) takes 2 positional arguments but 3 were given")
class HeardStepArguments(Heard, frozen=True):
    """A ``train_step`` was called with more than it takes."""


@said_as(r"(?s)`metric_variables` must be a list .*Received list with length (\d+), but expected (\d+) variables")
class HeardMetricState(Heard, frozen=True):
    """A metric without state of its own was given more or fewer variables than it has."""

    given: int
    has: int


@said_as("associative scan over axis of non-constant size")
class HeardOpenScan(Heard, frozen=True):
    """``associative_scan`` was to go along an axis of unknown size."""


class HeardPartition(Heard, frozen=True):
    """A ``PartitionSpec`` of these entries, as they are written, for a tensor with fewer axes."""

    entries: tuple[str, ...]
    rank: int


class HeardFraction(Heard, frozen=True):
    """A shape holds a number that is not whole, or is written as one."""

    size: float


class HeardBranches(Heard, frozen=True):
    """The two branches of a condition return other shapes or dtypes."""

    first: Shape
    second: Shape
    dtypes: tuple[str, str]


class HeardMapped(Heard, frozen=True):
    """A function is mapped over axes of several sizes: of each argument the size, the axis and the name."""

    axes: tuple[tuple[int | None, int, str], ...]


class HeardGradient(Heard, frozen=True):
    """A gradient is asked of a function that returns several values, or one of a ``shape``."""

    several: bool
    shape: Shape = ()
    paired: bool = False


@said_as("indices must have an integer type|Indexer must have integer or boolean type")
class HeardIndex(Heard, frozen=True):
    """Numbers that are not whole are used as indices."""


class HeardPut(Heard, frozen=True):
    """What is put into a place of a tensor does not fit there."""

    value: Shape
    place: Shape
    inside: bool = False


class HeardVariable(Heard, frozen=True):
    """A variable of Keras was given to a function of JAX as it is; ``attribute``: it was asked for one that only tensors have."""

    attribute: str = ""


@said_as(r"(?s)For variable <Variable path=([^,]*), shape=\(([\d, ]*)\).*received invalid value .* with shape \(([\d, ]*)\)")
class HeardScoped(Heard, frozen=True):
    """A stateless call was given a value of another shape for a variable."""

    path: str
    want: Shape
    got: Shape


@said_as("Too many leaves for PyTreeSpec|Structures don't have the same nested structure")
class HeardLeaves(Heard, frozen=True):
    """Structures of tensors do not match: one holds more than the other."""


@said_as(r"\b\w+ requires ndarray or scalar arguments, got <class '(list|tuple|dict)'> at position (\d+)")
class HeardList(Heard, frozen=True):
    """An operation was given a list (``kind``) as the operand ``place``, where it takes a tensor."""

    kind: str
    place: int


@said_as(r"unbound axis name: (\w+)")
class HeardAxisName(Heard, frozen=True):
    """A function that works across devices names an axis, ``name``, that no map or mesh around it has."""

    name: str


@said_as(
    r"interpreting argument to <function (?:[\w.]*\.)?(\w+) at .*? as an abstract array\. The problematic value is of type <class '(?:\w+\.)*(\w+)'>"
    r" and was passed to the function at path (\w+)"
)
class HeardUntraced(Heard, frozen=True):
    """A function that JAX compiles was given ``kind`` for ``parameter``, which is no array."""

    function: str
    kind: str
    parameter: str


@said_as(r"pad_width with nd=(\d+) has unsupported shape \((\d+), 2\)")
class HeardPairs(Heard, frozen=True):
    """``pairs`` of padding were given for a tensor of ``axes``."""

    axes: int
    pairs: int


@said_as(r"Pred must be a scalar, got .* of shape \(([^)]*)\)")
class HeardPredicate(Heard, frozen=True):
    """A condition for a whole branch has ``shape``, where it is one value."""

    shape: Shape


_TRACED: tuple[tuple[str, Literal["bool", "truth", "number", "index", "slice", "array", "mask", "size", "rows"]], ...] = (
    ("'_DimExpr' object cannot be interpreted as an integer", "rows"),
    ("Tracer has no attribute numpy", "array"),
    ("you can specify a concrete value for the size argument", "size"),
    ("The size argument of jnp.nonzero must be statically specified", "size"),
    # NumPy says the same of its arrays.
    ("The truth value of an array with more than one element is ambiguous", "truth"),
    ("Slice entries must be static integers", "slice"),
    ("Array slice indices must have static start/stop/step", "slice"),
    ("jnp.arange argument", "size"),
    ("jax.nn.one_hot argument `num_classes`", "size"),
    ("pass a static `length` argument", "size"),
    ("Argument `num_segments` must be set when using the JAX backend", "size"),
    ("the total number of repeats must be static", "size"),
    ("'num' argument of jnp.linspace", "size"),
    ("Attempted boolean conversion of traced array", "bool"),
    ("Array boolean indices must be concrete", "mask"),
    ("__index__() method was called on traced array", "index"),
    # NumPy says so without the capital.
    ("Only integer scalar arrays can be converted to a scalar index", "index"),
    ("The numpy.ndarray conversion method __array__() was called on traced array", "array"),
    ("Abstract tracer value encountered where concrete value is expected", "number"),
)
_CARRY = re.compile(
    r"input (?:carry|component)(?: component)? ?([\w.\[\]]*) has type (\w+)\[([\w,]*)\]\S* "
    r"but the corresponding output (?:carry )?component has type (\w+)\[([\w,]*)\]"
)
_BRANCHES = re.compile(r"output of \S+ has type (\w+)\[([\w,]*)\]\S* but the corresponding output of \S+ has type (\w+)\[([\w,]*)\]")
_SHAPE = re.compile(r"Shapes must be 1D sequences of concrete values of integer type, got (\(.*\))")
_MAPPED = re.compile(r"\* (?:one|some|most) ax[ei]s (?:\(\d+ of them\) )?had size (\w+)(?:: axis (\d+) of (?:argument )?([\w.\[\]']+))?")
_SCALAR = re.compile(r"Gradient only defined for scalar-output functions\. Output (?:had shape: \(([\d, ]*)\)|was)")
_PUT = re.compile(
    r"Incompatible types for broadcasting: input type=\w+\[([\w,]*)\] and requested type=\w+\[([\w,]*)\]"
    r"|Cannot broadcast to shape with fewer dimensions: arr_shape=\(([^)]*)\) shape=\(([^)]*)\)"
)
_JAX_RESHAPE = re.compile(r"cannot reshape array of shape \([\d, ]*\) \(size (\d+)\) into shape \(([\d, -]*)\)")
_JAX_MATRIX = re.compile(r"dot_general requires contracting dimensions to have the same shape, got \((\w+),\) and \((\w+),\)")


@reads
def _jax(text: str) -> Iterator[Heard]:
    traced = next((what for said, what in _TRACED if said in text), None)
    shape = _SHAPE.search(text)
    sizes = [float(size) for size in re.findall(r"-?\d+\.\d*", shape[1])] if shape else []
    if traced is not None:
        yield HeardTraced(traced)
    elif "Trace" in (shape[1] if shape else text.partition("was not hashable")[2]):
        yield HeardTraced("index")
    elif sizes:
        yield HeardFraction(sizes[0])
    carry = _CARRY.search(text)
    if carry and carry.group(2, 3) != carry.group(4, 5):
        yield HeardCarry(carry[1], sizes_of(carry[3]), sizes_of(carry[5]), carry[2], carry[4])
    reshape, matrix = _JAX_RESHAPE.search(text), _JAX_MATRIX.search(text)
    if reshape:
        yield HeardReshape(int(reshape[1]), tuple(int(n) for n in reshape[2].replace(" ", "").split(",") if n))
    if matrix and matrix[1].isdigit() and matrix[2].isdigit():
        yield HeardWidths(int(matrix[1]), int(matrix[2]), "matrix")


_PAIR = re.compile(r"scan body output must be a pair, got ([(\[])?")
_KIND = r" is an? (?:<class '(?:[\w.]*\.)?)?([\w ]+)"
_STRUCTURE = re.compile(rf"same pytree structure, but they differ:.*?{_KIND}\S* but (?:the corresponding .*|(false_fun) output){_KIND}\S*,", re.DOTALL)


@reads
def _structures(text: str) -> Iterator[Heard]:
    if pair := _PAIR.search(text):
        yield HeardStructure("pair", "", "tuple of another length" if pair[1] else "pytree leaf")
    if apart := _STRUCTURE.search(text):
        yield HeardStructure("branches" if apart[2] else "state", apart[1], apart[3])


_PARTITION = re.compile(r"spec=\w+\(([^=]*)\)[^)]*\) is only valid for values of rank at least \d+, but was applied to a value of rank (\d+)")


@reads
def _transformations(text: str) -> Iterator[Heard]:
    branches, scalar, put = _BRANCHES.search(text), _SCALAR.search(text), _PUT.search(text)
    if branches:
        yield HeardBranches(sizes_of(branches[2]), sizes_of(branches[4]), (branches[1], branches[3]))
    if "vmap got inconsistent sizes for array axes to be mapped" in text:
        found = _MAPPED.findall(text)
        yield HeardMapped(tuple((int(size) if size.isdigit() else None, int(axis or 0), name) for size, axis, name in found))
    if "expected function with aux output to return a two-element tuple" in text:
        yield HeardGradient(True, paired=True)
    if scalar:
        yield HeardGradient(scalar[1] is None, sizes_of(scalar[1] or ""))
    if put:
        yield HeardPut(sizes_of(put[1] or put[3]), sizes_of(put[2] or put[4]))
    if inside := re.search(r"got update shape \(([^)]*)\) for operand shape \(([^)]*)\)", text):
        yield HeardPut(sizes_of(inside[1]), sizes_of(inside[2]), inside=True)
    if partition := _PARTITION.search(text):
        yield HeardPartition(tuple(re.findall(r"None|'[^']*'|\([^)]*\)", partition[1])), int(partition[2]))


_BROADCAST = re.compile(r"[Ii]ncompatible shapes for broadcasting: (?:shapes=\[)?((?:\([^)]*\)(?:, )?)+)")
_JOINED = re.compile(r"concatenating along dimension (\d+) for shapes ((?:\([^)]*\)(?:, )?)+)")
_ALIKE = re.compile(r"All input arrays must have the same shape\. Got (.*)")
_MULTIPLIED = re.compile(r"Incompatible types for matmul arguments: \w+\[([\w,]*)\]\S* and \w+\[([\w,]*)\]")
_DIVIDED = re.compile(r"Cannot divide evenly the sizes of shapes \([^)]*\) and \(([^)]*)\)")
_LABELED = re.compile(r"Size of label '\w' for operand \d+ \((\d+)\) does not match previous terms \((\d+)\)")


@reads
def _unequal(text: str) -> Iterator[Heard]:
    matrix, labeled, multiplied = _JAX_MATRIX.search(text), _LABELED.search(text), _MULTIPLIED.search(text)
    if matrix or labeled:
        # An axis of which a model under construction does not know the size has a name.
        left, right = (int(size) if size.isdigit() else None for size in (matrix or labeled).groups())  # type: ignore[union-attr]
        yield HeardUnequal(left, right)
        return
    if multiplied:
        one, other = map(sizes_of, multiplied.groups())
        yield from _apart([(one[-1:], other[-2:-1]), (one[:-2], other[:-2])] if len(other) > 1 else [(one[-1:], other)])
    broadcast, joined, divided = _BROADCAST.search(text), _JOINED.search(text), _DIVIDED.search(text)
    alike = _ALIKE.search(text)
    shapes = _shapes(alike[1]) if alike else []
    apart = [(a, b) for other in shapes[1:] if len(other) == len(shapes[0]) for a, b in zip(shapes[0], other, strict=True) if a and b and a != b]
    yield from (HeardUnequal(a, b, alike=True) for a, b in apart[:1])
    if divided:
        yield HeardUneven(sizes_of(divided[1]))
    if broadcast:
        shapes = [shape for shape in _shapes(broadcast[1]) if shape]
        yield from _apart([(one, other) for i, one in enumerate(shapes) for other in shapes[i + 1 :]])
        if len(shapes) == 2:
            yield HeardUnlike(*shapes)
    elif joined:
        axis = int(joined[1])
        shapes = [(*shape[:axis], *shape[axis + 1 :]) for shape in _shapes(joined[2])]
        pairs = [(a, b) for other in shapes[1:] for a, b in zip(shapes[0], other, strict=False) if a != b]
        yield from (HeardUnequal(*pair) for pair in pairs[:1])


def _apart(pairs: list[tuple[Shape, Shape]]) -> Iterator[Heard]:
    for one, other in pairs:
        for a, b in zip(reversed(one), reversed(other), strict=False):
            if a != b and 1 not in (a, b):
                yield HeardUnequal(a, b)
                return


def _shapes(text: str) -> list[Shape]:
    return [sizes_of(part) for part in re.findall(r"\(([^)]*)\)", text)]


_ATTRIBUTE = re.compile(r"'(?:Jax)?Variable' object has no attribute '(\w+)'")


@reads
def _variables(text: str) -> Iterator[Heard]:
    attribute = _ATTRIBUTE.search(text)
    if attribute or "Triggering __jax_array__() during abstractification" in text:
        yield HeardVariable(attribute[1] if attribute else "")
