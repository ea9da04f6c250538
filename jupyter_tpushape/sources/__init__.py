"""Reads anything that ``fit`` accepts through a few batches, without changing it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from ..flow.paths import flatten, is_nested
from ..flow.text import words
from ..internal import last_entry
from .arrays import all_arrays, all_specs, describe, sample_arrays, sample_specs
from .datasets import sample_dataset, sample_generator, sample_loader, sample_pydataset
from .draw import Progress
from .kinds import has, is_dataset, is_distributed_dataset, is_loader, is_pydataset, is_sequence, type_name
from .values import BadData, DataRaises, LeafSpec, NeverCame, Problem, Sample, Stage, Stats

__all__ = ["BadData", "DataRaises", "LeafSpec", "NeverCame", "Problem", "Sample", "Stage", "Stats", "sample"]

TAKES = "arrays, (x, y), (x, y, sample_weight), a dict, a tf.data.Dataset, a generator, a PyDataset, a PyTorch or Grain loader, or specs such as tf.TensorSpec((32, 10))"


def _stream(value: Any) -> str:
    if is_dataset(value):
        return "dataset"
    if is_pydataset(value) or is_sequence(value):
        return "pydataset"
    if is_loader(value):
        return "loader"
    if has(value, "__next__", "__iter__"):
        return "generator"
    return ""


def _parts(data: Any, x_structure: Any) -> tuple[Any, Any, Any]:
    """``data`` as ``fit``'s ``(x, y, sample_weight)``: a tuple is taken as these, anything else as x."""
    if not isinstance(data, tuple) or hasattr(data, "_fields"):
        return data, None, None
    if len(data) in (1, 2, 3):
        x, y, weight = (*data, None, None)[:3]
        return x, y, weight
    inputs = len(list(flatten(x_structure))) if x_structure is not None else 0
    if inputs == len(data):
        return data, None, None
    raise BadData(f"The data is a tuple of {len(data)} parts, but fit takes (x, y) or (x, y, sample_weight): for several inputs, use ([a, b, ...], y).")


def sample(
    data: Any,
    *,
    framework: str,
    batch_size: int | None = None,
    batches: int = 3,
    seconds: float = 5.0,
    first_seconds: float = 0.0,
    progress: Progress | None = None,
    x_structure: Any = None,
) -> Sample:
    """Looks at what ``fit`` would feed to the model.

    Args:
        data: all that ``fit`` takes, or specs in place of it. A tuple means ``(x, y)`` or
            ``(x, y, sample_weight)``; specs describe the global batch, axis 0 the batch.
        framework: ``"keras"`` or ``"tf_keras"``; they cast and batch differently.
        batch_size: for arrays, rows a batch; 32 unless given, as in ``fit``.
        batches: how many batches are drawn at most.
        seconds: how long drawing may take at most; a source that blocks is left alone after that.
        first_seconds: how long the first batch may take, where that is longer and nothing else tells what a batch is.
        progress: called with a line of text when drawing takes over a second.
        x_structure: the model's inputs, where known: tells many inputs from ``(x, y)``.

    Returns:
        a :class:`Sample`. What ``fit`` would refuse is in ``problems`` and does not raise.

    Raises:
        BadData: where ``data`` is nothing that ``fit`` takes; one sentence that says what to type. As :class:`DataRaises` where its own
            code raised, and as :class:`NeverCame` where no batch came in time.
    """
    try:
        made = _sampled(data, framework, batch_size, batches, seconds, first_seconds, progress, x_structure)
        if is_nested(made.x) and next(flatten(made.x), None) is None:
            raise BadData(f"x contains no array, so there is no input for the model: pass {TAKES}.")
        return made
    except BadData:
        raise
    except Exception as error:
        if _theirs(error):
            raise DataRaises(error) from error
        raise


def _theirs(error: Exception) -> bool:
    """Whether the data's own code raised: its innermost line is not ours, or Python has no line for it."""
    trace = last_entry(error)
    ours = trace is not None and trace.tb_frame.f_code.co_filename.startswith(str(Path(__file__).parents[1]))
    return not ours or "__len__" in words(error)


def _sampled(
    data: Any, framework: str, batch_size: int | None, batches: int, seconds: float, first_seconds: float, progress: Progress | None, x_structure: Any
) -> Sample:
    if data is None:
        raise BadData(f"There is no data: pass {TAKES}.")
    if batch_size is not None and (not isinstance(batch_size, int) or batch_size < 1):
        raise BadData(f"batch_size is {batch_size!r}, but a batch needs at least 1 row: use batch_size=32.")
    if batches < 1 or seconds <= 0:
        raise BadData(f"batches is {batches} and seconds is {seconds}, but both must be positive.")
    x, y, weight = _parts(data, x_structure)
    if x is None:
        raise BadData(f"x is None, so there is no input for the model: pass {TAKES}.")
    kind = _stream(x)
    if kind:
        if y is not None or weight is not None:
            name = "a tf.data.Dataset" if kind == "dataset" else f"a {type_name(x)}"
            raise BadData(f"x is {name}, which includes its labels, but y was given too: pass only the {kind}, yielding (x, y).")
        if kind == "dataset":
            return sample_dataset(x, batches=batches, seconds=seconds, progress=progress, first_seconds=first_seconds)
        make = {"pydataset": sample_pydataset, "loader": sample_loader, "generator": sample_generator}[kind]
        return make(x, framework=framework, batches=batches, seconds=seconds, progress=progress, first_seconds=first_seconds)
    if is_distributed_dataset(x):
        raise BadData("x is a dataset that a strategy has already distributed: pass the original tf.data.Dataset.")
    trees = tuple(tree for tree in (x, y, weight) if tree is not None)
    if all_specs(trees):
        return sample_specs(x, y, weight)
    if not all_arrays(*trees):
        if isinstance(x, (FunctionType, MethodType, BuiltinFunctionType, partial)):
            raise BadData(f"x is the function {getattr(x, '__name__', type_name(x))}: call it, or pass it alone if it takes no arguments.")
        raise BadData(f"The data is {describe(trees)}, which fit does not accept: pass {TAKES}.")
    return sample_arrays(x, y, weight, framework=framework, batch_size=batch_size, batches=batches)
