# Everything runs in VENV, which the first target that needs it creates. `make VENV=/tmp/env test`
# uses another one.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO := build/demo
# Of the work of make reliability, which takes most of an hour; the page says if it was less.
SHARE ?= 1
# Each process starts with a run of tests that stand together, so most share what their module makes.
PYTEST_ALL_CORES := $(BIN)/python -m pytest --numprocesses logical --dist worksteal

.PHONY: help demo test test-all test-nojit test-bounds coverage test-interop lint format docs clean
.PHONY: bench pages bench-rivals bench-check bench-smoke bench-error bench-variance bench-unbiased bench-journeys bench-pieces bench-softmax bench-sizes bench-intervals bench-how-long bench-workers
.PHONY: reproduce reliability notebooks picture dist check-dist test-pythons test-numbas value-pictures bench-labels
.DEFAULT_GOAL := help

help:
	@echo "make demo         flip labels of Wine and see which value finds them; writes a table, a picture and a report"
	@echo "make test         the test suite but for its slow tests, a part of it with the compiler off, too; about six minutes"
	@echo "make test-all     all of it, and tests of kernels that check every index"
	@echo "make test-nojit   tests of kernels with the compiler off"
	@echo "make test-bounds  tests of kernels that check every index, with a cache of their own"
	@echo "make coverage     the whole suite with the compiler off, half an hour, and which lines it reached"
	@echo "make test-interop  tests against pyDVL and OpenDataVal, each in an environment made for it, 6 GB"
	@echo "make lint         ruff, the project's own rules, the layers, mypy, workflows"
	@echo "make format       let ruff format and mend what it can"
	@echo "make bench        benchmarks, a quarter of an hour; rewrites docs/benchmarks.md"
	@echo "make bench-rivals environments of other libraries, for make bench, which asks for them"
	@echo "make bench-check  compare the ratios of the last make bench with those committed"
	@echo "make pages        write what shows measurements again, from those committed"
	@echo "make bench-smoke  small benchmarks, once, whatever time they take"
	@echo "make bench-error  estimators of the ordinal value; rewrites a section of docs/variance.md"
	@echo "make bench-variance  noise of designs and truncation rules; rewrites docs/variance.md"
	@echo "make bench-journeys  intervals of credit against the truth; rewrites a table of docs/journeys.md"
	@echo "make bench-intervals  how many intervals hold the truth, half an hour; rewrites a section of docs/variance.md"
	@echo "make bench-unbiased  z-scores and intervals with thousands of players, half an hour; rewrites a section of docs/variance.md"
	@echo "make bench-labels  wrong labels found by values, self-confidence and both; rewrites tables of docs/guides/clean_labels.md"
	@echo "make reproduce    the paper's experiments, half an hour; rewrites docs/reproduction.md"
	@echo "make bench-sizes  size weights that favour small coalitions, ten minutes; rewrites a section of docs/reproduction_tables.md"
	@echo "make bench-pieces  what a fit consists of; rewrites a table of docs/performance.md"
	@echo "make bench-softmax  what a fit of softmax models consists of; likewise"
	@echo "make bench-how-long  permutations and seconds by rows, columns and classes, a quarter of an hour; rewrites a table of docs/how_long.md"
	@echo "make bench-workers  1 and 2 workers, 1,000 simulated; rewrites a section of docs/distributed.md"
	@echo "make reliability  odd inputs and injected faults; rewrites docs/reliability.md"
	@echo "make dist         wheel and sdist in dist/, looked through"
	@echo "make check-dist   install both, each into an empty environment, and run them there"
	@echo "make test-pythons a quick part of the suite from the wheel, on each Python here"
	@echo "make test-numbas  tests of kernels from the wheel, on the oldest and the newest Numba and a pre-release"
	@echo "make docs         build the documentation in build/docs; warnings are errors"
	@echo "make notebooks    execute the tutorials in place"
	@echo "make picture      draw the pictures of the README, for which it takes chromium, and of docs/gallery.md"
	@echo "make value-pictures  draw the pictures of docs/which_value.md"
	@echo "make clean        remove caches, compiled kernels and outputs"

# The stamps make a second run fast: pip is asked again only when pyproject.toml changes.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	    || { echo "$(PYTHON) is older than 3.10; try: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.stamp-demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[plot,report]'
	@touch $@

$(VENV)/.stamp-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(VENV)/.stamp-demo $@

$(VENV)/.stamp-docs: pyproject.toml | $(VENV)/.stamp-dev
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

$(VENV)/.stamp-release: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[release]'
	@touch $@

# Its row is left out where it cannot be installed.
$(VENV)/.stamp-bench: pyproject.toml | $(VENV)/.stamp-dev
	@$(BIN)/python -m pip install --quiet --editable '.[bench]' && touch $@ \
	    || echo "shapiq could not be installed: the benchmarks go without it" >&2

# Compiled apart, so that the demo's fits a second are those of a machine that has its kernels.
$(VENV)/.stamp-kernels: $(wildcard kernels/ordinal_shapley_kernels/*.py) | $(VENV)/.stamp-demo
	@echo "Compiling the kernels, once"
	@$(BIN)/ordinal-shapley compile
	@touch $@

demo: $(VENV)/.stamp-demo $(VENV)/.stamp-kernels
	$(BIN)/python benchmarks/demo.py $(DEMO)

# Compiled before, or each process would; without a stamp, as NUMBA_CACHE_DIR may be another one than last time.
test: $(VENV)/.stamp-dev
	$(BIN)/ordinal-shapley compile
	$(PYTEST_ALL_CORES) -m "not slow"
	NUMBA_DISABLE_JIT=1 $(PYTEST_ALL_CORES) -m "not slow" $(patsubst %,tests/test_%.py,exact ordinal_sampling \
	    permutations games)

test-all: $(VENV)/.stamp-dev
	$(BIN)/ordinal-shapley compile
	$(PYTEST_ALL_CORES)
	$(MAKE) test-bounds

# An index out of bounds raises in a C function, which Python can only report; to pytest that is an error.
test-bounds: export NUMBA_BOUNDSCHECK = 1
test-bounds: export NUMBA_CACHE_DIR = $(CURDIR)/build/bounds
test-bounds: $(VENV)/.stamp-dev
	$(BIN)/ordinal-shapley compile
	$(PYTEST_ALL_CORES) $(patsubst %,tests/test_%.py,walk permutations trainer wide span exact ridge neighbors \
	    journeys scoring compiled_game references overflow models)

# Without what only uses kernels: estimators, runs, the command line, reports, the examples of docstrings and pages.
test-nojit: $(VENV)/.stamp-dev
	NUMBA_DISABLE_JIT=1 $(PYTEST_ALL_CORES) -m "not slow" tests $(patsubst %,--ignore-glob='tests/test_%.py', \
	    bad_input bad_runs checkpoint cli* datasets distributed docs_blocks encoding estimators experiments failures \
	    frames fuzz import matching plots progress release report* reproduction rules self_confidence stopping \
	    surroundings tutorials vocabulary)

coverage: $(VENV)/.stamp-dev
	NUMBA_DISABLE_JIT=1 $(PYTEST_ALL_CORES) tests --cov --cov-report=term

# Makes build/interop/pydvl and build/interop/opendataval, which takes the network; fails if it cannot.
test-interop: | $(BIN)/python
	PYTHONPATH=benchmarks $(BIN)/python tests/interop/run.py

lint: $(VENV)/.stamp-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python tests/rules/check_rules.py
	$(BIN)/lint-imports --no-cache
	$(BIN)/mypy
	$(BIN)/zizmor --offline --quiet .
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml

format: $(VENV)/.stamp-dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

# A benchmark that fails does not cost the page the others.
bench: $(VENV)/.stamp-dev $(VENV)/.stamp-bench bench-rivals
	@mkdir -p build && rm -f build/benchmarks.json
	@BENCH_FULL=1 $(BIN)/python -m pytest benchmarks -v -rs --benchmark-only \
	    --benchmark-json=build/benchmarks.json; status=$$?; \
	$(BIN)/python benchmarks/write_tables.py build/benchmarks.json && exit $$status

bench-rivals: $(VENV)/.stamp-dev
	@$(BIN)/python benchmarks/make_rivals.py

# From the records in benchmarks/results; nothing is measured.
pages: $(VENV)/.stamp-dev
	PYTHONPATH=tests $(BIN)/python benchmarks/write_pages.py

# A machine that is slower is so for the baselines, too.
bench-check:
	git show HEAD:benchmarks/results/bench.json > build/committed.json
	$(BIN)/python benchmarks/check_ratios.py build/benchmarks.json build/committed.json

bench-smoke: $(VENV)/.stamp-dev
	@mkdir -p build
	$(BIN)/python -m pytest benchmarks --benchmark-json=build/smoke.json
	$(BIN)/python benchmarks/write_tables.py build/smoke.json build/smoke.md

bench-error: $(VENV)/.stamp-dev
	PYTHONPATH=tests $(BIN)/python benchmarks/ordinal_error.py

bench-variance: $(VENV)/.stamp-dev
	$(BIN)/python benchmarks/variance.py

bench-intervals: $(VENV)/.stamp-dev
	$(BIN)/python benchmarks/interval_coverage.py
	$(BIN)/python benchmarks/discoveries.py

bench-unbiased: $(VENV)/.stamp-dev
	$(BIN)/python benchmarks/unbiased.py

bench-journeys: $(VENV)/.stamp-dev
	$(BIN)/python benchmarks/journey_errors.py
bench-labels: $(VENV)/.stamp-dev
	$(BIN)/python benchmarks/label_errors.py

# A machine with nothing else to do gives times that mean something.
reproduce: $(VENV)/.stamp-dev $(VENV)/.stamp-kernels
	$(BIN)/python benchmarks/paper/run.py all --runs 5 --seed 0 --out build/reproduction --record

bench-sizes: $(VENV)/.stamp-dev $(VENV)/.stamp-kernels
	$(BIN)/python benchmarks/sizes.py

bench-pieces: $(VENV)/.stamp-dev
	NUMBA_DISABLE_JIT=1 $(BIN)/python benchmarks/pieces.py

bench-softmax: $(VENV)/.stamp-dev
	NUMBA_DISABLE_JIT=1 $(BIN)/python benchmarks/softmax_pieces.py

bench-how-long: $(VENV)/.stamp-dev
	$(BIN)/python benchmarks/how_long.py

bench-workers: $(VENV)/.stamp-dev
	$(BIN)/python benchmarks/workers.py

reliability: $(VENV)/.stamp-dev
	PYTHONPATH=tests $(BIN)/python benchmarks/reliability.py $(SHARE)

# The wheel is built from the sdist, so that an sdist that lacks a file does not pass.
dist: $(VENV)/.stamp-release
	@rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

check-dist: dist
	.ci/check_dist $(PYTHON)

test-pythons: dist
	.ci/test_pythons

test-numbas: dist
	PYTHON=$(PYTHON) .ci/test_numbas

docs: $(VENV)/.stamp-docs
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs

notebooks: $(VENV)/.stamp-docs
	$(BIN)/python benchmarks/tutorials.py

picture: $(VENV)/.stamp-dev
	$(BIN)/python benchmarks/order_picture.py docs/images/order.png
	$(BIN)/python benchmarks/gallery.py
	$(BIN)/python benchmarks/demo.py $(DEMO)
	chromium --headless --no-sandbox --hide-scrollbars --window-size=1280,760 \
	    --screenshot=docs/images/report.png file://$(CURDIR)/$(DEMO)/wine.html

value-pictures: $(VENV)/.stamp-dev
	$(BIN)/python benchmarks/value_pictures.py

clean:
	rm -rf $(VENV)/.stamp-kernels build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks .coverage
	find src kernels tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
