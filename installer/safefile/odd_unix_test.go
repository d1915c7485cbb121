//go:build !windows

package safefile_test

import (
	"testing"

	"tidemark.dev/tidemark/installer/safefile"
	"tidemark.dev/tidemark/installer/safefile/oddfiles"
)

func TestOddFilesAreRefused(t *testing.T) {
	oddfiles.Each(t, "odd", func(path string) error {
		_, err := safefile.Read(path, 1<<20)
		return err
	})
}
