"""Targets, the split of a batch over replicas, live and planned strategies, and the scopes of variables."""

from .mesh import is_distribution, live_distribution, of_distribution, plan_mesh, typed, unset_distribution
from .scope import ScopeState, scope_state, strategy_of
from .split import Split, ask, deal, plan
from .strategy import devices_of, is_planned, is_tpu, live_strategy, of_strategy, tpu_strategy
from .targets import SLICES, Slice, slice_named, target

__all__ = [
    "SLICES", "ScopeState", "Slice", "Split", "ask", "deal", "devices_of", "is_distribution", "is_planned", "is_tpu",
    "live_distribution", "live_strategy", "of_distribution", "of_strategy", "plan", "plan_mesh", "scope_state", "slice_named", "strategy_of", "target", "tpu_strategy", "typed", "unset_distribution",
]  # fmt: skip
