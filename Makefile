# The kit: every target runs in the environment that is active, or in .venv where there is one.
PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)
# Each core a worker, up to eight: a worker takes about 1 GB.
WORKERS ?= -n auto --maxprocesses 8

.PHONY: help test slow golden lint types format wheel editors docs

help:            ## list the targets
	@grep -E '^[a-z]+: .*##' Makefile | sed -E 's/:.*## /\t/'

test:            ## the tests, with linting and typing
	$(PYTHON) -m pytest $(WORKERS)

slow:            ## the tests that take minutes
	$(PYTHON) -m pytest $(WORKERS) -m slow

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
