//go:build !linux

package watch

import (
	"cmp"
	"fmt"
	"runtime"
)

// New returns [Unsupported].
func New(Options) (Watcher, error) { return nil, Unsupported() }

// Unsupported returns why this system has no watcher, nil where it has one.
func Unsupported() error {
	system := map[string]string{"darwin": "macOS", "windows": "Windows"}[runtime.GOOS]
	return fmt.Errorf("%s %w", cmp.Or(system, "this system"), ErrUnsupported)
}
