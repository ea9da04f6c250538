"""``tf.data.Dataset``, Python generators and PyDatasets as ``fit`` sees them."""

from __future__ import annotations

import sys
import types
from numbers import Number
from typing import Any

import numpy as np

from ..flow import KeyPath
from ..flow.paths import flatten, is_nested, map_leaves, map_paths
from .draw import Drawn, Progress, draw
from .kinds import dtype_name, floatx, is_pandas, is_ragged, is_scipy, is_sequence, is_sparse, is_tf_tensor, tensor_kind, type_name
from .pipeline import function_name, inputs_of, location_of, op_name, plain, stages_of, variables_of, wrapped
from .rebuild import CannotRemake, without_memory
from .state import kept_random_state
from .stats import all_stats, kept
from .values import BadData, DataRaises, LeafSpec, NeverCame, Problem, Sample, Stage

PARTS = ("x", "y", "weight")
KEEPS_BATCHES = frozenset({"prefetch", "options", "map", "shuffle", "cache", "repeat"})


def leaf_shape(value: Any) -> tuple[int | None, ...]:
    shape = getattr(value, "shape", None)
    if shape is None:
        return tuple(int(n) for n in np.shape(value))
    if is_sparse(value):
        return tuple(int(n) for n in value.dense_shape.numpy())
    try:
        dims = tuple(None if n is None else int(n) for n in shape)
    except (TypeError, ValueError, OverflowError):
        raise BadData(f"The data contains a {type_name(value)} whose shape is not a tuple of integers: convert it with np.asarray.") from None
    return (*dims, 1) if is_pandas(value) == "Series" and len(dims) == 1 else dims


def leaf_array(value: Any) -> Any:
    """One drawn leaf as NumPy, or ``None`` where it has no dense form."""
    if is_sparse(value) or is_scipy(value):
        return None
    if is_ragged(value):
        return np.asarray(value.flat_values.numpy())
    if is_tf_tensor(value):
        return value.numpy()
    array = np.asarray(value)
    return array[:, None] if is_pandas(value) == "Series" else array


def _same_structure(one: Any, other: Any) -> bool:
    return [path for path, _ in flatten(one)] == [path for path, _ in flatten(other)]


def _with_concrete(specs: Any, values: Any) -> Any:
    if specs is None or values is None or not _same_structure(specs, values):
        return specs
    shapes = {path: leaf_shape(leaf) for path, leaf in flatten(values)}
    return map_paths(lambda path, leaf: LeafSpec(leaf.shape, leaf.dtype, leaf.kind, shapes[path]), specs)


def unpack(element: Any) -> tuple[Any, Any, Any] | None:
    """One element of a dataset as ``(x, y, weight)``."""
    if isinstance(element, list):
        element = tuple(element)
    if not isinstance(element, tuple) or hasattr(element, "_fields"):
        return element, None, None
    if len(element) not in (1, 2, 3):
        return None
    x, y, weight = (*element, None, None)[:3]
    return x, y, weight


def fill(sample: Sample, drawn: Drawn) -> list[tuple[Any, Any, Any]]:
    """Enters what was drawn into the sample and gives the drawn batches as ``(x, y, weight)``."""
    batches, sizes = [], []
    for element in drawn.elements:
        parts = unpack(element)
        if parts is None:
            continue
        batches.append(parts)
        for _, leaf in flatten(parts):
            shape = leaf_shape(leaf)
            if shape and shape[0] is not None and shape[0] not in sizes:
                sizes.append(shape[0])
            break
    if batches:
        sample.batch = sizes[0] if sizes else None
        for name, part in zip(PARTS, batches[0], strict=True):
            setattr(sample, name, _with_concrete(getattr(sample, name), part))
    elif sample.element is not None and drawn.elements:
        sample.element = _with_concrete(sample.element, drawn.elements[0])
        sample.batch = next((leaf.concrete[0] for _, leaf in flatten(sample.element) if leaf.concrete), None)
    dense: list[tuple[Any, Any, Any]] = []
    for parts in batches:
        x, y, weight = (None if part is None else map_leaves(leaf_array, part) for part in parts)
        dense.append((x, y, weight))
    sample.batch_sizes = tuple(sizes)
    sample.stats = all_stats(dense)
    for x, y, weight in dense:
        sample.sampled.append((map_leaves(kept, x), map_leaves(kept, y), map_leaves(kept, weight)))
    if drawn.error is not None:
        sample.error = drawn.error
        first = next((line.strip() for line in str(drawn.error).splitlines() if line.strip()), "")
        sample.problems.append(Problem("data-raised", f"Iterating over the data raises {type(drawn.error).__name__}: {first}", "", first))
    if drawn.late:
        sample.notes.append(("slow-data", f"Only {len(batches)} batches arrived in time: statements about values use only those."))
    if drawn.complete and not drawn.elements:
        sample.problems.append(Problem("no-batches", "The data yields no batches, so there is nothing to train on", "at least 1 batch", "0 batches"))
        sample.cardinality = 0
    return batches


def too_many_parts(sample: Sample, element: Any) -> None:
    count = len(element)
    sample.problems.append(
        Problem("element-parts", f"Each element has {count} parts, but fit takes x, (x, y) or (x, y, sample_weight): put several inputs into an inner tuple or a dict", "1, 2 or 3 parts", f"{count} parts")
    )  # fmt: skip


def rows_of(dataset: Any) -> int | None:
    """Rows that go into the last ``batch()`` of one pass."""
    current = dataset
    while op_name(current) in KEEPS_BATCHES and len(inputs_of(current)) == 1:
        current = inputs_of(current)[0]
    if op_name(current) not in ("batch", "padded_batch"):
        return None
    try:
        rows = int(inputs_of(current)[0].cardinality().numpy())
        dropped = bool(plain(getattr(current, "_drop_remainder", True)) and rows % int(plain(current._batch_size)))
    except Exception:
        return None
    return rows if rows >= 0 and not dropped else None


def _why_empty(dataset: Any) -> str:
    current = dataset
    while len(inputs_of(current)) == 1:
        before = inputs_of(current)[0]
        try:
            elements = int(before.cardinality().numpy())
        except Exception:
            break
        if elements:
            name = op_name(current)
            if name in ("batch", "padded_batch"):
                return "The dataset has no batches: it has fewer rows than one batch, and drop_remainder=True drops them"
            given = f"{elements} elements" if elements > 1 else "elements"
            return f"The dataset has no batches: {name}() leaves none of the {given} before it"
        current = before
    return "The dataset has no elements, so there is nothing to train on"


_WRAPPED = {
    "dataset": Problem(
        "nested-dataset", "The elements of the dataset are datasets themselves, as with window(): convert them to tensors with flat_map(lambda w: w.batch(n)), or zip their parts first", "tensors", "datasets"
    ),
    "optional": Problem(
        "optional-elements", "The elements of the dataset are optionals, which no layer accepts: get their values with map(lambda o: o.get_value())", "tensors", "optionals"
    ),
}  # fmt: skip


def sample_dataset(dataset: Any, *, batches: int, seconds: float, progress: Progress | None, first_seconds: float) -> Sample:
    """A ``tf.data.Dataset`` through a fresh iterator; the user's dataset keeps its position and order."""
    sample = Sample("dataset", dataset=dataset, stages=stages_of(dataset))
    wrapping, tree = wrapped(dataset.element_spec)
    parts = unpack(tree)
    if parts is None:
        too_many_parts(sample, tree)
        sample.element = tree
        parts = (tree[0], tree[1], None)
    sample.x, sample.y, sample.weight = parts
    sample.alone = isinstance(tree, tuple) and len(tree) == 1
    try:
        cardinality = int(dataset.cardinality().numpy())
        sample.cardinality = cardinality if cardinality >= -1 else None
    except Exception:
        sample.cardinality = None
    if wrapping:
        sample.problems.append(_WRAPPED[wrapping])
        return sample
    if sample.cardinality == 0:
        sample.problems.append(Problem("no-batches", _why_empty(dataset), "at least 1 batch", "0 batches"))
        return sample
    try:
        source = without_memory(dataset)
    except CannotRemake as error:
        said = f"No batch was drawn: a pass would change the state of this pipeline's shuffle or cache (stage {error})."
        sample.notes.append(("not-sampled", f"{said} Shapes come from element_spec only."))
        return sample
    if source is not dataset and any(stage.op == "shuffle" for stage in sample.stages):
        sample.notes.append(("unshuffled", "Batches were drawn in the order of the source, so that the state of shuffle does not change."))
    # Where the elements of a Python function have no declared rank, only a batch tells it.
    unranked = any(leaf.shape is None for _, leaf in sample.leaves())
    with kept_random_state(list(variables_of(dataset))):
        drawn = draw(source, batches, seconds, progress, first_seconds if unranked else 0.0)
        if not drawn.late:
            drawn.tap.release()
    fill(sample, drawn)
    sample.rows = rows_of(dataset)
    leaf = next((leaf for _, leaf in sample.leaves()), None)
    if sample.batch is None and leaf is not None and leaf.shape:
        sample.batch = leaf.shape[0]
    if sample.cardinality is None and drawn.complete:
        sample.cardinality = len(drawn.elements)
    return sample


def _merged(batches: list[tuple[Any, Any, Any]], framework: str) -> tuple[Any, Any, Any]:
    """What the framework's adapter makes of the first batches of Python data.

    Keras 3 looks at two batches and keeps the axes on which they agree, the batch axis open;
    tf_keras looks at one and keeps ranks alone.
    """
    shapes: dict[KeyPath, list[tuple[int | None, ...]]] = {}
    for batch in batches[: 2 if framework == "keras" else 1]:
        for name, part in zip(PARTS, batch, strict=True):
            for path, leaf in flatten(part, name) if part is not None else ():
                shapes.setdefault(path, []).append(leaf_shape(leaf))

    def merged(path: KeyPath, value: Any) -> LeafSpec:
        seen = shapes[path]
        concrete = seen[0]
        if framework == "tf_keras" or len({len(shape) for shape in seen}) > 1:
            shape = (None,) * len(concrete)
        else:
            shape = tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*seen, strict=True))
            shape = (None, *shape[1:]) if shape else ()
        dtype = _dtype(value)
        if framework == "tf_keras" and isinstance(value, np.ndarray) and value.dtype.kind == "f":
            dtype = floatx(framework)
        return LeafSpec(shape, dtype, tensor_kind(value), concrete)

    x, y, weight = (map_paths(merged, part, name) for part, name in zip(batches[0], PARTS, strict=True))
    return x, y, weight


def _nothing(sample: Sample, what: str, drawn: Drawn) -> None:
    number = next((number for number, element in enumerate(drawn.elements) if element is None), None)
    if number is not None:
        word = what.rsplit(" ", 1)[-1].removesuffix("s")
        sample.problems.append(
            Problem("element-none", f"{what} None instead of batch {number}, but fit expects a tuple: {word} (x, y), or (x,) without labels", "a tuple", "None")
        )  # fmt: skip
        drawn.elements[:] = [element for element in drawn.elements if element is not None]


def _empty(sample: Sample) -> None:
    keras = sys.modules.get("keras")
    if len(sample.batch_sizes) > 1 and 0 in sample.batch_sizes and keras is not None and keras.backend.backend() == "jax":
        number = next((i for i, parts in enumerate(sample.sampled) if any(shape == 0 for shape in _rows(parts))), 0)
        which = "The last batch" if number == len(sample.sampled) - 1 and sample.cardinality else f"Batch {number}"
        sample.problems.append(Problem("empty-batch", f"{which} has no rows, and JAX computes no gradient of an empty loss", "at least 1 row", "0 rows"))


def _rows(parts: Any) -> list[int | None]:
    return [shape[0] for _, leaf in flatten(parts) if (shape := leaf_shape(leaf))]


def _code(element: Any) -> str:
    return "element-list" if isinstance(element, list) else "element-not-tuple"


def _lists(sample: Sample, what: str, element: Any, framework: str) -> None:
    """Notes lists inside of an element, of which Keras 3 makes a signature that tf.data refuses."""
    keras = sys.modules.get("keras")
    if framework != "keras" or keras is None or keras.backend.backend() != "tensorflow" or not isinstance(element, tuple):
        return
    name, part = next(((name, part) for name, part in zip(PARTS, element, strict=False) if isinstance(part, list)), ("", []))
    if name:
        last = next(one for one in reversed(element) if isinstance(one, list))
        numbers = bool(part) and len(last) == len(part) and all(isinstance(one, (Number, np.generic)) for one in last)
        each, read = ("numbers", "scalars") if last is part else ("samples", "inputs")
        said = (
            f"as a list of {len(part)} {each}, which Keras reads as separate {read}: convert it to an array, np.array({name})"
            if numbers
            else "as a list, which Keras 3 cannot pass to tf.data: use a tuple, ((a, b), y)"
        )
        sample.problems.append(Problem("parts-list", f"{what} {name} {said}", "an array" if numbers else "tuples", "list"))


def _dtype(value: Any) -> str:
    return dtype_name(getattr(value, "dtype", np.asarray(value).dtype))


def _python_batches(sample: Sample, drawn: Drawn, framework: str) -> Sample:
    if drawn.late and not drawn.elements:
        raise NeverCame(drawn.waited)
    first = next((element for element in drawn.elements), None)
    if first is not None:
        sample.alone = isinstance(first, tuple) and len(first) == 1
        if unpack(first) is None:
            too_many_parts(sample, first)
            sample.element = map_leaves(lambda value: LeafSpec(leaf_shape(value), _dtype(value), tensor_kind(value), leaf_shape(value)), first)
        usable = [parts for parts in map(unpack, drawn.elements) if parts is not None]
        alike = [parts for parts in usable if _same_structure(parts, usable[0])]
        if len(alike) < len(usable):
            sample.problems.append(Problem("uneven-structure", "The batches do not all have the same structure", "one structure for all batches", "two"))
        if usable:
            sample.x, sample.y, sample.weight = _merged(alike, framework)
    fill(sample, drawn)
    _empty(sample)
    specs = tuple(part for part in (sample.x, sample.y, sample.weight) if part is not None)
    sample.stages = [Stage(stage.op, stage.name, stage.detail, specs, stage.function, stage.location, stage.inputs) for stage in sample.stages]
    return sample


def sample_generator(data: Any, *, framework: str, batches: int, seconds: float, progress: Progress | None, first_seconds: float) -> Sample:
    """A Python generator or iterator. It cannot be rewound: ``replacement`` gives all its elements."""
    code = getattr(data, "gi_code", None)
    name = str(getattr(data, "__name__", type_name(data)))
    source = Stage("generator", "generator", {"python": True}, None, name, location_of(types.SimpleNamespace(__code__=code)) if code else None)
    sample = Sample("generator", stages=[source, Stage("fit", "fit", {"batch axis": "?"}, inputs=("generator",))])
    if framework == "keras" and not isinstance(data, types.GeneratorType):
        sample.problems.append(
            Problem("not-a-generator", f"Keras 3 accepts generators but no other iterators, such as {type_name(data)}: wrap it as (batch for batch in data)", "a generator", type_name(data))
        )  # fmt: skip
    with kept_random_state():
        drawn = draw(data, batches, seconds, progress, first_seconds)
    sample.replacement = drawn.tap.again()
    said = f"{len(drawn.elements)} batches were drawn from a one-shot iterator, which cannot be rewound:"
    sample.notes.append(("generator-consumed", f"{said} report.replacement yields them again, then the rest."))
    first = drawn.elements[0] if drawn.elements else None
    _nothing(sample, "The generator yields", drawn)
    if framework == "keras" and first is not None and not isinstance(first, tuple):
        sample.problems.append(
            Problem(_code(first), f"The generator yields a {type_name(first)}, but Keras 3 expects a tuple: yield (x, y), or (x,) without labels",
                    "a tuple", type_name(first))
        )  # fmt: skip
    _lists(sample, "The generator yields", first, framework)
    return _python_batches(sample, drawn, framework)


def sample_loader(data: Any, *, framework: str, batches: int, seconds: float, progress: Progress | None, first_seconds: float) -> Sample:
    """Torch's ``DataLoader``, or one of grain's: each pass over it begins anew."""
    source = Stage("loader", "loader", {"python": True}, None, type_name(data))
    sample = Sample("pydataset", stages=[source, Stage("fit", "fit", {"batch axis": "?"}, inputs=("loader",))])
    with kept_random_state():
        drawn = draw(iter(data), batches, seconds, progress, first_seconds)
    # Torch collates pairs as lists, which Keras takes for tuples.
    drawn.elements[:] = [tuple(item) if isinstance(item, list) else item for item in drawn.elements]
    return _python_batches(sample, drawn, framework)


def sample_pydataset(data: Any, *, framework: str, batches: int, seconds: float, progress: Progress | None, first_seconds: float) -> Sample:
    """A Keras 3 ``PyDataset`` or a tf_keras ``Sequence``; items are asked for by index."""
    try:
        count = getattr(data, "num_batches", None) if not is_sequence(data) else len(data)
    except Exception as error:
        # What is no length is refused where it is asked for, which is here.
        raise DataRaises(error) from error
    kind = type(data)
    call = kind.__getitem__
    stages = [
        Stage("pydataset", "pydataset", {"batches": count, "python": True}, None, function_name(kind), location_of(call)),
        Stage("fit", "fit", {"batch axis": "?"}, inputs=("pydataset",)),
    ]
    sample = Sample("pydataset", cardinality=-1 if count is None else int(count), stages=stages)
    wanted = list(range(batches if count is None else min(batches, int(count))))
    if count is not None and count > batches:
        wanted.append(int(count) - 1)  # the last batch is often a smaller one
    with kept_random_state():
        drawn = draw((data[index] for index in wanted), len(wanted), seconds, progress, first_seconds)
    _nothing(sample, "__getitem__ returns", drawn)
    elements = [(tuple(item) if isinstance(item, list) else item) for item in drawn.elements]
    first = elements[0] if elements else None
    if first is not None and framework == "keras" and not isinstance(first, (tuple, dict, np.ndarray)):
        sample.problems.append(
            Problem(_code(first), f"__getitem__ returns a {type_name(first)}, but Keras 3 expects a tuple: return (x, y), or (x,)",
                    "a tuple or a dict", type_name(first))
        )  # fmt: skip
    _lists(sample, "__getitem__ returns", first, framework)
    if first is not None and is_nested(first):
        drawn.elements[:] = elements
    if count == 0:
        drawn.complete = True
    return _python_batches(sample, drawn, framework)
