//go:build !windows

package grants

import "path/filepath"

// final returns the path of an existing file without links.
func final(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return spelled(path)
}
