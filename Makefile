# What every day needs. `make run` and `make test` set up what they use; nothing but Python 3.11+ is assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := . conformance $(wildcard plugins/teamchat-*)
READY := $(VENV)/.ready

# Tests start Python some hundred times, and without bytecode it compiles all of teamchat at each start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install server run test test-all test-postgres conformance conformance-postgres same-verdicts lint format new-plugin bench docs dist lock clean

# What installs the rest comes first: a new environment has the pip of the Python that made it.
INSTALLERS := -m pip install --quiet --disable-pip-version-check --require-hashes -r deploy/installers.lock

# What the distribution was called before; left where it is, its entry points would be there twice. (-qq: it is no news
# that it is not there.)
FORMER := --disable-pip-version-check teamchat

install: $(READY)

$(READY): deploy/installers.lock requirements.lock pyproject.toml conformance/pyproject.toml $(wildcard plugins/*/pyproject.toml)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(INSTALLERS)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip uninstall -qq --yes $(FORMER)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation $(foreach package,$(PACKAGES),-e $(package))
	touch $@

# For a server that runs for years: the program in PREFIX, without what development needs. Again: an upgrade.
PREFIX ?= /opt/teamchat
server: install
	rm -rf build/wheels
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir build/wheels \
		. $(filter plugins/%,$(PACKAGES))
	$(PYTHON) -m venv $(PREFIX)
	$(PREFIX)/bin/python $(INSTALLERS)
	$(PREFIX)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r deploy/requirements.lock
	$(PREFIX)/bin/pip uninstall -qq --yes $(FORMER)
	$(PREFIX)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-index --force-reinstall \
		build/wheels/*.whl

run: install
	$(BIN)/teamchat serve

# Several test files at a time; with ARGS, pytest alone: `make test ARGS="-k threads"`. All together they start some
# hundred servers and browsers on whatever machine this is: one that fails is run again, twice at most, and the summary
# says so and why: a test that needs it is to be mended.
# What is marked as slow is left to `make test-all`.
# Three at a time also on two cores: much of what they do is waiting. In the order of conftest.py: else the files with
# few tests, which take longest, would come last.
ALL_TESTS = -n 3 --dist loadfile --no-loadscope-reorder --reruns 2 --rerun-show-tracebacks

# These two read and import everything, and `make lint` runs them.
LINTED = --ignore=tests/test_architecture.py --ignore=tests/test_docs.py

test: install
	$(BIN)/python -m pytest $(or $(ARGS),-m "not slow" $(LINTED) $(ALL_TESTS))

# All there is: the same, then what is marked as slow, what needs the machine for itself one after the other, and the
# conformance suite in every mode.
test-all: test
	$(BIN)/python -m pytest -m "slow and not alone" $(ALL_TESTS)
	$(BIN)/python -m pytest -m alone --reruns 1 --rerun-show-tracebacks
	$(MAKE) conformance

# Starts teamchat in every mode and asks from outside whether it conforms.
conformance: install
	$(BIN)/teamchat-conformance run --instance conformance/teamchat.toml --launch all --strict \
		--report conformance-report $(ARGS)

# The same on PostgreSQL, one to throw away: every test that has to do with a storage, and the conformance suite,
# whose verdicts must be those that it gave on SQLite. What knows no storage, or has its own, has run by `make test`.
NO_STORAGE := conformance/tests tests/http1 tests/storage tests/testing tests/deploy tests/docs tests/scaffold \
	tests/test_architecture.py \
	tests/test_benchmarks.py tests/test_simulation.py tests/test_docs.py tests/settings \
	$(addprefix plugins/teamchat-,images-files images-s3 storage-postgres web)
test-postgres: install
	TEAMCHAT_TEST_STORAGE=postgres $(BIN)/python -m pytest -m "not alone" $(addprefix --ignore=,$(NO_STORAGE)) \
		$(or $(ARGS),$(ALL_TESTS))
ifeq ($(strip $(ARGS)),)
	$(MAKE) conformance-postgres
endif

conformance-postgres: install
	$(BIN)/python -m tests.on_postgres $(BIN)/teamchat-conformance run --instance conformance/teamchat.toml \
		--set 'launch.command=["{python}", "$(CURDIR)/tests/serve_on_postgres.py", "--config", "{config}"]' \
		--launch all --strict --report conformance-report/postgres $(ARGS)
ifeq ($(strip $(ARGS)),)
	test ! -f conformance-report/results.json || $(MAKE) same-verdicts
endif

# Of the last `make conformance` and the last `make conformance-postgres`, check by check.
same-verdicts: install
	$(BIN)/python -m tests.same_verdicts conformance-report/results.json conformance-report/postgres/results.json

lint: install
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py tests/test_docs.py

format: install
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# A plugin beside the others, whose tests pass at once: make new-plugin NAME=lunch-menu KIND=routes
new-plugin: install
	$(BIN)/teamchat new-plugin "$(NAME)" --kind "$(KIND)" --directory plugins
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e "plugins/teamchat-$(NAME)"

bench: install
	$(BIN)/python -m benchmarks $(ARGS)

# The documentation is Markdown that reads as it is; what can be generated is, the rest is checked, and all of it
# becomes a site in build/site.
docs: install
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/site_of_docs.py
	$(BIN)/python -m pytest -q tests/test_docs.py

# What is published: a source archive and a wheel of everything, in dist/. PAGES is where the files of this version are
# read, for the links of the READMEs: make dist PAGES=https://…
dist: install
	$(BIN)/python deploy/dist.py dist $(if $(PAGES),--pages $(PAGES))

# Three locks: what development needs, what a server needs and no more, and what installs them. What plugins mean by
# "teamchat-server", and by each other, is in this directory, not a version that was published.
NEEDED := teamchat-files-directory teamchat-files-s3
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-annotate --custom-compile-command "make lock" --overrides build/this \
	$(addprefix --no-emit-package ,teamchat-server $(NEEDED))
PROJECTS = pyproject.toml $(wildcard plugins/teamchat-*/pyproject.toml)

lock: install
	mkdir -p build
	echo "teamchat-server @ file://$(CURDIR)" > build/this
	$(foreach name,$(NEEDED),echo "$(name) @ file://$(CURDIR)/plugins/$(name)" >> build/this;)
	$(COMPILE) --group dev $(PROJECTS) conformance/pyproject.toml --output-file requirements.lock
	$(COMPILE) --constraints requirements.lock $(PROJECTS) --output-file deploy/requirements.lock
	printf 'pip\nsetuptools ; python_version < "3.12"\n' | $(COMPILE) - --output-file deploy/installers.lock

clean:
	rm -rf $(VENV)
