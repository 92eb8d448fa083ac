.PHONY: help quick test ci demo masters bench

tried := redis://127.0.0.1:6381,redis://127.0.0.1:6382,redis://127.0.0.1:6383,redis://127.0.0.1:6384,redis://127.0.0.1:6385

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

quick: ## the tests of the root module, for which Go is enough; ends with those that did not run
	@go run gotest.tools/gotestsum@v1.13.0 --format pkgname --packages ./... -- -timeout 20m

test: ## formatting, vet, staticcheck, tests, the demo; ends with what it left to CI
	@bash ci/test.sh -short

ci: ## everything that CI runs: that with -race, chaos for long, models, databases, peers, speed
	@bash ci/test.sh

demo: ## masters killed, a worker paused, every stale write refused
	go run ./cmd/redlock demo

masters: ## five masters in Docker to try redlock with, and a deployment of them
	docker compose -f docker/compose.yaml up -d --wait
	go run ./cmd/redlock init --masters $(tried) --yes

bench: ## this library beside its peers and the raw floor, on the same masters
	cd bench && go run . -aims
