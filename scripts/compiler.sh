#!/usr/bin/env bash
# The TPU compiler's parts in a folder of their own, where only its worker looks; the verdicts' tests ask it. Kept for the next run.
set -euo pipefail
cd "$(dirname "$0")/.."
if python - <<'PYTHON'
import sys
from jupyter_tpushape.compilers import bridge
sys.exit(bool(bridge.check()))
PYTHON
then
  exit 0
fi
if ! python -c 'import sys; sys.exit(sys.platform != "linux" or sys.version_info < (3, 11))'; then
  echo "The TPU compiler is made for Linux and Python 3.11 or newer: tests that ask it are skipped." >&2
  exit 0
fi
tpushape compiler install --folder "$TPUSHAPE_COMPILER"
