// Command client is one client process of a chaos run: several workers that take
// locks, hold them for longer or shorter than their lease, and write under them to
// three stores. It writes down every call before and after it (package history),
// and judges nothing.
//
// It is a process of its own so that it can be stopped, killed and started again
// without anybody else noticing; and a module of its own because it needs the
// guards and a database driver.
//
// It ends at SIGTERM, once its workers have unlocked.
package main
