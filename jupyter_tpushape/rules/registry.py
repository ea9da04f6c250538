"""The rules' register: what each is called, how serious it is, where its knowledge comes from.

A rule is a small function from :class:`Evidence` to findings. Its two examples are source text that a
test runs: ``fails`` must give a finding of the rule, ``passes`` must not. In an example ``keras``, ``L``
(``keras.layers``), ``np`` and ``tf`` are there, and ``build()`` and ``data()`` are to be defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..examine.evidence import Evidence
from ..flow import Finding, Severity

Check = Callable[[Evidence], Iterable[Finding]]


@dataclass(frozen=True)
class Rule:
    """One entry of the catalogue. ``tpu``: the target that its examples need, or ``""``; ``compiler``: the one that says it, or ``""``;
    ``backend``: the only one that it speaks of, or ``""``."""

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
    """Registers what a rule is; a check function reports under its id."""
    made = Rule(id, title, severity, source, fails, passes, tpu=tpu, doc=doc, frameworks=frameworks, compiler=compiler, backend=backend)
    if id in RULES:
        raise ValueError(f"There are two rules called {id!r}.")
    RULES[id] = made
    return made


def check(order: int = 50, *, backend: str = "") -> Callable[[Check], Check]:
    """Registers a function that looks at the evidence; lower ``order`` runs earlier. ``backend``: the only one that its facts are of."""

    def register(function: Check) -> Check:
        if backend:
            BACKENDS[function] = backend
        CHECKS.append((order, function))
        CHECKS.sort(key=lambda pair: pair[0])
        return function

    return register


def fallback(function: Check) -> Check:
    """Registers a function that speaks only where something broke and no check has found a thing."""
    FALLBACKS.append(function)
    return function


def run_rules(evidence: Evidence) -> list[Finding]:
    """Every registered check on the evidence. What one check explains, a later one does not repeat."""
    from ..flow import SEVERITIES

    findings: list[Finding] = []
    for order, function in [*CHECKS, *((-1, function) for function in FALLBACKS)]:
        if order < 0 and any(finding.serious for finding in findings):
            continue
        if evidence.backend and BACKENDS.get(function, evidence.backend) != evidence.backend:
            continue
        for finding in function(evidence):
            if not finding.docs:
                finding.docs = RULES[finding.rule].page
            if not any(known.same(finding) for known in findings):
                findings.append(finding)
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
