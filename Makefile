VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3

.PHONY: demo test lint format docs bench clean

$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[cli]"
	touch $@

$(VENV)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ $(VENV)/.demo

demo: $(VENV)/.demo  ## Select pixels of handwritten digits; files and page in demo-output/
	$(BIN)/ufselect demo demo-output

# A process for each core, each with one thread: threads of several processes would wait for each other.
test: $(VENV)/.dev  ## Run the whole suite
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto

lint: $(VENV)/.dev  ## Check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev  ## Bring the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.dev  ## Build the documentation and its gallery in docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	touch $@

bench: $(VENV)/.bench  ## Time all against peers and a plain version, their growth and memory; tables in benchmarks/
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) demo-output docs/_build docs/auto_examples docs/api docs/project examples/demo-output
