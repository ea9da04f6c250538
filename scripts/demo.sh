#!/usr/bin/env bash
# The tour: a broken training script diagnosed in the terminal, its report as a file, then the notebook.
set -euo pipefail
echo '$ tpushape check examples/train.py:make_model --data examples/train.py:make_data --tpu v5e-8'
check() {
  local status=0
  # TensorFlow tells on stderr, before any setting can quiet it, which accelerators it did not find.
  tpushape check examples/train.py:make_model --data examples/train.py:make_data --tpu v5e-8 "$@" \
    2> >(grep -vE '^(WARNING: All log messages|[IWE]0000 )' >&2) || status=$?
  if [ "$status" != 1 ]; then
    echo "Expected exit code 1, which says that something serious was found; got $status." >&2
    exit 1
  fi
}
check
check --format html --output out/train.html
echo "The same report, interactive: out/train.html"
if [ "${CI:-}" = true ]; then
  jupyter nbconvert --to notebook --execute --ExecutePreprocessor.timeout=600 --output-dir out --output quickstart.ipynb examples/quickstart.ipynb
  echo "Executed: out/quickstart.ipynb"
else
  root=()
  if [ "$(id -u)" = 0 ]; then
    root=(--allow-root)
  fi
  exec jupyter lab "${root[@]}" examples/quickstart.ipynb
fi
