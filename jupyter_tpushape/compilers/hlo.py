"""What is read of a lowered program: a key that is equal for equal programs, and the names of its operations by their place in it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_METADATA = re.compile(r", metadata=\{[^{}]*\}")
_OP_NAME = re.compile(r'op_name="([^"]*)"')
_NAME = re.compile(r"%[\w.\-]+")
_MODULE = re.compile(r"^HloModule [^,\n]*")
_DTYPE = {"BF16": "bf16", "PRED": "pred"}


@dataclass(frozen=True)
class Read:
    """``names``: the operation that each instruction comes from, ``""`` where none is said. ``entry``: dtypes and shapes of the parameters, as a
    layout text. ``dynamic``: operations that are convolutions over sizes known at run time only."""

    key: str
    names: tuple[str, ...]
    entry: str = ""
    dynamic: tuple[str, ...] = ()


def of_proto(program: bytes) -> Read:
    """Reads a serialized ``HloModuleProto``. The key leaves out names and where in the source something was written."""
    from tensorflow.compiler.xla.service import hlo_pb2

    module = hlo_pb2.HloModuleProto.FromString(program)
    parameters = ", ".join(_shape(shape) for shape in module.host_program_shape.parameters)
    names, dynamic = [], []
    # Numbers depend on names: each becomes its place in the order of appearance.
    numbers = {0: 0}

    def renumbered(ids: Any) -> None:
        ids[:] = [numbers.setdefault(one, len(numbers)) for one in ids]

    for field in ("name", "id", "entry_computation_name", "stack_frame_index"):
        module.ClearField(field)
    module.host_program_shape.ClearField("parameter_names")
    for computation in module.computations:
        computation.ClearField("name")
        computation.program_shape.ClearField("parameter_names")
        for instruction in computation.instructions:
            names.append(instruction.metadata.op_name)
            if instruction.custom_call_target.startswith("DynamicConvolution"):
                dynamic.append(instruction.metadata.op_name)
            instruction.ClearField("name")
            instruction.ClearField("metadata")
            instruction.id = numbers.setdefault(instruction.id, len(numbers))
            for ids in (instruction.operand_ids, instruction.control_predecessor_ids):
                renumbered(ids)
        computation.root_id = numbers.get(computation.root_id, 0)
    places = {computation.id: place for place, computation in enumerate(module.computations)}
    module.entry_computation_id = places.get(module.entry_computation_id, -1)
    for computation in module.computations:
        computation.id = places[computation.id]
        for instruction in computation.instructions:
            instruction.called_computation_ids[:] = [places[one] for one in instruction.called_computation_ids]
    key = hashlib.sha256(module.SerializeToString(deterministic=True)).hexdigest()
    return Read(key, tuple(names), f"({parameters})->()", tuple(dynamic))


def _shape(shape: Any) -> str:
    from tensorflow.compiler.xla import xla_data_pb2

    name = str(xla_data_pb2.PrimitiveType.Name(shape.element_type))
    return f"{_DTYPE.get(name, name.lower())}[{','.join(map(str, shape.dimensions))}]"


def of_text(text: str) -> Read:
    """The same of a program's text, line by line."""
    numbers: dict[str, int] = {}
    plain = _METADATA.sub("", _MODULE.sub("HloModule", text))
    # Names carry numbers that grow through the process: each becomes its place in the order of appearance.
    plain = _NAME.sub(lambda match: f"%{numbers.setdefault(match.group(), len(numbers))}", plain)
    found = (_OP_NAME.search(line) for line in text.splitlines())
    names = tuple(match.group(1) if match else "" for match in found)
    from .bridge import entry_layout

    return Read(hashlib.sha256(plain.encode()).hexdigest(), names, entry_layout(text))


def unnamed(answer: dict[str, Any], names: tuple[str, ...]) -> None:
    """Puts the place in the program for an operation's name: a later program of the same key bears other names."""
    places: dict[str, int] = {}
    for number, name in enumerate(names):
        places.setdefault(name, number)
    for told, at in _operations(answer):
        if told[at] and not told[at].startswith("parameter:"):
            told[at] = f"line:{places[told[at]]}" if told[at] in places else ""


def operation_at(names: tuple[str, ...]) -> Callable[[str], str]:
    """The way back from :func:`unnamed`: the operation at a place of this program. A name stays what it is."""

    def back(told: str) -> str:
        number = told.removeprefix("line:")
        if number == told:
            return told
        return names[int(number)] if int(number) < len(names) else ""

    return back


def _operations(answer: dict[str, Any]) -> list[tuple[list[Any], int]]:
    live = [(told, 0) for told in (answer.get("buffers") or {}).get("live", ())]
    return live + [(told, 1) for told in answer.get("collectives") or ()]


def named(answer: dict[str, Any], name: Callable[[str], str]) -> None:
    """Puts for each place in an answer what ``name`` gives for it."""
    for told, at in _operations(answer):
        told[at] = name(told[at])
