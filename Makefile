PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
# The peers of the benchmarks have pins that conflict with ours. PEERS= leaves them out.
PEERS ?= $(VENV)-peers/bin/python

CPP := $(wildcard skscreen/_compiled/*.?pp skscreen/_compiled/*/*.?pp) tests/portable/loops.cpp

# Many programs start during the tests. Where this is set, each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two extras share one environment, and two pips must not write to it at the same time.
.NOTPARALLEL:
.PHONY: help demo compiled test rest quick proofs sanitize portable test-matrix release speed bench doc doc-quick lint format dist clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed-plot ## four things to see in a minute; figures go to demo-output/
	@mkdir -p demo-output
	@$(RUN) examples/demo.py --output demo-output

compiled: $(VENV)/.installed-test ## compile the C++ loops again after a change

test: $(VENV)/.installed-test ## run the tests that a change wants first, on all cores
	@$(RUN) -m pytest -q -n auto --dist worksteal

# Searches go on for as long as they are told, and scripts of papers take minutes each.
rest: $(VENV)/.installed-test ## run the tests that `make test` leaves out, but for searches of minutes
	@$(RUN) -m pytest -q -n auto --dist worksteal -m proof \
	  --ignore tests/proofs --ignore tests/test_benchmarks.py --ignore tests/test_site.py

quick: $(VENV)/.installed-test ## run one case of each quick test, in a minute
	@$(RUN) -m pytest -q -n auto --dist worksteal --ignore tests/proofs --ignore tests/test_contract.py \
	  -m "not slow and not proof" --cases 1

proofs: $(VENV)/.installed-test $(VENV)/.installed-bench ## search for wrong decisions, gaps, answers, and leaks: make proofs [MINUTES=2] of each [SEED=0]
	@$(RUN) -m pytest -q -m proof --proof-minutes $(or $(MINUTES),2) --proof-seed $(or $(SEED),0)
	@$(RUN) -m pytest -q -n auto --dist worksteal --optima compare

# The checked module is found before those of the environment, whose packages serve as they are;
# the environment's own Python would find the editable one first.
SANITIZED := build/sanitized
CHECKED = ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=print_stacktrace=1 \
	  LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libubsan.so)" \
	  PYTHONSAFEPATH=1 PYTHONPATH="$(abspath $(SANITIZED)):$(CURDIR):$$($(RUN) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
	  $(PYTHON)
sanitize: $(VENV)/.installed-test ## run the tests of the loops with checks of addresses, bounds and undefined behaviour
	@rm -rf $(SANITIZED)
	@PATH="$(abspath $(VENV))/bin:$$PATH" $(RUN) -m pip install --quiet --disable-pip-version-check \
	  --no-build-isolation --no-deps --target $(SANITIZED) -C build-dir=build/sanitizing \
	  -C cmake.define.SKSCREEN_SANITIZE=ON -C install.strip=false .
	@$(CHECKED) .ci/smoke.py | grep "^$(abspath $(SANITIZED))"
	@$(CHECKED) -m pytest -q -p no:cacheprovider -o pythonpath= -m "not slow and not contract and not proof" $(LOOPS)

# Tests that run every loop.
LOOPS := tests/test_compiled_levels.py tests/test_compiled_calls.py tests/core tests/samples tests/embedding tests/sequence tests/pragam \
  tests/metric_learning/problem tests/metric_learning/screening tests/metric_learning/solvers \
  tests/svm/solvers tests/svm/screening tests/svm/certified/test_bounds.py tests/svm/test_crammer_singer.py tests/svm/test_l1.py \
  tests/svm/test_nu_machines.py tests/svm/test_one_class.py tests/svm/test_pairs.py tests/svm/test_scores.py tests/concepts

portable: $(VENV)/.installed-test ## compile the loops with other compilers and for ARM, macOS and Windows, where they are here
	@$(RUN) .ci/portable.py

test-matrix: dist ## test the wheel on all Pythons found: make test-matrix [PYTHONS="3.12 3.13"]
	@$(RUN) .ci/matrix.py $(PYTHONS)

release: $(VENV)/.installed-dev ## check what a release promises of its build: make release [PYTHONS="3.12 3.13"]
	@$(RUN) .ci/release.py $(PYTHONS)

speed: $(VENV)/.installed-bench ## this commit beside another, by asv: make speed [BASE=main] [BENCH="fit.*metric"]
	@$(RUN) -m asv machine --yes
	@$(RUN) -m asv continuous --interleave-rounds --factor 1.05 $(if $(BENCH),--bench "$(BENCH)") $(or $(BASE),main) HEAD

bench: $(VENV)/.installed-bench $(if $(filter $(VENV)-peers/%,$(PEERS)),$(VENV)-peers/.installed) ## run all benchmarks: make bench DATA=FOLDER [OUT=DIR] [ONLY=linear,search] [PEERS=PYTHON]
	@test -n "$(DATA)" || { echo "Name the folder of the data: make bench DATA=FOLDER"; exit 1; }
	@$(RUN) -m benchmarks.run_all --data $(DATA) --out $(or $(OUT),bench-output) \
	  $(if $(ONLY),--only $(ONLY)) $(if $(PEERS),--peer-python $(PEERS))

doc: $(VENV)/.installed-doc ## build the documentation, with its figures, in doc/_build/; shows what it does
	@$(RUN) -m sphinx -W --keep-going doc doc/_build
	@echo "Documentation: doc/_build/index.html"

doc-quick: $(VENV)/.installed-doc ## the same without the gallery's figures, in a fraction of the time
	@$(RUN) -m sphinx -q -D plot_gallery=0 -D suppress_warnings=image.not_readable doc doc/_build
	@echo "Documentation: doc/_build/index.html"

lint: $(VENV)/.installed-dev ## check style, format, spelling and types
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(VENV)/bin/clang-format --dry-run --Werror $(CPP)
	@$(RUN) -m codespell_lib
	@$(RUN) -m mypy

format: $(VENV)/.installed-dev ## mend what lint complains of, where it can be mended by itself
	@$(RUN) -m ruff check --fix .
	@$(RUN) -m ruff format .
	@$(VENV)/bin/clang-format -i $(CPP)

dist: $(VENV)/.installed-dev ## build the wheel and the source distribution in dist/, and check them
	@rm -rf dist
	@$(RUN) -m build
	@$(RUN) -m twine check --strict dist/*

clean: ## remove the environment and everything that can be made again
	@rm -rf $(VENV) $(VENV)-peers demo-output bench-output build dist .pytest_cache .ruff_cache .hypothesis
	@rm -rf doc/_build doc/auto_examples doc/generated
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The tools of the build stay in the environment, so that only what changed is compiled again.
$(VENV)/.tools: pyproject.toml | $(VENV)/.created
	@$(RUN) -m pip install --quiet --disable-pip-version-check 'scikit-build-core>=0.11' 'nanobind>=2.9' cmake ninja
	@touch $@

# One stamp for each extra: it is installed again when its dependencies or the C++ sources change.
# The second command finds skscreen in place and installs the extra's packages, each built (where it
# has no wheel: seqeval) with the tools that it asks for and not with those above. Bytecode is left to
# the first import: pip would compile all files one after the other, of which tests use a part.
$(VENV)/.installed-%: pyproject.toml CMakeLists.txt $(filter skscreen/%,$(CPP)) $(VENV)/.tools
	@command -v $${CXX:-c++} >/dev/null || { \
	  echo "skscreen is compiled from C++: install a C++17 compiler (Debian: apt-get install g++;"; \
	  echo "macOS: xcode-select --install; conda: conda install cxx-compiler), or name one: CXX=clang++"; \
	  exit 1; }
	@echo "Compiling and installing skscreen[$*] into $(VENV) (once, and when its sources change)"
	@PATH="$(abspath $(VENV))/bin:$$PATH" $(RUN) -m pip install --quiet --disable-pip-version-check \
	  --no-build-isolation --no-deps -C cmake.define.SKSCREEN_ONE_LEVEL=ON --editable .
	@$(RUN) -m pip install --quiet --disable-pip-version-check --no-compile 'skscreen[$*]'
	@touch $@

$(VENV)-peers/.installed: benchmarks/peers.txt
	@echo "Installing the peers into $(VENV)-peers (once, and when $< changes; PEERS= leaves them out)"
	@$(PYTHON) -m venv --clear $(VENV)-peers
	@$(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "skscreen needs Python >= 3.11, but $(PYTHON) is: $$($(PYTHON) --version 2>&1)"; \
	  echo "Name a newer one, for instance: make $(or $(MAKECMDGOALS),test) PYTHON=python3.12"; \
	  exit 1; }
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@
