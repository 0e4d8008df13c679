# One line of help after each target; `make help` prints them. All targets set up what they need.
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=
PYTEST_ARGS ?=
WORKERS ?= auto
PYTEST := $(BIN)/pytest -n $(WORKERS) --maxprocesses 4 --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help run test test-long check fmt lint types imports unit bench docs clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/.runtime ## start the sample control plane on the embedded store and leave a kubeconfig (ARGS="--flags")
	$(BIN)/sample-controlplane $(ARGS)

test: $(VENV)/.development ## run all tests with reduced counts and fixed seeds (12 minutes at most on 2 cores)
	$(PYTEST) $(PYTEST_ARGS)

test-long: $(VENV)/.development ## the same with the full counts of the property and fault tests
	CONTROLPLANE_TEST_LONG=1 $(PYTEST) --timeout 3600 $(PYTEST_ARGS)

check: fmt lint types imports unit ## format, lint, types, import contracts, unit tests

fmt: $(VENV)/.development ## check the format (`make fix-fmt` mends it)
	$(BIN)/ruff format --check .

fix-fmt: $(VENV)/.development ## mend format and what lint can mend
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

lint: $(VENV)/.development ## ruff's rules
	$(BIN)/ruff check .

types: $(VENV)/.development ## mypy, strict, package and tests
	$(BIN)/mypy

imports: $(VENV)/.development ## the layers, by import-linter
	$(BIN)/lint-imports

unit: $(VENV)/.development ## unit and architecture tests only
	$(BIN)/pytest tests/unit tests/architecture $(PYTEST_ARGS)

bench: $(VENV)/.development ## measure against the bare libraries in one run; ROWS="get list" picks rows
	$(BIN)/python -m tests.bench $(ROWS)

docs: $(VENV)/.development ## rewrite the generated reference pages in docs/reference
	$(BIN)/python docs/generate.py

clean: ## remove the virtual environment and caches (never the data)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build *.egg-info

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "controlplane needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	@touch $@

$(VENV)/.development: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.runtime
