VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
OLDEST := .venv-oldest
OLDEST_PYTHON ?= python3.11

# One process per core and two more, as tests also wait, for other processes and for time to pass. Each has one thread:
# threads of several processes would compete for the cores. Python may keep what it compiles: else every process would
# compile the tests and the package again.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
TESTING = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
PYTEST = $(TESTING) $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

# The fast tier: what all methods promise, a file or two of every room, and the doctests of public code.
FAST = src tests/test_contract.py tests/test_metrics.py tests/columns tests/utils \
	tests/solvers/test_l21.py tests/solvers/test_alignment.py tests/solvers/test_nonnegative.py \
	tests/graphs/test_adaptive.py tests/graphs/test_laplacian.py \
	tests/selectors/test_laplacian_score.py tests/selectors/test_kernel_fsasl.py \
	tests/files/test_array_files.py tests/files/test_text_dialects.py tests/datasets/test_dataset_registry.py \
	tests/report/test_report_content.py tests/cli/test_explain_command.py tests/benchmark/test_experiment.py \
	tests/preprocessing/test_roles.py

.PHONY: help demo test test-fast test-oldest test-more lint hooks format docs dist bench clean

help:  ## List the targets
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[cli]"
	touch $@

$(VENV)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@ $(VENV)/.demo

$(VENV)/.gpu: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable ".[gpu]"
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	touch $@

$(OLDEST)/.test: pyproject.toml
	$(OLDEST_PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet uv
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct --editable ".[test]"
	touch $@

demo: $(VENV)/.demo  ## Select pixels of handwritten digits; writes the results to demo-output/
	$(BIN)/ufselect demo demo-output

test: $(VENV)/.dev  ## Run all tests and measure their coverage
	$(TESTING) $(BIN)/python tests/compile_first.py && $(PYTEST) --cov --cov-report=term-missing:skip-covered

test-fast: $(VENV)/.dev  ## Run the tests of the fast tier, in about a minute once functions are compiled
	$(PYTEST) $(FAST)

test-oldest: BIN := $(OLDEST)/bin
# A cache of compiled functions apart from that of `make test`: each version of numba discards the other's.
test-oldest: export NUMBA_CACHE_DIR := $(CURDIR)/$(OLDEST)/numba
# Without this, the estimator checks of scikit-learn 1.6 cannot be imported beside array_api_compat and SciPy 1.14.
test-oldest: export SCIPY_ARRAY_API := 1
test-oldest: $(OLDEST)/.test  ## Run all tests with the oldest versions of the dependencies that pyproject.toml allows
	$(TESTING) $(BIN)/python tests/compile_first.py && $(PYTEST)

test-more: $(VENV)/.gpu  ## Install PyTorch and test tensors, which need no GPU, and approximate neighbours
	$(PYTEST) -m more tests/gpu tests/graphs/test_approximate.py

lint: $(VENV)/.dev  ## Check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

hooks: $(VENV)/.dev  ## Check what has changed before every commit (.pre-commit-config.yaml)
	$(BIN)/pre-commit install

format: $(VENV)/.dev  ## Format the code and fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.dev  ## Build the documentation and its gallery in docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# The demo runs where nothing but the wheel, and then nothing but the source distribution, is installed.
dist: $(VENV)/.dev  ## Build the wheel and the source distribution in dist/, check them, and run the demo of both
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	for file in dist/*; do \
		$(PYTHON) -m venv --clear dist-test && \
		dist-test/bin/python -m pip install --quiet "$$file[cli]" && \
		(cd dist-test && bin/ufselect demo) || exit 1; \
	done
	rm -rf dist-test

bench: $(VENV)/.bench  ## Measure time and memory; writes the tables of benchmarks/README.md
	$(BIN)/python benchmarks/run.py

clean:  ## Remove the environments and everything that was built
	rm -rf $(VENV) $(OLDEST) .coverage demo-output dist dist-test docs/_build docs/auto_examples docs/api docs/project examples/demo-output
