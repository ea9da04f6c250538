"""How a pipeline is batched, also in the parts of a zip, and how its files are shared out."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...flow import CannotRebuild
from ...flow.syntax import called
from ..text.arguments import Change
from ..text.program import Text
from ..text.source import NoPlace, Source, is_atom, nodes
from ..text.variables import handed
from .base import Edit, kind
from .data_code import DataCode
from .run import Run


@dataclass(frozen=True)
class _Batching(Edit):
    kind = "batching"
    data_only = True


@kind
@dataclass(frozen=True)
class Rebatch(_Batching):
    """Batches of ``batch`` rows; ``repeat``: the rows so many times, where there are fewer."""

    batch: int = 0
    drop_remainder: bool = False
    repeat: int = 0

    def write(self, text: Text) -> None:
        if not handed(text).dataset:
            _tensorflow()
        handed(text).rebatch(self.batch, self.drop_remainder, self.repeat)

    def shown(self, dataset: bool) -> Iterator[str]:
        again = f".repeat({self.repeat})" if self.repeat else ""
        if not dataset:
            yield "# before fit():"
            yield f"+ds = tf.data.Dataset.from_tensor_slices((x, y)){again}.batch({self.batch}, drop_remainder={self.drop_remainder})"
            return
        yield "# at the end of the pipeline:"
        yield f"+ds = ds{again}.unbatch().batch({self.batch}, drop_remainder={self.drop_remainder})"

    def data(self, run: Run, data: Any) -> Any:
        tf = _tensorflow()
        if not hasattr(data, "element_spec"):
            parts = data if isinstance(data, tuple) else (data,)
            if any(hasattr(item, "shape") and not hasattr(item, "__array__") for item in parts):
                raise CannotRebuild("The data is given as specs only: call batch(N, drop_remainder=True) in your own pipeline.")
            # A list of arrays would be stacked.
            several = [tuple(part) if isinstance(part, list) and any(hasattr(item, "shape") for item in part) else part for part in parts]
            data = tf.data.Dataset.from_tensor_slices(tuple(part for part in several if part is not None))
            data = data.repeat(self.repeat) if self.repeat else data
            return data.batch(self.batch, drop_remainder=self.drop_remainder)
        data = data.repeat(self.repeat) if self.repeat else data
        return data.unbatch().batch(self.batch, drop_remainder=self.drop_remainder)


def _tensorflow() -> Any:
    try:
        return importlib.import_module("tensorflow")
    except ImportError:
        raise CannotRebuild("TensorFlow, which a tf.data pipeline needs, is not installed here.") from None


@kind
@dataclass(frozen=True)
class AddBatch(_Batching):
    """A batch for a pipeline that has none; ``padded``: of rows of several lengths."""

    op = "add-batch"

    batch: int = 0
    drop_remainder: bool = False
    padded: bool = False

    @property
    def stage(self) -> str:
        """As it is written."""
        return f".{'padded_' * self.padded}batch({self.batch}{', drop_remainder=True' if self.drop_remainder else ''})"

    def write(self, text: Text) -> None:
        handed(text).behind(self.stage)

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# at the end of the pipeline:"
        yield f"+ds = ds{self.stage}"

    def data(self, run: Run, data: Any) -> Any:
        return (data.padded_batch if self.padded else data.batch)(self.batch, drop_remainder=self.drop_remainder)


@kind
@dataclass(frozen=True)
class BatchOnce(_Batching):
    """One batch where there are two."""

    op = "unbatch"

    def write(self, text: Text) -> None:
        handed(text).batch_once()

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# at the end of the pipeline, or remove the second batch():"
        yield "+ds = ds.unbatch()"

    def data(self, run: Run, data: Any) -> Any:
        return data.unbatch()


@kind
@dataclass(frozen=True)
class ShardedOnce(_Batching):
    """A pipeline without its ``shard``."""

    op = "sharded-once"

    def write(self, text: Text) -> None:
        handed(text).unsharded()

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# in the pipeline:"
        yield "-ds = ds.shard(...)"

    def data(self, run: Run, data: Any) -> Any:
        raise CannotRebuild("tpushape cannot take a stage out of an existing pipeline: remove shard() where it is created.")


@kind
@dataclass(frozen=True)
class ShareRows(_Batching):
    """How files or rows are shared out over hosts: an auto-shard policy."""

    op = "options"

    policy: str = ""

    def write(self, text: Text) -> None:
        raise NoPlace

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# after the pipeline:"
        yield "+options = tf.data.Options()"
        yield f"+options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.{self.policy}"
        yield "+ds = ds.with_options(options)"

    def data(self, run: Run, data: Any) -> Any:
        tf = sys.modules["tensorflow"]
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[self.policy]
        return data.with_options(options)


@kind
@dataclass(frozen=True)
class BatchedParts(DataCode):
    """``.batch(batch)`` behind some ``parts`` of the one ``zip`` in the code of the data."""

    kind = "batching"
    op = "batched-parts"

    parts: list[int] = field(default_factory=list, metadata={"needed": True})
    batch: int = 0
    drop_remainder: bool = False

    @property
    def _stage(self) -> str:
        return f".batch({self.batch}{', drop_remainder=True' if self.drop_remainder else ''})"

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        for place in (scope, source.tree):
            calls = _stages(place, "zip")
            if len(calls) != 1:
                continue
            first = calls[0].args[0]
            given = list(first.elts) if isinstance(first, (ast.Tuple, ast.List)) else list(calls[0].args)
            if max(self.parts) >= len(given) or any(isinstance(item, ast.Starred) for item in given):
                raise NoPlace
            return [
                source.change(item, f"{source.of(item) if is_atom(item) else f'({source.of(item)})'}{self._stage}")
                for item in (given[part] for part in self.parts)
            ]
        return []

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# for the parts of the zipped dataset that are not batched:"
        yield f"+ds = ds{self._stage}"


def _stages(place: ast.AST, name: str) -> list[ast.Call]:
    return [call for call in nodes(place, ast.Call) if called(call) == name and isinstance(call.func, ast.Attribute) and call.args]


@kind
@dataclass(frozen=True)
class ShuffledPairs(DataCode):
    """The one ``shuffle`` of a part, or that of each of two, behind the one ``zip`` in the code of the data."""

    op = "shuffled-pairs"

    def changes(self, source: Source, scope: ast.AST) -> list[Change]:
        for place in (scope, *nodes(source.tree, ast.FunctionDef)):
            pairs, orders = _stages(place, "zip"), _stages(place, "shuffle")
            before = [source.of(one.func.value) for one in orders if isinstance(one.func, ast.Attribute)]
            if len(pairs) == 1 and 1 <= len(orders) == len(before) <= 2 and not any(pairs[0] in nodes(one, ast.Call) for one in orders):
                text, changes = source.of(pairs[0]), []
                for one, given in zip(orders, before, strict=True):
                    if one in nodes(pairs[0], ast.Call):
                        text = text.replace(source.of(one), given, 1)
                    else:
                        changes.append(source.change(one, given))
                return [*changes, source.change(pairs[0], text + source.of(orders[0]).removeprefix(before[0]))]
        return []

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# after zip(), instead of on its parts:"
        yield "+ds = ds.shuffle(...)"
