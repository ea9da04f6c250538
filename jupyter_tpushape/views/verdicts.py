"""A compiler's result as lines of text."""

from __future__ import annotations

from ..flow import Verdict
from ..rules.words import called, size

WIDE = 24


def lines(verdict: Verdict) -> list[str]:
    """The lines below a verdict: the core's memory as a bar, its parts, the largest layers, the number of operations, and other batch sizes that
    were compiled. Empty if nothing is known.
    """
    if verdict.compiler != "tpu" or not verdict.ok or not verdict.hbm_bytes:
        return _batches(verdict)
    taken = sum(layer.bytes for layer in verdict.layers) + verdict.unmapped
    share = taken / verdict.hbm_bytes
    full = min(WIDE, max(1, round(share * WIDE)))
    found = [f"[{'█' * full}{'·' * (WIDE - full)}] {share:.1%} of {size(verdict.hbm_bytes)}"]
    parts = [("arguments", verdict.arguments), ("outputs", verdict.outputs), ("temporaries", verdict.temporaries), ("code", verdict.code)]
    found.append(" · ".join(f"{name} {size(number)}" for name, number in parts if number))
    most = []
    for layer in verdict.layers[:4]:
        lost = (layer.bytes - layer.logical) / layer.bytes if layer.bytes else 0
        most.append(f"{layer.name} {size(layer.bytes)}" + (f" ({lost:.0%} padding)" if lost >= 0.05 else ""))
    if most:
        found.append(f"largest: {', '.join(most)}; not in a layer: {size(verdict.unmapped)}")
    if verdict.intensity:
        found.append(f"{_count(verdict.flops)} operations per step, {verdict.intensity:.3g} per byte read or written (an estimate)")
    return found + _batches(verdict)


def title(verdict: Verdict) -> str:
    """The compiler and the program, in a few words."""
    who = "The TPU compiler" if verdict.compiler == "tpu" else "XLA"
    return f"{who}, {called(verdict.program)}{f' for {verdict.target}' if verdict.target else ''}"


def _batches(verdict: Verdict) -> list[str]:
    if len(verdict.tried) < 2:
        return []
    # Where one batch was compiled at both efforts, or more than can be read, the ends are what counts.
    fitting = [f"{one.rows:,} ({size(one.bytes)})" for one in verdict.tried if one.fits][-8:]
    refused = [f"{one.rows:,}" for one in verdict.tried if not one.fits][:4]
    words = [f"{', '.join(fitting)} compile" if fitting else "", f"{', '.join(refused)} do not" if refused else ""]
    safe = [one.rows for one in verdict.tried if one.fits and 0 < one.run <= verdict.hbm_bytes]
    if safe:
        words.append(f"up to {safe[-1]:,} leave enough memory for a run (an estimate)")
    return [f"rows on one core: {'; '.join(filter(None, words))}"]


def _count(number: float) -> str:
    for word, step in (("trillion", 1e12), ("billion", 1e9), ("million", 1e6)):
        if number >= step:
            return f"{number / step:.3g} {word}"
    return f"{int(number):,}"
