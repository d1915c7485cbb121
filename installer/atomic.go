package installer

import (
	"bytes"
	"os"

	"tidemark.dev/tidemark/installer/safefile"
)

// writeFile replaces path by data in one step: readers see the old content or the new one. A file
// that already holds data is not touched.
func writeFile(path string, data []byte, mode os.FileMode) error {
	if old, err := safefile.Read(path, int64(len(data))); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return safefile.Write(path, data, mode)
}
