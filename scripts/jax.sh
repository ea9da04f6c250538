#!/usr/bin/env bash
# Keras on JAX, without TensorFlow: the wheel of dist/ in an environment of its own, which is kept for the next run.
# "environment" makes it, "tests" runs the tests in it.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=out/jax
wheel=$(ls dist/*.whl)

environment() {
  bash scripts/venv.sh "$venv"
  "$venv/bin/pip" install --quiet --no-compile --constraint constraints.txt "$wheel[jax]" "pytest>=8.2"
  "$venv/bin/pip" install --quiet --force-reinstall --no-deps "$wheel"
  "$venv/bin/python" -m compileall -q -j 0 "$venv" > /dev/null 2>&1 || true
  if "$venv/bin/python" -c 'import tensorflow' 2>/dev/null; then
    echo "TensorFlow came along with the extra jax." >&2
    exit 1
  fi
}

tests() {
  # From a folder of their own: the tests meet the wheel, and not the sources beside them.
  mkdir -p out/jax-tests
  rm -rf out/jax-tests/*
  cp -r tests/on_jax/. out/jax-tests/
  cp -r examples/decoder_lora_jax.py examples/quickstart_jax.ipynb tests/strangers.py tests/settled.py tests/agreement tests/mutants tests/nested_programs.py tests/computed_programs.py tests/recommended.py tests/test_recommended.py out/jax-tests/
  cd out/jax-tests
  # What runs once is not worth what LLVM takes to optimize it.
  export XLA_FLAGS="--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
  KERAS_BACKEND=jax JAX_PLATFORMS=cpu "../../$venv/bin/python" -m pytest -q -p no:cacheprovider .
}

"$1"
