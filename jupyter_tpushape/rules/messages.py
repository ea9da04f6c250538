"""Known messages of Keras, TensorFlow, XLA and TPUs, and the rule that each belongs to.

A message alone tells less than the program: ``means`` says only what its own words and numbers bear out.
Patterns are taken from the frameworks' texts and hold for every program; the catalogue cites them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .known import Known, known
from .messages_families import FAMILIES
from .messages_older import OLDER


@dataclass(frozen=True)
class Meaning:
    """What one message in a text means."""

    rule: str
    said: str
    means: str
    todo: str
    start: int
    family: bool = False


_SHAPE = r"\(?\[?(?P<{}>[\d, ?None]*)\]?\)?"

# The more telling ones first: where two match the same place, the first speaks.
_TODAY: tuple[Known, ...] = (
    # -- Keras: layers and inputs
    known(
        "layer-rank", r"(?:expected|Expected) (?P<bound>min_|max_)?ndim=(?P<want>\d+), found ndim=(?P<got>\d+)",
        "A layer works on {want} axes, the batch axis counted, and was given {got}.",
        "Look at what the layer before it gives. Add or fold axes there: Reshape, Flatten or a global pooling for too many, a missing axis in the data for too few.",
    ),
    known(
        "layer-axis", r"expected axis (?P<axis>-?\d+) of input shape to have value (?P<want>\d+)",
        "The layer's weights were made for {want} numbers on axis {axis}, and another size came.",
        "Give the layer what it was built for, or build it anew on the new size. Where the data is meant, compare it with the declared input shape.",
    ),
    known(
        "input-structure", r"expects (?P<want>\d+) (?:named )?input\(s\).{0,2000}?, but it received (?P<got>\d+) input tensors",
        "The model declares {want} input(s), and the data brings {got}.",
        "Hand over one array an input, in a list or a dict: fit([a, b], y). A tuple is read as (x, y).",
    ),
    known(
        "input-axis", r"Input (?:\d+ of layer )?.{0,80}?is incompatible with the (?:layer|model): expected shape=" + _SHAPE.format("want") + r", found shape=" + _SHAPE.format("got"),
        "The model declares ({want}) and the data is ({got}); the first axis is the batch.",
        "Where only a size differs, change the declared shape or the data. Where an axis is missing or one too many, add or take it in the data.",
    ),
    known(
        "merge-shapes", (
            r"A `Concatenate` layer requires inputs with matching shapes|Inputs have incompatible shapes",
            r"[Oo]perands could not be broadcast together with shapes",
        ),
        "Branches that are put together have different shapes.",
        "Make the branches alike before they meet: the same stride and padding, a 1x1 convolution for the channels, a pooling for the size.",
    ),
    known(
        "axis-unknown", (
            r"The last dimension of the inputs to (?:a |an )?`?\w+`?(?: layer)? should be defined",
            r"Shapes used to initialize variables must be fully-defined",
        ),
        "A layer makes its weights from an axis whose size is not declared.",
        "Declare the size in keras.Input, or put a layer in front that gives one size whatever comes in (a global pooling instead of Flatten).",
    ),
    known(
        "window-too-large", r"(?:Negative dimension size caused by subtracting (?P<want>\d+) from (?P<got>\d+)|Computed output size would be (?:zero or )?negative)",
        "A window (a convolution's kernel or a pool) is larger than what it slides over.",
        'Use padding="same", a smaller kernel, or fewer poolings before it.',
    ),
    known(
        "reshape-size", (
            r"The total size of the tensor must be unchanged",
            r"Cannot reshape a tensor with \d+ elements to shape",
            r"Input to reshape is a tensor with \d+ values, but the requested shape has \d+",
        ),
        "A reshape keeps every number, and the shape that is asked for holds another number of them.",
        "Write -1 for one axis to have it worked out, and leave the batch axis out of Reshape's target_shape.",
    ),
    known(
        "op-shapes", r"Matrix size-incompatible: In\[0\]: (?P<got>\[[\d,]+\]), In\[1\]: (?P<want>\[[\d,]+\])",
        "A matrix product of {got} by {want}: the last axis of the first must be as long as the first axis of the second.",
        "In a built model the data has another number of features than the layer was built for. In code of your own, transpose one side.",
    ),
    known(
        "op-shapes", r"Dimensions must be equal, but are (?P<got>\d+) and (?P<want>\d+) for",
        "An operation puts an axis of {got} together with one of {want}.",
        "The message ends with the shapes of both sides. The sizes must agree there, or one must be 1.",
    ),
    known(
        "op-shapes", r"(?:Incompatible shapes: (?P<got>\[[\d,]*\]) vs\. (?P<want>\[[\d,]*\])|required broadcastable shapes)",
        "Two tensors that are combined element by element have sizes that do not fit.",
        "Counted from the right, two axes must be equal or one of them 1.",
    ),
    # -- loss and labels
    known(
        "label-rank", r"(?:Arguments `target` and `output` must have the same (?:rank|shape).*?Received: target\.shape=" + _SHAPE.format("want") + r", output\.shape=" + _SHAPE.format("got") + r")",
        "The labels are ({want}) and the predictions ({got}): the loss compares them position by position.",
        "For class numbers use a sparse_categorical_crossentropy, for one-hot rows categorical_crossentropy. Where predictions keep inner axes, a Flatten or a global pooling is missing.",
    ),
    known(
        "integer-labels", r"Shapes " + _SHAPE.format("got") + r" and " + _SHAPE.format("want") + r" are incompatible",
        "Labels and predictions, or two tensors that are joined, are ({got}) and ({want}).",
        "At a categorical_crossentropy: class numbers need sparse_categorical_crossentropy. Else the number of units of the last layer must be that of the classes.",
    ),
    known(
        "label-rank", r"`?logits`? and `?labels`? must (?:have the same shape|be broadcastable|have the same first dimension)",
        "The loss got predictions and labels of shapes that do not belong together.",
        "Inner axes of the predictions must be gone (Flatten, global pooling) where there is one label a sample, and the labels must be class numbers or one-hot rows as the loss's name says.",
    ),
    known(
        "label-range", r"Received a label value of (?P<got>-?\d+) which is outside the valid range of \[(?P<low>\d+), (?P<high>\d+)\)",
        "A label says class {got}, and the last layer has units for classes {low} to {high} (the last not counted) only.",
        "Count classes from 0, and give the last layer one unit a class.",
    ),
    known(
        "embedding-range", r"indices\[[\d, ]+\] = (?P<got>-?\d+) is not in \[(?P<low>\d+), (?P<high>\d+)\)",
        "The number {got} was looked up in a table that has rows {low} to {high} (the last not counted) only.",
        "Make Embedding's input_dim one larger than the largest id. A TPU does not raise here: it reads another row.",
    ),
    known(
        "data-misfit", r"(?:Data cardinality is ambiguous|Make sure (?:that )?all arrays contain the same number of samples|All arrays must have the same number of samples)",
        "x, y and sample_weight have different numbers of rows.",
        "Each sample needs one row in each of them.",
    ),
    known(
        "data-misfit", r"(?:Failed to convert a NumPy array to a Tensor|setting an array element with a sequence|Unsupported object type (?:list|int|float))",
        "The array holds Python objects (rows of unequal length, or mixed types), which no tensor can.",
        "Pad the rows to one length, give them one dtype, or use tf.ragged.constant on the host.",
    ),
    known(
        "code-raises", r"maximum recursion depth exceeded",
        "Python stops at about 1,000 calls inside one another. Keras goes along a graph with one call a layer, so one chain of that many layers is too long; a function that calls itself for ever is, too.",
        "For a long chain: group layers into models of their own (blocks), or raise the limit with sys.setrecursionlimit(50_000) before the model is made. Otherwise look for the call that repeats.",
    ),
    known(
        "code-raises", r"cannot reshape array of size (?P<got>\d+) into shape (?P<want>\(?[\d, -]+\)?)",
        "NumPy has {got} numbers, and the shape {want} holds another number of them.",
        "Write -1 for one axis to have it worked out.",
    ),
    known(
        "hub-layer-in-keras-3", r"(?:Only instances of `keras\.Layer` can be added to a Sequential model\. Received: <tensorflow_hub|A KerasTensor (?:cannot be|is symbolic).{0,200}hub)",
        "hub.KerasLayer is a layer of tf_keras, and the model is one of Keras 3.",
        "Use tf_keras throughout, or keras.layers.TFSMLayer for inference.",
    ),
    known(
        "symbolic-tensor", r"A KerasTensor (?:cannot be used as input to a (?:TensorFlow|JAX) function|is symbolic: it's a placeholder)",
        "A TensorFlow function was called on a symbolic tensor of Keras 3, which has a shape and no values.",
        "Use keras.ops in place of tf there, or put the lines into the call of a Layer subclass.",
    ),
    # -- setting up a TPU
    known(
        "no-tpu", r"(?:Please provide a TPU Name to connect to|TPUs not found in the cluster|Op 'ConfigureDistributedTPU'|__inference__tpu_init_fn_\S+.{0,40} is neither a type of a primitive)",
        "The set-up found no TPU that this TensorFlow can use.",
        "On a Cloud TPU VM install tensorflow-tpu (2.20 is its last release) and type tpu='local'. On the TPU images of Colab and Kaggle TensorFlow does "
        'not see the TPU: KERAS_BACKEND=jax, and Keras 3 on JAX. To check a program without a TPU: tpushape.tpu_strategy("v5e-8").',
    ),
    known(
        "scope-outside", (
            r"'ResourceVariable' object has no attribute '_packed_variable'|must only be passed a variable created in this scope",
            r"Need to be inside \"with strategy\.scope\(\)\"|was not created in the distribution strategy scope",
        ),
        "The model, or a part of it, was made outside strategy.scope().",
        "Make model, optimizer and metrics, and call compile, inside one `with strategy.scope():`.",
    ),
    known(
        "optimizer-outside", r"Mixing different tf\.distribute\.Strategy objects",
        "Model and optimizer belong to different strategies: one of them was made outside the scope.",
        "Make both inside one `with strategy.scope():`, or name the optimizer by a string.",
    ),
    known(
        "optimizer-of-another-model", r"(?:Unknown variable: .{0,300}This optimizer can only be called for the variables it was originally built with|The optimizer cannot recognize variable)",
        "The optimizer was built for the variables of another model.",
        "Make a new optimizer for this model.",
    ),
    known(
        "metric-outside", r"Metric .{0,200}was created inside a different distribution strategy scope",
        "A metric was made outside the strategy's scope.",
        "Make it inside `with strategy.scope():`, or name it by a string.",
    ),
    known(
        "step-lambda", r"'cluster_<lambda>/pivot' is not a valid root scope name",
        "The tf.function around strategy.run was made of a lambda, and a TPU's program is named after it.",
        "Write it as a def.",
    ),
    known(
        "step-eager", r"TPUStrategy\.run\(fn, \.\.\.\) does not support pure eager execution",
        "strategy.run was called outside of a tf.function (compile(run_eagerly=True) does so too).",
        "Put @tf.function on the function that calls strategy.run, and leave run_eagerly out.",
    ),
    known(
        "next-in-step", r"next\(iterator\) should be called from outside of replica_fn",
        "next(iterator) stands inside the function that strategy.run calls.",
        "Take the batch outside and hand it over: strategy.run(step, args=(next(iterator),)).",
    ),
    known(
        "variable-argument", r"TPUStrategy\.run\(\) cannot handle Variables passed to \*args",
        "A variable was handed to strategy.run for a parameter *args.",
        "Name the parameter, or read the variable inside the step.",
    ),
    known(
        "variable-in-step", r"tf\.function only supports singleton tf\.Variables created on the first call",
        "The step makes a variable anew in every call.",
        "Make it once, before the step, inside the strategy's scope.",
    ),
    known(
        "loss-reduction", r"Please use `(?:tf\.)?keras\.losses\.Reduction\.SUM`|Reduction\.NONE` for loss reduction when losses are used with",
        "A loss object of tf_keras with its default reduction is called in a step of your own under a strategy.",
        'Make it with reduction="none" and use tf.nn.compute_average_loss(per_row, global_batch_size=...).',
    ),
    known(
        "mixed-float16", r"(?:Mixed precision is not supported with the tf\.distribute\.Strategy: TPUStrategy|Loss scaling is not supported with TPUStrategy)",
        "mixed_float16 is for GPUs.",
        "Use mixed_bfloat16, which needs no loss scaling.",
    ),
    # -- what a TPU takes
    known(
        "unknown-rank", r"input tensor .{0,200}to TPUStrategy\.run\(\) has unknown rank",
        "A tensor of the data has no known number of axes.",
        "Say it in the pipeline: tf.ensure_shape after a py_function, output_signature in from_generator, expand_animations=False in decode_image.",
    ),
    known(
        "composite-input", r"TPUStrategy does not support distributed datasets with device prefetch when using sparse or ragged tensors",
        "The data brings ragged or sparse tensors to the TPU.",
        "Make them dense in the pipeline: to_tensor, to_dense or padded_batch.",
    ),
    known(
        "string-input", r"(?:Unsupported data type for TPU: string|DT_STRING.{0,80}(?:XLA|TPU)|(?:XLA|TPU).{0,80}DT_STRING)",
        "Text reached the TPU, which has no strings.",
        "Turn text into numbers in dataset.map, where the host does it.",
    ),
    known(
        "tpu-kernel", r"(?:Detected unsupported operations when trying to compile graph|No registered '(?P<op>\w+)' OpKernel for (?:XLA_TPU_JIT|'?TPU))",
        "An operation of the step has no TPU kernel.",
        "Move it into dataset.map, where the host runs it, or replace it; the message names the operation and its line.",
    ),
    known(
        "python-pipeline", r"No registered 'PyFunc' OpKernel",
        "Python code (py_function, numpy_function, from_generator) was sent to a machine that does not run it.",
        "Write it with TensorFlow operations, or read TFRecords.",
    ),
    known(
        "shape-from-data", r"must be a compile-time constant",
        "A shape or an axis is computed from the data, and XLA compiles for sizes that it knows.",
        "Take the size from static shapes, or pad to a fixed size and mask.",
    ),
    known(
        "endless-loop-gradient", r"XLA compilation requires a fixed tensor list size",
        "The gradient of a loop keeps a value of each turn, and how many turns there are is not known.",
        "Give tf.while_loop maximum_iterations, or loop over tf.range(n).",
    ),
    known(
        "dynamic-unsupported", (
            r"Dynamic Spatial Convolution is not supported|Dynamic shape is not supported for non trivial window",
            r"Dynamic concatenation is not supported|CustomCall is not supported to have a dynamic dimension",
            r"Dynamic input dimension to reshape that is both splitted and combined|\w+ op does not support bounded dynamic dimension",
        ),
        "An operation was compiled for an axis of unknown size, which it does not take on a TPU.",
        "Make the size known: batch(..., drop_remainder=True), and fixed sizes of images or sequences.",
    ),
    known(
        "", r"Cannot create a tensor proto whose content is larger than 2GB|GraphDef(?:'s)? (?:cannot|can't) be larger than 2 ?GB",
        "A constant of 2 GiB or more was to become part of a graph: an array that the model or the step holds as it is.",
        "Hold it in a variable (Embedding, add_weight), or read it in the data's pipeline.",
    ),
    known(
        "int64-matmul", r"not contain X\{?64\|128\}?",
        "A matrix product of 64 bit integers, which TPUs have not.",
        "Cast to int32 or float32 first.",
    ),
    known(
        "hbm-oom", r"Attempting to reserve [\d.]+[KMG]B? at the bottom of memory",
        "The program compiles, and beside what lies in the device's memory already there is no piece of that size: batches on their way, other programs, gaps.",
        "Take a smaller batch: tpushape.fit_batch names the largest with room for what a run keeps; restart what else holds the device.",
    ),
    known(
        "hbm-oom", r"(?:CompileTimeHbmOom|Ran out of memory (?:on|in memory space) (?:HBM|hbm)|exceeds available HBM|Used [\d.]+[KMG] of [\d.]+[KMG] hbm|hbm: .{0,40}exceeded)",
        "The program needs more memory than one TPU core has.",
        "Take a smaller batch, mixed_bfloat16, or a larger slice; tpushape.fit_batch finds the largest batch that the compiler takes.",
    ),
    known(
        "shard-by-file", r"(?:Found an unshardable source dataset|Could not apply FILE based sharding)",
        "The data was to be shared among hosts by file, and there are too few files or none.",
        "Set the auto-shard policy DATA or OFF, or write more files.",
    ),
    known(
        "scope-unused", r"could not find registered transfer manager for platform Host",
        "Reported where a Keras 3 model on a TPU machine was made outside of strategy.scope(); what causes it was inferred and not verified on a TPU.",
        "Make model and compile inside `with strategy.scope():`; to train on the host all the same, compile with jit_compile=False.",
    ),
    known(
        "unbatched-dataset", r"Expected input data to be non-empty",
        "The dataset gives no batch at all: it is empty, or drop_remainder left nothing of fewer rows than one batch.",
        "Take a smaller batch, and look whether the files are found.",
    ),
    # -- JAX
    known(
        "mesh-batch", r"array axis (?P<axis>\d+) is partitioned (?P<want>\d+) times, but the dimension size is (?P<got>\d+)",
        "An axis of {got} is to be cut into {want} equal parts over the devices.",
        "For a batch: rows that are a multiple of the devices, and no smaller last batch. For a weight: another axis of the mesh in the layout.",
    ),
    known(
        "value-asked", (
            r"Attempted boolean conversion of traced array", r"Abstract tracer value encountered where concrete value is expected",
            r"The __index__\(\) method was called on traced array", r"conversion method __array__\(\) was called on traced array",
            r"Array boolean indices must be concrete",
        ),
        "Code looks at the value of a tensor while the step is compiled, and there is none yet.",
        "Compute with keras.ops or jax.numpy (ops.where, ops.cond), take sizes from x.shape, or compile(run_eagerly=True).",
    ),
    known(
        "item-assigned", r"JAX arrays are immutable and do not support in-place item assignment",
        "Code assigns an item of an array of JAX, and these never change.",
        "Write x = x.at[index].set(value), or choose with keras.ops.where.",
    ),
    known(
        "step-without-state", r"train_step\(\) takes 2 positional arguments but 3 were given",
        "train_step takes only the data; on JAX it is called with the state as well.",
        "Write train_step(self, state, data) and return (logs, state), or override compute_loss instead.",
    ),
    known(
        "op-shapes", r"dot_general requires contracting dimensions to have the same shape, got \((?P<got>\d+),\) and \((?P<want>\d+),\)",
        "A product adds up over an axis of {got} on one side and of {want} on the other.",
        "The last axis of the first must be as long as the first axis of the second.",
    ),
    known(
        "op-shapes", r"Incompatible shapes for broadcasting: shapes=(?P<got>\[[^\]]*\])",
        "Tensors of shapes {got} are combined element by element.",
        "Counted from the right, two axes must be equal or one of them 1.",
    ),
    known(
        "reshape-size", r"cannot reshape array of shape (?P<got>\([\d, ]*\)) \(size \d+\) into shape (?P<want>\([\d, -]*\))",
        "An array of {got} has another number of values than {want}.",
        "Write -1 for one axis to have it worked out, and leave the batch axis out of Reshape's target_shape.",
    ),
    known(
        "", r"(?:Array has been deleted with shape|Buffer has been deleted or donated)",
        "An array is used after it was handed to a compiled step that reuses its memory (a donated buffer).",
        "Keep what the step returns and not what went in; read a model's variables after fit, not through copies made before it.",
    ),
    known(
        "", r"UnexpectedTracerError|Encountered an unexpected tracer",
        "A tensor of a compiled step was kept outside of it, on self or in a global, and used later.",
        "Return it from the step, or keep it in a variable that Keras knows (add_weight, a metric).",
    ),
)  # fmt: skip


KNOWN: tuple[Known, ...] = (*_TODAY, *OLDER, *FAMILIES)


def meanings(text: str) -> Iterator[Meaning]:
    """What the known messages in a text mean, in the order in which they stand there; a rule speaks once."""
    found: dict[str, Meaning] = {}
    taken: list[tuple[int, int]] = []
    for one in KNOWN:
        if one.family and found:
            break
        match = one.pattern.search(_words(text) if one.family else text)
        if match is None or any(start < match.end() and match.start() < end for start, end in taken):
            continue
        taken.append(match.span())
        groups = {key: value.strip() for key, value in match.groupdict(default="").items()}
        said = " ".join(match[0].split())
        if one.family:
            said = _line(match)
        made = Meaning(one.rule, said, one.means.format(**groups), one.todo, match.start(), one.family)
        found.setdefault(one.rule, made)
    yield from sorted(found.values(), key=lambda meaning: meaning.start)


_RAISED = re.compile(r"^(?:E\s+)?[\w.]*(?:Error|Exception|Exhausted|Interrupt)\b", re.MULTILINE)


def _words(text: str) -> str:
    """What an exception says: of a whole traceback the part behind its frames, where code is quoted."""
    if 'File "' not in text and "Traceback" not in text and "---->" not in text:
        return text
    starts = [match.start() for match in _RAISED.finditer(text)]
    return text[starts[-1] :] if starts else text


def _line(match: re.Match[str]) -> str:
    """The line that a match stands in."""
    begin, end = match.string.rfind("\n", 0, match.start()) + 1, match.string.find("\n", match.start())
    return " ".join(match.string[begin : end if end != -1 else None].split())[:300]
