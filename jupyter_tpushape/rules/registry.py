"""The registry of rules: their titles, severities and sources.

A rule is a small function from :class:`Evidence` to findings. A test runs its two examples: ``fails`` must
produce a finding of the rule, ``passes`` must not. An example can use ``keras``, ``L`` (``keras.layers``),
``np`` and ``tf``, and defines ``build()`` and ``data()``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..examine.evidence import Evidence
from ..flow import Finding, Severity
from ..internal import contained

Check = Callable[[Evidence], Iterable[Finding]]


@dataclass(frozen=True)
class Rule:
    """One rule. ``tpu``: the target that its examples need, or ``""``; ``compiler``: the compiler that reports it, or ``""``;
    ``backend``: the only backend that it applies to, or ``""``."""

    id: str
    title: str
    severity: Severity
    source: str
    fails: str
    passes: str
    check: Check | None = None
    tpu: str = ""
    doc: str = ""
    frameworks: tuple[str, ...] = ("keras", "tf_keras")
    compiler: str = ""
    backend: str = ""

    @property
    def page(self) -> str:
        """Its page, relative to the documentation's root."""
        return f"docs/rules/{self.id}.md"


RULES: dict[str, Rule] = {}
CHECKS: list[tuple[int, Check]] = []
FALLBACKS: list[Check] = []
BACKENDS: dict[Check, str] = {}


def rule(
    id: str,
    title: str,
    *,
    severity: Severity,
    source: str,
    fails: str,
    passes: str,
    tpu: str = "",
    frameworks: tuple[str, ...] = ("keras", "tf_keras"),
    doc: str = "",
    compiler: str = "",
    backend: str = "",
) -> Rule:
    """Registers a rule; a check function reports under its id."""
    made = Rule(id, title, severity, source, fails, passes, tpu=tpu, doc=doc, frameworks=frameworks, compiler=compiler, backend=backend)
    if id in RULES:
        raise ValueError(f"There are two rules called {id!r}.")
    RULES[id] = made
    return made


def check(order: int = 50, *, backend: str = "") -> Callable[[Check], Check]:
    """Registers a function that checks the evidence; lower ``order`` runs earlier. ``backend``: the only backend that it applies to."""

    def register(function: Check) -> Check:
        if backend:
            BACKENDS[function] = backend
        CHECKS.append((order, function))
        CHECKS.sort(key=lambda pair: pair[0])
        return function

    return register


def fallback(function: Check) -> Check:
    """Registers a function that runs only if something failed and no check found a cause."""
    FALLBACKS.append(function)
    return function


def run_rules(evidence: Evidence, limits: list[str] | None = None) -> list[Finding]:
    """Runs every registered check on the evidence. A later check does not repeat what an earlier one explains.

    Args:
        limits: where to say that a check failed; without it, its exception is raised.
    """
    from ..flow import SERIOUS

    findings: list[Finding] = []
    # Nodes that a step never gets to, although a trace does.
    beyond: frozenset[str] = evidence.facts.get("refused_before", frozenset())
    lost = len(limits or ())
    for order, function in [*CHECKS, *((-1, function) for function in FALLBACKS)]:
        # A check that failed may have been the one that knew why the program raises.
        explained = SERIOUS if len(limits or ()) == lost else ("error",)
        if order < 0 and any(finding.severity in explained for finding in findings):
            continue
        if evidence.backend and BACKENDS.get(function, evidence.backend) != evidence.backend:
            continue
        found: list[Finding] = []
        with contained(limits, f"what the check {function.__name__} looks for") if limits is not None else contextlib.nullcontext():
            found += function(evidence)
        for finding in found:
            if not finding.docs:
                finding.docs = RULES[finding.rule].page
            if beyond.isdisjoint(finding.nodes) and not any(known.same(finding) for known in findings):
                findings.append(finding)
    problems = getattr(evidence.sample, "problems", ()) or ()
    unread = {problem.path for problem in problems if problem.code == "text" and not problem.dtype} & {path for path, _ in evidence.x}
    # Where the model reads text, its shapes are those of the program.
    unread &= {finding.fact.path for finding in findings if getattr(finding.fact, "code", "") == "text"}  # type: ignore[union-attr]
    if evidence.where in ("call", "loss", "metric") and (unread or any(spec.shape == (0,) for _, spec in (*evidence.x, *evidence.y))):
        # An empty list, or text without numbers: what its samples would be is not known, and what the model makes of it is no fault of the model.
        findings = [finding for finding in findings if not finding.nodes] or findings
    return sorted(findings, key=lambda finding: finding.rank)
