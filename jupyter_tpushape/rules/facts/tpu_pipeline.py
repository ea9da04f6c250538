"""What is found of the input pipeline: the order of its stages, and what runs where."""

from __future__ import annotations

from ...flow import Fact, Side, Sides


class RandomCached(Fact, frozen=True):
    """A random stage in front of a cache. ``random`` and ``cache`` name the stages."""

    random: str
    cache: str

    def message(self) -> str:
        return f"{self.random} draws random numbers in front of {self.cache}(): every epoch gets the first one's values."

    def why(self) -> str:
        return f"What is cached is the augmented data. Put {self.cache}() before the random stage."

    def sides(self) -> Sides:
        return Side(f"{self.cache}, then {self.random}"), Side(f"{self.random}, then {self.cache}")


class ShuffleCached(Fact, frozen=True):
    """A shuffle in front of a cache."""

    def message(self) -> str:
        return "shuffle() stands in front of cache(): all epochs come in the first one's order."

    def why(self) -> str:
        return "Put cache() first and shuffle() after it."

    def sides(self) -> Sides:
        return Side("cache, then shuffle"), Side("shuffle, then cache")


class BatchesShuffled(Fact, frozen=True):
    """A shuffle behind a batch."""

    def message(self) -> str:
        return "shuffle() stands behind batch(): it shuffles whole batches, and their rows stay together."

    def why(self) -> str:
        return "Put shuffle() before batch()."

    def sides(self) -> Sides:
        return Side("shuffle, then batch"), Side("batch, then shuffle")


class NoPrefetch(Fact, frozen=True):
    """The pipeline ends with another stage. ``early``: there is a prefetch before it."""

    last: str
    operation: str
    early: bool

    def message(self) -> str:
        early = ": what comes after the prefetch is not prepared ahead" if self.early else ""
        return f"The pipeline ends with {self.last} and not with prefetch(){early}."

    def why(self) -> str:
        return "The TPU waits while the host makes each batch. End the pipeline with prefetch(tf.data.AUTOTUNE)."

    def sides(self) -> Sides:
        return Side("prefetch last"), Side(f"{self.operation} last")


class PythonStage(Fact, frozen=True):
    """A stage that runs Python code."""

    stage: str

    def message(self) -> str:
        return f"{self.stage} runs Python code for every element, on one thread of the host."

    def why(self) -> str:
        return (
            "Eight replicas wait for one Python thread. Use TensorFlow operations or TFRecord files; with a TPU node instead of a TPU "
            "VM Python in the pipeline does not run at all."
        )

    def sides(self) -> Sides:
        return Side("TensorFlow operations"), Side("Python")


class SerialMap(Fact, frozen=True):
    """A map on one thread."""

    stage: str

    def message(self) -> str:
        return f"{self.stage} takes one element after the other."

    def why(self) -> str:
        return "Type num_parallel_calls=tf.data.AUTOTUNE."

    def sides(self) -> Sides:
        return Side("num_parallel_calls=tf.data.AUTOTUNE"), Side("one thread")


class NoFiles(Fact, frozen=True):
    """A pipeline that is to be sharded by file, and reads ``files`` for ``hosts``."""

    hosts: int
    files: int

    def message(self) -> str:
        if not self.files:
            return f"The pipeline is to be sharded by file over {self.hosts} hosts, and it reads no files."
        return f"{self.files} {'file is' if self.files == 1 else 'files are'} not enough for {self.hosts} hosts, which shard by file."

    def why(self) -> str:
        if not self.files:
            return "It raises `Found an unshardable source dataset`. Use AutoShardPolicy.DATA."
        return "It raises `Could not apply FILE based sharding`. Write more files, or use AutoShardPolicy.DATA."

    def sides(self) -> Sides:
        if not self.files:
            return Side("AutoShardPolicy.DATA"), Side("AutoShardPolicy.FILE")
        return Side(f"at least {self.hosts} files"), Side(str(self.files))


class HostsReadAll(Fact, frozen=True):
    """Each host makes the whole dataset."""

    hosts: int

    def message(self) -> str:
        return f"Each of {self.hosts} hosts makes the whole dataset and keeps its share of it."

    def why(self) -> str:
        return (
            "Without files there is nothing to divide beforehand. Read from at least as many files as hosts. From TensorFlow's "
            "documentation; not verified here."
        )

    def sides(self) -> Sides:
        return Side("sharding by file"), Side("sharding by data")
