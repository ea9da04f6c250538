"""The inputs that a model declares, and which tensor of the data each of them gets.

Which that is only the framework knows: both Kerases match a dict by the keys of a dict model, by the names of
the inputs of a list model, and all else by the order in which they flatten it. So their own code is asked,
with stand-ins for tensors.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..flow import KeyPath, Shape, Spec
from ..flow.paths import flatten, map_leaves
from ..flow.text import meaning, words


@dataclass(frozen=True, eq=False)
class Door:
    """One input that a model declares: its place in the model's inputs, its layer's name, its symbolic tensor."""

    path: KeyPath
    name: str
    spec: Spec
    tensor: Any = None

    @property
    def keyed(self) -> bool:
        """Whether it is known by a key, and not by its name alone."""
        return any(isinstance(key, str) for key in self.path[1:])

    @property
    def word(self) -> str:
        """What a user calls it: its key in a dict of inputs, else its name."""
        return str(self.path[-1]) if len(self.path) == 2 and self.keyed else self.name


def fits(declared: Shape, shape: Shape) -> bool:
    """Whether the declaration allows a shape; an unknown axis allows any size."""
    return len(declared) == len(shape) and all(a is None or b is None or a == b for a, b in zip(declared, shape, strict=True))


def accepted(want: Spec, got: Spec) -> bool:
    """Whether Keras accepts this tensor for this input without an error or warning."""
    if want.shape is None or got.shape is None:
        return True
    if want.shape[1:] == () and got.shape[1:] == ():
        return True
    declared = (None, *want.shape[1:])
    if fits(declared, got.shape):
        return True
    if len(got.shape) == len(declared) - 1 and declared[-1] == 1 and len(got.shape) >= 1:
        return fits(declared[:-1], got.shape)
    return len(got.shape) == len(declared) + 1 and got.shape[-1] == 1 and fits(declared, got.shape[:-1])


@dataclass
class Feeds:
    """Which tensor of the data goes where.

    Attributes:
        pairs: each declared input and the leaf that it gets.
        refused: what the framework raises in place of matching them, or ``""``.
        surplus: leaves that no input gets.
        known: whether the framework could be asked; where it could not, nothing is said.
    """

    pairs: list[tuple[Door, Any]] = field(default_factory=list)
    refused: str = ""
    surplus: list[Any] = field(default_factory=list)
    known: bool = True

    @property
    def settled(self) -> bool:
        """Whether every input gets a tensor and none is left over."""
        return self.known and not self.refused and not self.surplus


class Refused(ValueError):
    """The framework does not take data that is nested like this."""


def doors(structure: Any, tensors: Iterable[Any], describe: Callable[[Any], tuple[str, Spec]]) -> list[Door]:
    """The inputs in the framework's own flat order, with the paths at which they stand in the model's nest."""
    paths = {id(tensor): path for path, tensor in flatten(structure, "x")}
    found = []
    for tensor in tensors:
        name, spec = describe(tensor)
        found.append(Door(paths.get(id(tensor), ("x",)), name, spec, tensor))
    return found


@dataclass
class _StandIn:
    """A leaf of the data as the framework's own checks see it: something with a shape."""

    leaf: Any
    shape: tuple[int | None, ...] = ()
    dtype: str = "float32"


def feeds(declared: list[Door], x: Any, specs: Any, check: Callable[[Any, Any, str], None], standardize: Callable[[Any], list[Any]]) -> Feeds:
    """Asks the framework what it feeds to each declared input.

    Args:
        x: the data, nested as it is. specs: the model's ``input_spec``.
        check: the framework's own check of a layer's inputs against these; only names and numbers are left to compare.
        standardize: gives the leaves in the order in which the framework feeds them, and raises what it raises.
    """
    nest = map_leaves(_StandIn, x)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if specs:
                check([_bare(spec) for spec in specs], nest, "model")
            flat = list(standardize(nest))
    except (ValueError, TypeError, KeyError) as error:
        return Feeds(refused=words(error) or meaning(error))
    except Exception:
        return Feeds(known=False)
    if len(flat) < len(declared):
        return Feeds(refused=f"{len(declared)} inputs, {len(flat)} tensors")
    taken = [None if item is None else item.leaf for item in flat]
    pairs = [(door, leaf) for door, leaf in zip(declared, taken, strict=False) if leaf is not None]
    used = {id(leaf) for _, leaf in pairs}
    return Feeds(pairs, surplus=[leaf for _, leaf in flatten(x) if id(leaf) not in used], known=None not in taken)


def _bare(spec: Any) -> Any:
    made = copy.copy(spec)
    for attribute in ("shape", "ndim", "min_ndim", "max_ndim", "dtype"):
        setattr(made, attribute, None)
    made.axes = {}
    return made
