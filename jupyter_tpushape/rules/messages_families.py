"""Messages of Keras 2.3 to 2.15 that users still paste, and families of messages, used if no entry matches the message itself.

An entry of a family states only what the words imply; the sizes are in the message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LOOK = "The message names the expected and the received value; tpushape check shows which layer it comes from."


@dataclass(frozen=True)
class Known:
    """One kind of message. ``means`` and ``todo`` may use the pattern's groups; ``rule`` is the id of a rule, or ``""``.

    ``family``: matches many messages; used only if no specific entry matches.
    """

    rule: str
    pattern: re.Pattern[str]
    means: str
    todo: str
    family: bool = False


def known(rule: str, pattern: str | tuple[str, ...], means: str, todo: str, *, family: bool = False) -> Known:
    """An entry of the catalog; several patterns are alternatives."""
    whole = pattern if isinstance(pattern, str) else "|".join(pattern)
    return Known(rule, re.compile(whole, re.DOTALL), means, todo, family)


FAMILIES: tuple[Known, ...] = (
    known(
        "", r"(?:OOM when allocating|[Oo]ut of memory|RESOURCE_EXHAUSTED|ResourceExhausted|[Ff]ailed to allocate|not enough memory|memory (?:limit|usage|requirement)s? exceed)",
        "A device has no memory left for a tensor, or the program needs more than the device has.",
        "Try a smaller batch first, then smaller inputs, mixed precision, or a larger device.",
        family=True,
    ),
    known(
        "", r"(?:divisible|a multiple of|evenly (?:divide|split)|must divide|does not divide|divide (?:evenly|into))",
        "A size does not divide into equal parts.",
        "Change the size or the number of parts: a batch and its devices, channels and groups, or features and attention heads.",
        family=True,
    ),
    known(
        "", r"(?:[Bb]roadcast)",
        "The shapes of two tensors cannot be broadcast together.",
        "Shapes are aligned from the right; sizes must be equal or 1.",
        family=True,
    ),
    known(
        "", (
            r"\b(?:rank|ndims?|n-?dim(?:ensional)?|[1-9N]-?D)\b",
            r"(?:number of (?:dimensions|axes)|\bdimensional\b|\d dimensions)",
        ),
        "A tensor has the wrong rank.",
        f"Add or remove an axis: expand_dims, Reshape, Flatten or pooling. {_LOOK}",
        family=True,
    ),
    known(
        "", r"\b(?:ax[ei]s|dims?)\b",
        "The tensor does not have the axis, or the axis has the wrong size.",
        f"Axis 0 is the batch; axis -1 is the last. {_LOOK}",
        family=True,
    ),
    known(
        "", r"\b(?:[dD][- ]?types?|data[- ]type|DataType|DType|float(?:16|32|64)?|integers?|int(?:8|32|64)?|bool(?:ean)?|complex(?:64|128)?|numeric|precision|casts?|casting)\b",
        "A tensor has the wrong dtype.",
        "Cast it first: tf.cast, keras.ops.cast or astype. Ids and labels are integers; most layers compute with floats.",
        family=True,
    ),
    known(
        "", r"(?:[Ss]ame|matching|match|compatible|consistent|equal|agree).{0,40}(?:shapes?|sizes?|lengths?|dimensions?)"
        r"|(?:shapes?|sizes?|lengths?|dimensions?).{0,60}(?:same|match|incompatible|compatible|equal|agree|differ)",
        "Shapes that must match are different.",
        f"Change one of them where it is created. {_LOOK}",
        family=True,
    ),
    known(
        "", r"(?:[Uu]nknown|undefined|not (?:fully )?(?:defined|known|specified)|static(?:ally)?|dynamic|None|fully[- ]defined).{0,60}(?:shapes?|dimensions?|sizes?)"
        r"|(?:shapes?|dimensions?|sizes?).{0,80}(?:unknown|undefined|defined|static|dynamic|None)",
        "A required size is unknown.",
        "Declare it in Input (or with output_signature or ensure_shape), or use code that works for any size: -1 in a reshape, or global pooling.",
        family=True,
    ),
    known(
        "", r"(?:[Ss]hapes?\b|\bdimensions?\b|_shape\b|_size\b|\bsizes?\b|\blengths?\b|channels?\b)",
        "A shape or a size is wrong.",
        _LOOK,
        family=True,
    ),
)  # fmt: skip


_SHAPE = r"\(?\[?(?P<{}>[\d, ?None]*)\]?\)?"

OLDER: tuple[Known, ...] = (
    known(
        "input-rank", r"Error when checking input: expected \S+ to have (?P<want>\d+) dimensions, but got array with shape " + _SHAPE.format("got"),
        "The model expects {want} dimensions, including the batch, but the data is ({got}).",
        "Add or remove an axis of the data (x[..., None], x.reshape), or declare the actual shape of one sample.",
    ),
    known(
        "input-axis", r"Error when checking input: expected \S+ to have shape " + _SHAPE.format("want") + r" but got array with shape " + _SHAPE.format("got"),
        "The model declares ({want}) for one sample, but a sample is ({got}).",
        "Change the declared input shape or the data. Neither shape includes the batch axis.",
    ),
    known(
        "output-units", r"Error when checking (?:target|model target): expected \S+ to have shape " + _SHAPE.format("want") + r" but got array with shape " + _SHAPE.format("got"),
        "The last layer outputs ({want}) per sample, but a label is ({got}).",
        "Integer labels need sparse_categorical_crossentropy, one-hot vectors categorical_crossentropy. Otherwise, give the last layer as many units as a label has values.",
    ),
    known(
        "label-rank", r"Error when checking (?:target|model target): expected \S+ to have (?P<want>\d+) dimensions, but got array with shape " + _SHAPE.format("got"),
        "The predictions have {want} dimensions, but the labels are ({got}).",
        "With one label per sample, remove the inner axes of the predictions: Flatten, global pooling, or return_sequences=False.",
    ),
    known(
        "input-structure", (
            r"the list of Numpy arrays that you are passing to your model is not the size the model expected",
            r"Layer \S+ expects (?P<want>\d+) input(?:s|\(s\)), but it received (?P<got>\d+) input tensors",
        ),
        "The data has a different number of arrays than the model has inputs (or outputs).",
        "Pass a list with one array per input, and one label array per output.",
    ),
    known(
        "output-units", r"A target array with shape " + _SHAPE.format("got") + r" was passed for an output of shape " + _SHAPE.format("want"),
        "The labels are ({got}), but the predictions are ({want}).",
        "Give the last layer as many units as a label has values, or use a loss for integer labels.",
    ),
    known(
        "integer-labels", r"You are passing a target array of shape " + _SHAPE.format("got") + r" while using as loss `categorical_crossentropy`",
        "The labels are class indices ({got}), but the loss expects one-hot vectors.",
        "Use sparse_categorical_crossentropy, or to_categorical(y).",
    ),
    known(
        "data-misfit", r"Input arrays should have the same number of samples as target arrays\. Found (?P<got>\d+) input samples and (?P<want>\d+) target samples",
        "x has {got} samples, but y has {want}.",
        "Each sample needs one row in both.",
    ),
    known(
        "weights-apart", (
            r"Layer weight shape \(?[\d, ]*\)? not compatible with provided weight shape",
            r"You are trying to load a weight file containing \d+ layers? into a model with \d+ layers?",
            r"Shape mismatch in layer #\d+|Weight expects shape \(?[\d, ]*\)?\. Received saved weight with shape",
            r"Layer count mismatch when loading weights|expects? \d+ weight\(s\)?.{0,80}but the saved weights have",
        ),
        "The weights come from a different model, or from the same model with different sizes.",
        "Build the model exactly like the saved one (input size, units, number of classes), or load with by_name=True and skip_mismatch=True.",
    ),
    known(
        "graph-disconnected", r"Graph disconnected: cannot obtain value for tensor .{0,300}?at layer \"?(?P<got>[\w/]+)",
        "The model's output depends on the tensor of {got}, which is not computed from the model's inputs.",
        "Pass every Input that the output was computed from to Model(inputs=...). A second Input is a different tensor.",
    ),
    known(
        "graph-disconnected", r"(?:Output tensors (?:to|of) a \w+ (?:model )?must be the output of a|Output tensors to a Model must be Keras tensors)",
        "An output passed to Model is not the result of calling layers.",
        "Call the layer on a tensor, Dense(1)(x), and pass the result instead of the layer. Wrap other operations in a Lambda layer.",
    ),
    known(
        "rnn-states", (
            r"An `initial_state` was passed that is not compatible with `cell\.state_size`",
            r"Layer has \d+ states but was passed \d+ initial states",
        ),
        "The initial state does not match the recurrent layer.",
        "An LSTM has two states of size units, a GRU has one, and Bidirectional has the states of both directions. Encoder and decoder need the same number of units.",
    ),
    known(
        "stateful-batch", (
            r"In a stateful network, you should only pass inputs with a number of samples that can be divided by the batch size",
            r"If a RNN is stateful, it needs to know its batch size",
            r"If an RNN is stateful, the batch size of the input sequences must be the same",
            r"When using `stateful=True` in a RNN, the batch size must be static",
        ),
        "A stateful layer keeps one state per sample, so every batch must have the declared batch size.",
        "Declare batch_shape (batch_input_shape), and use a number of samples that is a multiple of it in fit, validation and predict.",
    ),
    known(
        "merge-shapes", r"A merge layer should be called on a list of (?:at least \d+|inputs)|Dimension incompatibility.{0,120}Dot|Dimensions (?P<got>\d+) and (?P<want>\d+) are not compatible",
        "The merged tensors have incompatible shapes, or there are too few of them.",
        "Pass a list of two or more tensors whose sizes match on the merged axes.",
    ),
    known(
        "axis-unknown", (
            r"The (?:channel dimension|last dimension|channel axis) of the inputs.{0,60}should be defined",
            r"The shape of the input to \"?Flatten\"? is not fully defined",
        ),
        "A layer creates its weights from an axis whose size is not declared.",
        "Declare it in Input, or use global pooling instead of Flatten.",
    ),
    known(
        "op-shapes", r"Dimension (?P<axis>\d+) in both shapes must be equal, but are (?P<got>\d+) and (?P<want>\d+)",
        "Two tensors must have the same size on axis {axis}, but have {got} and {want}.",
        "The message ends with both shapes. Trace the program to see where the sizes come from.",
    ),
    known(
        "data-misfit", r"could not broadcast input array from shape " + _SHAPE.format("got") + r" into shape " + _SHAPE.format("want"),
        "An array ({got}) cannot be assigned to a place of shape ({want}).",
        "The samples differ in size. Resize or pad them to one size before you stack them.",
    ),
    known(
        "input-axis", r"Cannot feed value of shape " + _SHAPE.format("got") + r" for Tensor .{0,80}?which has shape '?" + _SHAPE.format("want"),
        "A placeholder expects ({want}), but receives an array of ({got}).",
        "Change the data or the declared shape.",
    ),
    known(
        "label-rank", r"Can(?:not|'t| not) squeeze dim\[(?P<axis>\d+)\], expected a dimension of 1, got (?P<got>\d+)",
        "An axis of size {got} cannot be squeezed: the shapes of labels and predictions differ by more than an axis of size 1.",
        "Compare the shape of the labels with the output of the last layer.",
    ),
    known(
        "", r"The added layer must be an instance of class Layer\. (?:Found|Received)",
        "The object added to the model is not a layer, or is a layer of another Keras (keras, tf.keras or tf_keras).",
        "Import everything from one Keras package.",
    ),
)  # fmt: skip
