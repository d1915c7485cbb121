//go:build unix

package unnamed

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Refused reports whether a path cannot be created because of its name: a filesystem may want UTF-8, or have no such characters.
func Refused(err error) bool { return errors.Is(err, unix.EILSEQ) || errors.Is(err, unix.EINVAL) }
