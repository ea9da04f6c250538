"""The parts of jaxlib that compile for a TPU without one. Nothing else imports it, and only the worker calls what does.

jaxlib is jax's lower half and stands without jax: where jax is installed TensorFlow imports it by itself, and it would be in the
user's kernel. The two versions are pinned together: jaxlib carries no promise between releases. :func:`check` says in one
line what does not fit.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

PINS = {"jaxlib": "0.10.2", "libtpu": "0.0.51"}
INSTALL = "tpushape compiler install"
# XLA's optimization levels: 9 is the least (O0), 0 leaves the compiler its default.
EFFORTS = {"quick": 9, "full": 0}
# How hard it tries to make a program fit: O2, which is what jax asks for.
FITTING = 29
# What libtpu is told: there is no metadata server to ask, and others may have it loaded too.
ENVIRONMENT = {
    "TPU_SKIP_MDS_QUERY": "1", "TPU_ACCELERATOR_TYPE": "v5litepod-8", "TPU_WORKER_HOSTNAMES": "localhost", "TPU_WORKER_ID": "0",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1",
    # Flags that are meant for another XLA would end the worker: it knows its own only.
    "XLA_FLAGS": "", "LIBTPU_INIT_ARGS": "",
}  # fmt: skip


def home() -> Path | None:
    """The folder that holds jaxlib and libtpu for the worker alone, where there is one; else they are this environment's own, if it has them."""
    return next((folder for folder in _folders() if (folder / "jaxlib").is_dir()), None)


def _folders() -> list[Path]:
    """``TPUSHAPE_COMPILER``, or else what ``tpushape compiler install`` made, and ``share/jupyter_tpushape/compiler`` of this environment."""
    named = os.environ.get("TPUSHAPE_COMPILER")
    return [Path(named)] if named else [own(), Path(sys.prefix, "share", "jupyter_tpushape", "compiler")]


def own() -> Path:
    """The folder in the user's cache, by the versions in it and by Python's, so that none is taken for another."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parts = [f"{name}-{pin}" for name, pin in PINS.items()]
    return cache / "jupyter_tpushape" / "compiler" / "-".join([*parts, f"cp{sys.version_info[0]}{sys.version_info[1]}"])


def versions() -> dict[str, str]:
    """The versions that are installed; ``""`` for what is missing. Imports nothing of them."""
    folder = home()
    if folder is not None:
        held = {made.metadata["Name"].lower(): made.version for made in metadata.distributions(path=[str(folder)])}
        return {name: held.get(name, "") for name in PINS}
    found = {}
    for name in PINS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = ""
    return found


def check() -> str:
    """One line that says what is missing or does not fit, or ``""``."""
    found = versions()
    missing = [name for name in PINS if not found[name]]
    if missing:
        return f"The TPU compiler is not installed ({', '.join(missing)} missing): {INSTALL}"
    wrong = [f"{name} {found[name]} where {pin} is needed" for name, pin in PINS.items() if found[name] != pin]
    if wrong:
        # Another jaxlib may be there for jax: it stays where it is.
        return f"The TPU compiler's parts do not fit together ({', '.join(wrong)}); a folder of its own has those that do: {INSTALL}"
    return ""


def doors() -> str:
    """Whether jaxlib still has the doors that this module uses: one line that says which is gone, or ``""``. Imports jaxlib."""
    for module, names in {
        "jaxlib._jax": ("get_default_c_api_topology", "mlir", "DeviceList"), "jaxlib.mlir.ir": ("Context", "DialectRegistry", "Module"),
        "jaxlib.mlir._mlir_libs._jax_mlir_ext": ("register_dialects",), "jaxlib.mlir.dialects.chlo": ("register_dialect",),
        "jaxlib.mlir.dialects.mhlo": ("register_mhlo_dialect",), "jaxlib.mlir.dialects.stablehlo": ("register_dialect",),
        "jaxlib.xla_client": (
            "CompileOptions", "DeviceAssignment", "initialize_pjrt_plugin", "load_pjrt_plugin_dynamically", "pjrt_plugin_loaded",
        ),
        "libtpu": ("get_library_path",),
    }.items():  # fmt: skip
        try:
            found = importlib.import_module(module)
        except ImportError as error:
            return f"{module} cannot be imported ({error}): {INSTALL}"
        for name in names:
            if not hasattr(found, name):
                return f"{module} has no {name} any more: {INSTALL}"
    return ""


def compile_hlo(hlo: bytes, topology: str, effort: str) -> dict[str, Any]:
    """Compiles one replica's program for a slice.

    Args:
        hlo: a serialized ``HloModuleProto``. topology: libtpu's name, ``"v5e:2x4"``. effort: ``"quick"`` or ``"full"``.

    Returns:
        Sizes in bytes, the entry's tiled layouts, FLOPs and bytes moved as the compiler counts them.

    Raises:
        Exception: jaxlib's own, with libtpu's message, where the program is refused.
    """
    from jaxlib import _jax
    from jaxlib.mlir import ir

    device = _device(topology)
    with _context():
        module = ir.Module.parse(_jax.mlir.hlo_to_stablehlo(hlo))
        _drop_copies(module, ir)
        made = device.client.compile(module, executable_devices=_jax.DeviceList((device,)), compile_options=_options(device, effort))
    stats = made.get_compiled_memory_stats()
    text = _text(made)
    costs = _costs(made)
    return {
        "arguments": stats.argument_size_in_bytes, "outputs": stats.output_size_in_bytes, "aliased": stats.alias_size_in_bytes,
        "temporaries": stats.temp_size_in_bytes, "code": stats.generated_code_size_in_bytes, "peak": stats.peak_memory_in_bytes,
        "layout": entry_layout(text), "flops": float(costs.get("flops", 0.0)), "moved": float(costs.get("bytes accessed", 0.0)),
    }  # fmt: skip


def _device(topology: str) -> Any:
    """The first core of a slice that is only described."""
    import libtpu
    from jaxlib import _jax, xla_client

    if not xla_client.pjrt_plugin_loaded("tpu"):
        xla_client.load_pjrt_plugin_dynamically("tpu", libtpu.get_library_path())
        xla_client.initialize_pjrt_plugin("tpu")
    return _jax.get_default_c_api_topology("tpu", topology, {})._make_compile_only_devices()[0]


def _options(device: Any, effort: str) -> Any:
    """One replica on this core."""
    import numpy as np
    from jaxlib import xla_client

    options = xla_client.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    options.device_assignment = xla_client.DeviceAssignment.create(np.array([[device.id]]))
    build = options.executable_build_options
    build.optimization_level, build.memory_fitting_level = EFFORTS[effort], FITTING
    return options


def _context() -> Any:
    """MLIR's, with the dialects that XLA's programs are written in."""
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, mhlo, stablehlo

    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    mhlo.register_mhlo_dialect(context)
    chlo.register_dialect(context)
    stablehlo.register_dialect(context)
    return context


def _drop_copies(module: Any, ir: Any) -> None:
    """TensorFlow marks updates of variables with ``mhlo.copy``, an identity that the TPU's client does not take."""
    copies: list[Any] = []

    def visit(operation: Any) -> Any:
        if operation.name == "mhlo.copy":
            copies.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for operation in copies:
        operation.results[0].replace_all_uses_with(operation.operands[0])
        operation.erase()


def entry_layout(text: str) -> str:
    """The first line's ``entry_computation_layout={...}``, braces matched."""
    start = text.find("entry_computation_layout={")
    if start < 0:
        return ""
    start = begin = text.index("{", start)
    depth = 0
    for position in range(begin, len(text)):
        depth += (text[position] == "{") - (text[position] == "}")
        if depth == 0:
            return text[start + 1 : position]
    return ""


def _text(made: Any) -> str:
    """The compiled program's text, or ``""``: jaxlib cannot read back what v6e hands to its sparse cores (an embedding's look-up)."""
    try:
        return str(made.hlo_modules()[0].to_string())
    except Exception:
        return ""


def _costs(made: Any) -> dict[str, Any]:
    try:
        found = made.cost_analysis()
    except Exception:  # not every backend counts
        return {}
    return dict(found[0] if isinstance(found, list) else found)
