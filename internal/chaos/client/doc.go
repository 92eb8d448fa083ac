// Command client is one client process of a chaos run: the workers of package work, with two or three stores.
//
// Each client is a process of its own, so that it can be stopped, killed and restarted without effects on other
// clients. The command is in a module of its own, because it needs the guards and a database driver.
//
// At SIGTERM the workers unlock, and then the process ends.
package main
