# Every target first brings .venv up to date, which takes no time where it is. Its messages go to standard error, so
# `make --silent check > report.txt` holds the report alone.
PYTHON ?= python3
BIN := .venv/bin

# The set-up compiles no module: the first run does, for those that it imports, and has to be able to keep them.
export PYTHONDONTWRITEBYTECODE :=
# Material tells at every build that it ends in 2027; its successor reads the same mkdocs.yml.
export NO_MKDOCS_2_WARNING := 1
export SITE_URL REPO_URL

.DEFAULT_GOAL := help
.PHONY: help check test site version serve bench lint e2e search repeat record live ci dist clean environment

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

environment: ## set up .venv and nothing more (PYTHON=python3.12 chooses the interpreter)
	@$(PYTHON) setup/environment.py

check: environment ## judge the installed vLLM-Omni runner by the clauses, and execute every page against it
	$(BIN)/phase-contract check --drift=error

test: environment ## every page and every test, on all cores (N=0: in one process); root gets the site's Chromium with apt
	@$(PYTHON) tests/browser/chromium.py
	$(BIN)/python -m spec_examples.site.verified --drift=error $(LIVE)
	$(BIN)/python -m pytest tests -n $(or $(N),logical) --maxprocesses 4 $(DEFECTS)

site: environment ## build the site into site/; a warning is an error (SITE_URL=https://… is its address, REPO_URL=https://… that of the repository)
	$(BIN)/python -m spec_examples.site.verified
	$(BIN)/mkdocs build --strict

version: environment ## add this state to the branch gh-pages as one of several versions (VERSION=1.0)
	$(BIN)/python -m spec_examples.site.verified
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/mike deploy --config-file versions.yml --update-aliases "$(VERSION)" latest

serve: environment ## serve the site at http://127.0.0.1:8000 and reload it as pages change
	$(BIN)/mkdocs serve --livereload

e2e: ## the whole Model Runner V2, and a tiny Qwen3-TTS cut and uncut, in an environment of its own (6 GiB)
	@$(PYTHON) setup/environment.py --for e2e
	.venv-e2e/bin/python -m pytest tests/e2e

search: environment ## look ten minutes for a schedule that breaks the contract (MINUTES=60 takes longer)
	$(BIN)/python -m spec_examples.search --minutes $(or $(MINUTES),10)

repeat: environment ## the fast tests 200 times over, in other orders and in parallel (N=20 does less)
	$(BIN)/python tests/repeat.py -n $(or $(N),200)

record: environment ## write anew what is recorded: releases, stories, and what catches each defect (long)
	$(BIN)/phase-contract matrix --record
	$(BIN)/python -m spec_examples.stories.record
	$(BIN)/phase-contract mutants --record --all
	$(BIN)/phase-contract mutants --record --all --runner v2

bench: environment ## measure what is waited for, beside its bounds (ONLY="check watch" does less, WHOLE=1 make ci too)
	$(BIN)/python -m spec_examples.bench $(if $(ONLY),--only $(ONLY),--write BENCHMARKS.md) $(if $(WHOLE),--whole)

lint: environment ## ruff and mypy
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

live: environment
	$(BIN)/phase-contract matrix --live

ci: LIVE := --live --within 60
ci: DEFECTS := --defects all
ci: lint live test site e2e ## all that has to be green: old releases are run, not recalled, and every defect is put to the pages

dist: environment ## build wheel and source distribution into dist/, and check both in new environments
	$(BIN)/python setup/dist.py

clean: ## remove what was built, and keep .venv
	rm -rf site build dist *.egg-info .pytest_cache .hypothesis .ruff_cache .mypy_cache
	find spec_examples tests docs setup -name __pycache__ -type d -prune -exec rm -rf {} +
