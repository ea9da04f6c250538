#!/usr/bin/env bash
# Installs exactly what binder/ declares, in a fresh environment, as repo2docker would, and runs the notebook that the badge opens.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/out/binder
rm -rf "$out"
mkdir -p "$out"
start=$SECONDS
"${PYTHON:-python3}" -m venv "$out/env"
# From a clean copy of what is committed: Binder has nothing else.
git archive HEAD | tar -x -C "$out" --one-top-level=repo
cd "$out/repo"
"$out/env/bin/pip" install --quiet -r binder/requirements.txt
if [ -f binder/postBuild ]; then
  PATH="$out/env/bin:$PATH" bash binder/postBuild
fi
echo "Installed after $((SECONDS - start)) s"
"$out/env/bin/jupyter" labextension list 2>&1 | grep -q "jupyter_tpushape v.*enabled.*OK"
PATH="$out/env/bin:$PATH" "$out/env/bin/jupyter" execute --timeout 600 examples/quickstart.ipynb
echo "Binder: installed, extension enabled, examples/quickstart.ipynb runs; $((SECONDS - start)) s in all"
