package extents

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func clone(in *os.Root, name string, from *os.File) (*os.File, error) {
	dir, err := in.Open(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	if err := unix.Fclonefileat(int(from.Fd()), int(dir.Fd()), filepath.Base(name), unix.CLONE_NOFOLLOW|unix.CLONE_NOOWNERCOPY); err != nil {
		return nil, because(err)
	}
	err = in.Chmod(name, 0o600) // the copy has the mode of the file
	if err == nil {
		var to *os.File
		if to, err = in.OpenFile(name, os.O_RDWR, 0); err == nil {
			return to, nil
		}
	}
	return nil, errors.Join(err, in.Remove(name))
}

func because(err error) error {
	switch {
	case errors.Is(err, unix.EXDEV):
		return ErrElsewhere
	case errors.Is(err, unix.ENOTSUP):
		return ErrUnsupported
	}
	return err
}

// sameVolume is false: statfs(2) has one number for all of a filesystem.
func sameVolume(string, *os.File) bool { return false }

func copied(*os.Root, string, *os.File) (*os.File, error) { return nil, ErrUnsupported }
