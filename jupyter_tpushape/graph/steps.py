"""What one layer does to the axes of its inputs, told by its arguments: what it is called does not matter; and the sizes of a flow's edges, each worked out once, when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..flow import Edge, Flow, Node, Shape, elements
from .sizes import Axis, Given, Opaque, Padding, Part, Product, Scaled, Shifted, Size, Slid, Spread, Sum, value

Sizes = tuple[Size, ...]


def step(name: str, arguments: Mapping[str, Any], given: list[Sizes], shape: Shape | None) -> Sizes:
    """Expressions for the axes of a layer's output.

    Args:
        arguments: what its constructor was given, defaults included, as plain values. given: its inputs' axes.
        shape: the output as it was seen, or ``None``. An expression that gives another size than this is not believed.
    """
    # What a layer makes of an unknown input may still be known, such as its units.
    made = _made(name, arguments, given or [tuple(Opaque(name, n) for n in shape or ())]) if given or arguments else None
    if shape is None:
        return made or ()
    if made is None or len(made) != len(shape):
        made = _carried(name, given, shape)
    sure = []
    for size, seen in zip(made, shape, strict=True):
        known = value(size)
        sure.append(size if known == seen or known is None or seen is None else Opaque(name, seen))
    return tuple(sure)


def _carried(name: str, given: list[Sizes], shape: Shape) -> Sizes:
    """Where the arguments tell nothing: axes that are plainly the input's own, or all of them folded."""
    alike = [one for one in given if len(one) == len(shape)]
    turned = _turned(alike[0], shape) if len(given) == len(alike) == 1 else None
    if turned is not None:
        return turned
    if alike:
        sizes: list[Size] = []
        same = all(_fits(value(one[i]), n) for one in alike[:1] for i, n in enumerate(shape[:-1]))
        for i, n in enumerate(shape):
            # A broadcast takes the axis of the one that is not 1.
            own = next((one[i] for one in alike if value(one[i]) not in (1, None)), alike[0][i])
            kept = same or len(alike) > 1 or i == 0
            sizes.append(own if kept and _fits(value(own), n) else Opaque(name, n))
        return tuple(sizes)
    if given and len(shape) == 2 and len(given[0]) > 2:
        folded = Product(name, given[0][1:])
        if value(folded) == shape[1]:
            return given[0][0], folded
    widened = _widened(name, given[0], shape) if len(given) == 1 else None
    if widened is not None:
        return widened
    led = _leading(given[0], shape) if given else ()
    return (*led, *(Opaque(name, n) for n in shape[len(led) :]))


def _turned(x: Sizes, shape: Shape) -> Sizes | None:
    by_size = {value(size): size for size in x}
    if len(by_size) != len(x) or set(by_size) != set(shape) or list(by_size) == list(shape):
        return None
    return tuple(by_size[n] for n in shape)


def _widened(name: str, x: Sizes, shape: Shape) -> Sizes | None:
    rest, sizes = list(x), list[Size]()
    for n in shape:
        while rest and value(rest[0]) == 1 != n:
            rest.pop(0)
        if rest and _fits(value(rest[0]), n):
            sizes.append(rest.pop(0))
        elif n == 1:
            sizes.append(Opaque(name, 1))
        else:
            return None
    return tuple(sizes) if all(value(one) == 1 for one in rest) else None


def _leading(x: Sizes, shape: Shape) -> Sizes:
    """The first axes of another rank that are the input's own: those in front of the axes that are folded or split, and the rows."""
    same = next((i for i, (size, n) in enumerate(zip(x, shape, strict=False)) if not _fits(value(size), n)), min(len(x), len(shape)))
    rest = elements(tuple(value(size) for size in x[same:]))
    return x[:same] if rest is not None and rest == elements(shape[same:]) else x[: min(same, 1)]


def _fits(known: int | None, seen: int | None) -> bool:
    return known == seen


def _made(name: str, a: Mapping[str, Any], given: list[Sizes]) -> Sizes | None:
    x = given[0]
    rank = len(x)
    if len(given) > 1 and isinstance(a.get("axis"), int) and all(len(one) == rank for one in given):
        axis = a["axis"] % rank
        return tuple(Sum(name, tuple(one[i] for one in given)) if i == axis else x[i] for i in range(rank))
    if len(given) > 1 or not rank:
        return None
    if "layers" in a:
        return _in_turn(a["layers"], x)
    if "target_shape" in a:
        return _reshaped(name, x, tuple(a["target_shape"]))
    if "dims" in a:
        return (x[0], *(x[n] for n in a["dims"])) if all(n < rank for n in a["dims"]) else None
    if "kernel_size" in a or "pool_size" in a or "cropping" in a or "size" in a or isinstance(a.get("padding"), (list, tuple, int)):
        return _spatial(name, a, x)
    if "keepdims" in a and rank > 2:
        channel = 1 if a.get("data_format") == "channels_first" else rank - 1
        if not a["keepdims"]:
            return x[0], x[channel]
        return tuple(x[i] if i in (0, channel) else Given(name, "keepdims", 1) for i in range(rank))
    if isinstance(a.get("units"), int):
        last = Given(name, "units", a["units"])
        if "return_sequences" not in a:
            return (*x[:-1], last)
        return (x[0], x[1], last) if a["return_sequences"] and rank > 1 else (x[0], last)
    if isinstance(a.get("output_dim"), int) and "input_dim" in a:
        return (*x, Given(name, "output_dim", a["output_dim"]))
    if isinstance(a.get("n"), int) and rank == 2:
        return x[0], Given(name, "n", a["n"]), x[1]
    return None


def _in_turn(layers: list[tuple[str, Mapping[str, Any], Shape]], x: Sizes) -> Sizes:
    """A model that is used as a layer: its layers one after another. The rows are the caller's."""
    for name, arguments, shape in layers:
        rows = value(x[0]) if x else None
        x = step(name, arguments, [x], (rows, *shape[1:]))
    return x


def _reshaped(name: str, x: Sizes, target: tuple[int, ...]) -> Sizes:
    written = 1
    for n in target:
        written *= n if n != -1 else 1
    return (x[0], *(Given(name, "target_shape", n) if n != -1 else Part(name, x[1:], written) for n in target))


def _spatial(name: str, a: Mapping[str, Any], x: Sizes) -> Sizes | None:
    """Convolutions, poolings, paddings, croppings and upsamplings, over the axes between batch and channels."""
    rank = len(x)
    over = 1 if "return_sequences" in a else 0  # a recurrent convolution reads the time axis first
    first = a.get("data_format") == "channels_first"
    window = a.get("kernel_size")
    # More axes than a window has are further axes of samples, which Keras 2 passes over.
    start = 1 + over + (max(0, rank - 2 - over - len(window)) if isinstance(window, (list, tuple)) else 0)
    spatial = list(range(start + 1, rank)) if first else list(range(start, rank - 1))
    channel = start if first else rank - 1
    sizes = list(x)
    for place, i in enumerate(spatial):
        made = _slid(name, a, x[i], place, len(spatial))
        if made is None:
            return None
        sizes[i] = made
    if isinstance(a.get("filters"), int):
        sizes[channel] = Given(name, "filters", a["filters"])
    elif isinstance(a.get("depth_multiplier"), int):
        sizes[channel] = Product(name, (x[channel], Given(name, "depth_multiplier", a["depth_multiplier"])))
    if over and not a["return_sequences"]:
        del sizes[1]
    return tuple(sizes)


def _slid(name: str, a: Mapping[str, Any], n: Size, place: int, count: int) -> Size | None:
    padding: Padding = "same" if a.get("padding") == "same" else "causal" if a.get("padding") == "causal" else "valid"
    if "pool_size" in a:
        window = _at(a["pool_size"], place)
        return Slid(name, n, window, _at(a.get("strides") or a["pool_size"], place), padding)
    if "kernel_size" in a:
        window = (_at(a["kernel_size"], place) - 1) * _at(a.get("dilation_rate", 1), place) + 1
        stride = _at(a.get("strides", 1), place)
        if "output_padding" in a:
            extra = None if a["output_padding"] is None else _at(a["output_padding"], place)
            return Spread(name, n, window, stride, padding, extra)
        return Slid(name, n, window, stride, padding)
    if "size" in a:
        return Scaled(name, n, _at(a["size"], place))
    both = a["cropping"] if "cropping" in a else a["padding"]
    pair = both if count == 1 else both[place] if isinstance(both, (list, tuple)) else both
    before, after = pair if isinstance(pair, (list, tuple)) else (pair, pair)
    return Shifted(name, n, -(before + after) if "cropping" in a else before + after)


def _at(argument: Any, place: int) -> int:
    return int(argument[place] if isinstance(argument, (list, tuple)) else argument)


_ASIDE = ("mask", "labels", "weights")


class Origins:
    """Where the sizes of one flow come from. ``arguments``: what the constructor of a node's layer was given, by the node's id."""

    def __init__(self, flow: Flow, arguments: Callable[[str], Mapping[str, Any]]) -> None:
        self.flow, self.arguments = flow, arguments
        self._known: dict[str, tuple[Size, ...]] = {}

    def of(self, edge: Edge) -> tuple[Size, ...]:
        """One expression an axis, or ``()`` where the rank is unknown."""
        if edge.spec.shape is None:
            return ()
        if edge.id not in self._known:
            # A flow with a loop in it ends here.
            self._known[edge.id] = tuple(Opaque(edge.source, n) for n in edge.spec.shape)
            self._known[edge.id] = self._worked_out(edge)
        return self._known[edge.id]

    def _part(self, edge: Edge, node: Node) -> str:
        """What a tensor of the data is known by: of what comes from a split, the part of the data that has its sizes."""
        beside = self.flow.into(node.id) if node.kind == "split" else []
        parts = [one.label for one in beside if (one.spec.shape or ())[1:] == (edge.spec.shape or ())[1:]]
        return f"the {parts[0]}" if len(parts) == 1 and parts[0] in ("labels", "weights") else node.name

    def _worked_out(self, edge: Edge) -> tuple[Size, ...]:
        node = self.flow.node(edge.source)
        assert edge.spec.shape is not None
        if node.kind in ("input", "stage", "split"):
            return tuple(Axis(self._part(edge, node), axis, n) for axis, n in enumerate(edge.spec.shape))
        return self.given_by(node, edge.spec.shape)

    def given_by(self, node: Node, shape: Shape) -> tuple[Size, ...]:
        """The same for what a node returns, also where no edge leads from it."""
        node = self._inside(node)
        given = [self.of(item) for item in self.flow.into(node.id) if item.label not in _ASIDE and item.spec.shape is not None]
        arguments = self.arguments(node.id) if node.kind == "layer" else {}
        return step(node.name, arguments, given, shape)

    def _inside(self, node: Node) -> Node:
        """The last layer of a model that no edge leads into: it was built from within, and its layers are all that is known of it."""
        while node.kind == "layer" and not self.flow.into(node.id):
            ends = [one for one in self.flow.nodes if one.parent == node.id and one.kind == "layer" and not self.flow.out_of(one.id)]
            # Built and then called, a layer is there twice.
            if len({one.name for one in ends}) != 1:
                break
            node = ends[-1]
        return node
