# The commands a person types. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
CONFIG ?= quick
# Empty: the newest that will do. Any Python can start the installer, which chooses.
PYTHON ?=
# Without bytecode every start of Snakemake, pandas or torch compiles them again: seconds each time.
unexport PYTHONDONTWRITEBYTECODE
# By name, not by path: a path may have spaces.
STARTER := $(shell for name in $(PYTHON) python3 python3.13 python3.12 python3.11; do if command -v $$name >/dev/null; then echo $$name; break; fi; done)
BIN := .venv/bin
LATEX_PACKAGES := texlive-latex-base texlive-latex-recommended texlive-latex-extra latexmk
SLURM_PACKAGES := slurm-wlm munge

.PHONY: help environment lock latex chromium slurm reproduce docs test test-docs test-slow publish test-slurm test-wheels test-mutants test-fresh lint bench readme clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t14

environment:  ## make .venv with the packages of requirements.lock
	@$(if $(STARTER),PYTHON='$(PYTHON)' $(STARTER) tools/install.py,echo "No Python here: apt-get install python3 python3-venv"; exit 1)

latex:
	@if command -v latexmk >/dev/null; then true; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing LaTeX (about two minutes) ..."; \
	  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(LATEX_PACKAGES)) >/dev/null 2>&1 \
	    || echo "LaTeX could not be installed: everything but paper.pdf is made."; \
	else echo "No LaTeX here: everything but paper.pdf is made. To get it: sudo apt-get install $(LATEX_PACKAGES)"; fi

chromium:
	@if command -v chromium >/dev/null; then true; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing Chromium (about a minute) ..."; \
	  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium) >/dev/null 2>&1 \
	    || echo "Chromium could not be installed: tests of the pages are skipped."; \
	else echo "No Chromium here: tests of the pages are skipped. To get it: sudo apt-get install chromium"; fi

slurm:
	@found() { for name in munged slurmctld slurmd; do PATH=$$PATH:/usr/sbin command -v $$name >/dev/null || return 1; done; }; \
	if found; then true; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing Slurm ..."; \
	  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(SLURM_PACKAGES)) >/dev/null 2>&1; \
	  found || { echo "Slurm could not be installed: see apt-get install $(SLURM_PACKAGES)"; exit 1; }; \
	else echo "No Slurm here. To get it: sudo apt-get install $(SLURM_PACKAGES)"; exit 1; fi

reproduce: environment latex  ## run the pipeline; CONFIG=paper for the whole paper, VERBOSE=1 for all that Snakemake says
	@$(BIN)/python -m causaldq reproduce $(CONFIG) $(if $(VERBOSE),--verbose)

publish: environment  ## enter a finished run of CONFIG into DVC's cache and its dvc.lock
	@at=; grep -qx 'profile: $(CONFIG)' params.yaml || at=$(CONFIG)/; \
	if [ -n "$$at" ]; then mkdir -p $$at; rm -f $${at}dvc.yaml; cp dvc.yaml $${at}dvc.yaml; \
	  printf 'profile: %s\nwdir: ..\n' $(CONFIG) > $${at}params.yaml; fi; \
	mkdir -p data/raw artifacts/$(CONFIG)/{fetched,policies,propagation,crossed}; \
	$(BIN)/dvc commit --force --quiet $${at}dvc.yaml && $(BIN)/dvc add --quiet data/raw; \
	echo "Now: git add $(if $(filter paper,$(CONFIG)),,--force )results/$(CONFIG) data/raw.dvc $${at:-dvc.lock} && git commit && dvc push $${at}dvc.yaml data/raw.dvc"

lint: environment
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src tools
	$(BIN)/lint-imports
	$(BIN)/snakefmt --check Snakefile workflow

docs: environment  ## the documentation, in docs/_build/html/index.html
	@rm -rf docs/_build docs/gallery
	$(BIN)/python -m sphinx --nitpicky --fail-on-warning --quiet docs docs/_build/html -d docs/_build/doctrees
	@echo "Read: docs/_build/html/index.html"

test-docs: docs  ## build the documentation, and check its links, names, commands and examples
	$(BIN)/python -m pytest tests/docs

test: environment latex chromium lint test-docs  ## everything that checks the project
	$(BIN)/python -m pytest tests/unit --numprocesses 2
	$(BIN)/python -m pytest tests/workflow --numprocesses 2 --dist loadfile

test-slow: environment latex  ## attacks on a run, and kills of it; after make test
	$(BIN)/python -m pytest tests/slow --numprocesses 2 --dist loadfile

test-slurm: environment slurm  ## the pipeline on a Slurm of one node, started for the test
	$(BIN)/python -m pytest tests/slurm

test-wheels: environment  ## the library's packages need no compiler, on Python 3.11 to 3.14
	$(BIN)/python tools/lock.py wheels

test-mutants: environment  ## do the unit tests notice changes of the code? 200 of them, hours
	$(BIN)/python tools/mutants.py

test-fresh:  ## the README's commands on fresh Debians, as root and as a user; hours, needs root
	tools/fresh.sh

lock:  ## make the locks again after pyproject.toml has changed
	$(BIN)/python tools/lock.py make

bench: environment  ## speed, as ratios within one run; writes results/bench.json
	@$(BIN)/python scripts/bench.py --output results/bench.json

readme: environment  ## put the measured tables of CONFIG into the README
	@$(BIN)/python -m causaldq readme results/$(CONFIG) --scenario p50

clean:  ## remove results and caches, keep the environment and the committed results
	git clean -fdqX results
	rm -rf docs/_build docs/gallery artifacts logs .snakemake .pytest_cache .mypy_cache .ruff_cache .hypothesis
