package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/workspace/btrfs"
	"tidemark.dev/tidemark/host/internal/workspace/provider"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// Names of what takes snapshots.
const (
	Provider = "tracked"
	Btrfs    = "btrfs"
)

// nativeDir is the directory of the filesystem's own snapshots, in that of the views. Clean-ups of views leave it alone.
const nativeDir = "native"

// openNative opens the filesystem's own snapshots of the workspace, or returns why there are none.
func openNative(o Options, a allowed, place provider.Placement) (store *btrfs.Store, unfit *btrfs.Unfit) {
	dir := a.root
	if at, name := o.Settings.providerOf(dir); name == Provider {
		return nil, &btrfs.Unfit{Why: fmt.Sprintf("config.toml chooses %s for %s", name, at)}
	}
	err := btrfs.Fit(dir)
	if err == nil && len(a.rules.Denied) > 0 {
		err = &btrfs.Unfit{Why: "a snapshot of the filesystem would have directories in it that you did not allow"}
	}
	if err == nil && !place.Shares {
		err = &btrfs.Unfit{Why: "no directory on the project's filesystem can take them: " + place.Why}
	}
	if err == nil {
		err = place.Create()
	}
	if err == nil {
		store, err = btrfs.Open(dir, filepath.Join(place.Dir, nativeDir), o.Clock)
	}
	if err != nil && !errors.As(err, &unfit) {
		unfit = &btrfs.Unfit{Why: err.Error()}
	}
	return store, unfit
}

// discardNative removes the filesystem's snapshots of workspaces that no longer exist, whose files they would keep.
func (ws *Workspaces) discardNative() {
	entries, err := os.ReadDir(ws.o.Dir)
	if err != nil {
		return // there are none
	}
	for _, e := range entries {
		store := filepath.Join(ws.o.Dir, e.Name())
		dir, err := directoryOf(store)
		if err != nil {
			continue
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		views := []string{filepath.Join(store, "views")}
		if beside := provider.Beside(dir); beside != "" {
			views = append(views, beside)
		}
		for _, of := range views {
			if err := btrfs.Discard(filepath.Join(of, nativeDir)); err != nil {
				ws.o.Log.Warn("cannot remove the Btrfs snapshots of a workspace that no longer exists", "workspace", dir, "error", err)
			}
		}
	}
}

// mark notes what the filesystem keeps of a snapshot.
func mark(s *tracked.Snapshot, native *btrfs.Store) {
	if native.Has(s.Number) {
		s.Native = Btrfs
	}
}

// ProviderOf returns the name of what serves a snapshot of [Workspace.List].
func ProviderOf(s tracked.Snapshot) string {
	if s.Native != "" {
		return s.Native
	}
	return Provider
}

// providerOf returns what the user chose to take the snapshots of a directory, and the directory that this is said of; "" for
// nothing.
func (s Settings) providerOf(dir string) (at, name string) {
	for of, chosen := range s.Provider {
		if of, err := grants.Resolve(of); err == nil && grants.Within(dir, of) && len(of) > len(at) {
			at, name = of, chosen
		}
	}
	return at, name
}

// preferred returns the name of what takes the snapshots.
func (w *Workspace) preferred() string {
	if w.native != nil {
		return Btrfs
	}
	return Provider
}

// lacking returns why the filesystem's own snapshots are not used though they could be, "" if they are, or cannot be.
func lacking(native *btrfs.Store, unfit *btrfs.Unfit) string {
	switch {
	case native != nil:
		if err := native.Failed(); err != nil {
			return "files are read without a Btrfs snapshot: " + err.Error()
		}
	case unfit.Command != "":
		return "Btrfs snapshots are not used: " + unfit.Error()
	}
	return ""
}

// checkProvider returns an error for a choice of [Settings].Provider that cannot be meant.
func checkProvider(dir, name string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("provider has %q, which is not an absolute path", dir)
	}
	if name != Provider && name != Btrfs {
		return fmt.Errorf("provider of %q is %q; it must be %q or %q", dir, name, Btrfs, Provider)
	}
	return nil
}
