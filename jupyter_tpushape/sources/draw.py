"""Draws a few elements from an iterator that may be slow, endless or stuck."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

Progress = Callable[[str], None]


@dataclass
class Drawn:
    """The drawn elements. ``complete``: the iterator ended; ``late``: the time was up first, after ``waited`` seconds."""

    elements: list[Any]
    complete: bool
    late: bool
    error: BaseException | None
    tap: Tap
    waited: float = 0.0


class Tap:
    """Draws in a thread of its own, so that an iterator that blocks cannot hang the kernel.

    What was drawn, also what arrives after the time was up, is given back by :meth:`again`.
    """

    def __init__(self, source: Iterable[Any], wanted: int) -> None:
        self._source = source
        self._wanted = wanted
        self._taken: list[Any] = []
        self._iterator: Iterator[Any] | None = None
        self._error: BaseException | None = None
        self._complete = False
        self._stop = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="tpushape-sample", daemon=True)

    def _run(self) -> None:
        try:
            self._iterator = iter(self._source)
            for _ in range(self._wanted):
                if self._stop:
                    break
                element = next(self._iterator)
                with self._changed:
                    self._taken.append(element)
                    self._changed.notify()
        except StopIteration:
            self._complete = True
        except BaseException as error:
            self._error = error
        finally:
            with self._changed:
                self._stop = True
                self._changed.notify()

    def draw(self, seconds: float, progress: Progress | None = None, first: float = 0.0) -> Drawn:
        """Up to the wanted number of elements, for at most so many seconds (and never none without a try). ``first``: seconds that the
        first one may take, where that is longer.
        """
        start = time.monotonic()
        told = -1
        limit = max(seconds, first)
        self._thread.start()
        try:
            with self._changed:
                while not self._stop:
                    used = time.monotonic() - start
                    limit = seconds if self._taken else max(seconds, first)
                    if used >= limit:
                        break
                    if progress is not None and used >= 1.0 and told != len(self._taken):
                        told = len(self._taken)
                        progress(f"Sampling the data: {told} of {self._wanted} batches")
                    self._changed.wait(min(0.2, limit - used))
                late = not self._stop
                taken = list(self._taken)
        finally:
            self._stop = True  # also on Ctrl-C: the thread ends with the element it is at
        return Drawn(taken, self._complete, late, self._error, self, limit)

    def again(self) -> Iterator[Any]:
        """A generator over all elements: those drawn first, then what the original has left."""
        self._thread.join()
        yield from self._taken
        if self._error is not None:
            raise self._error
        if not self._complete and self._iterator is not None:
            yield from self._iterator

    def release(self) -> None:
        """Releases the iterator, so that its background work ends."""
        self._iterator = None
        self._source = ()


def draw(source: Iterable[Any], wanted: int, seconds: float, progress: Progress | None = None, first: float = 0.0) -> Drawn:
    """Draws up to ``wanted`` elements within ``seconds``; see :class:`Drawn`."""
    return Tap(source, wanted).draw(seconds, progress, first)


def chained(first: list[Any], rest: Iterable[Any]) -> Iterator[Any]:
    """A real generator over ``first`` and then ``rest``; Keras 3 takes no other kind of iterator."""
    yield from itertools.chain(first, rest)
