"""Examines a program: model and data in, flow and evidence out."""

from ..trace.raised import error_line
from .look import assemble_recorded, examine, on_own_mesh
from .program import HANDED, BadProgram, Examined, Program, shape_of
from .sampling import is_builder
from .steps import strategy_of_step

__all__ = [
    "HANDED", "BadProgram", "Examined", "Program", "assemble_recorded", "error_line", "examine", "is_builder", "on_own_mesh", "shape_of", "strategy_of_step",
]  # fmt: skip
