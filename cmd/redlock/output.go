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

// stdout gets the output of all commands, except of COMMAND of redlock run, which writes to the
// descriptor itself. A closed stdout is not noticed: Go opens /dev/null in its place.
var stdout = &output{file: os.Stdout}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// status returns the exit status: exitNotPrinted instead of success if output is missing.
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
