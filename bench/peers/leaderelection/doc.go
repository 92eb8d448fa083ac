// Package leaderelection compiles the pieces of docs/migrate/leaderelection.md that call client-go,
// and parses the manifests of deploy with the types of Kubernetes. It is a module of its own, because
// client-go takes minutes to build.
package leaderelection
