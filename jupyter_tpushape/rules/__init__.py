"""Flow -> findings. One file per family of rules; a rule sees flows, never a framework."""

from ..examine.evidence import Evidence
from . import (  # noqa: F401 - each registers its rules
    calls,
    compilers,
    contracted,
    data,
    emptied,
    entry,
    exchanged,
    fixed_rows,
    half_built,
    ids,
    in_order,
    jitted,
    layers,
    layouts,
    lone,
    loss,
    loss_code,
    loss_tracker,
    merged_rows,
    mesh,
    mixing,
    own_code,
    places_counted,
    restored,
    reversed_steps,
    saved_models,
    silent,
    softmaxes,
    spelled,
    tpu_batch,
    tpu_ops,
    tpu_pipeline,
    tpu_scope,
    tpu_setup,
    tpu_steps,
    tpu_types,
    traps,
    unlabeled,
    untrained,
    zipped,
)
from .registry import RULES, Rule, rule, run_rules


def rules() -> list[Rule]:
    """All rules, by id."""
    return [RULES[name] for name in sorted(RULES)]


__all__ = ["RULES", "Evidence", "Rule", "rule", "rules", "run_rules"]
