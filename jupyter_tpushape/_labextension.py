"""Where JupyterLab finds the built extension while the package is developed."""

from __future__ import annotations


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "jupyter_tpushape"}]
