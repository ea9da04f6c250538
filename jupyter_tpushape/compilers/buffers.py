"""What stands in the core's memory when most does: read from the files that the compiler writes about its own buffers.

Temporaries share addresses through time, so their sum says nothing. Here they are those that live at the moment of greatest use.
Used by the worker: text in, plain values out, no framework.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# So many are told one by one; the smaller ones are added up by operation.
MOST = 64
_ALLOCATION = re.compile(r"^allocation \d+: size (\d+)(.*)$")
# What a loop carries is marked (phi).
_VALUE = re.compile(r"^ value: <\d+ (\S+?)(?:\{([\d,]*)\})?(?: \(phi\))? @0> \(size=(\d+),offset=(\d+)\): (.*)$")
_RANGE = re.compile(r"^\s+(\S+?)\{([\d,]*)\}:(\d+)-(\d+)$")
_INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?([\w.\-]+) = .*?[\s})]([a-z][\w\-]*)\(([^)]*)\)(.*)$")
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) \(.*\{$")
_OPERAND = re.compile(r"%([\w.\-]+)")
_OP_NAME = re.compile(r'op_name="([^"]*)"')
_CALLS = re.compile(r"calls=%?([\w.\-]+)")
_LOOPS = re.compile(r"(?:body|condition)=%?([\w.\-]+)")
# What only hands on what it was given: the operation is that of its operand.
_HANDS_ON = {"copy", "bitcast", "get-tuple-element", "reshape", "transpose", "copy-start", "copy-done", "convert"}


@dataclass(slots=True)
class _Instruction:
    kind: str
    operands: list[str]
    op_name: str
    calls: str


@dataclass(slots=True)
class _Live:
    name: str
    index: str
    size: int
    offset: int
    shape: str
    start: int
    end: int


def of_dump(folder: Path) -> dict[str, Any] | None:
    """The buffers of the one program that was dumped, or ``None`` where there is nothing to read.

    Returns:
        ``live``: ``[operation, bytes, layout]`` of each temporary at the moment of greatest use, largest first; the operation is
        ``parameter:N`` for a copy of an argument and ``""`` where the compiler does not say; the layout is ``""`` where small ones are
        added up. ``room``: bytes that the compiler sets aside for all temporaries.
    """
    assigned, ranges, text = (_largest(folder, f"*{end}") for end in ("optimizations-buffer-assignment.txt", "-live-range.txt", "after_optimizations.txt"))
    if not assigned or not ranges:
        return None
    values, room = _temporaries(assigned)
    spans = {(m.group(1), m.group(2)): (int(m.group(3)), int(m.group(4))) for m in map(_RANGE.match, ranges.splitlines()) if m}
    for value in values:
        value.start, value.end = spans.get((value.name, value.index), (0, -1))
    live = _at_peak([value for value in values if value.end >= value.start])
    program = _Program(text)
    told = [(program.operation(value.name, value.index), value.size, value.shape) for value in live]
    told.sort(key=lambda one: -one[1])
    small: dict[str, int] = {}
    for operation, size, _ in told[MOST:]:
        small[operation] = small.get(operation, 0) + size
    return {"live": [list(one) for one in told[:MOST]] + [[operation, size, ""] for operation, size in small.items()], "room": room}


def program_text(folder: Path) -> str:
    """The optimized program as it was dumped."""
    return _largest(folder, "*after_optimizations.txt")


def _largest(folder: Path, pattern: str) -> str:
    files = sorted(folder.glob(pattern), key=lambda file: file.stat().st_size)
    return files[-1].read_text(encoding="utf-8", errors="replace") if files else ""


def _temporaries(text: str) -> tuple[list[_Live], int]:
    """The values of the allocations that hold temporaries in the core's main memory (``@0``)."""
    values: list[_Live] = []
    room, within, base = 0, False, 0
    for line in text.splitlines():
        allocation = _ALLOCATION.match(line)
        if allocation:
            within = "preallocated-temp" in allocation.group(2) and ", color " not in allocation.group(2)
            base = room
            room += int(allocation.group(1)) if within else 0
        elif within and (value := _VALUE.match(line)):
            name, index, size, offset, shape = value.groups()
            # A tuple's own table of addresses has the shape of its parts.
            values.append(_Live(name, index or "", int(size), base + int(offset), "" if shape.startswith("(") else shape, 0, -1))
    return values, room


def _at_peak(values: list[_Live]) -> list[_Live]:
    """Those that live at the moment when they take most; what shares an address with another is counted once."""
    changes: dict[int, list[tuple[int, tuple[int, int]]]] = {}
    for value in values:
        changes.setdefault(value.start, []).append((1, (value.offset, value.size)))
        changes.setdefault(value.end + 1, []).append((-1, (value.offset, value.size)))
    held: dict[tuple[int, int], int] = {}
    now = most = 0
    peak = -1
    for time in sorted(changes):
        for step, place in changes[time]:
            before = held.get(place, 0)
            held[place] = before + step
            if before == 0 and step > 0:
                now += place[1]
            elif before == 1 and step < 0:
                now -= place[1]
        if now > most:
            most, peak = now, time
    found: list[_Live] = []
    end = 0
    # Largest first at an address: what overlaps it is a part of it.
    for value in sorted((v for v in values if v.start <= peak <= v.end), key=lambda v: (v.offset, -v.size, not v.shape)):
        if value.offset >= end:
            found.append(value)
            end = value.offset + value.size
    return found


class _Program:
    """Which operation of TensorFlow's an instruction comes from."""

    def __init__(self, text: str) -> None:
        self.instructions: dict[str, _Instruction] = {}
        self.roots: dict[str, str] = {}
        self.parameters: dict[str, int] = {}
        # What a loop carries is held by the parameter of its body.
        self.carried: dict[str, str] = {}
        self.loops: dict[str, str] = {}
        computation, entry = "", False
        for line in text.splitlines():
            header = _COMPUTATION.match(line)
            if header:
                computation, entry = header.group(1), line.startswith("ENTRY")
                continue
            found = _INSTRUCTION.match(line)
            if not found:
                continue
            name, kind, operands, rest = found.groups()
            op_name, calls = _OP_NAME.search(rest), _CALLS.search(rest)
            self.instructions[name] = _Instruction(kind, _OPERAND.findall(operands), op_name.group(1) if op_name else "", calls.group(1) if calls else "")
            if kind == "parameter" and entry and operands.isdigit():
                self.parameters[name] = int(operands)
            elif kind == "parameter":
                self.carried[name] = computation
            elif kind == "while":
                self.loops |= dict.fromkeys(_LOOPS.findall(rest), name)
            if line.lstrip().startswith("ROOT "):
                self.roots[computation] = name

    def operation(self, name: str, index: str = "", depth: int = 0) -> str:
        """The operation's name, ``parameter:N``."""
        if name in self.parameters:
            return f"parameter:{self.parameters[name]}"
        found = self.instructions.get(name)
        if found is None or depth > 12:
            return ""
        if name in self.carried:
            return self.operation(self.loops.get(self.carried[name], ""), "", depth + 1)
        if index and found.calls:
            root = self.instructions.get(self.roots.get(found.calls, ""))
            first, _, rest = index.partition(",")
            if root is not None and root.kind == "tuple" and int(first) < len(root.operands):
                inner = self.operation(root.operands[int(first)], rest, depth + 1)
                if inner and not inner.startswith("parameter:"):
                    return inner
        if found.op_name and found.op_name not in ("XLA_Args", "XLA_Retvals"):
            return found.op_name
        if found.calls and not found.op_name:
            inner = self.operation(self.roots.get(found.calls, ""), "", depth + 1)
            if inner:
                return inner
        # A copy of what came in, or of another value.
        if found.op_name == "XLA_Args" or found.kind in _HANDS_ON:
            for operand in found.operands[:1]:
                return self.operation(operand, "", depth + 1)
        return ""
