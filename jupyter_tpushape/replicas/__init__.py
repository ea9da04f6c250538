"""Targets, the split of a batch over replicas, live and planned strategies, and the scopes of variables."""

from .mesh import is_distribution, live_distribution, of_distribution, plan_mesh, typed, unset_distribution
from .scope import scope_state, strategy_of
from .split import deal, plan
from .strategy import is_planned, live_strategy, of_strategy, tpu_strategy
from .targets import SLICES, target

__all__ = [
    "SLICES", "deal", "is_distribution", "is_planned",
    "live_distribution", "live_strategy", "of_distribution", "of_strategy", "plan", "plan_mesh", "scope_state", "strategy_of", "target", "tpu_strategy", "typed", "unset_distribution",
]  # fmt: skip
