//go:build !linux

package subvolume

// Is reports whether a directory is a subvolume.
func Is(string) bool { return false }

// On reports whether a directory is on Btrfs.
func On(string) bool { return false }

// Create creates an empty subvolume.
func Create(string) error { return ErrUnsupported }

// Snapshot makes a copy of a subvolume.
func Snapshot(_, _ string, _ bool) error { return ErrUnsupported }

// Delete removes a subvolume.
func Delete(string) error { return ErrUnsupported }

// ReadOnly reports whether a directory is a subvolume that cannot be written to.
func ReadOnly(string) bool { return false }

// SetReadOnly makes a subvolume one that cannot be written to, or one that can.
func SetReadOnly(string, bool) error { return ErrUnsupported }

// Nested returns the path of a subvolume that is in another one.
func Nested(string) (string, error) { return "", ErrUnsupported }

// Free returns which part of a filesystem is free.
func Free(string) (float64, error) { return 0, ErrUnsupported }
