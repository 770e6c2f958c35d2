# Two commands do everything: `make demo` and `make test`. Both set up .venv first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test promises test-long test-blas bench clean

# Leaves aspca-demo/report.html to open in a browser, and says so.
demo: $(VENV)/.core
	$(BIN)/python -m aspca demo

# Tests start hundreds of processes: byte code is kept for the next, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

# Three workers for two cores, since some wait for browsers, servers and engines; a file each: fits are cached per file. In
# their order, or long files of few tests would come last and alone. One BLAS thread per worker, or more would share two cores.
test: $(VENV)/.test $(VENV)/.browser
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

# What users rely on, in a few minutes.
promises: $(VENV)/.test $(VENV)/.browser
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m 'promise and not long'

# What rests on BLAS, by the kernels of other processors; those that this one cannot run are left out, and said.
NUMERICAL := certificates golden oracle properties parity/test_local_sources.py e2e/test_commands.py \
  e2e/test_detect.py e2e/test_five_lines.py $(addprefix unit/,estimators findings identities linalg model model_file moments pipeline \
  paper report rules sparse_pca)
test-blas: $(VENV)/.test
	for core in Nehalem Haswell SkylakeX; do \
	  export OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=$$core; \
	  if $(BIN)/python tests/running/blas_kernel.py; then \
	    $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(addprefix tests/,$(NUMERICAL)) || exit; \
	  fi; \
	done

test-long: $(VENV)/.test $(VENV)/.browser
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m long

# What benchmarks/ compare with. robpy pins older versions of its dependencies than the others need, and works with these.
bench: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps robpy==0.0.6 seaborn tqdm

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# The stamps make a second run start at once; a changed pyproject.toml installs again.
$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[cli]'
	touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,cli]'
	touch $(VENV)/.core $@

# Pages are tested in Debian's chromium, which is installed where that can be done; without it these tests are skipped.
$(VENV)/.browser: | $(VENV)/bin/python
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then \
	  touch $@; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing chromium, for tests of pages"; \
	  apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 || \
	    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1; } || \
	    echo "chromium could not be installed: tests of pages are skipped"; \
	  touch $@; \
	else \
	  echo "No chromium, and no root with apt-get to install it: tests of pages are skipped"; \
	fi

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
