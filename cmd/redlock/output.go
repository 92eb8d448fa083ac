package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// output is a file that remembers the first error of its writes, so that what prints need not look
// at each of them.
type output struct {
	file *os.File
	err  error
}

// stdout is what all that a command was asked for goes to. (What COMMAND of redlock run prints does
// not: it writes for itself.) That it was closed cannot be told: Go opens /dev/null then.
var stdout = &output{file: os.Stdout}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// status is that with which the process ends: not that all went well if what was printed is not
// there.
func (o *output) status(status int) int {
	if o.err == nil {
		return status
	}
	err := o.err
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	complain(fmt.Errorf("stdout cannot be written, so what was printed is not complete: %w", err))
	if status == exitOK {
		return exitNotPrinted
	}
	return status
}
