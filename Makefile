.PHONY: help test ci demo masters bench

tried := redis://127.0.0.1:6381,redis://127.0.0.1:6382,redis://127.0.0.1:6383,redis://127.0.0.1:6384,redis://127.0.0.1:6385

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

test: ## formatting, vet, tests, the demo; ends with what did not run, and what it left to CI
	@bash ci/test.sh -short

ci: ## everything that CI runs: that with -race, chaos for long, models, databases, peers, speed
	@bash ci/test.sh

demo: ## masters killed, a worker paused, every stale write refused
	@go run -v ./cmd/redlock-demo

masters: ## five masters in Docker to try redlock with, and a deployment of them
	docker compose -f docker/compose.yaml up -d --wait
	go run ./cmd/redlock init --masters $(tried) --yes

bench: ## this library beside its peers and the raw floor, on the same masters
	cd bench && go run . -aims
