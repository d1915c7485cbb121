package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Replace writes a file atomically: a reader sees the old content or the new. It keeps the file's permissions and
// follows a link to its target. A new file has mode 0600.
func Replace(path string, data []byte) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	p := &Place{dir, path}
	defer func() { _ = p.Close() }()
	mode := os.FileMode(0o600)
	if info, err := dir.Lstat(filepath.Base(path)); err == nil && info.Mode().IsRegular() {
		mode = info.Mode().Perm()
	}
	return p.Write(data, mode)
}

// RemoveLeftovers removes the temporary files that killed processes left while they wrote path. Nobody may be writing it.
func RemoveLeftovers(path string) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	dir, prefix := filepath.Dir(path), "."+filepath.Base(path)+"."
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		number, is := strings.CutPrefix(e.Name(), prefix)
		if !is || number == "" || strings.Trim(number, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Write replaces path with a file of this mode, atomically: a reader sees the old content or the new. It replaces a
// link, not the link's target.
func Write(path string, data []byte, mode os.FileMode) error {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	p := &Place{dir, path}
	defer func() { _ = p.Close() }()
	return p.Write(data, mode)
}
