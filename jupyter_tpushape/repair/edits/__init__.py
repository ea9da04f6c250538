"""Edits, one class each: what it does to a program, what it writes, how it is said."""

from . import code_calls, code_numbers, data_code
from .base import Edit, NotThere, edit_of
from .batch_number import BatchNumber
from .batching import AddBatch, BatchOnce, Rebatch, ShardedOnce, ShareRows
from .compile_argument import CompileArgument, CompiledAgain, FreshOptimizer, Keyed, Listed, MoreLosses, OneTrained, RenamedKeys, Reordered
from .exchange_layers import ExchangeLayers
from .expression import Expression
from .held_layer import HeldLayer
from .host_layer import HostLayer
from .in_scope import InScope, SetFirst
from .input_batch import InputBatch
from .input_shape import InputShape
from .insert_layer import InsertLayer
from .keras_ops import KerasOps, Seeded
from .layer_config import LayerConfig
from .loss import Loss
from .made_once import MadeOnce
from .metric_argument import MetricArgument
from .regroup import Regroup
from .remove_layer import RemoveLayer
from .replace_layer import ReplaceLayer
from .run import Run
from .state_variables import SeedState, StateVariables
from .statements import OneParameter, Removed, Statement, Undecorated
from .transform import ExchangeInputs, Transform
from .wrap_layer import UnwrapLayer, WrapLayer
from .yielded_arrays import YieldArrays
from .zipped import BatchedParts, ShuffledPairs

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
    "code_calls",
    "code_numbers",
    "data_code",
    "edit_of",
]
