// Command client is one client process of a chaos run: the workers of package work, with three stores.
//
// It is a process of its own so that it can be stopped, killed and restarted without effects on
// others; and a module of its own because it needs the guards and a database driver.
//
// It ends at SIGTERM, once its workers have unlocked.
package main
