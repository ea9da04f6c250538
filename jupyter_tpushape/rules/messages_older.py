"""Messages of Keras 2.3 to 2.15 that users still paste, and what they are called by now."""

from __future__ import annotations

from .known import Known, known

_SHAPE = r"\(?\[?(?P<{}>[\d, ?None]*)\]?\)?"

OLDER: tuple[Known, ...] = (
    known(
        "input-rank", r"Error when checking input: expected \S+ to have (?P<want>\d+) dimensions, but got array with shape " + _SHAPE.format("got"),
        "The model reads {want} axes, the batch counted, and the data is ({got}).",
        "Add or take an axis of the data (x[..., None], x.reshape), or declare the shape that one sample really has.",
    ),
    known(
        "input-axis", r"Error when checking input: expected \S+ to have shape " + _SHAPE.format("want") + r" but got array with shape " + _SHAPE.format("got"),
        "The model declares ({want}) for one sample, and a sample is ({got}).",
        "Change the declared input shape or the data; the batch axis is counted in neither.",
    ),
    known(
        "output-units", r"Error when checking (?:target|model target): expected \S+ to have shape " + _SHAPE.format("want") + r" but got array with shape " + _SHAPE.format("got"),
        "The last layer gives ({want}) for a sample, and a label is ({got}).",
        "Class numbers need sparse_categorical_crossentropy, one-hot rows categorical_crossentropy; else give the last layer as many units as a label has values.",
    ),
    known(
        "label-rank", r"Error when checking (?:target|model target): expected \S+ to have (?P<want>\d+) dimensions, but got array with shape " + _SHAPE.format("got"),
        "The predictions have {want} axes, and the labels are ({got}).",
        "Where there is one label a sample, inner axes must be gone: Flatten, a global pooling, or return_sequences=False.",
    ),
    known(
        "input-structure", (
            r"the list of Numpy arrays that you are passing to your model is not the size the model expected",
            r"Layer \S+ expects (?P<want>\d+) input(?:s|\(s\)), but it received (?P<got>\d+) input tensors",
        ),
        "The model takes another number of inputs (or labels) than the data brings.",
        "One array for each input, in a list; one for each output.",
    ),
    known(
        "output-units", r"A target array with shape " + _SHAPE.format("got") + r" was passed for an output of shape " + _SHAPE.format("want"),
        "The labels are ({got}) and the predictions ({want}).",
        "The last layer needs as many units as a label has values, or the loss is meant for class numbers.",
    ),
    known(
        "integer-labels", r"You are passing a target array of shape " + _SHAPE.format("got") + r" while using as loss `categorical_crossentropy`",
        "The labels are class numbers ({got}), and the loss reads one-hot rows.",
        "Use sparse_categorical_crossentropy, or to_categorical(y).",
    ),
    known(
        "data-misfit", r"Input arrays should have the same number of samples as target arrays\. Found (?P<got>\d+) input samples and (?P<want>\d+) target samples",
        "There are {got} samples in x and {want} in y.",
        "Each sample needs one row in both.",
    ),
    known(
        "weights-apart", (
            r"Layer weight shape \(?[\d, ]*\)? not compatible with provided weight shape",
            r"You are trying to load a weight file containing \d+ layers? into a model with \d+ layers?",
            r"Shape mismatch in layer #\d+|Weight expects shape \(?[\d, ]*\)?\. Received saved weight with shape",
            r"Layer count mismatch when loading weights|expects? \d+ weight\(s\)?.{0,80}but the saved weights have",
        ),
        "Weights of another model, or of the same one with other sizes, are put into this one.",
        "Build the model exactly as the saved one was (input size, units, number of classes), or load with by_name=True and skip_mismatch=True.",
    ),
    known(
        "graph-disconnected", r"Graph disconnected: cannot obtain value for tensor .{0,300}?at layer \"?(?P<got>[\w/]+)",
        "The model's outputs need the tensor of {got}, which does not come from the inputs that the model was made of.",
        "Hand all the Input tensors to Model(inputs=...) that the output was computed from; an Input made a second time is another one.",
    ),
    known(
        "graph-disconnected", r"(?:Output tensors (?:to|of) a \w+ (?:model )?must be the output of a|Output tensors to a Model must be Keras tensors)",
        "What was given to Model as an output is not the result of calling layers.",
        "Call the layer on a tensor, Dense(1)(x), and hand that over, not the layer; wrap plain operations into a Lambda layer.",
    ),
    known(
        "rnn-states", (
            r"An `initial_state` was passed that is not compatible with `cell\.state_size`",
            r"Layer has \d+ states but was passed \d+ initial states",
        ),
        "A recurrent layer is given other states than it keeps.",
        "An LSTM keeps two of as many numbers as it has units, a GRU one; Bidirectional those of both directions. Encoder and decoder need the same number of units.",
    ),
    known(
        "stateful-batch", (
            r"In a stateful network, you should only pass inputs with a number of samples that can be divided by the batch size",
            r"If a RNN is stateful, it needs to know its batch size",
            r"If an RNN is stateful, the batch size of the input sequences must be the same",
            r"When using `stateful=True` in a RNN, the batch size must be static",
        ),
        "A stateful layer keeps one state a sample, so every batch must have the declared number of rows.",
        "Declare batch_shape (batch_input_shape), and give data whose rows divide by it, in fit, validation and predict.",
    ),
    known(
        "merge-shapes", r"A merge layer should be called on a list of (?:at least \d+|inputs)|Dimension incompatibility.{0,120}Dot|Dimensions (?P<got>\d+) and (?P<want>\d+) are not compatible",
        "Tensors that are put together do not fit.",
        "Hand over a list of two or more tensors whose sizes agree where the layer puts them together.",
    ),
    known(
        "axis-unknown", (
            r"The (?:channel dimension|last dimension|channel axis) of the inputs.{0,60}should be defined",
            r"The shape of the input to \"?Flatten\"? is not fully defined",
        ),
        "A layer makes its weights from an axis whose size is not declared.",
        "Declare it in Input, or use a global pooling in place of Flatten.",
    ),
    known(
        "op-shapes", r"Dimension (?P<axis>\d+) in both shapes must be equal, but are (?P<got>\d+) and (?P<want>\d+)",
        "Two tensors must have the same size on axis {axis}, and have {got} and {want}.",
        "The message ends with both shapes; trace the program to see where the sizes come from.",
    ),
    known(
        "data-misfit", r"could not broadcast input array from shape " + _SHAPE.format("got") + r" into shape " + _SHAPE.format("want"),
        "An array ({got}) is put into a place of ({want}).",
        "The samples differ in size: bring them to one size before they are stacked.",
    ),
    known(
        "input-axis", r"Cannot feed value of shape " + _SHAPE.format("got") + r" for Tensor .{0,80}?which has shape '?" + _SHAPE.format("want"),
        "A placeholder of ({want}) is fed an array of ({got}).",
        "Change the data or the declared shape.",
    ),
    known(
        "label-rank", r"Can(?:not|'t| not) squeeze dim\[(?P<axis>\d+)\], expected a dimension of 1, got (?P<got>\d+)",
        "An axis of size {got} was to be dropped as if it were 1: labels and predictions differ by more than an axis of size 1.",
        "Compare the labels' shape with that of the last layer.",
    ),
    known(
        "", r"The added layer must be an instance of class Layer\. (?:Found|Received)",
        "A layer of one Keras was added to a model of another (keras and tf.keras or tf_keras), or something that is no layer.",
        "Import everything from one of them.",
    ),
)  # fmt: skip
