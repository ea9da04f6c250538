"""A ``tf.data`` pipeline as its stages, read off the dataset objects without running them.

The private attributes read here are those of TensorFlow 2.16 to 2.21
(``tensorflow/python/data/ops``); one that is missing leaves a detail out, never fails.
"""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from types import CodeType
from typing import Any

from ..flow import Location, Shape
from ..flow.paths import map_leaves
from .draws import apart
from .kinds import dtype_name, has_base, tensor_kind
from .values import FILES, READERS, LeafSpec, Stage

# Ops whose result differs from run to run (stateless ones differ only where fed so, and are left out).
RANDOM = re.compile(
    r"^(Random(?!Dataset)|StatefulUniform|StatefulStandardNormal|StatefulTruncatedNormal|StatefulRandomBinomial|Multinomial|"
    r"TruncatedNormal|ParameterizedTruncatedNormal|RngReadAndSkip|RngSkip)"
)
PYTHON = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
DETAILS = (
    ("_batch_size", "batch_size"), ("_drop_remainder", "drop_remainder"), ("_buffer_size", "buffer_size"), ("_count", "count"),
    ("_reshuffle_each_iteration", "reshuffle_each_iteration"), ("_num_parallel_calls", "parallel"), ("_cycle_length", "cycle_length"),
    ("_block_length", "block_length"), ("_num_shards", "num_shards"), ("_index", "index"), ("_size", "size"), ("_filename", "filename"),
    ("_batch_sizes", "batch_sizes"), ("_deterministic", "deterministic"), ("_shift", "shift"), ("_stride", "stride"), ("_seed2", "seed"),
)  # fmt: skip
ALIASES = {
    "parallel_map": "map", "parallel_batch": "batch", "parallel_interleave": "interleave", "tensor_slice": "tensor_slices",
    "tensor": "tensors", "tf_record": "tfrecord", "tf_record_dataset_v2": "tfrecord", "text_line": "text_lines",
    "dense_to_ragged": "ragged_batch",
}  # fmt: skip


def plain(value: Any) -> Any:
    """A plain Python value of a scalar or small tensor."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    try:
        value = value.numpy()
    except Exception:
        return None
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if hasattr(value, "tolist"):
        value = value.tolist()
    return value if not isinstance(value, bytes) else value.decode(errors="replace")


def spec_tree(element_spec: Any) -> Any:
    """An ``element_spec`` as nested :class:`LeafSpec`."""

    def leaf(spec: Any) -> LeafSpec | None:
        if has_base(spec, "NoneTensorSpec", "tensorflow.python"):
            return None
        shape = getattr(spec, "shape", None)
        dims = None if shape is None or getattr(shape, "rank", None) is None else tuple(None if n is None else int(n) for n in shape)
        dtype = getattr(spec, "dtype", None)
        return LeafSpec(dims, dtype_name(dtype) if dtype is not None else "variant", tensor_kind(spec))

    return map_leaves(leaf, element_spec)


def wrapped(element_spec: Any) -> tuple[str, Any]:
    """What the elements of a dataset are wrapped in (``"dataset"``, ``"optional"`` or ``""``), and their specs without it.

    A dataset's elements are taken for what ``batch`` would make of them: one more axis, of unknown size.
    """
    found = []

    def inner(spec: Any) -> Any:
        if has_base(spec, "DatasetSpec", "tensorflow.python"):
            found.append("dataset")
            return map_leaves(lambda leaf: leaf if leaf.shape is None else replace(leaf, shape=(None, *leaf.shape)), spec_tree(spec.element_spec))
        if has_base(spec, "OptionalSpec", "tensorflow.python"):
            found.append("optional")
            return spec_tree(spec._element_spec)
        return spec_tree(spec)

    tree = map_leaves(inner, element_spec)
    return (found[0] if found else ""), tree


def op_name(dataset: Any) -> str:
    name = re.sub(r"(Dataset)?(V\d)?$", "", type(dataset).__name__.lstrip("_")) or type(dataset).__name__
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return ALIASES.get(name, name)


def inputs_of(dataset: Any) -> list[Any]:
    """The datasets that feed this one."""
    try:
        return list(dataset._inputs())
    except Exception:
        return []


def wrappers_of(dataset: Any) -> list[Any]:
    """The stage's traced functions."""
    try:
        return [wrapper for wrapper in dataset._functions() if hasattr(wrapper, "_func")]
    except Exception:
        return []


def user_function(wrapper: Any) -> Any:
    function = wrapper._func
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return getattr(function, "python_function", function)


def function_name(function: Any) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__name__
    return str(name).rsplit("<locals>.", 1)[-1]


def location_of(function: Any) -> Location | None:
    """Where a Python function is written."""
    code = getattr(function, "__code__", None) or getattr(getattr(function, "__func__", None), "__code__", None)
    if code is None:
        call = inspect.getattr_static(type(function), "__call__", None)  # an object that is called like a function
        code = getattr(call, "__code__", None)
    return Location(code.co_filename, code.co_firstlineno) if isinstance(code, CodeType) else None


def graph_ops(wrapper: Any) -> set[str]:
    """Types of all ops of a traced function, functions it calls included."""
    try:
        graph = wrapper.function.graph
        found = {op.type for op in graph.get_operations()}
        for definition in graph.as_graph_def().library.function:
            found.update(node.op for node in definition.node_def)
    except Exception:
        return set()
    return found


def variables_of(dataset: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """Variables that the pipeline's functions have captured (seeds and counters of layers)."""
    seen = set() if seen is None else seen
    if id(dataset) in seen:
        return
    seen.add(id(dataset))
    for wrapper in wrappers_of(dataset):
        try:
            yield from (v for v in wrapper.function.graph.variables if v is not None and hasattr(v, "assign"))
        except Exception:  # a legacy function without a graph of its own
            continue
    for source in inputs_of(dataset):
        yield from variables_of(source, seen)


def _from_generator(dataset: Any) -> Any:
    for wrapper in wrappers_of(dataset):
        function = wrapper._func
        if getattr(function, "__module__", "") != "tensorflow.python.data.ops.from_generator_op":
            continue
        pending, seen = [function], set()
        while pending:
            current = pending.pop()
            if id(current) in seen:
                continue
            seen.add(id(current))
            if type(current).__name__ == "_GeneratorState":
                return current._generator
            pending.extend(cell.cell_contents for cell in getattr(current, "__closure__", None) or ())
        return function
    return None


def _detail(dataset: Any, op: str) -> dict[str, Any]:
    detail = {name: plain(getattr(dataset, attribute)) for attribute, name in DETAILS if hasattr(dataset, attribute)}
    if detail.get("deterministic") == "default":
        del detail["deterministic"]
    if detail.get("parallel") == -1:
        detail["parallel"] = "AUTOTUNE"
    if op in ("map", "interleave") and "parallel" not in detail:
        detail["parallel"] = None
    if op == "padded_batch":
        shapes = map_leaves(lambda shape: tuple(plain(shape) or ()), getattr(dataset, "_padded_shapes", None))
        detail["padded_shapes"] = str(shapes).replace("-1", "?")
    if op == "options":
        try:
            options = dataset.options()
            detail["auto_shard_policy"] = options.experimental_distribute.auto_shard_policy.name
            detail["deterministic"] = options.deterministic
        except Exception:
            detail.pop("auto_shard_policy", None)
    if op == "window":
        detail["elements"] = next((_how_many(source) for source in inputs_of(dataset)), None)
    if op in FILES:
        detail["files"] = _how_many(getattr(dataset, "_filenames", None))
    if op == "cache":
        detail["filename"] = detail.get("filename") or ""
    return {key: value for key, value in detail.items() if value is not None or key == "parallel"}


def _between(dataset: Any, op: str) -> bool:
    if op == "restructured":
        return True
    modules = [str(getattr(user_function(wrapper), "__module__", "")) for wrapper in wrappers_of(dataset)[:1]]
    return op == "map" and any(module.startswith("tensorflow.python.data.") for module in modules)


def _how_many(names: Any) -> int | None:
    try:
        count = int(names.cardinality())
    except Exception:
        return None
    return count if count >= 0 else None


def _as_long(wrapper: Any) -> bool:
    """Whether a function returns a tensor as long as one that it is given, but for its ends."""
    from tensorflow import get_static_value

    for output in wrapper.function.graph.outputs:
        tensor = output
        while tensor.shape.rank and tensor.shape[0] is None:
            operation = tensor.op
            if operation.type == "Placeholder":
                return True
            if operation.type == "StridedSlice":
                begin, end = (get_static_value(one) for one in operation.inputs[1:3])
                if begin is None or end is None or begin[0] < 0 or (end[0] >= 0 and not operation.get_attr("end_mask") & 1):
                    break
            elif operation.type not in ("Identity", "Cast", "Mul", "AddV2", "Sub", "RealDiv", "ExpandDims"):
                break
            tensor = max(operation.inputs, key=lambda one: one.shape.rank or 0)
    return False


def stages_of(dataset: Any) -> list[Stage]:
    """The pipeline's stages, each after those that feed it; the last one is what ``fit`` gets.

    ``detail`` holds besides the stage's own arguments: ``random`` (the function draws random numbers), ``python`` (it runs Python
    code), ``ops`` (sorted op types of a map's function), ``files`` (how many files it reads; ``None`` where only running it would tell).
    """
    stages: list[Stage] = []
    names: dict[int, str] = {}
    used: dict[str, int] = {}

    def visit(current: Any) -> str:
        if id(current) in names:
            return names[id(current)]
        generator = _from_generator(current)
        sources = () if generator is not None else tuple(visit(source) for source in inputs_of(current))
        op = "generator" if generator is not None else op_name(current)
        if len(sources) == 1 and _between(current, op):
            names[id(current)] = sources[0]
            return sources[0]
        used[op] = used.get(op, 0) + 1
        name = op if used[op] == 1 else f"{op}_{used[op]}"
        detail, function, location = _detail(current, op), "", None
        if generator is not None:
            detail, function, location = {"python": True}, function_name(generator), location_of(generator)
        else:
            for wrapper in wrappers_of(current)[:1]:
                made = user_function(wrapper)
                function, location = function_name(made), location_of(made)
                ops = graph_ops(wrapper)
                # Layers draw by stateless ops from a seed that they keep in a variable.
                seeded = "AssignVariableOp" in ops or "AssignAddVariableOp" in ops
                detail["random"] = any(RANDOM.match(kind) or (seeded and kind.startswith("StatelessRandom")) for kind in ops)
                detail["python"] = any(kind in PYTHON for kind in ops)
                detail["ops"] = sorted(ops)
                detail["as_long"] = op == "map" and bool(ops) and _as_long(wrapper)
                with contextlib.suppress(Exception):  # what the graph does not tell stays unknown
                    if any(kind.startswith(("Resize", "ScaleAnd")) for kind in ops):
                        detail["interpolated"] = interpolated(wrapper, location.file if location is not None else "", function)
                    detail["slips"] = list(slips(wrapper, location.file, function)) if location is not None else []
                    drawn = op == "map" and any("Random" in kind for kind in ops)
                    if drawn and location is not None and (moved := apart(wrapper.function.graph.outputs)) is not None:
                        detail["apart"] = moved[0], [_line(one, location.file, function) for one in moved[1]]
                if ops & READERS and len(inputs_of(current)) == 1:  # interleave over names
                    detail["files"] = _how_many(inputs_of(current)[0])
        try:
            spec = spec_tree(current.element_spec)
        except Exception:
            spec = None
        stages.append(Stage(op, name, detail, spec, function, location, sources))
        names[id(current)] = name
        return name

    visit(dataset)
    return stages


# What tells which of two values is larger, so that their difference is not below 0.
COMPARED = frozenset({"Maximum", "Minimum", "Greater", "GreaterEqual", "Less", "LessEqual"})
# What leaves a value what it is, or the integer below it.
_PASSES = frozenset({"Cast", "Squeeze", "Reshape", "ExpandDims", "StridedSlice", "Identity", "Round", "Floor", "Rint", "EnsureShape", "Transpose"})
_BLENDS = ("ResizeBilinear", "ResizeBicubic", "ResizeArea", "ScaleAndTranslate")


def interpolated(wrapper: Any, file: str, function: str) -> dict[int, int]:
    """The outputs of a traced function, by their places, that come from a resize which interpolates, with its line in ``file``."""
    found = {}
    for place, tensor in enumerate(wrapper.function.graph.outputs):
        made = tensor.op
        while made.type in _PASSES and made.inputs:
            made = made.inputs[0].op
        if made.type in _BLENDS:
            found[place] = _line(made, file, function)
    return found


def _line(operation: Any, file: str, function: str) -> int:
    own = function.rsplit(".", 1)[-1]
    return next((frame.lineno for frame in reversed(operation.traceback) if frame.filename == file or frame.name in (own, f"tf__{own}")), 0)


def slips(wrapper: Any, file: str, function: str) -> Iterator[tuple[Any, int]]:
    """Reshapes in place of a transpose, with both shapes, and differences of unsigned integers, with their dtype; and their lines."""
    for made in wrapper.function.graph.get_operations():
        if made.type in ("Reshape", "Sub") and "/" not in made.name:  # with a scope, it is a part of one of TensorFlow's functions
            before, after = (tuple(one.shape) if one.shape.rank else () for one in (made.inputs[0], made.outputs[0]))
            near = {kind for one in made.inputs for kind in (one.op.type, *(reader.type for reader in one.consumers()))}
            if exchanged(before, after):
                yield (before, after), _line(made, file, function)
            elif made.type == "Sub" and (dtype := made.outputs[0].dtype.name) in ("uint8", "uint16") and near.isdisjoint({"Const", *COMPARED}):
                yield dtype, _line(made, file, function)


def exchanged(before: Shape, after: Shape) -> bool:
    """Whether one shape has the sizes of the other in another order, but for those of 1."""
    one, other = ([str(n) for n in shape or () if n != 1] for shape in (before, after))
    return one != other and sorted(one) == sorted(other)
