//go:build unix

package objects

import "os"

// SyncDir makes new names in a directory survive a loss of power.
func SyncDir(dir string) error {
	d, err := os.OpenFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}
