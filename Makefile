# Two commands on a fresh machine with Python 3.10+ and make: `make demo` and `make test`. Everything goes into .venv.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(PATH)
export TF_CPP_MIN_LOG_LEVEL ?= 2
export CUDA_VISIBLE_DEVICES ?= -1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The TPU compiler of the tests stands beside the environment; TPUSHAPE_COMPILER names another.
export TPUSHAPE_COMPILER ?= $(CURDIR)/out/compiler
unexport PYTHONPATH
unexport PYTHONHOME

BROWSER_SOURCES := $(shell find src style schema/lab scripts -type f 2>/dev/null) package.json yarn.lock tsconfig.json tsconfig.build.json
PYTHON_SOURCES := $(shell find jupyter_tpushape -name '*.py' 2>/dev/null)
STATIC := jupyter_tpushape/static/view.js

.PHONY: help demo check test lint format typecheck types docs test-ts test-py test-python test-browser test-beside test-jax soak-jax jax-environment test-matrix test-binder soak audit agree bench tpu-layers tpu-constants dist install build browser compiler clean

help:
	@echo "make demo     diagnose a broken training script, then open the quickstart notebook in JupyterLab"
	@echo "make test     lint, types, TypeScript tests, wheel and sdist, Python and browser tests"
	@echo "make check    lint, types, and the tests that need neither a browser nor real training"
	@echo "make agree    programs against real steps, AGREE=2500 of each kind and Keras"
	@echo "make soak     thousands of random programs (SOAK=2000 of each Keras), FUZZ=10000 broken files, documents and patches of each kind, SEED=..."
	@echo "make audit    known advisories against what is installed, as far as the registries answer"
	@echo "make bench    all benchmarks, and docs/benchmarks.md anew"
	@echo "make tpu-layers   which built-in layers compile for a TPU, asked one by one"
	@echo "make tpu-constants   which operands XLA takes as constants only, asked one by one"
	@echo "make test-matrix, make test-binder   the oldest and newest of everything; what Binder installs"
	@echo "make test-jax the tests of Keras on JAX, in an environment without TensorFlow"
	@echo "make soak-jax the same with all of keras.applications and more programs and mutants"
	@echo "make format   bring Python and TypeScript into the project's format"
	@echo "make types    regenerate the wire document's schema and TypeScript types"

# --- environment -----------------------------------------------------------------------------------------------------

$(BIN)/.installed: pyproject.toml constraints.txt hatch_build.py package.json scripts/venv.sh
	@bash scripts/venv.sh "$(VENV)"
	pip install --quiet --no-compile --constraint constraints.txt --editable '.[tensorflow,lab,plot,test,docs]'
	@python -m compileall -q -j 0 $(VENV) > /dev/null 2>&1 || true
	@bash scripts/node.sh
	jupyter-builder develop . --overwrite
	@touch $@

install: $(BIN)/.installed

$(STATIC): $(BIN)/.installed $(BROWSER_SOURCES)
	jlpm install --immutable
	jlpm build:prod
	@touch $@

build: $(STATIC)

# What a page with widgets loads is for the tests alone: apart from what a build needs.
browser: install
	@bash scripts/browser.sh
	cd tests/view_browser && jlpm install --immutable

compiler: install
	@bash scripts/compiler.sh

# --- demo ------------------------------------------------------------------------------------------------------------

demo: build
	@mkdir -p out
	@bash scripts/demo.sh

# --- checks ----------------------------------------------------------------------------------------------------------

# Two at a time, what takes longest first. Beside the Python tests, on two processes, runs what waits for a browser more than it computes.
test: build
	$(MAKE) --jobs 2 --output-sync jax-environment typecheck lint test-ts compiler browser docs
	$(MAKE) --jobs 2 test-python test-beside

# For every save: what needs neither a browser nor real training, nor minutes.
LONG := agreement as_fit attacks_archives attacks_data attacks_files attacks_said attacks_terminal builders catalogue catalogue_compiled catalogue_evidence catalogue_programs cli_places compilers compilers_charts \
	compilers_made compilers_memory compilers_process compilers_remedies compilers_topologies examples_colab examples_tpu forms ideas left_as_found mutants nested_inputs notebook \
	observed own_code packaging patch patch_fit pytest_plugin repair repair_after replicas rules_examples rules_reported rules_tpu rules_tpu_evidence saved_models security smoke \
	steps steps_evidence weather written
check: build
	$(MAKE) --jobs 2 --output-sync lint typecheck test-ts
	python -m pytest -q --numprocesses 2 --dist loadfile $(filter-out $(LONG:%=tests/test_%.py),$(wildcard tests/test_*.py))

# Strict: a link or a page that is missing fails. Nothing is fetched.
docs: install
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict --quiet --site-dir out/site

# What checks TypeScript is apart from what builds it, so that the source package's lock is short.
tests/ts/node_modules/.installed: $(BIN)/.installed tests/ts/package.json tests/ts/yarn.lock
	cd tests/ts && jlpm install --immutable
	@touch $@

lint: build tests/ts/node_modules/.installed
	ruff check .
	ruff format --check .
	cd tests/ts && jlpm lint

typecheck: install
	mypy
	python scripts/wire_types.py --check

test-ts: build tests/ts/node_modules/.installed
	cd tests/ts && jlpm test

# Built afresh in isolation, as a user's pip would; the packaging tests look into what comes out.
dist: build
	rm -rf dist
	python scripts/package.py dist

# A test that hangs is named, with every thread's stack, and ends.
HANGS := --timeout 1500 --timeout-method thread
test-py: test-python test-browser

# The longest files come first (tests/conftest.py), so that no process is left alone with one at the end.
test-python: build compiler
	python -m pytest $(HANGS) --numprocesses 2 --max-worker-restart 1 --dist loadfile --no-loadscope-reorder --ignore tests/view_browser --ignore tests/ui

# Each kind of browser test holds Playwright's loop for itself, so each has a process of its own.
VIEW := python -m pytest $(HANGS) tests/view_browser
UI := python -m pytest $(HANGS) tests/ui
test-browser: build browser
	$(VIEW)
	$(UI)

# The wheel in an environment that has JAX and no TensorFlow; kept in out/jax between runs. test-python reads that JAX's messages.
jax-environment: dist
	bash scripts/jax.sh environment

test-jax: jax-environment compiler
	bash scripts/jax.sh tests

# All of keras.applications, and more programs and mutants against real steps of Keras on JAX.
soak-jax: jax-environment compiler
	TPUSHAPE_SOAK=1 bash scripts/jax.sh tests

# For make test, which has made all that they need: one after the other, each told when it has ended.
test-beside:
	@mkdir -p out
	@said() { "$${@:2}" > out/test-$$1.log 2>&1 || { cat out/test-$$1.log; exit 1; }; tail -n 1 out/test-$$1.log; }; \
		said jax bash scripts/jax.sh tests; said view $(VIEW); said ui $(UI)

SOAK ?= 2000
FUZZ ?= 10000
SEED ?= $(shell date +%s)
ATTACKS := tests/test_attacks_documents.py tests/test_attacks_files.py tests/test_attacks_writing.py
soak: install
	@echo "seed $(SEED)"
	TPUSHAPE_FUZZ=$(FUZZ) TPUSHAPE_SEED=$(SEED) python -m pytest $(ATTACKS) -k random -q
	TPUSHAPE_SOAK=$(SOAK) python -m pytest tests/test_weather.py -k "random or thousand" -q --hypothesis-seed=$(SEED)
	TPUSHAPE_SOAK=$(SOAK) TPUSHAPE_SEED=$(SEED) python -m pytest tests/test_forms.py tests/test_observed.py tests/test_mutants.py -q

# Both ask their registry for known advisories; one that does not answer is said, and is no failure.
audit: install
	@bash scripts/audit.sh

# Goes on where it was stopped; remove out/agree to begin anew.
AGREE ?= 2500
AGREE_SEED ?= 0
agree: install
	cd tests && for lib in keras tf_keras; do for kind in layers programs; do \
		python -m agreement.run ../out/agree/$$lib-$$kind.jsonl --framework $$lib --kind $$kind --count $(AGREE) --seed $(AGREE_SEED); done; done
	cd tests && python -m agreement.table ../out/agree/*.jsonl

# Each in environments of its own, made anew under out/; minutes to hours, so not part of make test.
test-matrix: dist
	python scripts/matrix.py

test-binder: dist
	bash scripts/binder.sh

bench: build
	cd benchmarks/view && jlpm install --immutable
	python benchmarks/all.py

# Half an hour: each layer of both Kerases, forward and gradient, put to the TPU compiler; rules read the table.
tpu-layers: compiler
	python scripts/tpu_layers.py

# A quarter of an hour: each operation with an XLA kernel, with operands that are no constants; rules read the table.
tpu-constants: install
	python scripts/tpu_constants.py

format: build tests/ts/node_modules/.installed
	ruff check --fix .
	ruff format .
	cd tests/ts && jlpm fix

types: install
	python scripts/wire_types.py

clean:
	rm -rf $(VENV) node_modules lib dist out jupyter_tpushape/labextension jupyter_tpushape/static *.tsbuildinfo
