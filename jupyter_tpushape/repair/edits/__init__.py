"""Edits, one class each: what it does to a program, what it writes, how it is said."""

from . import code, data_code
from .base import Edit, NotThere, edit_of
from .batching import AddBatch, BatchedParts, BatchOnce, Rebatch, ShardedOnce, ShareRows, ShuffledPairs
from .code import BatchNumber
from .compile_argument import CompileArgument, CompiledAgain, FreshOptimizer, Keyed, Listed, MetricArgument, MoreLosses, OneTrained, RenamedKeys, Reordered
from .expression import Expression, OneParameter, Removed, Statement, Undecorated
from .host_layer import HostLayer
from .in_scope import InScope, SetFirst
from .input_shape import InputBatch, InputShape
from .insert_layer import InsertLayer
from .keras_ops import KerasOps, Seeded
from .layer_config import LayerConfig
from .loss import Loss
from .made_once import HeldLayer, MadeOnce
from .regroup import Regroup, YieldArrays
from .replace_layer import ExchangeLayers, RemoveLayer, ReplaceLayer, UnwrapLayer, WrapLayer
from .run import Run
from .state_variables import SeedState, StateVariables
from .transform import ExchangeInputs, Transform

__all__ = [
    "AddBatch",
    "BatchNumber",
    "BatchOnce",
    "BatchedParts",
    "CompileArgument",
    "CompiledAgain",
    "Edit",
    "ExchangeInputs",
    "ExchangeLayers",
    "Expression",
    "FreshOptimizer",
    "HeldLayer",
    "HostLayer",
    "InScope",
    "InputBatch",
    "InputShape",
    "InsertLayer",
    "KerasOps",
    "Keyed",
    "LayerConfig",
    "Listed",
    "Loss",
    "MadeOnce",
    "MetricArgument",
    "MoreLosses",
    "NotThere",
    "OneParameter",
    "OneTrained",
    "Rebatch",
    "Regroup",
    "RemoveLayer",
    "Removed",
    "RenamedKeys",
    "Reordered",
    "ReplaceLayer",
    "Run",
    "SeedState",
    "Seeded",
    "SetFirst",
    "ShardedOnce",
    "ShareRows",
    "ShuffledPairs",
    "StateVariables",
    "Statement",
    "Transform",
    "Undecorated",
    "UnwrapLayer",
    "WrapLayer",
    "YieldArrays",
    "code",
    "data_code",
    "edit_of",
]
