package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// output is a file that keeps the first error of its writes, so that printing code need not check each
// write.
type output struct {
	file *os.File
	err  error
}

// stdout gets all output of redlock. COMMAND of redlock run does not use it: COMMAND writes to the descriptor
// itself. If stdout was closed from the start, writes succeed: Go opens /dev/null in its place.
var stdout = &output{file: os.Stdout}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// status prints an error if a write failed, and then returns exitNotPrinted instead of exitOK.
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
