# SPDX-License-Identifier: Apache-2.0
#
# A thin front for meson: every target is a line or two, the work is in the scripts it names.
#
#   make            build/viv, build/viv-launch, build/runner/
#   make run        the same, then `viv serve` with an example session, until Ctrl-C
#   make test       everything that must hold, as root and as an ordinary user when started as root; SUITE=api: one suite
#   make check      format, lint, sanitizers, second compiler
#   make bench      beside bubblewrap and plain python3; table, JSON and chart in bench/results/
#   make install    DESTDIR and PREFIX as usual
#   make fmt clean

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
NINJA := ninja -C $(BUILD)

# On a terminal ninja shows each step as it goes; elsewhere one line says that it is at work.
all: $(BUILD)/build.ninja
	@if [ -t 1 ]; then $(NINJA); else echo "building in $(BUILD); the first time takes a minute or two"; $(NINJA) --quiet; fi

$(BUILD)/build.ninja:
	meson setup $(BUILD) --prefix $(PREFIX)

setup-%:
	@scripts/setup $*

# Separate makes, so that nothing is built before the setup is through, with -j too.
run: setup-run
	@$(MAKE) --no-print-directory all
	@scripts/demo $(BUILD)

test: setup-test
	@$(MAKE) --no-print-directory all
	@tests/run --build $(BUILD) $(addprefix --only ,$(SUITE))

check: setup-check
	@$(MAKE) --no-print-directory all
	@scripts/check

bench: setup-test
	@$(MAKE) --no-print-directory all
	@/usr/bin/python3 bench/run.py --build $(BUILD)
	@/usr/bin/python3 bench/daemon.py --build $(BUILD)
	@/usr/bin/python3 bench/page.py --build $(BUILD)

install: all
	meson configure $(BUILD) -Dprefix=$(PREFIX)
	@$(NINJA) --quiet
	DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild

fmt:
	clang-format -i $$(find src tests -name '*.[ch]')

clean:
	rm -rf $(BUILD) build-*

.PHONY: all run test check bench install fmt clean
