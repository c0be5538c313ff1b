# SPDX-License-Identifier: GPL-2.0
#
# `make help` tells what there is.

.DEFAULT_GOAL := help
SHELL := /bin/bash

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  LINUX=<tree>      for integrate and unintegrate: a Linux 7.3 tree"
	@echo "  TUN_RUST_CACHE=   where the build root, the kernels and their source are kept"

setup: ## the build root, the kernel's source and the tools: what all else needs
	@scripts/setup

build: ## the guest's kernel, C tun and ours as modules, the programs that measure
	@scripts/setup
	@scripts/build x86

demo: build ## both drivers in one boot, compared: build/demo.json
	@scripts/demo

test: ## all tests; ends with "N passed, N failed"
	@scripts/setup
	@scripts/test

kunit: ## the KUnit suites under UML, C and Rust side by side: build/kunit.json
	@scripts/setup
	@scripts/kunit

conformance: build ## every row of docs/parity.md on both drivers: build/conformance.json
	@scripts/build debug
	@scripts/conformance

bench: kunit build ## the first figures: build/bench/kthread.json
	@scripts/build calls
	@scripts/bench

steps: build ## instructions a frame by each way, and TCP with offloads: build/bench/steps.json
	@scripts/steps

shell: build ## a shell in a booted guest with our driver loaded
	@scripts/shell

load-check: build ## the module loaded and unloaded 100 times under traffic
	@scripts/boot scripts/guest/load-check

lint: ## rustfmt, clippy, checkpatch, the layer rules
	@scripts/setup
	@scripts/lint

integrate: ## puts the overlay into LINUX=<tree>
	@scripts/integrate LINUX=$(LINUX)

unintegrate: ## takes it out again, to the byte
	@scripts/integrate -u LINUX=$(LINUX)

clean: ## what was built here; the cache stays
	rm -rf build

.PHONY: help setup build demo test kunit conformance bench steps shell load-check lint integrate unintegrate clean
