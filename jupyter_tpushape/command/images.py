"""Which TPU a machine has, if any, and which installed packages can use it; reads files and package metadata only, and imports nothing."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

JAX = "set KERAS_BACKEND=jax before you import keras, and train with Keras 3 on JAX"
# Its metadata asks for libtpu~=0.0.14, which also takes every later one. Kaggle's image of 2025 left the wheel out for want of a libtpu that matches.
WHEEL = (
    'pip install "tensorflow-tpu==2.20.*" "libtpu==0.0.14" (the last release, with the oldest libtpu that it accepts; a later one may not match), '
    "without any other tensorflow package"
)


def tpu_lines(root: Path = Path("/")) -> list[str]:
    """What to do for a TPU on this machine; empty if there is none, and the image is not made for one.

    libtpu alone makes no such image: the TPU compiler's extra installs it on any machine.
    """
    found = {name: _version(name) for name in ("google-colab", "tensorflow-tpu", "tensorflow", "tensorflow-cpu", "jax", "libtpu")}
    kaggle = "KAGGLE_KERNEL_RUN_TYPE" in os.environ or (root / "kaggle").is_dir()
    image = "Colab" if found["google-colab"] else "Kaggle" if kaggle else ""
    chips = [path for pattern in ("accel*", "vfio/[0-9]*") for path in (root / "dev").glob(pattern)]
    if not chips and not found["tensorflow-tpu"] and not (image and found["libtpu"]):
        return []
    lines = [f"{'chips':18} {f'{len(chips)} TPU chip' + 's' * (len(chips) != 1) if chips else 'none found'}"]
    if image:
        lines.append(f"{'image':18} {image}")
    if found["tensorflow-tpu"]:
        lines.append(
            f"{'TensorFlow':18} tensorflow-tpu {found['tensorflow-tpu']} with libtpu {found['libtpu'] or 'missing: pip install libtpu==0.0.14'}"
        )
        if found["tensorflow"] or found["tensorflow-cpu"]:
            lines.append(f"{'':18} another tensorflow package overwrites its files: uninstall both, then {WHEEL}")
        return lines
    plain = next((f"{name} {found[name]}" for name in ("tensorflow", "tensorflow-cpu") if found[name]), "")
    sees = f"{plain} cannot use a TPU" if plain else "not installed"
    # On these images, the installed JAX matches the chips; another TensorFlow would install another libtpu.
    lines.append(f"{'TensorFlow':18} {sees}: {JAX if image or found['jax'] else WHEEL}")
    return lines


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
