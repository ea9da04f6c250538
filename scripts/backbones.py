"""Traces the backbones of keras_hub on JAX, with random weights and tiny configurations, and compares their outputs with ``jax.eval_shape``.

keras_hub asks for TensorFlow, so it stands in a folder of its own: ``pip install --no-deps --target DIR keras-hub kagglehub kagglesdk regex tqdm ...``,
then ``PYTHONPATH=DIR KERAS_BACKEND=jax python scripts/backbones.py [NAME ...]``.
"""

from __future__ import annotations

import os
import sys
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import keras_hub
import numpy as np

import jupyter_tpushape as tpushape

TEXT = {"vocabulary_size": 50, "num_layers": 2, "hidden_dim": 8, "intermediate_dim": 16}
HEADS = {**TEXT, "num_heads": 2}
SHORT = {**HEADS, "max_sequence_length": 12}
GROUPED = {**TEXT, "num_query_heads": 4, "num_key_value_heads": 2}
IMAGE = {"image_shape": (32, 32, 3)}
PATCHES = {**IMAGE, "patch_size": 8, "num_layers": 2, "num_heads": 2, "hidden_dim": 16}
TINY: dict[str, dict[str, Any]] = {
    "Albert": {**SHORT, "embedding_dim": 8}, "Bart": SHORT, "Bert": SHORT, "Bloom": HEADS, "DebertaV3": {**SHORT, "bucket_size": 4}, "DistilBert": SHORT,
    "ESM2": HEADS, "Falcon": {**TEXT, "num_attention_heads": 2}, "FNet": {**TEXT, "max_sequence_length": 12}, "GPT2": SHORT,
    "GPTNeoX": {**HEADS, "hidden_dim": 32}, "Gemma": {**GROUPED, "hidden_dim": 16, "head_dim": 4}, "Llama": GROUPED, "Llama3": GROUPED,
    "Gemma3": {**GROUPED, "num_layers": 6, "head_dim": 4, "image_size": None, "query_head_dim_normalize": True, "vision_encoder": None},
    "Mistral": {**GROUPED, "sliding_window": 4}, "Mixtral": {**GROUPED, "num_experts": 2, "top_k": 2}, "OPT": SHORT, "Phi3": GROUPED, "Qwen": GROUPED,
    "Qwen3": {**GROUPED, "head_dim": 4}, "Roberta": SHORT, "RoformerV2": {**HEADS, "head_size": 4}, "T5": HEADS, "XLMRoberta": SHORT, "XLNet": HEADS,
    "QwenMoe": {**GROUPED, "moe_intermediate_dim": 8, "shared_expert_intermediate_dim": 8, "num_experts": 4, "top_k": 2},
    "Whisper": {**HEADS, "num_mels": 8, "max_encoder_sequence_length": 12, "max_decoder_sequence_length": 12},
    "DINOV2": {**PATCHES, "intermediate_dim": 32}, "DeiT": {**PATCHES, "intermediate_dim": 32}, "ViT": {**PATCHES, "mlp_dim": 32},
    "DenseNet": {**IMAGE, "stackwise_num_repeats": [2, 2]}, "VGG": {**IMAGE, "stackwise_num_repeats": [1, 1], "stackwise_num_filters": [4, 8]},
    "ResNet": {**IMAGE, "input_conv_filters": [64], "input_conv_kernel_sizes": [3], "stackwise_num_filters": [64, 64], "stackwise_num_blocks": [1, 1],
               "stackwise_num_strides": [1, 2], "block_type": "basic_block"},
    "MiT": {**IMAGE, "num_layers": 2, "layerwise_depths": [1, 1], "layerwise_num_heads": [1, 2], "layerwise_sr_ratios": [8, 4], "max_drop_path_rate": 0.1,
            "layerwise_patch_sizes": [7, 3], "layerwise_strides": [4, 2], "hidden_dims": [8, 16]},
    "Xception": {"image_shape": (71, 71, 3), "stackwise_conv_filters": [[8, 8], [16, 16]], "stackwise_pooling": [True, False]},
}  # fmt: skip


def spec(tensor: Any) -> Any:
    """Two samples of twelve steps, where the model leaves a size open."""
    sizes = [2 if axis == 0 else 12 if size is None else size for axis, size in enumerate(tensor.shape)]
    return jax.ShapeDtypeStruct(tuple(sizes), tensor.dtype)


def judged(name: str) -> str:
    """What a trace of one backbone says, and whether its outputs have the shapes that JAX computes."""
    model = getattr(keras_hub.models, f"{name}Backbone")(**TINY[name])
    x = keras.tree.map_structure(spec, model.input)
    report = tpushape.trace(model, (keras.tree.map_structure(lambda one: np.zeros(one.shape, str(one.dtype)), x), None), tpu=None)
    held = [[one.value for one in group] for group in (model.trainable_variables, model.non_trainable_variables)]
    wanted = jax.tree_util.tree_leaves(jax.eval_shape(lambda *given: model.stateless_call(*given)[0], *held, x))
    flow = report.flow
    found = [edge.spec.shape for node in flow.nodes if node.kind == "output" for edge in flow.into(node.id)]
    same = sorted(found) == sorted(one.shape for one in wanted)
    said = "; ".join(f"{finding.rule}: {finding.message}" for finding in report.findings if finding.serious)
    return f"{'the same shapes' if same else 'other shapes'}, {said or 'nothing serious'}"


def main() -> None:
    for name in sys.argv[1:] or TINY:
        print(f"{name}: {judged(name)}", flush=True)


if __name__ == "__main__":
    main()
