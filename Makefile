# Every target sets up its own environment in .venv: a fresh machine needs python3 (3.11 or newer), pip and make.
PYTHON ?= python3
BIN := .venv/bin
JOBS ?= 2

.PHONY: demo test lint bench reproduce clean

demo: .venv/ready
	$(BIN)/python examples/demo.py

test: lint
	$(BIN)/python -m pytest -n $(JOBS) --cov

lint: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready
	$(BIN)/python benchmarks/training_overhead.py
	$(BIN)/python benchmarks/default_learner.py
	$(BIN)/python benchmarks/learned_topology.py
	$(BIN)/python benchmarks/decisions.py
	$(BIN)/python benchmarks/path_filter.py

# The paper's experiments; Weka's learners need Java. Interrupted, it goes on where it was.
reproduce: .venv/ready-dev
	$(BIN)/offsettree reproduce table1 --learners weka --out docs/results
	$(BIN)/offsettree reproduce table1 --learners weka --out docs/results --readings
	$(BIN)/offsettree reproduce table1 --learners sklearn --out docs/results
	$(BIN)/python tools/experiments_page.py

clean:
	rm -rf .venv build dist .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache

# Debian's python3 comes without venv; virtualenv from pip does the same.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "offsettree needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv || { rm -rf .venv; $(PYTHON) -m pip install --user virtualenv && $(PYTHON) -m virtualenv .venv; }

.venv/ready: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/ready-dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch .venv/ready $@
