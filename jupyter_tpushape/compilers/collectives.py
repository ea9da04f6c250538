"""The exchange between devices that the compiler put into a program, read from the compiled program's text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import Any

KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute", "collective-broadcast", "ragged-all-to-all")
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) \(.*\{$")
_LINE = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = (.+?) (" + "|".join(KINDS) + r")(-start)?\(")
_PIECE = re.compile(r"(?<![a-z])([a-z]+\d*(?:e\dm\d\w*)?)\[([\d,]*)\]")
_ELEMENT = re.compile(r"get-tuple-element\([^)]*?%?([\w.\-]+)\), index=(\d+)")
_NAME = re.compile(r'op_name="([^"]*)"')
_WHILE = re.compile(r" while\(.*body=%?([\w.\-]+)")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_CALLS = re.compile(r"(?:calls|to_apply|body|condition)=%?([\w.\-]+)|branch_computations=\{([^}]*)\}")
_WIDTH = {"pred": 1, "s4": 0.5, "u4": 0.5, "c64": 8, "c128": 16, "bf16": 2}


def collectives(text: str, devices: int) -> list[list[Any]]:
    """``[kind, operation, bytes, group, times, trips known]`` of each exchange in a compiled program.

    ``bytes`` is what one device holds of the result (of a reduce-scatter, of what goes in), ``group`` how many devices take part, ``times``
    how often it runs in a step. Exchanges that the compiler has put together are told one by one where their results still have names.
    """
    lines = text.splitlines()
    names = _elements(lines)
    times = _times(lines)
    found: list[list[Any]] = []
    for computation, line in _inside(lines):
        match = _LINE.match(line)
        if match is None:
            continue
        held, shape, kind, start = match.groups()
        pieces = _pieces(shape, kind, bool(start))
        group = _group(line, devices)
        if group < 2 and kind != "collective-permute":
            continue
        named = _NAME.search(line)
        whole = named.group(1) if named else ""
        count = times.get(computation, (1, True))
        for index, size in enumerate(pieces):
            operation = names.get((held, index), whole) if len(pieces) > 1 else whole
            found.append([kind, operation, int(size * (group if kind == "reduce-scatter" else 1)), group, *count])
    return found


def sent(kind: str, size: int, group: int) -> int:
    """Bytes that one device sends for an exchange, in rings: an all-reduce goes around twice."""
    if kind == "collective-permute":
        return size
    share = size * (group - 1) / max(1, group)
    return round(2 * share if kind == "all-reduce" else share)


def _inside(lines: list[str]) -> Iterator[tuple[str, str]]:
    computation = ""
    for line in lines:
        begins = _COMPUTATION.match(line)
        if begins:
            computation = begins.group(1)
        else:
            yield computation, line


def _elements(lines: list[str]) -> dict[tuple[str, int], str]:
    found: dict[tuple[str, int], str] = {}
    for line in lines:
        element, named = _ELEMENT.search(line), _NAME.search(line)
        if element and named:
            found.setdefault((element.group(1), int(element.group(2))), named.group(1))
    return found


def _pieces(shape: str, kind: str, start: bool) -> list[float]:
    sizes = [prod(int(n) for n in dims.split(",") if n) * _width(name) for name, dims in _PIECE.findall(re.sub(r"\{[^}]*\}", "", shape))]
    if start and shape.startswith("((") and len(sizes) % 2 == 0:
        return sizes[len(sizes) // 2 :]
    if start and kind in ("all-gather", "collective-permute") and len(sizes) >= 2:
        return sizes[1:2]
    return sizes


def _width(name: str) -> float:
    if name in _WIDTH:
        return _WIDTH[name]
    bits = re.search(r"\d+", name)
    return int(bits.group()) / 8 if bits else 1


def _group(line: str, devices: int) -> int:
    listed = re.search(r"replica_groups=\{\{([\d,]+)\}", line)
    if listed:
        return listed.group(1).count(",") + 1
    counted = re.search(r"replica_groups=\[([\d,]+)\]<=", line)
    if counted:
        return int(counted.group(1).split(",")[-1])
    named = re.search(r"replica_groups=mesh\[([^\]]*)\] ?\{([^}]*)\}", line)
    if named:
        sizes = dict(re.findall(r"'([^']+)'=(\d+)", named.group(1)))
        return prod(int(sizes.get(axis, 1)) for axis in re.findall(r"'([^']+)'", named.group(2)))
    return devices


def _times(lines: list[str]) -> dict[str, tuple[int, bool]]:
    """How often each computation runs in a step, and whether that is known: the body of a loop runs as often as the loop turns."""
    callers: dict[str, tuple[str, int, bool]] = {}
    for computation, line in _inside(lines):
        loop = _WHILE.search(line)
        trips = _TRIPS.search(line) if loop else None
        for one, several in _CALLS.findall(line):
            for name in (one or several).split(","):
                turns = int(trips.group(1)) if trips else 1
                callers.setdefault(name.strip().lstrip("%"), (computation, turns, loop is None or trips is not None))

    def total(name: str, depth: int = 0) -> tuple[int, bool]:
        if name not in callers or depth > 64:
            return 1, True
        caller, turns, known = callers[name]
        above, sure = total(caller, depth + 1)
        return turns * above, known and sure

    return {name: total(name) for name in callers}
