"""Flow -> findings. One file per family of rules; a rule sees flows, never a framework."""

from ..examine.evidence import Evidence
from . import (
    calls,
    compilers,
    contracted,
    data,
    entry,
    fixed_rows,
    in_order,
    jitted,
    keys,
    layers,
    layouts,
    loss,
    loss_tracker,
    mesh,
    mixing,
    opened,
    saved_models,
    silent,
    softmaxes,
    tpu_batch,
    tpu_ops,
    tpu_pipeline,
    tpu_scope,
    tpu_setup,
    tpu_steps,
    tpu_types,
    unlabeled,
    updates,
)
from .registry import RULES, Rule, rule, run_rules


def rules() -> list[Rule]:
    """All rules, by id."""
    return [RULES[name] for name in sorted(RULES)]


__all__ = [
    "RULES",
    "Evidence",
    "Rule",
    "calls",
    "compilers",
    "contracted",
    "data",
    "entry",
    "fixed_rows",
    "in_order",
    "jitted",
    "keys",
    "layers",
    "layouts",
    "loss",
    "loss_tracker",
    "mesh",
    "mixing",
    "opened",
    "rule",
    "rules",
    "run_rules",
    "saved_models",
    "silent",
    "softmaxes",
    "tpu_batch",
    "tpu_ops",
    "tpu_pipeline",
    "tpu_scope",
    "tpu_setup",
    "tpu_steps",
    "tpu_types",
    "unlabeled",
    "updates",
]
