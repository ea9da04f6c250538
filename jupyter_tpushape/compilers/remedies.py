"""Fixes for a program that does not fit into memory: each is compiled before it is offered."""

from __future__ import annotations

import contextlib
import inspect
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ..flow import CannotRebuild, Edit, Effect, Finding, Fix, Tried
from ..replicas.targets import slice_named
from ..rules.facts.compilers import OutOfMemory
from ..rules.words import size
from . import process
from .fit import safe_rows, search
from .lowering import lower
from .programs import CannotLower, Lowered
from .tpu import answer_of, tried_of

# Compilations for the batch; the gap between what fits and what does not is a few per cent by then.
MOST = 5


def remedies(seen: Any, program: Lowered, finding: Finding, asked: process.Limits, progress: process.Progress = None) -> list[Tried]:
    """Puts the fixes of an out-of-memory finding into it: a smaller batch, mixed_bfloat16, rematerialisation; and ideas.

    All are compiled at quick effort, which asks for more room than a full one: what fits so fits.

    Returns:
        The batches that were compiled.
    """
    asked = replace(asked, effort="quick")
    end = time.monotonic() + max(60.0, 2 * asked.seconds)
    tell = progress or _say_nothing
    fixes: list[Fix] = []
    rejected: list[str] = []
    batches: list[Tried] = []
    with contextlib.suppress(CannotLower, _NoAnswer):
        batch = _batch(seen, program, finding, asked, tell, end, batches)
        if batch is not None:
            fixes.append(batch)
    for title, snippet, reason, make in _others(seen, program):
        if time.monotonic() > end:
            rejected.append(f"{title} (not compiled: the time limit was reached)")
            continue
        tell(f"out of memory: trying {title}")
        try:
            taken = _compiled(replace(seen, model=make()), seen.program.target, program.program, None, asked)
        except _NoAnswer as error:
            rejected.append(f"{title} ({error})")
        except CannotRebuild as error:
            fixes.append(Fix(title, reason=f"Not tried. {error}", patch=snippet))
        else:
            if taken.fits:
                effect = Effect(text=f"compiles within {size(_available(seen))}: {size(taken.bytes)}")
                fixes.append(Fix(title, verified=True, effect=effect, patch=snippet, reason=reason, proof="live"))
            else:
                rejected.append(f"{title} (still does not fit{f': {size(taken.bytes)}' if taken.bytes else ''})")
    if program.program == "train":
        fixes.append(_accumulation(seen))
    finding.fixes = sorted(fixes, key=lambda fix: not fix.verified)
    finding.rejected = tuple(rejected)
    return batches


def _say_nothing(_: str) -> None:
    return None


class _NoAnswer(Exception):
    """The compiler gave no verdict on it."""


def _compiled(seen: Any, target: Any, program: str, rows: int | None, asked: process.Limits) -> Tried:
    made = lower(seen, rows=rows, only=program)[0]
    if made.error is not None:
        raise _NoAnswer(f"Cannot be lowered: {_reason(made.error)}")
    answer = answer_of(made, target, asked)
    found = tried_of(rows or 0, answer, made, target)
    if found is not None:
        return found
    raise _NoAnswer(str(answer["message"])[:160])


def _reason(error: BaseException) -> str:
    coloured = re.search(r"\x1b\[1m(.+?)\x1b\[0m", str(error), re.DOTALL)
    lines = [line.strip() for line in (coloured.group(1) if coloured else str(error)).splitlines() if line.strip()]
    return lines[0][:160] if lines else type(error).__name__


def _batch(seen: Any, program: Lowered, finding: Finding, asked: process.Limits, tell: Callable[[str], None], end: float, tried: list[Tried]) -> Fix | None:
    """The largest batch that compiled below the one that did not. ``tried`` is filled with all that were compiled."""
    target = seen.program.target
    rows = next((parameter.shape[0] for parameter in program.parameters if parameter.data and parameter.shape), 0)
    if rows < 2:
        return None

    def compiles(count: int) -> Tried:
        if time.monotonic() > end:
            raise _NoAnswer
        tell(f"out of memory: trying {count} rows per core")
        return _compiled(seen, target, program.program, count, asked)

    needs, has = (finding.fact.needs, finding.fact.has) if isinstance(finding.fact, OutOfMemory) else (0.0, 0.0)
    guess = int(rows * min(0.95, 0.95 * has / needs)) if needs and has else rows // 2
    with contextlib.suppress(_NoAnswer):
        search(compiles, max(1, guess // 8 * 8 or guess), rows - 1, MOST, too_many=rows, into=tried)
    best = max((step for step in tried if step.fits), key=lambda step: step.rows, default=None)
    if best is None:
        return None
    batch = best.rows * target.replicas
    over = min([rows, *(step.rows for step in tried if not step.fits)])
    edits = (Edit("batching", "data", {"batch": batch, "drop_remainder": True}),)
    fix = Fix(
        f"Set the batch size to {batch:,}: {best.rows:,} rows on each of {target.replicas} cores",
        edits,
        True,
        Effect(text=f"compiles within {size(_available(seen))}: {size(best.bytes)}; {over:,} rows per core do not{_with_margin(seen, tried)}"),
        reason=f"Found with {len(tried)} compilations at quick effort.",
        proof="live",
    )
    from ..repair.search import put_into_source

    return put_into_source(seen, fix)


def _available(seen: Any) -> int:
    return slice_named(seen.program.target.name).available_bytes


def _with_margin(seen: Any, tried: list[Tried]) -> str:
    rows = safe_rows(tried, _available(seen))
    return f"; {f'{rows:,} leave' if rows else 'none that was tried leaves'} enough memory for a run (an estimate)"


Other = tuple[str, str, str, Callable[[], Any]]


def _others(seen: Any, program: Lowered) -> Iterator[Other]:
    package = seen.adapter.package
    # A model that computes in 16 bits already has nothing to gain.
    if not any("bfloat16" in str(_policy(layer)) for layer in _layers(seen.model)):
        yield (
            "Compute in mixed_bfloat16",
            f'{package}.mixed_precision.set_global_policy("mixed_bfloat16")  # before the model is built\n',
            'Activations need half the memory. Keep the last layer in dtype="float32".',
            lambda: _again(seen, "mixed_bfloat16", contextlib.nullcontext),
        )
    scope = getattr(_module(seen), "RematScope", None)
    if scope is not None and program.program == "train":
        # Keras 3.15 on TensorFlow cannot do it in a compiled step for layers that are told training=...: these are left out.
        names = [layer.name for layer in _layers(seen.model) if _computes(seen.adapter, layer) and not _told_training(layer)]
        build = "model = ...  # build the model in here"
        ways: list[tuple[str, dict[str, Any], str]] = [("every layer", {"mode": "full"}, build)]
        if names:
            words = f"{len(names)} layer{'s' * (len(names) > 1)}"
            ways.append((words, {"mode": "list_of_layers", "layer_names": names}, f"{build}; keep these layer names"))
        for words, options, inside in ways:
            arguments = ", ".join(f"{key}={value!r}" for key, value in options.items())
            yield (
                f"Rematerialize {words}: recompute activations in the backward pass",
                f"with {package}.RematScope({arguments}):\n    {inside}\n",
                "Each step takes longer.",
                lambda options=options: _again(seen, "", lambda: scope(**options)),  # type: ignore[misc]
            )


def _module(seen: Any) -> Any:
    import sys

    return sys.modules[seen.adapter.package]


def _layers(model: Any) -> list[Any]:
    try:
        return list(model._flatten_layers(include_self=False, recursive=True))
    except AttributeError:
        return list(getattr(model, "layers", ()))


def _computes(adapter: Any, layer: Any) -> bool:
    return not adapter.is_model(layer) and type(layer).__name__ != "InputLayer"


def _told_training(layer: Any) -> bool:
    return "training" in inspect.signature(layer.call).parameters


def _policy(layer: Any) -> str:
    policy = getattr(layer, "dtype_policy", None)
    return str(getattr(policy, "name", policy))


def _again(seen: Any, policy: str, scope: Callable[[], Any]) -> Any:
    """A copy of the model whose layers use another dtype policy, or were created in a scope. The original model does not change."""
    from ..trace.build import kept_counters

    adapter, model = seen.adapter, seen.model
    if not adapter.is_model(model) or not (isinstance(model, adapter.Sequential) or adapter.graph_network(model) is not None):
        raise CannotRebuild("tpushape cannot rebuild a subclassed model layer by layer.")

    def clone(layer: Any) -> Any:
        if adapter.is_model(layer):
            return copy(layer)
        config = layer.get_config()
        if policy and _policy(layer) == "float32" and "dtype" in config:
            config["dtype"] = policy
        return type(layer).from_config(config)

    def copy(one: Any) -> Any:
        return _module(seen).models.clone_model(one, clone_function=clone)

    try:
        with kept_counters(seen.counters), scope():
            made = copy(model)
            if adapter.compiled(model):
                made.compile(**adapter.compile_arguments(model))
    except Exception as error:
        words = str(error).strip().splitlines() or [type(error).__name__]
        raise CannotRebuild(f"The model cannot be rebuilt from its configuration ({words[0][:120]}).") from error
    return made


def _accumulation(seen: Any) -> Fix:
    title = "Accumulate gradients: several small batches for each update"
    if seen.adapter.name == "keras":
        patch = "model.compile(optimizer=keras.optimizers.Adam(gradient_accumulation_steps=4), ...)\n"
        return Fix(title, patch=patch, reason="An idea, not compiled: use a quarter of the batch size; every fourth step updates the weights.")
    return Fix(title, reason="An idea, not compiled: sum the gradients of several small batches in a custom train_step.")
