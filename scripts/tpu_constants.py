"""Which operands XLA must know when it compiles: every operation with an XLA kernel that takes whole numbers, as sizes, axes and places are,
compiled with operands that are no constants.

``python scripts/tpu_constants.py [--only NAME ...]`` writes ``jupyter_tpushape/graph/tpu_constants.json`` (``make tpu-constants``). An operand stands
there where XLA said of it, in this very run, that it must be a compile-time constant: it came out of an addition to an argument, so that nothing
can be known of it. It is then made a constant, and the operation is asked again for its other operands. Operands that XLA takes as they are, but
that leave a size of the result open until the program runs, stand beside them. Operations that no made-up operands went with are listed as
untried. Needs TensorFlow alone; some minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow as tf
from tensorflow.compiler.xla.service import hlo_pb2
from tensorflow.python.framework import op_def_library, op_def_registry, ops

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "jupyter_tpushape" / "graph" / "tpu_constants.json"
KERNELS = ROOT / "jupyter_tpushape" / "graph" / "tpu_kernels.json"
SAID = re.compile(r"Input (\d+) to node `[^`]*` with op (\w+) must be a compile-time constant")
# Ranks of what is computed with, shapes of sizes and indices by its rank, and the values that these have as constants.
RANKS = (4, 2, 1, 3, 0, 5)
SMALL: tuple[Any, ...] = ("vector", "scalar", "one", "pairs", "two", "same")
VALUES = (1, 0, 2)
MOST = 240  # combinations of one operation


def attributes(definition: Any, rank: int) -> dict[str, Any]:
    """A value for each attribute without a default."""
    found: dict[str, Any] = {}
    lists = {one.number_attr for one in definition.input_arg}
    for attr in definition.attr:
        if attr.name in lists:
            continue
        if attr.HasField("default_value"):
            if attr.type != "type":
                found[attr.name] = default(attr.default_value)
            continue
        allowed = list(attr.allowed_values.list.type)
        match attr.type:
            case "type":
                wanted = [tf.float32.as_datatype_enum, tf.int32.as_datatype_enum]
                found[attr.name] = next((one for one in wanted if not allowed or one in allowed), allowed[0] if allowed else wanted[0])
            case "int":
                found[attr.name] = max(2, attr.minimum)
            case "list(int)":
                found[attr.name] = [1] * max(rank, attr.minimum)
            case "float":
                found[attr.name] = 1.0
            case "bool":
                found[attr.name] = False
            case "string":
                found[attr.name] = attr.allowed_values.list.s[0].decode() if attr.allowed_values.list.s else ""
            case "shape":
                found[attr.name] = (2,) * rank
            case _:
                raise ValueError(f"asks for {attr.type}")
    return found


def default(value: Any) -> Any:
    """An attribute's default as Python has it."""
    kind = value.WhichOneof("value")
    if kind == "list":
        return next((list(held) for _, held in value.list.ListFields()), [])
    if kind == "shape":
        return tf.TensorShape(value.shape)
    held = getattr(value, kind)
    return held.decode() if isinstance(held, bytes) else held


def inputs(definition: Any, given: dict[str, Any]) -> list[tuple[str, Any, int]]:
    """``(name, dtype, number)`` of each operand; the number is 0 where it is no list."""
    defaults = {attr.name: attr.default_value.type for attr in definition.attr if attr.type == "type"}
    found = []
    for one in definition.input_arg:
        if one.type_list_attr:
            raise ValueError("takes a list of types")
        kind = one.type or given.get(one.type_attr) or defaults[one.type_attr]
        if tf.as_dtype(kind) in (tf.variant, tf.string):
            raise ValueError(f"takes a {tf.as_dtype(kind).name}")
        found.append((one.name, tf.as_dtype(kind), 2 if one.number_attr else 0))
    return found


def shape_of(kind: str, rank: int) -> tuple[int, ...]:
    """The shape of a size or an index beside a tensor of this rank."""
    return {"vector": (rank,), "scalar": (), "one": (1,), "pairs": (rank, 2), "two": (2,), "same": (2,) * rank}[kind]


def combinations(taken: list[tuple[str, Any, int]]) -> Iterator[tuple[int, list[tuple[int, ...]]]]:
    """``(rank, shapes of the operands)``: integers may be sizes, all others are of one rank, or single numbers."""
    for rank in RANKS:
        kinds = [SMALL if dtype in (tf.int32, tf.int64) else ("same", "scalar") for _, dtype, _ in taken]
        # Those of few kinds of shape first.
        ordered = sorted(itertools.islice(itertools.product(*kinds), 50_000), key=lambda chosen: len(set(chosen)))
        for chosen in ordered[: MOST // len(RANKS)]:
            yield rank, [shape_of(kind, rank) for kind in chosen]


class Asked:
    """One operation with operands of some shapes."""

    def __init__(self, name: str, given: dict[str, Any], taken: list[tuple[str, Any, int]], shapes: list[tuple[int, ...]]) -> None:
        """Takes what :func:`attributes` and :func:`inputs` gave."""
        self.name = name
        follow = {one.type_attr for one in op_def_registry.get(name).input_arg}
        self.own = {attr: value for attr, value in given.items() if attr not in follow}
        self.given, self.taken, self.shapes = given, taken, shapes

    @property
    def number(self) -> int:
        """Of operands."""
        return sum(number or 1 for _, _, number in self.taken)

    def goes(self) -> bool:
        """Whether TensorFlow's own inference of shapes takes the operands."""
        with tf.Graph().as_default():
            operands: dict[str, Any] = {}
            for (name, dtype, number), shape in zip(self.taken, self.shapes, strict=True):
                if dtype == tf.resource:
                    return True
                made = [tf.compat.v1.placeholder(dtype, shape) for _ in range(number or 1)]
                operands[name] = made if number else made[0]
            try:
                op_def_library.apply_op(self.name, **operands, **self.own)
            except Exception:
                return False
        return True

    def compiled(self, constants: set[int], value: int) -> tuple[str, bool]:
        """What XLA says, ``""`` where it takes it, and whether a size in the result is then known only when the program runs.

        Raises:
            ValueError: where the operation does not go with these shapes.
        """
        variables: list[Any] = []
        specs = []
        for (_, dtype, number), shape in zip(self.taken, self.shapes, strict=True):
            if dtype == tf.resource:
                variables += [tf.Variable(tf.ones(shape)) for _ in range(number or 1)]
            else:
                specs += [tf.TensorSpec(shape, dtype)] * (number or 1)

        def step(*flat: Any) -> Any:
            held, handles = list(flat), [variable.handle for variable in variables]
            operands, position = {}, 0
            for (name, dtype, number), shape in zip(self.taken, self.shapes, strict=True):
                made = []
                for _ in range(number or 1):
                    if dtype == tf.resource:
                        made.append(handles.pop(0))
                    else:
                        tensor = held.pop(0)
                        fixed = tf.cast(tf.fill(shape, value), dtype)
                        made.append(tf.constant(tf.get_static_value(fixed)) if position in constants else _unknown(tensor, fixed))
                    position += 1
                operands[name] = made if number else made[0]
            found = op_def_library.apply_op(self.name, **operands, **self.own)
            if isinstance(found, ops.Operation):
                with tf.control_dependencies([found]):
                    return tf.constant(0.0)
            return tf.nest.flatten(found)

        function = tf.function(step, jit_compile=True, autograph=False)
        try:
            function.get_concrete_function(*specs)
        except Exception as error:
            raise ValueError(str(error)) from None
        try:
            made = function.experimental_get_compiler_ir(*specs)(stage="hlo_serialized")
        except Exception as error:
            return str(error), False
        result = hlo_pb2.HloModuleProto.FromString(made).host_program_shape.result
        return "", any(any(one.is_dynamic_dimension) for one in (result, *result.tuple_shapes))


def _unknown(tensor: Any, fixed: Any) -> Any:
    """A value that nobody can know before the program runs."""
    return tf.math.logical_xor(tensor, fixed) if tensor.dtype == tf.bool else tensor + fixed


def constants_of(name: str) -> tuple[set[int], set[int], bool]:
    """Places of the operands that must be constants, of those that leave a size open otherwise, and whether any operands went with it."""
    definition = op_def_registry.get(name)
    if definition is None:
        raise ValueError("is not known to Python")
    constants: set[int] = set()
    sizes: set[int] = set()
    went = 0
    operands = inputs(definition, attributes(definition, 2))
    if not any(dtype in (tf.int32, tf.int64) for _, dtype, _ in operands):
        return set(), set(), True
    for rank, shapes in combinations(operands):
        given = attributes(definition, rank)
        asked = Asked(name, given, inputs(definition, given), shapes)
        if not asked.goes():
            continue
        before = went
        for value in VALUES:
            known = set(constants)
            with contextlib.suppress(ValueError):
                while True:
                    said, leaves_open = asked.compiled(known, value)
                    went = before + 1
                    match = SAID.search(said)
                    if match is None or match.group(2) != name or int(match.group(1)) in known:
                        break
                    known.add(int(match.group(1)))
                constants |= known
                if leaves_open:
                    every = set(range(asked.number))
                    sizes |= {place for place in every - constants if asked.compiled(every - {place}, value)[1]}
            if went == before:
                break
        if went == 2:
            break
    return constants, sizes - constants, bool(went)


def places(name: str, found: set[int]) -> list[int]:
    """Places that hold for a list of any length: behind one they count from the end."""
    numbers = [2 if one.number_attr else 1 for one in op_def_registry.get(name).input_arg]
    end = next((sum(numbers[: i + 1]) for i, number in enumerate(numbers) if number > 1), sum(numbers))
    return sorted(place if place < end else place - sum(numbers) for place in found)


def main() -> None:
    """Asks of each operation and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="operations to ask of, printed and not written")
    only = parser.parse_args().only
    names = only or sorted(json.loads(KERNELS.read_text(encoding="utf-8"))["kernels"])
    constants: dict[str, list[int]] = {}
    sizes: dict[str, list[int]] = {}
    untried: dict[str, str] = {}
    for name in names:
        print(name, flush=True)
        try:
            must, leave, went = constants_of(name)
        except ValueError as error:
            untried[name] = str(error)
            continue
        if must:
            constants[name] = places(name, must)
        if leave:
            sizes[name] = places(name, leave)
        if not went:
            untried[name] = "no operands went with it"
        if only:
            print(name, sorted(must), sorted(leave), "" if went else untried[name])
    if only:
        return
    about = (
        "Operands by place that XLA says must be compile-time constants, and those that leave a size of the result open where they are none, of "
        f"each operation with an XLA kernel that takes whole numbers; made by scripts/tpu_constants.py with tensorflow {tf.__version__}"
    )
    table = {"about": about, "constants": constants, "sizes": sizes, "untried": untried}
    PLACE.write_text(json.dumps(table) + "\n", encoding="utf-8")
    print(f"{len(constants)} operations with operands that must be constants, {len(untried)} untried, of {len(names)}")


if __name__ == "__main__":
    main()
