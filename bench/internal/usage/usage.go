// Package usage reads what the kernel says of the processor time of processes.
package usage

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of /proc/PID/stat: USER_HZ, which Linux shows as 100 on all machines that Go
// runs on.
const tick = 10 * time.Millisecond

// Self is the processor time of this process so far, the kernel's included.
func Self() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err) // the arguments are right
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Of adds up the processor time of processes so far. One that has ended counts nothing.
func Of(pids []int) time.Duration {
	var sum time.Duration
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		sum += cpu(stat)
	}
	return sum
}

// cpu takes utime and stime, fields 14 and 15 of proc(5), out of a stat line. The name in field 2
// may have blanks and parentheses in it.
func cpu(stat []byte) time.Duration {
	const state, utime, stime = 3, 14, 15
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= stime-state {
		return 0
	}
	var sum time.Duration
	for _, i := range []int{utime - state, stime - state} {
		n, _ := strconv.Atoi(string(fields[i]))
		sum += time.Duration(n) * tick
	}
	return sum
}
