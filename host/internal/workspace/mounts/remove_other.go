//go:build !linux

package mounts

import "os"

// RemoveAll is [os.RemoveAll].
func RemoveAll(dir string) error { return os.RemoveAll(dir) }
