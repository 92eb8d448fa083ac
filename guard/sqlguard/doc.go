// Package sqlguard is a fence.Guard for data in PostgreSQL, MySQL, MariaDB or SQLite. The check of
// the token, the raising of the fence and the caller's writes are one transaction. The fence is a
// row, which the transaction locks before anything else, so that the writers of one resource queue for
// it.
//
// The package uses database/sql and no driver of its own. The statement that Schema returns makes
// the table of the fences. The table has a row for each resource, for ever: a forgotten fence lets
// an old holder back in.
//
// # One table for all
//
// All writers of the same data must use the same fences. So the table is named with its schema,
// public.redlock_fences in PostgreSQL and main.redlock_fences in SQLite, whatever search_path a
// role has and whatever temporary tables a connection has; WithTable names another one. The user of
// the database needs the rights to read, insert and update there.
//
// MySQL and MariaDB have databases in place of schemas, and none exists by default. So the default
// there is redlock_fences in the connection's database. Writers of the same data that connect
// to different databases must use WithTable. A guard notices if its own connections use different
// databases, for example after a USE, and then refuses the claim or write. It cannot notice that
// another process uses another database.
//
// In MySQL and MariaDB a temporary table hides another table of the same name even if the database
// is named. So after the guard has raised the fence, it reads, in the same transaction, the
// definition of the table (SHOW CREATE TABLE), and refuses the claim or write if the table is
// temporary. This costs a round trip.
//
// # One lock name for each resource
//
// Tokens of different lock names have no order. Write a resource with tokens of one name only:
// otherwise a valid holder may be refused, and a former holder may pass. The guard cannot notice
// that. Programs notice it with fence.CheckLockName, which keeps one more row for each resource.
// The name in this row is 17 bytes longer than the resource, so the resource can have at most 238
// bytes.
//
// # Limits
//
// A token fits a signed 64 bit column: at most 9223372036854775807. A resource is valid UTF-8
// without zero bytes, of at most 255 bytes. Input beyond that is refused with an error that is
// fence.ErrInvalid.
//
// # Isolation and retries
//
// The transaction has the isolation level that is the database's default; every level will do. A
// failure that other transactions cause is handled according to where it happens:
//
//   - To take the fence, the guard waits while another transaction has it. After a serialization
//     failure, a deadlock or SQLITE_BUSY the guard tries again, until the context ends. This is
//     safe, because the func has not run by then. A Claim does nothing else, so its commit is tried
//     again too.
//   - The caller's func runs at most once for each call of Do. An error of the func or of the
//     commit is returned. At levels above READ COMMITTED, such an error may be a serialization
//     failure: the caller may call Do again with the same token.
//
// Reads inside the func come after the fence is taken, at all levels, so they see what earlier
// holders have committed.
//
// # What is not promised
//
// A holder that is stopped within the transaction blocks all later holders until it continues,
// unless the database ends the transaction: see WithLimits, and docs/FENCING.md for MySQL and
// MariaDB.
//
// The guard does not notice a write outside of Do. It does not protect tables that take no part in
// transactions, such as MyISAM's.
//
// A func must return the errors of its statements: a failed statement may have ended the
// transaction, and with it the protection of later statements in the func. PostgreSQL refuses all
// later statements. After a deadlock, MySQL and MariaDB run each later statement as a transaction
// of its own. They do the same after a statement that commits by itself, such as CREATE TABLE.
// SQLite does so after some errors, for example when the disk is full. Do returns sql.ErrTxDone, or
// in SQLite the error of the commit, but those later statements stay committed.
//
// Fences are lost with data: by a restored backup, or a failover to a replica that had not yet
// received them. After the loss of a fence, the guard accepts the next token, even a stale one, and
// sets the fence to it.
//
// # SQLite
//
// SQLite must be version 3.35 or later. All writers of a file wait for each other, not only the writers of one
// resource. Use WAL mode: without it a reader can make the commit fail with SQLITE_BUSY, which Do returns, unless a
// busy_timeout lets the commit wait. Taking the fence needs no busy_timeout. With a long busy_timeout, Do may return
// long after the context has ended, if the driver does not watch the context while it waits.
package sqlguard
