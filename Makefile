.PHONY: help lint test race bench demo pictures tools ci masters

tried := redis://127.0.0.1:6381,redis://127.0.0.1:6382,redis://127.0.0.1:6383,redis://127.0.0.1:6384,redis://127.0.0.1:6385

short := go run ./cmd/redlock-demo -duration 3s

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

lint: ## gofmt, vet, staticcheck, go.mod files, shell scripts
	@ci/lint.sh

test: ## the tests of the library and the command, without the long ones; then the demo
	@ci/test.sh short

race: ## the packages with concurrent code, with the race detector
	@ci/test.sh race

bench: ## this library beside its peers and the raw floor, on the same masters
	cd bench && go run . -aims

demo: ## masters killed, a worker paused, every stale write refused
	@go run -v ./cmd/redlock-demo

pictures: ## docs/pictures/demo.svg, the screen of a short demo
	@screen=$$($(short)) && printf '$$ %s\n%s\n' '$(short)' "$$screen" | go run github.com/charmbracelet/freeze@v0.2.2 --output docs/pictures/demo.svg \
		--language ansi --font.family 'ui-monospace, Menlo, Consolas, monospace' --window --border.radius 8 --border.width 1 --border.color '#6e7781'

tools: ## installs what make test needs beside Go; with FOR=ci what make ci needs
	@ci/tools.sh $(FOR)

ci: ## everything that CI runs: lint, all tests, the simulation, models, chaos, speed
	@ci/test.sh all

masters: ## five masters in Docker to try redlock with, and a deployment of them
	docker compose -f docker/compose.yaml up -d --wait
	go run ./cmd/redlock init --masters $(tried) --yes
