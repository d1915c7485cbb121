package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// Beside returns the directories beside workspaces that views and branches went into, by the stores in a directory.
func Beside(stores string) (dirs []string) {
	entries, err := os.ReadDir(stores)
	if err != nil {
		return nil // there are none
	}
	for _, e := range entries {
		if workspace, err := directoryOf(filepath.Join(stores, e.Name())); err == nil && workspace != "" {
			if dir := provider.Beside(workspace); dir != "" {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// RemoveViews removes the views in a directory that [Beside] returned, and the directory itself if no branches are in it.
// The daemon must not run.
func RemoveViews(dir string) (branches bool, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		name, used := strings.CutSuffix(e.Name(), usedSuffix)
		if !used || name == "" || !e.Type().IsRegular() {
			continue
		}
		view := filepath.Join(dir, name)
		if err := errors.Join(tracked.RemoveAll(view), tracked.RemoveAll(view+makingSuffix), os.Remove(view+usedSuffix)); err != nil {
			return false, err
		}
	}
	if entries, err = os.ReadDir(dir); err != nil || len(entries) > 0 {
		return true, err
	}
	return false, os.Remove(dir)
}
