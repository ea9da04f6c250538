#!/usr/bin/env bash
# Makes the virtual environment with the first Python that is new enough.
set -euo pipefail
venv=$1
if [ -x "$venv/bin/pip" ]; then
  exit 0
fi
for python in "${PYTHON:-python3}" python3.13 python3.12 python3.11 python3.10 python; do
  if "$python" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' 2>/dev/null; then
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
      echo "Missing: the venv module of $python (on Debian and Ubuntu: apt-get install python3-venv)." >&2
      exit 1
    fi
    "$python" -m venv "$venv"
    exit 0
  fi
done
echo "Missing: Python 3.10 to 3.13. Install one, or name it: make PYTHON=/path/to/python3 ..." >&2
exit 1
