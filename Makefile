# The kit: every target runs in the environment that is active, or in .venv where there is one.
PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)
# Each core a worker, up to eight: a worker takes about 1 GB.
WORKERS ?= -n auto --maxprocesses 8

.PHONY: help test slow fuzz golden lint types format wheel editors docs

help:            ## list the targets
	@grep -E '^[a-z]+: .*##' Makefile | sed -E 's/:.*## /\t/'

test:            ## the tests, with linting
	$(PYTHON) -m pytest $(WORKERS)

slow:            ## the tests that take minutes
	$(PYTHON) -m pytest $(WORKERS) -m slow

fuzz:            ## look for what should not come out, until it is stopped (SECONDS=N: N s of each kind)
	for kind in folders faults ranks mutants differential resting places requests; do \
	  nice $(PYTHON) -m tests.fuzz $$kind --count 1000000000 --seconds $(or $(SECONDS),3600); done

golden:          ## rewrite the golden files and the output in the pages, then look at the difference
	$(PYTHON) -m pytest --update-golden tests/golden tests/pages tests/editors tests/functions

lint:            ## style
	$(PYTHON) -m ruff check .

types:           ## types
	$(PYTHON) -m mypy

format:          ## imports in order, what ruff can mend
	$(PYTHON) -m ruff check --fix .

wheel:           ## build the wheel through an sdist
	$(PYTHON) -m build

editors:         ## test and build the extension for VS Code, with npm
	editors/build

docs:            ## the site, strictly, into build/site
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict
