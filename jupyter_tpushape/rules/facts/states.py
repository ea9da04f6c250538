"""Facts about the states of recurrent layers and cells."""

from __future__ import annotations

from ...flow import Fact, Location, Shape, Side, Sides, Who, show_shape
from ..words import count, listed, named, pair, shapes_listed


class States(Fact, frozen=True):
    """A recurrent layer has states of the sizes ``keeps``, but its initial state has the shapes ``given``.

    ``both``: it is bidirectional; ``encoders``: the layers that the states come from; ``joined``: one of them is bidirectional; ``cell``: it is
    a cell, which is called on one step.
    """

    layer: Who
    keeps: tuple[int, ...]
    given: tuple[Shape | None, ...]
    both: bool = False
    encoders: tuple[str, ...] = ()
    joined: bool = False
    cell: bool = False

    @property
    def counted(self) -> bool:
        """Whether the number of states is right."""
        return len(self.keeps) == len(self.given)

    def message(self) -> str:
        wide = listed(tuple(dict.fromkeys(map(str, self.keeps))))
        keeps = f"{count(len(self.keeps), 'state')} of size {wide}"
        source = f" from {listed(self.encoders)}" if self.encoders else ""
        what = "it receives the state" if self.cell else f"its initial state{source} is"
        return f"{named(self.layer)} has {keeps}, but {what} {shapes_listed(self.given)}."

    def why(self) -> str:
        half = len(self.keeps) // 2 if self.both else len(self.keeps)
        if self.both and not self.counted:
            return (
                f"Each direction has {'its own h and c' if half == 2 else 'one state'}, so the layer expects {len(self.keeps)} states: those of the "
                f"forward layer, then those of the backward layer. It receives {count(len(self.given), 'state')}."
            )
        if self.counted and any(shape is not None and len(shape) != 2 for shape in self.given):
            ask = f" With return_state=True, {listed(self.encoders)} returns its states after its outputs." if self.encoders else ""
            both = " It is bidirectional: concatenate the forward and the backward state." if self.joined and not self.both else ""
            return f"A state is (batch, units): one vector per sample, without a time axis.{ask}{both}"
        if self.joined and not self.both:
            # One of them may be joined already.
            size = min((shape[-1] or 0 for shape in self.given if shape), default=0)
            wide = f" ({size} + {size} = {2 * size} values)" if size else ""
            return (
                "The encoder is bidirectional and returns the states of both directions: forward h and c, then backward h and c. For a "
                f"unidirectional layer, concatenate the two h and the two c{wide}, and set its units to that size."
            )
        if not self.counted:
            has = {1: "a GRU or SimpleRNN has one", 2: "an LSTM has two, h and c"}.get(len(self.keeps), "this layer has one set per cell")
            return f"The layer receives {count(len(self.given), 'state')}, but {has}. A layer with return_state=True returns its output first; that is not a state."
        if self.cell:
            return "A state has one value per unit, so the cell needs as many units as its state has values."
        return "A state has one value per unit, so encoder and decoder need the same number of units, or a Dense layer in between."

    def sides(self) -> Sides:
        alike = self.counted and len(self.keeps) > 1 and len(set(self.keeps)) == 1
        wanted = f"(batch, {self.keeps[0]}) each" if alike else ", ".join(f"(batch, {n})" for n in self.keeps)
        return Side(wanted), Side(", ".join(map(show_shape, self.given)))


class CellOfSteps(Fact, frozen=True):
    """A cell, which computes one step, receives a tensor with an axis for time."""

    layer: Who
    shape: Shape

    def message(self) -> str:
        return f"{named(self.layer)} computes one step, but receives {show_shape(self.shape)}, which has a time axis."

    def why(self) -> str:
        return "A cell takes (batch, features) at each step, and returns its state in that rank. Take one step: x[:, t]."

    def sides(self) -> Sides:
        return Side("(batch, features)"), Side(show_shape(self.shape))


class StateRows(Fact, frozen=True):
    """The initial state of ``layer`` is for ``given`` samples, but its input has ``rows``."""

    layer: Who
    rows: int
    given: int

    def message(self) -> str:
        return f"The initial state of {named(self.layer)} is for {count(self.given, 'sample')}, but its input has {self.rows}."

    def why(self) -> str:
        return f"The state has a hard-coded batch size of {self.given}. Take the number of rows from the input instead."

    def sides(self) -> Sides:
        return Side(count(self.rows, "sample")), Side(count(self.given, "sample"))


class StatefulRows(Fact, frozen=True):
    """A stateful layer keeps its state for ``rows`` samples (``None``: none declared), but receives batches of ``given``."""

    layer: Who
    rows: int | None
    given: int | None

    def message(self) -> str:
        if self.rows is None:
            return f"{named(self.layer)} is stateful, but the batch size is not declared."
        return f"{named(self.layer)} keeps the state of {count(self.rows, 'sample')}, but a batch has {self.given}."

    def why(self) -> str:
        if self.rows is None:
            return "It keeps one state per sample from batch to batch. Declare the batch size, keras.Input(batch_shape=(rows, ...)), and feed batches of that size."
        return (
            f"A stateful layer keeps each sample's state for the next batch, so every batch must have {count(self.rows, 'sample')}. "
            f"Set batch_size={self.rows} in fit, and use a number of samples that is a multiple of it."
        )

    def sides(self) -> Sides:
        return Side("a declared batch size" if self.rows is None else f"{self.rows} samples"), Side("any" if self.given is None else f"{self.given} samples")


class CellState(Fact, frozen=True):
    """The cell of a recurrent layer returns a state whose shape differs from the one that it received."""

    layer: Who
    before: Shape
    after: Shape

    def message(self) -> str:
        return f"The cell of {named(self.layer)} receives a state of shape {show_shape(self.before)}, but returns one of shape {show_shape(self.after)}."

    def why(self) -> str:
        more = len(self.after) - len(self.before)
        lists = " A cell receives its states as a list: the first one is states[0]." if more == 1 else ""
        return f"Each step passes its state to the next. A cell must return (output, states) with the states' shapes unchanged.{lists}"

    def sides(self) -> Sides:
        return pair(self.before, self.after, names=False)


class CellStates(Fact, frozen=True):
    """The cell of a recurrent layer has ``wanted`` states and returns ``returned``, where that is known."""

    layer: Who
    wanted: int
    returned: int | None

    def message(self) -> str:
        given = "another number" if self.returned is None else str(self.returned)
        return f"The cell of {named(self.layer)} has {count(self.wanted, 'state')}, but returns {given}."

    def why(self) -> str:
        return "Each step passes its states to the next. A cell returns (output, states) with as many states as state_size has entries."

    def sides(self) -> Sides:
        return Side(count(self.wanted, "state")), Side("another number" if self.returned is None else count(self.returned, "state"))


class StatesInList(Fact, frozen=True):
    """A recurrent layer or ``cell`` receives the list ``name`` of so many ``states`` in one more list, at ``place``."""

    cell: str
    name: str
    states: int
    place: Location | None = None

    def message(self) -> str:
        return f"{self.cell} receives [{self.name}], but {self.name} is a list of {count(self.states, 'state')} already."

    def why(self) -> str:
        return "A cell takes its states as a list, and returns (output, states) with such a list, which the next call takes as it is."


class CellUnpacks(Fact, frozen=True):
    """The cell of a recurrent layer unpacks ``wanted`` states, but declares ``declared``."""

    layer: Who
    wanted: int
    declared: int

    def message(self) -> str:
        return f"The cell of {named(self.layer)} unpacks {count(self.wanted, 'state')}, but its state_size declares {self.declared}."

    def why(self) -> str:
        return "The cell receives one state for each entry of state_size. An LSTM has two, h and c: self.state_size = [units, units]."

    def sides(self) -> Sides:
        return Side(count(self.wanted, "state")), Side(count(self.declared, "state"))


class CellReturns(Fact, frozen=True):
    """The cell of a recurrent layer, of the class ``cell``, returns ``value`` alone at ``place``."""

    layer: Who
    cell: str
    value: str
    place: Location | None = None

    def message(self) -> str:
        return f"{self.cell}.call returns {self.value} alone, but {named(self.layer)} takes two things from its cell: the output and the new states."

    def why(self) -> str:
        return f"A cell returns a pair, also where both are the same tensor: return {self.value}, [{self.value}]. The list has one entry for each entry of state_size."

    def sides(self) -> Sides:
        return Side("output, states"), Side("output")


class StatesExchanged(Fact, frozen=True):
    """``layer`` starts with states of ``giver`` in the wrong order. ``places``: which results of the giver each state is made of.

    ``two_ways``: the giver runs in both directions, and its results are the output, h and c forwards, h and c backwards.
    """

    layer: Who
    giver: Who
    places: tuple[tuple[int, ...], ...]
    two_ways: bool

    def message(self) -> str:
        return f"{named(self.layer)} expects the states [h, c], but receives h and c of {named(self.giver)} in the wrong order."

    def why(self) -> str:
        if self.two_ways:
            return "Bidirectional returns the output, then h and c of the forward layer, then h and c of the backward layer. Join h with h and c with c."
        return "An LSTM with return_state returns the output, then h, then c. Both have the same shape, so no error is raised."

    def sides(self) -> Sides:
        return Side("[h, c]"), Side(", ".join("+".join("hc"[(one - 1) % 2] for one in places) for places in self.places))


class StatesToo(Fact, frozen=True):
    """``layer`` expects one tensor, but ``giver`` returns its output and its states, ``given`` tensors in total."""

    layer: Who
    giver: Who
    given: int

    def message(self) -> str:
        return f"{named(self.layer)} expects one tensor, but {self.giver.name} returns {self.given}: its output and {count(self.given - 1, 'state')}."

    def why(self) -> str:
        return "With return_state=True a recurrent layer returns a list. Unpack it, output, *states = layer(x), or remove return_state."
