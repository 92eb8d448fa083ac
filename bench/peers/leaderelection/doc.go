// Package leaderelection compiles the pieces of docs/migrate/leaderelection.md that call client-go,
// and reads the manifests of deploy with the types of Kubernetes. It is a module of its own, since
// client-go takes minutes to build.
package leaderelection
