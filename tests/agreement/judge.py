"""What a real step does with a program, and what a report says of it."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import jupyter_tpushape as tpushape

from .program import Case

# What this machine cannot do, and another could: the CPU has no kernel for some layouts and dilations that other devices take.
HARDWARE = ("AbortedError", "ResourceExhaustedError")
KERNELS = ("No OpKernel was registered", "on device type CPU", "on the CPU.", "CPU implementations do not yet support", "on CPU is only supported")


@dataclass
class Verdict:
    """How one program was judged.

    ``agree``, ``ok-but-raises``, ``broken-but-runs``, ``fault`` where the tracer itself raised, ``not-judged`` where the step
    failed for want of hardware.
    """

    group: str
    name: str
    verdict: str
    real: str = ""
    said: str = ""

    def plain(self) -> dict[str, str]:
        """All of it, of a long message both ends: a graph's own cause is at the end."""
        return {**asdict(self), "real": self.real if len(self.real) < 400 else f"{self.real[:200]} ... {self.real[-200:]}"}


def streams(x: Any) -> bool:
    """Whether this gives batches, and no arrays or tensors."""
    return not isinstance(x, (np.ndarray, list, tuple, dict)) and not hasattr(x, "numpy")


def real(lib: Any, case: Case, eager: bool) -> str:
    """What building and one step raise; empty where both run."""
    try:
        model = case.build()
        model.run_eagerly = eager
        if streams(case.x):
            model.fit(case.x, epochs=1, verbose=0)
        elif case.y is not None:
            model.fit(case.x, case.y, batch_size=4, epochs=1, verbose=0)
        else:
            model.predict(case.x, batch_size=4, verbose=0)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        with contextlib.suppress(Exception):
            lib.backend.clear_session()
    return ""


def judge(lib: Any, case: Case) -> Verdict:
    """Runs the program and traces it, as a builder and as a built model.

    An eager step is quicker; where the report says otherwise, the step that ``fit`` runs has the last word. JAX compiles each
    operation that runs eagerly, which takes longer than to compile the step.
    """
    found = _judge(lib, case, lib.backend.backend() != "jax")
    return found if found.verdict == "agree" else _judge(lib, case, False)


def _judge(lib: Any, case: Case, eager: bool) -> Verdict:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        raised = real(lib, case, eager)
        for form in ("builder", "model"):
            try:
                model = case.build if form == "builder" else case.build()
            except Exception:
                continue
            try:
                stream = streams(case.x)
                data = case.x if stream else (case.x, case.y)
                report = tpushape.trace(model, data, tpu=None, batch_size=None if stream else 4, training=stream or case.y is not None, fixes=False)
            except Exception as error:
                return Verdict(case.group, case.name, "fault", raised, f"{form}: {type(error).__name__}: {str(error)[:300]}")
            errors = [finding for finding in report.findings if finding.severity == "error"]
            said = f"{form}: " + "; ".join(f"{finding.rule}: {finding.message}" for finding in errors)[:300]
            if raised.startswith(HARDWARE) or any(text in raised for text in KERNELS):
                return Verdict(case.group, case.name, "not-judged", raised, said)
            # What is silent in one batch may raise in the next: a report that is not ok is right about both.
            if report.ok if raised else bool(errors):
                return Verdict(case.group, case.name, "ok-but-raises" if raised else "broken-but-runs", raised, said)
    return Verdict(case.group, case.name, "agree", raised)
