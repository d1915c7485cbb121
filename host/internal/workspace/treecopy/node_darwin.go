package treecopy

import (
	"errors"
	"os"
	"syscall"
)

// makeNode is an error: macOS makes no pipe in an open directory.
func makeNode(*os.Root, string, *syscall.Stat_t) error {
	return errors.New("it is a pipe, a socket or a device, which is not copied on macOS. Remove it first.")
}
