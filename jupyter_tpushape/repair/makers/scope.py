"""Candidates for whose scope things are made in, and for how the model is compiled."""

from __future__ import annotations

from ...examine.evidence import Evidence
from ...flow import Finding
from ...rules.facts.tpu_scope import OptimizerStale
from ..edits import CompileArgument, CompiledAgain, FreshOptimizer, InScope, SetFirst
from .edits import Made, of


def in_scope(evidence: Evidence, finding: Finding) -> Made:
    """Model, optimizer and metrics made in the strategy's scope."""
    yield (
        "Build and compile inside strategy.scope()",
        [InScope("model")],
        "Variables are replicated only if they are created inside the scope.",
    )


def set_first(evidence: Evidence, finding: Finding) -> Made:
    """The distribution set before anything is built, or all of it built in its scope."""
    if getattr(finding.fact, "scoped", False):
        yield (
            "Build the model in the scope of the distribution",
            [InScope("model")],
            "Keras places a variable when it is created.",
        )
        return
    yield (
        "Set the distribution before the model is built",
        [SetFirst("model")],
        "Keras places a variable when it is created.",
    )


def fresh_optimizer(evidence: Evidence, finding: Finding) -> Made:
    """An optimizer of the model's own."""
    yield (
        "Give the model a separate optimizer",
        [FreshOptimizer("compile")],
        "An optimizer stores state for the variables that it was built for.",
    )


@of(OptimizerStale)
def compiled_again(evidence: Evidence, finding: Finding, fact: OptimizerStale) -> Made:
    """A new optimizer for the variables that are trainable now."""
    yield (
        "Compile again after the layers are frozen or unfrozen",
        [CompiledAgain("compile")],
        "The optimizer starts from new state for the variables that are trainable then.",
    )


def not_eagerly(evidence: Evidence, finding: Finding) -> Made:
    """Compiled steps."""
    yield (
        "Compile without run_eagerly",
        [CompileArgument("compile", "run_eagerly", False)],
        "TPUs run compiled programs only.",
    )


def jit_auto(evidence: Evidence, finding: Finding) -> Made:
    """Keras decides about XLA."""
    yield (
        'Set jit_compile="auto"',
        [CompileArgument("compile", "jit_compile", "auto")],
        "TPUs compile the step anyway.",
    )
