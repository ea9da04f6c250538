"""Where the words beside the lines of a static picture find room."""

from __future__ import annotations

from itertools import pairwise

from .picture import Picture

#: A character of the labels' font, and a line of them, in pixels.
WIDE, TALL = 6.7, 12.0
BESIDE = 9.0

Area = tuple[float, float, float, float]


class Room:
    """What is taken: by boxes, by words that are written already, and by lines, which words may cross where they must."""

    def __init__(self, drawn: Picture) -> None:
        self.taken: list[Area] = [(box.x, box.y, box.x + box.width, box.y + box.height) for box in (*drawn.boxes, *drawn.stages)]
        self.lines = [
            (min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)) for line in drawn.lines for (ax, ay), (bx, by) in pairwise(line.points)
        ]

    def take(self, place: tuple[float, float], characters: int) -> None:
        self.taken.append(_area(place, characters))

    def beside(self, x: float, y: float, characters: int) -> tuple[float, float] | None:
        """Where so many characters stand beside a line: to its right or left; ``None`` if both are taken."""
        places = [(x + BESIDE, y), (x - BESIDE - WIDE * characters, y)]
        free = [place for place in places if not any(_meet(_area(place, characters), one) for one in self.taken)]
        if not free:
            return None
        best = min(free, key=lambda place: sum(_meet(_area(place, characters), one) for one in self.lines))
        self.take(best, characters)
        return best


def _area(place: tuple[float, float], characters: int) -> Area:
    x, y = place
    return x, y - TALL + 2, x + WIDE * characters, y + 2


def _meet(one: Area, other: Area) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
