.PHONY: help test demo bench

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

test: ## everything that CI runs: formatting, vet, staticcheck, -race tests, the demo
	@bash ci/test.sh

demo: ## masters killed, a worker paused, every stale write refused
	go run ./cmd/redlock demo

bench: ## this library beside its peers and the raw floor, on the same masters
	cd bench && go run . -aims
