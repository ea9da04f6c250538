"""Renamed APIs: from Keras 2 to Keras 3, and from TensorFlow to ``keras.ops``."""

from __future__ import annotations

# Modules that are Keras, under the names that programs import it by.
KERAS = ("tensorflow.keras", "tf_keras", "tensorflow.compat.v2.keras", "tensorflow.python.keras", "keras")

# Where Keras 3 has a name; the longest that fits counts.
MOVED = {
    "keras.layers.experimental.preprocessing": "keras.layers",
    "keras.layers.experimental": "keras.layers",
    "keras.optimizers.legacy": "keras.optimizers",
    "keras.optimizers.experimental": "keras.optimizers",
    "keras.mixed_precision.experimental.set_policy": "keras.mixed_precision.set_global_policy",
    "keras.mixed_precision.experimental.Policy": "keras.mixed_precision.Policy",
    "keras.preprocessing.image_dataset_from_directory": "keras.utils.image_dataset_from_directory",
    "keras.experimental.CosineDecay": "keras.optimizers.schedules.CosineDecay",
    "keras.optimizers.schedules.CosineDecayRestarts": "keras.optimizers.schedules.CosineDecayRestarts",
    "keras.utils.multi_gpu_model": "",
    "keras.layers.ThresholdedReLU": "",
}
# The members of an enumeration that Keras 3 writes as strings.
REDUCTIONS = {"NONE": '"none"', "SUM": '"sum"', "SUM_OVER_BATCH_SIZE": '"sum_over_batch_size"', "AUTO": '"sum_over_batch_size"'}

# Arguments of methods and classes that Keras 3 does not take any more, and what stands for them.
DROPPED = {"fit": {"workers", "use_multiprocessing", "max_queue_size"}, "save": {"save_format"}, "compile": {"options"}}
RENAMED = {"lr": "learning_rate", "experimental_steps_per_execution": "steps_per_execution", "batch_input_shape": "batch_shape"}

# Operations of one tensor or several whose arguments mean the same in the same order; arguments by name, in keras.ops' words.
_SAME = "abs exp log sqrt square sin cos tan tanh floor round sign maximum minimum add subtract multiply divide pow matmul einsum reshape cast "
_SAME += "expand_dims squeeze stack where tile zeros ones zeros_like ones_like shape concat one_hot range sigmoid rsqrt equal "
_SAME += "greater less logical_and logical_or logical_not argmax argmin cumsum sort argsort roll"
_RENAMED = {
    "reduce_mean": "mean", "reduce_sum": "sum", "reduce_max": "max", "reduce_min": "min", "reduce_prod": "prod", "reduce_any": "any", "reduce_all": "all",
    "concat": "concatenate", "range": "arange", "pow": "power", "transpose": "transpose", "stop_gradient": "stop_gradient",
    "nn.relu": "relu", "nn.relu6": "relu6", "nn.elu": "elu", "nn.selu": "selu", "nn.gelu": "gelu", "nn.silu": "silu", "nn.swish": "silu",
    "nn.sigmoid": "sigmoid", "nn.softmax": "softmax", "nn.log_softmax": "log_softmax", "nn.softplus": "softplus", "nn.tanh": "tanh",
    "nn.leaky_relu": "leaky_relu", "nn.l2_normalize": "normalize", "math.reduce_mean": "mean", "math.reduce_sum": "sum", "math.reduce_max": "max",
    "math.l2_normalize": "normalize", "math.reduce_std": "std", "math.reduce_variance": "var", "math.reduce_logsumexp": "logsumexp",
    "linalg.matmul": "matmul", "clip_by_value": "clip", "sigmoid": "sigmoid",
}  # fmt: skip
OPS = {f"{place}{name}": name for name in _SAME.split() for place in ("", "math.")} | _RENAMED
ARGUMENTS = {
    "input_tensor": "x", "input": "x", "tensor": "x", "perm": "axes", "depth": "num_classes", "tensors": "xs", "values": "xs", "features": "x",
    "logits": "x", "a": "x1", "b": "x2", "clip_value_min": "x_min", "clip_value_max": "x_max", "multiples": "repeats", "indices": "x", "limit": "stop", "delta": "step",
}  # fmt: skip

# The program's way to its TPU, all of which JAX does by itself.
SETUP = (
    "tensorflow.distribute.cluster_resolver.TPUClusterResolver", "tensorflow.config.experimental_connect_to_cluster",
    "tensorflow.config.experimental_connect_to_host", "tensorflow.tpu.experimental.initialize_tpu_system",
    "tensorflow.tpu.experimental.shutdown_tpu_system", "tensorflow.config.optimizer.set_jit", "tensorflow.config.set_soft_device_placement",
    "tensorflow.compat.v1.disable_eager_execution",
)  # fmt: skip
STRATEGIES = (
    "tensorflow.distribute.TPUStrategy", "tensorflow.distribute.experimental.TPUStrategy", "tensorflow.distribute.get_strategy",
    "tensorflow.distribute.MirroredStrategy", "tensorflow.distribute.OneDeviceStrategy", "jupyter_tpushape.tpu_strategy",
)  # fmt: skip

# What of TensorFlow runs on the host, wherever it is written.
HOST = (
    "tensorflow.data.", "tensorflow.io.", "tensorflow.image.", "tensorflow.train.", "tensorflow.strings.", "tensorflow.audio.", "tensorflow.errors.",
    "tensorflow.Tensor", "tensorflow.TensorSpec", "tensorflow.RaggedTensor", "tensorflow.sparse.", "tensorflow.__version__", "tensorflow.get_logger",
    "tensorflow.config.", "tensorflow.test.", "tensorflow.print", "tensorflow.saved_model.", "tensorflow.summary.", "tensorflow.py_function",
    "tensorflow.numpy_function", "tensorflow.autograph.", "tensorflow.lookup.", "tensorflow.compat.as_", "tensorflow.TypeSpec",
)  # fmt: skip
