# make demo    install into .venv and run the demonstration
# make test    run all checks and tests; of those on a control plane the first of most files, with LIVE=all each of them: ten minutes more
# make lint    run only the checks: style, format, types
# make bench   measure every figure of docs/benchmarks.md on this machine
# make bench-cluster     compare the sidecar with kube-scheduler on a real API server: eighteen minutes
# make soak              run every random test with all its examples (`make test` runs a sample); then create and delete groups on a
#                        real API server for ten minutes: the sidecar's memory must not grow, and no object must be left behind
#                        MINUTES=N attacks Muster for this time instead and prints a table; RESUME=1 continues it, CAMPAIGNS="churn" selects
# make docs    write the generated pages: the page of rules and docs/reference
# make manifests         render deploy/ from the chart; helm is built by make cluster-assets
# make docs-site         build the site of docs/ into site/; a dead link or any other warning is an error
# make release           build what is published of a commit into dist/: packages, chart, image, list of components, checksums.
#                        Before, pip-audit asks for advisories about the locked packages; ACCEPT=ID leaves one out.
#                        BASE=IMAGE@sha256:DIGEST builds the image on another base; PARTS="packages chart" leaves out the rest
# make clean   remove all files that the other targets created in this tree
# make cluster-assets    build etcd, kubectl and Kubernetes for tests/cluster, and helm, kustomize and kubeconform, into a cache; prints the folder.
#                        Controllers of other projects, as JobSet's and KubeRay's, are built too: six minutes more, once
#                        KUBERNETES="1.37.1 1.30.14" builds these versions of Kubernetes; tests with the same KUBERNETES run on the first
# make editor-assets     install code-server and package the extension of editors/vscode for tests/editors, into a cache; needs Node 20
#
# Needs Python 3.11 or newer: make demo PYTHON=python3.12

PYTHON ?= python3
VENV ?= .venv
LOCK := requirements-ci.txt
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# More than the cores: tests on a control plane mostly wait.
JOBS ?= 5
LIVE ?= first

.PHONY: demo test lint bench bench-cluster soak docs manifests docs-site release cluster-assets editor-assets install dev clean
.DELETE_ON_ERROR:

demo: install
	@$(BIN)/muster demo

test: lint
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup --live $(LIVE)

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: dev
	@$(BIN)/python -m benchmarks

bench-cluster: dev
	@$(BIN)/python -m benchmarks.cluster

soak: dev
ifdef MINUTES
	@$(BIN)/python -m tests.reliability --minutes $(MINUTES) $(if $(RESUME),--resume) $(CAMPAIGNS)
else
	MUSTER_SOAK=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup
	@$(BIN)/python -m tests.cluster.soak
endif

docs: install
	@$(BIN)/python -m muster.document

manifests: dev
	@$(BIN)/python -m tests.deploy.rendered

docs-site: dev
	@$(BIN)/zensical build --strict

release: dev
	@$(BIN)/python -m release $(if $(BASE),--base $(BASE)) $(foreach id,$(ACCEPT),--accept-advisory $(id)) $(PARTS)

# Needs Go and no virtual environment.  If KUBEBUILDER_ASSETS is set, it is used unchanged.
cluster-assets:
	@$(PYTHON) -m tests.cluster.programs
	@$(PYTHON) -m tests.cluster.go_tools

# Needs no virtual environment, as cluster-assets.
editor-assets:
	@$(PYTHON) -m tests.editors.assets

install: $(VENV)/.installed
dev: $(VENV)/.dev

# Each stamp is created only after its step has succeeded, so a second run has nothing to do.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and "Muster needs Python 3.11 or newer, this is %d.%d: make PYTHON=python3.12" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: pyproject.toml $(LOCK) | $(VENV)/.created
	$(PIP) --constraint $(LOCK) --editable '.[all]'
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(PIP) --requirement $(LOCK)
	@touch $@

clean:
	rm -rf $(VENV) build dist site .cache *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
