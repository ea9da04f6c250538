"""Ideas: fixes that cannot be tried here, each with the reason."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from ..examine.evidence import Evidence
from ..flow import Finding, elements, show_shape
from ..flow.paths import show
from ..rules.facts.contracts import ShapeLost
from ..rules.facts.data import ClassesAsWeights, Refused
from ..rules.facts.entry import FeaturesWanted
from ..rules.facts.loss_silent import NoLabels
from ..rules.facts.tpu_ops import NoKernel
from ..rules.facts.tpu_steps import GradientScale
from ..rules.words import listed
from .makers.filled import parts_joined
from .makers.line import lines_of, short
from .text.keras_ops import spelled

Ideas = Iterator[tuple[str, str]]


def _labels(evidence: Evidence) -> Ideas:
    outputs, labels = evidence.outputs, evidence.y
    if labels and 1 <= len(labels) < len(outputs):
        known = [node.name for node in evidence.flow.nodes if node.kind == "output"]
        shown = known if len(known) == len(outputs) else [show(path) for path, _ in outputs]
        names = ", ".join(f"{name} {show_shape(spec.shape)}" for name, (_, spec) in zip(shown, outputs, strict=True))
        yield (
            f"Provide labels for every output, in this order: {names}",
            f"Not tried: the data has labels for {len(labels)} of {len(outputs)} outputs, and tpushape cannot create the others.",
        )
        yield (
            "Or train only the outputs that have labels: build a model that ends in them, and compile it",
            "Not tried: tpushape cannot tell which outputs you need.",
        )


def _inputs(evidence: Evidence) -> Ideas:
    declared, given = evidence.declared or [], evidence.x
    if len(given) < len(declared):
        names = ", ".join(f"{evidence.doors[path].word} {show_shape(spec.shape)}" for path, spec in declared)
        yield f"Provide an array for every input, in this order: {names}", "Not tried: tpushape cannot create data."
    elif declared and len(given) > len(declared):
        yield (
            f"Remove the data that the model does not take: it has {len(declared)} input{'s' * (len(declared) > 1)}, but the data has {len(given)} arrays",
            "Not tried: tpushape cannot tell which arrays you meant.",
        )


def _rows(evidence: Evidence) -> Ideas:
    declared = [spec for _, spec in evidence.declared or [] if spec.shape is not None]
    whole = [leaf for _, leaf in (evidence.sample.leaves("x") if evidence.sample is not None else ())]
    ranks = [len(leaf.shape) for leaf in whole if leaf.shape is not None]
    if declared and ranks and len(ranks) == len(declared) and all(a == len(b.shape or ()) - 1 for a, b in zip(ranks, declared, strict=True)):
        yield ("Keep the batch axis where the data is created: x[:1] instead of x[0], or x[None]", "Not tried: x has no batch axis, but the labels have one.")
    else:
        yield ("Build every array from the same samples, one row per sample", "Not tried: tpushape cannot tell which rows belong to the same sample.")


def _own_loss(evidence: Evidence) -> Ideas:
    node = evidence.failed
    ends = [spec.shape for _, spec in (*evidence.y, *evidence.outputs)]
    if node is None or node.kind != "op" or len(ends) != 2 or not ends[0] or not ends[1] or ends[0] not in (ends[1], ends[1][:-1]):
        return
    shapes = [edge.spec.shape for edge in evidence.failed_inputs()]
    ranks = {len(shape) for shape in shapes if shape is not None}
    if len(shapes) == len(ranks) == 2:
        where = f" at {node.called}" if node.called is not None else ""
        yield (
            f"Give both operands of {node.op}{where} the same rank: they are {show_shape(shapes[0])} and {show_shape(shapes[1])}",
            "Not tried: tpushape cannot tell which axis your function meant.",
        )


def _joined_rows(evidence: Evidence) -> Ideas:
    for line in lines_of(evidence)[:1] if evidence.failed is not None else ():
        shaped = line.shaped() if line.call() is not None else []
        for (_, shape), (other, its) in itertools.permutations(shaped, 2):
            parts = parts_joined(line, other)
            if len(parts) > 1 and shape[:1] != its[:1] and (shape[0] or 0) * len(parts) == its[0]:
                names = ", ".join(f"labels of {short(part)}" for part in parts)
                join = "concat" if spelled() == "tf" else "concatenate"
                yield (
                    f"Join the labels as the samples are: {spelled()}.{join}([{names}], axis=0)",
                    "Not tried: tpushape cannot tell which label each part has.",
                )


def _same_count(evidence: Evidence) -> Ideas:
    """One shape for both arguments of a custom function, if they have the same number of values."""
    if len(evidence.y) != 1 or len(evidence.outputs) != 1:
        return
    y, p = evidence.y[0][1].shape, evidence.outputs[0][1].shape
    if y is None or p is None or y == p or elements(y) is None or elements(y) != elements(p):
        return
    yield (
        (
            f"Reshape the labels to the predictions' shape in your function: y_true = {spelled()}.reshape(y_true, {spelled()}.shape(y_pred)), {show_shape(y)} to {show_shape(p)}"
        ),
        "Not tried: tpushape cannot tell whether the values are in the same order.",
    )


def _class_weights(fact: ClassesAsWeights) -> Ideas:
    yield (f"Weight each label by its class: {fact.each} instead of weights", "Not tried: tpushape cannot tell which class each weight is for.")


def _metric(evidence: Evidence) -> Ideas:
    y = {spec.shape for _, spec in evidence.y}
    if y and not y & {spec.shape for _, spec in evidence.outputs}:
        yield (
            "Compare labels and predictions of the same shape in the metric, or remove the metric",
            "Not tried: tpushape cannot tell what the metric should measure.",
        )


def _own_labels(evidence: Evidence, fact: NoLabels) -> Ideas:
    if fact.alike:
        how = "ds.map(lambda x: (x, x))" if evidence.sample is not None and evidence.sample.kind == "dataset" else "yield x, x"
        yield f"Use each batch as its own labels: {how}", "Not tried: tpushape cannot tell whether the model should reproduce its inputs."


_BY_PROGRAM: dict[str, tuple[Callable[[Evidence], Ideas], ...]] = {
    "label-rank": (_labels,),
    "loss-raises": (_labels, _joined_rows, _own_loss, _same_count),
    "batch-broadcast": (_same_count,),
    "metric-raises": (_metric,),
    "output-names": (_labels,),
    "loss-broadcast": (_labels,),
    "input-structure": (_inputs,),
    "data-misfit": (_rows,),
}
_KERNEL = (
    "Move it into the pipeline, which runs on the host: ds.map(lambda x, y: (f(x), y))",
    "Not tried: the code is inside the model, and tpushape cannot tell what it needs from the model.",
)
_TEXT = (
    "Convert the text to numbers in the pipeline: call an adapted TextVectorization or StringLookup in ds.map",
    "Not tried: tpushape does not know the vocabulary.",
)
_CATEGORIES = "Not tried: tpushape cannot tell whether the categories have an order. With one column for each category, the model's input becomes wider."
_STEP = "Not tried: tpushape does not edit custom training steps. Trace the step again after the change."


def _average(evidence: Evidence, finding: Finding) -> Ideas:
    batch = evidence.split.batch if evidence.split is not None else None
    size = f"global_batch_size={batch}" if batch else "global_batch_size=..."
    fact = finding.fact
    if not isinstance(fact, GradientScale):
        return
    if fact.times < 1:
        yield "Divide only once: remove one of the two divisions by the number of replicas", _STEP
    elif fact.by == "mask":
        yield ("Divide by the mask's sum over all replicas: tf.distribute.get_replica_context().all_reduce('sum', tf.reduce_sum(mask))", _STEP)
    else:
        yield f"Keep one loss per sample and average over the global batch: tf.nn.compute_average_loss(losses, {size})", _STEP
        if evidence.framework == "keras":
            yield ("Or call a loss object of Keras 3, which divides by the number of replicas itself", _STEP)


_BY_RULE = {
    "regularization-scale": ("Wrap it: tf.nn.scale_regularization_loss(the loss of the weights)", _STEP),
    "tpu-kernel": _KERNEL,
    "tpu-kernel-dtype": _KERNEL,
    "mesh-hosts": (
        "Give each host its own rows (jax.process_index()), and set auto_shard_dataset=False on the distribution",
        "Not tried: tpushape cannot tell which rows each host reads.",
    ),
    "endless-loop-gradient": ("Pass maximum_iterations=N to the loop", "Not tried: tpushape cannot tell how many iterations are enough."),
    "shape-from-data": (
        "Take the size from a shape ({ops}.shape(x), x.shape), or use a fixed maximum size and mask the rest",
        "Not tried: tpushape cannot tell how large the size can become.",
    ),
    "string-input": _TEXT,
    "input-dtype": _TEXT,
    "colour-masks": (
        "Replace each color by its class index: (masks[..., None, :] == colors).all(-1).argmax(-1), with one row of colors per class",
        "Not tried: tpushape cannot tell which color is which class.",
    ),
}


def ideas(evidence: Evidence, finding: Finding) -> list[tuple[str, str]]:
    """``(title, why it is not verified)`` for a finding without a verified fix."""
    if finding.rule == "gradient-scale":
        return list(_average(evidence, finding))
    if isinstance(finding.fact, ClassesAsWeights):
        return list(_class_weights(finding.fact))
    if isinstance(finding.fact, FeaturesWanted):
        base = finding.fact.base
        return [(f"Pass the data through {base} first: {base}.predict(x)", f"Not tried: {base} would have to run on all of the data.")]
    if isinstance(finding.fact, ShapeLost):
        return [("Set the shape where the function is called: tf.ensure_shape(result, ...)", "Not tried: tpushape does not run the function.")]
    if isinstance(finding.fact, NoKernel) and finding.fact.within is not None:
        metric = f"Compute {finding.fact.within.name} from model.predict in a callback, after each epoch"
        own = f"Write {finding.fact.within.name} with operations that TPUs support"
        why = "Not tried: tpushape cannot tell what the function computes."
        return [(metric, why)] * (finding.fact.within.kind == "metric") + [(own, why)]
    if isinstance(finding.fact, NoLabels):
        return list(_own_labels(evidence, finding.fact))
    if getattr(finding.fact, "fault", "") == "numbers":
        return [("Pass the text, or leave out the layer that converts it", "Not tried: tpushape cannot tell whether the ids are those of the layer.")]
    if isinstance(finding.fact, Refused) and finding.fact.columns and not finding.fact.dtype:
        columns = f"column{'s' * (len(finding.fact.columns) > 1)} {listed(tuple(map(str, finding.fact.columns)))}"
        return [(f"Convert the text in {columns} to numbers before the array is made, such as with pandas.get_dummies", _CATEGORIES)]
    if finding.rule == "data-misfit" and not getattr(finding.fact, "counts", ()):
        return []  # what rows belong together is no question where the numbers of rows agree
    found = [idea for make in _BY_PROGRAM.get(finding.rule, ()) for idea in make(evidence)]
    if found or finding.rule not in _BY_RULE:
        return found
    title, reason = _BY_RULE[finding.rule]
    return [(title.replace("{ops}", spelled()), reason)]
