package extents

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func clone(in *os.Root, name string, from *os.File) (*os.File, error) {
	to, err := in.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
	if err == nil {
		return to, nil
	}
	return nil, errors.Join(because(err), to.Close(), in.Remove(name))
}

func because(err error) error {
	switch {
	case errors.Is(err, unix.EXDEV):
		return ErrElsewhere
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOTTY), errors.Is(err, unix.ENOSYS):
		return ErrUnsupported
	}
	return err // this file: a swap file, one without checksums on Btrfs
}
