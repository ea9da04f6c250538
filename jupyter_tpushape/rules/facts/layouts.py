"""What is found of a layout map: entries that fit nothing or too much, axes that do not divide, devices that repeat each other's work."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, show_shape
from ..words import count, size

Axes = tuple[str, ...]


def laid(axes: Axes) -> str:
    """A layout as it is written: ``(None, 'model')``."""
    inner = ", ".join(repr(axis) if axis else "None" for axis in axes)
    return f"({inner},)" if len(axes) == 1 else f"({inner})"


class KeyUnused(Fact, frozen=True):
    """An entry that fits no variable. ``near``: the variables that it was meant for, which stay whole; ``key_for``: a key that fits them;
    ``how``: ``"wrapped"`` or ``"renamed"`` where their layers are, compared with the key."""

    key: str
    axes: Axes
    near: tuple[str, ...] = ()
    key_for: str = ""
    devices: int = 1
    how: str = ""

    def message(self) -> str:
        return f"The layout map's key {self.key!r} fits no variable of the model."

    def why(self) -> str:
        if not self.near:
            return "Keras looks a path up by re.fullmatch, and says nothing where no key fits."
        shown = ", ".join(self.near[:3]) + (f" and {len(self.near) - 3} more" if len(self.near) > 3 else "")
        whole = f"{shown} {'stays' if len(self.near) == 1 else 'stay'} whole on every device"
        cure = f" {self.key_for!r} fits." if self.key_for else ""
        if self.how == "wrapped":
            return f"The layer that it names is wrapped in another one here; {whole}.{cure}"
        if self.how == "renamed":
            return f"No layer here bears that name, and its layout would do for one kind of layer only; {whole}.{cure}"
        return f"A key has to fit the whole path (re.fullmatch); {whole}.{cure}"

    def sides(self) -> Sides:
        return (Side(self.near[0]) if self.near else None), Side(self.key)


class KeysClash(Fact, frozen=True):
    """Several entries that fit one variable."""

    path: str
    keys: tuple[str, ...]

    def message(self) -> str:
        return f"{count(len(self.keys), 'key')} of the layout map fit {self.path}: {', '.join(map(repr, self.keys))}."

    def why(self) -> str:
        return "Keras raises ValueError when it lays the variable. Only a key that is the path itself goes before the others."


class TooLong(Fact, frozen=True):
    """A layout with more axes than the variable has."""

    path: str
    shape: Shape
    axes: Axes
    key: str

    def message(self) -> str:
        return f"The layout {laid(self.axes)} has {count(len(self.axes), 'axis')}, and {self.path} {len(self.shape)}: {show_shape(self.shape)}."

    def why(self) -> str:
        return f"JAX raises ValueError when it lays the variable. The key is {self.key!r}."

    def sides(self) -> Sides:
        return Side(f"{len(self.shape)} at most"), Side(laid(self.axes))


class Twice(Fact, frozen=True):
    """A layout that names one axis of the mesh twice."""

    key: str
    axes: Axes

    def message(self) -> str:
        return f"The layout {laid(self.axes)} of {self.key!r} lays two axes of a tensor along one axis of the mesh."

    def why(self) -> str:
        return "JAX raises DuplicateSpecError: an axis of the mesh cuts one axis of a tensor."


class Undivided(Fact, frozen=True):
    """An axis of a variable that does not divide over its axis of the mesh. ``instead``: a layout that does, or ``()``."""

    path: str
    shape: Shape
    axes: Axes
    place: int
    parts: int
    key: str
    more: int = 0
    instead: Axes = ()

    def message(self) -> str:
        also = f" ({count(self.more, 'more variable')} of this key likewise)" if self.more else ""
        return (
            f"Axis {self.place} of {self.path}, {self.shape[self.place]}, does not divide over the {self.parts} devices of "
            f"{self.axes[self.place]!r}{also}."
        )

    def why(self) -> str:
        cure = f" {laid(self.instead)} divides." if any(self.instead) else ""
        return f"JAX raises IndivisibleError when it lays the variable; the key is {self.key!r}.{cure}"

    def sides(self) -> Sides:
        return Side(f"a multiple of {self.parts}"), Side(show_shape(self.shape), tuple(map(str, self.shape)), (self.place,))


class IdleAxis(Fact, frozen=True):
    """An axis of the mesh along which nothing is cut."""

    axis: str
    devices: int
    left: str

    def message(self) -> str:
        return f"Nothing lies along the mesh's axis {self.axis!r}: its {self.devices} devices hold the same and do the same work."

    def why(self) -> str:
        return f"Data lies along {self.left!r}, and no layout that fits a variable names {self.axis!r}."


class LeftWhole(Fact, frozen=True):
    """A large variable that every device holds whole, while others are cut."""

    path: str
    shape: Shape
    bytes: int
    devices: int

    def message(self) -> str:
        return f"{self.path} {show_shape(self.shape)} lies whole on each of {self.devices} devices: {size(self.bytes)} on every one."

    def why(self) -> str:
        return "No key of the layout map fits it; with Adam its two slots lie there as well."


class MadeEarly(Fact, frozen=True):
    """Variables that were there before the distribution was set."""

    path: str
    variables: int
    devices: int

    def message(self) -> str:
        more = f" and {count(self.variables - 1, 'more variable')}" if self.variables > 1 else ""
        return f"{self.path}{more} were made before the distribution was set, and lie on one device of {self.devices}."

    def why(self) -> str:
        return "Keras lays a variable when it is made; fit raises ValueError (incompatible devices). Set the distribution first, then make the model."


class SlotApart(Fact, frozen=True):
    """A tensor of the optimizer that lies otherwise than its variable."""

    path: str
    axes: Axes
    variable: str
    beside: Axes
    more: int
    bytes: int

    def message(self) -> str:
        also = f" ({count(self.more, 'more slot')} likewise)" if self.more else ""
        lies = f"as {laid(self.axes)}" if self.axes else "whole on every device"
        beside = f"as {laid(self.beside)}" if self.beside else "whole on every device"
        return f"The optimizer keeps {self.path} {lies}, and its variable {self.variable} lies {beside}{also}."

    def why(self) -> str:
        return (
            "A slot that is made without a layout takes the map's for its own path. add_variable_from_reference, or add_variable(layout=...), "
            "gives it its variable's."
        )
