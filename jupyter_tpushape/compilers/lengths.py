"""The largest batch at each length of a sequence, with or without LoRA, by compiling."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .fit import MOST_ROWS, Fit, fit_batch
from .process import Progress

# Compilations for one length: doubling finds the order, and what remains is closed in on.
COMPILATIONS = 8


@dataclass(frozen=True)
class Lengths:
    """The largest batch at each length that was tried.

    Attributes:
        target: the slice's name.
        lora: the rank of the LoRA factors; 0 if the model was trained as built.
        tried: ``(length, result)`` in ascending order of length. At the last one perhaps no row compiles; longer ones were not tried.
    """

    target: str
    lora: int
    tried: tuple[tuple[int, Fit], ...]

    @property
    def longest(self) -> int:
        """The largest length at which at least one row per core compiles."""
        return max((length for length, fit in self.tried if fit.rows), default=0)

    def batch(self, length: int) -> int:
        """The largest global batch at a length, in rows."""
        return dict(self.tried)[length].batch if length in dict(self.tried) else 0

    def __str__(self) -> str:
        return "\n".join(f"length {length}: {fit}" for length, fit in self.tried)


def fit_length(
    build: Callable[[int], Any],
    data: Callable[[int], Any],
    lengths: Iterable[int],
    tpu: str = "v5e-8",
    *,
    lora: int = 0,
    strategy: Any = None,
    most: int = MOST_ROWS,
    compilations: int = COMPILATIONS,
    compile_timeout: float | None = None,
    compile_effort: str | None = None,
    progress: Progress = None,
) -> Lengths:
    """Finds the largest batch at each length of a sequence that the TPU compiler accepts, up to the first length at which no row compiles.

    Every result was compiled; see ``fit_batch``.

    Args:
        build: returns the compiled model for a length.
        data: returns the data for a length, as for ``trace``; its batch size is where the search starts.
        lengths: the lengths to try, in samples of one sequence.
        tpu: a TPU slice such as ``"v5e-8"``.
        lora: if not 0, all weights are frozen, and LoRA factors of this rank are added to each layer that offers ``enable_lora`` (Keras 3).
            A model whose builder enables LoRA itself needs no value here.
        strategy: a ``keras.distribution`` over the slice's devices (Keras on JAX); by default data parallel.
        most: the maximum number of rows per core.
        compilations: the maximum number of compilations for each length.
        compile_timeout: time limit for one compilation, in seconds; the default is 120.
        compile_effort: ``"quick"`` (the default) or ``"full"``.
        progress: called with one line of text for each compilation.

    Returns:
        The results; ``.longest`` is the largest length at which a row compiles, ``.batch(length)`` the largest global batch at a length.

    Raises:
        ValueError: if there is no length, if no layer offers LoRA, and as ``fit_batch`` does.
        BadProgram: if a model or its data cannot be traced.

    Example::

        print(tpushape.fit_length(build, data, (512, 1024, 2048), tpu="v5e-8", lora=8))
    """
    wanted = sorted(set(lengths))
    if not wanted or wanted[0] < 1:
        raise ValueError("Pass at least one length, each of them 1 or more, such as (512, 1024, 2048).")
    tried: list[tuple[int, Fit]] = []
    for length in wanted:
        found = fit_batch(
            lambda length=length: _lora(build(length), lora), lambda length=length: data(length), tpu, strategy=strategy, most=most,
            compilations=compilations, compile_timeout=compile_timeout, compile_effort=compile_effort,
            progress=None if progress is None else _of_length(progress, length),
        )  # fmt: skip
        tried.append((length, found))
        if not found.rows:
            break
    return Lengths(tried[0][1].target, lora, tuple(tried))


def _of_length(progress: Callable[[str], None], length: int) -> Callable[[str], None]:
    return lambda text: progress(f"length {length}: {text}")


def _lora(model: Any, rank: int) -> Any:
    if not rank:
        return model
    layers = list(model._flatten_layers(include_self=False, recursive=True))
    offering = [layer for layer in layers if hasattr(layer, "enable_lora") and layer.built]
    if not offering:
        raise ValueError("No layer of this model offers enable_lora. Dense, EinsumDense and Embedding layers of Keras 3 do, once they are built.")
    for layer in offering:
        if not layer.lora_enabled:
            layer.enable_lora(rank)
    for variable in model.variables:
        if variable.trainable and "lora" not in variable.name:
            variable.trainable = False
    return model
