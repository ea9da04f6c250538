"""The messages of frameworks as typed values. Rules and repairs read messages only here.

The patterns are from the messages of Keras, TensorFlow and NumPy and work for every program. A message may contain several facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Literal, TypeVar

import msgspec

from ..flow import Failure, Shape
from ..flow.spec import sizes_of
from ..flow.text import words

Bound = Literal["", "min", "max"]


class Heard(msgspec.Struct, frozen=True):
    """One fact in a message."""


Kind = TypeVar("Kind", bound=Heard)
Reader = Callable[[str], Iterator[Heard]]
_READERS: list[Reader] = []


def reads(reader: Reader) -> Reader:
    """Registers a function that reads one family of messages."""
    _READERS.append(reader)
    return reader


_READ: dict[Any, Callable[[str], Any]] = {int: int, int | None: int, Shape: sizes_of}


def said_as(pattern: str, **alone: Any) -> Callable[[type[Kind]], type[Kind]]:
    """Registers a fact that a match of ``pattern`` tells. Its groups are the fields, by their names or in order; those of alternatives that do not match are left out.

    ``alone``: the fields that go with this pattern. Of several patterns of one fact, the one next to the class is read first.
    """
    compiled = re.compile(pattern)

    def register(kind: type[Kind]) -> type[Kind]:
        fields = [field for field in msgspec.structs.fields(kind) if field.name not in alone]

        @reads
        def reader(text: str) -> Iterator[Heard]:
            if found := compiled.search(text):
                told = found.groupdict() or dict(zip((field.name for field in fields), filter(lambda group: group is not None, found.groups()), strict=False))
                yield kind(**alone, **{field.name: _READ.get(field.type, str)(told[field.name]) for field in fields if field.name in told})

        return kind

    return register


class HeardRank(Heard, frozen=True):
    """A layer expects rank ``wanted``, or at least or at most this rank. ``got``: ``None`` if the message does not contain it."""

    wanted: int
    got: int | None = None
    bound: Bound = ""


class HeardKernelRank(Heard, frozen=True):
    """A convolution's kernel has a different rank than its input."""


@said_as(r"expected axis -?\d+ of input shape to have value (\d+)")
class HeardWidth(Heard, frozen=True):
    """A layer was built for size ``wanted`` on one axis."""

    wanted: int


@said_as(r"Dimension(?:s| \d+ in both shapes) must be equal, but are (\d+) and (\d+)")
class HeardUnequal(Heard, frozen=True):
    """Two sizes that must be equal; ``None`` for an unknown one; ``alike``: whole shapes must be, so that a size of 1 is no exception."""

    left: int | None
    right: int | None
    alike: bool = False


class HeardOperation(Heard, frozen=True):
    """An operation and the shapes that it was given; ``said`` is what stands before them."""

    operation: str
    shapes: tuple[Shape, ...]
    said: str


@said_as(r"must be divisible by `indices_or_sections`.*received (\d+) and (\d+)")
@said_as(r"divisible by the number of groups\. Received:? groups=(?P<divisor>\d+), but the input has (?P<given>\d+) channels")
@said_as(r"must be evenly divisible by (?P<divisor>\d+) but is (?P<given>\d+)")
class HeardDivisor(Heard, frozen=True):
    """``given`` is not a multiple of ``divisor``."""

    given: int
    divisor: int


class HeardPieces(Heard, frozen=True):
    """An axis of ``size`` is split into ``pieces`` that do not add up to it."""

    size: int
    pieces: tuple[int, ...]


@said_as(r"Incompatible shapes: \[([\d,]*)\] vs\. \[([\d,]*)\]")
class HeardUnlike(Heard, frozen=True):
    """Two tensors that a running operation could not broadcast."""

    first: Shape
    second: Shape


class HeardReshape(Heard, frozen=True):
    """``have`` values cannot be reshaped to ``wanted``; -1 stands for an inferred axis."""

    have: int
    wanted: tuple[int, ...]
    by: Literal["numpy", "tensorflow"] = "numpy"


@said_as(r"\(MatMul of \[[\d?,]*?(\d+)\], ?\[(\d+),\d+\]\)", of="matrix")
@said_as(r"lhs feature dimension size .*?input feature dimension size, but (\d+) // \d+ != (\d+)", of="channels")
@said_as(r"Depth of input \((\d+)\) is not a multiple of input depth of filter \((\d+)\)", of="channels")
class HeardWidths(Heard, frozen=True):
    """A kernel was built for ``wanted``, but receives ``given``: channels of a convolution, or rows of a matrix."""

    given: int
    wanted: int
    of: Literal["channels", "matrix"]


class HeardWindow(Heard, frozen=True):
    """A window is larger than its input."""


class HeardUnknown(Heard, frozen=True):
    """A layer needs the size of an axis that is unknown; ``made``: for a weight that it makes with that shape."""

    made: bool = False


@said_as("None")
class HeardNone(Heard, frozen=True):
    """The message contains an unknown size."""


class HeardShape(Heard, frozen=True):
    """The shape that a message quotes as received."""

    shape: Shape


class HeardSymbolic(Heard, frozen=True):
    """A function of TensorFlow, JAX or NumPy was called on a symbolic tensor of Keras 3."""


@said_as("maximum recursion depth exceeded")
class HeardDepth(Heard, frozen=True):
    """Calls nested deeper than Python allows."""


class HeardSizes(Heard, frozen=True):
    """Every whole number that the message names."""

    sizes: tuple[int, ...]


@said_as(r"Mixing different tf\.distribute\.Strategy objects", what="mixed")
@said_as(
    r"Trying to create optimizer slot variable under the scope for tf\.distribute\.Strategy"
    r"|must only be passed a variable created in this tf\.distribute\.Strategy\.scope\(\)",
    what="slots",
)
@said_as("was created inside a different distribution strategy scope than the model", what="metric")
@said_as("was not created in the distribution strategy scope of", what="variable")
class HeardScope(Heard, frozen=True):
    """Something was made in another strategy's scope than what it is used with."""

    what: Literal["variable", "metric", "slots", "mixed"]


@said_as("__inference__tpu_init_fn_", cause="versions")
@said_as("index 0 is out of bounds for axis 0 with size 0", cause="empty")
@said_as("TPUs not found in the cluster", cause="missing")
@said_as("Please provide a TPU Name to connect to", cause="unnamed")
class HeardNoTpu(Heard, frozen=True):
    """A set-up found no TPU: none was named, none is in the cluster, the cluster is ``empty``, or the versions differ."""

    cause: Literal["unnamed", "missing", "empty", "versions"]


@said_as(r"Reduction\.SUM")
class HeardReduction(Heard, frozen=True):
    """A loss object of tf_keras has its default reduction under a strategy."""


class HeardHub(Heard, frozen=True):
    """A layer of TensorFlow Hub was handed to Keras 3. ``symbolic``: it was called on a symbolic tensor of Keras 3."""

    symbolic: bool


@said_as(r"signature_wrapper\(([\w, ]*)\) takes 0 positional arguments")
class HeardNames(Heard, frozen=True):
    """An endpoint of a SavedModel takes its inputs by these names only."""

    names: str


class HeardSignature(Heard, frozen=True):
    """What a SavedModel's signature takes: fields of a dict, ``(name, shape, dtype)``, or one tensor under the name ``""``."""

    fields: tuple[tuple[str, str, str], ...]


@said_as(r"expects 1 input\(s\), but it received \d+ input tensors", sequential=False)
@said_as("All layers in a Sequential model should have a single output tensor", sequential=True)
class HeardSeveral(Heard, frozen=True):
    """One tensor was wanted and several came. ``sequential``: a Sequential says so of a layer of its own."""

    sequential: bool


class HeardCall(Heard, frozen=True):
    """A function was called with other arguments than it takes. ``named``: the one that it does not know, where there is one."""

    function: str
    named: str = ""


class HeardDtype(Heard, frozen=True):
    """A dtype that does not fit: the ones that ``argument`` may have, or nothing where it must be that of another operand."""

    wanted: tuple[str, ...] = ()
    argument: str = ""


@lru_cache(maxsize=256)
def heard(text: str) -> tuple[Heard, ...]:
    """Everything that a message is known to say."""
    return tuple(one for reader in _READERS for one in reader(text))


def hear(said: Failure | BaseException | str | None, kind: type[Kind]) -> Kind | None:
    """The first thing of this kind that a failure says."""
    if said is None:
        return None
    text = said.message if isinstance(said, Failure) else words(said) if isinstance(said, BaseException) else str(said)
    return next((one for one in heard(text) if isinstance(one, kind)), None)


_NDIM = re.compile(r"expected (?:(min|max)_)?ndim=(\d+), found ndim=(\d+)")
_INSIDE = re.compile(r"\((\w+) of ((?:\[[^\]]*\](?:, )?)+)\)")
_QUOTED = re.compile(r"(?:Full shape received|received input with shape|and input of shape|input_shape=):? ?\(([^)]*)\)")


@reads
def _layers(text: str) -> Iterator[Heard]:
    rank, quoted = _NDIM.search(text), _QUOTED.search(text)
    if rank:
        bound: Bound = "min" if rank[1] == "min" else "max" if rank[1] == "max" else ""
        yield HeardRank(int(rank[2]), int(rank[3]), bound)
    elif "with at least 3 dimensions" in text:
        yield HeardRank(3)
    elif "Kernel shape must have the same length" in text:
        yield HeardKernelRank()
    windows = ("egative dimension", "zero or negative", "must be smaller", "resulted in an empty output")
    if any(words in text for words in windows) and "update shape" not in text:
        yield HeardWindow()
    if "should be defined" in text:
        yield HeardUnknown()
    elif "used to initialize variables must be fully-defined" in text:
        yield HeardUnknown(made=True)
    if quoted:
        parts = [part.strip() for part in quoted[1].split(",") if part.strip()]
        yield HeardShape(tuple(None if part == "None" else int(part) for part in parts if part == "None" or part.isdigit()))


@reads
def _operation(text: str) -> Iterator[Heard]:
    inside = _INSIDE.search(text)
    if inside:
        shapes = tuple(sizes_of(part) for part in re.findall(r"\[([^\]]*)\]", inside[2]))
        # The last line may only say which of several tensors it was about.
        last = next((line for line in reversed(text.splitlines()) if not line.startswith("\t")), text)
        yield HeardOperation(inside[1], shapes, last.split(" (" + inside[1])[0].split(". Shapes are ")[0])


_PIECES = re.compile(r"can't split axis of size (\d+) into pieces of size \[([\d,]+)\]")


@reads
def _divisor(text: str) -> Iterator[Heard]:
    if pieces := _PIECES.search(text):
        yield HeardPieces(int(pieces[1]), tuple(map(int, pieces[2].split(","))))


_NUMPY_RESHAPE = re.compile(r"cannot reshape array of size (\d+) into shape \(?([\d, -]+)\)?")
_RESHAPE = re.compile(r"tensor with (\d+) elements to shape \[([\d,]+)\]")


@reads
def _reshape(text: str) -> Iterator[Heard]:
    numpy, tensor = _NUMPY_RESHAPE.search(text), _RESHAPE.search(text)
    if numpy:
        yield HeardReshape(int(numpy[1]), tuple(int(n) for n in numpy[2].replace(" ", "").split(",") if n))
    if tensor:
        yield HeardReshape(int(tensor[1]), tuple(int(n) for n in tensor[2].split(",") if n), "tensorflow")


_OF_A_BACKEND = re.compile(r"A KerasTensor cannot be used as input to a (?:TensorFlow|JAX) function")
_CALL = re.compile(r"(?<![\w.])([\w.]+)\(\) (?:got an unexpected keyword argument '(\w+)'|missing \d+ required |takes (?:from )?\d+ [\w ]*positional argument)")


@reads
def _python(text: str) -> Iterator[Heard]:
    if _OF_A_BACKEND.search(text) or "A KerasTensor is symbolic: it's a placeholder" in text:
        yield HeardSymbolic()
    call = _CALL.search(text)
    if call:
        yield HeardCall(call[1].rsplit(".<locals>.", 1)[-1], call[2] or "")
    yield HeardSizes(tuple(dict.fromkeys(int(n) for n in re.findall(r"(?<![\w.])\d{1,9}(?![\w.]\d)", text))))


_ALLOWED = re.compile(r"(?:parameter '(\w+)' has DataType \w+|attr '\w+' of \w+(?: is)?) not in (?:the )?list of allowed values: ([\w, ]+)")
_UNLIKE = re.compile(
    r"that does not match type|was expected to be an? \w+ tensor but is an?|conversion requested dtype|types \[[^\]]*\] that don't all match"
    r"|to have the same dtypes|must have the same dtype, got|Expected \w+ passed to parameter '\w+' of op '\w+', got \S+ of type 'float'"
)


@reads
def _dtypes(text: str) -> Iterator[Heard]:
    allowed = _ALLOWED.search(text)
    if allowed:
        yield HeardDtype(tuple(part.strip() for part in allowed[2].split(",")), allowed[1] or "")
    elif "subtypes of integer, bool" in text:
        yield HeardDtype(("bool",))
    elif _UNLIKE.search(text):
        yield HeardDtype()


_FIELDS = re.compile(r"\['(\w+)', TensorSpec\(shape=(\([^)]*\)|None), dtype=tf\.(\w+)")
_ONE = re.compile(r"for signature: \(\w+: TensorSpec\(shape=(\([^)]*\)|None), dtype=tf\.(\w+)")


@reads
def _saved_models(text: str) -> Iterator[Heard]:
    if "tensorflow_hub.keras_layer.KerasLayer" in text and "Only instances of" in text:
        yield HeardHub(False)
    elif "<KerasTensor" in text:
        yield HeardHub(True)
    one = _ONE.search(text)
    if "Binding inputs to tf.function failed" in text:
        fields = tuple((str(name), str(shape), str(dtype)) for name, shape, dtype in sorted(_FIELDS.findall(text)))
        if fields or one:
            yield HeardSignature(fields or (("", one[1], one[2]),) if one else fields)
