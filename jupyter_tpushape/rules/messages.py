"""Known messages of Keras, TensorFlow, XLA and TPUs, and the rule of each.

A message alone says less than the program, so ``means`` states only what the message's words and numbers imply.
Patterns come from the frameworks' texts and apply to every program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .messages_families import FAMILIES, OLDER, Known, known


@dataclass(frozen=True)
class Meaning:
    """The meaning of one message in a text."""

    rule: str
    said: str
    means: str
    todo: str
    start: int
    family: bool = False


_SHAPE = r"\(?\[?(?P<{}>[\d, ?None]*)\]?\)?"

# Specific entries first: if two match at the same position, the first one is used.
_TODAY: tuple[Known, ...] = (
    # -- Keras: layers and inputs
    known(
        "layer-rank", r"(?:expected|Expected) (?P<bound>min_|max_)?ndim=(?P<want>\d+), found ndim=(?P<got>\d+)",
        "A layer expects {want} dimensions, including the batch axis, but received {got}.",
        "Check the output of the layer before it. For too many dimensions, add Reshape, Flatten or global pooling there. For too few, add the missing axis to the data.",
    ),
    known(
        "layer-axis", r"expected axis (?P<axis>-?\d+) of input shape to have value (?P<want>\d+)",
        "The layer was built for size {want} on axis {axis}, but its input has a different size there.",
        "Pass the layer the size that it was built for, or build a new layer. If the input is the data, compare it with the declared input shape.",
    ),
    known(
        "input-structure", r"expects (?P<want>\d+) (?:named )?input\(s\).{0,2000}?, but it received (?P<got>\d+) input tensors",
        "The model declares {want} input(s), but the data has {got}.",
        "Pass one array per input, in a list or a dict: fit([a, b], y). fit reads a tuple as (x, y).",
    ),
    known(
        "input-axis", r"Input (?:\d+ of layer )?.{0,80}?is incompatible with the (?:layer|model): expected shape=" + _SHAPE.format("want") + r", found shape=" + _SHAPE.format("got"),
        "The model declares ({want}), but the data is ({got}). The first axis is the batch.",
        "If only a size differs, change the declared shape or the data. If the rank differs, add or remove an axis of the data.",
    ),
    known(
        "merge-shapes", (
            r"A `Concatenate` layer requires inputs with matching shapes|Inputs have incompatible shapes",
            r"[Oo]perands could not be broadcast together with shapes",
        ),
        "Merged branches have different shapes.",
        "Make the shapes equal before the merge: use the same strides and padding, a 1x1 convolution to change the channels, or pooling to change the size.",
    ),
    known(
        "axis-unknown", (
            r"The last dimension of the inputs to (?:a |an )?`?\w+`?(?: layer)? should be defined",
            r"Shapes used to initialize variables must be fully-defined",
        ),
        "A layer creates its weights from an axis whose size is not declared.",
        "Declare the size in keras.Input, or add a layer before it whose output size is fixed (global pooling instead of Flatten).",
    ),
    known(
        "window-too-large", r"(?:Negative dimension size caused by subtracting (?P<want>\d+) from (?P<got>\d+)|Computed output size would be (?:zero or )?negative|resulted in an empty output)",
        "A window (a convolution kernel or a pool) is larger than its input.",
        'Use padding="same", a smaller kernel, or fewer pooling layers before it.',
    ),
    known(
        "reshape-size", (
            r"The total size of the tensor must be unchanged",
            r"Cannot reshape a tensor with \d+ elements to shape",
            r"Input to reshape is a tensor with \d+ values, but the requested shape has \d+",
        ),
        "A reshape keeps the number of elements, but the requested shape has a different number.",
        "Use -1 for one axis to compute its size, and do not include the batch axis in Reshape's target_shape.",
    ),
    known(
        "op-shapes", r"Matrix size-incompatible: In\[0\]: (?P<got>\[[\d,]+\]), In\[1\]: (?P<want>\[[\d,]+\])",
        "A matrix product of {got} and {want}: the last dimension of the first must equal the first dimension of the second.",
        "In a built model, the data has a different number of features than the layer was built for. In custom code, transpose one operand.",
    ),
    known(
        "op-shapes", r"Dimensions must be equal, but are (?P<got>\d+) and (?P<want>\d+)(?: for)?",
        "An operation combines an axis of size {got} with one of size {want}.",
        "The message ends with the shapes of both operands. These sizes must be equal, or one must be 1.",
    ),
    known(
        "op-shapes", r"(?:Incompatible shapes: (?P<got>\[[\d,]*\]) vs\. (?P<want>\[[\d,]*\])|required broadcastable shapes)",
        "Two tensors in an element-wise operation have incompatible shapes.",
        "Shapes are aligned from the right; sizes must be equal or 1.",
    ),
    # -- loss and labels
    known(
        "label-rank", r"(?:Arguments `target` and `output` must have the same (?:rank|shape).{0,2000}?Received: target\.shape=" + _SHAPE.format("want") + r", output\.shape=" + _SHAPE.format("got") + r")",
        "The labels are ({want}) and the predictions ({got}), but the loss compares them position by position.",
        "For integer labels use sparse_categorical_crossentropy, for one-hot vectors categorical_crossentropy. If the predictions have inner axes, add Flatten or global pooling.",
    ),
    known(
        "integer-labels", r"Shapes " + _SHAPE.format("got") + r" and " + _SHAPE.format("want") + r" are incompatible",
        "Labels and predictions, or two tensors to combine, have the shapes ({got}) and ({want}).",
        "With categorical_crossentropy: use sparse_categorical_crossentropy for integer labels. Otherwise, the last layer needs one unit per class.",
    ),
    known(
        "label-rank", r"`?logits`? and `?labels`? must (?:have the same shape|be broadcastable|have the same first dimension)",
        "The loss received predictions and labels with incompatible shapes.",
        "With one label per sample, the predictions must have no inner axes: add Flatten or global pooling. Use integer labels for a sparse loss, and one-hot vectors for a categorical loss.",
    ),
    known(
        "label-range", r"Received a label value of (?P<got>-?\d+) which is outside the valid range of \[(?P<low>\d+), (?P<high>\d+)\)",
        "Label {got} is out of range: the valid classes start at {low} and end before {high}.",
        "Number the classes from 0, and give the last layer one unit per class.",
    ),
    known(
        "embedding-range", r"indices\[[\d, ]+\] = (?P<got>-?\d+) is not in \[(?P<low>\d+), (?P<high>\d+)\)",
        "Id {got} is out of range: the valid ids start at {low} and end before {high}.",
        "Set Embedding's input_dim to the largest id plus 1. A TPU raises no error here: it reads a different row.",
    ),
    known(
        "data-misfit", r"(?:Data cardinality is ambiguous|Make sure (?:that )?all arrays contain the same number of samples|All arrays must have the same number of samples)",
        "x, y and sample_weight have different numbers of samples.",
        "Each sample needs one row in each of them.",
    ),
    known(
        "data-misfit", r"(?:Failed to convert a NumPy array to a Tensor|setting an array element with a sequence|Unsupported object type (?:list|int|float))",
        "The array contains Python objects (rows of unequal length, or mixed types), which cannot be converted to a tensor.",
        "Pad the rows to one length, convert them to one dtype, or use tf.ragged.constant on the host.",
    ),
    known(
        "code-raises", r"maximum recursion depth exceeded",
        "Python allows about 1,000 nested calls. Keras makes one nested call per layer, so a chain of that many layers exceeds the limit. So does a function that calls itself without end.",
        "For a long chain, group layers into separate models (blocks), or raise the limit with sys.setrecursionlimit(50_000) before you build the model. Otherwise, look for the call that repeats.",
    ),
    known(
        "code-raises", r"cannot reshape array of size (?P<got>\d+) into shape (?P<want>\(?[\d, -]+\)?)",
        "NumPy cannot reshape {got} values to {want}.",
        "Use -1 for one axis to compute its size.",
    ),
    known(
        "hub-layer-in-keras-3", r"(?:Only instances of `keras\.Layer` can be added to a Sequential model\. Received: <tensorflow_hub|A KerasTensor (?:cannot be|is symbolic).{0,200}hub)",
        "hub.KerasLayer is a tf_keras layer, but the model is a Keras 3 model.",
        "Use tf_keras throughout, or keras.layers.TFSMLayer for inference.",
    ),
    known(
        "symbolic-tensor", r"A KerasTensor (?:cannot be used as input to a (?:TensorFlow|JAX) function|is symbolic: it's a placeholder)",
        "A TensorFlow function was called on a symbolic Keras 3 tensor, which has a shape but no values.",
        "Use keras.ops instead of tf there, or move the code into the call method of a custom layer.",
    ),
    # -- setting up a TPU
    known(
        "no-tpu", r"(?:Please provide a TPU Name to connect to|TPUs not found in the cluster|Op 'ConfigureDistributedTPU'|__inference__tpu_init_fn_\S+.{0,40} is neither a type of a primitive)",
        "The setup found no TPU that this TensorFlow can use.",
        "On a Cloud TPU VM, install tensorflow-tpu (2.20 is its last release) with libtpu 0.0.14, and use tpu='local'. On Colab and Kaggle, TensorFlow does "
        'not see the TPU: set KERAS_BACKEND=jax and use Keras 3 on JAX. To check a program without a TPU, use tpushape.tpu_strategy("v5e-8").',
    ),
    known(
        "scope-outside", (
            r"'ResourceVariable' object has no attribute '_packed_variable'|must only be passed a variable created in this scope",
            r"Need to be inside \"with strategy\.scope\(\)\"|was not created in the distribution strategy scope",
        ),
        "The model, or a part of it, was created outside strategy.scope().",
        "Create the model, optimizer and metrics, and call compile, inside one `with strategy.scope():`.",
    ),
    known(
        "optimizer-outside", r"Mixing different tf\.distribute\.Strategy objects",
        "The model and the optimizer belong to different strategies: one of them was created outside the scope.",
        "Create both inside one `with strategy.scope():`, or pass the optimizer's name as a string.",
    ),
    known(
        "optimizer-of-another-model", r"(?:Unknown variable: .{0,300}This optimizer can only be called for the variables it was originally built with|The optimizer cannot recognize variable)",
        "The optimizer was built for the variables of another model.",
        "Create a new optimizer for this model.",
    ),
    known(
        "metric-outside", r"Metric .{0,200}was created inside a different distribution strategy scope",
        "A metric was created outside the strategy's scope.",
        "Create it inside `with strategy.scope():`, or pass its name as a string.",
    ),
    known(
        "step-lambda", r"'cluster_<lambda>/pivot' is not a valid root scope name",
        "The tf.function that calls strategy.run wraps a lambda, whose name is not a valid name for a TPU program.",
        "Define the function with def.",
    ),
    known(
        "step-eager", r"TPUStrategy\.run\(fn, \.\.\.\) does not support pure eager execution",
        "strategy.run was called outside a tf.function (compile(run_eagerly=True) does this too).",
        "Decorate the function that calls strategy.run with @tf.function, and remove run_eagerly.",
    ),
    known(
        "next-in-step", r"next\(iterator\) should be called from outside of replica_fn",
        "next(iterator) is called inside the function that strategy.run calls.",
        "Get the batch outside and pass it: strategy.run(step, args=(next(iterator),)).",
    ),
    known(
        "variable-argument", r"TPUStrategy\.run\(\) cannot handle Variables passed to \*args",
        "strategy.run passed a variable to a function that takes *args.",
        "Use a named parameter, or read the variable inside the step.",
    ),
    known(
        "variable-in-step", r"tf\.function only supports singleton tf\.Variables created on the first call",
        "The step creates a variable in every call.",
        "Create it once, before the step, inside the strategy's scope.",
    ),
    known(
        "loss-reduction", r"Please use `(?:tf\.)?keras\.losses\.Reduction\.SUM`|Reduction\.NONE` for loss reduction when losses are used with",
        "A tf_keras loss object with its default reduction is called in a custom step under a strategy.",
        'Set reduction="none" and use tf.nn.compute_average_loss(per_row, global_batch_size=...).',
    ),
    known(
        "mixed-float16", r"(?:Mixed precision is not supported with the tf\.distribute\.Strategy: TPUStrategy|Loss scaling is not supported with TPUStrategy)",
        "mixed_float16 is for GPUs.",
        "Use mixed_bfloat16, which needs no loss scaling.",
    ),
    # -- what a TPU takes
    known(
        "unknown-rank", r"input tensor .{0,200}to TPUStrategy\.run\(\) has unknown rank",
        "The rank of a tensor in the data is unknown.",
        "Set it in the pipeline: tf.ensure_shape after a py_function, output_signature in from_generator, expand_animations=False in decode_image.",
    ),
    known(
        "composite-input", r"TPUStrategy does not support distributed datasets with device prefetch when using sparse or ragged tensors",
        "The data has ragged or sparse tensors, which TPUs do not support.",
        "Convert them to dense tensors in the pipeline: to_tensor, to_dense or padded_batch.",
    ),
    known(
        "string-input", r"(?:Unsupported data type for TPU: string|DT_STRING.{0,80}(?:XLA|TPU)|(?:XLA|TPU).{0,80}DT_STRING)",
        "Text reached the TPU, which does not support strings.",
        "Convert text to numbers in dataset.map, which runs on the host.",
    ),
    known(
        "tpu-kernel", r"(?:Detected unsupported operations when trying to compile graph|No registered '(?P<op>\w+)' OpKernel for (?:XLA_TPU_JIT|'?TPU))",
        "An operation of the step has no TPU kernel.",
        "Move it into dataset.map, where the host runs it, or replace it. The message names the operation and its line.",
    ),
    known(
        "python-pipeline", r"No registered 'PyFunc' OpKernel",
        "Python code (py_function, numpy_function, from_generator) was sent to a device that cannot run it.",
        "Use TensorFlow operations instead, or read TFRecord files.",
    ),
    known(
        "shape-from-data", r"must be a compile-time constant",
        "A shape or an axis is computed from the data, but XLA must know sizes at compile time.",
        "Take the size from static shapes, or pad to a fixed size and mask.",
    ),
    known(
        "endless-loop-gradient", r"XLA compilation requires a fixed tensor list size",
        "The gradient of a loop stores values of every iteration, but the number of iterations is unknown.",
        "Pass maximum_iterations to tf.while_loop, or loop over tf.range(n).",
    ),
    known(
        "dynamic-unsupported", (
            r"Dynamic Spatial Convolution is not supported|Dynamic shape is not supported for non trivial window",
            r"Dynamic concatenation is not supported|CustomCall is not supported to have a dynamic dimension",
            r"Dynamic input dimension to reshape that is both splitted and combined|(?<!\w)\w+ op does not support bounded dynamic dimension",
        ),
        "An operation was compiled for an axis of unknown size, which it does not support on a TPU.",
        "Make the size static: use batch(..., drop_remainder=True), and one size for all images or sequences.",
    ),
    known(
        "", r"Cannot create a tensor proto whose content is larger than 2GB|GraphDef(?:'s)? (?:cannot|can't) be larger than 2 ?GB",
        "The graph contains a constant of 2 GiB or more: an array that the model or the step uses directly.",
        "Store it in a variable (Embedding, add_weight), or read it in the data pipeline.",
    ),
    known(
        "int64-matmul", r"not contain X\{?64\|128\}?",
        "TPUs do not support int64 matrix multiplication.",
        "Cast to int32 or float32 first.",
    ),
    known(
        "hbm-oom", r"Attempting to reserve [\d.]+[KMG]B? at the bottom of memory",
        "The program compiles, but the device has no free block of that size: prefetched batches, other programs and fragmentation use memory too.",
        "Use a smaller batch: tpushape.fit_batch finds the largest one that leaves memory for a run. Restart other programs that use the device.",
    ),
    known(
        "hbm-oom", r"(?:CompileTimeHbmOom|Ran out of memory (?:on|in memory space) (?:HBM|hbm)|exceeds available HBM|Used [\d.]+[KMG] of [\d.]+[KMG] hbm|hbm: .{0,40}exceeded)",
        "The program needs more memory than one TPU core has.",
        "Use a smaller batch, mixed_bfloat16, or a larger slice. tpushape.fit_batch finds the largest batch that compiles.",
    ),
    known(
        "shard-by-file", r"(?:Found an unshardable source dataset|Could not apply FILE based sharding)",
        "The dataset is set to shard by file over the hosts, but there are too few files or none.",
        "Set the auto-shard policy to DATA or OFF, or write more files.",
    ),
    known(
        "scope-unused", r"could not find registered transfer manager for platform Host",
        "Reported by users for a Keras 3 model created outside strategy.scope() on a TPU machine. The cause is inferred and not verified on a TPU.",
        "Build and compile the model inside `with strategy.scope():`. To train on the host instead, compile with jit_compile=False.",
    ),
    known(
        "unbatched-dataset", r"Expected input data to be non-empty",
        "The dataset has no batches: it is empty, or drop_remainder dropped its only batch.",
        "Use a smaller batch size, and check that the files are found.",
    ),
    # -- JAX
    known(
        "mesh-batch", r"array axis (?P<axis>\d+) is partitioned (?P<want>\d+) times, but the dimension size is (?P<got>\d+)",
        "An axis of size {got} cannot be sharded into {want} equal parts over the devices.",
        "For a batch, use a batch size that is a multiple of the devices, and drop a smaller last batch. For a weight, use a different mesh axis in the layout.",
    ),
    known(
        "value-asked", (
            r"Attempted boolean conversion of traced array", r"Abstract tracer value encountered where concrete value is expected",
            r"The __index__\(\) method was called on traced array", r"conversion method __array__\(\) was called on traced array",
            r"Array boolean indices must be concrete",
        ),
        "Code needs the value of a tensor while the step is compiled, but there are no values yet.",
        "Compute with keras.ops or jax.numpy (ops.where, ops.cond), take sizes from x.shape, or use compile(run_eagerly=True).",
    ),
    known(
        "item-assigned", r"JAX arrays are immutable and do not support in-place item assignment",
        "Code assigns to an item of a JAX array, but JAX arrays are immutable.",
        "Use x = x.at[index].set(value), or keras.ops.where.",
    ),
    known(
        "step-without-state", r"train_step\(\) takes 2 positional arguments but 3 were given",
        "train_step takes only the data, but JAX also passes the state.",
        "Define train_step(self, state, data) and return (logs, state), or override compute_loss instead.",
    ),
    known(
        "op-shapes", r"dot_general requires contracting dimensions to have the same shape, got \((?P<got>\d+),\) and \((?P<want>\d+),\)",
        "A product sums over an axis of size {got} in one operand and of size {want} in the other.",
        "The last dimension of the first operand must equal the first dimension of the second.",
    ),
    known(
        "op-shapes", r"Incompatible shapes for broadcasting: shapes=(?P<got>\[[^\]]*\])",
        "Tensors of shapes {got} cannot be broadcast together.",
        "Shapes are aligned from the right; sizes must be equal or 1.",
    ),
    known(
        "reshape-size", r"cannot reshape array of shape (?P<got>\([\d, ]*\)) \(size \d+\) into shape (?P<want>\([\d, -]*\))",
        "An array of shape {got} cannot be reshaped to {want}, which has a different number of values.",
        "Use -1 for one axis to compute its size, and do not include the batch axis in Reshape's target_shape.",
    ),
    known(
        "", r"(?:Array has been deleted with shape|Buffer has been deleted or donated)",
        "An array is used after it was passed to a compiled step that reuses its memory (a donated buffer).",
        "Use the arrays that the step returns, not those passed to it. Read a model's variables after fit, not from references taken before it.",
    ),
    known(
        "", r"UnexpectedTracerError|Encountered an unexpected tracer",
        "A tensor of a compiled step was stored outside it, on self or in a global, and used later.",
        "Return it from the step, or store it in a variable that Keras tracks (add_weight, a metric).",
    ),
)  # fmt: skip


KNOWN: tuple[Known, ...] = (*_TODAY, *OLDER, *FAMILIES)


def meanings(text: str) -> Iterator[Meaning]:
    """The meanings of the known messages in a text, in order of position; one per rule."""
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
    if 'File "' not in text and "Traceback" not in text and "---->" not in text:
        return text
    starts = [match.start() for match in _RAISED.finditer(text)]
    return text[starts[-1] :] if starts else text


def _line(match: re.Match[str]) -> str:
    begin, end = match.string.rfind("\n", 0, match.start()) + 1, match.string.find("\n", match.start())
    return " ".join(match.string[begin : end if end != -1 else None].split())[:300]
