# What a person or a machine does with this repository. `make` alone prints the targets.
#
# Each target first makes what it needs: .venv, from a Python of 3.11 or newer, and in it tessbed and the tools. Files in
# .venv/made say what is installed there; they age with pyproject.toml and the C sources, so that a second run is quick.

PYTHON ?=
JOBS   ?= 2
ONLY   ?=

BIN     := .venv/bin
MADE    := .venv/made
PY      := $(BIN)/python
PIP     := $(PY) -m pip install --disable-pip-version-check --no-input
INSTALL := $(PIP) --editable
SOURCES := pyproject.toml $(wildcard kernels/a65/*.c kernels/a65/*.h sim/exact/*.c scenarios/load/*.c)
ROOMS   := sim kernels runtime firmware_models scenarios tessbed

# Tests start hundreds of processes. Where Python is told to write no compiled modules, each would compile all anew, and
# each run of pytest all tests. Each process begins with a stretch of the tests of its own, whose fixtures it alone makes,
# and takes from the others what is left at the end.
PYTEST := $(PY) -m compileall -q $(ROOMS) && PYTHONDONTWRITEBYTECODE= $(PY) -m pytest -n $(JOBS) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo calibrate-demo test check lint long mutants bench docs docs-site dist clean

# PYTHON as one word of the shell, whatever is in its path; and whether .venv was made from it.
NAMED := $(if $(PYTHON),'$(PYTHON)')
WHO   := import os, sys; print(sys.version, os.path.realpath(sys.base_prefix))
SAME  := $(if $(NAMED),[ "$$($(NAMED) -c '$(WHO)' 2>/dev/null)" = "$$($(PY) -c '$(WHO)' 2>/dev/null)" ],true)

# A .venv whose interpreter has gone, or is another than PYTHON names, is no .venv.
$(shell [ ! -e .venv ] || { $(PY) -c "" 2>/dev/null && $(SAME); } || rm -rf $(MADE))

help: ## print these lines
	@echo "usage: make TARGET [PYTHON=python3.12] [JOBS=2]"
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{ printf "%-15s %s\n", $$1, $$2 }'

demo: $(MADE)/product ## run the six output heads of YOLOv8n on both backends, check every byte
	@$(PY) -m tessbed run yolov8n-heads-bf16

calibrate-demo: $(MADE)/test ## plan, measure a twin, check, fit, validate and apply: a few minutes
	@sh examples/calibration/demo.sh $(abspath $(PY))

test: $(MADE)/test ## run the whole test suite, without the long part
	@$(PYTEST)

check: lint ## run all that must hold before a commit: lint, and the suite
	@$(PYTEST)

lint: $(MADE)/check ## check format, lint, types and the import rules between rooms
	@$(PY) -m ruff format --check --quiet .
	@$(PY) -m ruff check --quiet .
	@$(PY) -m basedpyright --level error
	@$(BIN)/lint-imports --no-cache

long: $(MADE)/test ## run the tests that take long, and only those
	@$(PYTEST) -m long --timeout 3600

mutants: $(MADE)/test ## plant each bug of tests/mutants in a copy of the tree, and see that its tests catch it; takes hours
	@$(PY) -m tests.mutants -j $(JOBS) $(addprefix --only ,$(ONLY))

bench: $(MADE)/test ## measure the A65 against numpy, engines and loads against plain SimPy, planning
	@$(PY) -m tessbed bench
	@$(PY) -m tests.bench_engines
	@$(PY) -m tests.bench_loads
	@$(PY) -m tests.bench_planning

docs: $(MADE)/test ## write again what the documentation quotes from the product
	@$(PY) -m tessbed.sim.docs
	@$(PY) -m tessbed.kernels.ev74.docgen.documents
	@$(PY) -m tessbed.scenarios.docs
	@$(PY) -m tessbed man > docs/tessbed.1
	@$(PY) -m tessbed.commands.command_page > docs/reference/commands.md
	@$(PY) -m tests.docs

docs-site: $(MADE)/docs ## build the site of the documentation, in build/site
	@$(PY) -m sphinx -qEW --keep-going -b html -d build/doctrees docs build/site
	@echo "open build/site/index.html"

dist: $(MADE)/dist ## build the wheel and the source distribution, in dist/
	@rm -rf build dist
	@$(PY) -m build --quiet --outdir dist .

clean: ## remove what the targets here made, .venv too
	@rm -rf .venv build dist *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache runs
	@rm -f kernels/a65/*.so sim/exact/*.so scenarios/load/*.so
	@find $(ROOMS) docs tests fuzz -name __pycache__ -prune -exec rm -rf {} +

$(MADE)/product: $(MADE)/venv $(SOURCES)
	@echo "installing tessbed into .venv: downloads numpy and others, a minute the first time" >&2
	@$(INSTALL) . >&2
	@touch $@

$(MADE)/test: $(MADE)/venv $(SOURCES)
	@echo "installing tessbed and what its tests need into .venv: downloads about 500 MB, minutes the first time" >&2
	@$(INSTALL) ".[test]" >&2
	@touch $@ $(MADE)/product $(MADE)/docs

$(MADE)/check: $(MADE)/venv $(SOURCES)
	@echo "installing tessbed, what its tests need and the checkers into .venv" >&2
	@$(INSTALL) ".[test,check]" >&2
	@touch $@ $(MADE)/product $(MADE)/test $(MADE)/docs

$(MADE)/docs: $(MADE)/venv $(SOURCES)
	@echo "installing tessbed and Sphinx into .venv" >&2
	@$(INSTALL) ".[docs]" >&2
	@touch $@ $(MADE)/product

$(MADE)/dist: $(MADE)/venv
	@$(PIP) build >&2
	@touch $@

# Takes a .venv that is there already, if its Python will do and is the one that PYTHON names; else makes one, from PYTHON
# or from the first interpreter that can.
$(MADE)/venv:
	@fits='import sys; sys.exit(sys.version_info < (3, 11))'; \
	if ! $(PY) -c "$$fits; import pip" 2>/dev/null || ! { $(SAME); }; then \
	    set -- $(or $(NAMED),python3.13 python3.12 python3.11 python3); \
	    found=; bare=; \
	    for python in "$$@"; do \
	        "$$python" -c "$$fits" 2>/dev/null || continue; \
	        if "$$python" -c 'import ensurepip, venv' 2>/dev/null; then found=$$python; break; fi; \
	        bare=$${bare:-$$python}; \
	    done; \
	    if [ -z "$$found" ] && [ -n "$$bare" ]; then \
	        echo "error: $$bare can not make a virtual environment: its modules venv and ensurepip are missing." >&2; \
	        echo "On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; \
	    elif [ -z "$$found" ]; then \
	        echo "error: no Python of 3.11 or newer among: $$*." >&2; \
	        echo "Install one, or name yours: make PYTHON=/path/to/python3" >&2; exit 1; \
	    fi; \
	    echo "making .venv with $$found" >&2; \
	    "$$found" -m venv --clear .venv; \
	fi
	@mkdir -p $(MADE) && touch $@
