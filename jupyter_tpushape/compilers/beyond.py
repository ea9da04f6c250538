"""What a run keeps in a device's memory beside the program that was compiled: an estimate, which no compiler was asked for."""

from __future__ import annotations

from dataclasses import dataclass

from ..rules.words import size

# tf.data copies a batch to a device while another waits there (MultiDeviceIterator's prefetch of one).
BATCHES = 2
# Temporaries want one piece of memory ("Attempting to reserve 6.48G at the bottom of memory"): room for gaps. Our choice, not a measurement.
GAPS = 0.04


@dataclass(frozen=True)
class Beyond:
    """Bytes of batches that wait on the device, of the other programs' code (evaluation beside training), and room for gaps."""

    batches: int
    code: int
    gaps: int

    @property
    def bytes(self) -> int:
        return self.batches + self.code + self.gaps

    def __str__(self) -> str:
        code = f", {size(self.code)} for the code of other programs" if self.code else ""
        return (
            f"an estimated {size(self.bytes)} more ({size(self.batches)} for prefetched batches{code}, {size(self.gaps)} for fragmentation)"
        )


def beyond(data: int, available: int, code: int = 0) -> Beyond:
    """Of a program whose data takes so many bytes of a device that has ``available``."""
    return Beyond(BATCHES * data, code, int(GAPS * available))
