# make run   the main job: the authority suite over the recorded replies in ledger.db, no key, no network
# make test  every check that CI runs on one Python
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: run test test-long interop lint lock bench $(VENV)

$(VENV): $(VENV)/.installed

$(VENV)/.installed: requirements.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

run: $(VENV)/.installed
	@mkdir -p runs
	$(BIN)/harness run authority --engine replay/ledger.db --db runs/ledger.db
	$(BIN)/ledger verify --db runs/ledger.db

test: $(VENV)/.installed
	$(BIN)/python -m pytest -n 2 --dist loadfile $(PYTEST_ARGS)

test-long: $(VENV)/.installed
	$(BIN)/python -m pytest -m long --timeout 3600

# Somebody else's implementation of the formats of checkpoints, for tests/ledger/tree/test_interop.py. It says that it wants
# a newer Python than 3.11 and runs on 3.11 all the same; what it depends on is here already.
interop: $(VENV)/.installed
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --ignore-requires-python --require-hashes \
	  -r tests/ledger/tree/interop.txt

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports

bench: $(VENV)/.installed
	for script in bench/*.py; do $(BIN)/python $$script || exit 1; done

# Needs uv; writes no index address.
lock:
	uv pip compile pyproject.toml --extra pandas --extra parquet --group dev --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-annotate --no-header --output-file requirements.txt
