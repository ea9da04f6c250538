"""How a pipeline is batched, and how its files are shared out."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...flow import CannotRebuild
from ..text.program import Text
from ..text.source import NoPlace
from ..text.variables import handed
from .base import Edit, kind
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
    """TensorFlow, whose pipelines Keras takes on every backend: where only another one runs, nothing has imported it yet."""
    try:
        return importlib.import_module("tensorflow")
    except ImportError:
        raise CannotRebuild("TensorFlow, which a tf.data pipeline needs, is not installed here.") from None


@kind
@dataclass(frozen=True)
class AddBatch(_Batching):
    """A batch for a pipeline that has none."""

    op = "add-batch"

    batch: int = 0
    drop_remainder: bool = False

    @property
    def _stage(self) -> str:
        return f".batch({self.batch}{', drop_remainder=True' if self.drop_remainder else ''})"

    def write(self, text: Text) -> None:
        handed(text).behind(self._stage)

    def shown(self, dataset: bool) -> Iterator[str]:
        yield "# at the end of the pipeline:"
        yield f"+ds = ds{self._stage}"

    def data(self, run: Run, data: Any) -> Any:
        return data.batch(self.batch, drop_remainder=self.drop_remainder)


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
