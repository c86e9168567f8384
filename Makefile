VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3

.PHONY: demo test lint format bench clean

$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[demo]"
	touch $@

$(VENV)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ $(VENV)/.demo

demo: $(VENV)/.demo  ## Select pixels of handwritten digits; picture in demo-output/
	$(BIN)/python examples/digits.py

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

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	touch $@

bench: $(VENV)/.bench  ## Time all against peers and a plain version, their growth and memory; tables in benchmarks/
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) demo-output
