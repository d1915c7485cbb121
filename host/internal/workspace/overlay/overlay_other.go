//go:build !linux

package overlay

import "context"

// Mount is [ErrUnsupported] for a directory with layers.
func Mount(_ context.Context, _ []string, dir string) error {
	if !Is(dir) {
		return nil
	}
	return ErrUnsupported
}

// Lock is [ErrUnsupported].
func Lock(string) error { return ErrUnsupported }

// Release does nothing: nothing is mounted.
func Release(string) error { return nil }

// Heal does nothing: nothing is mounted.
func Heal(string) error { return nil }

// Refused is [ErrUnsupported].
func Refused(bool) error { return ErrUnsupported }

// SetRoot is [ErrUnsupported].
func SetRoot(string, uint16, int64, map[string][]byte) error { return ErrUnsupported }
