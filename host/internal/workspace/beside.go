package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark.dev/tidemark/host/internal/workspace/mounts"
	"tidemark.dev/tidemark/host/internal/workspace/native"
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
		store := filepath.Join(stores, e.Name())
		if workspace, err := directoryOf(store); err == nil && workspace != "" {
			if dir := provider.Beside(workspace, store); dir != "" {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// RemoveViews removes the views in a directory that [Beside] returned, and the directory itself if no branches are in it.
// The workspace must not be open.
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
		if err := errors.Join(tracked.RemoveAll(view), tracked.RemoveAll(view+makingSuffix)); err != nil {
			return false, err
		}
		if err := os.Remove(view + usedSuffix); err != nil { // the last, because only views have it
			return false, err
		}
	}
	for _, name := range []string{nativeDir, branchesDir} {
		_ = os.Remove(filepath.Join(dir, name)) // unless something is in it
	}
	if entries, err = os.ReadDir(dir); err != nil || len(entries) > 0 {
		return true, err
	}
	if err := os.Remove(dir); !errors.Is(err, fs.ErrPermission) { // else root made it, for its user
		return false, err
	}
	return false, nil
}

// RemoveViewsOf removes the views of a workspace that is not open, such as a branch that was removed. The sweep tries again where a program
// uses one.
func RemoveViewsOf(ws *Workspaces, root string) {
	home := filepath.Join(ws.o.Dir, ID(root))
	for _, dir := range []string{filepath.Join(home, "views"), provider.Beside(root, home)} {
		if _, err := RemoveViews(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			ws.o.Log.Warn("cannot remove the views of a workspace yet", "workspace", root, "error", err)
		}
	}
}

// sweepIn removes the views in a directory that nobody has asked for during their life.
func sweepIn(o Options, views string) {
	entries, err := os.ReadDir(views)
	if err != nil {
		return // there are none
	}
	for _, e := range entries {
		sweepLayers(o, views, e.Name())
		if !e.IsDir() || !viewName().MatchString(e.Name()) {
			continue // such as a branch that an earlier version put there
		}
		dir := filepath.Join(views, e.Name())
		used, err := os.Stat(dir + usedSuffix)
		if err == nil && o.Clock().Sub(used.ModTime()) < viewLife {
			continue
		}
		if err := errors.Join(tracked.RemoveAll(dir), remove(dir+usedSuffix)); err != nil {
			o.Log.Warn("cannot remove a view", "view", dir, "error", err)
		}
	}
}

// sweepClosed removes old views of workspaces that are not open, and what a killed daemon left mounted in their directories.
func sweepClosed(ws *Workspaces) {
	entries, err := os.ReadDir(ws.o.Dir)
	if err != nil {
		return // there are none
	}
	for _, e := range entries {
		store := filepath.Join(ws.o.Dir, e.Name())
		workspace, err := directoryOf(store)
		if err != nil || workspace == "" {
			continue
		}
		end := reserve(ws, workspace)
		if end == nil {
			continue // it is open, and does that itself
		}
		for _, views := range []string{filepath.Join(store, "views"), provider.Beside(workspace, store)} {
			if views != "" {
				abandonIn(ws.o, filepath.Join(views, nativeDir))
				sweepIn(ws.o, views)
			}
		}
		end()
	}
}

// abandonIn removes what was being taken in the directory of the filesystem's own snapshots: they are mounted while they are read.
func abandonIn(o Options, dir string) {
	if !exists(dir) {
		return
	}
	list, err := mounts.Below(dir)
	for _, m := range slices.Backward(list) { // the last one is the uppermost
		if native.Transient(filepath.Base(m.At)) {
			err = errors.Join(err, tracked.RemoveAll(m.At))
		}
	}
	for _, n := range natives {
		err = errors.Join(err, n.abandon(dir))
	}
	if err != nil {
		o.Log.Warn("cannot remove what a killed process left of a snapshot of the filesystem", "directory", dir, "error", err)
	}
}
