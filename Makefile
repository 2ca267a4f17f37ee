# Thin wrappers: each installs what is missing, configures, builds and runs one thing.
.PHONY: build gpu demo lib verify verify-stub-rejected install test test-device test-training bench sanitize tsan fuzz clang aarch64 clean

PARLANCE := build/release/bin/parlance

build:
	@tools/install-dependencies.sh build
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target parlance

# The same with the CUDA kernels, which are built by themselves only where there is a GPU.
gpu:
	@tools/install-dependencies.sh build
	@cmake --preset release -DPARLANCE_CUDA=ON >/dev/null
	@cmake --build --preset release --target parlance

# The models in models/demo/ hear three questions and answer them: aloud at a terminal, else into a file.
demo: build
	@if [ -t 1 ]; then \
	  $(PARLANCE) talk models/demo-eval/questions/*.flac; \
	else \
	  $(PARLANCE) talk models/demo-eval/questions/*.flac -o build/answers.wav && echo "the answers are in build/answers.wav"; \
	fi
	@echo "talk to it in the browser: $(PARLANCE) serve --open    at the terminal: $(PARLANCE) talk    write to it: $(PARLANCE) chat"
	@echo "the demo's ears know synthetic voices only; real models: $(PARLANCE) pull --help, docs/models.md"

# libelizainference in its three profiles: build/release/lib.
lib:
	@tools/install-dependencies.sh build
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target lib

# The library as a loader is given it: its families and names, and the report of that, in build/release/eliza.
verify:
	@tools/install-dependencies.sh build
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target verify_library

# What has only the names is refused.
verify-stub-rejected:
	@tools/install-dependencies.sh build
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target elizainference_stub
	@cp build/release/lib/stub/libelizainference_stub.so build/release/lib/stub/libelizainference.so
	@! tools/verify-symbols.py --out-dir build/release/lib/stub --target stub --no-server

# Program, library, headers and pkg-config files below PREFIX (/usr/local); it fails where the library lacks a name.
install: build lib
	@cmake --install build/release $(if $(PREFIX),--prefix $(PREFIX))

test:
	@tools/install-dependencies.sh build test
	@cmake --preset release >/dev/null
	@cmake --build --preset release
	@ctest --preset release

# What computes, on a GPU of this machine: its kernels, then engine, ears and mouth. DEVICE is as --device takes it.
DEVICE ?= cuda:0
test-device:
	@case '$(DEVICE)' in cpu*) echo 'the tests of the CPU are those of make test; DEVICE names a GPU: cuda:0, vulkan:0' >&2; exit 2;; esac
	@tools/install-dependencies.sh build test
	@cmake --preset release $(if $(filter cuda%,$(DEVICE)),-DPARLANCE_CUDA=ON) >/dev/null
	@cmake --build --preset release --target parlance kernels_test engine_test asr_test tts_test
	@$(PARLANCE) verify kernels --device $(DEVICE)
	@build/release/bin/kernels_test --gtest_brief=1 --gtest_filter='*$(firstword $(subst :, ,$(DEVICE)))*'
	@set -e; export XDG_CACHE_HOME=$(CURDIR)/build/release/tests-cache; for test in engine asr tts; do \
	  PARLANCE_TEST_DEVICE=$(DEVICE) build/release/bin/$${test}_test --gtest_brief=1; done

# The Python of training/; what needs PyTorch is skipped, and named, where that is missing.
test-training:
	@tools/install-dependencies.sh training
	@PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m unittest discover -s tests/training -v

# Speed beside the machine's bounds, and beside llama.cpp where LLAMA_BENCH names one; bench/README.md has the variables.
bench:
	@tools/install-dependencies.sh build bench
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target parlance
	@python3 bench/cpu_speed.py

sanitize:
	@tools/install-dependencies.sh build test
	@cmake --preset asan-ubsan >/dev/null
	@cmake --build --preset asan-ubsan
	@ctest --preset asan-ubsan

# Four contexts of the C library in four threads, and what else computes in threads; TESTS names others.
TESTS ?= capi engine asr voice server
tsan:
	@tools/install-dependencies.sh build test
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan --target $(addsuffix _test,$(TESTS))
	@ctest --preset tsan -R '^($(subst $(eval) ,|,$(TESTS)))$$'

fuzz:
	@tools/install-dependencies.sh build clang
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz

clang:
	@tools/install-dependencies.sh build test clang
	@cmake --preset clang >/dev/null
	@cmake --build --preset clang
	@ctest --preset clang

aarch64:
	@tools/install-dependencies.sh build test aarch64
	@cmake --preset aarch64 >/dev/null
	@cmake --build --preset aarch64
	@ctest --preset aarch64

clean:
	@rm -rf build
