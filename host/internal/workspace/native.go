package workspace

import (
	"errors"
	"fmt"
	"path/filepath"

	"tidemark.dev/tidemark/host/internal/grants"
	"tidemark.dev/tidemark/host/internal/workspace/btrfs"
	"tidemark.dev/tidemark/host/internal/workspace/tracked"
)

// Names of what takes snapshots.
const (
	Provider = "tracked"
	Btrfs    = "btrfs"
)

// nativeDir is the directory of the filesystem's own snapshots, in that of the views. Clean-ups of views leave it alone.
const nativeDir = "native"

// openNative opens the filesystem's own snapshots of the workspace, or notes why there are none.
func (w *Workspace) openNative() {
	at, name := w.o.Settings.providerOf(w.Dir)
	if name == Provider {
		w.unfit = &btrfs.Unfit{Why: fmt.Sprintf("config.toml chooses %s for %s", name, at)}
		return
	}
	err := btrfs.Fit(w.Dir)
	if err == nil && !w.place.Shares {
		err = &btrfs.Unfit{Why: "no directory on the project's filesystem can take them: " + w.place.Why}
	}
	if err == nil {
		err = w.place.Create()
	}
	if err == nil {
		w.native, err = btrfs.Open(w.Dir, filepath.Join(w.place.Dir, nativeDir), w.o.Clock)
	}
	if err != nil && !errors.As(err, &w.unfit) {
		w.unfit = &btrfs.Unfit{Why: err.Error()}
	}
}

// freezer returns what makes copies of the workspace for snapshots, nil if nothing does.
func (w *Workspace) freezer() tracked.Freezer {
	if w.native == nil {
		return nil
	}
	return w.native
}

// marked returns a snapshot with what the filesystem keeps of it.
func (w *Workspace) marked(s tracked.Snapshot) tracked.Snapshot {
	if w.native.Has(s.Number) {
		s.Native = Btrfs
	}
	return s
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
func (w *Workspace) lacking() string {
	switch {
	case w.native != nil:
		if err := w.native.Failed(); err != nil {
			return "files are read without a Btrfs snapshot: " + err.Error()
		}
	case w.unfit.Command != "":
		return "Btrfs snapshots are not used: " + w.unfit.Error()
	}
	return ""
}
