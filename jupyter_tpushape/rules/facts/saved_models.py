"""Facts about layers that wrap SavedModels."""

from __future__ import annotations

from ...flow import Fact, Shape, Side, Sides, Who, show_shape
from ..words import count, named


class HubLayer(Fact, frozen=True):
    """hub.KerasLayer in a Keras 3 model."""

    def message(self) -> str:
        return "hub.KerasLayer is a tf_keras layer and does not work in a Keras 3 model."

    def why(self) -> str:
        return "Build the whole model with tf_keras (TF_USE_LEGACY_KERAS=1), or load it with keras.layers.TFSMLayer, which is for inference only."

    def sides(self) -> Sides:
        return Side("keras.layers.TFSMLayer"), Side("hub.KerasLayer")


class NamedEndpoint(Fact, frozen=True):
    """An endpoint that takes its inputs by name."""

    layer: Who
    names: str

    def message(self) -> str:
        return f"{named(self.layer)} calls an endpoint that takes its inputs by name: {self.names}."

    def why(self) -> str:
        return (
            "TFSMLayer passes one positional value, but this signature takes only named inputs. Use another endpoint, such as "
            "call_endpoint='__call__', or save the model with a function that takes one dict."
        )

    def sides(self) -> Sides:
        return Side("an endpoint that takes one dict"), Side("a signature with named inputs")


class WrongStructure(Fact, frozen=True):
    """A signature of ``fields``, ``(name, shape, dtype)``, receives ``given``, ``(name, shape, dtype)``. A single tensor has the name ``""``."""

    layer: Who
    fields: tuple[tuple[str, str, str], ...]
    given: tuple[tuple[str, Shape | None, str], ...]

    @property
    def one(self) -> bool:
        return [name for name, _, _ in self.fields] == [""]

    @property
    def cast(self) -> tuple[str, str, str] | None:
        """The first field with a different dtype: its name, the expected dtype, the received dtype."""
        given = {name: dtype for name, _, dtype in self.given}
        return next(((name, dtype, given[name]) for name, _, dtype in self.fields if name in given and given[name] != dtype), None)

    def _shown(self) -> str:
        if len(self.given) != 1:
            return f"{len(self.given)} tensors"
        return f"one tensor {show_shape(self.given[0][1])} {self.given[0][2]}"

    def _words(self) -> tuple[str, str, str]:
        names, given = [name for name, _, _ in self.fields], [name for name, _, _ in self.given]
        if self.one:
            wanted = f"one tensor {self.fields[0][1]} {self.fields[0][2]}"
            return wanted, self._shown(), f"Its signature expects {wanted}."
        if self.cast is not None:
            name, wants, gets = self.cast
            why = f"A SavedModel does not cast its inputs. Declare the input with Input(..., dtype='{wants}')."
            return f"{wants} for {name}", gets, why
        wanted = f"a dict of {', '.join(dict.fromkeys(names))}"
        if set(given) - {""} and set(given) != set(names):
            why = "The names in a signature are fixed when the model is saved. Pass a dict with exactly those keys."
            return wanted, f"a dict of {', '.join(dict.fromkeys(given))}", why
        fields = ", ".join(f"{name!r}: ..." for name in names[:3])
        why = f"The signature has named inputs, so their order is ignored. Pass a dict: {{{fields}}}."
        return wanted, f"a list of {count(len(given), 'tensor')}" if len(given) > 1 else self._shown(), why

    def message(self) -> str:
        wanted, got, _ = self._words()
        return f"{named(self.layer)} expects {wanted}, but receives {got}."

    def why(self) -> str:
        return self._words()[2]

    def sides(self) -> Sides:
        wanted, got, _ = self._words()
        return Side(wanted), Side(got)


class DictOutput(Fact, frozen=True):
    """``giver`` returns a dict of ``parts``, ``(name, shape)``, but ``reader`` expects one tensor."""

    giver: Who
    reader: Who
    parts: tuple[tuple[str, Shape | None], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.parts)

    def message(self) -> str:
        parts = ", ".join(f"{name} {show_shape(shape)}" for name, shape in self.parts)
        return f"{named(self.giver)} returns a dict ({parts}), but {named(self.reader)} expects one tensor."

    def why(self) -> str:
        first = "pooled_output" if "pooled_output" in self.names else self.names[0]
        return f"Select one of them: {self.giver.name}(inputs)['{first}']. A Sequential model cannot do that, so write a functional model."

    def sides(self) -> Sides:
        return Side("one tensor"), Side(f"a dict of {', '.join(self.names)}")


class SeveralOutputs(Fact, frozen=True):
    """A layer of a Sequential model returns several tensors."""

    giver: Who

    def message(self) -> str:
        return f"{named(self.giver)} returns more than one tensor, but a Sequential model passes on only one."

    def why(self) -> str:
        return f"Write a functional model and select from the dict that {self.giver.name}(inputs) returns."

    def sides(self) -> Sides:
        return Side("one tensor"), Side("several")
