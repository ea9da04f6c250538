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
# The newest StableHLO that the pinned jaxlib reads; an older jaxlib writes its own version, a newer one this.
STABLEHLO = "1.17.0"
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
# For a program that is cut for a mesh, whose models are the largest: malloc keeps what each of the compiler's threads has freed, a
# tenth of the memory that 7 billion parameters take. For other programs it would cost a twentieth of the time and save nothing.
ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}


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
    """One line that says what is missing or does not fit."""
    found = versions()
    missing = [name for name in PINS if not found[name]]
    if missing:
        return f"The TPU compiler is not installed ({', '.join(missing)} missing). Install it with: {INSTALL}"
    wrong = [f"{name} is {found[name]}, but {pin} is required" for name, pin in PINS.items() if found[name] != pin]
    if wrong:
        # Another jaxlib may be there for jax: it stays where it is.
        return f"The versions of the TPU compiler's packages do not match ({', '.join(wrong)}). Install matching versions in a separate folder with: {INSTALL}"
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
            return f"Cannot import {module} ({error}). Install it with: {INSTALL}"
        for name in names:
            if not hasattr(found, name):
                return f"{module} no longer has {name}. Install the required version with: {INSTALL}"
    return ""


def compile_program(program: bytes, request: dict[str, Any]) -> dict[str, Any]:
    """Compiles a program for a slice.

    Args:
        program: a serialized ``HloModuleProto``, or a portable StableHLO artifact.
        request: ``topology``, libtpu's name (``"v5e:2x4"``); ``effort``, ``"quick"`` or ``"full"``; ``form``, ``"hlo"`` or ``"stablehlo"``;
            ``partitions``, the devices that the program is cut for; ``replicas``, how many run it whole and exchange in it; ``shardy``, who
            cuts it; ``described``, what libtpu is told of the slice beside its name.

    Returns:
        Sizes in bytes of one device, the entry's tiled layouts, FLOPs and bytes moved as the compiler counts them, the exchange between
        devices (``None`` where it cannot be read).

    Raises:
        Exception: jaxlib's own, with libtpu's message, where the program is refused.
    """
    from jaxlib import _jax
    from jaxlib.mlir import ir

    from .collectives import collectives

    replicas, partitions = int(request["replicas"]), int(request["partitions"])
    devices = devices_of(request["topology"], request["described"])[: replicas * partitions]
    with _context():
        portable = request["form"] != "hlo"
        module = _jax.mlir.deserialize_portable_artifact(program) if portable else ir.Module.parse(_jax.mlir.hlo_to_stablehlo(program))
        _drop_copies(module, ir)
        options = _options(devices, replicas, request["effort"], bool(request["shardy"]))
        made = devices[0].client.compile(module, executable_devices=_jax.DeviceList(tuple(devices)), compile_options=options)
    stats = made.get_compiled_memory_stats()
    text = _text(made)
    costs = _costs(made)
    return {
        "arguments": stats.argument_size_in_bytes, "outputs": stats.output_size_in_bytes, "aliased": stats.alias_size_in_bytes,
        "temporaries": stats.temp_size_in_bytes, "code": stats.generated_code_size_in_bytes, "peak": stats.peak_memory_in_bytes,
        "layout": entry_layout(text), "flops": float(costs.get("flops", 0.0)), "moved": float(costs.get("bytes accessed", 0.0)),
        "collectives": collectives(text, len(devices)) if text and len(devices) > 1 else None,
    }  # fmt: skip


def devices_of(topology: str, described: dict[str, Any]) -> list[Any]:
    """The devices of a slice that is only described. ``described``: what libtpu is told of it beside its name."""
    import libtpu
    from jaxlib import _jax, xla_client

    if not xla_client.pjrt_plugin_loaded("tpu"):
        xla_client.load_pjrt_plugin_dynamically("tpu", libtpu.get_library_path())
        xla_client.initialize_pjrt_plugin("tpu")
    told = {name: tuple(value) if isinstance(value, list) else value for name, value in described.items()}
    return list(_jax.get_default_c_api_topology("tpu", topology, told)._make_compile_only_devices())


def _options(devices: list[Any], replicas: int, effort: str, shardy: bool) -> Any:
    import numpy as np
    from jaxlib import xla_client

    options = xla_client.CompileOptions()
    partitions = len(devices) // replicas
    options.num_replicas, options.num_partitions = replicas, partitions
    options.device_assignment = xla_client.DeviceAssignment.create(np.array([device.id for device in devices]).reshape(replicas, partitions))
    build = options.executable_build_options
    build.optimization_level, build.memory_fitting_level = EFFORTS[effort], FITTING
    if len(devices) > 1:
        build.num_replicas, build.num_partitions = replicas, partitions
        build.use_spmd_partitioning, build.use_shardy_partitioner = partitions > 1, shardy
        build.device_assignment = options.device_assignment
    return options


def _context() -> Any:
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
