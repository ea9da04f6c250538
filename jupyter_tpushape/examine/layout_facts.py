"""A layout map and the variables that it lays out, as plain values for the rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from ..replicas import live_distribution
from ..replicas.layouts import Axes, Mesh, axes_of, mesh_of


@dataclass(frozen=True)
class Entry:
    """One entry of a layout map: a regular expression that has to fit a whole path, and the layout."""

    key: str
    axes: Axes


@dataclass(frozen=True)
class Slot:
    """A tensor that the optimizer keeps beside a variable, laid out otherwise than it. ``own``: by the optimizer, and not by the map."""

    path: str
    axes: Axes
    variable: str
    beside: Axes
    shape: tuple[int, ...]
    bytes: int
    own: bool = False


@dataclass(frozen=True)
class Laid:
    """What a distribution does.

    Attributes:
        variables: ``(path, shape, bytes, trainable)`` of the model's. outputs: the paths of layers' outputs, which a map may name as well.
        taken: layouts of variables that were made under the distribution, by path: they stay, whatever the map says.
        slots: what the optimizer lays out otherwise than the variable that it belongs to. early: variables whose values were there before
        the distribution was set. left: what the optimizer leaves to the map. deals: whether Keras deals a dataset to several hosts (``auto_shard_dataset``).
        scoped: whether a builder enters the distribution's scope, and sets none. held: variables' paths with attributes in place of the layers' names, where they differ.
        given: the shapes of layers' outputs that the map names, by path.
    """

    mesh: Mesh
    entries: tuple[Entry, ...] = ()
    variables: tuple[tuple[str, tuple[int, ...], int, bool], ...] = ()
    outputs: tuple[str, ...] = ()
    maps: bool = False
    taken: dict[str, Axes] = field(default_factory=dict)
    slots: tuple[Slot, ...] = ()
    early: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    deals: bool = True
    scoped: bool = False
    held: dict[str, str] = field(default_factory=dict)
    given: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def fits(self, path: str) -> list[Entry]:
        """The entries that a path takes its layout from, as Keras looks them up; more than one is an error."""
        exact = [entry for entry in self.entries if entry.key == path]
        return exact or [entry for entry in self.entries if matches(entry.key, path)]

    def axes(self, path: str) -> Axes | None:
        """A variable's layout, ``()`` where it is whole on every device, ``None`` where two entries fit."""
        if path in self.taken:
            return self.taken[path]
        found = self.fits(path)
        return found[0].axes if len(found) == 1 else None if found else ()

    @property
    def sound(self) -> bool:
        """Whether every variable, and every output that the map names, can be laid as it says."""
        if any(map(broken, (entry.key for entry in self.entries))):
            return False
        for path, shape in (*((path, shape) for path, shape, _, _ in self.variables), *self.given):
            axes = self.axes(path)
            if axes is None or len(axes) > len(shape) or self.mesh.undivided(shape, axes):
                return False
        return True


def broken(key: str) -> str:
    """What is wrong with a key as a regular expression."""
    try:
        re.compile(key)
    except re.error as error:
        return error.msg
    return ""


def matches(key: str, path: str) -> bool:
    """Whether a key, as a regular expression, is a whole path."""
    try:
        return re.fullmatch(key, path) is not None
    except re.error:
        return False


def laid_out(adapter: Any, model: Any, distribution: Any, recorder: Any = None, made: Iterable[Any] = ()) -> Laid:
    """Reads a distribution and a model; ``recorder``: what saw it being built; ``made``: variables that its first call creates."""
    held = getattr(distribution, "_layout_map", None)
    variables = list({str(one.path): one for one in (*adapter.variables(model), *made)}.values())
    slots, left = _slots(model, distribution, variables)
    taken = {str(one.path): axes_of(one._layout) for one in variables if getattr(one, "_layout", None) is not None}
    return Laid(
        mesh_of(distribution),
        tuple(Entry(str(key), axes_of(layout)) for key, layout in held.items()) if held is not None else (),
        tuple((str(one.path), tuple(int(n) for n in one.shape), _bytes(one), bool(one.trainable)) for one in variables),
        tuple(f"{getattr(layer, 'path', None) or layer.name}/output" for layer in model._flatten_layers(include_self=True, recursive=True)),
        held is not None,
        taken,
        slots,
        _early(distribution, variables, recorder),
        left,
        bool(getattr(distribution, "auto_shard_dataset", True)),
        getattr(recorder, "scoped", None) is not None and recorder.scoped is recorder.distribution,
        _held(adapter, model, [str(one.path) for one in variables]),
    )


def _held(adapter: Any, model: Any, paths: list[str]) -> dict[str, str]:
    """Each variable's path as attributes lead to it from the model: ``lm/blocks/0/up/kernel`` for ``lm/block_0/expand/kernel``."""
    layers, seen = {}, set[int]()
    pending = [(model, str(model.name), str(model.name))]
    while pending:
        layer, named, held = pending.pop()
        if id(layer) in seen:
            continue
        seen.add(id(layer))
        layers[named] = held
        for attribute, value in vars(layer).items():
            if attribute.startswith("_"):
                continue
            for inner, at in _inside(adapter, value, attribute):
                pending.append((inner, f"{named}/{inner.name}", f"{held}/{at}"))
    found = {path: layers[layer] + path[len(layer) :] for path in paths if (layer := path.rsplit("/", 1)[0]) in layers}
    return {path: held for path, held in found.items() if held != path}


def _inside(adapter: Any, value: Any, at: str) -> Iterator[tuple[Any, str]]:
    if adapter.is_layer(value):
        yield value, at
    elif isinstance(value, (list, tuple, dict)):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _inside(adapter, one, f"{at}/{key}")


def _early(distribution: Any, variables: list[Any], recorder: Any) -> tuple[str, ...]:
    """Variables with values and without a layout, under a distribution that is set: they lie on one device. So do those that a builder
    makes before it sets its distribution."""
    live = live_distribution() is distribution
    if not live and getattr(recorder, "distribution", None) is None:
        return ()
    unplaced = getattr(recorder, "unplaced", {})
    held = (one for one in variables if live and getattr(one, "_value", None) is not None and getattr(one, "_layout", None) is None)
    early = {id(one) for one in held} | {id(one) for one in variables if id(one) in unplaced}
    return tuple(str(one.path) for one in variables if id(one) in early)


class _Variable(SimpleNamespace):
    """Stands for a variable that an optimizer makes, or is given: a path, a shape, a dtype and a layout, and no value."""

    overwrite_with_gradient = False


def _slots(model: Any, distribution: Any, variables: list[Any]) -> tuple[tuple[Slot, ...], tuple[str, ...]]:
    """What the optimizer's own ``build`` lays out otherwise than the variable beside it, and what it leaves to the map; nothing where it
    cannot be asked without values."""
    optimizer = getattr(model, "optimizer", None)
    build = getattr(type(optimizer), "build", None)
    if build is None:
        return (), ()
    trained, made = [], []
    try:
        for one in variables:
            if one.trainable:
                layout = distribution.get_variable_layout(one)
                trained.append(_Variable(path=one.path, name=one.name, shape=tuple(one.shape), dtype=one.dtype, _layout=layout))
        stand_in = object.__new__(type(optimizer))
        # What a build writes into is the stand-in's own: the optimizer stays as it is.
        held = {key: _own(value) for key, value in vars(optimizer).items()}
        vars(stand_in).update(held, built=False)
        root = str(getattr(optimizer, "name", "optimizer"))

        def add_variable(shape: Any, *_: Any, dtype: Any = None, layout: Any = None, name: Any = None, **__: Any) -> Any:
            slot = _Variable(path=f"{root}/{name}", name=name, shape=tuple(shape), dtype=dtype or "float32", _layout=layout)
            made.append(slot)
            return slot

        object.__setattr__(stand_in, "add_variable", add_variable)
        build(stand_in, trained)
        return tuple(_differing(distribution, trained, made)), tuple(slot.path for slot in made if slot._layout is None)
    except Exception:  # an optimizer of the user's own that needs more than shapes, or a map that clashes, which a rule says
        return (), ()


def _own(value: Any) -> Any:
    kind = next((kind for kind in (list, dict, set) if isinstance(value, kind)), None)
    return value if kind is None else kind(value)


def _differing(distribution: Any, trained: list[_Variable], made: list[_Variable]) -> Iterator[Slot]:
    for slot in made:
        plain = slot.path.replace("/", "_")
        fitting = [one for one in trained if one.shape == slot.shape and one.path.replace("/", "_") in plain]
        # A slot that bears the name of variables is one of theirs: the sums of a kernel's rows may be as long as a bias.
        named = [one for one in trained if one.name == slot.name]
        alike = [one for one in named or trained if one.shape == slot.shape]
        owner = max(fitting, key=lambda one: len(one.path)) if fitting else alike[0] if len(alike) == 1 else None
        if owner is None or not slot.shape:
            continue
        axes, beside = (without_end(axes_of(distribution.get_variable_layout(one))) for one in (slot, owner))
        if axes != beside:
            yield Slot(slot.path, axes, owner.path, beside, slot.shape, _bytes(slot), slot._layout is not None)


def without_end(axes: Axes) -> Axes:
    """A layout without the axes at its end that lie whole."""
    while axes and not axes[-1]:
        axes = axes[:-1]
    return axes


def _bytes(variable: Any) -> int:
    count = 1
    for size in variable.shape:
        count *= int(size)
    digits = "".join(character for character in str(variable.dtype) if character.isdigit())
    return count * (int(digits) // 8 if digits else 1)
