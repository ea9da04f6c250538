#!/usr/bin/env bash
# Known advisories against what is installed here and what the browser part is built with.
set -uo pipefail
cd "$(dirname "$0")/.."
# What is looked up is what the project runs with, whoever starts this.
export PATH="$PWD/.venv/bin:$PATH"
failed=0
check() {
  local name=$1 found=$2
  shift 2
  local said
  said=$("$@" 2>&1)
  local code=$?
  # A package that the registry does not know of has not been looked up, whatever the exit code says.
  local unknown
  unknown=$(echo "$said" | grep -c "could not be audited")
  echo "$said" | grep -v "could not be audited" | tail -40
  if [ "$unknown" -gt 0 ]; then
    echo "$name: nothing is known of $unknown packages, which the registry does not answer for."
  fi
  if [ $code -ne 0 ] && echo "$said" | grep -qE "$found"; then
    failed=1
  elif [ $code -ne 0 ]; then
    echo "$name: no answer from the registry; nothing is known."
  fi
}
python -m venv out/audit && out/audit/bin/pip install --quiet pip-audit || echo "pip-audit cannot be installed."
python -m pip freeze --exclude-editable > out/audit/requirements.txt
check pip-audit "known vulnerabilit" out/audit/bin/pip-audit --no-deps --disable-pip --progress-spinner off --requirement out/audit/requirements.txt
# What is built, and what only checks it: each has a lock of its own.
for folder in . tests/ts tests/view_browser; do
  check "npm audit of $folder" "Severity:|├─" env -C "$folder" jlpm npm audit --all --recursive --severity high
done
exit $failed
