package installer

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"tidemark.dev/tidemark/installer/safefile"
)

// writeFile replaces path by data in one step: readers see the old content or the new one. A file
// that holds data already is not touched.
func writeFile(path string, data []byte, mode os.FileMode) (err error) {
	if old, err := safefile.Read(path, int64(len(data))); err == nil && bytes.Equal(old, data) {
		return nil
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(mode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
