# Everything runs in VENV, which the first target that needs it creates. `make VENV=/tmp/env test`
# uses another one.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO := build/demo

.PHONY: help demo test test-nojit lint format bench bench-smoke bench-error docs clean
.DEFAULT_GOAL := help

help:
	@echo "make demo         value the Wine data; writes $(DEMO)/wine.csv and wine.png"
	@echo "make test         the test suite"
	@echo "make test-nojit   the suite with the compiler off, and coverage"
	@echo "make lint         ruff, the project's own rules, mypy"
	@echo "make format       let ruff format and mend what it can"
	@echo "make bench        benchmarks; rewrites docs/benchmarks.md"
	@echo "make bench-smoke  runs one benchmark once, without timing it"
	@echo "make bench-error  estimators of the ordinal value; rewrites a table of docs/ordinal.md"
	@echo "make docs         run the documentation's code blocks and build build/docs"
	@echo "make clean        remove caches, compiled kernels and outputs"

# The stamps make a second run fast: pip is asked again only when pyproject.toml changes.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	    || { echo "$(PYTHON) is older than 3.10; try: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.stamp-demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[plot]'
	@touch $@

$(VENV)/.stamp-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(VENV)/.stamp-demo $@

$(VENV)/.stamp-docs: pyproject.toml | $(VENV)/.stamp-dev
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

# Compiled apart, so that the demo's fits a second are those of a machine that has its kernels.
$(VENV)/.stamp-kernels: $(wildcard kernels/ordinal_shapley_kernels/*.py) | $(VENV)/.stamp-demo
	@echo "Compiling the kernels, once: about a minute"
	@$(BIN)/ordinal-shapley value --dataset wine --permutations 1 > /dev/null
	@touch $@

demo: $(VENV)/.stamp-demo $(VENV)/.stamp-kernels
	@mkdir -p $(DEMO)
	$(BIN)/ordinal-shapley value --dataset wine --seed 0 --out $(DEMO)/wine.csv --plot $(DEMO)/wine.png

test: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest

test-nojit: $(VENV)/.stamp-dev
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest --cov --cov-report=term

lint: $(VENV)/.stamp-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python tests/rules/check_rules.py
	$(BIN)/mypy

format: $(VENV)/.stamp-dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(VENV)/.stamp-dev
	@mkdir -p build
	BENCH_FULL=1 $(BIN)/python -m pytest benchmarks --benchmark-only --benchmark-json=build/benchmarks.json
	$(BIN)/python benchmarks/write_tables.py build/benchmarks.json docs/benchmarks.md

bench-smoke: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest benchmarks -k wine --benchmark-disable

bench-error: $(VENV)/.stamp-dev
	PYTHONPATH=tests $(BIN)/python benchmarks/ordinal_error.py docs/ordinal.md

docs: $(VENV)/.stamp-docs
	$(BIN)/python -m pytest tests/test_docs_blocks.py
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs

clean:
	rm -rf $(VENV)/.stamp-kernels build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks .coverage
	find src kernels tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
