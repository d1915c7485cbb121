package restore

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

var errNotDir error = syscall.ENOTDIR

// fill adds nothing: the system has no more.
func (*stamp) fill(os.FileInfo) {}

// mount returns what two directories have in common between which files can be renamed: the volume.
func (d *dir) mount() (m [2]uint64, err error) {
	path, err := filepath.Abs(d.at)
	for i, c := range []byte(strings.ToUpper(filepath.VolumeName(path))) {
		m[i%2] = m[i%2]*31 + uint64(c)
	}
	return m, err
}

// move renames a name into another directory, in which the new name must not exist.
func move(from *dir, name string, to *dir, as string) error {
	if _, err := to.stat(as); err == nil {
		return fs.ErrExist
	}
	return os.Rename(from.path(name), to.path(as))
}

func exchange(*dir, string, *dir, string) error { return errNoExchange }

// link makes a hard link.
func link(from *dir, name string, to *dir, as string) error {
	return os.Link(from.path(name), to.path(as))
}

func (d *dir) chown(string, stamp) error { return nil }
func (d *dir) sync() error               { return nil }
func (d *dir) syncAll() error            { return errNoSyncAll }
