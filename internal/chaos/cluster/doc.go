// Package cluster runs real masters that can be hurt in every way that a master is hurt in the
// field, and fronts that hurt the network between them and each client process. Masters are
// containers on the local Docker Engine or redis-server processes; either way they listen on the
// loopback, keep their address over crashes, and have their data in a folder of this machine.
//
// What is not promised:
//   - The Docker engine needs a daemon on this machine, which sees its folders, and the host's network: it is for Linux.
//     The process engine runs where redis-server does, without small disks and other clocks where the system has none.
//   - Truncate, and nothing else, loses what a master has handed to the kernel: SIGKILL keeps the page cache.
//   - Evict cannot be repeated: which keys there are depends on what happens meanwhile.
//   - A full disk is full to the page: what still fits into the last page of an open file can be written.
//   - A client process sees the masters through its fronts alone, and shares no front with another.
//
// What a harness that was killed leaves behind is swept by the next Start on the machine:
// containers by their label, folders and mounts by their name, each when nobody holds the lock of
// its run any more. Until then containers end by themselves after Config.Expire.
package cluster
