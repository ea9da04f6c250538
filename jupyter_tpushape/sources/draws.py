"""By which random numbers a function of a pipeline moves what it returns: rows that it shuffles, pixels that it flips or cuts out."""

from __future__ import annotations

from typing import Any

# What puts values in other places, and which of its operands says along which axis.
_MOVES = {"ReverseV2": 1, "GatherV2": 2, "Slice": 0, "StridedSlice": 0}

# What moves (``rows``: a shuffle), along which axes, by which random numbers, and the operation.
Move = tuple[str, tuple[int, ...], frozenset[str], Any]


def apart(outputs: list[Any]) -> tuple[str, list[Any]] | None:
    """The operations that move inputs and labels, the two results of a function, by other random numbers or along other axes.

    ``rows``: each is shuffled on its own. ``pixels``: both have the same pixels, and are flipped or cut differently.
    """
    moved: tuple[list[Move], list[Move]] = ([], [])
    given = [_walk(one, frozenset(), moves) for one, moves in zip(outputs, moved, strict=False)] if len(outputs) == 2 else []
    if not all(given) or len(given) != 2 or given[0] & given[1]:
        return None
    x, y = (tuple(one.shape) if one.shape.rank else () for one in outputs)
    same = len([size for size in x[:-1] if size]) > 1 and x[:-1] in (y, y[:-1])
    for kind, said in (("rows", "rows"), *[("Slice", "pixels"), ("StridedSlice", "pixels")] * same):
        both = [[one for one in moves if one[0] == kind] for moves in moved]
        if all(both) and not _all(both[0]) & _all(both[1]):
            return said, [both[0][0][-1], both[1][0][-1]]
    for one, other in ((0, 1), (1, 0)) if same else ():
        for kind, axes, by, made in moved[one]:
            turned = {item[1]: item[-1] for item in moved[other] if item[0] == kind and item[2] == by}
            if kind == "ReverseV2" and (not by & _all(moved[other]) or (turned and axes not in turned)):
                return "pixels", [made, *list(turned.values())[:1]]
    return None


def _all(moves: list[Move]) -> frozenset[str]:
    return frozenset[str]().union(*(one[2] for one in moves))


def _walk(tensor: Any, chosen: frozenset[str], found: list[Move]) -> set[int]:
    reached, seen, pending = set[int](), set[Any](), [(tensor, chosen)]
    for one, by in pending:
        made = one.op
        if (id(one), by) in seen:
            continue
        seen.add((id(one), by))
        if made.type == "Placeholder":
            reached |= {at for at, given in enumerate(tensor.graph.inputs) if given is one}
        elif made.type in ("If", "StatelessIf"):
            for branch in ("then_branch", "else_branch"):
                graph = made.graph._get_function(made.get_attr(branch).name).graph
                inside = _walk(graph.outputs[one.value_index], by | _drawn(made.inputs[0]), found)
                pending += [(made.inputs[at + 1], by) for at in inside]
        elif not {"f", "body", "branches"}.isdisjoint(made.node_def.attr):
            raise NotImplementedError  # other functions are not followed
        elif made.type == "SelectV2":
            pending += [(given, by | _drawn(made.inputs[0])) for given in made.inputs[1:]]
        elif made.type in ("RandomShuffle", *_MOVES):
            numbers = by.union(*(_drawn(given) for given in list(made.inputs)[1:]), _drawn(one) if made.type not in _MOVES else ())
            axes = _axes(made)
            rows = any("RandomShuffle" in name for name in numbers)
            if numbers and (not rows or axes == (0,)):
                found.append(("rows" if rows else made.type, axes, numbers, made))
            pending.append((made.inputs[0], by))
        elif made.type != "Shape" and "Random" not in made.type:
            pending += [(given, by) for given in made.inputs]
    return reached


def _axes(made: Any) -> tuple[int, ...]:
    from tensorflow import get_static_value

    place, rank = _MOVES.get(made.type), made.inputs[0].shape.rank
    known = get_static_value(made.inputs[place]) if place and rank else None
    return (0,) if place is None else tuple(int(axis) % rank for axis in known.reshape(-1)) if known is not None else ()


def _drawn(tensor: Any, ends: bool = False) -> frozenset[str]:
    from tensorflow import get_static_value

    found, pending = set[str](), [tensor]
    seen = set[int]()
    for one in pending:
        made = one.op
        if id(made) in seen:
            continue
        seen.add(id(made))
        seeded = made.get_attr("seed2") if "seed2" in made.node_def.attr else 0
        if made.type.startswith("StatelessRandomGet") and not ends:
            found.add(f"seed {sorted(_drawn(made.inputs[0], True))}")
        elif made.type.startswith(("Random", "Rng")):
            found.add(f"{made.type} {(made.get_attr('seed'), seeded) if seeded else made.name}")
        elif ends and "ReadVariable" in made.type:
            found.add(f"read {made.inputs[0].consumers().index(made)}")  # layers of one seed draw the same in turn
        elif ends and not made.inputs:
            found.add(str(get_static_value(one)) if made.type == "Const" else made.name)
        elif made.type != "Shape":
            pending += made.inputs
    return frozenset(found)
