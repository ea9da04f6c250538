"""A fact about the data that is held back from training."""

from __future__ import annotations

from ...flow import Fact


class HeldBack(Fact, frozen=True):
    """Added to another fact: it is one of the data that ``fit`` validates on, and the data that it trains on raises nothing."""

    def message(self) -> str:
        return "This concerns validation_data: the training data raises no error."
