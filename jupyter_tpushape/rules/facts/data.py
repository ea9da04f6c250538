"""What is found in the code and the structure of the data."""

from __future__ import annotations

from typing import Literal

from ...flow import Fact, Shape, Side, Sides, elements, show_shape


class Unfilled(Fact, frozen=True):
    """An array of ``wanted`` was asked for, and there are ``have`` numbers."""

    have: int
    wanted: tuple[int, ...]
    where: Literal["data", "program"]
    said: str = ""

    def message(self) -> str:
        who = "The data code" if self.where == "data" else "A line"
        return f"{who} asks for an array of {self.wanted}, and {self.have} numbers do not fill it."

    def why(self) -> str:
        if self.where == "data":
            return "A reshape keeps every number. Writing -1 for the first axis lets NumPy count the rows itself."
        return f"A reshape keeps every number. Writing -1 for one axis lets NumPy work out its size. It says: {self.said}"

    def sides(self) -> Sides:
        whole = all(n > 0 for n in self.wanted)
        return Side(f"{elements(self.wanted)} numbers" if whole else f"shape {self.wanted}"), Side(f"{self.have} numbers")


class DataRaised(Fact, frozen=True):
    """The data code raised; ``said`` is its own message."""

    said: str

    def message(self) -> str:
        return "The code that prepares the data raises, so there is nothing to feed to the model."

    def why(self) -> str:
        return f"It says: {self.said}"


class PipelineShapes(Fact, frozen=True):
    """Two tensors that the data code puts together, and that do not go together."""

    first: Shape
    second: Shape

    def message(self) -> str:
        return f"The data code works on {show_shape(self.first)} and {show_shape(self.second)}, which cannot be broadcast together."

    def why(self) -> str:
        short, long = sorted((self.first, self.second), key=len)
        if len(short) < len(long) and short and short[0] == long[0]:
            ones = (*short, *[1] * (len(long) - len(short)))
            return (
                f"Shapes are matched from the right, so the rows of {show_shape(short)} meet the last axis of {show_shape(long)}. "
                f"One value a row has to be {show_shape(ones)} there: x[{', '.join([':', *['None'] * (len(long) - 1)])}]."
            )
        return "Shapes are matched from the right; sizes there must be equal, or one of them 1."

    def sides(self) -> Sides:
        return Side(show_shape(self.second)), Side(show_shape(self.first))


class Sampled(Fact, frozen=True):
    """How the sample was taken; ``text`` is the sampler's."""

    code: str
    text: str

    def message(self) -> str:
        return self.text


class TooManyParts(Fact, frozen=True):
    """An element of ``parts`` parts, for a model of ``inputs`` inputs and these ``outputs``; 0 and none where it is not known."""

    parts: int
    inputs: int = 0
    outputs: tuple[str, ...] = ()

    def message(self) -> str:
        return f"Each element has {self.parts} parts, and fit takes x, (x, y) or (x, y, sample_weight)."

    def why(self) -> str:
        if self.inputs and len(self.outputs) > 1 and self.inputs + len(self.outputs) == self.parts:
            labels = ", ".join(f"'{name}': ..." for name in self.outputs)
            x = "x" if self.inputs == 1 else "(x1, x2, ...)"
            return (
                f"The model has {self.inputs} input{'s' * (self.inputs > 1)} and {len(self.outputs)} outputs, so {len(self.outputs)} of them are labels: put "
                f"these into one dict, ({x}, {{{labels}}}), or one tuple."
            )
        return "Put several inputs into one inner tuple or dict, and several labels into another: ((x1, x2), (y1, y2))."

    def sides(self) -> Sides:
        return Side("1 to 3 parts"), Side(f"{self.parts} parts")


class LabelsAsWeights(Fact, frozen=True):
    """The third part of each element, which fit takes for sample weights, beside one label for several ``outputs``."""

    labels: Shape | None
    weights: Shape | None
    outputs: tuple[str, ...]

    def message(self) -> str:
        return (
            f"Each element has three parts, and fit takes the third, {show_shape(self.weights)}, for sample weights: "
            f"{show_shape(self.labels)} alone is left as labels of {len(self.outputs)} outputs."
        )

    def why(self) -> str:
        labels = ", ".join(f"'{name}': ..." for name in self.outputs)
        return f"Put the labels of all outputs into one part, (x, {{{labels}}}) or (x, (..., ...)) in the order of the outputs."

    def sides(self) -> Sides:
        return Side("(x, labels)"), Side("(x, labels, weights)")


class ClassesAsWeights(Fact, frozen=True):
    """``count`` sample weights, one for each class, of ``rows`` samples; ``hot``: whether the labels are one-hot rows."""

    count: int
    rows: int
    hot: bool

    @property
    def each(self) -> str:
        """The expression that gives each label the weight of its class."""
        return "np.sum(y * weights, axis=-1)" if self.hot else "weights[y]"

    def message(self) -> str:
        return f"The sample weights are {self.count} numbers, one for each class, and fit takes one for each of the {self.rows} samples."

    def why(self) -> str:
        return f"The weight of its class belongs to each label: sample_weight={self.each}. For one label a sample, class_weight={{0: ..., 1: ...}} in fit does the same."

    def sides(self) -> Sides:
        return Side(f"{self.rows} weights"), Side(f"{self.count} weights")


class Refused(Fact, frozen=True):
    """What the sampler knows that ``fit`` refuses, in the sampler's words. ``ids``: whether the rows are lists of whole numbers."""

    code: str
    text: str
    wanted: str = ""
    given: str = ""
    counts: tuple[int, ...] = ()
    ids: bool = False

    def message(self) -> str:
        return self.text.rstrip(".") + "."

    def sides(self) -> Sides:
        return (Side(self.wanted), Side(self.given)) if self.wanted and self.given else (None, None)
