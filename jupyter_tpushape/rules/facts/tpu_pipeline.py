"""Facts about the input pipeline: the order of its stages, and where they run."""

from __future__ import annotations

from ...flow import Fact, Side, Sides


class RandomCached(Fact, frozen=True):
    """A random stage before a cache. ``random`` and ``cache`` name the stages."""

    random: str
    cache: str

    def message(self) -> str:
        return f"{self.random} draws random numbers before {self.cache}(): every epoch repeats the values of the first."

    def why(self) -> str:
        return f"{self.cache}() stores the augmented data. Put it before the random stage."

    def sides(self) -> Sides:
        return Side(f"{self.cache}, then {self.random}"), Side(f"{self.random}, then {self.cache}")


class ShuffleCached(Fact, frozen=True):
    """A shuffle before a cache."""

    def message(self) -> str:
        return "shuffle() is before cache(): every epoch repeats the order of the first."

    def why(self) -> str:
        return "Put cache() first and shuffle() after it."

    def sides(self) -> Sides:
        return Side("cache, then shuffle"), Side("shuffle, then cache")


class BatchesShuffled(Fact, frozen=True):
    """A shuffle after a batch."""

    def message(self) -> str:
        return "shuffle() is after batch(): it shuffles whole batches, and their samples stay together."

    def why(self) -> str:
        return "Put shuffle() before batch()."

    def sides(self) -> Sides:
        return Side("shuffle, then batch"), Side("batch, then shuffle")


class NoPrefetch(Fact, frozen=True):
    """The pipeline does not end with prefetch. ``early``: there is a prefetch earlier."""

    last: str
    operation: str
    early: bool

    def message(self) -> str:
        early = "; stages after the earlier prefetch() are not prefetched" if self.early else ""
        return f"The pipeline ends with {self.last} instead of prefetch(){early}."

    def why(self) -> str:
        return "The TPU waits while the host prepares each batch. End the pipeline with prefetch(tf.data.AUTOTUNE)."

    def sides(self) -> Sides:
        return Side("prefetch last"), Side(f"{self.operation} last")


class PythonStage(Fact, frozen=True):
    """A stage that runs Python code. ``jax``: the model runs on JAX, which takes its batches from Python anyway."""

    stage: str
    jax: bool = False

    def message(self) -> str:
        return f"{self.stage} runs Python code for every {'batch' if self.jax else 'element'}, on one thread of the host."

    def why(self) -> str:
        if self.jax:
            return "The TPU waits while that thread prepares a batch. A keras.utils.PyDataset with workers=4 and use_multiprocessing=True prepares several."
        return (
            "All replicas wait for one Python thread. Use TensorFlow operations or TFRecord files. On a TPU node (not a TPU VM), "
            "Python code in the pipeline does not run at all."
        )

    def sides(self) -> Sides:
        return Side("several workers" if self.jax else "TensorFlow operations"), Side("Python on one thread" if self.jax else "Python")


class SerialMap(Fact, frozen=True):
    """A map without parallel calls."""

    stage: str

    def message(self) -> str:
        return f"{self.stage} processes one element at a time."

    def why(self) -> str:
        return "Set num_parallel_calls=tf.data.AUTOTUNE."

    def sides(self) -> Sides:
        return Side("num_parallel_calls=tf.data.AUTOTUNE"), Side("one thread")


class NoFiles(Fact, frozen=True):
    """A pipeline that is set to shard by file, but reads only ``files`` files for ``hosts`` hosts."""

    hosts: int
    files: int

    def message(self) -> str:
        if not self.files:
            return f"The pipeline is set to shard by file over {self.hosts} hosts, but it reads no files."
        return f"{self.files} {'file is' if self.files == 1 else 'files are'} not enough to shard by file over {self.hosts} hosts."

    def why(self) -> str:
        if not self.files:
            return "It raises `Found an unshardable source dataset`. Use AutoShardPolicy.DATA."
        return "It raises `Could not apply FILE based sharding`. Write more files, or use AutoShardPolicy.DATA."

    def sides(self) -> Sides:
        if not self.files:
            return Side("AutoShardPolicy.DATA"), Side("AutoShardPolicy.FILE")
        return Side(f"at least {self.hosts} files"), Side(str(self.files))


class HostsReadAll(Fact, frozen=True):
    """Each host produces the whole dataset."""

    hosts: int

    def message(self) -> str:
        return f"Each of {self.hosts} hosts produces the whole dataset and keeps only its share."

    def why(self) -> str:
        return (
            "Without files, a dataset cannot be sharded earlier. Read from at least as many files as hosts. This follows TensorFlow's "
            "documentation; it is not verified here."
        )

    def sides(self) -> Sides:
        return Side("sharding by file"), Side("sharding by data")
