package overlay

import (
	"errors"
	"fmt"
	"syscall"
)

// ErrWritten means that a program wrote in a branch while it was copied. It is as it was, with that.
var ErrWritten = errors.New("a program wrote in it during the copy. Try again when none does.")

// errWrittenBelow means that a program wrote into the directory of a branch while that was not mounted.
var errWrittenBelow = errors.New("a program wrote into its empty directory")

// asideName is in the name of a directory with what was written so, after that of the branch.
const asideName = ".written-"

// The names in the layers of a branch that becomes plain files. Copy is what its files are copied into. Plain is a link that names the
// mode, inode and time of the copy: it is whole, and nobody writes in what is mounted. From then on the copy is the branch.
const (
	copyName  = "copy"
	plainName = "plain"
)

// within is the error for a branch in which something else is mounted.
func within(dir, at string) error {
	return fmt.Errorf("%s was not unmounted, because something else is mounted in it, on %s. Unmount that and try again: %w", dir, at, error(syscall.EBUSY))
}
