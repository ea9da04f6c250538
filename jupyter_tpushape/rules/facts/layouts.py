"""Facts about a layout map: keys that match no or too many variables, axes that do not divide, devices that repeat work."""

from __future__ import annotations

import difflib
import math

from ...flow import Fact, Shape, Side, Sides, show_shape
from ..words import count, listed, size

Axes = tuple[str, ...]


def for_batch(axis: str) -> bool:
    """Whether a mesh axis has a name for the batch."""
    return axis.lower() == "dp" or any(word in axis.lower() for word in ("batch", "data", "replica"))


def laid(axes: Axes) -> str:
    """A layout as a tuple in source: ``(None, 'model')``."""
    inner = ", ".join(repr(axis) if axis else "None" for axis in axes)
    return f"({inner},)" if len(axes) == 1 else f"({inner})"


class KeyUnused(Fact, frozen=True):
    """A key that matches no variable. ``near``: the variables that it was probably meant for, which stay replicated; ``key_for``: a key that
    matches them; ``how``: ``"wrapped"`` or ``"renamed"`` if their layers are, compared with the key; ``"held"`` if the key names attributes; ``"spelled"`` if their paths are closest
    to it; ``"glob"`` if it is written like a pattern of file names; ``"root"`` if paths begin with another name; ``instead``: the axes that
    they can be sharded along, where the layout's own do not divide them."""

    key: str
    axes: Axes
    near: tuple[str, ...] = ()
    key_for: str = ""
    devices: int = 1
    how: str = ""
    instead: Axes = ()

    def message(self) -> str:
        return f"The key {self.key!r} of the layout map matches no variable of the model."

    def why(self) -> str:
        if not self.near:
            return "Keras matches keys against variable paths with re.fullmatch, and reports nothing if a key matches none."
        shown = ", ".join(self.near[:3]) + (f" and {len(self.near) - 3} more" if len(self.near) > 3 else "")
        whole = f"{shown} {'stays' if len(self.near) == 1 else 'stay'} replicated on every device"
        along = f" and the layout {laid(self.instead)}" if self.instead else ""
        cure = f" Use the key {self.key_for!r}{along}." if self.key_for else ""
        if self.how == "wrapped":
            return f"The layer with that name is wrapped in another layer here, so {whole}.{cure}"
        if self.how == "glob":
            return f"In a regular expression, * repeats the character before it, so {whole}.{cure}"
        if self.how == "root":
            return f"The path begins with {self.near[0].split('/')[0]!r} here, so {whole}.{cure}"
        if self.how == "held":
            return f"A path consists of the names of layers, not of the attributes that hold them, so {whole}.{cure}"
        if self.how == "spelled":
            return f"Did you mean {self.near[0]}? A key must match the whole path (re.fullmatch), so {whole}.{cure}"
        if self.how == "renamed":
            return f"No layer has that name, and only one kind of layer suits this layout; {whole}.{cure}"
        return f"A key must match the whole path (re.fullmatch), so {whole}.{cure}"

    def sides(self) -> Sides:
        return (Side(self.near[0]) if self.near else None), Side(self.key)


class KeyBroken(Fact, frozen=True):
    """A key that is no regular expression. ``near``: the variables that it was meant for; ``key_for``: a key that matches them."""

    key: str
    error: str
    axes: Axes
    near: tuple[str, ...] = ()
    key_for: str = ""

    def message(self) -> str:
        return f"The key {self.key!r} of the layout map is not a regular expression: {self.error}."

    def why(self) -> str:
        cure = f" Use the key {self.key_for!r}." if self.key_for else ""
        return f"Keras matches keys with re.fullmatch, which raises an error when the first variable is created. Any characters are written as '.*'.{cure}"

    def sides(self) -> Sides:
        return (Side(self.key_for) if self.key_for else None), Side(self.key)


class KeysClash(Fact, frozen=True):
    """Several keys that match one variable."""

    path: str
    keys: tuple[str, ...]

    def message(self) -> str:
        return f"{count(len(self.keys), 'key')} of the layout map match {self.path}: {', '.join(map(repr, self.keys))}."

    def why(self) -> str:
        return "Keras raises ValueError when it creates the variable. Only a key that equals the path takes precedence over the others."


class TooLong(Fact, frozen=True):
    """A layout with more axes than the variable."""

    path: str
    shape: Shape
    axes: Axes
    key: str

    def message(self) -> str:
        return f"The layout {laid(self.axes)} has {count(len(self.axes), 'entry', 'entries')}, but {self.path} {show_shape(self.shape)} has {len(self.shape)}."

    def why(self) -> str:
        return f"Sharding the variable raises an error. The key is {self.key!r}."

    def sides(self) -> Sides:
        return Side(f"{len(self.shape)} at most"), Side(laid(self.axes))


class Twice(Fact, frozen=True):
    """A layout that uses one mesh axis twice."""

    key: str
    axes: Axes

    def message(self) -> str:
        return f"The layout {laid(self.axes)} of {self.key!r} shards two axes of a tensor over the same mesh axis."

    def why(self) -> str:
        return "JAX raises DuplicateSpecError: a mesh axis can shard only one axis of a tensor."


class Undivided(Fact, frozen=True):
    """An axis of a variable whose size is not a multiple of its mesh axis. ``instead``: a layout that works, or ``()``."""

    path: str
    shape: Shape
    axes: Axes
    place: int
    parts: int
    key: str
    more: int = 0
    instead: Axes = ()

    def message(self) -> str:
        also = f" (the same for {count(self.more, 'more variable')} of this key)" if self.more else ""
        return (
            f"Axis {self.place} of {self.path} has size {self.shape[self.place]}, which is not divisible by the {self.parts} devices of mesh axis "
            f"{self.axes[self.place]!r}{also}."
        )

    def why(self) -> str:
        cure = f" The layout {laid(self.instead)} divides evenly." if any(self.instead) else ""
        return f"JAX raises IndivisibleError when it shards the variable. The key is {self.key!r}.{cure}"

    def sides(self) -> Sides:
        return Side(f"a multiple of {self.parts}"), Side(show_shape(self.shape), tuple(map(str, self.shape)), (self.place,))


class IdleAxis(Fact, frozen=True):
    """A mesh axis over which nothing is sharded. ``meant``: its name is for the batch, which shares another axis with weights; ``given``: because
    batch_dim_name names that one."""

    axis: str
    devices: int
    left: str
    meant: bool = False
    given: bool = False

    def message(self) -> str:
        return f"Nothing is sharded over the mesh axis {self.axis!r}: its {self.devices} devices have the same values and do the same work."

    def why(self) -> str:
        if self.meant and self.given:
            return f"batch_dim_name shards the batch over {self.left!r}, like weights. Pass batch_dim_name={self.axis!r}."
        if self.meant:
            return (
                f"The batch is sharded over {self.left!r}, like weights. Without batch_dim_name, Keras takes the first axis of the mesh: "
                f"pass batch_dim_name={self.axis!r}."
            )
        return f"The batch is sharded over {self.left!r}, and no layout that matches a variable uses {self.axis!r}."


class LeftWhole(Fact, frozen=True):
    """A large variable that is replicated while others are sharded."""

    path: str
    shape: Shape
    bytes: int
    devices: int

    def message(self) -> str:
        return f"{self.path} {show_shape(self.shape)} is replicated on all {self.devices} devices: {size(self.bytes)} on each."

    def why(self) -> str:
        return "No key of the layout map matches it. With Adam, its two slot variables are replicated too."


class MadeEarly(Fact, frozen=True):
    """Variables created before the distribution was set, or outside of its scope."""

    path: str
    variables: int
    devices: int
    scoped: bool = False

    def message(self) -> str:
        more = f" and {count(self.variables - 1, 'more variable')}" if self.variables > 1 else ""
        were = "were" if self.variables > 1 else "was"
        when = "outside the scope of the distribution" if self.scoped else "before the distribution was set"
        return f"{self.path}{more} {were} created {when}: on one device instead of {self.devices}."

    def why(self) -> str:
        if self.scoped:
            return "Keras places a variable when it is created, so its layout has no effect. Build the model inside the scope, or set the distribution first."
        return "Keras places a variable when it is created. fit raises ValueError (incompatible devices). Set the distribution first, then build the model."


class SlotApart(Fact, frozen=True):
    """An optimizer variable whose layout differs from that of its model variable."""

    path: str
    axes: Axes
    variable: str
    beside: Axes
    more: int
    bytes: int

    def message(self) -> str:
        also = f" (the same for {count(self.more, 'more slot')})" if self.more else ""
        lies = f"sharded as {laid(self.axes)}" if self.axes else "replicated"
        beside = f"sharded as {laid(self.beside)}" if self.beside else "replicated"
        return f"The optimizer variable {self.path} is {lies}, but its model variable {self.variable} is {beside}{also}."

    def why(self) -> str:
        return (
            "An optimizer variable created without a layout gets the layout map's entry for its own path. Create it with "
            "add_variable_from_reference or add_variable(layout=...) to use the model variable's layout."
        )


class MeshAxes(Fact, frozen=True):
    """``got`` is no axis of a mesh with ``axes``: a layout names it, or the distribution shards the ``batch`` along it. ``rows``: the
    axis that by its name is for the batch."""

    got: str
    axes: Axes
    batch: bool = False
    rows: str = ""

    @property
    def near(self) -> str:
        """The axis that was probably meant: the one with almost that name, or for a weight the only one beside the batch's."""
        others = [axis for axis in self.axes if axis != self.rows]
        close = difflib.get_close_matches(self.got, self.axes, 1, 0.6)
        return close[0] if close else others[0] if self.rows and len(others) == 1 else ""

    def message(self) -> str:
        what = "batch_dim_name is" if self.batch else "A layout names the mesh axis"
        return f"{what} {self.got!r}, but the mesh has the {'axis' if len(self.axes) == 1 else 'axes'} {listed(tuple(map(repr, self.axes)))}."

    def why(self) -> str:
        meant = f" Did you mean {self.near!r}?" if self.near else ""
        return f"{'fit' if self.batch else 'Keras'} raises ValueError: Invalid axis names for Layout.{meant}"

    def sides(self) -> Sides:
        return Side(" or ".join(map(repr, self.axes))), Side(repr(self.got))


class MeshCount(Fact, frozen=True):
    """A mesh of ``shape`` gets ``devices`` devices."""

    shape: tuple[int, ...]
    devices: int

    @property
    def wanted(self) -> int:
        return math.prod(self.shape)

    def message(self) -> str:
        return f"The mesh {show_shape(self.shape)} needs {count(self.wanted, 'device')}, but gets {self.devices}."

    def why(self) -> str:
        if self.devices > 1:
            return "The product of shape must be the number of devices."
        return (
            "This machine has one device. keras.distribution.list_devices() returns those of the planned slice while the program is traced, "
            "and those of the machine otherwise."
        )

    def sides(self) -> Sides:
        return Side(count(self.wanted, "device")), Side(count(self.devices, "device"))
