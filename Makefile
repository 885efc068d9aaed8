# What a reader of the repository types. `make` alone prints this list.

PORT ?=
MODEL ?=
WORKERS ?= 3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INPUTS := pyproject.toml constraints.txt
TORTURE := tests/extract/test_damaged_documents.py tests/store/test_crash.py tests/vectors/test_crash_remote.py tests/store/test_repair.py tests/vectors/test_outbox.py::test_killed_at_any_request_the_next_flush_makes_it_right

# A PYTHON that was asked for is the only one tried.
ifdef PYTHON
CANDIDATES := $(PYTHON)
else
CANDIDATES := python3.14 python3.13 python3.12 python3.11 python3
endif

.DEFAULT_GOAL := help
.PHONY: help run setup model test test-rest test-all torture check docs bench dist clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: setup  ## Start Commonplace on this computer (PORT=9000)
	@exec $(BIN)/commonplace serve $(if $(PORT),--port $(PORT))

setup: $(VENV)/installed model  ## Install what `make run` needs (MODEL=multilingual: to find in every language)

model: $(VENV)/installed
	@echo "Looking for the model that finds by meaning …"
	@$(BIN)/commonplace model install $(MODEL) || \
		echo "Without its model Commonplace searches by words only; 'make setup' tries again."

PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test: $(VENV)/installed-dev  ## Run the quick tests, which cover every room (ARGS="-k name")
	@$(PYTEST) -m "not thorough" $(ARGS)

test-rest: $(VENV)/installed-dev  ## Run the thorough tests: every backend, every page in a browser, kills
	@$(PYTEST) -m thorough $(ARGS)

test-all: test test-rest  ## Run every test

torture: $(VENV)/installed-dev  ## Kill what writes a store 950 times, damage 400 stores and 40,000 documents: minutes
	@COMMONPLACE_TORTURE=$${COMMONPLACE_TORTURE:-500} $(BIN)/python -m pytest $(TORTURE) $(ARGS)

check: $(VENV)/installed-dev  ## Lint, formatting and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --strict rag_core ui pages app.py

docs: $(VENV)/installed-dev  ## Write the pages that are made from the code: commands and settings
	@$(BIN)/python docs/make_cli.py
	@$(BIN)/python docs/make_configuration.py

bench: $(VENV)/installed-dev model  ## Measure (ARGS="NAME …" or "all DIR…"; alone it names what there is)
	@$(BIN)/python -m benchmarks $(ARGS)

dist: $(VENV)/installed-build  ## Build what is published into dist/: wheel, source archive, constraints
	@rm -rf dist
	@$(BIN)/python -m hatchling build
	@cp constraints.txt dist/

clean:  ## Remove the environment and every cache; notes and indexes stay
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: pip runs again only when what it installs from has changed.
$(VENV)/installed: $(BIN)/python $(INPUTS)
	@echo "Installing Commonplace into $(VENV) (the first time this takes about two minutes) …"
	@$(PIP) install --quiet -c constraints.txt -e '.[ocr]'
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed $(INPUTS)
	@echo "Installing the development tools into $(VENV) …"
	@$(PIP) install --quiet -c constraints.txt -e '.[dev,ocr]'
	@touch $@

$(VENV)/installed-build: $(BIN)/python $(INPUTS)
	@$(PIP) install --quiet -c constraints.txt hatchling
	@touch $@

$(BIN)/python:
	@for python in $(CANDIDATES); do \
		"$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null || continue; \
		"$$python" -c 'import ensurepip, venv' 2>/dev/null || { \
			echo "$$python cannot create environments, because its venv module is missing."; \
			echo "Install it (on Debian and Ubuntu: apt install python3-venv), then run make again."; \
			exit 1; }; \
		echo "Creating the environment $(VENV) …"; \
		"$$python" -m venv --clear $(VENV) || { rm -rf $(VENV); exit 1; }; \
		exit 0; \
	done; \
	echo "Commonplace needs Python 3.11 to 3.14, and none of these is: $(CANDIDATES)."; \
	echo "Install one, or name it: make run PYTHON=/path/to/python3.13"; \
	exit 1
